"""Lean validation: parameters, encodings, what is flooded, every check, and what it costs."""

import hashlib
import math
import re
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import support
from valid_ref.alarms import Alarm
from valid_ref.coins import Coins
from valid_ref.execution import Execution, execute, validate
from valid_ref.graph import AgentGraph, DisconnectedError
from valid_ref.graph_families import complete, cycle, parse_family, path, star
from valid_ref.guarantees.lean import measured_traffic, traffic, unseen_lies, wrong_totals
from valid_ref.guarantees.local import quiet_if_all_honest
from valid_ref.hashing import hash_vector
from valid_ref.machine import honest
from valid_ref.protocols import lean
from valid_ref.protocols.flood import TOTAL
from valid_ref.protocols.lean import Opening, OpeningError
from valid_ref.protocols.measures import Fast, Plain
from valid_ref.protocols.parameters import (
    Bounds,
    CheckedKeys,
    LeanParameters,
    ParameterError,
    ValidParameters,
    estimate_limit,
)
from valid_ref.protocols.remembered import Remembered
from valid_ref.protocols.routes import Routes
from valid_ref.protocols.valid import Learned, Private, Valid
from valid_ref.protocols.validation import ValidationInput
from valid_ref.reading import Reading
from valid_ref.scenario.parts import Lean
from valid_ref.schedule import Precision
from valid_ref.wide import WideIntegers
from valid_ref.words import Malformed

CHAPTER = Path(__file__).resolve().parents[3] / "spec" / "lean-validation.md"
RUN = "5a" * 32
LARGE = (10**9) ** 2
ROOMY = Bounds((LARGE,) * 3, (LARGE,) * 3)


def lean_network(graph: AgentGraph, *, kappa: int = 2, run: str = RUN, **options: Any):
    options.setdefault("bounds", ROOMY if options.get("T", 3) == 3 else None)
    return attrs.evolve(support.network(graph, **options), lean=LeanParameters(kappa, run))


def opening(seed: int, agent: int, parameters: ValidParameters) -> Opening:
    return Opening.of_coins(Coins.of_seed(seed).child("test", agent), parameters)


def privates(parameters: ValidParameters, seed: int = 0) -> dict[int, Private]:
    made = support.privates(parameters, seed=seed, keys=[0] * parameters.graph.agents)
    return {v: attrs.evolve(one, key=opening(seed, v, parameters)) for v, one in made.items()}


def run(parameters: ValidParameters, adversary=honest, byzantine=(), seed: int = 0) -> Execution:
    return execute(
        parameters,
        privates(parameters, seed),
        byzantine=frozenset(byzantine),
        adversary=adversary,
    )


# The worked example of the chapter.


def example(last_gamma: int | None = None) -> Execution:
    bounds = Bounds((17**2, 26**2), (35**2, 52**2))
    parameters = support.network(
        path(3),
        d=1,
        T=2,
        precision=Precision(4, 2),
        mixing=(1, 1),
        gradient=(2, 2),
        prime=10007,
        bounds=bounds,
        weightings=(support.weighting((1, 2)),),
    )
    parameters = attrs.evolve(parameters, lean=LeanParameters(1, "11" * 32))
    openings = [Opening(1, (5,)), Opening(256, (17,)), Opening(2**255, (42,))]
    private = {v: Private(lambda _t, point, c=float(v): point - c, openings[v]) for v in range(3)}
    return execute(parameters, private)


