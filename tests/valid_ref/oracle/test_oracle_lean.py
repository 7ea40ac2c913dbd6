"""Recordings of lean validation: runs conform, faults have their place and clause."""

import json

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.adversary.catalogue import ATTACKS, LEAN_ATTACKS
from valid_ref.adversary.lean_attacks import EarlyValue
from valid_ref.alarms import Alarm
from valid_ref.graph import AgentGraph
from valid_ref.oracle import (
    RecordingError,
    Status,
    check,
    diff,
    open_recording,
    record_run,
    recording_digest,
    write_recording,
)
from valid_ref.oracle.files import npy_header
from valid_ref.oracle.flooded import FloodedRows
from valid_ref.oracle.header import layouts
from valid_ref.protocols import lean
from valid_ref.protocols.valid import Private
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts
from valid_ref.schedule import Precision
from valid_ref.words import Listed

# Agent 1 is the root, 0 and 2 are its children, 3 is the child of 2.
TREE = AgentGraph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
FIX, OPEN, REPORT, COMPARE = lean.FIX, lean.OPEN, lean.REPORT, lean.COMPARE

SMALL = Scenario(
    graph=parts.Edges(6, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 3))),
    loss=parts.RandomQuadratics(2),
    rounds=4,
    precision=Precision(12, 10),
    bounds=parts.ConfiguredBounds(1e3, 1e3),
    checks=(parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e3, 1e4)),),
    delta=100.0,
    seed=3,
    validation=parts.Lean(),
)
BEYOND = attrs.evolve(SMALL, bounds=parts.ConfiguredBounds(1e3, 1e-3), byzantine=(1,))
"""Own gradients are beyond the norm bounds, so that numbers q and sums have not their form."""

ON_LEAN = [kind for kind in LEAN_ATTACKS if kind != "guessed-shares"]
"""The attacks that can be made in a large field."""


@pytest.mark.checks("LE-6", "RE-9")
def test_own_values_without_their_form_are_judged_like_any_other(tmp_path) -> None:
    """Also the very object that a neighbour sends back; in a recording they are malformed."""
    finished = run(attrs.evolve(BEYOND, attack=EarlyValue(FIX)))
    mine = [raised for raised in finished.execution.states[0].memory.alarms if raised.sender == 1]
    of_own = [raised.alarm for raised in mine if raised.about == (0, lean.FIXED)]
    assert of_own == [Alarm.MALFORMED_VALUE]
    record_run(finished, tmp_path / "run.zip")
    verdict = check(open_recording(tmp_path / "run.zip"))
    assert verdict.conforms, [str(found) for found in verdict.divergences]


@pytest.mark.checks("LE-7", "LE-8", "LE-16", "RE-9")
def test_honest_agents_beyond_their_norm_bounds_end_with_alarms(tmp_path) -> None:
    """All by LV-2; what has not its form is adopted by nobody, and everybody misses it."""
    finished = run(attrs.evolve(BEYOND, byzantine=()))
    for agent, alarms in finished.alarms.items():
        reasons = [raised.alarm for raised in alarms]
        assert reasons[0] is Alarm.GRADIENT_NORM
        assert Alarm.MALFORMED_VALUE in reasons
        missed = {r.about for r in alarms if r.alarm is Alarm.NO_VALUE and r.phase == FIX}
        assert {(v, lean.FIXED) for v in range(6) if v != agent} <= missed
        assert (agent, lean.FIXED) in finished.execution.states[agent].memory.held
    assert finished.outcome == "failed"
    record_run(finished, tmp_path / "run.zip")
    assert check(open_recording(tmp_path / "run.zip")).conforms


