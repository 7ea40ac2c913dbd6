"""GlobalValidate: estimates by definition, forms, every check exactly at its threshold."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import (
    Pretender,
    alarms,
    edited,
    graphs,
    network,
    privates,
    quietly,
    reasons,
    revalued,
    run,
    transcripts,
    weighting,
)
from valid_ref.alarms import Alarm, Raised
from valid_ref.graph_families import complete, cycle, path
from valid_ref.kernels import ROUNDS_AT_ONCE
from valid_ref.lattice import WORD_LIMIT
from valid_ref.protocols.global_validate import estimate, estimate_alarms, is_estimate, statistics
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.measures import Fast
from valid_ref.protocols.parameters import (
    ParameterError,
    ValidParameters,
    exponential_weights,
    make_weighting,
    polynomial_weights,
)
from valid_ref.protocols.valid import ESTIMATES, Private
from valid_ref.reading import Reading
from valid_ref.schedule import Precision
from valid_ref.wide import WideIntegers

PHASE = "GlobalValidate"


def by_definition(parameters: ValidParameters, transcript: list[LearningMessage]):
    """GV-2 in Python integers."""
    steps, entries = parameters.lattice.schedule.gradient, []
    spoken = zip(steps, transcript, strict=True)
    rows = [[entry // A for entry in m.scaled_gradient.tolist()] for A, m in spoken]
    for used in parameters.weightings:
        pairs = list(zip(used.weights, rows, strict=True))
        entries += [sum(w * g[j] for w, g in pairs) for j in range(len(rows[0]))]
        if not parameters.reading.P27:
            entries.append(sum(w * math.isqrt(sum(e * e for e in g)) for w, g in pairs))
    return tuple(entries)


PRINTED = Reading.without("P27")

both_readings = pytest.mark.parametrize("reading", [Reading(), PRINTED], ids=["repaired", "P27"])


def weights_of(T: int, largest: int) -> st.SearchStrategy[tuple[int, ...]]:
    entries = st.lists(st.integers(0, largest), min_size=T, max_size=T)
    return entries.filter(any).map(tuple)


@pytest.mark.checks("GV-2", "GV-9", "GV-12", "AR-8", "GV-3")
@both_readings
@given(st.data(), st.sampled_from((9, 2**20, 2**40, 2**59)), st.sampled_from((9, 2**30, 2**70)))
def test_estimates_are_those_of_the_definition(
    reading: Reading, data: st.DataObject, size: int, heavy: int
) -> None:
    """Small ones are summed in words, large ones in integers; several weightings in order."""
    d, T = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    many = data.draw(st.lists(weights_of(T, heavy), min_size=1, max_size=3))
    steps = tuple(data.draw(st.lists(st.integers(1, 9), min_size=T, max_size=T)))
    used = tuple(weighting(weights) for weights in many)
    parameters = network(path(2), d=d, T=T, gradient=steps, weightings=used, reading=reading)
    transcript = data.draw(transcripts(d, T, size))
    found = estimate(parameters, transcript)
    assert found == by_definition(parameters, transcript)
    assert all(type(entry) is int for entry in found)
    assert is_estimate(parameters, found)
    assert Fast(parameters).estimate(transcript) == found


@pytest.mark.checks("GV-2", "GV-12")
@pytest.mark.parametrize("T", [ROUNDS_AT_ONCE, 2 * ROUNDS_AT_ONCE + 1])
def test_the_estimates_of_a_long_transcript_count_every_round(T: int) -> None:
    steps = tuple(1 + t % 5 for t in range(T))
    used = (weighting(polynomial_weights(T, 2)), weighting(exponential_weights(T, 0.99)))
    parameters = network(path(2), T=T, gradient=steps, weightings=used)
    gammas = np.random.default_rng(T).integers(-(10**6), 10**6, size=(T, 2))
    transcript = [LearningMessage(np.zeros(2, np.int64), gamma) for gamma in gammas]
    assert estimate(parameters, transcript) == by_definition(parameters, transcript)


@pytest.mark.checks("GV-9")
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("past", [-1, 0, 1, 2**40])
def test_nothing_wraps_at_the_limit_of_a_word(sign: int, past: int) -> None:
    """The weighted sum is next to 2^62, then far beyond 2^63."""
    entries = np.array([[sign * 2**31], [sign * 2**31]])
    weights = (2**30, 2**30 + past)
    parameters = network(path(2), d=1, T=2, gradient=(1, 1), weightings=(weighting(weights),))
    transcript = [LearningMessage(row, row.copy()) for row in entries]
    total = WORD_LIMIT + past * 2**31
    assert estimate(parameters, transcript) == (sign * total,)


@pytest.mark.checks("GV-5", "GV-6", "GV-9")
@given(st.lists(st.tuples(*[st.integers(-(2**66), 2**66)] * 3), min_size=3, max_size=3))
@example([(2**62, 0, 1)] * 3)
@example([(2**62, -(2**62), 1), (2**62, -(2**62), 1), (0, 0, 1)])
def test_the_sum_over_the_agents_does_not_wrap(estimates: list[tuple[int, ...]]) -> None:
    """Each estimate fits into a word; their sum need not."""
    squares = sum(sum(column) ** 2 for column in zip(*(e[:2] for e in estimates), strict=True))
    lengths = sum(entry[2] ** 2 for entry in estimates)
    printed = network(path(3), reading=PRINTED)
    assert statistics(printed, 0, estimates) == (squares, lengths)
    assert Fast(printed).statistics(0, estimates) == (squares, lengths)
    vectors = [entry[:2] for entry in estimates]
    norms = sum(entry**2 for vector in vectors for entry in vector)
    assert statistics(network(path(3)), 0, vectors) == (squares, norms)
    assert Fast(network(path(3))).statistics(0, vectors) == (squares, norms)


@pytest.mark.checks("GV-9")
def test_heavy_weights_scale_the_estimates_exactly() -> None:
    transcript = [LearningMessage(np.zeros(2, np.int64), np.array(g)) for g in ((7, -9), (-5, 3))]
    light = network(path(2), T=2, gradient=(2, 3), weightings=(weighting((3, 5)),))
    heavy = network(path(2), T=2, gradient=(2, 3), weightings=(weighting((3 * 2**90, 5 * 2**90)),))
    assert estimate(light, transcript) == (3 * 3 - 5 * 2, -3 * 5 + 5)
    assert estimate(heavy, transcript) == tuple(2**90 * e for e in estimate(light, transcript))


@pytest.mark.checks("GV-3", "GV-12")
@both_readings
def test_the_form_of_an_estimate_to_the_last_unit(reading: Reading) -> None:
    """Two weightings with sums 3 and 70; the bounds of each are its own."""
    used = (weighting((1, 2)), weighting((0, 70)))
    parameters = network(path(2), T=2, weightings=used, reading=reading)
    largest = parameters.lattice.gradient_limit
    printed = not reading.P27
    top, low = [], []
    for total in (3, 70):
        top += [total * largest] * 2 + [total * math.isqrt(2 * largest**2)] * printed
        low += [-total * largest] * 2 + [0] * printed
    size = len(top)
    assert size == (6 if printed else 4)
    for well in (tuple(top), tuple(low)):
        assert is_estimate(parameters, well)
        assert Fast(parameters).is_estimate(WideIntegers.of(well))
    for index in range(size):
        for extreme, step in ((top, 1), (low, -1)):
            beyond = tuple(e + step * (i == index) for i, e in enumerate(extreme))
            assert not is_estimate(parameters, beyond)
            assert not Fast(parameters).is_estimate(WideIntegers.of(beyond))
    short = tuple(top[: size // 2])
    wrong = (short, (*top, 0), top, None, (None,) * size, (True,) * size, (0.0,) * size)
    for bad in (*wrong, Pretender(top)):
        assert not is_estimate(parameters, bad)


def checks_in_words(parameters: ValidParameters, agent: int, estimates, own) -> set[Raised]:
    """GV-4 to GV-8, sentence by sentence, for d = 1."""
    graph, found, agreed = parameters.graph, set(), []
    n = graph.agents
    for u in range(n):
        about = [estimates[r, u] for r in graph.neighbours(u) if (r, u) in estimates]
        if any(a != b for a in about for b in about):
            found.add(Raised(Alarm.INCONSISTENT_ESTIMATES, PHASE, n, None, u))
        agreed += about[:1]
        if u in graph.neighbours(agent) and estimates.get((u, agent), own) != own:
            found.add(Raised(Alarm.SELF_ESTIMATE_MISMATCH, PHASE, n, u, agent))
    if len(agreed) < n:
        return found
    for i, used in enumerate(parameters.weightings):
        if abs(sum(e[i] for e in agreed)) > used.optimality:
            found.add(Raised(Alarm.NOT_OPTIMAL, PHASE, n, None, used.name))
        if abs(sum(e[i] for e in agreed)) < used.optimality_low:
            found.add(Raised(Alarm.TOO_OPTIMAL, PHASE, n, None, used.name))
        if sum(e[i] ** 2 for e in agreed) > used.heterogeneity:
            found.add(Raised(Alarm.TOO_HETEROGENEOUS, PHASE, n, None, used.name))
        if sum(e[i] ** 2 for e in agreed) < used.heterogeneity_low:
            found.add(Raised(Alarm.TOO_HOMOGENEOUS, PHASE, n, None, used.name))
    return found


@pytest.mark.checks("GV-4", "GV-5", "GV-6", "GV-8", "GV-12", "GV-13", "MO-7")
@given(graphs(5), st.data())
def test_the_checks_are_those_of_the_specification(graph, data: st.DataObject) -> None:
    n = graph.agents
    small = st.integers(1, 30)
    used = []
    for weights in ((1, 2), (3, 0)):
        high = data.draw(st.tuples(small, small))
        low = data.draw(st.tuples(*(st.integers(0, one) for one in high)))
        used.append(weighting(weights, *high, *low))
    parameters = network(graph, d=1, T=2, weightings=tuple(used))
    values = st.tuples(st.integers(-9, 9), st.integers(-9, 9))
    truth = [data.draw(values) for _ in range(n)]
    estimates = {(v, u): truth[u] for v, u in graph.directed_edges}
    tags = st.sampled_from(sorted(estimates))
    for tag in data.draw(st.sets(tags, max_size=2)):
        estimates[tag] = data.draw(values)
    for tag in data.draw(st.sets(tags, max_size=2)):
        del estimates[tag]
    for agent in range(n):
        raised = estimate_alarms(parameters, agent, estimates, truth[agent])
        assert len(raised) == len(set(raised))
        assert set(raised) == checks_in_words(parameters, agent, estimates, truth[agent])


def statistic_alarms(vectors, *, reading: Reading | None = None, **limits: int) -> list[Alarm]:
    """On K2 with d = 2: the alarms over one estimate per agent."""
    used = (weighting((1,), **limits),)
    parameters = network(path(2), T=1, weightings=used, reading=reading)
    estimates = {(1, 0): vectors[0], (0, 1): vectors[1]}
    return [r.alarm for r in estimate_alarms(parameters, 0, estimates, vectors[0])]


@pytest.mark.checks("GV-5")
@pytest.mark.parametrize("scale", [1, 2**70])
def test_optimality_passes_at_the_threshold_and_alarms_below(scale: int) -> None:
    """The sum of the vectors is (3, 4), of length 5; a long sum of short ones would be 7."""
    vectors = ((5 * scale, -2 * scale), (-2 * scale, 6 * scale))
    assert statistic_alarms(vectors, optimality=5 * scale) == []
    assert statistic_alarms(vectors, optimality=5 * scale - 1) == [Alarm.NOT_OPTIMAL]
    assert statistic_alarms(vectors, optimality_low=5 * scale) == []
    assert statistic_alarms(vectors, optimality_low=5 * scale + 1) == [Alarm.TOO_OPTIMAL]


@pytest.mark.checks("GV-6")
@pytest.mark.parametrize("scale", [1, 2**70])
def test_heterogeneity_squares_each_length_and_then_adds(scale: int) -> None:
    """Lengths 5 and 4: 41, where the square of the sum of lengths would be 81."""
    vectors, square = ((3 * scale, -4 * scale), (-4 * scale, 0)), 41 * scale**2
    assert statistic_alarms(vectors, heterogeneity=square) == []
    assert statistic_alarms(vectors, heterogeneity=square - 1) == [Alarm.TOO_HETEROGENEOUS]
    assert statistic_alarms(vectors, heterogeneity_low=square) == []
    assert statistic_alarms(vectors, heterogeneity_low=square + 1) == [Alarm.TOO_HOMOGENEOUS]


@pytest.mark.checks("GV-6")
@pytest.mark.witness("P27")
def test_as_printed_lengths_are_averaged_and_noise_hides_a_push() -> None:
    """Gradients 5 + 9 and 5 - 9 by turns: the mean of the lengths is 9, that of the gradients 5.

    Without the push of 5 the mean length is 9 as well, so no threshold tells the two apart; the
    mean gradients are 5 and 0.
    """
    pushed, quiet = [
        [LearningMessage(np.zeros(1, np.int64), np.array([push + noise])) for noise in (9, -9)]
        for push in (5, 0)
    ]
    found = {}
    for reading in (Reading(), PRINTED):
        used = (weighting((1, 1)),)
        parameters = network(path(2), d=1, T=2, gradient=(1, 1), weightings=used, reading=reading)
        found[reading.P27] = [
            statistics(parameters, 0, [estimate(parameters, one)] * 2)[1] for one in (pushed, quiet)
        ]
    assert found == {False: [2 * 18**2] * 2, True: [2 * 10**2, 0]}


@pytest.mark.checks("GV-12", "GV-13", "MO-12")
def test_alarms_of_optimality_come_before_those_of_heterogeneity() -> None:
    vectors = ((3, 0), (0, 4))
    upper = statistic_alarms(vectors, optimality=1, heterogeneity=1)
    assert upper == [Alarm.NOT_OPTIMAL, Alarm.TOO_HETEROGENEOUS]
    lower = statistic_alarms(vectors, optimality_low=99, heterogeneity_low=99)
    assert lower == [Alarm.TOO_OPTIMAL, Alarm.TOO_HOMOGENEOUS]


@pytest.mark.checks("GV-13")
@pytest.mark.parametrize("test", ["optimality", "heterogeneity"])
@pytest.mark.parametrize("low", [-1, 8])
def test_a_lower_threshold_lies_between_zero_and_the_upper_one(test: str, low: int) -> None:
    with pytest.raises(ParameterError, match=f"lower {test} threshold {low} is not in 0..7"):
        weighting((1,), **{test: 7, f"{test}_low": low})


@pytest.mark.checks("GV-8")
def test_without_an_estimate_of_somebody_the_statistics_are_skipped() -> None:
    used = (weighting((1,), 1, 1),)
    parameters = network(path(3), d=1, T=1, weightings=used)
    far = dict.fromkeys(path(3).directed_edges, (9,))
    both_alarms = {Alarm.NOT_OPTIMAL, Alarm.TOO_HETEROGENEOUS}
    assert {r.alarm for r in estimate_alarms(parameters, 0, far, (9,))} == both_alarms
    del far[0, 1]  # agent 2 still reports on 1
    assert {r.alarm for r in estimate_alarms(parameters, 0, far, (9,))} == both_alarms
    del far[1, 0]  # nobody else reports on 0
    assert estimate_alarms(parameters, 0, far, (9,)) == []


@pytest.mark.checks("GV-4", "MO-7")
@pytest.mark.parametrize("index", range(4))
def test_a_lie_about_an_estimate_is_seen_by_all_and_by_its_victim(index: int) -> None:
    used = (weighting((1, 1, 1)), weighting((0, 1, 5)))
    lie = revalued((3, 0), lambda value: tuple(e + (i == index) for i, e in enumerate(value)))
    execution = run(network(complete(4), weightings=used), edited(ESTIMATES, lie), byzantine=[3])
    inconsistent = Raised(Alarm.INCONSISTENT_ESTIMATES, PHASE, 4, None, 0)
    mine = Raised(Alarm.SELF_ESTIMATE_MISMATCH, PHASE, 4, 3, 0)
    assert alarms(execution, 0) == [inconsistent, mine]
    assert alarms(execution, 1) == alarms(execution, 2) == [inconsistent]


@pytest.mark.checks("GV-4", "GV-5", "GV-6")
@pytest.mark.parametrize("about", range(4))
@pytest.mark.parametrize("judge", range(4))
def test_the_estimate_of_the_lowest_reporter_counts(about: int, judge: int) -> None:
    """One reporter says more than both thresholds allow; it matters only if it is the lowest."""
    used = (weighting((1, 1, 1), optimality=5, heterogeneity=5),)
    parameters = network(complete(4), weightings=used)
    tags = [(v, u) for u in range(4) for v in range(4) if v != u]
    lowest = min({0, 1, 2, 3} - {about})
    for liar in {0, 1, 2, 3} - {about}:
        held = dict.fromkeys(tags, (0, 0)) | {(liar, about): (9, 9)}
        own = (0, 0)
        found = [raised.alarm for raised in estimate_alarms(parameters, judge, held, own)]
        far = [Alarm.NOT_OPTIMAL, Alarm.TOO_HETEROGENEOUS]
        assert [alarm for alarm in found if alarm in far] == (far if liar == lowest else [])
        assert found[0] is Alarm.INCONSISTENT_ESTIMATES
        del held[lowest, about]  # null: the next one is the lowest
        found = [raised.alarm for raised in estimate_alarms(parameters, judge, held, own)]
        second = min({0, 1, 2, 3} - {about, lowest})
        assert [alarm for alarm in found if alarm in far] == (far if liar == second else [])


@pytest.mark.checks("GV-4")
def test_the_only_reporter_cannot_lie_to_its_victim() -> None:
    """Path 0-1-2: only 1 reports on 0, so 2 sees nothing and 0 does; with the agreement, all."""
    lie = revalued((1, 0), lambda value: (0,) * len(value))
    execution = run(network(path(3)), quietly(edited(ESTIMATES, lie)), byzantine=[1])
    assert alarms(execution, 0) == [Raised(Alarm.SELF_ESTIMATE_MISMATCH, PHASE, 3, 1, 0)]
    assert alarms(execution, 2) == []
    assert execution.honest_valid == (2,)  # 1 cuts the honest agents apart: no Assumption 1


@pytest.mark.checks("GV-12", "GV-5", "GV-6", "VA-1")
@pytest.mark.parametrize("alarmed", [0, 1])
@pytest.mark.parametrize("test", ["optimality", "heterogeneity"])
def test_each_weighting_has_its_own_thresholds_in_a_run(alarmed: int, test: str) -> None:
    """The threshold is what the honest run attains, or one less, in one of two weightings."""
    many = ((1, 2, 3), (5, 0, 1))
    loose = network(cycle(4), weightings=tuple(map(weighting, many)))
    first = run(loose)
    own = [estimate(loose, first.states[v].memory.fixed_transcripts.own) for v in range(4)]
    squared, heterogeneity = statistics(loose, alarmed, own)
    exact = {"optimality": math.isqrt(squared - 1) + 1, "heterogeneity": heterogeneity}[test]
    for less in (0, 1):
        tight = {test: exact - less}
        used = [weighting(w, **(tight if i == alarmed else {})) for i, w in enumerate(many)]
        execution = run(network(cycle(4), weightings=tuple(used)))
        name = {"optimality": Alarm.NOT_OPTIMAL, "heterogeneity": Alarm.TOO_HETEROGENEOUS}[test]
        expected = [Raised(name, PHASE, 4, None, used[alarmed].name)] if less else []
        assert all(alarms(execution, v) == expected for v in range(4))
        assert execution.honest_valid == (() if less else (0, 1, 2, 3))


@pytest.mark.checks("GV-11")
@example(path(2), 0)
@given(graphs(5), st.integers(0, 2**32))
def test_the_sum_of_the_gradients_is_the_drift_of_the_models(graph, seed: int) -> None:
    """Whatever the gradients are: they come from a table that no loss has."""
    weights = (1, 0, 5, 7)
    parameters = network(graph, T=4, weightings=(weighting(weights),))
    execution = run(parameters, private=privates(parameters, seed=seed))
    assert all(alarms(execution, v) == [] for v in range(graph.agents))
    own = [execution.states[v].memory.fixed_transcripts.own for v in range(graph.agents)]
    models = [np.zeros(2, np.int64), *(sum(o[t].model for o in own) for t in range(4))]
    drift = [Fraction(0)] * 2
    for t, j in product(range(4), range(2)):
        moved = int(models[t][j] - models[t + 1][j])
        assert sum(int(o[t].scaled_gradient[j]) for o in own) == 16 * moved
        drift[j] += Fraction(weights[t] * 16 * moved, parameters.lattice.schedule.gradient[t])
    for j in range(2):
        total = sum(estimate(parameters, o)[j] for o in own)
        assert abs(total - drift[j]) < graph.agents * sum(weights)


@pytest.mark.checks("GV-1", "GV-2", "GV-5", "GV-6", "GV-7", "GV-11")
@pytest.mark.parametrize(("eps_opt", "threshold"), [(Fraction(3, 4), 108), (Fraction(1, 2), 72)])
def test_the_worked_example_number_by_number(eps_opt: Fraction, threshold: int) -> None:
    weights = exponential_weights(2, 0.5, bits=1)
    level = Fraction(2, 3) + Fraction(1, 4)
    used = make_weighting("half", weights, 3, 4, optimality=eps_opt, heterogeneity=level)
    assert (weights, used.total) == ((1, 2), 3)
    assert (used.optimality, used.heterogeneity) == (threshold, 6336)
    parameters = network(
        path(3),
        d=1,
        T=2,
        precision=Precision(4, 2),
        mixing=(1, 1),
        gradient=(2, 2),
        prime=10007,
        weightings=(used,),
    )
    centres = {v: Private(lambda _t, point, c=float(v): point - c, v) for v in range(3)}
    execution = run(parameters, private=centres)
    own = [execution.states[v].memory.fixed_transcripts.own for v in range(3)]
    estimates = [estimate(parameters, transcript) for transcript in own]
    assert estimates == [(4,), (-32,), (-68,)]
    assert statistics(parameters, 0, estimates) == (96**2, 16 + 1024 + 4624)
    expected = {Alarm.NOT_OPTIMAL} if threshold == 72 else set()
    assert all(reasons(execution, v) == expected for v in range(3))
    assert [sum(int(o[t].model[0]) for o in own) for t in (0, 1)] == [24, 36]


@pytest.mark.checks("GV-1")
def test_weights_of_zero_leave_rounds_out_and_the_last_round_counts() -> None:
    gammas = [LearningMessage(np.zeros(1, np.int64), np.array([g])) for g in (5, 7, 11)]
    for weights, expected in (
        (exponential_weights(3, 0.0, bits=3), 8 * 11),
        (exponential_weights(3, 1.0, bits=0), 5 + 7 + 11),
        (polynomial_weights(3, 2), 5 + 4 * 7 + 9 * 11),
    ):
        parameters = network(
            path(2), d=1, T=3, gradient=(1, 1, 1), weightings=(weighting(weights),)
        )
        assert estimate(parameters, gammas) == (expected,)
