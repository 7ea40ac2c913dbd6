"""The files of `spec/vectors/`, generated, written and compared, and the bundle of them all.

The bundle is an archive that another project pins: the same bytes on every machine. It is a zip of
files that are stored and not compressed, in the order of their names, all with one date and one
mode; beside the files it has the version and a list of SHA-256 sums.
"""

import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from valid_ref.vectors import (
    global_checks,
    guarantees,
    hashes,
    lattice,
    lean,
    local_checks,
    parameters,
    runs,
    runs_attacks,
    subprotocols,
)
from valid_ref.vectors.document import VectorCase, VectorError, VectorFamily, schema_of, text_of

IDS = "ids.txt"
"""Every id ever published, with the digest of its meaning."""

_LINE = re.compile(r"[a-z0-9./-]+ [0-9a-f]{64}( retired)?")
_NUMBER = re.compile(r"\.[0-9]+$")


def families() -> tuple[VectorFamily, ...]:
    """All families, generated anew."""
    return (
        parameters.graph_family(),
        lattice.family(),
        parameters.family(),
        hashes.family(),
        hashes.transcript_family(),
        subprotocols.broadcast_family(),
        subprotocols.agreement_family(),
        local_checks.family(),
        global_checks.family(),
        guarantees.bounds_family(),
        guarantees.admissible_family(),
        runs.honest_family(),
        runs_attacks.attack_family(),
        runs_attacks.errata_family(),
        lean.unit_family(),
        lean.run_lean_family(),
    )


def generate(
    made: Sequence[VectorFamily], published: str = "", *, renew: bool = False
) -> Mapping[str, str]:
    """File names and texts; ids that were published before keep their place and their meaning.

    With `renew` a case that means something else than before gets a new id.

    Implements: VE-1, VE-6.
    """
    texts: dict[str, str] = {}
    ids, listed = _ids(published, [case for each in made for case in each.cases], renew=renew)
    for family in made:
        cases = tuple(attrs.evolve(case, id=ids[case.id]) for case in family.cases)
        texts[f"{family.name}.json"] = text_of(attrs.evolve(family, cases=cases).as_json())
        texts[f"{family.name}.schema.json"] = text_of(schema_of(family))
    texts[IDS] = listed
    return texts


def summary(made: Sequence[VectorFamily]) -> str:
    """The families with their cases, one in a line."""
    lines = []
    for family in made:
        negative = sum(case.refused is not None for case in family.cases)
        lines.append(
            f"{family.name:18} {len(family.cases):4} cases, {negative:2} refused  {family.about}"
        )
    return "\n".join(lines)


@attrs.frozen
class _Line:
    """A line of the list: an id, the digest of its meaning, and whether the case was withdrawn."""

    id: str
    digest: str
    retired: bool = False

    @property
    def name(self) -> str:
        """The id without the number that tells it from earlier cases of this name."""
        return _NUMBER.sub("", self.id)

    def __str__(self) -> str:
        return f"{self.id} {self.digest}" + (" retired" if self.retired else "")


def _ids(published: str, cases: list[VectorCase], *, renew: bool) -> tuple[Mapping[str, str], str]:
    """The id of every case by its name, and the list: the old lines, then the new ones.

    A case that means something else than the one that was published under its name gets the name
    with the next number, and the old one is retired; without `renew` it is refused.

    Implements: VE-5.
    """
    digests = {case.id: case.digest() for case in cases}
    if len(digests) < len(cases):
        names = [case.id for case in cases]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise VectorError(f"ids that stand twice: {', '.join(twice)}", clause="VE-5")
    lines = _lines(published)
    known: dict[str, list[_Line]] = {}
    for line in lines:
        known.setdefault(line.name, []).append(line)
    kept = {line.id for line in lines if not line.retired and digests.get(line.name) == line.digest}
    if not renew:
        _refuse_changes(lines, kept, digests)
    ids, new = {}, []
    for name, digest in digests.items():
        earlier = known.get(name, [])
        found = next((line.id for line in earlier if line.id in kept), None)
        if found is None:
            found = f"{name}.{len(earlier) + 1}" if earlier else name
            new.append(_Line(found, digest))
        ids[name] = found
    lines = [attrs.evolve(line, retired=line.id not in kept) for line in lines] + new
    return ids, "".join(f"{line}\n" for line in lines)


def _lines(published: str) -> list[_Line]:
    """The list, taken apart."""
    found = []
    for line in published.splitlines():
        if not _LINE.fullmatch(line):
            raise VectorError(f"{IDS}: not an id and its digest: {line[:80]!r}", clause="VE-5")
        identifier, digest, *retired = line.split(" ")
        found.append(_Line(identifier, digest, bool(retired)))
    return found


def _refuse_changes(lines: list[_Line], kept: set[str], digests: Mapping[str, str]) -> None:
    """An id that would change its meaning, disappear or come back."""
    alive = {line.name for line in lines if not line.retired}
    for line in lines:
        if line.id in kept:
            continue
        if line.retired and (line.name not in digests or line.name in alive):
            continue
        if line.retired:
            raise VectorError(f"{line.id} was retired and is back", clause="VE-5")
        what = "has another meaning" if line.name in digests else "has disappeared"
        raise VectorError(
            f"{line.id} {what}: `--write --renew` retires it and gives the new case a new id",
            clause="VE-5",
        )


def write(directory: Path, made: Sequence[VectorFamily], *, renew: bool = False) -> tuple[str, ...]:
    """Write all files; the names of those that changed. Ids already there are kept or retired.

    Implements: VE-6.
    """
    changed = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in generate(made, published(directory), renew=renew).items():
            path = directory / name
            if not path.exists() or path.read_bytes() != text.encode():
                path.write_bytes(text.encode())
                changed.append(name)
    except OSError as error:
        raise VectorError(f"cannot write to {directory}: {error.strerror}", clause="VE-6") from None
    return tuple(changed)


def differences(directory: Path, made: Sequence[VectorFamily]) -> tuple[str, ...]:
    """The files that are not what the reference generates, or that do not belong there.

    Implements: VE-6.
    """
    texts = generate(made, published(directory))
    found = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    wrong = {
        name
        for name, text in texts.items()
        if name in found and (directory / name).read_bytes() != text.encode()
    }
    return tuple(sorted(wrong | (found ^ texts.keys())))


def published(directory: Path) -> str:
    """The list of ids that a directory has; empty if it has none."""
    path = directory / IDS
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


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
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OSError,
    struct.error,
)
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
