"""All vectors in one archive that another project pins: the same bytes on every machine.

A zip of files that are stored and not compressed, in the order of their names, all with one date
and one mode; beside the files of `spec/vectors/` it has the version and a list of SHA-256 sums.
"""

import hashlib
import io
import re
import stat
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from valid_ref.vectors.document import VectorError

VERSION, SUMS = "VERSION", "SHA256SUMS"
LARGEST = 1 << 26
"""A larger file is no bundle: the vectors have a few megabytes."""

_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip can name."""
_UNIX = 3
_MODE = (stat.S_IFREG | 0o644) << 16
_NAME = re.compile(r"valid-ref-vectors-([0-9]+\.[0-9]+\.[0-9]+)/([A-Za-z0-9.-]+)")
_SUM = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9.-]+)\n")
_BROKEN = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError,
    struct.error,
)  # fmt: skip
"""What the zip reader says of bytes that are no zip, or one that it cannot read."""


@attrs.frozen
class Bundle:
    """The version of an archive, its files without the list of sums, and those with a false sum."""

    version: str
    files: Mapping[str, bytes]
    wrong: tuple[str, ...]


def _sums(files: Mapping[str, bytes]) -> str:
    """The list that `sha256sum -c` reads."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(lines)


def bundle(texts: Mapping[str, str], version: str) -> bytes:
    """The archive of these files, with the version and the list of sums.

    Implements: VE-11.
    """
    files = {name: text.encode() for name, text in texts.items()} | {
        VERSION: f"{version}\n".encode()
    }
    files |= {SUMS: _sums(files).encode()}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(f"valid-ref-vectors-{version}/{name}", _DATE)
            member.create_system, member.external_attr = _UNIX, _MODE
            archive.writestr(member, files[name])
    return made.getvalue()


def write_bundle(path: Path, content: bytes) -> str:
    """Write an archive; its SHA-256, which another project pins.

    Implements: VE-11.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise VectorError(f"cannot write {path}: {error.strerror}", clause="VE-11") from None
    return hashlib.sha256(content).hexdigest()


def read_archive(path: Path) -> bytes:
    """The bytes of a file that may be a bundle."""
    try:
        if path.stat().st_size > LARGEST:
            raise VectorError(f"{path}: larger than {LARGEST} bytes, no bundle", clause="VE-11")
        return path.read_bytes()
    except OSError as error:
        raise VectorError(f"cannot read {path}: {error.strerror}", clause="VE-11") from None


def read_bundle(content: bytes) -> Bundle:
    """Take an archive apart; what is no bundle is refused, a false sum is named.

    Implements: VE-11.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > len(content):
                raise VectorError("members that are compressed or overlap", clause="VE-11")
            found = [(member.filename, archive.read(member)) for member in members]
    except _BROKEN as error:
        raise VectorError(f"not a zip of stored files: {error}", clause="VE-11") from None
    return _sorted_out(found)


def _sorted_out(found: Sequence[tuple[str, bytes]]) -> Bundle:
    """The files of one version under their names, each once, against the list of sums."""
    names = [_NAME.fullmatch(name) for name, _content in found]
    parts = [name.groups() for name in names if name is not None]
    versions = {version for version, _name in parts}
    files = {name: content for (_v, name), (_n, content) in zip(parts, found, strict=False)}
    if not len(found) == len(parts) == len(files) or len(versions) != 1:
        raise VectorError("files other than those of one bundle", clause="VE-11")
    [version] = versions
    lines = files.pop(SUMS, b"").decode("utf-8", "replace").splitlines(keepends=True)
    listed = {match[2]: match[1] for match in map(_SUM.fullmatch, lines) if match}
    if len(listed) != len(lines) or listed.keys() != files.keys():
        raise VectorError(f"{SUMS} does not name every other file once", clause="VE-11")
    if files.get(VERSION) != f"{version}\n".encode():
        raise VectorError(f"{VERSION} is not {version}", clause="VE-11")
    wrong = (n for n in sorted(files) if hashlib.sha256(files[n]).hexdigest() != listed[n])
    return Bundle(version, files, tuple(wrong))


def bundle_differences(content: bytes, texts: Mapping[str, str], version: str) -> tuple[str, ...]:
    """Where an archive of this version is not what `bundle` makes; of another, its false sums.

    Implements: VE-11.
    """
    found = read_bundle(content)
    expected = bundle(texts, version)
    if found.wrong or found.version != version or content == expected:
        return found.wrong
    files = read_bundle(expected).files
    names = found.files.keys() | files.keys()
    differ = (name for name in sorted(names) if found.files.get(name) != files.get(name))
    return tuple(differ) or ("the form of the archive",)
