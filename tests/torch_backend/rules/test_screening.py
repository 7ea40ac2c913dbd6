"""Order statistics, means and distances are those of exact numbers, in every form."""

import itertools
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from torch_backend import kernels
from torch_backend.errors import ScreeningError
from torch_backend.rules.screening import (
    BLOCK,
    ascending,
    check_scale,
    exact_squared_distance,
    exchanges,
    in_blocks,
    plan,
    ranked,
    ranked_sum,
    scaled_mean,
    share_of,
    squared_distance,
    squared_distances,
)
from valid_ref.graph_families import parse_family
from valid_ref.lattice import LatticeParameters
from valid_ref.schedule import Precision, Schedule


@pytest.mark.parametrize("count", range(1, 13))
def test_the_network_sorts_every_vector_of_zeros_and_ones(count: int) -> None:
    """A network that sorts all vectors of zeros and ones sorts everything (Knuth, 5.3.4 Z)."""
    every = torch.tensor(list(itertools.product([0, 1], repeat=count))).T.contiguous()
    sorted_rows = torch.stack(ranked(list(every), range(count)))
    assert torch.equal(sorted_rows, every.sort(dim=0).values)
    for rank in range(count):
        assert torch.equal(ranked(list(every), [rank])[0], sorted_rows[rank])


def test_the_middle_takes_fewer_steps_than_all_ranks() -> None:
    halves = {count: sum(a + b for *_, a, b in plan(count, (count // 2,))) for count in (9, 11)}
    assert halves == {9: 36, 11: 52}
    assert len(list(exchanges(10))) == 31
    assert list(exchanges(1)) == []


@given(data=st.data(), count=st.integers(1, 14))
def test_ranks_are_those_of_a_sort(data: st.DataObject, count: int) -> None:
    entry = st.integers(-(2**61), 2**61)
    rows = data.draw(
        st.lists(st.lists(entry, min_size=4, max_size=4), min_size=count, max_size=count)
    )
    wanted = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4))
    values = torch.tensor(rows)
    before = values.clone()
    found = torch.stack(ranked(list(values), wanted)).numpy()
    assert np.array_equal(found, np.sort(values.numpy(), axis=0)[wanted])
    assert torch.equal(values, before)


@pytest.mark.parametrize("length", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_blocks_cover_every_entry(length: int) -> None:
    rows = [torch.arange(length), torch.arange(length).flip(0)]
    found = in_blocks(rows, lambda piece: ranked(piece, [1])[0])
    assert torch.equal(found, torch.maximum(*rows))


@given(
    count=st.integers(1, 12),
    length=st.sampled_from([1, 255, 256, 257, 600]),
    apart=st.booleans(),
    pays_from=st.sampled_from([0, kernels.PAYS_FROM]),
    data=st.data(),
)
def test_a_sum_of_ranks_is_that_of_a_sort(
    count: int, length: int, apart: bool, pays_from: int, data: st.DataObject
) -> None:
    wanted = data.draw(st.sets(st.integers(0, count - 1), min_size=1).map(sorted))
    limit = data.draw(st.sampled_from([2, 2**58]))
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    values = torch.from_numpy(generator.integers(-limit, limit, (count + 1, length)))
    before = values.clone()
    rows = [row.clone() if apart else row for row in values[1:]]
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        found = ranked_sum(rows, wanted)
    assert np.array_equal(found.numpy(), np.sort(before[1:].numpy(), axis=0)[wanted].sum(axis=0))
    assert torch.equal(values, before)
    assert all(torch.equal(row, old) for row, old in zip(rows, before[1:], strict=True))


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