@pytest.mark.checks("RE-9", "RE-12")
@pytest.mark.parametrize("kind", [None, "equivocation", *ON_LEAN])
def test_runs_with_lean_validation_conform(tmp_path, kind) -> None:
    attacked = {} if kind is None else {"byzantine": (1, 2), "attack": ATTACKS[kind]()}
    late = parts.Lean(kappa=1, without=("total-first",))
    chosen = late if kind == "late-total" else parts.Lean()
    finished = run(attrs.evolve(SMALL, validation=chosen, **attacked))
    record_run(finished, tmp_path / "run.zip")
    opened = open_recording(tmp_path / "run.zip")
    verdict = check(opened, allow_weakened=kind == "late-total")
    assert verdict.conforms, [str(found) for found in verdict.divergences]
    assert verdict.findings is not None
    assert verdict.findings.outcome == finished.outcome
    spoken_on_edges = [
        {(s, r): one.on_edge(s, r) for s in range(6) for r in opened.parameters.graph.neighbours(s)}
        for one in opened.rounds()
    ]
    for before, after in zip(finished.execution.rounds, spoken_on_edges, strict=True):
        if before.phase in {FIX, OPEN, REPORT, COMPARE} and kind is None:
            assert {edge: before.on_edge(*edge) for edge in after} == after
    assert recording_digest(finished) == recording_digest(run(finished.scenario))


@st.composite
def garbage(draw: st.DrawFn):
    """Words that no honest agent says: of no form, early, beyond their limits, of other tags."""
    numbers = st.integers(-(2**66), 2**257) | st.integers(0, 5) | st.booleans()
    values = st.none() | st.lists(numbers, max_size=11).map(tuple) | numbers
    slots = st.sampled_from(["fixed", "opening", "report", "sum", "total", "key", 0])
    tags = st.tuples(st.integers(-1, 4), slots)
    mappings = st.dictionaries(tags, values, max_size=8)
    words = mappings | st.none() | numbers | st.builds(lambda m: Listed((m, m)), mappings)
    phase = draw(st.sampled_from([FIX, OPEN, REPORT, COMPARE]))
    message = draw(words)
    keep = draw(st.booleans())

    def change(said):
        both = isinstance(message, dict) and hasattr(said, "items")
        return {**said, **message} if both and keep else message

    edges = draw(st.lists(st.sampled_from([(1, 0), (1, 2), (3, 2)]), min_size=1))
    return support.edited(phase, change, edges=edges)


@pytest.mark.checks("RE-4", "RE-9")
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(garbage(), min_size=1, max_size=3))
def test_whatever_byzantine_agents_say_replays_to_the_same_alarms(tmp_path_factory, edits) -> None:
    execution = support.run(
        support.lean_network(TREE, kappa=1), support.both(*edits), byzantine=(1, 3)
    )
    path = tmp_path_factory.mktemp("garbage") / "run"
    write_recording(path, execution, "test")
    verdict = check(open_recording(path))
    assert verdict.conforms, [str(found) for found in verdict.divergences]


EXECUTION = support.run(support.lean_network(TREE))


def tuple_with(index: int):
    return lambda value: tuple(n + (i == index) for i, n in enumerate(value))


def to_all(tag, change):
    return lambda said: {key: change(v) if key == tag else v for key, v in said.items()}


@pytest.mark.checks("RE-9", "LE-6", "LE-7", "LE-9", "LE-10", "LE-11", "LE-13")
@pytest.mark.parametrize(
    ("phase", "number", "change", "clause"),
    [
        (FIX, 1, to_all((2, "fixed"), tuple_with(0)), "LE-9"),
        (FIX, 1, to_all((2, "fixed"), tuple_with(1)), "LE-7"),
        (FIX, 1, lambda _said: {}, "LE-6"),
        (FIX, 1, lambda _said: None, "LE-6"),
        (FIX, 2, to_all((3, "fixed"), tuple_with(1)), "LE-6"),
        (FIX, 2, lambda said: {**said, (2, "fixed"): (1, 1)}, "LE-6"),
        (OPEN, 1, to_all((2, "opening"), tuple_with(1)), "LE-10"),
        (REPORT, 1, to_all((2, "report"), tuple_with(3)), "LE-11"),
        (REPORT, 3, lambda said: {**said, (3, "report"): None}, "LE-6"),
        (COMPARE, 1, lambda said: said ^ 1, "LE-13"),
        (COMPARE, 1, lambda _said: True, "LE-13"),
    ],
)
def test_a_wrong_word_is_found_at_its_place(tmp_path, phase, number, change, clause) -> None:
    """Agent 2 says something else to all, and to its parent alone what it must."""

    def edit(spoken):
        if (spoken.phase, spoken.number) != (phase, number):
            return spoken
        return attrs.evolve(spoken, said=spoken.said | {2: change(spoken.said[2])})

    wrong = attrs.evolve(EXECUTION, rounds=tuple(map(edit, EXECUTION.rounds)))
    write_recording(tmp_path / "run", wrong, "test")
    verdict = check(open_recording(tmp_path / "run"))
    assert verdict.status is Status.DIVERGES
    [found] = [one for one in verdict.divergences if one.agent == 2]
    assert (found.phase, found.round, found.difference.clause) == (phase, number, clause)


