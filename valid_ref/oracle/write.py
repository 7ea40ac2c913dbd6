"""Writing a recording while it happens, and packing it into one file."""

import hashlib
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import attrs
import numpy as np

from valid_ref.execution import Execution
from valid_ref.lattice import IntVector
from valid_ref.machine import Round
from valid_ref.oracle.errors import RecordingError
from valid_ref.oracle.header import Header, Losses, header_of, header_text, layouts, parameters_of
from valid_ref.oracle.log import (
    AgentLine,
    EdgeLine,
    EndLine,
    InArrays,
    Line,
    RoundLine,
    Rows,
    Spoken,
    line_text,
)
from valid_ref.oracle.messages import Codec, Value, alarm_line
from valid_ref.oracle.npy import npy_header, to_limbs
from valid_ref.oracle.store import LOCAL_HEADER, NAMES
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage

GROWING = ("reports", "estimates", "deviations")
ALIGNMENT = 64


class RecordingWriter:
    """Appends rounds to a directory; whatever was appended can be read if the run is cut off.

    Implements: RE-3, RE-4, RE-5, RE-6.
    """

    def __init__(self, directory: Path, header: Header, keys: Sequence[int]) -> None:
        self._parameters = parameters_of(header, "header.json")
        self._codec = Codec(self._parameters)
        self._layouts = layouts(self._parameters)
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise RecordingError(f"{directory} is not empty", clause="RE-1")
        text = header_text(header).encode()
        (directory / "header.json").write_bytes(text)
        self._files: dict[str, IO[bytes]] = {}
        for name, layout in self._layouts.items():
            self._files[name] = (directory / f"{name}.npy").open("wb")
            self._files[name].write(npy_header(layout, layout.rows or 0))
        self._log = (directory / "log.jsonl").open("wb")
        self._rows = dict.fromkeys(GROWING, 0)
        self._known: dict[tuple[str, Value], int] = {}
        self._checksums = header.checksums
        self._hash = hashlib.sha256(text)
        self._put("keys", np.array(keys, dtype="<u8").tobytes())

    def _put(self, name: str, raw: bytes) -> None:
        self._files[name].write(raw)
        if self._checksums:
            self._hash.update(raw)

    def _store(self, table: str, value: Value | LearningMessage) -> int:
        if isinstance(value, LearningMessage):
            raw = (
                value.model.astype("<i8").tobytes() + value.scaled_gradient.astype("<i8").tobytes()
            )
        else:
            if (table, value) in self._known:
                return self._known[table, value]
            self._known[table, value] = self._rows[table]
            if table == "estimates":
                raw = to_limbs(value, self._layouts[table].row[1])
            else:
                raw = np.array(value, dtype="<u8").tobytes()
        self._put(table, raw)
        self._rows[table] += 1
        return self._rows[table] - 1

    def append(self, spoken: Round) -> None:
        """One round, as the network records it.

        Implements: RE-4.
        """
        phase, agents = spoken.phase, range(self._parameters.graph.agents)
        said: list[Spoken] = []
        if phase == LEARNING:
            messages = [spoken.said[agent] for agent in agents]
            fit = [self._codec.is_learning(message) for message in messages]
            self._put("models", self._stack(messages, "model"))
            self._put("gradients", self._stack(messages, "scaled_gradient"))
        for agent in agents:
            if phase == LEARNING and fit[agent]:
                said.append(InArrays())
            else:
                said.append(self._codec.encode(phase, spoken.said[agent], self._store))
        deviations = tuple(
            EdgeLine(*edge, self._codec.encode(phase, message, self._store))
            for edge, message in sorted(spoken.deviations.items())
        )
        self._end_line(RoundLine(phase, spoken.number, tuple(said), deviations, Rows(**self._rows)))

    def _stack(self, messages: Sequence[object], field: str) -> bytes:
        zero = np.zeros(self._parameters.lattice.dimension, dtype="<i8")
        return b"".join(
            (getattr(m, field) if self._codec.is_learning(m) else zero).astype("<i8").tobytes()
            for m in messages
        )

    def finish(self, agents: Sequence[AgentLine], outputs: Mapping[int, IntVector | None]) -> None:
        """How everybody ended.

        Implements: RE-5.
        """
        zero = np.zeros(self._parameters.lattice.dimension, dtype="<i8")
        for agent in range(self._parameters.graph.agents):
            output = outputs[agent]
            self._put("outputs", (zero if output is None else output).astype("<i8").tobytes())
        for name in GROWING:
            self._files[name].seek(0)
            self._files[name].write(npy_header(self._layouts[name], self._rows[name]))
        self._end_line(EndLine(tuple(agents), Rows(**self._rows)))
        self.close()

    def _end_line(self, line: Line) -> None:
        if self._checksums:
            self._hash.update(line_text(line).encode())
            line = attrs.evolve(line, sha256=self._hash.hexdigest())
        for file in self._files.values():
            file.flush()
        self._log.write(line_text(line).encode() + b"\n")
        self._log.flush()

    def close(self) -> None:
        """Close the files; without `finish` the recording is one of a run that was cut off."""
        for file in (*self._files.values(), self._log):
            file.close()

    def __enter__(self) -> "RecordingWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()


def write_recording(
    path: Path,
    execution: Execution,
    producer: str,
    *,
    losses: Losses | None = None,
    byzantine_known: bool = True,
    checksums: bool = True,
) -> None:
    """Record an execution: into a zip if the name ends so, else into a directory.

    Implements: RE-1.
    """
    if path.suffix == ".zip":
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".recording-") as name:
            write_recording(
                Path(name) / "run", execution, producer,
                losses=losses, byzantine_known=byzantine_known, checksums=checksums,
            )  # fmt: skip
            pack(Path(name) / "run", Path(name) / "run.zip")
            (Path(name) / "run.zip").replace(path)
        return
    known = execution.byzantine if byzantine_known else None
    header = header_of(execution.parameters, producer, known, losses, checksums=checksums)
    states = [execution.states[agent] for agent in range(header.agents)]
    with RecordingWriter(path, header, [state.memory.private.key for state in states]) as writer:
        for spoken in execution.rounds:
            writer.append(spoken)
        ends = [
            AgentLine(not s.memory.invalid, tuple(alarm_line(r) for r in s.memory.alarms))
            for s in states
        ]
        writer.finish(ends, {agent: execution.output(agent) for agent in range(header.agents)})


def pack(directory: Path, target: Path) -> None:
    """Put a recording into one zip, nothing compressed, arrays on multiples of 64 bytes.

    Implements: RE-1.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in NAMES:
            source = directory / name
            if not source.exists():
                continue
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            begin = archive.start_dir + LOCAL_HEADER.size + len(name) + 20 + 4
            padding = -begin % ALIGNMENT
            info.extra = struct.pack("<HH", 0xD935, padding) + bytes(padding)
            with source.open("rb") as file, archive.open(info, "w", force_zip64=True) as member:
                shutil.copyfileobj(file, member, 1 << 20)
