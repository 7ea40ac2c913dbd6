"""Writing a recording while it happens, and packing it into one file."""

import hashlib
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref._version import __version__
from valid_ref.execution import Execution
from valid_ref.lattice import IntVector
from valid_ref.machine import Edge, Message, Round
from valid_ref.oracle.files import KNOWN, LOCAL_HEADER, START, RecordingError, npy_header
from valid_ref.oracle.header import (
    Header,
    Losses,
    header_of,
    header_text,
    in_array,
    layouts,
    parameters_of,
    start_layout,
)
from valid_ref.oracle.log import AgentLine, EdgeLine, EndLine, Line, RoundLine, Rows, line_text
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.runs import Run
from valid_ref.scenario.build import Prepared
from valid_ref.scenario.scenario import Scenario
from valid_ref.wide import WideIntegers
from valid_ref.wire import Codec, InArrays, Spoken, TableValue, alarm_line, is_learning

GROWING = ("reports", "estimates", "deviations")
ALIGNMENT = 64


class RecordingWriter:
    """Appends rounds to a directory; whatever was appended can be read if the run is cut off.

    A trainer that has whole rounds as arrays appends them by `append_learning`, then runs
    `valid_ref.execution.validate` on its transcripts and ends with `append_rest`.

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
        self._checksums = header.checksums
        self._hash = hashlib.sha256(text)
        self._files: dict[str, IO[bytes]] = {}
        if in_array(header):
            self._write_start(directory / START)
        for name, layout in self._layouts.items():
            self._files[name] = (directory / f"{name}.npy").open("wb")
            self._files[name].write(npy_header(layout, layout.rows or 0))
        self._log = (directory / "log.jsonl").open("wb")
        self._rows = dict.fromkeys(GROWING, 0)
        self._values: dict[tuple[str, TableValue], int] = {}
        self._objects: dict[tuple[str, int], int] = {}
        self._written: set[tuple[str, int]] = set()
        self._learned = 0
        self._put("keys", np.array(keys, dtype="<u8"))

    def _write_start(self, path: Path) -> None:
        start = np.ascontiguousarray(self._parameters.start_model, dtype="<i8")
        path.write_bytes(npy_header(start_layout(start.size), start.size) + start.tobytes())
        self._hash.update(start.data)

    def _put(self, name: str, array: npt.NDArray[Any]) -> None:
        data = np.ascontiguousarray(array, dtype=self._layouts[name].dtype).data
        self._files[name].write(data)
        if self._checksums:
            self._hash.update(data)

    def known(self, table: str, value: object) -> int | None:
        """The row of this very object, if it was put before."""
        # Sound: `_values` keeps every object whose id is known here, so that no id is used again.
        return self._objects.get((table, id(value)))

    def put(self, table: str, value: TableValue | LearningMessage) -> int:
        """Put a value into a growing array; in which row it stands. Equal ones stand once."""
        if isinstance(value, LearningMessage):
            self._put(table, np.stack([value.model, value.scaled_gradient]))
        else:
            if (table, value) in self._values:
                return self._values[table, value]
            self._values[table, value] = self._rows[table]
            self._objects[table, id(value)] = self._rows[table]
            if table == "estimates":
                wide = value if isinstance(value, WideIntegers) else WideIntegers.of(value)
                self._put(table, wide.in_limbs(self._layouts[table].row[1]))
            else:
                self._put(table, np.array(value, dtype="<u8"))
        self._rows[table] += 1
        return self._rows[table] - 1

    def append(self, spoken: Round) -> None:
        """One round, as the network records it.

        Implements: RE-4.
        """
        agents = range(self._parameters.graph.agents)
        if spoken.phase != LEARNING:
            said = [self._codec.encode(spoken.phase, spoken.said[v], self) for v in agents]
            self._end_round(spoken.phase, spoken.number, said, spoken.deviations)
            return
        d = self._parameters.lattice.dimension
        models, gradients = np.zeros((2, len(agents), d), dtype=np.int64)
        others: dict[int, Message] = {}
        for agent in agents:
            message = spoken.said[agent]
            if isinstance(message, LearningMessage) and is_learning(message, d):
                models[agent], gradients[agent] = message.model, message.scaled_gradient
            else:
                others[agent] = message
        self._append_arrays(spoken.number, models, gradients, spoken.deviations, others)

    def append_learning(
        self,
        models: IntVector,
        gradients: IntVector,
        deviations: Mapping[Edge, Message] | None = None,
        others: Mapping[int, Message] | None = None,
    ) -> None:
        """The next learning round from arrays int64 [n, d]: row v is what v says to all.

        `deviations` are the messages on single directed edges that are others; `others` what
        agents said to all that is no such row (None: silence), their rows are then zero.

        Implements: RE-3, RE-4.
        """
        shape = (self._parameters.graph.agents, self._parameters.lattice.dimension)
        others = {} if others is None else others
        if any(is_learning(message, shape[1]) for message in others.values()):
            raise RecordingError("words to all stand in the arrays", clause="RE-4")
        for name, array in (("models", models), ("gradients", gradients)):
            if array.dtype != np.int64 or array.shape != shape:
                raise RecordingError(
                    f"{name} are {array.dtype} of shape {array.shape}, not int64 of {shape}",
                    clause="RE-3",
                )
            if any(array[agent].any() for agent in others):
                raise RecordingError(f"{name} of an agent that said no such thing", clause="RE-3")
        self._append_arrays(self._learned + 1, models, gradients, deviations or {}, others)

    def _append_arrays(
        self,
        number: int,
        models: IntVector,
        gradients: IntVector,
        deviations: Mapping[Edge, Message],
        others: Mapping[int, Message],
    ) -> None:
        self._put("models", models)
        self._put("gradients", gradients)
        self._learned += 1
        said = [
            self._codec.encode(LEARNING, others[agent], self) if agent in others else InArrays()
            for agent in range(self._parameters.graph.agents)
        ]
        self._end_round(LEARNING, number, said, deviations)

    def _end_round(
        self, phase: str, number: int, said: list[Spoken], deviations: Mapping[Edge, Message]
    ) -> None:
        edges = tuple(
            EdgeLine(*edge, self._codec.encode(phase, message, self))
            for edge, message in sorted(deviations.items())
        )
        self._written.add((phase, number))
        self._end_line(RoundLine(phase, number, tuple(said), edges, Rows(**self._rows)))

    def append_rest(self, execution: Execution) -> None:
        """The rounds of an execution that are not written yet, and how everybody ended.

        Implements: RE-4, RE-5.
        """
        for spoken in execution.rounds:
            if (spoken.phase, spoken.number) not in self._written:
                self.append(spoken)
        agents = range(self._parameters.graph.agents)
        memories = [execution.states[agent].memory for agent in agents]
        ends = [AgentLine(not m.invalid, tuple(map(alarm_line, m.alarms))) for m in memories]
        self.finish(ends, {agent: execution.output(agent) for agent in agents})

    def finish(self, agents: Sequence[AgentLine], outputs: Mapping[int, IntVector | None]) -> None:
        """How everybody ended.

        Implements: RE-5.
        """
        zero = np.zeros(self._parameters.lattice.dimension, dtype="<i8")
        for agent in range(self._parameters.graph.agents):
            output = outputs[agent]
            self._put("outputs", zero if output is None else output)
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
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def write_recording(
    path: Path,
    execution: Execution,
    producer: str,
    *,
    losses: Losses | None = None,
    byzantine_known: bool = True,
    checksums: bool = True,
    flood_held: Collection[int] = (),
) -> None:
    """Record an execution: into a zip if the name ends so, else into a directory.

    Implements: RE-1.
    """
    known = execution.byzantine if byzantine_known else None
    header = header_of(
        execution.parameters, producer, known, losses, checksums=checksums, flood_held=flood_held
    )
    keys = [execution.states[agent].memory.private.own_key for agent in range(header.agents)]
    with recorder(path, header, keys) as writer:
        writer.append_rest(execution)


@contextmanager
def recorder(path: Path, header: Header, keys: Sequence[int]) -> Iterator[RecordingWriter]:
    """A writer into a directory, or, if the name ends so, into a zip when all is written.

    Implements: RE-1.
    """
    if path.suffix != ".zip":
        with RecordingWriter(path, header, keys) as writer:
            yield writer
        return
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".recording-") as name:
        with RecordingWriter(Path(name) / "run", header, keys) as writer:
            yield writer
        pack(Path(name) / "run", Path(name) / "run.zip")
        (Path(name) / "run.zip").replace(path)


def pack(directory: Path, target: Path) -> None:
    """Put a recording into one zip, nothing compressed, arrays on multiples of 64 bytes.

    Implements: RE-1.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in KNOWN:
            source = directory / name
            if not source.exists():
                continue
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            begin = archive.start_dir + LOCAL_HEADER.size + len(name) + 20 + 4
            padding = -begin % ALIGNMENT
            info.extra = struct.pack("<HH", 0xD935, padding) + bytes(padding)
            with source.open("rb") as file, archive.open(info, "w", force_zip64=True) as member:
                shutil.copyfileobj(file, member, 1 << 20)


PRODUCER = f"valid-ref {__version__}"
"""What recordings of the reference say of their producer."""


def losses_of(scenario: Scenario, prepared: Prepared) -> Losses:
    """The losses and tolerances of a scenario, as a header has them.

    Implements: RE-2.
    """
    return Losses(
        loss=scenario.loss,
        seed=scenario.data_seed,
        batch=scenario.batch,
        delta=prepared.delta,
        eps_success=prepared.eps_success,
        coins=scenario.coins,
    )


def recording_digest(finished: Run) -> str:
    """The SHA-256 of the recording of a run as one zip: equal runs have equal digests.

    Implements: VA-8.
    """
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.zip"
        record_run(finished, path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def record_run(
    finished: Run, path: Path, *, byzantine_known: bool = True, checksums: bool = True
) -> None:
    """Write a finished run, with its losses, to a directory or a zip.

    Implements: RE-1, RE-12.
    """
    write_recording(
        path,
        finished.execution,
        PRODUCER,
        losses=losses_of(finished.scenario, finished.prepared),
        byzantine_known=byzantine_known,
        checksums=checksums,
    )