@pytest.mark.checks("LE-9", "LE-11", "LE-13", "LE-7", "LE-10")
def test_the_worked_example_is_what_the_chapter_says() -> None:
    text = CHAPTER.read_text(encoding="utf-8").partition("## Worked example")[2]
    printed = re.findall(
        r"^\| (\d) \| `([0-9a-f]{64})` \| (\d+) \| (-?\d+) \| (.*) \|$", text, re.M
    )
    execution = example()
    assert len(printed) == 3
    for agent, committed, q, ghat, report in printed:
        for state in execution.states.values():
            held = state.memory.held
            assert held[int(agent), "fixed"] == (int(committed, 16), int(q))
            assert int(ghat) ** 2 == int(q)
            assert held[int(agent), "report"] == tuple(map(int, report.split(", ")))
    for state in execution.states.values():
        assert (state.memory.alarms, state.memory.keys) == ((), (64,))
        assert tuple(state.memory.held[1, TOTAL]) == (-96,)
        digest = lean.digest(execution.parameters, state.memory.held)
        assert f"`{digest:064x}`" in text
    framed = "".join(re.search(r"```text\n(.*?)```", text, re.DOTALL)[1].split())
    committed = hashlib.sha256(bytes.fromhex(framed)).hexdigest()
    assert committed == printed[1][1]


# Parameters and openings.


@pytest.mark.checks("LE-1", "LE-18")
@pytest.mark.parametrize("kappa", [0, -1, 65, 1.0, True])
def test_a_number_of_keys_that_is_none_is_refused(kappa: Any) -> None:
    with pytest.raises(ParameterError, match="kappa") as error:
        LeanParameters(kappa, RUN)
    assert error.value.clause == "LE-1"


@pytest.mark.checks("LE-1", "LE-18")
def test_names_readings_parts_and_graphs_that_are_refused() -> None:
    for name in ("", "5A" * 32, "5a" * 31, "5a" * 33, b"5a" * 32):
        with pytest.raises(ParameterError, match="the name of a run"):
            LeanParameters(1, name)
    with pytest.raises(ParameterError, match="without: nonce stands twice in the list") as error:
        LeanParameters(2, RUN, ("nonce", "record", "nonce"))
    assert error.value.clause == "LE-18"
    with pytest.raises(ParameterError, match="without: nonce stands twice in the list"):
        Lean(without=("nonce", "nonce"))
    with pytest.raises(ParameterError, match="no part 'nonsense'") as error:
        LeanParameters(1, RUN, ("nonsense",))
    assert error.value.clause == "LE-18"
    for reading in (Reading.without("P07"), Reading.as_printed()):
        with pytest.raises(ParameterError, match="has no reading without P0"):
            lean_network(path(3), reading=reading)
    lean_network(path(3), reading=Reading.without("P06"))
    with pytest.raises(ParameterError, match="keys_checked must be all"):
        lean_network(path(3), checked_keys=CheckedKeys.OWN)
    with pytest.raises(DisconnectedError):
        lean_network(AgentGraph.from_edges(4, [(0, 1), (2, 3)]))
    with pytest.raises(ParameterError, match="of the paper's validation"):
        lean.lean_of(support.network(path(2)))


