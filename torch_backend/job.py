"""One job of an experiment: from where it was left, in one process or several, to its summary."""

import contextlib
import hashlib
import json
import math
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import Tensor

from torch_backend import checkpoint
from torch_backend.calibrate import thresholds
from torch_backend.config.build import build_program, calibration_setting, measuring_weightings
from torch_backend.config.experiment import Experiment, Job, described, jobs
from torch_backend.data.dataset import Dataset
from torch_backend.devices import repeatable
from torch_backend.distributed import Team, Whole, share
from torch_backend.engine import State, advance, diverged, divided, gathered, start
from torch_backend.estimates import statistics
from torch_backend.kept import KeptRun, KeptRuns, content
from torch_backend.models.model import PerAgentLosses
from torch_backend.process import ALONE, Options, Stop, StoppedError, Watch, locked, prepare_process
from torch_backend.program import Program
from torch_backend.recording import record
from torch_backend.results import (
    AFTER,
    CHECKPOINT,
    CURVE,
    SEGMENTS,
    SUMMARY,
    VALIDATED,
    CurveRow,
    append_row,
    cut_curve,
    job_directory,
    note_time,
    read_rows,
    read_summary,
    replace_file,
)
from torch_backend.rules.rule import asks_for_losses
from torch_backend.transcripts import (
    StoredTranscripts,
    TranscriptError,
    TranscriptWriter,
    resume,
)
from torch_backend.validation import fresh_secrets, validate
from valid_ref.protocols.parameters import Weighting


def evaluate(program: Program, state: State) -> CurveRow:
    """Accuracy of every honest agent's model and of their average, on the whole test set.

    The state must have the losses of all agents.

    Implements: EX-5.
    """
    honest = list(program.honest)
    scale = 2.0**-program.lattice.precision.fraction_bits
    points = state.models.cpu()[honest].double() * scale  # on the host, for the same last bits
    average = points.mean(dim=0, keepdim=True)
    distance = (points - average).square().sum(dim=1).mean().sqrt()
    right = _right(program, torch.cat([points, average]).to(program.dtype).to(program.device))
    own, images = right[:-1], len(program.data.test_labels)
    return CurveRow(
        state.t,
        accuracy=sum(own) / (len(own) * images),
        averaged=right[-1] / images,
        lowest=min(own) / images,
        highest=max(own) / images,
        loss=float(state.losses.cpu().double()[honest].mean()),
        distance=float(distance),
    )


def _right(program: Program, points: Tensor) -> list[int]:
    """How many test images each model labels rightly."""
    data = program.data
    with repeatable(program.device):
        labels = program.model.predictions(points, data.test_images.to(program.dtype))
    counts: list[int] = (labels == data.test_labels).sum(dim=1).tolist()
    return counts


TRANSCRIPTS, RECORDING = "transcripts", "recording.zip"


def verdict(
    program: Program, state: State, transcripts: StoredTranscripts, recording: Path | None
) -> dict[str, Any]:
    """Run the validation phase; count the honest agents that alarm, by phase and reason.

    Implements: EX-17.
    """
    found = validate(program, state, transcripts, fresh_secrets(program))
    if recording is not None:
        record(recording, transcripts, found)
    counts: Counter[tuple[str, str]] = Counter()
    for agent in program.honest:
        counts.update({(raised.phase, raised.alarm.name) for raised in found.alarms[agent]})
    return {
        "honest": len(program.honest),
        "valid": sum(found.valid[agent] for agent in program.honest),
        "alarms": [
            {"phase": phase, "reason": reason, "agents": agents}
            for (phase, reason), agents in sorted(counts.items())
        ],
    }