@pytest.mark.checks("RE-9", "LE-8")
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(
    ("number", "edge", "tag"),
    [(1, (3, 2), (3, "sum")), (2, (2, 1), (2, "sum")), (3, (1, 0), (1, "total"))],
)
def test_a_sum_that_is_wrong_or_not_sent_is_found_on_its_edge(
    tmp_path, number, edge, tag, kept
) -> None:
    def edit(spoken):
        if (spoken.phase, spoken.number) != (FIX, number):
            return spoken
        said = dict(spoken.addressed[edge])
        said[tag] = tuple_with(0)(said[tag])
        rest = {other: word for other, word in spoken.addressed.items() if other != edge}
        return attrs.evolve(spoken, addressed=rest | {edge: said} if kept else rest)

    wrong = attrs.evolve(EXECUTION, rounds=tuple(map(edit, EXECUTION.rounds)))
    write_recording(tmp_path / "run", wrong, "test")
    verdict = check(open_recording(tmp_path / "run"))
    [found] = [one for one in verdict.divergences if one.agent == edge[0]]
    place = (found.phase, found.round, found.edge, found.difference.clause)
    assert place == (FIX, number, edge, "LE-8")


@pytest.mark.checks("RE-4", "RE-9")
def test_a_recorder_that_knows_only_edges_conforms(tmp_path) -> None:
    def on_edges(spoken):
        edges = [(v, u) for v in range(4) for u in TREE.neighbours(v)]
        words = {edge: spoken.on_edge(*edge) for edge in edges}
        return attrs.evolve(spoken, said=dict.fromkeys(range(4)), deviations=words)

    only = attrs.evolve(EXECUTION, rounds=tuple(map(on_edges, EXECUTION.rounds)))
    write_recording(tmp_path / "run", only, "test")
    assert check(open_recording(tmp_path / "run")).conforms


# Hostile input.


class Draft:
    """A recording without checksums, taken apart so that a test can change it."""

    def __init__(self, home) -> None:
        self.home = home / "run"
        write_recording(self.home, EXECUTION, "test", checksums=False)
        self.parameters = EXECUTION.parameters
        text = (self.home / "log.jsonl").read_text().splitlines()
        self.lines = [json.loads(line) for line in text]
        self.header = json.loads((self.home / "header.json").read_text())
        opened = open_recording(self.home)
        self.arrays = {name: np.array(array) for name, array in opened.arrays.items()}
        first = EXECUTION.parameters.lattice.schedule.rounds
        self.at = {
            (line["phase"], line["round"]): line for line in self.lines[first:] if "round" in line
        }

    def verdict(self):
        for name, array in self.arrays.items():
            layout = layouts(self.parameters)[name]
            data = npy_header(layout, len(array)) + array.astype(layout.dtype).tobytes()
            (self.home / f"{name}.npy").write_bytes(data)
        (self.home / "header.json").write_text(json.dumps(self.header))
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        (self.home / "log.jsonl").write_text(text)
        return check(open_recording(self.home))


def header(name, value):
    return lambda draft: draft.header.update({name: value})


def lean_header(name, value):
    return lambda draft: draft.header["lean"].update({name: value})


def entry(array, row, column, value):
    def change(draft) -> None:
        draft.arrays[array][row, column] = value

    return change


def same_nonce(draft) -> None:
    draft.arrays["keys"][2, :4] = draft.arrays["keys"][0, :4]


def message(phase, number, agent, **fields):
    return lambda draft: draft.at[phase, number]["said"][agent].update(fields)


