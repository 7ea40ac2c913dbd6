"""UBAR by hand: nearest models, good ones, both fallbacks, ties and losses that are no numbers."""

import math
from collections.abc import Sequence
from fractions import Fraction
from unittest import mock

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from tests.torch_backend.rules.screened import parameters_of, received, situations
from torch_backend import kernels
from torch_backend.errors import ConfigError, ScreeningError
from torch_backend.rules import Ubar
from torch_backend.rules.rule import Received
from torch_backend.rules.ubar import _blended
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family, two_cliques
from valid_ref.lattice import LatticeParameters
from valid_ref.schedule import Precision

STAR = parse_family("star:5")  # agent 0 in the middle, 1..4 around it
UNIT = 1 << 4
LATTICE = parameters_of(STAR, 1, Precision(4, 2))


def table(losses: dict[float, float]):
    """The loss of a candidate by its only entry, as a real number; the same for all receivers."""

    def evaluate(positions: Sequence[int], points: Tensor) -> Tensor:
        assert points.dtype == torch.float32
        assert len(points) == len(positions)
        return torch.tensor([[losses[float(p[0])] for p in rows] for rows in points])

    return evaluate


def middle(rule: Ubar, own: float, others: Sequence[float], losses: dict[float, float]) -> float:
    """Y of agent 0, as a real number, when its four neighbours said these models."""
    models = [[round(UNIT * value)] for value in (own, *others)]
    seen = received(models, agents=[0])
    Y, E = rule.mix(1, LATTICE, STAR, seen, table(losses))
    assert E.tolist() == [[models[0][0] << 2]]
    return int(Y[0, 0]) / (UNIT << 2)


LOSSES = {0.0: 1.0, 1.0: 0.5, -1.5: 1.0, 2.0: 2.0, 8.0: 0.1}


@pytest.mark.checks("EX-9")
def test_the_good_ones_of_the_nearest_are_averaged() -> None:
    # rho = .75: the three nearest of four are 1, -1.5 and 2; 8 has the least loss but is far.
    # Losses .5 and 1 (equal to the own one) are good enough, 2 is not.
    found = middle(Ubar(rho=0.75), 0, (8, 2, 1, -1.5), LOSSES)
    assert found == 0.5 * 0 + 0.5 * (1 - 1.5) / 2


@pytest.mark.checks("EX-9")
def test_one_candidate_is_the_nearest() -> None:
    assert middle(Ubar(rho=0.25), 0, (8, 2, 1, -1.5), LOSSES) == 0.5
    assert middle(Ubar(rho=0.25, mixing=0.75), 0, (8, 2, 1, -1.5), LOSSES) == 0.25
    assert middle(Ubar(rho=1.0, mixing=0.0), 0, (8, 2, 1, -1.5), LOSSES) == 2.5


@pytest.mark.checks("EX-9")
def test_without_a_good_one_the_fallback_decides() -> None:
    worse = {0.0: 0.0, 1.0: 5.0, -1.5: 3.0, 2.0: 4.0, 8.0: 0.1}
    others = (8, 2, 1, -1.5)
    assert middle(Ubar(rho=0.75), 0, others, worse) == -0.75  # least loss of 1, -1.5, 2
    assert middle(Ubar(rho=0.75, fallback="nearest"), 0, others, worse) == 0.5
    tie = {0.0: 0.0, 1.0: 3.0, -1.5: 3.0, 2.0: 4.0, 8.0: 0.1}
    assert middle(Ubar(rho=0.75), 0, others, tie) == 0.5  # of equal losses the nearest


@pytest.mark.checks("EX-9")
def test_equal_distances_go_by_the_number_of_the_agent() -> None:
    losses = {0.0: 1.0, 1.0: 0.5, -1.0: 0.5, 3.0: 0.5}
    assert middle(Ubar(rho=0.25), 0, (3, -1, 1, 3), losses) == -0.5
    assert middle(Ubar(rho=0.25), 0, (3, 1, -1, 3), losses) == 0.5
    assert middle(Ubar(rho=0.5), 0, (3, 1, -1, 1), losses) == 0.0


