"""The files of an experiment: written so that a kill at any moment loses no more than a few rounds.

run.json                 configuration in full, versions, device, digest of the data, jobs
jobs/NAME/curve.csv      one line per evaluated round, appended
jobs/NAME/checkpoint.npz the state of an unfinished job, replaced whole
jobs/NAME/summary.json   the end of a job, written once
jobs/NAME/segments.jsonl how every segment was judged, in a run that responds to alarms; while it is
                         unfinished also validated.npz and after.npz, the last validated state and
                         that of what follows an alarm
curves.csv, summaries.jsonl   the same of all finished jobs, in the order of the jobs
timing.jsonl             seconds; the only file that differs from run to run
"""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs

from torch_backend.errors import BackendError, ConfigError
from torch_backend.summary import wrong_form
from valid_ref.document import DocumentError, structure
from valid_ref.inputs import read_text

RUN, CURVES, SUMMARIES, TIMING = "run.json", "curves.csv", "summaries.jsonl", "timing.jsonl"
JOBS, CURVE, CHECKPOINT, SUMMARY = "jobs", "curve.csv", "checkpoint.npz", "summary.json"
SEGMENTS, VALIDATED, AFTER = "segments.jsonl", "validated.npz", "after.npz"
FORMAT = "valid-torch/results/2"


class ResultsError(BackendError):
    """A directory that holds no results, or results of something else."""

    default_clause: ClassVar[str] = "EX-14"


@attrs.frozen
class CurveRow:
    """One evaluated round of a job: accuracies of honest agents, their loss and disagreement.

    `accuracy` is the mean over honest agents, `averaged` that of the average of their models;
    `distance` is the root mean square distance of their models to that average.

    Implements: EX-5.
    """

    round: int
    accuracy: float
    averaged: float
    lowest: float
    highest: float
    loss: float
    distance: float


COLUMNS = ("job", *(field.name for field in attrs.fields(CurveRow)))


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all, and on the disk when this returns.

    Implements: EX-14.
    """
    fresh = path.with_name(path.name + ".tmp")
    with fresh.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _line(values: Iterable[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue()


HEADING = _line(COLUMNS)


def append_row(path: Path, job: str, row: CurveRow) -> None:
    """Add a line to a curve; numbers are written so that they are read back exactly."""
    with path.open("a", encoding="utf-8", newline="") as file:
        if file.tell() == 0:
            file.write(HEADING)
        file.write(_line((job, *attrs.astuple(row))))
        file.flush()
        os.fsync(file.fileno())


def cut_curve(path: Path, t: int, expected: Sequence[int]) -> bool:
    """Drop what was written after round t, half a line included; whether all before is there.

    Implements: EX-14.
    """
    lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
    whole = [line for line in lines[1:] if line.endswith(b"\n")]
    rounds = [_round_of(line) for line in whole]
    kept = [line for line, number in zip(whole, rounds, strict=True) if 0 <= number <= t]
    if [number for number in rounds if number <= t] != [n for n in expected if n <= t]:
        return False
    if path.is_file():
        replace_file(path, b"".join(lines[:1] + kept).decode() if kept else "")
    return True


def _round_of(line: bytes) -> int:
    """The round that a line of a curve is of; -1 if it is no such line."""
    entries = line.split(b",")
    number = entries[-7] if len(entries) >= 7 else b""
    return int(number) if re.fullmatch(rb"\d{1,18}", number) else -1


def open_results(directory: Path, header: dict[str, Any]) -> bool:
    """Start a directory, or go on in one that was started by the same; whether it goes on.

    Implements: EX-14.
    """
    path = directory / RUN
    if not path.is_file():
        left = {f"{RUN}.tmp"}  # all that a kill before this moment can have left
        if directory.is_dir() and {entry.name for entry in directory.iterdir()} - left:
            raise ResultsError(f"{directory} is not empty and holds no {RUN}; choose another")
        directory.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(header, indent=1) + "\n")
        return False
    found = read_header(directory, header["format"])
    differences = header_differences(found, header)
    if differences:
        raise ConfigError(
            f"{directory} holds results of something else, differing in {differences[0]}"
            + (f" and {len(differences) - 1} more" if len(differences) > 1 else "")
            + "; choose another directory with -o, or delete it",
            clause="EX-14",
        )
    return True


def header_differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Where a header that was read differs from another, which is compared as if read back."""
    return [*_differences(old, json.loads(json.dumps(new)), "")]


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif old != new:
        yield f"{path}: {json.dumps(old)} there, {json.dumps(new)} asked for"


