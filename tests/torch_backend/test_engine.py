"""The batched program says what the machines of the reference say, word by word."""

from unittest import mock

import attrs
import numpy as np
import pytest
import torch

from tests.torch_backend.runs import (
    AttackByFunction,
    consistent,
    learn,
    noisy,
    on_edge,
    per_edge,
    program,
    quiet,
    reference,
    rude,
)
from torch_backend import engine, kernels
from torch_backend.attacks.attack import LearningDeviation, LearningView
from torch_backend.errors import (
    BackendAttackError,
    ConfigError,
    DataError,
    DeviceError,
    ModelError,
)
from torch_backend.estimates import statistics
from torch_backend.models.mlp import Mlp
from torch_backend.program import require_device
from valid_ref.alarms import Alarm
from valid_ref.graph_families import parse_family
from valid_ref.protocols import global_validate
from valid_ref.protocols.learn import PHASE, LearningMessage
from valid_ref.reading import Reading

MODELS = {"softmax": None, "mlp": Mlp((5,))}
ATTACKS = {
    "none": None,
    "labels": quiet,
    "noisy": noisy,
    "consistent": consistent,
    "per edge": per_edge,
    "rude": rude,
}


def a_program(attack: str, model: str = "softmax", **others: object) -> engine.Program:
    script = ATTACKS[attack]
    graph = parse_family("complete:4") if others.pop("dense", False) else parse_family("cycle:5")
    if script is None:
        return program(graph, options=MODELS[model], **others)
    return program(
        graph, options=MODELS[model], attack=AttackByFunction(script), byzantine=(2,), **others
    )


FORMS = pytest.mark.parametrize("pays_from", [0, 2**62], ids=["compiled", "tensors"])


