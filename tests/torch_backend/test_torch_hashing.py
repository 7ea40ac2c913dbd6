"""The hash in tensors: large inputs, refusals, and a device that computes wrongly.

That it is the same function as every other form is in tests/valid_ref/kernels/test_polyhash.py.
"""

import numpy as np
import pytest

from tests.hash_forms import PRIME, by_integers
from valid_ref.kernels import PolyHash

torch = pytest.importorskip("torch", reason="the form in tensors needs torch")
hashing = pytest.importorskip("torch_backend.hashing")


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