@pytest.mark.checks("LE-3")
def test_parameters_under_which_a_sum_could_wrap_are_refused() -> None:
    """2 n L < p, and L is what passes the range and the norm checks; both ways to the last unit."""
    graph, T, prime = path(3), 2, 10007
    plain: dict[str, Any] = {"d": 1, "T": T, "prime": prime, "weightings": ()}
    plain |= {"precision": Precision(0, 0), "mixing": (1, 1), "gradient": (2, 3)}
    free = support.network(graph, **plain)
    limit = free.lattice.gradient_limit
    L = 5 * -(-(limit - 1) // 2) + 7 * -(-(limit - 1) // 3)
    weights = support.weighting((5, 7))
    assert estimate_limit(free, weights) == L
    largest = (prime - 1) // 6  # the largest L that fits
    bound = largest // 12
    kept = attrs.evolve(free, bounds=Bounds((1, 1), (bound**2, (bound + 1) ** 2 - 1)))
    assert estimate_limit(kept, weights) == 12 * bound
    fitting = LeanParameters(1, RUN)
    attrs.evolve(kept, weightings=(weights,), lean=fitting)
    for bounds, said in (
        (
            Bounds((1, 1), ((bound + 1) ** 2,) * 2),
            r"times smaller, by smaller weights, fewer rounds or tighter norm bounds \[LE-3\]$",
        ),
        (None, "smaller weights, fewer rounds or norm bounds, of which there are none \\[LE-3\\]$"),
    ):
        with pytest.raises(ParameterError, match=said) as error:
            attrs.evolve(free, bounds=bounds, weightings=(weights,), lean=fitting)
        assert error.value.clause == "LE-3"
    exact = attrs.evolve(kept, bounds=Bounds((1, 1), (1, 1)))
    for more, fits in ((0, True), (1, False)):
        one = (support.weighting((largest + more, 0)),)
        if fits:
            attrs.evolve(exact, weightings=one, lean=fitting)
        else:
            with pytest.raises(ParameterError, match="could wrap"):
                attrs.evolve(exact, weightings=one, lean=fitting)
    attrs.evolve(free, weightings=(weights,), lean=LeanParameters(1, RUN, ("range",)))


@pytest.mark.checks("LE-4")
def test_openings_that_are_refused() -> None:
    parameters = lean_network(path(2))
    p = parameters.field.prime
    wrong: list[Any] = [
        7,
        Opening(0, ()),
        Opening(0, (1,)),
        Opening(0, (1, 2, 3)),
        Opening(0, (1, p)),
        Opening(0, (-1, 1)),
        Opening(-1, (1, 1)),
        Opening(2**256, (1, 1)),
        Opening(0, (1, 1.0)),
        Opening(True, (1, 1)),
        Opening(np.int64(3), (1, 1)),
    ]
    for one in wrong:
        private = privates(parameters) | {1: Private(lambda _t, x: x, one)}
        with pytest.raises(OpeningError) as error:
            execute(parameters, private)
        assert error.value.clause == "LE-4"
        fixed = {
            v: ValidationInput(o.key, Learned(_record(parameters, v))) for v, o in private.items()
        }
        with pytest.raises(OpeningError):
            validate(parameters, fixed)


def _record(parameters: ValidParameters, agent: int):
    execution = run(parameters)
    return execution.states[agent].memory.fixed_transcripts


@pytest.mark.checks("LE-4")
def test_a_source_of_coins_that_repeats_is_refused() -> None:
    parameters = lean_network(path(3))
    private = privates(parameters)
    same = attrs.evolve(private[2].key, nonce=private[0].key.nonce)
    with pytest.raises(OpeningError, match="the source of coins repeats") as error:
        execute(parameters, private | {2: attrs.evolve(private[2], key=same)})
    assert error.value.clause == "LE-4"
    fixed = {v: ValidationInput(same, Learned(_record(parameters, v))) for v in range(3)}
    with pytest.raises(OpeningError, match="the source of coins repeats"):
        validate(parameters, fixed)


@pytest.mark.checks("LE-4")
def test_an_opening_follows_from_coins_and_shows_nothing() -> None:
    parameters = lean_network(path(2), kappa=3)
    coins = Coins.of_seed(4)
    made = Opening.of_coins(coins, parameters)
    assert made.nonce == int.from_bytes(coins.child("nonce").secret)
    p = parameters.field.prime
    assert made.shares == tuple(coins.integer_below(p, "share", i) for i in range(3))
    assert str(made.nonce) not in repr(made)
    assert not any(str(share) in repr(made) for share in made.shares)
    with pytest.raises(ParameterError, match="brings a key"):
        _ = Private(lambda _t, x: x, made).own_key


# Encodings.

integers = st.integers(0, 2**300)


def unframed(text: bytes) -> list[bytes]:
    pieces = []
    while text:
        size = int.from_bytes(text[:8])
        pieces.append(text[8 : 8 + size])
        text = text[8 + size :]
    return pieces


@pytest.mark.checks("LE-9")
@given(st.lists(st.binary(max_size=20), max_size=6), st.lists(integers, max_size=6))
def test_frames_and_numbers_can_be_read_back(pieces: list[bytes], values: list[int]) -> None:
    assert unframed(lean.framed(*pieces)) == pieces
    numbers = [lean.number(value) for value in values]
    assert [int.from_bytes(piece) for piece in unframed(lean.framed(*numbers))] == values
    assert not any(piece.startswith(b"\0") for piece in numbers)
    assert lean.number(0) == b""


@pytest.mark.checks("LE-9")
@given(
    st.integers(0, 5),
    st.integers(0, 2**256 - 1),
    st.lists(st.integers(0, 2**61 - 2), min_size=1, max_size=3),
)
def test_a_commitment_is_sha256_of_everything_it_is_about(
    agent: int, nonce: int, shares: list[int]
) -> None:
    parameters = lean_network(complete(6), kappa=len(shares))

    def num(value: int) -> bytes:
        digits = f"{value:x}" if value else ""
        return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0"))

    pieces = [b"valid-ref/lean/1/commitment", bytes.fromhex(RUN), num(agent), num(nonce)]
    text = b"".join(len(p).to_bytes(8, "big") + p for p in [*pieces, *map(num, shares)])
    expected = int(hashlib.sha256(text).hexdigest(), 16)
    made = lean.commitment(parameters, agent, (nonce, *shares))
    assert made == expected
    others = [
        lean.commitment(parameters, (agent + 1) % 6, (nonce, *shares)),
        lean.commitment(parameters, agent, (nonce ^ 1, *shares)),
        lean.commitment(parameters, agent, (nonce, *shares[:-1], shares[-1] ^ 1)),
        lean.commitment(lean_network(complete(6), run="5b" * 32), agent, (nonce, *shares)),
    ]
    assert made not in others
    assert len({*others}) == len(others)


@pytest.mark.checks("LE-13")
@given(st.data())
def test_a_digest_is_about_every_value_held_and_every_null(data: st.DataObject) -> None:
    parameters = lean_network(path(3), kappa=1)
    tags = [(v, slot) for v in range(3) for slot in ("fixed", "opening", "report")]
    values = st.lists(st.integers(0, 2**20), min_size=1, max_size=3).map(tuple)
    held: dict[Any, Any] = {tag: data.draw(values) for tag in tags if data.draw(st.booleans())}

    def frame(pieces: list[bytes]) -> bytes:
        return b"".join(len(piece).to_bytes(8, "big") + piece for piece in pieces)

    def encoded(value: Any) -> bytes:
        numbers = [entry.to_bytes((entry.bit_length() + 7) // 8, "big") for entry in value or ()]
        return frame(numbers)

    pieces = [b"valid-ref/lean/1/digest", bytes.fromhex(RUN)]
    text = frame([*pieces, *(encoded(held.get(tag)) for tag in tags)])
    made = lean.digest(parameters, held)
    assert made == int(hashlib.sha256(text).hexdigest(), 16)
    changed = data.draw(st.sampled_from(tags))
    other = {**held, changed: (*held.get(changed, ()), 0)}
    assert lean.digest(parameters, other) != made
    assert lean.digest(parameters, {**held, (0, TOTAL): (1,)}) == made
    if changed in held:
        assert lean.digest(parameters, {t: v for t, v in held.items() if t != changed}) != made


# Honest runs.


@st.composite
def networks(draw: st.DrawFn) -> ValidParameters:
    m = draw(st.integers(0, 2))
    weightings = tuple(support.weighting((1 + i, 2, 3 * i)) for i in range(m))
    return lean_network(
        draw(support.graphs(6)),
        d=draw(st.integers(1, 3)),
        kappa=draw(st.integers(1, 3)),
        prime=draw(st.sampled_from([2**61 - 1, 2**89 - 1])),
        weightings=weightings,
    )


@pytest.mark.checks("LE-5", "LE-7", "LE-8", "LE-10", "LE-11", "LE-14", "LE-16")
@given(networks(), st.integers(0, 9))
def test_an_honest_run(parameters: ValidParameters, seed: int) -> None:
    """Nobody alarms; keys, numbers, reports and the total are those of the definitions."""
    execution = run(parameters, seed=seed)
    graph, routes, p = parameters.graph, Routes(parameters.graph), parameters.field.prime
    made, kappa = privates(parameters, seed), lean.lean_of(parameters).kappa
    openings: list[Any] = [made[v].key for v in range(graph.agents)]
    keys = tuple(sum(one.shares[i] for one in openings) % p for i in range(kappa))
    phases = [(spoken.phase, spoken.number) for spoken in execution.rounds[3:]]
    lengths = {lean.FIX: 2 * routes.height, lean.OPEN: routes.diameter}
    lengths |= {lean.REPORT: routes.diameter, lean.COMPARE: 1}
    lengths |= {"ValidationStateAgreement": graph.agents - 1}
    assert phases == [(name, r) for name, count in lengths.items() for r in range(1, count + 1)]
    assert len(execution.rounds) == Valid(parameters).rounds
    plain, m, d = Plain(parameters), len(parameters.weightings), parameters.lattice.dimension
    own = {v: execution.states[v].memory.fixed_transcripts.own for v in range(graph.agents)}
    ghat = {v: tuple(plain.estimate(own[v])) for v in own}
    for state in execution.states.values():
        memory = state.memory
        assert (memory.alarms, memory.invalid, memory.keys) == ((), False, keys)
        assert tuple(memory.held[routes.root, TOTAL]) == tuple(
            map(sum, zip(*ghat.values(), strict=True))
        )
        for v in own:
            parts = [ghat[v][i * d : (i + 1) * d] for i in range(m)]
            q = tuple(sum(entry**2 for entry in part) for part in parts)
            committed = lean.commitment(parameters, v, openings[v].value)
            assert memory.held[v, "fixed"] == (committed, *q)
            assert memory.held[v, "opening"] == openings[v].value
            report = []
            for i, key in enumerate(keys):
                report += plain.report(keys, own[v])[4 * i : 4 * i + 4]
                report += [hash_vector(parameters.field, key, part) for part in parts]
            assert memory.held[v, "report"] == tuple(report)
    assert quiet_if_all_honest(execution).holds
    assert unseen_lies(execution) == wrong_totals(execution) == ()
    scalars = [
        sum(costs[v].scalars for phase, costs in execution.costs().items() if phase != "LearnModel")
        for v in range(graph.agents)
    ]
    formula = traffic(parameters)
    assert scalars == [one.scalars for one in formula]
    assert measured_traffic(execution) == tuple(one.size for one in formula)


@pytest.mark.checks("LE-14")
@pytest.mark.parametrize("graph", [path(4), star(5), complete(4), cycle(5)])
def test_evaluations_are_what_the_formula_says(graph: AgentGraph) -> None:
    counted: list[int] = []

    class Counting(Plain):
        def report(self, keys, transcript):
            counted.append(2 * len(transcript) * len(keys))
            return super().report(keys, transcript)

        def vector_hashes(self, keys, vector):
            counted.append(len(self.parameters.weightings) * len(keys))
            return super().vector_hashes(keys, vector)

    weightings = (support.weighting((1, 2, 3)), support.weighting((1, 1, 1)))
    parameters = lean_network(graph, kappa=3, weightings=weightings)
    support.run_machine_of(Valid(parameters, Counting(parameters)), privates(parameters))
    assert sum(counted) == sum(one.evaluations for one in traffic(parameters))


@pytest.mark.checks("LE-14")
@pytest.mark.parametrize(
    ("name", "row", "d", "T"),
    [
        ("paper", "the paper's, 20 agents", 109386, 300),
        ("complete:20", "complete, 20 agents", 109386, 300),
        pytest.param(
            "regular:1000,8,seed=1",
            "`regular:1000,8,seed=1`",
            109386,
            300,
            marks=pytest.mark.deep,
            id="large",
        ),
        (
            "regular:100,6,seed=1",
            "`regular:100,6,seed=1`, digits, d = 1210, T = 10",
            1210,
            10,
        ),
    ],
)
def test_the_table_of_the_chapter(name: str, row: str, d: int, T: int) -> None:
    """Rounds, bytes and polynomials of both validations, as printed."""
    text = CHAPTER.read_text(encoding="utf-8")
    graph = parse_family(name)
    weights = support.weighting(tuple(range(1, T + 1)))
    squared = ((10 * 2**28) ** 2,) * T
    bounds = Bounds(squared, squared)
    small = support.network(graph, d=1, T=T, weightings=(weights,), bounds=bounds)
    parameters = attrs.evolve(
        small,
        lattice=attrs.evolve(small.lattice, dimension=d),
        start_model=np.zeros(d, np.int64),
        lean=LeanParameters(2, RUN),
    )
    n, E = graph.agents, graph.edge_count
    degrees, sent = [graph.degree(v) for v in range(n)], traffic(parameters)
    learning = sum(16 * d * T * degree for degree in degrees) / n / 1e6
    paper = [8 * (2 * k * (8 * E * n + n) + 4 * k * E * d) + (n - 1) * k for k in degrees]
    rows = {
        "paper's": (
            Valid(attrs.evolve(parameters, lean=None)).rounds - T,
            sum(paper) / n / 1e6,
            sum(2 * T * (degree + 1) * n for degree in degrees) / n,
        ),
        "lean": (
            Valid(parameters).rounds - T,
            sum(one.size for one in sent) / n / 1e6,
            sum(one.evaluations for one in sent) / n,
        ),
    }
    for kind, (rounds, size, evaluations) in rows.items():
        share = f"{100 * size / learning:.3f}".removeprefix("0")
        numbers = f"{rounds} | {size:.2f} MB | {share} % | {evaluations:.0f}"
        assert f"| {row} | {kind} | {numbers} |" in text


# Checks at the end.


@pytest.mark.checks("LE-12", "GV-13")
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"optimality": 1}, Alarm.NOT_OPTIMAL),
        ({"optimality_low": 10**50}, Alarm.TOO_OPTIMAL),
        ({"heterogeneity": 1}, Alarm.TOO_HETEROGENEOUS),
        ({"heterogeneity_low": 10**50}, Alarm.TOO_HOMOGENEOUS),
    ],
)
def test_the_thresholds_hold_on_the_total_and_on_the_numbers(limits: Any, expected: Alarm) -> None:
    tight = support.weighting((1, 2, 3), **limits)
    parameters = lean_network(path(3), weightings=(support.weighting((1, 1, 1)), tight))
    rounds = Routes(parameters.graph).diameter
    for state in run(parameters).states.values():
        first = state.memory.alarms[0]
        assert (first.alarm, first.phase, first.round) == (expected, lean.REPORT, rounds)
        assert (first.sender, first.about) == (None, tight.name)
    paper = attrs.evolve(parameters, lean=None)
    alarms = support.run(paper, private=support.privates(paper)).states[0].memory.alarms
    assert alarms[0].alarm is expected


