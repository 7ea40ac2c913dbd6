"""The reader of IDX files gives back what was written and refuses everything else."""

import gzip
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from torch_backend.data.mnist import parse, read_content, read_idx
from torch_backend.errors import DataError


def idx(array: np.ndarray) -> bytes:
    head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return head + array.tobytes()


ARRAYS = arrays(np.uint8, array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))


@given(array=ARRAYS)
def test_what_was_written_is_read(array: np.ndarray) -> None:
    found = parse(idx(array), "file", array.ndim)
    assert np.array_equal(found, array)
    assert found.shape == array.shape
    assert not found.flags.writeable


@given(array=ARRAYS, data=st.data())
def test_a_file_that_is_cut_or_too_long_is_refused(array: np.ndarray, data: st.DataObject) -> None:
    content = idx(array)
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DataError):
        parse(content[:cut], "file", array.ndim)
    with pytest.raises(DataError, match="need"):
        parse(content + b"\0", "file", array.ndim)


@given(content=st.binary(max_size=40), dimensions=st.sampled_from([1, 3]))
def test_any_bytes_are_an_array_or_a_typed_error(content: bytes, dimensions: int) -> None:
    try:
        found = parse(content, "file", dimensions)
    except DataError:
        return
    assert idx(found) == content


@pytest.mark.parametrize(
    "content",
    [
        b"\0\1\x08\1\0\0\0\0",
        b"\0\0\x09\1\0\0\0\0",
        b"\0\0\x08\2\0\0\0\0",
        b"\0\0\x08\1" + b"\xff" * 4,
    ],
    ids=["zeros", "type", "dimensions", "size"],
)
def test_a_wrong_head_is_refused(content: bytes) -> None:
    with pytest.raises(DataError):
        parse(content, "file", 1)


def test_compressed_files_are_known_by_their_content(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    for name, content in (("plain", idx(array)), ("packed", gzip.compress(idx(array)))):
        (tmp_path / name).write_bytes(content)
        assert np.array_equal(read_idx(tmp_path / name, 3), array)


def test_a_bomb_is_unpacked_no_further_than_the_limit(tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(gzip.compress(bytes(10_000_000)))
    tracemalloc.start()
    with pytest.raises(DataError, match="more than 1000 bytes"):
        read_content(tmp_path / "bomb", limit=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    (tmp_path / "long").write_bytes(bytes(1001))
    with pytest.raises(DataError, match="more than 1000 bytes"):
        read_content(tmp_path / "long", limit=1000)
    (tmp_path / "fits").write_bytes(gzip.compress(bytes(1000)))
    assert read_content(tmp_path / "fits", limit=1000) == bytes(1000)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(bytes(range(256)) * 8)
    for name, content in (
        ("cut", packed[:-9]),
        ("flipped", packed[:20] + bytes([packed[20] ^ 255]) + packed[21:]),
        ("sum", packed[:-8] + b"\0\0\0\0" + packed[-4:]),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name} cannot be read"):
            read_content(tmp_path / name)
    with pytest.raises(DataError, match="cannot be read"):
        read_content(tmp_path / "absent")
