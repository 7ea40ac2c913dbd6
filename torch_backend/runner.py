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

from torch_backend.calibrate import thresholds
from torch_backend.config.build import build_program, calibration_setting, measuring_weightings
from torch_backend.config.experiment import Experiment
from torch_backend.config.jobs import Job, jobs, label
from torch_backend.data.dataset import Dataset
from torch_backend.distributed import gathered, share
from torch_backend.distributed_team import Team
from torch_backend.engine import State, diverged
from torch_backend.estimates import statistics
from torch_backend.process import ALONE, Options, Stop, Watch, locked, prepare_process
from torch_backend.program import Program
from torch_backend.results import (
    CHECKPOINT,
    CURVE,
    SUMMARY,
    job_directory,
    note_time,
    read_rows,
    read_summary,
    replace_file,
)
from torch_backend.runner_model import Apart
from torch_backend.runner_rounds import Rounds
from torch_backend.verdict import RECORDING, TRANSCRIPTS, verdict
from valid_ref.document import unstructure
from valid_ref.protocols.parameters import Weighting


@attrs.frozen(eq=False)
class Work:
    """What all jobs of an experiment share; only the first of the team touches the directory."""

    directory: Path
    experiment: Experiment
    dataset: Dataset
    options: Options
    team: Team = ALONE


def run_job(work: Work, job: Job, watch: Watch, stop: Stop) -> dict[str, Any]:
    """The summary of a job: read if it is there, else computed from its last checkpoint on.

    Implements: EX-14, EX-18.
    """
    folder = job_directory(work.directory, job.name)
    with contextlib.ExitStack() as held:
        found = work.team.tell(lambda: _found(work, job, folder, held))
        if found is None:
            found = _finished(work, job, folder, watch, stop)
        if work.team.first:
            _clear(folder)
    return found


def _found(work: Work, job: Job, folder: Path, held: contextlib.ExitStack) -> dict[str, Any] | None:
    """Hold the folder of a job; its summary, if it is finished."""
    folder.mkdir(parents=True, exist_ok=True)
    held.enter_context(locked(folder, wait=True))
    return read_summary(work.directory, job.name)


def _clear(folder: Path) -> None:
    """Remove what only an unfinished job needs, and what a kill has left behind."""
    for name in (CHECKPOINT, f"{CHECKPOINT}.partial", f"{CURVE}.tmp", f"{SUMMARY}.tmp"):
        (folder / name).unlink(missing_ok=True)
    for left in (folder / TRANSCRIPTS, *folder.glob(".recording-*")):
        shutil.rmtree(left, ignore_errors=True)


def _finished(work: Work, job: Job, folder: Path, watch: Watch, stop: Stop) -> dict[str, Any]:
    """Learn to the end, validate where that is asked for, and write the summary."""
    begun, whole = time.perf_counter(), _program(work, job)
    agents = whole.graph.agents
    program = attrs.evolve(whole, shard=share(work.team, agents, work.options.chunk_of(agents)))
    every = work.options.checkpoint_every
    rounds = Rounds(program, work.experiment, folder, work.team, every, _validated(work, job))
    first, writer = rounds.left()
    with contextlib.nullcontext() if writer is None else contextlib.closing(writer):
        last = gathered(program, rounds.learn(first, writer, watch, stop))
    found = work.team.tell(lambda: _ended(whole, work, job, folder, last))
    if work.team.first:
        seconds = round(time.perf_counter() - begun, 3)
        note_time(
            work.directory, job=job.name, rounds=last.t - first.t, seconds=seconds,
            processes=work.team.processes,
        )  # fmt: skip
    return found


def _program(work: Work, job: Job) -> Program:
    """The program of a job, all agents in one process.

    Implements: EX-18.
    """
    device = prepare_process(work.options, work.team)
    weightings = _weightings(work, job)
    program = build_program(work.experiment, job, work.dataset, device, weightings)
    return attrs.evolve(
        program,
        model=Apart(program.model) if job.rule.needs_losses else program.model,
        chunk=work.options.chunk_of(program.graph.agents),
        estimate="agents" if _validated(work, job) else program.estimate,
    )


def _validated(work: Work, job: Job) -> bool:
    return work.experiment.validates(job.rule) and job.purpose == "measure"


def _ended(program: Program, work: Work, job: Job, folder: Path, last: State) -> dict[str, Any]:
    """Validate where that is asked for, and write the summary."""
    found = _summary(program, job, last)
    found["final"] = None if found["lost"] else _last_row(work.directory, job.name)
    if _validated(work, job) and not found["lost"]:
        recording = folder / RECORDING if work.options.record else None
        found["validation"] = verdict(program, last, folder / TRANSCRIPTS, recording)
    replace_file(folder / SUMMARY, json.dumps(found, indent=1) + "\n")
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
    found = work.team.tell(lambda: [read_summary(work.directory, name) for name in named])
    summaries = [summary for summary in found if summary is not None]
    return tuple(thresholds(calibration_setting(experiment), gammas, summaries).values())


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