@pytest.mark.checks("LE-12", "GV-6")
@pytest.mark.parametrize("tight", [0, 1])
@pytest.mark.parametrize("statistic", ["optimality", "heterogeneity"])
def test_every_weighting_has_thresholds_and_numbers_of_its_own(tight: int, statistic: str) -> None:
    """A limit exactly at the statistic of one weighting and one below it; the other has room."""
    weights = ((1, 1, 1), (1, 2, 3))
    found = run(lean_network(path(3), weightings=tuple(map(support.weighting, weights))))
    memory = found.states[0].memory
    total = memory.held[1, TOTAL]
    d = found.parameters.lattice.dimension
    squares = [
        math.isqrt(sum(int(e) ** 2 for e in total[i * d : (i + 1) * d]) - 1) + 1 for i in range(2)
    ]
    numbers = [sum(memory.held[v, "fixed"][1 + i] for v in range(3)) for i in range(2)]
    at_the_limit = {"optimality": squares, "heterogeneity": numbers}[statistic]
    assert at_the_limit[0] != at_the_limit[1]
    for less in (0, 1):
        limits = [{statistic: at_the_limit[i] - less * (i == tight)} for i in range(2)]
        weightings = tuple(support.weighting(w, **x) for w, x in zip(weights, limits, strict=True))
        alarms = run(lean_network(path(3), weightings=weightings)).states[0].memory.alarms
        about = [r.about for r in alarms if r.phase == lean.REPORT]
        assert about == [weightings[tight].name] * less