def read_header(directory: Path, wanted: str = FORMAT) -> dict[str, Any]:
    """The contents of run.json, which must be of the format wanted."""
    path = directory / RUN
    try:
        found = json.loads(read_text(path, ResultsError))
    except (ResultsError, ValueError, RecursionError) as error:
        raise ResultsError(f"{directory} holds no results: {error}") from None
    if not isinstance(found, dict) or found.get("format") != wanted:
        raise ResultsError(
            f"{path} is not of the format {wanted}; choose another directory, or delete it"
        )
    return found


def job_directory(directory: Path, name: str) -> Path:
    """Where a job keeps its files."""
    return directory / JOBS / name


def read_summary(directory: Path, name: str) -> dict[str, Any] | None:
    """The summary of a job, if it is finished."""
    path = job_directory(directory, name) / SUMMARY
    if not path.is_file():
        return None
    try:
        found = json.loads(read_text(path, ResultsError))
    except (ResultsError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from None
    if not isinstance(found, dict) or found.get("job") != name:
        raise _damaged(path, f"it is no summary of {name}")
    if (reason := wrong_form(found)) is not None:
        raise _damaged(path, reason)
    return found


def _damaged(path: Path, reason: object) -> ResultsError:
    return ResultsError(f"{path} is damaged ({reason}); remove it to run the job again")


def read_rows(directory: Path, name: str) -> list[CurveRow]:
    """The curve of a job as far as it has come."""
    path = job_directory(directory, name) / CURVE
    kinds = [field.type for field in attrs.fields(CurveRow)]
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return [
            CurveRow(*(kind(value) for kind, value in zip(kinds, record[1:], strict=True) if kind))
            for record in csv.reader(lines[1:])
        ]
    except (ValueError, csv.Error) as error:
        raise _damaged(path, error) from None


def gather(directory: Path, names: Iterable[str]) -> None:
    """Write the curves and summaries of all finished jobs into one file each.

    Implements: EX-14.
    """
    curves, summaries = [HEADING], []
    for name in names:
        summary = read_summary(directory, name)
        if summary is None:
            continue
        curve = job_directory(directory, name) / CURVE
        if curve.is_file():
            curves += curve.read_text(encoding="utf-8").splitlines(keepends=True)[1:]
        summaries.append(json.dumps(summary) + "\n")
    replace_file(directory / CURVES, "".join(curves))
    replace_file(directory / SUMMARIES, "".join(summaries))


def note_time(directory: Path, **facts: object) -> None:
    """Say how long something took, apart from the results."""
    with (directory / TIMING).open("a", encoding="utf-8") as file:
        file.write(json.dumps(facts) + "\n")


@attrs.frozen
class Results:
    """What a directory holds so far: the header, and summary and curve of every finished job."""

    header: dict[str, Any]
    summaries: tuple[dict[str, Any], ...]
    rows: dict[str, tuple[CurveRow, ...]]

    def document(self) -> dict[str, Any]:
        """All of it in a form fit for JSON."""
        rows = {job: [attrs.astuple(row) for row in curve] for job, curve in self.rows.items()}
        return {"header": self.header, "summaries": self.summaries, "rows": rows}

    @classmethod
    def of(cls, document: dict[str, Any]) -> "Results":
        """The results that a document was made of."""
        rows = {
            job: tuple(CurveRow(*row) for row in curve) for job, curve in document["rows"].items()
        }
        return cls(document["header"], tuple(document["summaries"]), rows)


def read_results(directory: Path) -> Results:
    """Everything that is finished; a directory without a finished job is refused."""
    header = read_header(directory)
    try:
        names = structure(tuple[str, ...], header.get("jobs"), "jobs")
        structure(int, header.get("agents"), "agents")
    except DocumentError as error:
        raise ResultsError(f"{directory / RUN} is damaged: {error.message}") from None
    found = [read_summary(directory, name) for name in names]
    summaries = tuple(summary for summary in found if summary is not None)
    if not summaries:
        raise ResultsError(f"{directory}: no job has finished yet")
    rows = {s["job"]: tuple(read_rows(directory, s["job"])) for s in summaries}
    return Results(header, summaries, rows)
