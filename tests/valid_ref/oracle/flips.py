"""Every single bit of a small recording flipped, one at a time, and what became of it.

python -m tests.valid_ref.oracle.flips     prints the table of docs/tables/recordings.md
"""

import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import support
from valid_ref.graph import AgentGraph
from valid_ref.oracle import RecordingError, check, open_recording, pack, write_recording
from valid_ref.oracle.files import KNOWN
from valid_ref.protocols.parameters import Bounds

HARMLESS = {
    "producer": "a name; it says nothing about the run",
    "losses": "only the outcome depends on it, which is evaluated beside the verdict",
    "fraction_bits": "f is the unit of a model; no integer of the protocol depends on it",
    "model_limit": "the run is as good under another limit that all its numbers keep",
    "gradient_limit": "the run is as good under another limit that all its numbers keep",
    "max_degree": "only the range rule reads it, and the run keeps that",
    "bounds": "the run is as good under other bounds that all its vectors keep",
    "weightings": "name, total, origin, and thresholds that the statistics still pass",
    "keys_checked": "nobody has an alarm under any key",
    "byzantine": "another set of judged agents, all of which conform",
}
"""Fields of the header of an honest run that may change while the recording still conforms."""

VARIANTS = ("checksums", "plain", "zip")
"""A directory with checksums, one without, and a zip without."""

CONTAINER = "zip structures"
"""Bytes of a zip outside its members: local headers, padding, directory."""


def write_originals(home: Path) -> None:
    """One honest run of two agents that fills every array, in all variants; x_0 in its file."""
    loose = Bounds((support.LOOSE,), (support.LOOSE,))
    graph = AgentGraph.from_edges(2, [(0, 1)])
    parameters = support.network(graph, d=1, T=1, start=(3,), bounds=loose)
    execution = support.run(parameters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("valid_ref.oracle.header.LONGEST_START", 0)
        for variant in VARIANTS[:2]:
            checksums = variant == "checksums"
            write_recording(home / variant, execution, "test", checksums=checksums)
    pack(home / "plain", home / "zip")


def conforms(path: Path) -> bool:
    try:
        return check(open_recording(path)).conforms
    except RecordingError:
        return False


def files(variant: str) -> tuple[str, ...]:
    return (*KNOWN, CONTAINER) if variant == "zip" else KNOWN


def places(home: Path, variant: str, name: str) -> tuple[Path, list[int]]:
    """The file that holds these bytes, relative to the recording, and where in it they are."""
    if variant != "zip":
        return Path(name), list(range((home / variant / name).stat().st_size))
    inside: dict[str, range] = {}
    with zipfile.ZipFile(home / "zip") as archive:
        raw = (home / "zip").read_bytes()
        for info in archive.infolist():
            begin = raw.index((home / "plain" / info.filename).read_bytes(), info.header_offset)
            inside[info.filename] = range(begin, begin + info.file_size)
    if name != CONTAINER:
        return Path(), list(inside[name])
    taken = {position for span in inside.values() for position in span}
    return Path(), [position for position in range(len(raw)) if position not in taken]


def flipped(home: Path, variant: str, name: str) -> Iterator[tuple[int, bool, Path]]:
    """Each bit, whether the recording conforms with it flipped, and the recording."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / variant
        if variant == "zip":
            shutil.copyfile(home / variant, copy)
        else:
            shutil.copytree(home / variant, copy)
        inner, positions = places(home, variant, name)
        raw = (copy / inner).read_bytes()
        for bit in (8 * position + b for position in positions for b in range(8)):
            changed = bytearray(raw)
            changed[bit // 8] ^= 1 << bit % 8
            (copy / inner).write_bytes(changed)
            yield bit, conforms(copy), copy


def changed_fields(home: Path, recording: Path) -> set[str]:
    """The fields of the header that are not those of the original."""
    before = json.loads((home / "plain" / "header.json").read_bytes())
    file = recording / "header.json"
    if recording.is_file():
        with zipfile.ZipFile(recording) as archive:
            info = archive.getinfo("header.json")
            with recording.open("rb") as opened:
                raw = opened.read()
            begin = raw.index(b"{\n", info.header_offset)
            after = json.loads(raw[begin : begin + info.file_size])
    else:
        after = json.loads(file.read_bytes())
    return {key for key in before if before[key] != after.get(key)}


def count(home: Path, variant: str, name: str) -> tuple[int, Counter[str]]:
    """How many bits there are, and how many of them went unnoticed, by what they changed."""
    total, unnoticed = 0, Counter[str]()
    for _bit, good, recording in flipped(home, variant, name):
        total += 1
        if good:
            fields = changed_fields(home, recording) if name == "header.json" else {name}
            unnoticed.update(fields)
    return total, unnoticed


def row(variant: str, name: str, total: int, unnoticed: Counter[str]) -> str:
    """One line of the table."""
    found = ", ".join(f"{field} {number}" for field, number in sorted(unnoticed.items()))
    return f"| {variant} | `{name}` | {total} | {sum(unnoticed.values())} | {found or '-'} |"


def table(text: str) -> set[str]:
    """The lines of the table in docs/tables/recordings.md."""
    return {line for line in text.splitlines() if re.match(r"\| (checksums|plain|zip) \|", line)}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        write_originals(Path(scratch))
        for variant in VARIANTS:
            for name in files(variant):
                line = row(variant, name, *count(Path(scratch), variant, name))
                sys.stdout.write(line + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
