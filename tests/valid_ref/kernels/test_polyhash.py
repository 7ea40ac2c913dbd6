"""Every form of the hash is one function: numpy, compiled, parallel, in pieces, by definition."""

import importlib
import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hash_forms import (
    EXTREME_KEYS,
    EXTREMES,
    FORMS,
    PRIME,
    Form,
    by_integers,
    by_loops,
    in_pieces,
)
from valid_ref.kernels import Backend, KernelError, PolyHash, StreamState

pytestmark = pytest.mark.checks("HA-3", "HA-9")

entries = st.one_of(st.sampled_from(EXTREMES), st.integers(-(2**63), 2**63 - 1))
keys = st.one_of(st.sampled_from(EXTREME_KEYS), st.integers(0, PRIME - 1))


@st.composite
def inputs(draw: st.DrawFn) -> tuple[list[int], np.ndarray]:
    """Up to nine keys (two groups of four and one) and a few rows of up to 40 entries."""
    shape = draw(st.integers(0, 3)), draw(st.integers(0, 40))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = generator.integers(-(2**63), 2**63 - 1, shape, endpoint=True)
    for place in draw(st.lists(st.integers(0, max(0, rows.size - 1)), max_size=8)):
        if rows.size:
            rows.flat[place] = draw(entries)
    return draw(st.lists(keys, max_size=9)), rows


@pytest.fixture(params=sorted(FORMS), scope="session")
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


@settings(max_examples=30)
@given(data=st.data())
def test_every_form_equals_python_integers(form: Form, data: st.DataObject) -> None:
    chosen, rows = data.draw(inputs())
    if form is FORMS["galois"]:
        rows, chosen = rows[:1, :6], chosen[:2]
    assert form(chosen, rows) == by_integers(chosen, rows)


def test_every_form_is_exact_on_all_pairs_of_extremes(form: Form) -> None:
    rows = np.array(list(itertools.product(EXTREMES, repeat=2)), dtype=np.int64)
    rows = rows[::40] if form is FORMS["galois"] else rows
    assert form(EXTREME_KEYS, rows) == by_integers(EXTREME_KEYS, rows)


