"""Recordings made from arbitrary bytes, for fuzzers: most bytes give one that is almost right.

The first byte chooses a small recording, the second what is done to it: raw bytes in place of one
file or of the whole zip, edits of a zip, or a list of structural changes to its documents, lines,
NPY headers and arrays. Whatever comes out, the reader must answer or refuse, soon and in little
memory.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests import support
from valid_ref.graph import AgentGraph
from valid_ref.oracle import RecordingError, check, diff, open_recording, pack, write_recording
from valid_ref.oracle.files import KNOWN
from valid_ref.protocols.parameters import Bounds

PAIR = AgentGraph.from_edges(2, [(0, 1)])
RING = AgentGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)])
BASES = ("pair", "ring", "start", "sums")

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 1 << 31, (1 << 61) - 1, 1 << 62, 1 << 63, 1 << 64,
    -(1 << 63), 10**30, 10**400, 1.5, 1e308, "", "x", "P07", "own", "LearnModel",
    "GlobalValidate", "array", "entries", "end", [], {}, [[0, 1]], [0, 0], {"kind": "array"},
    {"kind": "flag", "value": True}, {"kind": "learning", "row": 0},
    {"kind": "other", "text": "\ud800"},
)  # fmt: skip

NPY = (
    "{'descr': '<i8', 'fortran_order': False, 'shape': (%d, %d, %d), }",
    "{'descr': '<u8', 'fortran_order': False, 'shape': (%d, %d, %d), }",
    "{'descr': '<i8', 'fortran_order': True, 'shape': (%d, %d, %d), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (%d, %d, %d), }",
    "{'descr': '<u8', 'fortran_order': False, 'shape': (%d%d%d,), }",
)
SIGNATURES = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")
FIELDS = (0, 1, 2, 8, 9, 0x800, 20, 45, 99, 255, 4096, 65535, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
          1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -22)  # fmt: skip
SIZES = (0, 1, 2, 3, 8, 12, 255, 1 << 31, 1 << 40, 10**17)


def write_bases(home: Path) -> None:
    """Small recordings: honest, attacked, x_0 in a file, with checksums; each also as a zip."""
    loose = Bounds((support.LOOSE,) * 2, (support.LOOSE,) * 2)
    honest = support.run(support.network(PAIR, d=1, T=2, bounds=loose))
    lie = support.both(
        support.edited("LearnModel", support.shifted(model=1), rounds=[1], edges=[(0, 2)]),
        support.edited("LearnModel", support.silence, rounds=[2], edges=[(0, 1)]),
        support.edited("GlobalValidate", lambda _m: 7, rounds=[2]),
    )
    wide = support.network(RING, d=2, T=2, weightings=(support.weighting((10**30, 1)),))
    attacked = support.run(wide, lie, byzantine=[0])
    write_recording(home / "pair", honest, "test", checksums=False)
    write_recording(home / "ring", attacked, "test", checksums=False)
    write_recording(home / "sums", attacked, "test", checksums=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("valid_ref.oracle.header.LONGEST_START", 0)
        write_recording(home / "start", honest, "test", checksums=False)
    for name in BASES:
        pack(home / name, home / f"{name}.zip")


@attrs.define
class Source:
    """Numbers from bytes, zeros when they are used up."""

    data: bytes
    place: int = 0

    def rest(self) -> bytes:
        self.place, begin = len(self.data), self.place
        return self.data[begin:]

    def number(self, size: int) -> int:
        """A number below `size`, from one byte or from two."""
        length = 1 if size <= 256 else 2
        taken = self.data[self.place : self.place + length]
        self.place += length
        return int.from_bytes(taken, "little") % max(1, size)

    def left(self) -> bool:
        return self.place < len(self.data)


def build(data: bytes, home: Path, target: Path) -> Path:
    """The recording that these bytes stand for, in a directory that is emptied before."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    source = Source(data)
    base, form = home / BASES[source.number(len(BASES))], source.number(5)
    if form == 0:
        (target / "run.zip").write_bytes(source.rest())
        return target / "run.zip"
    if form in {1, 4}:
        raw = bytearray(base.with_suffix(".zip").read_bytes())
        while source.left():
            (_edit_bytes if form == 1 else _edit_record)(source, raw)
        (target / "run.zip").write_bytes(raw)
        return target / "run.zip"
    run = target / "run"
    run.mkdir()
    files = {file.name: file.read_bytes() for file in base.iterdir()}
    if form == 2:
        files[KNOWN[source.number(len(KNOWN))]] = source.rest()
    while source.left():
        OPERATIONS[source.number(len(OPERATIONS))](source, files)
    for name, raw in files.items():
        (run / name).write_bytes(raw)
    return run