@FORMS
@pytest.mark.checks("AR-4", "AR-5", "LM-2", "LM-3", "LM-4", "EX-11")
@pytest.mark.parametrize("model", [*MODELS, "float64"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_every_message_and_alarm_is_that_of_the_reference(
    attack: str, model: str, pays_from: int
) -> None:
    dtype = torch.float64 if model == "float64" else torch.float32
    run = a_program(
        attack, "mlp" if model == "mlp" else "softmax", dense=attack != "none", dtype=dtype
    )
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        states, said = learn(run)
    execution = reference(run, said)
    for spoken, expected in zip(said, execution.rounds, strict=False):
        assert expected.phase == PHASE
        for sender, receiver in run.graph.directed_edges:
            one, other = on_edge(spoken, sender, receiver), expected.on_edge(sender, receiver)
            assert (one is None) == (other is None)
            if isinstance(one, LearningMessage) and isinstance(other, LearningMessage):
                assert np.array_equal(one.model, other.model)
                assert np.array_equal(one.scaled_gradient, other.scaled_gradient)
    for agent in run.honest:
        learned = [r for r in execution.states[agent].memory.alarms if r.phase == PHASE]
        assert list(states[-1].alarms[agent]) == learned
    if attack == "rude":
        assert {r.alarm for r in states[-1].alarms[0]} | {
            r.alarm for r in states[-1].alarms[1]
        } == {Alarm.MISSING_MESSAGE, Alarm.OUT_OF_RANGE}


@pytest.mark.checks("GV-2", "GV-9")
@pytest.mark.parametrize("attack", ATTACKS)
def test_online_estimates_are_those_of_the_transcripts(attack: str) -> None:
    run = a_program(attack, dense=True)
    states, said = learn(run)
    execution = reference(run, said)
    values = states[-1].estimates.values()
    for receiver in range(run.graph.agents):
        transcripts = execution.states[receiver].memory.fixed_transcripts
        for sender, transcript in transcripts.received.items():
            expected = global_validate.estimate(run.parameters, transcript)
            assert values.get((sender, receiver), values[sender]) == expected
    agreed = [
        values.get((u, run.graph.neighbours(u)[0]), values[u]) for u in range(run.graph.agents)
    ]
    expected = tuple(global_validate.statistics(run.parameters, i, agreed) for i in range(2))
    assert statistics(run, states[-1]) == expected
    counted = attrs.evolve(run, estimate="counted")
    last = learn(counted)[0][-1]
    assert statistics(counted, last) == expected
    assert [*last.estimates.values().values()] == agreed


@pytest.mark.checks("AR-14")
def test_an_agent_that_leaves_the_lattice_is_silent_for_good() -> None:
    run = program(parse_family("path:3"), alpha=900.0, rounds=6)
    states, said = learn(run)
    assert engine.diverged(run, states[-1])
    execution = reference(run, said)
    for agent in range(3):
        learned = [r for r in execution.states[agent].memory.alarms if r.phase == PHASE]
        assert list(states[-1].alarms[agent]) == learned
    assert {r.alarm for r in states[-1].alarms[1]} >= {Alarm.OWN_UPDATE_OUT_OF_RANGE}


@pytest.mark.checks("EX-11")
def test_advance_leaves_its_state_as_it_is_and_repeats_itself() -> None:
    run = a_program("per edge", dense=True)
    states, said = learn(run)
    for before, after, spoken in zip(states, states[1:], said, strict=False):
        again, words = engine.advance(run, before)
        assert torch.equal(again.models, after.models)
        assert torch.equal(words.gammas, spoken.gammas)
        assert again.estimates.values() == after.estimates.values()


@pytest.mark.parametrize("chunk", [1, 2, 4, 7])
def test_chunks_change_at_most_the_last_bits_of_gradients(chunk: int) -> None:
    whole, parts = a_program("none", "mlp"), a_program("none", "mlp", chunk=chunk)
    one, other = learn(whole)[0][-1], learn(parts)[0][-1]
    assert int((one.models - other.models).abs().max()) < 2**10
    assert torch.allclose(one.losses, other.losses)


SPEAKERS = {
    "an honest agent": lambda pair: LearningDeviation({1: pair}),
    "what an honest agent keeps": lambda pair: LearningDeviation(keeps={1: pair[0]}),
    "an edge of an honest agent": lambda pair: LearningDeviation(edges={(1, 2): pair}),
    "an edge that does not exist": lambda pair: LearningDeviation(edges={(2, 0): pair}),
    "silence of an honest agent": lambda pair: LearningDeviation(silent=frozenset({(1, 2)})),
}
FORMS_OF_WORDS = {
    "floats": lambda pair: (pair[0].double(), pair[1]),
    "fewer entries": lambda pair: (pair[0], pair[1][:-1]),
    "a matrix": lambda pair: (pair[0][None], pair[1]),
    "32 bits": lambda pair: (pair[0], pair[1].int()),
}


@pytest.mark.checks("AD-4", "AR-11")
@pytest.mark.parametrize("case", [*SPEAKERS, *FORMS_OF_WORDS])
def test_an_attack_speaks_for_byzantine_agents_in_vectors_of_the_lattice(case: str) -> None:
    def script(view: LearningView) -> LearningDeviation:
        pair = (view.models[2], view.gammas[2])
        if case in SPEAKERS:
            return SPEAKERS[case](pair)
        return LearningDeviation({2: FORMS_OF_WORDS[case](pair)})

    run = program(parse_family("cycle:5"), attack=AttackByFunction(script), byzantine=(2,))
    with pytest.raises(BackendAttackError) as refused:
        engine.advance(run, engine.start(run))
    assert refused.value.clause == ("AD-4" if case in SPEAKERS else "AR-11")


@pytest.mark.checks("AD-6", "EX-12")
def test_programs_that_cannot_be_run_are_refused_with_what_to_do() -> None:
    good = a_program("noisy", dense=True)
    printed = attrs.evolve(good.parameters, reading=Reading.without("P07"))
    with pytest.raises(BackendAttackError, match=r"Assumption 1\+ fails.*choose other agents"):
        program(parse_family("path:5"), attack=AttackByFunction(noisy), byzantine=(2,))
    for change, error in (
        ({"attack": None}, BackendAttackError),
        ({"batch": 0}, ConfigError),
        ({"model": Mlp((9,)).build(9, 3)}, ModelError),
        ({"device": torch.device("meta")}, DeviceError),
        ({"split": attrs.evolve(good.split, parts=(np.arange(120),))}, DataError),
        ({"parameters": printed}, ConfigError),
    ):
        with pytest.raises(error):
            attrs.evolve(good, **change)
    with pytest.raises(DeviceError, match="use cpu"):
        require_device("cuda:77")
    states, _said = learn(good)
    with pytest.raises(ConfigError, match="all are done"):
        engine.advance(good, states[-1])