@pytest.mark.checks("EX-9")
def test_the_nearest_is_found_where_floats_see_a_tie() -> None:
    graph = parse_family("complete:3")
    parameters = parameters_of(graph, 2, Precision(4, 2))
    seen = received([[0, 0], [2**38, 3], [2**38, 2]], agents=[0])
    Y, _ = Ubar().mix(1, parameters, graph, seen, lambda _p, points: 0 * points[..., 0])
    assert Y.tolist() == [[2**39, 4]]


@pytest.mark.parametrize("agents", [(0, 1), (1, 0)])
def test_what_one_receiver_was_told_says_nothing_about_another(agents: tuple[int, int]) -> None:
    graph = parse_family("complete:3")
    parameters = parameters_of(graph, 1, Precision(4, 2))
    seen = received([[0], [100], [50]], agents=agents, edges={(1, 0): [2]})
    Y, _ = Ubar().mix(1, parameters, graph, seen, lambda _p, points: 0 * points[..., 0])
    found = dict(zip(agents, Y[:, 0].tolist(), strict=True))
    assert found == {0: 2 * 0 + 2 * 2, 1: 2 * 100 + 2 * 50}


def test_a_loss_that_is_no_number_is_never_good_enough() -> None:
    bad = {0.0: math.nan, 1.0: math.nan, -1.5: 3.0, 2.0: 1.0, 8.0: 0.1}
    others = (8, 2, 1, -1.5)
    assert middle(Ubar(rho=0.75), 0, others, bad) == 1.0  # own is none either: least loss, 2
    assert middle(Ubar(rho=0.25), 0, others, bad) == 0.5  # nothing to compare: the nearest
    finite = {**bad, 0.0: 1.0}
    assert middle(Ubar(rho=0.75), 0, others, finite) == 1.0


@pytest.mark.checks("EX-9")
@pytest.mark.parametrize(
    ("count", "rho", "degree", "expected"),
    [
        ("max1", 0.4, 9, 3),
        ("max1", 0.4, 10, 4),
        ("max1", 0.4, 2, 1),
        ("max1", 1.0, 7, 7),
        ("floor", 0.4, 9, 3),
        ("floor", 0.4, 2, 0),
        ("floor", 0.29, 100, 29),
        ("ceil", 0.4, 9, 4),
        ("ceil", 0.4, 10, 4),
        ("ceil", 0.1, 1, 1),
    ],
)
def test_how_many_are_looked_at(count: str, rho: float, degree: int, expected: int) -> None:
    assert Ubar(rho=rho, count=count).candidates(degree) == expected


@pytest.mark.checks("EX-9")
def test_no_candidate_at_all_is_refused() -> None:
    with pytest.raises(ScreeningError, match="floor"):
        Ubar(count="floor").check(STAR)
    Ubar().check(STAR)
    Ubar(count="floor").check(two_cliques(10, ((1, 12), (9, 15))))
    with pytest.raises(ScreeningError, match="without the losses"):
        Ubar().mix(1, LATTICE, STAR, received([[0]] * 5), None)
    assert Ubar().needs_losses


