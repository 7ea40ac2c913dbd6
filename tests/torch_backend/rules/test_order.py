"""The network of minima and maxima sorts: all ranks of all counts, by the 0-1 principle."""

import itertools
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torch_backend import kernels
from torch_backend.rules.screening import BLOCK, exchanges, in_blocks, plan, ranked, ranked_sum


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