VALUE = st.tuples(st.integers(0, 10), st.integers(0, 10))


@pytest.mark.checks("LE-12")
def test_relations_and_totals_are_checked_under_every_key_and_name_what_fails() -> None:
    parameters = lean_network(path(3), kappa=2)
    execution = run(parameters)
    held = dict(execution.states[0].memory.held)
    keys, total = execution.states[0].memory.keys, held[1, TOTAL]
    hashes = lean.vector_hashes(parameters, keys, total)
    assert lean.relation_alarms(parameters, held, 2) == ()
    assert lean.total_alarms(parameters, held, hashes, 2) == ()
    p, report = parameters.field.prime, held[2, "report"]
    for place in range(10):
        wrong = tuple((e + (i == place)) % p for i, e in enumerate(report))
        found = lean.relation_alarms(parameters, {**held, (2, "report"): wrong}, 2)
        broken = {r.about for r in found}
        key, entry = divmod(place, 5)
        mixes = {(1, key), (2, key)} if entry == 2 else {(2, key)}
        assert broken == ({} if entry == 4 else mixes) or (entry == 4 and not broken)
        totals = lean.total_alarms(parameters, {**held, (2, "report"): wrong}, hashes, 2)
        assert [(r.alarm, r.about) for r in totals] == (
            [(Alarm.WRONG_TOTAL, parameters.weightings[0].name)] if entry == 4 else []
        )
    for v in range(3):
        less = {tag: value for tag, value in held.items() if tag != (v, "report")}
        assert lean.total_alarms(parameters, less, [0] * 2, 2) == ()
        untested = {v, *parameters.graph.neighbours(v)}
        changed = {
            t: tuple((e + 1) % p for e in x) if t[1] == "report" else x for t, x in less.items()
        }
        names = {r.about[0] for r in lean.relation_alarms(parameters, changed, 2)}
        assert not names & untested


