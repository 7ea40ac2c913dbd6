"""Sums of squares and weighted sums equal those of Python integers, in numpy and compiled."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.hash_forms import EXTREMES
from valid_ref.kernels import Backend, KernelError, squared_norms, sums, weighted_sums
from valid_ref.kernels.sums import CACHED, WIDEST, WeightedTotals
from valid_ref.wide import WideIntegers, joined

BACKENDS = [Backend.NUMPY, Backend.NUMBA]

entries = st.one_of(st.sampled_from(EXTREMES), st.integers(-(2**63), 2**63 - 1))
matrices = st.integers(0, 5).flatmap(
    lambda width: st.lists(st.lists(entries, min_size=width, max_size=width), max_size=4).map(
        lambda rows: np.array(rows, dtype=np.int64).reshape(len(rows), width)
    )
)


def squares(rows: np.ndarray) -> list[int]:
    return [sum(entry * entry for entry in row) for row in rows.tolist()]


@pytest.mark.checks("AR-12")
@pytest.mark.parametrize("backend", BACKENDS)
@given(rows=matrices)
@example(rows=np.array([EXTREMES, EXTREMES[::-1]], dtype=np.int64))
@example(rows=np.array([[entry] for entry in EXTREMES], dtype=np.int64))
def test_squared_norms_are_exact(backend: Backend, rows: np.ndarray) -> None:
    assert squared_norms(rows, backend) == squares(rows)


@pytest.mark.checks("AR-12")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("width", [CACHED, CACHED + 1, WIDEST, WIDEST + 1])
@pytest.mark.parametrize("entry", [-(2**63), 2**63 - 1, 1 - 2**62, 2**42 - 1])
def test_long_rows_of_the_largest_entries_do_not_wrap(
    backend: Backend, width: int, entry: int
) -> None:
    rows = np.full((1, width), entry, dtype=np.int64)
    assert squared_norms(rows, backend) == [width * entry * entry]


def by_integers(weightings: list[list[int]], rows: np.ndarray) -> list[list[int]]:
    return [
        [sum(w * e for w, e in zip(weights, column, strict=True)) for column in rows.T.tolist()]
        for weights in weightings
    ]


def in_groups(rows: np.ndarray, sizes: list[int]) -> Iterator[np.ndarray]:
    begin = 0
    for size in itertools.cycle(sizes):
        if begin >= len(rows):
            return
        yield rows[begin : begin + size]
        begin += size


@pytest.mark.checks("GV-9")
@pytest.mark.parametrize("backend", BACKENDS)
@given(rows=matrices, data=st.data())
def test_weighted_sums_are_exact(backend: Backend, rows: np.ndarray, data: st.DataObject) -> None:
    """Weights of all sizes; the sums begin in words and go on in limbs at any row."""
    weight = st.one_of(st.integers(0, 9), st.integers(0, 2**31), st.integers(0, 2**130))
    many = st.lists(weight, min_size=len(rows), max_size=len(rows))
    weightings = data.draw(st.lists(many, max_size=3))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    found = weighted_sums(weightings, in_groups(rows, sizes), rows.shape[1], backend)
    assert found == by_integers(weightings, rows)
    assert all(type(entry) is int for entries in found for entry in entries)


@pytest.mark.checks("GV-9")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("weight", [2**21 - 1, 2**42 - 1, 2**63 - 1])
@pytest.mark.parametrize("entry", [2**63 - 1, -(2**63), -1])
def test_limbs_are_carried_before_they_can_wrap(backend: Backend, weight: int, entry: int) -> None:
    """3000 rows of full limbs: more than one carry; the first row alone fits into words."""
    rows = np.full((3000, 2), entry, dtype=np.int64)
    rows[0] = 1
    groups = in_groups(rows, [1, 256, 255])
    total = weight * (1 + 2999 * entry)
    assert weighted_sums([[weight] * 3000], groups, 2, backend) == [[total, total]]


@pytest.mark.checks("GV-9")
@pytest.mark.parametrize("backend", BACKENDS)
def test_limbs_are_carried_in_as_many_rounds_as_anybody_has(backend: Backend) -> None:
    """So many rows that a place would reach 2^63 if it were never carried: three products each."""
    weight, entry, times = 2**63 - 1, 2**63 - 1, 2800
    assert times * 256 * 3 * (2**21 - 1) ** 2 > 2**63
    rows = np.full((256, 1), entry, dtype=np.int64)
    found = weighted_sums([[weight] * 256 * times], itertools.repeat(rows, times), 1, backend)
    assert found == [[256 * times * weight * entry]]


@pytest.mark.checks("GV-9")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bits", range(20, 132))
def test_few_rows_of_the_largest_entries_are_joined_exactly(backend: Backend, bits: int) -> None:
    """Found by the property above: the highest word has more than 42 bits before a carry."""
    rows = np.array([[2**63 - 1, -(2**63)]] * 2)
    weights = [2, 2**bits - 1]
    assert weighted_sums([weights], [rows], 2, backend) == by_integers([weights], rows)


@pytest.mark.checks("GV-9")
def test_a_sum_stays_in_words_up_to_their_limit() -> None:
    for largest in (2**62 - 1, 2**62, 2**62 + 1):
        rows = np.array([[largest, -largest]])
        assert weighted_sums([[1], [3]], [rows], 2) == [
            [largest, -largest],
            [3 * largest, -3 * largest],
        ]


def test_too_many_rows_are_refused() -> None:
    with pytest.raises(KernelError, match="2 rows after 1: too many"):
        weighted_sums([[1, 1]], [np.zeros((1, 1), np.int64), np.zeros((2, 1), np.int64)], 1)
    with pytest.raises(KernelError, match="257 rows after 0"):
        weighted_sums([[1] * 257], [np.zeros((257, 1), np.int64)], 1)


@pytest.mark.parametrize("dimension", [1, 255, 256, 257, 2**16, 2**16 + 1, 2**20])
def test_what_is_stacked_is_bounded_in_bytes_and_nothing_is_lost(dimension: int) -> None:
    vector = np.zeros(dimension, np.int64)
    parts = [*sums.groups([vector] * 600)]
    assert sum(len(part) for part in parts) == 600
    for part in parts:
        rows = sums.stack(part)
        assert rows.shape == (len(part), dimension)
        assert len(part) <= sums.ROUNDS_AT_ONCE
        assert rows.nbytes <= sums.BYTES_AT_ONCE or np.shares_memory(rows, vector)
    assert [*sums.groups([])] == []


@pytest.mark.checks("GV-9", "RE-3")
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_sums_in_limbs_are_the_same_integers(data) -> None:
    count, width = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    entry = st.integers(-(2**62), 2**62)
    row = st.lists(entry, min_size=width, max_size=width)
    rows = np.array(data.draw(st.lists(row, min_size=count, max_size=count)), dtype=np.int64)
    weight = st.integers(0, data.draw(st.sampled_from([1, 2**30, 2**70, 2**130])))
    weights = data.draw(st.lists(weight, min_size=count, max_size=count))
    backend = data.draw(st.sampled_from([Backend.NUMPY, Backend.NUMBA]))
    [wanted] = weighted_sums([weights], [rows], width, backend)
    limbs = max(map(abs, wanted)).bit_length() // 64 + 1 + data.draw(st.integers(0, 2))
    totals = WeightedTotals([weights], width, backend)
    totals.add(rows)
    found = joined(totals.limbs(limbs), limbs)
    assert tuple(found) == found[:] == tuple(wanted)
    assert [found[i] for i in range(width)] == wanted
    assert found.extremes(slice(0, width)) == (min(wanted), max(wanted))
    assert tuple(int(e) for e in found.entries(slice(0, width))) == tuple(wanted)
    assert str(found) == str(tuple(wanted))
    assert found == WideIntegers.of(wanted) == tuple(wanted)
    assert hash(found) == hash(WideIntegers.of(wanted)) == hash(tuple(wanted))
    assert found != WideIntegers.of(value + 1 for value in wanted)
    assert found != tuple(value + 1 for value in wanted)
