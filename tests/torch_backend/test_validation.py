"""Validation of runs of the backend ends as in the reference, also under lies."""

from pathlib import Path

import attrs
import pytest

from tests.support import edited, revalued
from tests.torch_backend.runs import (
    AttackByFunction,
    consistent,
    keys_of,
    learn,
    noisy,
    per_edge,
    program,
    quiet,
    reference,
    rude,
    secrets_of,
)
from tests.torch_backend.test_transcripts import write
from torch_backend import engine
from torch_backend.errors import BackendAttackError, ConfigError
from torch_backend.models.mlp import Mlp
from torch_backend.reports import reports
from torch_backend.transcripts import open_transcripts
from torch_backend.validation import (
    LIARS,
    StoredMeasures,
    fresh_keys,
    fresh_secrets,
    liar,
    validate,
)
from valid_ref.alarms import Alarm
from valid_ref.coins import Coins
from valid_ref.execution import Execution
from valid_ref.graph_families import parse_family
from valid_ref.machine import Adversary
from valid_ref.protocols.lean import OpeningError
from valid_ref.protocols.local_validate import transcript_report
from valid_ref.protocols.parameters import Bounds, CheckedKeys, ParameterError
from valid_ref.protocols.valid import ESTIMATES

CASES = {
    "honest": (None, {}),
    "honest, thresholds too low": (None, {"limit": 1e-9}),
    "false labels": (quiet, {}),
    "noisy": (noisy, {}),
    "consistent": (consistent, {"limit": 1e-3}),
    "per edge": (per_edge, {}),
    "rude": (rude, {}),
    "bounds": (per_edge, {"bounds": Bounds((2**62, 1, 2**62, 2**62), (2**56, 0, 2**53, 1))}),
    "two-layer": (per_edge, {"options": Mlp((4,))}),
}
SEEN = {
    "honest": set(),
    "honest, thresholds too low": {Alarm.NOT_OPTIMAL, Alarm.TOO_HETEROGENEOUS},
    "noisy": {Alarm.BROKEN_RELATION},
    "per edge": {Alarm.INCONSISTENT_HASHES, Alarm.INCONSISTENT_ESTIMATES},
    "bounds": {Alarm.GRADIENT_NORM, Alarm.MODEL_NORM},
}


def again(run: engine.Program, execution: Execution) -> Adversary:
    """Byzantine agents say what they said in another execution, after learning.

    In lean validation they report on themselves: here what they said, in the reference alone what
    honest code would have said.
    """
    heard = {(spoken.phase, spoken.number): spoken for spoken in execution.rounds}
    edges = [(b, u) for b in run.byzantine for u in run.graph.neighbours(b)]
    return lambda view: {edge: heard[view.phase, view.round].on_edge(*edge) for edge in edges}


SEEN_BY_LEAN = SEEN | {"per edge": {Alarm.RECORD_MISMATCH}}


def a_program(case: str, kappa: int | None = None) -> engine.Program:
    script, others = CASES[case]
    if script is None:
        return program(parse_family("cycle:5"), kappa=kappa, **others)
    attack = AttackByFunction(script)
    return program(parse_family("complete:4"), attack=attack, byzantine=(1,), kappa=kappa, **others)


@pytest.mark.checks("VA-1", "VA-2", "LV-2", "LV-7", "LV-8", "GV-4", "GV-5", "GV-6")
@pytest.mark.checks("LE-5", "LE-7", "LE-8", "LE-11", "LE-12")
@pytest.mark.parametrize("kappa", [None, 1, 2])
@pytest.mark.parametrize("case", CASES)
def test_everybody_ends_as_in_the_reference(tmp_path: Path, case: str, kappa: int | None) -> None:
    run = a_program(case, kappa)
    states, said = learn(run)
    write(tmp_path, run, said)
    found = validate(run, states[-1], open_transcripts(tmp_path, run), secrets_of(run))
    execution = reference(run, said, again(run, found.execution))
    for agent in run.honest:
        assert found.alarms[agent] == execution.states[agent].memory.alarms
        assert found.valid[agent] == (not execution.states[agent].memory.invalid)
        ours, theirs = found.execution.output(agent), execution.output(agent)
        assert (ours is None) == (theirs is None)
        assert ours is None or theirs is None or ours.tolist() == theirs.tolist()
    reasons = {raised.alarm for agent in run.honest for raised in found.alarms[agent]}
    assert (SEEN if kappa is None else SEEN_BY_LEAN).get(case, set()) <= reasons
    edges = [(v, u) for v in run.honest for u in run.graph.neighbours(v)]
    for here, there in zip(found.execution.rounds, execution.rounds[run.rounds :], strict=True):
        assert here.phase == there.phase
        assert all(here.on_edge(*edge) == there.on_edge(*edge) for edge in edges)
    assert found.valid[0] == (case in {"honest", "false labels"})


@pytest.mark.checks("GV-3", "LV-6", "VB-9")
@pytest.mark.parametrize(
    "change",
    [
        lambda value: value[:-1],
        lambda value: (),
        lambda value: (*value[:-1], -(10**60)),
        lambda value: (*value[:-1], 10**60),
        lambda value: (10**60, *value[1:]),
        lambda value: (True, *value[1:]),
        list,
    ],
)
def test_what_is_no_estimate_is_an_alarm_as_in_the_reference(tmp_path: Path, change) -> None:
    run = a_program("false labels")
    states, said = learn(run)
    write(tmp_path, run, said)
    liar = edited(ESTIMATES, revalued((1, 0), change), rounds=[1])
    execution = reference(run, said, liar)
    stored = open_transcripts(tmp_path, run)
    found = validate(run, states[-1], stored, keys_of(run), adversary=liar)
    for agent in run.honest:
        assert found.alarms[agent] == execution.states[agent].memory.alarms
        assert Alarm.MALFORMED_VALUE in {raised.alarm for raised in found.alarms[agent]}


