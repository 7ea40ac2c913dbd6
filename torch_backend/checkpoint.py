"""A state as one NPZ file without pickle, written whole or not at all.

The comment of the archive is the SHA-256 of all bytes before it, so that a damaged file is refused
before anything in it is believed. What stands in it is held against the run all the same.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, ClassVar

import attrs
import numpy as np
import torch

from torch_backend import lattice
from torch_backend.arrays import Array, read_npz
from torch_backend.engine import State, start
from torch_backend.errors import BackendError
from torch_backend.estimates import Estimates, Row
from torch_backend.program import Program
from valid_ref.alarms import Alarms
from valid_ref.document import DocumentError, read_json, structure, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.wire import AlarmLine, alarm_line, learning_alarm

FORMAT = "valid-torch/checkpoint/4"
DIGEST = 64
"""The hexadecimal digits of a SHA-256."""

Arrays = dict[str, Array]
Edge = tuple[int, int]


class CheckpointError(BackendError):
    """A checkpoint that cannot be read, or that belongs to another run."""

    default_clause: ClassVar[str] = "EX-11"


@attrs.frozen
class EstimatesLine:
    """Whose transcripts the sums are of, and how much of their room is used."""

    agents: tuple[int, ...]
    edges: tuple[Edge, ...]
    used: int


@attrs.frozen
class Line:
    """What a checkpoint has beside its arrays."""

    format: str
    t: int
    edges: tuple[Edge, ...]
    lying: tuple[int, ...]
    silent: tuple[int, ...]
    alarms: tuple[tuple[AlarmLine, ...], ...]
    estimates: EstimatesLine | None


def save(path: Path, state: State) -> None:
    """Write the state beside its place and move it there; equal states give equal bytes.

    Implements: EX-11.
    """
    arrays = {"models": state.models, "said": state.said, "losses": state.losses}
    edges = tuple(sorted(state.edges))
    if edges:
        arrays["edges"] = torch.stack([state.edges[edge] for edge in edges])
    estimates = None if state.estimates is None else state.estimates.flushed()
    if estimates is not None:
        arrays["sums"] = estimates.sums
    line = Line(
        format=FORMAT,
        t=state.t,
        edges=edges,
        lying=tuple(sorted(state.lying)),
        silent=tuple(sorted(state.silent)),
        alarms=tuple(tuple(map(alarm_line, own)) for own in state.alarms),
        estimates=None if estimates is None else _line(estimates),
    )
    text = json.dumps(unstructure(line), sort_keys=True, separators=(",", ":"))
    raw = {"document": np.frombuffer(text.encode(), dtype=np.uint8)}
    raw |= {name: tensor.cpu().contiguous().numpy() for name, tensor in arrays.items()}
    _write(path, raw)


def _line(estimates: Estimates) -> EstimatesLine:
    """Agents stand before edges in the rows."""
    return EstimatesLine(
        agents=tuple(row for row in estimates.rows if isinstance(row, int)),
        edges=tuple(row for row in estimates.rows if isinstance(row, tuple)),
        used=estimates.used,
    )


def _write(path: Path, arrays: Mapping[str, Any]) -> None:
    """Stored, not compressed, with a fixed date; on the disk before the old file is replaced."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w+b") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = b"0" * DIGEST
            for name, array in sorted(arrays.items()):
                info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
                with archive.open(info, "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
        _sign(file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sign(file: IO[bytes]) -> None:
    """Put the SHA-256 of what is before it in the place of the comment."""
    left, digest = file.seek(-DIGEST, os.SEEK_END), hashlib.sha256()
    file.seek(0)
    while left:
        piece = file.read(min(left, 1 << 22))
        digest.update(piece)
        left -= len(piece)
    file.write(digest.hexdigest().encode())


def load(path: Path, program: Program) -> State:
    """The state in a checkpoint of this program; anything else is refused.

    Implements: EX-11.
    """
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[:-DIGEST]).hexdigest().encode() != content[-DIGEST:]:
            raise CheckpointError("it is damaged: its SHA-256 is another")
        arrays = read_npz(content, path.name, len(content))
        line = structure(Line, _document(arrays))
        if line.format != FORMAT:
            raise CheckpointError(f"format {line.format!r}, where {FORMAT!r} is needed")
        return _state(program, line, arrays)
    except (ValidRefError, OSError) as error:
        reason = error.message if isinstance(error, ValidRefError) else error.strerror
        raise CheckpointError(
            f"{path} is no checkpoint of this run ({reason}); remove it to begin anew"
        ) from None


def _document(arrays: Arrays) -> Any:
    try:
        return read_json(arrays["document"].tobytes().decode())
    except (KeyError, UnicodeDecodeError) as error:
        raise DocumentError(f"no document: {error}") from None


def _state(program: Program, line: Line, arrays: Arrays) -> State:
    first, graph = start(program), program.graph
    _require(0 <= line.t <= program.rounds, f"round {line.t} of {program.rounds}")
    _require(len(line.alarms) == graph.agents, f"alarms of {len(line.alarms)} agents")
    own = {(b, u) for b in program.byzantine for u in graph.neighbours(b)}
    _require(own.issuperset(line.edges) and _distinct(line.edges), f"edges {line.edges}")
    _require(set(program.byzantine).issuperset(line.lying), f"lying agents {line.lying}")
    _require(set(range(graph.agents)).issuperset(line.silent), f"silent agents {line.silent}")
    going = _models(program, arrays, "edges", (len(line.edges), first.models.shape[1]))
    return State(
        t=line.t,
        models=_models(program, arrays, "models", tuple(first.models.shape)),
        said=_models(program, arrays, "said", tuple(first.said.shape)),
        edges=dict(zip(line.edges, going, strict=True)),
        lying=frozenset(line.lying),
        silent=frozenset(line.silent),
        losses=_tensor(program, arrays, "losses", tuple(first.losses.shape), program.dtype),
        alarms=tuple(_alarms(own) for own in line.alarms),
        estimates=_estimates(program, first.estimates, line.estimates, arrays),
    )


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CheckpointError(otherwise)


def _distinct(values: tuple[Any, ...]) -> bool:
    return len(set(values)) == len(values)


def _models(program: Program, arrays: Arrays, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Models in range, as the engine leaves them; none where there is nothing to be read."""
    if not shape[0]:
        return torch.zeros(shape, dtype=torch.int64, device=program.device)
    found = _tensor(program, arrays, name, shape)
    beyond = lattice.outside(found, program.lattice.model_limit)
    _require(not bool(beyond.any()), f"{name} are out of range")
    return found


def _tensor(
    program: Program,
    arrays: Arrays,
    name: str,
    shape: tuple[int, ...],
    dtype: torch.dtype = torch.int64,
) -> torch.Tensor:
    _require(name in arrays, f"there are no {name}")
    array = arrays[name]
    known = array.dtype.kind != "u" and array.dtype.isnative
    tensor = torch.from_numpy(array.copy()) if known else None
    if tensor is None or tensor.shape != shape or tensor.dtype != dtype:
        raise CheckpointError(f"{name} is {array.dtype} of shape {array.shape}, not {shape}")
    return tensor.to(program.device)


def _alarms(lines: tuple[AlarmLine, ...]) -> Alarms:
    return tuple(map(learning_alarm, lines))


def _estimates(
    program: Program, first: Estimates | None, line: EstimatesLine | None, arrays: Arrays
) -> Estimates | None:
    _require(
        (first is None) == (line is None), "estimates were kept in one run and not in the other"
    )
    if first is None or line is None:
        return None
    own = {(b, u) for b in program.byzantine for u in program.graph.neighbours(b)}
    new = set() if first.counted else own
    known = line.agents == first.rows and new.issuperset(line.edges) and _distinct(line.edges)
    _require(known, f"estimates of {line.agents} and {line.edges}")
    _require(line.used >= 0, f"{line.used} of the room is used")
    rows: tuple[Row, ...] = (*line.agents, *line.edges)
    weightings, digits, limbs, _rows, d = first.sums.shape
    sums = _tensor(program, arrays, "sums", (weightings, digits, limbs, len(rows), d))
    return attrs.evolve(first, rows=rows, sums=sums, used=line.used)