@attrs.frozen(eq=False)
class LearningPart:
    """What a job needs to learn; the first process of the team alone touches the folder.

    `every` is how many rounds lie between two checkpoints; with `validated` transcripts are kept,
    in so many bytes of `memory` before there are files.
    """

    program: Program
    experiment: Experiment
    folder: Path
    team: Team
    every: int
    validated: bool
    memory: int

    @property
    def whole(self) -> Program:
        """The program with all agents in one process."""
        return attrs.evolve(self.program, shard=Whole(self.program.graph.agents))

    def left(self) -> tuple[State, TranscriptWriter | None]:
        """The state to go on with, and in the first process where the transcripts go.

        A checkpoint holds the state of all agents, so that any number of processes can go on.

        Implements: EX-14, EX-18.
        """
        found: list[tuple[State, TranscriptWriter | None]] = []

        def look() -> int:
            found.append(self._found())
            return found[0][0].t

        t = self.team.tell(look)
        writer = found[0][1] if found else None
        if self.team.processes == 1:
            return found[0]
        if t == 0:
            return start(self.program), writer
        path = self.folder / CHECKPOINT
        data = self.team.hand_out(path.read_bytes() if self.team.first else b"")
        state = found[0][0] if found else self._loaded(data)
        return divided(self.program, state), writer

    def _found(self) -> tuple[State, TranscriptWriter | None]:
        """The state of the last checkpoint, its files cut to match; the start if there is none."""
        path, curve = self.folder / CHECKPOINT, self.folder / CURVE
        experiment = self.experiment
        if path.is_file():
            state = checkpoint.load(path, self.whole)
            if cut_curve(curve, state.t, experiment.evaluation.rounds(experiment.rounds)):
                try:
                    return state, self._writer(state.t)
                except TranscriptError:
                    pass  # the files are not those of the checkpoint: begin anew
        curve.unlink(missing_ok=True)
        return start(self.whole), self._writer(0)

    def _writer(self, t: int) -> TranscriptWriter | None:
        if not self.validated:
            return None
        return resume(self.folder / TRANSCRIPTS, self.whole, t, self.memory)

    def _loaded(self, data: bytes) -> State:
        """The state in a checkpoint that was handed over."""
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / CHECKPOINT
            path.write_bytes(data)
            return checkpoint.load(path, self.whole)

    def learn(
        self, state: State, writer: TranscriptWriter | None, watch: Watch, stop: Stop
    ) -> State:
        """Go on to the last round, or to the one in which an honest agent leaves the range.

        All processes stop after the same round if any of them is asked to, or if what started
        it has gone.

        Implements: EX-14, EX-16, EX-18.
        """
        program, name = self.program, self.folder.name
        evaluated = set(self.experiment.evaluation.rounds(program.rounds))
        while state.t < program.rounds and not diverged(program, state):
            if self.team.any(stop() or self.team.abandoned):
                self._save(state, writer)
                raise StoppedError(f"{name} stopped after round {state.t}")
            state, said = advance(program, state)
            if writer is not None:
                writer.append(said)
            if state.t in evaluated and not diverged(program, state):
                self._evaluate(state)
            if state.t % self.every == 0 and state.t < program.rounds:
                self._save(state, writer)
            watch(name, state.t)
        return state

    def _evaluate(self, state: State) -> None:
        losses = self.program.shard.gather(state.losses)
        if self.team.first:
            row = evaluate(self.whole, attrs.evolve(state, losses=losses))
            append_row(self.folder / CURVE, self.folder.name, row)

    def _save(self, state: State, writer: TranscriptWriter | None) -> None:
        everything = gathered(self.program, state)
        if writer is not None:
            writer.sync()
        if self.team.first:
            checkpoint.save(self.folder / CHECKPOINT, everything)


@attrs.frozen(eq=False)
class Work:
    """What all jobs of an experiment share; only the first of the team touches the directory.

    `header` is what the results are made with; only with it are calibration runs kept and found.
    """

    directory: Path
    experiment: Experiment
    dataset: Dataset
    options: Options
    team: Team = ALONE
    header: Mapping[str, Any] | None = None

    def kept(self, job: Job) -> tuple[KeptRuns, dict[str, Any]] | None:
        """Where a calibration run may be kept, and under what content; None for other runs.

        Implements: EX-14.
        """
        if self.options.cache is None or self.header is None or job.purpose == "measure":
            return None
        return KeptRuns(self.options.cache), content(self.header, job)


Finish = Callable[[Work, Job, Path, Watch, Stop], dict[str, Any]]
"""Learns to the end in the folder of a job, and writes the summary."""


def run_job(
    work: Work, job: Job, watch: Watch, stop: Stop, finish: Finish | None = None
) -> dict[str, Any]:
    """The summary of a job: read if it is there, else computed from its last checkpoint on.

    Implements: EX-14, EX-18.
    """
    folder = job_directory(work.directory, job.name)
    with contextlib.ExitStack() as held:
        found = work.team.tell(lambda: _found(work, job, folder, held, watch))
        if found is None:
            found = (finish or _finished)(work, job, folder, watch, stop)
        if work.team.first:
            _clear(folder)
    return found