def _edit_bytes(source: Source, raw: bytearray) -> None:
    begin, kind = source.number(len(raw) + 1), source.number(4)
    length, byte = source.number(9), source.number(256)
    if kind == 0:
        raw[begin : begin + 1] = bytes([byte])
    elif kind == 1:
        raw[begin : begin + length] = bytes([byte]) * length
    elif kind == 2:
        del raw[begin : begin + length * length]
    else:
        raw[begin:begin] = bytes([byte]) * length


def _edit_record(source: Source, raw: bytearray) -> None:
    """Another number in a field of a zip: local header, directory entry, or one of its ends."""
    signature = SIGNATURES[source.number(len(SIGNATURES))]
    places = [match.start() for match in re.finditer(re.escape(signature), raw)]
    if places:
        begin = places[source.number(len(places))] + 4 + 2 * source.number(26)
        width, value = (2, 4, 8)[source.number(3)], FIELDS[source.number(len(FIELDS))]
        raw[begin : begin + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")


def _edit_file(source: Source, files: dict[str, bytes]) -> None:
    name = KNOWN[source.number(len(KNOWN))]
    raw = bytearray(files.get(name, b""))
    _edit_bytes(source, raw)
    files[name] = bytes(raw)


def _edit_header(source: Source, files: dict[str, bytes]) -> None:
    files["header.json"] = _edited(source, files["header.json"])


def _edit_line(source: Source, files: dict[str, bytes]) -> None:
    lines = files["log.jsonl"].splitlines(keepends=True)
    if lines:
        number = source.number(len(lines))
        lines[number] = _edited(source, lines[number]) + b"\n"
    files["log.jsonl"] = b"".join(lines)


def _edit_log(source: Source, files: dict[str, bytes]) -> None:
    lines = files["log.jsonl"].splitlines(keepends=True) or [b"\n"]
    one, other, kind = source.number(len(lines)), source.number(len(lines)), source.number(3)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(one, lines[other])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    files["log.jsonl"] = b"".join(lines)


def _edit_shape(source: Source, files: dict[str, bytes]) -> None:
    name = KNOWN[2 + source.number(len(KNOWN) - 2)]
    shape = tuple(SIZES[source.number(len(SIZES))] for _ in range(3))
    text = (NPY[source.number(len(NPY))] % shape).encode()
    text = text.ljust(source.number(2) * 100 + len(text)) + b"\n"
    data = files.get(name, b"")[192:]
    files[name] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def _drop(source: Source, files: dict[str, bytes]) -> None:
    name = KNOWN[source.number(len(KNOWN))]
    if name not in {"header.json", "log.jsonl"}:
        files.pop(name, None)


OPERATIONS: tuple[Callable[[Source, dict[str, bytes]], None], ...] = (
    _edit_header, _edit_line, _edit_line, _edit_log, _edit_shape, _edit_file, _drop,
)  # fmt: skip


def _edited(source: Source, raw: bytes) -> bytes:
    """A JSON document with one value, found by walking down, replaced, removed or doubled."""
    try:
        document = json.loads(raw)
    except ValueError:
        return raw
    parent, key = None, None
    while isinstance(document if parent is None else parent[key], dict | list):
        child = document if parent is None else parent[key]
        keys = [*child] if isinstance(child, dict) else [*range(len(child))]
        if not keys or (parent is not None and source.number(4) == 0):
            break
        parent, key = child, keys[source.number(len(keys))]
    if parent is not None:
        _change(source, parent, key)
    return json.dumps(document).encode()


def _change(source: Source, parent: Any, key: Any) -> None:
    kind = source.number(4)
    if kind == 0 or (kind == 1 and not isinstance(parent[key], int)):
        parent[key] = VALUES[source.number(len(VALUES))]
    elif kind == 1:
        parent[key] += source.number(256) - 128
    elif kind == 2:
        del parent[key]
    elif isinstance(parent, list):
        parent += [parent[key]] * source.number(256)
    else:
        parent[f"{key}2"] = parent[key]


def judged(path: Path) -> str | None:
    """The verdict, None for a refusal; anything else that is raised is a fault of the reader."""
    try:
        opened = open_recording(path)
        verdict = check(opened).status.value
        diff(opened, opened)
    except RecordingError as error:
        str(error).encode()
        return None
    return verdict
