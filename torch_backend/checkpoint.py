"""A state as one NPZ file without pickle, written whole or not at all."""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import torch

from torch_backend.engine import State, start
from torch_backend.errors import BackendError
from torch_backend.estimates import Estimates
from torch_backend.program import Program
from valid_ref.alarms import Alarms
from valid_ref.document import structure, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.wire import AlarmLine, alarm_line, learning_alarm

FORMAT = "valid-torch/checkpoint/3"

UNREADABLE = (
    ValidRefError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    EOFError,
    OverflowError,
    zipfile.BadZipFile,
    NotImplementedError,
)

Arrays = dict[str, Any]


class CheckpointError(BackendError):
    """A checkpoint that cannot be read, or that belongs to another run."""

    default_clause: ClassVar[str] = "EX-11"


def save(path: Path, state: State) -> None:
    """Write the state beside its place and move it there; equal states give equal bytes.

    Implements: EX-11.
    """
    arrays = {"models": state.models, "said": state.said, "losses": state.losses}
    edges = sorted(state.edges)
    if edges:
        arrays["edges"] = torch.stack([state.edges[edge] for edge in edges])
    estimates = None if state.estimates is None else state.estimates.flushed()
    if estimates is not None:
        arrays["sums"] = estimates.sums
    document = {
        "format": FORMAT,
        "t": state.t,
        "edges": edges,
        "lying": sorted(state.lying),
        "silent": sorted(state.silent),
        "alarms": [[unstructure(alarm_line(raised)) for raised in own] for own in state.alarms],
        "estimates": None if estimates is None else _line(estimates),
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    raw = {"document": np.frombuffer(text.encode(), dtype=np.uint8)}
    raw |= {name: tensor.cpu().contiguous().numpy() for name, tensor in arrays.items()}
    _write(path, raw)


def _line(estimates: Estimates) -> dict[str, Any]:
    return {"rows": estimates.rows, "used": estimates.used}


def _write(path: Path, arrays: Mapping[str, Any]) -> None:
    """Stored, not compressed, with a fixed date; on the disk before the old file is replaced."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, array in sorted(arrays.items()):
                info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
                with archive.open(info, "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def load(path: Path, program: Program) -> State:
    """The state in a checkpoint of this program; anything else is refused.

    Implements: EX-11.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        document = json.loads(bytes(arrays.pop("document")).decode())
        if document["format"] != FORMAT:
            raise ValueError(f"format {document['format']!r}, where {FORMAT!r} is needed")
        return _state(program, document, arrays)
    except UNREADABLE as e:
        raise CheckpointError(
            f"{path} is no checkpoint of this run ({e}); remove it to begin anew"
        ) from None


def _state(program: Program, document: Mapping[str, Any], arrays: Arrays) -> State:
    first = start(program)
    t = document["t"]
    if type(t) is not int or not 0 <= t <= program.rounds:
        raise ValueError(f"round {t!r} of {program.rounds}")
    if len(document["alarms"]) != program.graph.agents:
        raise ValueError(f"alarms of {len(document['alarms'])} agents")
    edges = [(int(sender), int(receiver)) for sender, receiver in document["edges"]]
    d = program.lattice.dimension
    going = _tensor(program, arrays, "edges", (len(edges), d)) if edges else ()
    return State(
        t=t,
        models=_tensor(program, arrays, "models", tuple(first.models.shape)),
        said=_tensor(program, arrays, "said", tuple(first.said.shape)),
        edges=dict(zip(edges, going, strict=True)),
        lying=frozenset(document["lying"]),
        silent=frozenset(document["silent"]),
        losses=_tensor(program, arrays, "losses", tuple(first.losses.shape), program.dtype),
        alarms=tuple(_alarms(lines) for lines in document["alarms"]),
        estimates=_estimates(program, first.estimates, document["estimates"], arrays),
    )


def _tensor(
    program: Program,
    arrays: Arrays,
    name: str,
    shape: tuple[int, ...],
    dtype: torch.dtype = torch.int64,
) -> torch.Tensor:
    tensor = torch.from_numpy(arrays[name])
    if tensor.shape != shape or tensor.dtype != dtype:
        raise ValueError(f"{name} is {tensor.dtype} of shape {tuple(tensor.shape)}, not {shape}")
    return tensor.to(program.device)


def _alarms(lines: list[Any]) -> Alarms:
    return tuple(learning_alarm(structure(AlarmLine, line)) for line in lines)


def _estimates(
    program: Program, first: Estimates | None, line: Mapping[str, Any] | None, arrays: Arrays
) -> Estimates | None:
    if (first is None) != (line is None):
        raise ValueError("estimates were kept in one run and not in the other")
    if first is None or line is None:
        return None
    rows = tuple(tuple(row) if isinstance(row, list) else row for row in line["rows"])
    if rows[: len(first.rows)] != first.rows:
        raise ValueError(f"estimates of {rows}")
    if first.counted and len(rows) != len(first.rows):
        raise ValueError(f"estimates of {rows}")
    weightings, digits, limbs, _rows, d = first.sums.shape
    sums = _tensor(program, arrays, "sums", (weightings, digits, limbs, len(rows), d))
    return attrs.evolve(first, rows=rows, sums=sums, used=int(line["used"]))