@pytest.mark.parametrize("block", [8, 16, 100, 2048, 4095, 4096])
@pytest.mark.parametrize("entry", [2**62 - 1, -(2**62), 2**63 - 1, PRIME - 1, PRIME + 3, -1])
def test_the_largest_sums_of_a_block_do_not_wrap(block: int, entry: int) -> None:
    """Constant rows under keys whose powers are all large; lengths beside multiples of a block."""
    chosen = (PRIME - 1, PRIME - 2, 1, 2**61 - 2**31, PRIME // 3)
    for length in (block - 1, block, block + 1, 2 * block + 7):
        rows = np.full((1, length), entry, dtype=np.int64)
        expected = by_integers(chosen, rows)
        assert by_loops(block, 1)(chosen, rows) == expected
        assert by_loops(block, 2)(chosen, rows) == expected
        assert FORMS["limbs"](chosen, rows) == expected


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("z", [2**61 - 1, 2**61 + 2**42 - 1, 2**62 - 2])
def test_4096_products_of_full_limbs_fit_and_twice_as_many_do_not(z: int, count: int) -> None:
    """No key has such a table: every power is p, all ones in both parts, and the hash is 0."""
    loops = importlib.import_module("valid_ref.kernels.hash61")
    for block, expected in ((4096, True), (8192, False)):
        low = np.full((count, block), 2**31 - 1, dtype=np.uint64)
        high = np.full((count, block), 2**30 - 1, dtype=np.uint64)
        rows = np.full((1, block), z - PRIME, dtype=np.int64)
        out = np.empty((1, count), np.uint64)
        loops.hash_rows(rows, block, low, high, low[:, 0].copy(), out)
        assert (not out.any()) == expected


@pytest.mark.parametrize("count", range(1, 10))
def test_any_number_of_keys_and_rows_in_any_order(count: int) -> None:
    rows = np.random.default_rng(count).integers(-(2**63), 2**63 - 1, (count, 5000))
    chosen = [pow(7, i, PRIME) for i in range(count)]
    expected = by_integers(chosen[:2], rows[:1])
    backwards = np.ascontiguousarray(rows.T).T
    for threads in (1, 2, 4):
        hashes = PolyHash(chosen, Backend.NUMBA).hash(backwards, threads)
        assert hashes[:1, :2].tolist() == expected
        assert np.array_equal(hashes, PolyHash(chosen, Backend.NUMPY).hash(rows))


def test_read_only_rows_are_hashed_without_a_second_compilation() -> None:
    rows = np.arange(12).reshape(3, 4)
    rows.setflags(write=False)
    assert FORMS["loops"]((5,), rows) == by_integers((5,), rows)
    loops = sys.modules["valid_ref.kernels.hash61"]
    assert len(loops.hash_rows.signatures) == len(loops.power_table.signatures) == 1


@pytest.mark.parametrize("backend", [Backend.NUMPY, Backend.NUMBA])
def test_a_stream_goes_on_from_its_saved_state(backend: Backend) -> None:
    rows = np.random.default_rng(1).integers(-(2**62), 2**62, (2, 300))
    hasher = PolyHash((0, 1, PRIME - 1, 12345), backend)
    first = hasher.stream(2).update(rows[:, :123])
    state = first.state()
    assert state == StreamState(123, tuple(map(tuple, by_integers(hasher.keys, rows[:, :123]))))
    later = hasher.stream(0).load(state).update(rows[:, 123:])
    assert later.digest().tolist() == by_integers(hasher.keys, rows)
    assert first.state() == state


def test_a_digest_may_be_changed_without_changing_the_stream() -> None:
    rows = np.arange(6).reshape(2, 3)
    stream = PolyHash((5,)).stream(2).update(rows)
    stream.digest()[:] = 0
    assert stream.digest().tolist() == by_integers((5,), rows)


def test_what_cannot_be_hashed_is_refused() -> None:
    with pytest.raises(KernelError, match=r"key 2305843009213693951 is not in 0.*LV-3"):
        PolyHash((PRIME,))
    with pytest.raises(KernelError, match=r"key True is not"):
        PolyHash((True,))
    with pytest.raises(KernelError, match=r"block = 4097 is not in 1\.\.4096"):
        PolyHash((1,), block=4097)
    for rows in (np.zeros(3, np.int64), np.zeros((1, 3)), np.zeros((1, 3), np.uint64)):
        with pytest.raises(KernelError, match="expected rows of 64-bit integers"):
            PolyHash((1,)).hash(rows)
    with pytest.raises(KernelError, match="3 rows continue 2 vectors"):
        PolyHash((1,)).stream(2).update(np.zeros((3, 1), np.int64))
    with pytest.raises(KernelError, match="1 rows continue 2 vectors"):
        PolyHash((1,)).stream(2).update(np.zeros((1, 1), np.int64))
    with pytest.raises(KernelError, match="-1 vectors"):
        PolyHash((1,)).stream(-1)


@pytest.mark.parametrize(
    "state",
    [
        StreamState(-1, ((0,),)),
        StreamState(1, ((0, 1),)),
        StreamState(1, ((PRIME,),)),
        StreamState(1, ((-1,),)),
        StreamState(1, ((True,),)),
    ],
)
def test_a_saved_state_that_no_stream_had_is_refused(state: StreamState) -> None:
    with pytest.raises(KernelError, match="a saved state"):
        PolyHash((1,)).stream(1).load(state)


@pytest.mark.parametrize("length", [0, 3, 70_000])
@pytest.mark.parametrize("backend", [Backend.NUMPY, Backend.NUMBA])
def test_vectors_are_hashed_some_at_a_time(backend: Backend, length: int) -> None:
    """More vectors than are stacked at once, or longer ones than are stacked at all."""
    rows = np.random.default_rng(4).integers(
        -(2**63), 2**63 - 1, (3 if length > 9 else 600, length)
    )
    hasher = PolyHash((0, 5, PRIME - 1), backend)
    expected = PolyHash(hasher.keys, Backend.NUMPY).hash(rows)
    for threads in (1, 3):
        assert np.array_equal(hasher.hash_each([*rows], threads), expected)
    assert hasher.hash_each([]).shape == (0, 3)
    with pytest.raises(KernelError, match="expected rows"):
        hasher.hash_each([np.zeros(4), np.zeros(4)])


def test_the_lengths_of_pieces_do_not_matter() -> None:
    rows = np.random.default_rng(2).integers(-(2**62), 2**62, (1, 5000))
    expected = by_integers((3, PRIME - 5), rows)
    for backend, block in itertools.product((Backend.NUMPY, Backend.NUMBA), (8, 512, 4096)):
        assert in_pieces(backend, block)((3, PRIME - 5), rows) == expected
