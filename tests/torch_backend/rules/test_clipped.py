"""ClippedGossip: exact within the radius, of the length of the radius beyond it."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.torch_backend.rules.screened import parameters_of, received, situations
from torch_backend.errors import ConfigError
from torch_backend.rules import ClippedGossip
from torch_backend.rules.gossip import clipped, metropolis
from torch_backend.rules.rule import Received
from torch_backend.rules.screening import distances_of
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import parse_family
from valid_ref.lattice import LatticeParameters
from valid_ref.schedule import Precision


@given(situation=situations())
def test_without_clipping_it_is_gossip_with_metropolis_weights(
    situation: tuple[AgentGraph, LatticeParameters, Received],
) -> None:
    graph, parameters, seen = situation
    bits = parameters.precision.step_bits
    Y, E = ClippedGossip(tau=1e30).mix(1, parameters, graph, seen, None)
    assert torch.equal(Y, E)
    for position, receiver in enumerate(seen.agents):
        own = seen.own[position].tolist()
        expected = [entry << bits for entry in own]
        for sender in graph.neighbours(receiver):
            larger = max(graph.degree(sender), graph.degree(receiver))
            weight = round(Fraction(1 << bits, 1 + larger))
            row = seen.edges.get((sender, receiver), seen.said[sender]).tolist()
            expected = [y + weight * (a - b) for y, a, b in zip(expected, row, own, strict=True)]
        assert Y[position].tolist() == expected


def drawn_in(difference: list[int], radius: float) -> torch.Tensor:
    rows = [torch.tensor(difference), torch.zeros(len(difference), dtype=torch.int64)]
    return clipped(distances_of(rows, [(0, 1)]), 0, 1, radius)


@given(
    difference=st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=4),
    radius=st.floats(1, 2**31),
)
def test_a_longer_difference_is_drawn_in_to_the_radius(
    difference: list[int], radius: float
) -> None:
    found = drawn_in(difference, radius).double().numpy()
    length = float(np.linalg.norm(np.array(difference, dtype=float)))
    expected = np.array(difference, dtype=float) * min(1.0, radius / length if length else 1.0)
    assert np.abs(found - expected).max() <= 0.5 + 1e-6


def test_a_difference_barely_within_the_radius_is_not_stretched_to_it() -> None:
    """Too close for the floats: the exact length decides."""
    assert drawn_in([2**38], 2.0**38 + 20).tolist() == [2**38]
    assert drawn_in([2**38], 2.0**38 - 20).tolist() == [2**38 - 20]


@pytest.mark.parametrize(("radius", "expected"), [(5.0, [3, 4]), (2.5, [2, 2]), (10.0, [3, 4])])
def test_on_the_radius_nothing_is_clipped(radius: float, expected: list[int]) -> None:
    assert drawn_in([3, 4], radius).tolist() == expected


def test_a_radius_bounds_what_one_neighbour_can_do() -> None:
    graph = parse_family("complete:3")
    parameters = parameters_of(graph, 2, Precision(4, 10))
    models = [[0, 0], [0, 0], [10**6, 0]]
    Y, _ = ClippedGossip(tau=0.5).mix(1, parameters, graph, received(models), None)
    weight = metropolis(graph, 0, 2, 10)
    assert weight == round(1024 / 3)
    assert Y[0].tolist() == [8 * weight, 0]
    assert Y[2].tolist() == [(10**6 << 10) - 2 * 8 * weight, 0]


def test_the_radius_is_positive() -> None:
    for tau in (0, -1.0, float("inf"), "1"):
        with pytest.raises(ConfigError):
            ClippedGossip(tau=tau)
    assert not ClippedGossip().needs_losses
    ClippedGossip().check(parse_family("path:2"))
