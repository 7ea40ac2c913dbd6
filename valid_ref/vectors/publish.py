"""The files of `spec/vectors/`: generated, written, compared."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from valid_ref.vectors import (
    admissible,
    agreements,
    bounds,
    broadcasts,
    global_checks,
    graphs,
    hashes,
    lattice,
    local_checks,
    parameters,
    runs_attacks,
    runs_errata,
    runs_honest,
    transcript_hashes,
)
from valid_ref.vectors.document import Case, Family, VectorError, text_of
from valid_ref.vectors.schema import schema_of

IDS = "ids.txt"
"""Every id ever published, with the digest of its meaning."""

_LINE = re.compile(r"[a-z0-9./-]+ [0-9a-f]{64}( retired)?")


def families() -> tuple[Family, ...]:
    """All families, generated anew."""
    return (
        graphs.family(),
        lattice.family(),
        parameters.family(),
        hashes.family(),
        transcript_hashes.family(),
        broadcasts.family(),
        agreements.family(),
        local_checks.family(),
        global_checks.family(),
        bounds.family(),
        admissible.family(),
        runs_honest.family(),
        runs_attacks.family(),
        runs_errata.family(),
    )


def generate(made: Sequence[Family], published: str = "") -> Mapping[str, str]:
    """File names and texts; ids that were published before keep their place and their meaning.

    Implements: VE-1, VE-6.
    """
    texts: dict[str, str] = {}
    for family in made:
        texts[f"{family.name}.json"] = text_of(family.as_json())
        texts[f"{family.name}.schema.json"] = text_of(schema_of(family))
    texts[IDS] = _ids(published, [case for family in made for case in family.cases])
    return texts


def summary(made: Sequence[Family]) -> str:
    """The families with their cases, one in a line."""
    lines = []
    for family in made:
        negative = sum(case.refused is not None for case in family.cases)
        lines.append(
            f"{family.name:18} {len(family.cases):4} cases, {negative:2} refused  {family.about}"
        )
    return "\n".join(lines)


def _ids(published: str, cases: list[Case]) -> str:
    """The list of ids: the old lines as they are, then the new ones.

    A line is an id, the digest of its meaning, and `retired` if the case was withdrawn.

    Implements: VE-5.
    """
    digests = {case.id: case.digest() for case in cases}
    if len(digests) < len(cases):
        names = [case.id for case in cases]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise VectorError(f"ids that stand twice: {', '.join(twice)}", clause="VE-5")
    lines = published.splitlines()
    known = set()
    for line in lines:
        if not _LINE.fullmatch(line):
            raise VectorError(f"{IDS}: not an id and its digest: {line[:80]!r}", clause="VE-5")
        identifier, digest, *retired = line.split(" ")
        known.add(identifier)
        if retired:
            if identifier in digests:
                raise VectorError(f"{identifier} was retired and is back", clause="VE-5")
        elif digests.get(identifier) != digest:
            what = "has another meaning" if identifier in digests else "has disappeared"
            raise VectorError(
                f"{identifier} {what}: give the new case a new id, and retire this one",
                clause="VE-5",
            )
    lines += [f"{name} {digest}" for name, digest in digests.items() if name not in known]
    return "\n".join(lines) + "\n"


def write(directory: Path, made: Sequence[Family]) -> tuple[str, ...]:
    """Write all files; the names of those that changed. Ids already there are kept.

    Implements: VE-6.
    """
    changed = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in generate(made, published(directory)).items():
            path = directory / name
            if not path.exists() or path.read_bytes() != text.encode():
                path.write_bytes(text.encode())
                changed.append(name)
    except OSError as error:
        raise VectorError(f"cannot write to {directory}: {error.strerror}", clause="VE-6") from None
    return tuple(changed)


def differences(directory: Path, made: Sequence[Family]) -> tuple[str, ...]:
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