@pytest.mark.checks("LE-12", "LE-10")
def test_what_did_not_come_is_not_compared() -> None:
    parameters = lean_network(path(2))
    assert lean.record_alarms({}, {1: ((3,), (4,))}, 1) == ()
    assert lean.opening_alarms(parameters, {(0, "fixed"): (1, 2)}, 1) == ()
    assert lean.common_keys(parameters, {(1, "opening"): (9, 4, 5)}) == (4, 5)
    assert lean.square_sums(parameters, {(1, "fixed"): (9, 4)}) is None


# Forms of values.


@pytest.mark.checks("LE-7", "LE-10", "LE-11")
@pytest.mark.parametrize("slot", ["fixed", "opening", "report"])
def test_a_value_has_so_many_integers_each_below_its_limit(slot: str) -> None:
    weightings = (support.weighting((1, 2, 3)), support.weighting((1, 1, 1)))
    parameters = lean_network(path(3), kappa=2, weightings=weightings)
    p, d = parameters.field.prime, parameters.lattice.dimension
    squares = [d * estimate_limit(parameters, one) ** 2 + 1 for one in weightings]
    limits = {
        "fixed": (2**256, *squares),
        "opening": (2**256, p, p),
        "report": (p,) * 12,
    }[slot]
    assert lean.limits_of(parameters)[slot] == limits
    largest = tuple(limit - 1 for limit in limits)
    assert lean.is_flooded(limits, largest)
    assert lean.is_flooded(limits, (0,) * len(limits))
    for place in range(len(limits)):
        for wrong in (-1, limits[place], True, 1.0, "1", None, np.int64(1), Malformed()):
            assert not lean.is_flooded(limits, (*largest[:place], wrong, *largest[place + 1 :]))
    others = [largest[:-1], (*largest, 0), [*largest], (), None, WideIntegers.of(largest)]
    assert not any(lean.is_flooded(limits, other) for other in others)


