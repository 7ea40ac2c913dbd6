"""Transcripts of a run, in memory or in files: every word once, read again after keys are drawn.

Of an honest agent only the models are stored, in 32 bits where all of a round fit: its scaled
gradients follow from them by the linear relation (AR-6), which its own code satisfies by
construction. What Byzantine agents say is stored in full, to all and on single edges.

    models.bin      per round the models of the honest agents, int32 or int64 [H, d]
    said.bin        rows int64 [2, d]: model and scaled gradient of Byzantine agents
    rounds.jsonl    per round: where its parts end, who said nothing, which rows are whose

Arrays are written first, then the line: a round counts when its line is complete. While there is
room in memory the arrays stay there, and are written only when a checkpoint is to be saved.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.attacks.attack import Edge
from torch_backend.delivery import Pair, Said, find_problems
from torch_backend.errors import BackendError
from torch_backend.kernels import compiled_loops, empty_tensor, in_threads, rows_of
from torch_backend.program import Program
from torch_backend.rules.gossip import ValidRule, mix
from torch_backend.rules.rule import Received
from valid_ref.alarms import Alarm
from valid_ref.document import DocumentError, read_json, structure, unstructure
from valid_ref.named_parts import name_of

MODELS, SAID, ROUNDS = "models.bin", "said.bin", "rounds.jsonl"
ARRAYS = (MODELS, SAID)
NARROW = np.dtype("<i4")
WIDE = np.dtype("<i8")

Held = Mapping[str, dict[int, npt.NDArray[Any]]]
"""Arrays in memory, by file and by where in the file they begin."""


class TranscriptError(BackendError):
    """Files that hold no transcripts of this run, or fewer rounds than are asked for."""

    default_clause: ClassVar[str] = "LM-5"


@attrs.frozen
class Line:
    """One round in `rounds.jsonl`: sizes of the files after it, and which row is whose.

    `said` has a row for each Byzantine agent that speaks to all; `edges` sender, receiver and row
    of what single edges carried instead, no row for silence.

    `bits` is how many the models of the round need, with the sign; up to 32 are stored in 32.
    """

    t: int
    bytes: int
    bits: int
    rows: int
    silent: tuple[int, ...]
    said: tuple[tuple[int, int], ...]
    edges: tuple[tuple[int, int, int | None], ...]

    def text(self) -> str:
        """The line without its end."""
        return json.dumps(unstructure(self), sort_keys=True, separators=(",", ":"))


def _lines(path: Path) -> list[Line]:
    """The complete lines."""
    try:
        text = path.read_text()
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from None
    complete = text[: text.rfind("\n") + 1].splitlines()
    try:
        return [structure(Line, read_json(line)) for line in complete]
    except DocumentError as error:
        raise TranscriptError(f"{path} is damaged: {error}") from None


def narrowed(models: Tensor, room: Tensor | None = None) -> tuple[Tensor, int]:
    """The same numbers in as few bytes as they need, and in how many bits with the sign.

    For every entry x the bits of x or, if it is negative, of -x-1 are looked at. Numbers of 32 bits
    are put into the room that is given, or into new memory.
    """
    loops = compiled_loops(models)
    short = torch.empty(models.shape, dtype=torch.int32) if room is None else room
    if loops is None:
        reach = int(torch.where(models < 0, ~models, models).max())
        short.copy_(models)
    else:
        both = models.numpy(), short.numpy()
        reach = max(
            in_threads(models.shape[1], lambda begin, end: int(loops.narrow(*both, begin, end)))
        )
    bits = reach.bit_length() + 1
    return (short if bits <= 32 else models), bits


class TranscriptWriter:
    """Keeps rounds: in memory while they fit into `memory` bytes, then in the files of a directory.

    Implements: LM-3.
    """

    def __init__(
        self, directory: Path, program: Program, memory: int = 0, lines: Sequence[Line] = ()
    ) -> None:
        if not isinstance(program.rule, ValidRule):
            raise TranscriptError(
                f"the rule {name_of(program.rule)} has no linear relation to validate; use valid"
            )
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._program, self._lines = directory, program, [*lines]
        self._files: dict[str, IO[bytes]] = {}
        for name in (*ARRAYS, ROUNDS):
            (directory / name).touch()
            self._files[name] = (directory / name).open("r+b")
            self._files[name].seek(0, os.SEEK_END)
        self._ends = {name: self._files[name].tell() for name in ARRAYS}
        self._written = len(self._lines)
        self._held: Held = {name: {} for name in ARRAYS}
        self._unwritten: set[tuple[str, int]] = set()
        size = 4 * len(program.honest) * program.lattice.dimension
        rounds = min(memory // size, program.rounds - len(self._lines))
        shape = rounds, len(program.honest), program.lattice.dimension
        self._room = empty_tensor(shape, torch.int32, torch.device("cpu"))
        self._left = memory

    def touch(self, rounds: int | None = None) -> None:
        """Write to the room of so many rounds, so that the system hands it out beforehand."""
        self._room[:rounds].zero_()

    def append(self, said: Said) -> None:
        """One round; it can be read from then on."""
        models = said.models
        if self._program.byzantine:
            models = rows_of(models, self._program.honest)
        models, pairs = self._on_host(models, said)
        used = len(self._held[MODELS])
        room = self._room[used] if used < len(self._room) else None
        stored, bits = narrowed(models.contiguous(), room)
        self._put(MODELS, stored.numpy().astype(NARROW if bits <= 32 else WIDE, copy=False))
        silent = {a for a, problem in said.problems.items() if problem is Alarm.MISSING_MESSAGE}
        rows = tuple(
            (b, self._store(next(pairs))) for b in self._program.byzantine if b not in silent
        )
        edges = tuple(
            (*edge, None if pair is None else self._store(next(pairs)))
            for edge, pair in sorted(said.edges.items())
        )
        line = Line(
            t=said.t,
            bytes=self._ends[MODELS],
            bits=bits,
            rows=self._ends[SAID] // self._width,
            silent=tuple(sorted(silent)),
            said=rows,
            edges=edges,
        )
        self._lines.append(line)
        if not self._unwritten:
            self._write_lines()

    @property
    def _width(self) -> int:
        """The bytes of a row of what Byzantine agents said."""
        return 16 * self._program.lattice.dimension

    def _on_host(self, models: Tensor, said: Said) -> tuple[Tensor, Iterator[Tensor]]:
        """The models, and what Byzantine agents said to all and on edges, [2, d] each.

        From a device all of it comes in one copy, so that the host waits once.
        """
        place = {agent: row for row, agent in enumerate(said.agents)}
        heard = [
            (said.models[b], said.gammas[place[b]])
            for b in self._program.byzantine
            if said.problems.get(b) is not Alarm.MISSING_MESSAGE
        ]
        heard += [pair for _edge, pair in sorted(said.edges.items()) if pair is not None]
        if models.device.type == "cpu":
            return models, map(torch.stack, heard)
        count, d = models.shape
        words = torch.cat([models, *(torch.stack(pair) for pair in heard)]).cpu()
        return words[:count], iter(words[count:].reshape(-1, 2, d))

    def _store(self, pair: Tensor) -> int:
        both = pair.numpy().astype(WIDE, copy=False)
        row = self._ends[SAID] // self._width
        self._put(SAID, both)
        return row

    def _put(self, name: str, array: npt.NDArray[Any]) -> None:
        """Add an array to the end of a file, or keep it, if it fits, until all is written."""
        begin = self._ends[name]
        self._ends[name] += array.nbytes
        if array.nbytes <= self._left:
            self._left -= array.nbytes
            self._held[name][begin] = array
            self._unwritten.add((name, begin))
        else:
            self._files[name].seek(begin)
            self._files[name].write(array.data)

    def _write_lines(self) -> None:
        for name in ARRAYS:
            self._files[name].flush()
        for line in self._lines[self._written :]:
            self._files[ROUNDS].write(line.text().encode() + b"\n")
        self._files[ROUNDS].flush()
        self._written = len(self._lines)

    def sync(self) -> None:
        """Bring everything to the disk; call it before a checkpoint is saved."""
        for name, begin in sorted(self._unwritten):
            self._files[name].seek(begin)
            self._files[name].write(self._held[name][begin].data)
        self._unwritten.clear()
        for name in ARRAYS:
            self._files[name].flush()
            os.fsync(self._files[name].fileno())
        self._write_lines()
        os.fsync(self._files[ROUNDS].fileno())

    def transcripts(self) -> "StoredTranscripts":
        """All rounds so far, wherever they are.

        Implements: LM-5.
        """
        for name in ARRAYS:
            self._files[name].flush()
        return StoredTranscripts(self._program, tuple(self._lines), self._directory, self._held)

    def close(self) -> None:
        """Close the files; what is in memory alone is not written."""
        for file in self._files.values():
            file.close()


def resume(directory: Path, program: Program, t: int, memory: int = 0) -> TranscriptWriter:
    """Go on after round t: whatever was written later is cut off.

    Implements: EX-11.
    """
    keep = _lines(directory / ROUNDS)[:t] if t else []
    if len(keep) < t:
        raise TranscriptError(
            f"{directory} holds {len(keep)} rounds of transcripts, the checkpoint is of round {t}; "
            "remove both to begin anew",
            clause="EX-11",
        )
    text = "".join(line.text() + "\n" for line in keep)
    sizes = {
        MODELS: keep[-1].bytes if t else 0,
        SAID: (keep[-1].rows if t else 0) * 16 * program.lattice.dimension,
        ROUNDS: len(text.encode()),
    }
    directory.mkdir(parents=True, exist_ok=True)
    for name, size in sizes.items():
        path = directory / name
        if size and (not path.exists() or path.stat().st_size < size):
            raise TranscriptError(f"{path} is shorter than {size} bytes: remove it to begin anew")
        with path.open("ab") as file:
            file.truncate(size)
    return TranscriptWriter(directory, program, memory, keep)


@attrs.frozen(eq=False)
class StoredTranscripts:
    """The transcripts of a run, read round by round as they are asked for.

    `held` has what is in memory, by file and by where in the file it begins.
    """

    program: Program
    lines: tuple[Line, ...]
    directory: Path
    held: Held = attrs.field(factory=lambda: {name: {} for name in ARRAYS}, repr=False)

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return len(self.lines)

    def models(self, t: int) -> npt.NDArray[Any]:
        """The models of the honest agents in round t, [H, d]; zero where an agent is silent."""
        line, shape = self.lines[t - 1], (len(self.program.honest), self.program.lattice.dimension)
        kind, count = NARROW if line.bits <= 32 else WIDE, shape[0] * shape[1]
        return self._array(MODELS, kind, count, line.bytes - count * kind.itemsize).reshape(shape)

    def _array(self, name: str, kind: np.dtype[Any], count: int, begin: int) -> npt.NDArray[Any]:
        held = self.held[name].get(begin)
        if held is not None:
            return held
        return np.fromfile(self.directory / name, kind, count, offset=begin)

    def row(self, row: int) -> Pair:
        """Model and scaled gradient in a row of what Byzantine agents said."""
        d = self.program.lattice.dimension
        both = self._array(SAID, WIDE, 2 * d, row * 16 * d)
        model, gamma = torch.from_numpy(both.astype(np.int64).reshape(2, d))
        return model, gamma

    def byzantine_words(self, line: Line) -> tuple[Mapping[int, Pair], Mapping[Edge, Pair | None]]:
        """What Byzantine agents said in a round: to all, and on single edges."""
        said = {agent: self.row(row) for agent, row in line.said}
        edges = {(s, r): None if row is None else self.row(row) for s, r, row in line.edges}
        return said, edges

    def said(self) -> Iterator[Said]:
        """Every round again as the engine said it, on the host.

        Implements: LM-5.
        """
        before = self._words(0)
        for t in range(1, self.rounds + 1):
            words = self._words(t)
            yield self._spoken(before, words)
            before = words

    def spoken(self, t: int) -> Said:
        """Round t alone."""
        return self._spoken(self._words(t - 1), self._words(t))

    def _words(self, t: int) -> Said:
        """Round t but for the scaled gradients of honest agents; round 0 is the start."""
        program, everybody = self.program, tuple(range(self.program.graph.agents))
        models = torch.zeros((len(everybody), program.lattice.dimension), dtype=torch.int64)
        losses = torch.full((len(everybody),), torch.nan)
        if t == 0:
            models += torch.from_numpy(np.array(program.parameters.start_model))
            return Said(
                t=0,
                agents=everybody,
                models=models,
                gammas=torch.zeros_like(models),
                edges={},
                problems={},
                edge_problems={},
                losses=losses,
            )
        line, gammas = self.lines[t - 1], torch.zeros_like(models)
        models[[*program.honest]] = torch.from_numpy(self.models(t).astype(np.int64))
        said, edges = self.byzantine_words(line)
        for agent, pair in said.items():
            models[agent], gammas[agent] = pair
        problems, edge_problems = find_problems(program.lattice, line.silent, said, edges)
        return Said(
            t=t,
            agents=everybody,
            models=models,
            gammas=gammas,
            edges=edges,
            problems=problems,
            edge_problems=edge_problems,
            losses=losses,
        )

    def _spoken(self, before: Said, words: Said) -> Said:
        """The scaled gradients of honest agents follow from their models and what they heard.

        Implements: AR-6.
        """
        parameters = self.program.lattice
        received = Received(words.agents, before.models, *before.usable_models())
        gammas = mix(parameters, words.t, self.program.graph, received)
        gammas.sub_(words.models, alpha=1 << parameters.precision.step_bits)
        for agent in words.agents:
            if agent in self.program.byzantine or agent in words.problems:
                gammas[agent] = words.gammas[agent]
        return attrs.evolve(words, gammas=gammas)


def open_transcripts(
    directory: Path, program: Program, rounds: int | None = None
) -> StoredTranscripts:
    """The transcripts of so many rounds, by default of all T.

    Implements: LM-5.
    """
    wanted = program.rounds if rounds is None else rounds
    lines = _lines(directory / ROUNDS)
    if [line.t for line in lines[:wanted]] != list(range(1, wanted + 1)):
        raise TranscriptError(f"{directory} does not hold rounds 1 to {wanted}: train on first")
    return StoredTranscripts(program, tuple(lines[:wanted]), directory)
