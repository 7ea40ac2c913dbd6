"""One job of an experiment: from where it was left to its summary."""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import torch

from torch_backend import checkpoint
from torch_backend.config.build import build_program
from torch_backend.config.experiment import Experiment
from torch_backend.config.jobs import Job, label
from torch_backend.data.dataset import Dataset
from torch_backend.engine import State, advance, diverged, start
from torch_backend.errors import BackendError
from torch_backend.estimates import statistics
from torch_backend.evaluate import evaluate
from torch_backend.program import Program, require_device
from torch_backend.results import (
    CHECKPOINT,
    CURVE,
    SUMMARY,
    Row,
    append_row,
    cut_curve,
    job_directory,
    note_time,
    read_rows,
    read_summary,
    replace_file,
)
from valid_ref.scenario.document import unstructure

Watch = Callable[[str, int], None]
"""Told the name of a job and the round it has reached."""

Stop = Callable[[], bool]
"""Whether the run has been asked to stop."""


class StoppedError(BackendError):
    """A run that was asked to stop, and has stopped where it can go on."""

    def __init__(self, message: str, *, clause: str = "EX-14") -> None:
        super().__init__(message, clause=clause)


@attrs.frozen
class Options:
    """What a run needs beside the experiment.

    Device and threads can change the last bits of private gradients, so they are part of what a
    directory of results was made with; how often a checkpoint is saved is not.
    """

    device: str = "cpu"
    threads: int = 1
    checkpoint_every: int = 50


def prepare_process(options: Options) -> torch.device:
    """Fix what could make the same gradients come out differently, and find the device.

    Implements: EX-11.
    """
    torch.set_num_threads(options.threads)
    if options.device.startswith("cuda"):
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(mode=True)
    return require_device(options.device)


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a folder alone; a process that dies lets go of it. Whether it could be had.

    Implements: EX-14.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system: runs must not overlap there
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


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
            device = prepare_process(work.options)
            program = build_program(work.experiment, job, work.dataset, device)
            begun, first = time.perf_counter(), _left(program, work.experiment, folder)
            last = _learn(program, work, folder, first, watch, stop)
            found = _summary(program, job, last, read_rows(work.directory, job.name))
            replace_file(folder / SUMMARY, json.dumps(found, indent=1) + "\n")
            seconds = round(time.perf_counter() - begun, 3)
            note_time(work.directory, job=job.name, rounds=last.t - first.t, seconds=seconds)
        for name in (CHECKPOINT, f"{CHECKPOINT}.partial", f"{CURVE}.tmp", f"{SUMMARY}.tmp"):
            (folder / name).unlink(missing_ok=True)
    return found


def _left(program: Program, experiment: Experiment, folder: Path) -> State:
    """The state of the last checkpoint, its curve cut to match; the start if there is none.

    Implements: EX-14.
    """
    path, curve = folder / CHECKPOINT, folder / CURVE
    if path.is_file():
        state = checkpoint.load(path, program)
        if cut_curve(curve, state.t, experiment.evaluation.rounds(experiment.rounds)):
            return state
    curve.unlink(missing_ok=True)
    return start(program)


def _learn(
    program: Program, work: Work, folder: Path, state: State, watch: Watch, stop: Stop
) -> State:
    """Go on to the last round, or to the one in which an honest agent leaves the range."""
    evaluated = set(work.experiment.evaluation.rounds(program.rounds))
    while state.t < program.rounds and not diverged(program, state):
        if stop():
            checkpoint.save(folder / CHECKPOINT, state)
            raise StoppedError(f"{folder.name} stopped after round {state.t}")
        state, _said = advance(program, state)
        if state.t in evaluated and not diverged(program, state):
            append_row(folder / CURVE, folder.name, evaluate(program, state))
        if state.t % work.options.checkpoint_every == 0 and state.t < program.rounds:
            checkpoint.save(folder / CHECKPOINT, state)
        watch(folder.name, state.t)
    return state


def _summary(program: Program, job: Job, state: State, rows: list[Row]) -> dict[str, Any]:
    """What a job ended with; a diverged one has no final accuracy and no statistics.

    Implements: EX-12, EX-14.
    """
    lost = diverged(program, state)
    gammas = [float(w.name.removeprefix("gamma=")) for w in program.parameters.weightings]
    measured = [] if lost or not gammas else statistics(program, state)
    totals = [int(w.total) for w in program.parameters.weightings]
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
        "final": None if lost else attrs.asdict(rows[-1]),
        "statistics": [
            {"gamma": gamma, "total": total, "optimality": optimality, "heterogeneity": length}
            for gamma, total, (optimality, length) in zip(gammas, totals, measured, strict=False)
        ],
        "alarms": sorted({raised.alarm.name for alarms in state.alarms for raised in alarms}),
        "models": hashlib.sha256(state.models.cpu().numpy().tobytes()).hexdigest(),
    }
