"""The hash in tensors, and that of 32-bit entries, is the hash."""

from pathlib import Path
from unittest import mock

import attrs
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hash_forms import PRIME, by_integers
from tests.torch_backend.runs import keys_of, learn
from tests.torch_backend.test_transcripts import a_program, write
from torch_backend import hashing
from torch_backend import reports as module
from torch_backend.compiled import POWERS
from torch_backend.hashing import ShortHash
from torch_backend.reports import reports, short_hasher
from torch_backend.transcripts import open_transcripts
from valid_ref.hashing import FieldError, PrimeField
from valid_ref.kernels import PolyHash
from valid_ref.kernels.polyhash import round_polynomials


@pytest.mark.checks("HA-9")
@pytest.mark.parametrize("shape", [(1, 2048), (3, 2049), (2, 10_000)])
@pytest.mark.parametrize("at_once", [1, 5000, 2**21])
def test_rows_of_many_blocks_in_parts_of_any_size(
    shape: tuple[int, int], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "AT_ONCE", at_once)
    rows = np.random.default_rng(3).integers(-(2**63), 2**63 - 1, shape)
    keys = [0, 1, PRIME - 1, 987654321]
    found = hashing.hash_rows(torch.from_numpy(rows), keys)
    assert found.dtype == torch.int64
    assert np.array_equal(found.numpy().astype(np.uint64), PolyHash(keys).hash(rows))
    assert found[:1, 2:].tolist() == by_integers(keys[2:], rows[:1])


@pytest.mark.checks("HA-9", "LV-3")
def test_what_cannot_be_hashed_is_refused() -> None:
    with pytest.raises(hashing.HashingError, match="expected rows of 64-bit integers"):
        hashing.hash_rows(torch.zeros((1, 2), dtype=torch.int32), (1,))
    with pytest.raises(hashing.HashingError, match="expected rows"):
        hashing.hash_rows(torch.zeros(2, dtype=torch.int64), (1,))
    with pytest.raises(hashing.HashingError, match="a key is not in"):
        hashing.hash_rows(torch.zeros((1, 2), dtype=torch.int64), (PRIME,))


@pytest.mark.checks("HA-9")
def test_a_device_that_rounds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limbs of single precision stand for a device whose matrix products are not exact."""
    exact = hashing._limbs
    monkeypatch.setattr(hashing, "_limbs", lambda words: [limb.float() for limb in exact(words)])
    hashing.check_device.cache_clear()
    with pytest.raises(hashing.HashingError, match="device cpu does not multiply"):
        hashing.hash_rows(torch.zeros((1, 2), dtype=torch.int64), (1,))


KEYS = st.sampled_from([0, 1, 2, PRIME - 1]) | st.integers(0, PRIME - 1)


@pytest.mark.checks("HA-9")
@settings(max_examples=30)
@given(st.data())
def test_it_is_the_polynomial_at_every_key(data: st.DataObject) -> None:
    keys = tuple(data.draw(st.lists(KEYS, min_size=1, max_size=6)))
    length = data.draw(
        st.sampled_from([1, 7, POWERS - 1, POWERS, 4 * POWERS, 9 * POWERS + 5, 131 * POWERS])
    )
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    bits = data.draw(st.sampled_from([1, 8, 27, 31, 32]))
    limit = 2 ** (bits - 1)
    rows = generator.integers(-limit, limit, (data.draw(st.integers(1, 5)), length))
    rows[0] = data.draw(st.sampled_from([-limit, limit - 1, 0]))
    short = ShortHash(keys, length)
    found = short.hash(rows.astype(np.int32), data.draw(st.integers(1, 2)), bits)
    assert np.array_equal(found, round_polynomials(PrimeField(), keys, rows))


@pytest.mark.checks("HA-9")
@pytest.mark.parametrize("entry", [2**31 - 1, -(2**31)])
def test_sums_of_many_full_entries_are_exact(entry: int) -> None:
    """More products of full entries and full limbs than float64 adds up without rounding."""
    keys, length = (PRIME - 2, 123456789123456789), 640 * POWERS
    rows = np.full((1, length), entry, dtype=np.int32)
    found = ShortHash(keys, length).hash(rows, 1, 32)
    assert np.array_equal(found, round_polynomials(PrimeField(), keys, rows.astype(np.int64)))


@pytest.mark.checks("HA-9", "LV-5")
def test_reports_are_the_same_with_and_without_it(tmp_path: Path) -> None:
    run = a_program("per edge")
    write(tmp_path, run, learn(run)[1])
    stored, keys = open_transcripts(tmp_path, run), keys_of(run)
    assert all(line.bits <= module.SHORT for line in stored.lines)
    with mock.patch.object(module, "PAYS_FROM", 0):
        assert isinstance(short_hasher(run.parameters.field, keys, 9, 1), ShortHash)
        found = reports(stored, keys)
    assert found == reports(stored, keys)


@pytest.mark.checks("HA-9", "LV-5")
@pytest.mark.parametrize("bits", [30, 31, 32, 33, 40])
@pytest.mark.parametrize("sign", [1, -1])
def test_models_of_any_width_have_their_hash(tmp_path: Path, bits: int, sign: int) -> None:
    """The largest entries of so many bits with the sign: up to 32 are hashed as they are stored."""
    run = a_program("none")
    entry = 2 ** (bits - 1) - 1 if sign > 0 else -(2 ** (bits - 1))
    wide = [attrs.evolve(s, models=torch.full_like(s.models, entry)) for s in learn(run)[1]]
    write(tmp_path, run, wide)
    stored, keys = open_transcripts(tmp_path, run), keys_of(run)
    assert {line.bits for line in stored.lines} == {bits}
    with mock.patch.object(module, "PAYS_FROM", 0):
        found = reports(stored, keys)
    assert found == reports(stored, keys, tensors=True)


def test_it_is_for_one_prime_and_for_keys_only() -> None:
    assert short_hasher(PrimeField(101), (1,), 10**6, 10**6) is None
    assert short_hasher(PrimeField(), (1,), 3, 3) is None
    with pytest.raises(FieldError):
        short_hasher(PrimeField(), (PRIME,), 10**6, 10**6)
