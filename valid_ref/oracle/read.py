"""Reading a recording: every byte is checked before it is used."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from valid_ref.document import DocumentError, read_json, structure
from valid_ref.graph import AgentGraph
from valid_ref.lattice import WORD_LIMIT, within
from valid_ref.machine import Edge, Message, Round
from valid_ref.oracle.files import START, Member, ReadingLimits, RecordingError, members
from valid_ref.oracle.flooded import FloodedRows
from valid_ref.oracle.header import Header, check_counts, layouts, parameters_of, start_layout
from valid_ref.oracle.log import AgentLine, EndLine, Line, RoundLine, check_line, line_text
from valid_ref.protocols.flood import SUM
from valid_ref.protocols.lean import Opening, OpeningError, check_openings
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import is_report
from valid_ref.protocols.measures import Fast, is_estimate
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.remembered import ESTIMATES, REPORTS, most_numbers
from valid_ref.protocols.valid import Valid
from valid_ref.wide import WideIntegers, content
from valid_ref.wire import (
    TABLES,
    Codec,
    InArrays,
    LearningRow,
    Spoken,
    TableValue,
    WireError,
)

Array = np.ndarray[Any, Any]
Intern = Callable[[str, TableValue], TableValue]
"""Interns the values of a form: equal ones become one object."""


def _is_sum(parameters: ValidParameters, value: TableValue) -> bool:
    return Fast(parameters).is_sum(value, parameters.graph.agents)


FORMS = {REPORTS: is_report, ESTIMATES: is_estimate, SUM: _is_sum}
"""Values that are looked at where they stand; rows of floods are when they are decoded."""


def no_interning(_form: str, value: TableValue) -> TableValue:
    """Every value stays its own object."""
    return value


class RowReader:
    """Reads rows of `reports`, `estimates` and `deviations`.

    Rows of a table with the same numbers are one object, so that equal values compare at once. No
    more numbers are remembered than an honest run has twice over; what is forgotten is read again.

    Implements: RE-4, RE-7, RE-15.
    """

    def __init__(
        self,
        parameters: ValidParameters,
        arrays: Mapping[str, Array],
        intern: Intern = no_interning,
    ) -> None:
        self._parameters, self._arrays, self._intern = parameters, arrays, intern
        self._flooded = None if parameters.lean is None else FloodedRows.of(parameters)
        self._by_row: dict[tuple[str, int], TableValue] = {}
        self._by_content: dict[tuple[str, tuple[int, ...] | bytes], TableValue] = {}
        self._keys: dict[int, int] = {}
        self._pairs: dict[int, LearningMessage] = {}
        self._held = 0
        self._before: Mapping[str, int] = dict.fromkeys(arrays, 0)
        self._after: Mapping[str, int] = {name: len(array) for name, array in arrays.items()}
        self._new: set[tuple[str, int]] = set()

    def begin_line(self, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        """A line begins, before which there are so many rows, and after it so many."""
        self._before, self._after, self._new = before, after, set()

    def end_line(self, place: str) -> None:
        """Refuse rows that the line adds and does not name.

        Implements: RE-4.
        """
        added = sum(self._after.values()) - sum(self._before.values())
        if len(self._new) != added:
            raise RecordingError(f"{place}: rows that no message names", clause="RE-4")

    def value(self, form: str, row: int) -> TableValue:
        """The value of this form in a row of `reports` or `estimates`."""
        self._name(TABLES[form], row)
        if (form, row) not in self._by_row:
            read = self._decoded(form, row)
            if (form, content(read)) not in self._by_content:
                self._remember(form, read, self._checked(form, row, read))
            self._by_row[form, row] = self._by_content[form, content(read)]
        return self._by_row[form, row]

    def key(self, key: int) -> int:
        """One object for equal keys, as long as there are no more than agents have twice over."""
        if len(self._keys) > 2 * self._parameters.graph.agents:
            self._keys = {}
        return self._keys.setdefault(key, key)

    def pair(self, row: int) -> LearningMessage:
        """A row of `deviations`: mapped, not copied."""
        self._name("deviations", row)
        if row not in self._pairs:
            self._pairs[row] = LearningMessage(*self._arrays["deviations"][row])
        return self._pairs[row]

    def _name(self, table: str, row: int) -> None:
        """A line names the rows that it adds, and none that are not there by then.

        Implements: RE-4.
        """
        if not 0 <= row < self._after[table]:
            raise RecordingError(f"{table}.npy: there is no row {row}", clause="RE-4")
        if row >= self._before[table]:
            self._new.add((table, row))

    def _decoded(self, form: str, row: int) -> TableValue:
        """A report or a flooded value as a tuple; a vector where it lies in the file."""
        table = TABLES[form]
        found = self._arrays[table][row]
        if table == ESTIMATES:
            return WideIntegers(found)
        if self._flooded is not None:
            return self._flooded.value(form, found, f"{table}.npy: row {row}")
        return tuple(found.tolist())

    def _checked(self, form: str, row: int, value: TableValue) -> TableValue:
        if form in FORMS and not FORMS[form](self._parameters, value):
            raise RecordingError(f"{TABLES[form]}.npy: row {row} is out of range", clause="RE-4")
        return self._intern(form, value)

    def _remember(self, form: str, read: TableValue, value: TableValue) -> None:
        self._held += len(value)
        if self._held > most_numbers(self._parameters):
            self._by_row, self._by_content, self._held = {}, {}, len(value)
        self._by_content[form, content(read)] = value


GROWING = ("reports", "estimates", "deviations")


@attrs.frozen(eq=False)
class Recording:
    """A recording that has been opened: header and arrays are checked, the log is read lazily.

    `finished` says whether the run was recorded to its end; `keys` has the key or the opening of
    every agent, and is empty where the file does not have them yet.

    Implements: RE-5, RE-7.
    """

    path: Path
    header: Header
    parameters: ValidParameters
    arrays: Mapping[str, Array]
    finished: bool
    end: EndLine | None
    log: Member
    limits: ReadingLimits
    genesis: Any
    codec: Codec = attrs.field(init=False, repr=False)
    keys: tuple[int | Opening, ...] = attrs.field(init=False, repr=False)

    @codec.default
    def _codec(self) -> Codec:
        return Codec(self.parameters)

    @keys.default
    def _keys(self) -> tuple[int | Opening, ...]:
        array = self.arrays["keys"]
        if self.parameters.lean is None:
            return tuple(array.tolist())
        rows = FloodedRows.of(self.parameters)
        return tuple(rows.opening(row, f"keys.npy: row {v}") for v, row in enumerate(array))

    @property
    def agents(self) -> tuple[AgentLine, ...] | None:
        """How every agent ended; None of a run that was cut off."""
        return None if self.end is None else self.end.agents

    @property
    def bytes(self) -> int:
        """The size of the arrays and of the log."""
        return self.log.size + sum(array.nbytes for array in self.arrays.values())

    def learned(self, spoken: Round) -> tuple[Array | None, Array | None, Array | None]:
        """Models and scaled gradients of a learning round as arrays, and the models before it."""
        if spoken.phase != LEARNING:
            return None, None, None
        models, t = self.arrays["models"], spoken.number
        return models[t - 1], self.arrays["gradients"][t - 1], models[t - 2] if t > 1 else None

    def rounds(self, intern: Intern = no_interning) -> Iterator[Round]:
        """The rounds in order, up to the last complete one; `intern` joins equal values.

        Implements: RE-4, RE-5, RE-6, RE-7.
        """
        machine = Valid(self.parameters)
        counts = dict.fromkeys(GROWING, 0)
        hasher = self.genesis.copy()
        rows = RowReader(self.parameters, self.arrays, intern)
        for number, (place, line) in enumerate(self._lines(), start=1):
            self._check_rows(counts, line, place)
            if isinstance(line, EndLine):
                self._verify(hasher, line, [self.arrays["outputs"]], place)
                if number != machine.rounds + 1 or line != self.end:
                    raise RecordingError(f"{place}: the end is line {number}", clause="RE-5")
                return
            if number > machine.rounds or (line.phase, line.round) != machine.place(number):
                raise RecordingError(
                    f"{place}: {line.phase[:40]!r} round {line.round} is not round {number} of the "
                    "run",
                    clause="RE-4",
                )
            if not self._complete(line):
                return
            self._verify(hasher, line, self._new(line, counts), place)
            before, counts = counts, attrs.asdict(line.rows)
            rows.begin_line(before, counts)
            spoken = self._round(line, rows, place)
            rows.end_line(place)
            yield spoken
        if self.finished:
            raise RecordingError("log.jsonl: the end is no longer there", clause="RE-5")

    def _check_rows(self, counts: Mapping[str, int], line: Line, place: str) -> None:
        for name in GROWING:
            rows = getattr(line.rows, name)
            if rows < counts[name] or (self.finished and rows > len(self.arrays[name])):
                raise RecordingError(f"{place}: {rows} rows of {name}", clause="RE-4")
            if isinstance(line, EndLine) and rows != len(self.arrays[name]):
                raise RecordingError(f"{place}: {rows} rows of {name}", clause="RE-5")

    def _complete(self, line: RoundLine) -> bool:
        """Whether the arrays of a run that was cut off hold all of a round.

        Implements: RE-5.
        """
        grown = all(getattr(line.rows, name) <= len(self.arrays[name]) for name in GROWING)
        learned = min(len(self.arrays["models"]), len(self.arrays["gradients"]))
        return grown and (line.phase != LEARNING or line.round <= learned)

    def _new(self, line: RoundLine, counts: Mapping[str, int]) -> list[Array]:
        """What a round added to the arrays, in the order in which it is hashed."""
        learned = line.phase == LEARNING
        t = line.round
        first = [self.arrays[name][t - 1] for name in ("models", "gradients")] if learned else []
        grown = [self.arrays[name][counts[name] : getattr(line.rows, name)] for name in GROWING]
        return first + grown

    def _verify(self, hasher: Any, line: Line, added: list[Array], place: str) -> None:
        """Compare the running checksum with that of the line.

        Implements: RE-6.
        """
        if not self.header.checksums:
            if line.sha256:
                raise RecordingError(f"{place}: a checksum that is not announced", clause="RE-6")
            return
        for array in added:
            hasher.update(np.ascontiguousarray(array).data)
        hasher.update(line_text(attrs.evolve(line, sha256="")).encode())
        if hasher.hexdigest() != line.sha256:
            raise RecordingError(f"{place}: the checksum does not fit", clause="RE-6")

    def _round(self, line: RoundLine, rows: RowReader, place: str) -> Round:
        n = self.parameters.graph.agents
        if len(line.said) != n:
            raise RecordingError(f"{place}: {len(line.said)} messages of {n} agents", clause="RE-4")
        said = {
            agent: self._message(line, agent, spoken, rows, f"{place}, agent {agent}")
            for agent, spoken in enumerate(line.said)
        }
        deviations: dict[Edge, Message] = {}
        for edge in line.deviations:
            sender, receiver = edge.sender, edge.receiver
            where = f"{place}, edge ({sender}, {receiver})"
            known = 0 <= sender < n and receiver in self.parameters.graph.neighbours(sender)
            if not known or (sender, receiver) in deviations:
                raise RecordingError(f"{where}: no such edge, or twice", clause="RE-4")
            deviations[sender, receiver] = self._decoded(line.phase, edge.message, rows, where)
        return Round(line.phase, line.round, said, deviations)

    def _message(
        self, line: RoundLine, agent: int, spoken: Spoken, rows: RowReader, place: str
    ) -> Message:
        if line.phase != LEARNING:
            return self._decoded(line.phase, spoken, rows, place)
        model = self.arrays["models"][line.round - 1, agent]
        gamma = self.arrays["gradients"][line.round - 1, agent]
        if isinstance(spoken, InArrays):
            return LearningMessage(model, gamma)
        if isinstance(spoken, LearningRow):
            raise RecordingError(f"{place}: words to all stand in the arrays", clause="RE-4")
        if model.any() or gamma.any():
            raise RecordingError(
                f"{place}: the arrays hold a message that was not said", clause="RE-4"
            )
        return self._decoded(line.phase, spoken, rows, place)

    def _decoded(self, phase: str, spoken: Spoken, rows: RowReader, place: str) -> Message:
        try:
            return self.codec.decode(phase, spoken, rows)
        except WireError as error:
            raise RecordingError(f"{place}: {error.message}", clause=error.clause) from None

    def _check_line(self, document: Any) -> None:
        graph = self.parameters.graph
        check_line(document, graph.agents, 2 * graph.edge_count)

    def _lines(self) -> Iterator[tuple[str, Line]]:
        """The complete lines; an incomplete last one belongs to a run that was cut off.

        Nothing may follow the first end, and this is known before that line is used.

        Implements: RE-5.
        """
        with self.log.path.open("rb") as file:
            file.seek(self.log.begin)
            left, number = self.log.size, 0
            while left > 0:
                number += 1
                place = f"log.jsonl line {number}"
                raw = file.readline(min(left, self.limits.line_bytes + 1))
                left -= len(raw)
                if len(raw) > self.limits.line_bytes:
                    raise RecordingError(f"{place}: longer than the limit", clause="RE-7")
                if not raw.endswith(b"\n"):
                    return
                line = read_document(Line, raw, place, self._check_line)
                if isinstance(line, EndLine) and left:
                    raise RecordingError(
                        f"{place}: {left} bytes follow the first end", clause="RE-5"
                    )
                yield place, line


def read_document(
    kind: Any, raw: bytes, place: str, check: Callable[[Any], None] | None = None
) -> Any:
    """A document of this kind from untrusted bytes; `check` sees the JSON before it is read.

    Implements: RE-7, RE-16.
    """
    try:
        document = read_json(raw.decode("utf-8"))
        if check is not None:
            check(document)
        return structure(kind, document)
    except (DocumentError, RecordingError) as error:
        clause = error.clause if error.clause.startswith(("RE-", "MO-")) else "RE-7"
        raise RecordingError(f"{place}: {error.message}", clause=clause) from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:  # digits beyond the limit
        raise RecordingError(f"{place}: {error}", clause="RE-7") from None


def open_recording(path: Path, limits: ReadingLimits | None = None) -> Recording:
    """Open a directory or a zip; header, arrays and end are checked, the log when it is read.

    Implements: RE-1, RE-2, RE-3, RE-5, RE-7.
    """
    limits = ReadingLimits() if limits is None else limits
    found = members(path)
    header_file, log = found["header.json"], found["log.jsonl"]
    if header_file.size > limits.header_bytes:
        raise RecordingError("header.json: longer than the limit", clause="RE-7")
    raw = header_file.read(0, header_file.size)
    header: Header = read_document(
        Header, raw, "header.json", lambda document: check_counts(document, limits.agents)
    )
    start = _start(found, header)
    parameters = parameters_of(header, "header.json", start)
    end = _end(log, limits, parameters.graph)
    shapes = layouts(parameters)
    arrays: dict[str, Array] = {}
    for name, layout in shapes.items():
        member = found.get(f"{name}.npy")
        if member is not None and (end is not None or member.size > 0):
            arrays[name] = member.array(layout, finished=end is not None)
        elif end is None:
            arrays[name] = np.zeros((0, *layout.row), dtype=layout.dtype)
        else:
            raise RecordingError(f"{path}: there is no {name}.npy", clause="RE-1")
    if header.lean is None and (arrays["keys"] >= np.uint64(header.prime)).any():
        raise RecordingError(f"keys.npy: a key is not below p = {header.prime}", clause="RE-3")
    if end is not None and len(end.agents) != header.agents:
        raise RecordingError(f"log.jsonl: the end names {len(end.agents)} agents", clause="RE-5")
    genesis = hashlib.sha256(raw)
    for array in ([] if start is None else [start]) + [arrays["keys"]]:
        genesis.update(array.data)
    opened = Recording(
        path=path,
        header=header,
        parameters=parameters,
        arrays=arrays,
        finished=end is not None,
        end=end,
        log=log,
        limits=limits,
        genesis=genesis,
    )
    _check_openings(opened)
    return opened


def _check_openings(recording: Recording) -> None:
    """Refuse openings out of range, and two agents with one nonce that are not Byzantine.

    Implements: RE-3, LE-4.
    """
    byzantine = recording.header.byzantine or ()
    keys = [key for v, key in enumerate(recording.keys) if v not in byzantine]
    try:
        check_openings(key for key in keys if isinstance(key, Opening))
    except OpeningError as error:
        raise RecordingError(f"keys.npy: {error.message}", clause=error.clause) from None


def _start(found: Mapping[str, Member], header: Header) -> Array | None:
    """x_0 from its file; there is one exactly where the header has none.

    Implements: RE-2, RE-3, RE-7.
    """
    if (START in found) == (header.start_model is not None):
        raise RecordingError(f"header.json: x_0 stands here or in {START}", clause="RE-2")
    if header.start_model is not None:
        return None
    start = found[START].array(start_layout(header.dimension), finished=True)
    if not within(start, WORD_LIMIT):
        raise RecordingError(f"{START}: an entry is not below 2^62", clause="RE-2")
    return start


def _end(log: Member, limits: ReadingLimits, graph: AgentGraph) -> EndLine | None:
    """The last line, if it is complete and an end.

    Implements: RE-5.
    """
    tail = log.read(max(0, log.size - limits.line_bytes - 1), limits.line_bytes + 1)
    if not tail.endswith(b"\n"):
        return None
    last = tail[tail.rfind(b"\n", 0, -1) + 1 :]
    if len(last) > limits.line_bytes:
        raise RecordingError("log.jsonl: the last line is longer than the limit", clause="RE-7")
    line = read_document(
        Line,
        last,
        "log.jsonl, last line",
        lambda document: check_line(document, graph.agents, 2 * graph.edge_count),
    )
    return line if isinstance(line, EndLine) else None
