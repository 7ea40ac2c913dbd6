"""Data of somebody's own: arrays and NPZ files, and a clear error where something is wrong."""

import contextlib
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from torch_backend.arrays import parse_npy, read_npz
from torch_backend.data import Npz, dataset_of
from torch_backend.data.batches import device_data
from torch_backend.data.partition import Iid, Rotated
from torch_backend.errors import DataError

CPU = torch.device("cpu")


def arrays(shape: tuple[int, ...], dtype: Any = np.uint8, count: int = 12) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    values = draw.integers(0, 256, (2 * count, *shape)).astype(dtype)
    labels = np.arange(2 * count) % 3
    return {
        "train_images": values[:count],
        "train_labels": labels[:count],
        "test_images": values[count:],
        "test_labels": labels[count:],
    }


@pytest.mark.checks("EX-20")
@pytest.mark.parametrize("shape", [(5,), (4, 4), (3, 4, 4), (2, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.float16, ">f4"])
def test_images_of_any_shape_come_through_a_file(tmp_path: Path, shape: Any, dtype: Any) -> None:
    given_arrays = arrays(shape, dtype)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "mine.npz", **given_arrays)
        found = Npz("mine.npz").load(tmp_path)
        assert (found.classes, found.features, found.name) == (3, int(np.prod(shape)), "mine")
        assert np.array_equal(found.train_images, given_arrays["train_images"])
        assert found.train_images.dtype == (np.uint8 if dtype is np.uint8 else np.float32)
        assert np.array_equal(found.test_labels, given_arrays["test_labels"])
        device_data(found, Iid().split(found, 2, 0), "unit", CPU)


@pytest.mark.checks("EX-3", "EX-20")
def test_floats_are_taken_as_they_are_or_standardised() -> None:
    found = dataset_of("mine", **arrays((2, 4, 4), np.float32))
    split = Iid().split(found, 3, 0)
    unit = device_data(found, split, "unit", CPU).images
    assert np.array_equal(unit.numpy(), found.train_images.reshape(12, -1))
    same = device_data(found, split, "standardised", CPU).images.double()
    assert abs(float(same.mean())) < 1e-6
    assert float(same.std(unbiased=False)) == pytest.approx(1)
    whole = dataset_of("mine", **arrays((2, 4, 4)))
    images = device_data(whole, split, "unit", CPU).images
    assert torch.allclose(images * 255, unit)


@pytest.mark.checks("EX-4", "EX-20")
def test_channels_are_turned_each() -> None:
    found = dataset_of("mine", **arrays((2, 4, 4), np.float32))
    split = Rotated(groups=1, upright=0).split(found, 2, 0)
    assert split.rotated.all()
    turned = device_data(found, split, "unit", CPU).images.reshape(12, 2, 4, 4).numpy()
    assert np.array_equal(turned[5, 1], np.rot90(found.train_images[5, 1]))
    for shape in ((4,), (4, 5)):
        other = dataset_of("mine", **arrays(shape))
        with pytest.raises(DataError, match="not square and cannot be turned"):
            device_data(other, split, "unit", CPU)


@pytest.mark.checks("EX-20")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train_images": None}, "has the arrays test_images, .*; needed are train_images"),
        ({"other": np.zeros(3)}, "no more"),
        ({"train_images": np.zeros((12, 4, 4), np.int64)}, "save them as uint8"),
        ({"train_images": np.zeros((12, 4, 4), bool)}, "save them as uint8"),
        ({"train_images": np.full((12, 4, 4), np.nan)}, "a value of an image is not finite"),
        ({"train_images": np.full((12, 4, 4), 1e300)}, "not finite"),
        ({"train_images": np.zeros((12, 4, 4), np.float32)}, "test images uint8 of shape"),
        ({"train_images": np.zeros((12, 4, 5), np.uint8)}, r"of shape \(4, 5\), test images"),
        ({"train_images": np.zeros(12, np.uint8)}, "images of dtype uint8 and shape"),
        ({"train_labels": np.zeros(11, int)}, "do not go with 12 images"),
        ({"train_labels": np.zeros(12)}, "one whole number for each image"),
        ({"train_labels": np.zeros((12, 3), int)}, "one whole number for each image"),
        ({"test_labels": np.full(12, -1)}, "a label is not in 0"),
        ({"train_labels": np.array(["a"] * 12)}, "not an array of numbers"),
        ({"train_labels": np.array([{}] * 12)}, "not an array of numbers"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_what_is_wrong(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    changed = {k: v for k, v in (arrays((4, 4)) | change).items() if v is not None}
    np.savez(tmp_path / "mine.npz", **changed)
    with pytest.raises(DataError, match=words):
        Npz("mine.npz").load(tmp_path)


@pytest.mark.checks("EX-20")
def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        Npz("mine.npz").load(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        Npz(str(tmp_path)).load(None)
    (tmp_path / "mine.npz").write_bytes(pickle.dumps(arrays((4, 4))))
    with pytest.raises(DataError, match="is not an NPZ file, or is damaged"):
        Npz("mine.npz").load(tmp_path)


def packed(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, array in {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(4)}.items():
            inside = io.BytesIO()
            np.save(inside, array)
            archive.writestr(f"{name}.npy", inside.getvalue())
    return buffer.getvalue()


FILES = tuple(map(packed, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)))


@pytest.mark.checks("EX-20")
@given(
    file=st.sampled_from(FILES),
    changes=st.lists(st.tuples(st.integers(0, 600), st.integers(0, 255)), min_size=1, max_size=3),
    cut=st.integers(0, 600),
)
@example(file=FILES[0], changes=[(6, 1)], cut=600)
def test_a_damaged_file_is_refused_or_read(
    file: bytes, changes: list[tuple[int, int]], cut: int
) -> None:
    """Whatever the bytes are, nothing but a typed refusal is raised."""
    damaged = bytearray(file)
    for place, value in changes:
        damaged[place % len(damaged)] = value
    try:
        found = read_npz(bytes(damaged[: max(cut, 1) if cut < 300 else None]), "x", 10**6)
    except DataError:
        return
    assert all(array.dtype.kind in "biuf" for array in found.values())


@pytest.mark.checks("EX-20")
@pytest.mark.parametrize("file", FILES, ids=["stored", "deflated", "lzma"])
@pytest.mark.parametrize("bit", [0, 3, 7])
def test_one_bit_of_each_byte_flipped_is_refused_or_read(file: bytes, bit: int) -> None:
    """Among them the mark of an encrypted member, and of a way to pack that is not known."""
    for place in range(len(file)):
        damaged = bytearray(file)
        damaged[place] ^= 1 << bit
        with contextlib.suppress(DataError):
            read_npz(bytes(damaged), "x", 10**6)


@pytest.mark.checks("EX-20")
@given(
    shape=st.lists(st.integers(0, 4), max_size=4).map(tuple),
    dtype=st.sampled_from(["u1", "<i8", ">i4", "<f4", "<f8", "?", "<f2"]),
    order=st.sampled_from("CF"),
)
def test_arrays_are_read_as_the_library_reads_them(shape: Any, dtype: str, order: Any) -> None:
    array = np.asarray(np.arange(np.prod(shape)).reshape(shape), dtype, order=order)
    buffer = io.BytesIO()
    np.save(buffer, array)
    found = parse_npy(buffer.getvalue(), "x")
    assert np.array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    for bad in (buffer.getvalue() + b"x", buffer.getvalue()[:-1], b""):
        with pytest.raises(DataError):
            parse_npy(bad, "x")
    with pytest.raises(DataError, match="more than 10 bytes"):
        read_npz(FILES[0], "x", 10)