def swapped_sums(draft) -> None:
    """A vector that only the total can be as the sum of one agent."""
    draft.arrays["estimates"][0, 0] = 4 * (3 * 2**32)
    draft.at[FIX, 1]["deviations"][0]["message"]["rows"][-1][-1] = 0


P = 2**61 - 1


@pytest.mark.checks("RE-7", "RE-16", "RE-2", "RE-3", "RE-4", "LE-1", "LE-4")
@pytest.mark.parametrize(
    ("change", "clause"),
    [
        (lean_header("kappa", 0), "RE-16"),
        (lean_header("kappa", 65), "RE-16"),
        (lean_header("kappa", "2"), "RE-7"),
        (lean_header("run", "1" * 63), "RE-7"),
        (lean_header("run", "G" * 64), "RE-7"),
        (lean_header("without", ["nothing"]), "RE-7"),
        (lean_header("without", ["nonce"] * 9), "RE-16"),
        (lean_header("more", 1), "RE-7"),
        (header("lean", [2]), "RE-7"),
        (header("lean", None), "RE-3"),
        (header("flood_held", [1]), "RE-2"),
        (header("without", ["P11"]), "LE-1"),
        (header("keys_checked", "own"), "LE-1"),
        (header("bounds", None), "LE-3"),
        (entry("keys", 1, 4, P), "RE-4"),
        (same_nonce, "LE-4"),
        (entry("reports", 0, -1, 1), "RE-4"),
        (entry("reports", 4, 5, P), "RE-4"),
        (swapped_sums, "RE-4"),
        (message(FIX, 1, 0, rows=[[0, -3, 0]]), "RE-4"),
        (message(FIX, 1, 0, rows=[[0, 7, 0]]), "RE-4"),
        (message(FIX, 1, 0, rows=[[0, -2, 0], [0, -2, 0]]), "RE-4"),
        (message(FIX, 1, 0, rows=[[0, -2, 99]]), "RE-4"),
        (message(FIX, 1, 0, keys=[[0, 1]]), "RE-4"),
        (message(FIX, 1, 0, nulls=[[0, -2]]), "RE-4"),
        (message(COMPARE, 1, 0, value=2**256), "RE-4"),
        (message(COMPARE, 1, 0, value=-1), "RE-4"),
        (message(COMPARE, 1, 0, value=True), "RE-7"),
        (lambda d: d.at[OPEN, 1]["said"].__setitem__(0, {"kind": "digest", "value": 1}), "RE-4"),
        (lambda d: d.at[FIX, 1]["said"].__setitem__(0, {"kind": "flag", "value": True}), "RE-4"),
    ],
)
def test_what_is_no_recording_of_lean_validation_is_refused(tmp_path, change, clause) -> None:
    draft = Draft(tmp_path)
    change(draft)
    with pytest.raises(RecordingError) as caught:
        draft.verdict()
    assert caught.value.clause == clause


def test_the_draft_itself_conforms(tmp_path) -> None:
    assert Draft(tmp_path).verdict().conforms


@pytest.mark.checks("RE-3")
@given(st.data())
def test_flooded_values_and_openings_survive_their_rows(data) -> None:
    parameters = EXECUTION.parameters
    rows = FloodedRows.of(parameters)
    slot = data.draw(st.sampled_from(sorted(rows.limits)))
    value = tuple(data.draw(st.integers(0, limit - 1)) for limit in rows.limits[slot])
    assert rows.value(slot, rows.row(slot, value, rows.width), "here") == value


@pytest.mark.checks("RE-13")
def test_another_opening_is_the_first_difference(tmp_path) -> None:
    private = support.privates(EXECUTION.parameters)
    other = attrs.evolve(private[2].key, shares=(1, 2))
    again = support.run(
        EXECUTION.parameters, private=private | {2: Private(private[2].gradient, other)}
    )
    for name, execution in (("one", EXECUTION), ("other", again)):
        write_recording(tmp_path / name, execution, "test")
    opened = [open_recording(tmp_path / name) for name in ("one", "other")]
    gap = diff(*opened)
    assert gap is not None
    assert gap.place == "keys.npy"
    assert diff(opened[0], opened[0]) is None