def _found(
    work: Work, job: Job, folder: Path, held: contextlib.ExitStack, watch: Watch
) -> dict[str, Any] | None:
    """Hold the folder of a job; its summary, if it is finished or kept from another experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    held.enter_context(locked(folder, wait=True))
    found, place = read_summary(work.directory, job.name), work.kept(job)
    if found is not None or place is None:
        return found
    runs, wanted = place
    run = runs.find(wanted, job)
    if run is None:
        return None
    (folder / CURVE).unlink(missing_ok=True)  # of a job that was begun here
    for row in run.rows:
        append_row(folder / CURVE, job.name, row)
    write_summary(folder, run.summary)
    watch(job.name, run.summary["rounds"])
    return dict(run.summary)


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """The end of a job, written once.

    Implements: EX-14.
    """
    replace_file(folder / SUMMARY, json.dumps(summary, indent=1) + "\n")


def _clear(folder: Path) -> None:
    """Remove what only an unfinished job needs, and what a kill has left behind."""
    states = CHECKPOINT, VALIDATED, AFTER
    partial = (f"{name}.partial" for name in states)
    for name in (*states, *partial, *(f"{name}.tmp" for name in (CURVE, SEGMENTS, SUMMARY))):
        (folder / name).unlink(missing_ok=True)
    for left in (folder / TRANSCRIPTS, *folder.glob(".recording-*")):
        shutil.rmtree(left, ignore_errors=True)


def _finished(work: Work, job: Job, folder: Path, watch: Watch, stop: Stop) -> dict[str, Any]:
    """Learn to the end, validate where that is asked for, and write the summary."""
    begun, whole = time.perf_counter(), program_of(work, job)
    agents = whole.graph.agents
    program = attrs.evolve(whole, shard=share(work.team, agents, work.options.chunk_of(agents)))
    every = work.options.checkpoint_every
    rounds = LearningPart(
        program=program,
        experiment=work.experiment,
        folder=folder,
        team=work.team,
        every=every,
        validated=_validated(work, job),
        memory=work.options.memory,
    )
    first, writer = rounds.left()
    with contextlib.nullcontext() if writer is None else contextlib.closing(writer):
        last = gathered(program, rounds.learn(first, writer, watch, stop))
        found = work.team.tell(lambda: _ended(whole, work, job, last, writer))
    if work.team.first:
        seconds = round(time.perf_counter() - begun, 3)
        note_time(
            work.directory,
            job=job.name,
            rounds=last.t - first.t,
            seconds=seconds,
            processes=work.team.processes,
        )
    return found


def program_of(work: Work, job: Job) -> Program:
    """The program of a job, all agents in one process.

    Implements: EX-18.
    """
    device = prepare_process(work.options, work.team)
    weightings = _weightings(work, job)
    program = build_program(work.experiment, job, work.dataset, device, weightings)
    return attrs.evolve(
        program,
        model=PerAgentLosses(program.model) if asks_for_losses(job.rule) else program.model,
        chunk=work.options.chunk_of(program.graph.agents),
        estimate="agents" if _validated(work, job) else program.estimate,
    )


def _validated(work: Work, job: Job) -> bool:
    return work.experiment.validates(job.rule) and job.purpose == "measure"


def _ended(
    program: Program, work: Work, job: Job, last: State, writer: TranscriptWriter | None
) -> dict[str, Any]:
    """Validate where that is asked for, and write the summary."""
    folder = job_directory(work.directory, job.name)
    found = summary_of(program, job, last)
    found["final"] = None if found["lost"] else last_row(work.directory, job.name)
    if writer is not None and not found["lost"]:
        recording = folder / RECORDING if work.options.record else None
        found["validation"] = verdict(program, last, writer.transcripts(), recording)
    write_summary(folder, found)
    if (place := work.kept(job)) is not None:
        runs, wanted = place
        runs.keep(wanted, KeptRun(found, tuple(read_rows(work.directory, job.name))))
    return found


def last_row(directory: Path, name: str) -> dict[str, Any]:
    """The last line of a curve; what is not a number is null, as JSON has it."""
    return finite(read_rows(directory, name)[-1])


def finite(row: CurveRow) -> dict[str, Any]:
    """The numbers of a row; what is not finite is null."""
    found = attrs.asdict(row)
    return {key: value if math.isfinite(value) else None for key, value in found.items()}


def _weightings(work: Work, job: Job) -> tuple[Weighting, ...]:
    """The checks of a job: calibrated where it is validated, else such that nothing alarms.

    Implements: EX-10, EX-17.
    """
    experiment = work.experiment
    gammas = experiment.detection.gammas
    if not gammas or not experiment.measures(job.rule):
        return ()
    if job.purpose != "measure" or not experiment.validates(job.rule):
        return measuring_weightings(experiment)
    named = [other.name for other in jobs(experiment) if other.purpose != "measure"]
    found = work.team.tell(lambda: [read_summary(work.directory, name) for name in named])
    summaries = [summary for summary in found if summary is not None]
    return tuple(thresholds(calibration_setting(experiment), summaries).values())


def summary_of(program: Program, job: Job, state: State) -> dict[str, Any]:
    """What a job ended with; a diverged one has no statistics.

    Implements: EX-12, EX-14, EX-16.
    """
    lost = diverged(program, state)
    weightings = () if lost else program.parameters.weightings
    return {
        "job": job.name,
        "purpose": job.purpose,
        "rule": described(job.rule),
        "attack": described(job.attack),
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