@pytest.mark.checks("LE-8")
@given(st.data())
def test_a_sum_has_the_form_of_as_many_estimates_as_it_stands_for(data: st.DataObject) -> None:
    weightings = (support.weighting((1, 2, 3)), support.weighting((1, 1, 1)))
    parameters = lean_network(path(3), weightings=weightings)
    count, place = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 3))
    limits = [count * estimate_limit(parameters, weightings[i // 2]) for i in range(4)]
    sign, more = data.draw(st.sampled_from([1, -1])), data.draw(st.integers(0, 1))
    vector = [0, 0, 0, 0]
    vector[place] = sign * (limits[place] + more)
    for measures in (Plain(parameters), Fast(parameters), Remembered(parameters)):
        for value in (tuple(vector), WideIntegers.of(vector)):
            assert measures.is_sum(value, count) == (more == 0)
            assert not measures.is_sum(value[:3], count)
        for wrong in ((0, 0, 0, True), [0] * 4, None, (0, 0, 0, 1.0), WideIntegers.of([0] * 5)):
            assert not measures.is_sum(wrong, count)


@pytest.mark.checks("LE-8", "LE-11")
@given(
    st.integers(1, 5).flatmap(
        lambda rows: st.lists(
            st.tuples(*[st.integers(-(2**62), 2**62) | st.integers(-(2**90), 2**90)] * 4),
            min_size=rows,
            max_size=rows,
        )
    ),
    st.sampled_from([101, 2**31 - 1, 2**61 - 1, 2**89 - 1]),
    st.data(),
)
def test_the_fast_sums_and_hashes_are_the_plain_ones(vectors, prime: int, data) -> None:
    weightings = (support.weighting((1, 2, 3)), support.weighting((1, 1, 1)))
    parameters = support.network(path(2), prime=prime, weightings=weightings, field_range=False)
    keys = tuple(data.draw(st.lists(st.integers(0, prime - 1), min_size=1, max_size=3)))
    mixed = [WideIntegers.of(v) if data.draw(st.booleans()) else v for v in vectors]
    plain = Plain(parameters)
    total = tuple(map(sum, zip(*vectors, strict=True)))
    for measures in (plain, Fast(parameters), Remembered(parameters)):
        found = measures.added(mixed)
        assert tuple(found) == total
        assert list(measures.vector_hashes(keys, found)) == plain.vector_hashes(keys, total)


@pytest.mark.checks("LE-8", "LE-11")
def test_plain_fast_and_remembered_runs_are_the_same() -> None:
    parameters = lean_network(cycle(5), weightings=(support.weighting((3, 2, 1)),))
    ends = [
        support.run_machine_of(Valid(parameters, kind(parameters)), privates(parameters))
        for kind in (Plain, Fast, Remembered)
    ]
    for other in ends[1:]:
        for v, state in ends[0].states.items():
            assert other.states[v].memory.alarms == state.memory.alarms
            assert dict(other.states[v].memory.held) == dict(state.memory.held)
