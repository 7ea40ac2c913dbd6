"""One job of an experiment: from where it was left to its summary."""

import contextlib
import hashlib
import json
import math
import shutil
import time
from pathlib import Path
from typing import Any

import attrs

from torch_backend import checkpoint
from torch_backend.calibrate import thresholds
from torch_backend.config.build import build_program, calibration_setting, measuring_weightings
from torch_backend.config.experiment import Experiment
from torch_backend.config.jobs import Job, jobs, label
from torch_backend.data.dataset import Dataset
from torch_backend.engine import State, advance, diverged, start
from torch_backend.estimates import statistics
from torch_backend.evaluate import evaluate
from torch_backend.process import Options, Stop, StoppedError, Watch, locked, prepare_process
from torch_backend.program import Program
from torch_backend.results import (
    CHECKPOINT,
    CURVE,
    SUMMARY,
    append_row,
    cut_curve,
    job_directory,
    note_time,
    read_rows,
    read_summary,
    replace_file,
)
from torch_backend.transcripts import TranscriptError, TranscriptWriter, resume
from torch_backend.verdict import RECORDING, TRANSCRIPTS, verdict
from valid_ref.protocols.parameters import Weighting
from valid_ref.scenario.document import unstructure


@attrs.frozen(eq=False)
class Work:
    """What all jobs of an experiment share."""

    directory: Path
    experiment: Experiment
    dataset: Dataset
    options: Options


def run_job(work: Work, job: Job, watch: Watch, stop: Stop) -> dict[str, Any]:
    """The summary of a job: read if it is there, else computed from its last checkpoint on.

    Implements: EX-14.
    """
    folder = job_directory(work.directory, job.name)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, wait=True):
        found = read_summary(work.directory, job.name)
        if found is None:
            found = _finished(work, job, folder, watch, stop)
        _clear(folder)
    return found


def _clear(folder: Path) -> None:
    """Remove what only an unfinished job needs, and what a kill has left behind."""
    for name in (CHECKPOINT, f"{CHECKPOINT}.partial", f"{CURVE}.tmp", f"{SUMMARY}.tmp"):
        (folder / name).unlink(missing_ok=True)
    for left in (folder / TRANSCRIPTS, *folder.glob(".recording-*")):
        shutil.rmtree(left, ignore_errors=True)


def _finished(work: Work, job: Job, folder: Path, watch: Watch, stop: Stop) -> dict[str, Any]:
    """Learn to the end, validate where that is asked for, and write the summary."""
    device, begun = prepare_process(work.options), time.perf_counter()
    weightings = _weightings(work, job)
    program = build_program(work.experiment, job, work.dataset, device, weightings)
    validated = work.experiment.validates(job.rule) and job.purpose == "measure"
    if validated:
        program = attrs.evolve(program, estimate="agents")
    first, writer = _left(program, work.experiment, folder, validated)
    with contextlib.nullcontext() if writer is None else contextlib.closing(writer):
        last = _learn(program, work, folder, first, writer, watch, stop)
    found = _summary(program, job, last)
    found["final"] = None if found["lost"] else _last_row(work.directory, job.name)
    if writer is not None and not found["lost"]:
        recording = folder / RECORDING if work.options.record else None
        found["validation"] = verdict(program, last, folder / TRANSCRIPTS, recording)
    replace_file(folder / SUMMARY, json.dumps(found, indent=1) + "\n")
    seconds = round(time.perf_counter() - begun, 3)
    note_time(work.directory, job=job.name, rounds=last.t - first.t, seconds=seconds)
    return found


def _last_row(directory: Path, name: str) -> dict[str, Any]:
    """The last line of a curve; what is not a number is null, as JSON has it."""
    found = attrs.asdict(read_rows(directory, name)[-1])
    return {key: value if math.isfinite(value) else None for key, value in found.items()}


def _weightings(work: Work, job: Job) -> tuple[Weighting, ...]:
    """The checks of a job: calibrated where it is validated, else such that nothing alarms.

    Implements: EX-10, EX-17.
    """
    experiment = work.experiment
    gammas = experiment.detection.gammas
    if not gammas or not experiment.measures(job.rule):
        return ()
    if job.purpose == "calibrate" or not experiment.validates(job.rule):
        return measuring_weightings(experiment)
    named = [other.name for other in jobs(experiment) if other.purpose == "calibrate"]
    found = [read_summary(work.directory, name) for name in named]
    summaries = [summary for summary in found if summary is not None]
    return tuple(thresholds(calibration_setting(experiment), gammas, summaries).values())


def _left(
    program: Program, experiment: Experiment, folder: Path, validated: bool
) -> tuple[State, TranscriptWriter | None]:
    """The state of the last checkpoint, its files cut to match; the start if there is none.

    Implements: EX-14.
    """
    path, curve = folder / CHECKPOINT, folder / CURVE
    if path.is_file():
        state = checkpoint.load(path, program)
        if cut_curve(curve, state.t, experiment.evaluation.rounds(experiment.rounds)):
            try:
                return state, _writer(program, folder, state.t) if validated else None
            except TranscriptError:
                pass  # the files are not those of the checkpoint: begin anew
    curve.unlink(missing_ok=True)
    return start(program), _writer(program, folder, 0) if validated else None


def _writer(program: Program, folder: Path, t: int) -> TranscriptWriter:
    return resume(folder / TRANSCRIPTS, program, t)


def _learn(
    program: Program,
    work: Work,
    folder: Path,
    state: State,
    writer: TranscriptWriter | None,
    watch: Watch,
    stop: Stop,
) -> State:
    """Go on to the last round, or to the one in which an honest agent leaves the range.

    Implements: EX-14, EX-16.
    """
    evaluated = set(work.experiment.evaluation.rounds(program.rounds))

    def save() -> None:
        if writer is not None:
            writer.sync()
        checkpoint.save(folder / CHECKPOINT, state)

    while state.t < program.rounds and not diverged(program, state):
        if stop():
            save()
            raise StoppedError(f"{folder.name} stopped after round {state.t}")
        state, said = advance(program, state)
        if writer is not None:
            writer.append(said)
        if state.t in evaluated and not diverged(program, state):
            append_row(folder / CURVE, folder.name, evaluate(program, state))
        if state.t % work.options.checkpoint_every == 0 and state.t < program.rounds:
            save()
        watch(folder.name, state.t)
    return state


def _summary(program: Program, job: Job, state: State) -> dict[str, Any]:
    """What a job ended with; a diverged one has no statistics.

    Implements: EX-12, EX-14, EX-16.
    """
    lost = diverged(program, state)
    weightings = () if lost else program.parameters.weightings
    return {
        "job": job.name,
        "purpose": job.purpose,
        "rule": {"label": label(job.rule), **unstructure(job.rule)},
        "attack": {"label": label(job.attack), **unstructure(job.attack)},
        "byzantine": list(program.byzantine),
        "seed": job.seed,
        "outcome": "diverged" if lost else "finished",
        "rounds": state.t,
        "lost": list(lost),
        "final": None,
        "statistics": [
            {
                "check": weighting.name,
                "total": int(weighting.total),
                "optimality": optimality,
                "heterogeneity": heterogeneity,
            }
            for weighting, (optimality, heterogeneity) in zip(
                weightings, statistics(program, state) if weightings else (), strict=True
            )
        ],
        "alarms": sorted({raised.alarm.name for alarms in state.alarms for raised in alarms}),
        "models": hashlib.sha256(state.models.cpu().numpy().tobytes()).hexdigest(),
        "validation": None,
    }
