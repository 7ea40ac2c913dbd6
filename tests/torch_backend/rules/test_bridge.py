"""BRIDGE against plain numpy, on every receiver, with ties, extremes and equivocation."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torch_backend.rules.screened import parameters_of, received, screened_rows, situations
from torch_backend.errors import ConfigError, ScreeningError
from torch_backend.rules import BridgeBulyan, BridgeKrum, BridgeMedian, BridgeTrimmed, ValidRule
from torch_backend.rules.bridge import krum_choice
from torch_backend.rules.rule import Received, for_each_receiver
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family, two_cliques
from valid_ref.lattice import LatticeParameters
from valid_ref.schedule import Precision

OWN = st.sampled_from(["included", "excluded"])
Situation = tuple[AgentGraph, LatticeParameters, Received]


def expected_median(rows: np.ndarray, median: str, bits: int) -> list[int]:
    ordered = np.sort(rows, axis=0)
    low, high = ordered[(len(rows) - 1) // 2], ordered[len(rows) // 2]
    pair = {"lower": (low, low), "upper": (high, high), "mean_of_middle": (low, high)}[median]
    return [round(Fraction((int(a) + int(b)) << bits, 2)) for a, b in zip(*pair, strict=True)]


@pytest.mark.checks("EX-9")
@given(
    situation=situations(),
    median=st.sampled_from(["mean_of_middle", "lower", "upper"]),
    own=OWN,
)
def test_the_median_of_every_receiver(situation: Situation, median: str, own: str) -> None:
    graph, parameters, seen = situation
    rule = BridgeMedian(median=median, own=own)
    Y, E = rule.mix(1, parameters, graph, seen, None)
    assert torch.equal(Y, E)
    assert Y.dtype == torch.int64
    for position in range(len(seen.agents)):
        rows = screened_rows(graph, seen, position, own == "included")
        bits = parameters.precision.step_bits
        assert Y[position].tolist() == expected_median(rows, median, bits)


@pytest.mark.checks("EX-9")
def test_the_default_is_the_median_of_numpy() -> None:
    graph = parse_family("complete:4")
    parameters = parameters_of(graph, 3, Precision(4, 3))
    models = np.random.default_rng(0).integers(-50, 50, (4, 3))
    Y, _ = BridgeMedian().mix(1, parameters, graph, received(models.tolist()), None)
    assert np.array_equal(Y[0].numpy() / 2**3, np.median(models, axis=0))


@given(situation=situations(least=3), b=st.integers(0, 1), own=OWN)
def test_the_trimmed_mean_of_every_receiver(situation: Situation, b: int, own: str) -> None:
    graph, parameters, seen = situation
    rule = BridgeTrimmed(b=b, own=own)
    if min(map(graph.degree, range(graph.agents))) + (own == "included") < 2 * b + 1:
        with pytest.raises(ScreeningError):
            rule.mix(1, parameters, graph, seen, None)
        return
    Y, _ = rule.mix(1, parameters, graph, seen, None)
    for position in range(len(seen.agents)):
        rows = screened_rows(graph, seen, position, own == "included")
        kept = np.sort(rows, axis=0)[b : len(rows) - b]
        scale = 1 << parameters.precision.step_bits
        sums = [sum(map(int, column)) for column in kept.T]
        assert Y[position].tolist() == [round(Fraction(scale * s, len(kept))) for s in sums]


def krum_by_definition(rows: list[list[int]], b: int, count: int) -> list[int]:
    left, chosen = list(range(len(rows))), []
    for _ in range(count):
        scores = []
        for i in left:
            distances = sorted(
                sum((x - y) ** 2 for x, y in zip(rows[i], rows[j], strict=True))
                for j in left
                if j != i
            )
            scores.append(sum(distances[: max(1, len(left) - b - 2)]))
        best = left[scores.index(min(scores))]
        chosen.append(best)
        left.remove(best)
    return chosen


@given(situation=situations(least=5), b=st.integers(0, 1))
def test_krum_is_its_definition(situation: Situation, b: int) -> None:
    graph, parameters, seen = situation
    Y, E = BridgeKrum(b=b).mix(1, parameters, graph, seen, None)
    assert torch.equal(Y, E)
    for position in range(len(seen.agents)):
        rows = screened_rows(graph, seen, position, True).tolist()
        (best,) = krum_by_definition(rows, b, 1)
        scale = 1 << parameters.precision.step_bits
        assert Y[position].tolist() == [scale * entry for entry in rows[best]]


def test_krum_sees_a_difference_that_floats_do_not() -> None:
    """Two far pairs, 2^76 + 9 and 2^76 + 4 apart: in float64 both are 2^76."""
    corner = 2**50
    rows = [[0, 0], [2**38, 3], [corner, 0], [corner + 2**38, 2]]
    assert float(2**76 + 9) == float(2**76 + 4)
    assert krum_choice([torch.tensor(row) for row in rows], 1) == 2


@settings(max_examples=30)
@given(situation=situations(least=7), b=st.integers(0, 1))
def test_bulyan_is_its_definition(situation: Situation, b: int) -> None:
    graph, parameters, seen = situation
    Y, _ = BridgeBulyan(b=b).mix(1, parameters, graph, seen, None)
    scale = 1 << parameters.precision.step_bits
    for position in range(len(seen.agents)):
        rows = screened_rows(graph, seen, position, True).tolist()
        m = len(rows)
        chosen = [rows[i] for i in krum_by_definition(rows, b, m - 2 * b)]
        for entry, column in enumerate(zip(*chosen, strict=True)):
            ordered = sorted(column)
            middle = Fraction(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2], 2)
            nearest = sorted(ordered, key=lambda value: (abs(value - middle), value))[: m - 4 * b]
            mean = Fraction(scale * sum(nearest), len(nearest))
            assert int(Y[position, entry]) == round(mean)


@pytest.mark.checks("EX-9")
@pytest.mark.parametrize(
    ("rule", "graph", "fits"),
    [
        (BridgeTrimmed(b=1), "path:3", False),
        (BridgeTrimmed(b=1), "cycle:4", True),
        (BridgeTrimmed(b=1, own="excluded"), "cycle:4", False),
        (BridgeTrimmed(b=0), "path:2", True),
        (BridgeKrum(b=1), "complete:4", False),
        (BridgeKrum(b=1), "complete:5", True),
        (BridgeBulyan(b=1), "complete:6", False),
        (BridgeBulyan(b=1), "complete:7", True),
        (BridgeMedian(own="excluded"), "path:2", True),
    ],
)
def test_too_few_models_are_refused_by_name(rule: BridgeTrimmed, graph: str, fits: bool) -> None:
    network = parse_family(graph)
    if fits:
        rule.check(network)
    else:
        with pytest.raises(ScreeningError, match=f"{rule.kind} needs .* agent 0 has"):
            rule.check(network)


def test_options_outside_their_range_are_refused() -> None:
    for make in (
        lambda: BridgeMedian(median="middle"),
        lambda: BridgeMedian(own="yes"),
        lambda: BridgeTrimmed(b=-1),
        lambda: BridgeKrum(b=1.0),
    ):
        with pytest.raises(ConfigError):
            make()


def test_in_a_clique_one_screening_serves_all_members() -> None:
    """Two cliques with two cross edges have six different sets for twenty receivers."""
    graph = two_cliques(10, ((1, 12), (9, 15)))
    models = np.random.default_rng(0).integers(-99, 99, (20, 2))
    calls = []

    def first(rows: list[torch.Tensor]) -> torch.Tensor:
        calls.append(len(rows))
        return rows[0]

    seen = received(models.tolist())
    for_each_receiver(graph, seen, first, own=True)
    assert sorted(calls) == [10, 10, 11, 11, 11, 11]
    calls.clear()
    for_each_receiver(graph, received(models.tolist(), edges={(4, 0): [1, 2]}), first, own=True)
    assert len(calls) == 7
    calls.clear()
    for_each_receiver(graph, received(models.tolist(), own={4: [1, 2]}), first, own=True)
    assert len(calls) == 7


def test_every_rule_of_the_kind_needs_no_losses() -> None:
    for rule in (BridgeMedian(), BridgeTrimmed(), BridgeKrum(), BridgeBulyan(), ValidRule()):
        assert not rule.needs_losses