@pytest.mark.checks("LV-10")
def test_own_keys_alone_are_checked_where_that_is_asked(tmp_path: Path) -> None:
    run = a_program("noisy")
    own = attrs.evolve(run.parameters, checked_keys=CheckedKeys.OWN)
    run = attrs.evolve(run, parameters=own)
    states, said = learn(run)
    write(tmp_path, run, said)
    execution = reference(run, said)
    found = validate(run, states[-1], open_transcripts(tmp_path, run), keys_of(run))
    for agent in run.honest:
        assert found.alarms[agent] == execution.states[agent].memory.alarms


@pytest.mark.checks("LV-5", "HA-10")
@pytest.mark.parametrize("case", CASES)
def test_hashes_by_the_relation_are_the_hashes_of_the_words(tmp_path: Path, case: str) -> None:
    run = a_program(case)
    _states, said = learn(run)
    write(tmp_path, run, said)
    stored, keys = open_transcripts(tmp_path, run), keys_of(run)
    derived = reports(stored, keys)
    assert derived == reports(stored, keys, derive=False)
    assert derived == reports(stored, keys, tensors=True)
    assert derived == reports(stored, keys, derive=False, tensors=True)
    execution = reference(run, said)
    for receiver in range(run.graph.agents):
        transcripts = execution.states[receiver].memory.fixed_transcripts
        for sender, transcript in transcripts.received.items():
            expected = transcript_report(run.parameters, keys, transcript)
            assert derived.get((sender, receiver), derived[sender]) == expected


@pytest.mark.checks("LV-1", "LV-3", "GV-2")
def test_validation_that_cannot_begin_is_refused(tmp_path: Path) -> None:
    run = a_program("honest")
    states, said = learn(run)
    write(tmp_path, run, said)
    stored, keys = open_transcripts(tmp_path, run), fresh_keys(run)
    assert len(set(keys)) == run.graph.agents
    with pytest.raises(ConfigError, match="after all 4"):
        validate(run, states[2], stored, keys)
    with pytest.raises(ConfigError, match="of 4 agents, where there are 5"):
        validate(run, states[-1], stored, keys[1:])
    with pytest.raises(ParameterError, match="brings a key"):
        validate(run, states[-1], stored, secrets_of(a_program("honest", 1)))
    with pytest.raises(ConfigError, match="estimates of every agent"):
        validate(run, attrs.evolve(states[-1], estimates=None), stored, keys)
    counted = learn(attrs.evolve(run, estimate="counted"))[0][-1]
    with pytest.raises(ConfigError, match="estimates of every agent"):
        validate(run, counted, stored, keys)


@pytest.mark.checks("LE-4")
def test_openings_that_cannot_be_are_refused(tmp_path: Path) -> None:
    run = a_program("honest", 1)
    states, said = learn(run)
    write(tmp_path, run, said)
    stored, openings = open_transcripts(tmp_path, run), secrets_of(run)
    assert openings == fresh_secrets(attrs.evolve(run, coins=Coins.of_seed(77)))
    assert fresh_secrets(run) == fresh_secrets(run) != openings
    with pytest.raises(OpeningError, match="same nonce"):
        validate(run, states[-1], stored, (openings[0], *openings[:-1]))
    with pytest.raises(OpeningError, match="not a key"):
        validate(run, states[-1], stored, keys_of(run))


@pytest.mark.checks("GV-3")
def test_only_estimates_have_the_form_of_estimates() -> None:
    """Those of the backend are known; any other tuple must pass the definition."""
    parameters = a_program("honest").parameters
    width = len(parameters.weightings) * parameters.lattice.dimension
    own = (1,) * width
    measures = StoredMeasures(
        parameters, row_of={}, hashed=lambda _keys: {}, estimates={0: own}, excesses={}
    )
    assert measures.is_estimate(own)
    assert measures.is_estimate((0,) * width)
    heaviest = max(sum(weighting.weights) for weighting in parameters.weightings)
    beyond = parameters.lattice.gradient_limit * heaviest + 1
    for value in (
        (),
        (1,),
        (True,) * width,
        [0] * width,
        (beyond, *own[1:]),
        (*own[1:], -beyond),
        None,
    ):
        assert not measures.is_estimate(value)


@pytest.mark.checks("AD-9")
@pytest.mark.parametrize("kind", LIARS)
def test_lies_end_as_in_the_reference(tmp_path: Path, kind: str) -> None:
    run = program(parse_family("complete:4"), attack=AttackByFunction(quiet), byzantine=(1,))
    states, said = learn(run)
    write(tmp_path, run, said)
    adversary = liar(run, LIARS[kind]())
    execution = reference(run, said, adversary)
    stored = open_transcripts(tmp_path, run)
    found = validate(run, states[-1], stored, keys_of(run), adversary=adversary)
    for agent in run.honest:
        assert found.alarms[agent] == execution.states[agent].memory.alarms
    assert not all(found.valid[agent] for agent in run.honest)


def test_a_liar_needs_somebody_byzantine() -> None:
    with pytest.raises(BackendAttackError, match="nobody"):
        liar(program(parse_family("cycle:5")), LIARS["hash-liar"]())