@given(
    situation=situations(),
    rho=st.sampled_from([0.3, 0.5, 1.0]),
    mixing=st.sampled_from([0.5, 0.0, 1.0, 0.3]),
    fallback=st.sampled_from(["min_loss", "nearest"]),
    seed=st.integers(0, 99),
    pays_from=st.sampled_from([0, kernels.PAYS_FROM]),
)
def test_every_receiver_against_a_plain_loop(
    situation: tuple[AgentGraph, LatticeParameters, Received],
    rho: float,
    mixing: float,
    fallback: str,
    seed: int,
    pays_from: int,
) -> None:
    graph, parameters, seen = situation
    rule = Ubar(rho=rho, mixing=mixing, fallback=fallback)

    def loss(receiver: int, point: Sequence[float]) -> float:
        return float(hash((seed, receiver, tuple(point))) % 5)

    def evaluate(positions: Sequence[int], points: Tensor) -> Tensor:
        return torch.tensor(
            [
                [loss(seen.agents[position], row.tolist()) for row in rows]
                for position, rows in zip(positions, points, strict=True)
            ]
        )

    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        Y, E = rule.mix(1, parameters, graph, seen, evaluate)
    f, k = parameters.precision.fraction_bits, parameters.precision.step_bits
    weight = round(mixing * 2**k)
    for position, receiver in enumerate(seen.agents):
        own = seen.own[position]
        rows = [seen.edges.get((u, receiver), seen.said[u]) for u in graph.neighbours(receiver)]
        far = [
            sum((a - b) ** 2 for a, b in zip(r.tolist(), own.tolist(), strict=True)) for r in rows
        ]
        near = sorted(range(len(rows)), key=lambda i: (far[i], i))
        near = near[: max(1, math.floor(Fraction(str(rho)) * len(rows)))]

        def at(row: Tensor, receiver: int = receiver) -> float:
            return loss(receiver, (row.double() / 2**f).float().tolist())

        good = [i for i in near if at(rows[i]) <= at(own)]
        if not good:
            good = [near[0] if fallback == "nearest" else min(near, key=lambda i: at(rows[i]))]
        for entry in range(len(own)):
            total = sum(int(rows[i][entry]) for i in good)
            mean = round(Fraction((2**k - weight) * total, len(good)))
            assert int(Y[position, entry]) == weight * int(own[entry]) + mean
        assert torch.equal(E[position], own << k)


def test_receivers_are_evaluated_in_chunks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = two_cliques(3, ((0, 3), (2, 5)))
    parameters = parameters_of(graph, 2, Precision(4, 2))
    seen = received(torch.arange(12).reshape(6, 2).square().tolist())
    sizes: list[tuple[int, ...]] = []

    def evaluate(positions: Sequence[int], points: Tensor) -> Tensor:
        sizes.append(tuple(points.shape[:2]))
        return points.sum(-1)

    whole = Ubar(rho=0.7).mix(1, parameters, graph, seen, evaluate)
    assert sizes == [(6, 2), (4, 1)]
    monkeypatch.setattr("torch_backend.rules.ubar.EVALUATED", 1)
    sizes.clear()
    apart = Ubar(rho=0.7).mix(1, parameters, graph, seen, evaluate)
    assert sizes == [(1, 2)] * 6 + [(1, 1)] * 4
    assert all(torch.equal(a, b) for a, b in zip(whole, apart, strict=True))


def test_options_outside_their_range_are_refused() -> None:
    for options in (
        {"rho": 0},
        {"rho": 1.1},
        {"mixing": -0.1},
        {"count": "all"},
        {"fallback": "none"},
    ):
        with pytest.raises(ConfigError):
            Ubar(**options)


@given(
    totals=st.lists(st.integers(-(2**49), 2**49) | st.integers(-99, 99), min_size=1, max_size=6),
    count=st.integers(1, 99),
    mixing=st.sampled_from([0, 1, 2, 5, 8]),
    pays_from=st.sampled_from([0, kernels.PAYS_FROM]),
    bits=st.sampled_from([3, 12]),
)
@example(totals=[1, 3, -1, -3, 5], count=2, mixing=7, pays_from=0, bits=3)
@example(totals=[3 * i - 1 for i in range(-4, 4)], count=3, mixing=5, pays_from=0, bits=3)
@example(totals=[2**49, 3 - 2**49, 49, 98, -49], count=49, mixing=5, pays_from=0, bits=3)
@example(totals=[1, 2, 510, 511, 512, 1022], count=511, mixing=0, pays_from=0, bits=48)
def test_compiled_means_are_rounded_fractions(
    totals: list[int], count: int, mixing: int, pays_from: int, bits: int
) -> None:
    own = torch.tensor([[7 - 5 * i for i in range(len(totals))]])
    chosen = [torch.tensor(totals), *(torch.zeros_like(own[0]) for _ in range(count - 1))]
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        Y, E = _blended(own, [chosen], mixing, bits, narrow=True)
    means = [round(Fraction((2**bits - mixing) * total, count)) for total in totals]
    assert Y[0].tolist() == [
        mixing * mine + mean for mine, mean in zip(own[0].tolist(), means, strict=True)
    ]
    assert torch.equal(E, own << bits)
