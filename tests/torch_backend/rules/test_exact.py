"""Means are exact fractions rounded half to even; distances decide as exact integers would."""

from fractions import Fraction
from unittest import mock

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from torch_backend import kernels
from torch_backend.errors import ScreeningError
from torch_backend.rules.screening import (
    ascending,
    check_scale,
    exact_squared_distance,
    scaled_mean,
    share_of,
    squared_distance,
    squared_distances,
)
from valid_ref.graph_families import parse_family
from valid_ref.lattice import LatticeParameters
from valid_ref.schedule import Precision, Schedule


@given(
    total=st.integers(-(2**58), 2**58) | st.integers(-20, 20),
    count=st.integers(1, 40),
    weight=st.sampled_from([0, 1, 2, 4, 3, 2**20]) | st.integers(0, 2**20),
)
@example(total=1, count=2, weight=1)
@example(total=3, count=2, weight=1)
@example(total=-1, count=2, weight=1)
@example(total=-3, count=2, weight=1)
@example(total=3, count=12, weight=2)
def test_a_scaled_mean_is_the_rounded_fraction(total: int, count: int, weight: int) -> None:
    if abs(total) * weight // count >= 2**62:
        total = total % 1000
    (found,) = scaled_mean(torch.tensor([total]), count, weight).tolist()
    assert found == round(Fraction(weight * total, count))


@given(
    values=st.lists(
        st.integers(0, 3) | st.integers(2**70, 2**70 + 2**20) | st.integers(0, 2**80), max_size=8
    )
)
@example(values=[2**70 + 1, 2**70])
@example(values=[2**60, 2**60, 0, 0])
def test_the_order_is_that_of_the_exact_values(values: list[int]) -> None:
    approximate = [float(value) * (1 + 1e-12 * (-1) ** i) for i, value in enumerate(values)]
    found = ascending(approximate, lambda i: values[i])
    assert found == sorted(range(len(values)), key=lambda i: (values[i], i))


def test_clear_cases_do_not_ask_for_exact_values() -> None:
    def never(_i: int) -> int:
        raise AssertionError

    assert ascending([3.0, 1.0, 0.0, 0.0], never) == [2, 3, 1, 0]


@given(data=st.data(), d=st.integers(1, 5))
def test_distances_in_float_are_near_the_exact_ones(data: st.DataObject, d: int) -> None:
    vectors = st.lists(st.integers(-(2**40), 2**40), min_size=d, max_size=d)
    first, second = (torch.tensor(data.draw(vectors)) for _ in range(2))
    exact = sum((a - b) ** 2 for a, b in zip(first.tolist(), second.tolist(), strict=True))
    assert exact_squared_distance(first, second) == exact
    assert squared_distance(first, second) == pytest.approx(exact, rel=1e-12)
    assert squared_distance(first, first) == 0


def test_a_share_is_taken_as_it_is_written() -> None:
    assert share_of(0.29, 100) == 29
    assert share_of(0.4, 9) == Fraction(18, 5)


def test_steps_with_which_a_sum_would_not_fit_are_refused() -> None:
    graph = parse_family("path:2")
    schedule = Schedule(Precision(0, 58), (1,), (1,))
    fine = LatticeParameters(1, schedule, graph.max_degree, model_limit=1, gradient_limit=1)
    check_scale(fine, 8)
    with pytest.raises(ScreeningError):
        check_scale(fine, 16)
    schedule = Schedule(Precision(0, 0), (1,), (1,))
    large = LatticeParameters(1, schedule, 1, model_limit=2**58, gradient_limit=1)
    check_scale(large, 15)
    with pytest.raises(ScreeningError):
        check_scale(large, 16)


@given(
    length=st.sampled_from([1, 511, 512, 513, 1100]),
    pays_from=st.sampled_from([0, kernels.PAYS_FROM]),
    limit=st.sampled_from([1, 2, 2**40, 2**60]),
    seed=st.integers(0, 99),
)
def test_distances_of_pairs_decide_as_those_of_each(
    length: int, pays_from: int, limit: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(-limit, limit + 1, (5, length), generator=generator)
    rows[4] = rows[1]
    pairs = [(rows[i], rows[j]) for i in range(5) for j in range(5)]
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        found = squared_distances(pairs)
    for value, (first, second) in zip(found, pairs, strict=True):
        exact = exact_squared_distance(first, second)
        assert abs(value - exact) <= 1e-12 * exact
    assert found[5 * 1 + 4] == 0
    assert squared_distances([]) == []
