"""A run that is validated after every segment, and what follows an alarm.

Beside the files of any job its folder has `segments.jsonl`, a line for every segment that was
judged. Until the job ends there are also the state at the end of the last segment that was found
valid, and, after an alarm, the checkpoint of what follows.
"""

import contextlib
import json
import time
from pathlib import Path
from typing import Any, ClassVar

import attrs
import torch

from torch_backend import checkpoint
from torch_backend.config.experiment import Job, jobs
from torch_backend.distributed import Team
from torch_backend.engine import State, advance, diverged, start
from torch_backend.errors import BackendError, ConfigError
from torch_backend.job import (
    TRANSCRIPTS,
    Work,
    evaluate,
    finite,
    program_of,
    run_job,
    summary_of,
    verdict,
    write_summary,
)
from torch_backend.process import Stop, StoppedError, Watch
from torch_backend.program import Program
from torch_backend.results import (
    AFTER,
    CHECKPOINT,
    CURVE,
    SEGMENTS,
    VALIDATED,
    append_row,
    cut_curve,
    note_time,
    read_summary,
    replace_file,
)
from torch_backend.rules import Respond, ValidRule
from torch_backend.segments import (
    Groups,
    prefix,
    prefix_state,
    prefix_transcripts,
    segment_setting,
    segment_thresholds,
)
from torch_backend.transcripts import TranscriptError, TranscriptWriter, resume
from valid_ref.document import DocumentError, read_json, structure, unstructure


class ResponseError(BackendError):
    """Segments that cannot be read."""

    default_clause: ClassVar[str] = "EX-21"


@attrs.frozen
class AlarmCount:
    """So many honest agents have an alarm of this phase and reason."""

    phase: str
    reason: str
    agents: int


@attrs.frozen
class Segment:
    """How a segment was judged: its last round, and how many of the honest agents end valid.

    `lost` is the round in which an honest agent left the range, if any. `before` is the accuracy
    of the models that an alarm discards, where there are models.

    Implements: EX-21.
    """

    end: int
    lost: int | None
    honest: int
    valid: int
    alarms: tuple[AlarmCount, ...]
    before: float | None

    @property
    def alarmed(self) -> bool:
        """Whether an honest agent does not end valid."""
        return self.valid < self.honest

    def text(self) -> str:
        """The line of this segment."""
        return json.dumps(unstructure(self), sort_keys=True, separators=(",", ":")) + "\n"


def run_any(work: Work, job: Job, watch: Watch, stop: Stop) -> dict[str, Any]:
    """The summary of a job of any rule.

    Implements: EX-14, EX-21.
    """
    return run_job(work, job, watch, stop, finish=respond if responds(job) else None)


def responds(job: Job) -> bool:
    """Whether a job is validated after every segment."""
    return isinstance(job.rule, Respond)


def require_alone(team: Team, rules: tuple[object, ...]) -> None:
    """Refuse to share a run that responds among processes.

    Implements: EX-21.
    """
    if team.processes > 1 and any(isinstance(rule, Respond) for rule in rules):
        raise ConfigError(
            f"respond runs in one process, not in {team.processes}: start without torchrun, "
            "with --jobs for several at once",
            clause="EX-21",
        )


def respond(work: Work, job: Job, folder: Path, watch: Watch, stop: Stop) -> dict[str, Any]:
    """Learn, validate, respond, and write the summary.

    Implements: EX-21.
    """
    begun = time.perf_counter()
    run = _responding(work, job, folder)
    kept, state, done = run.go_on(watch, stop)
    found = summary_of(attrs.evolve(run.after, parameters=_unmeasured(run.after)), job, state)
    found["final"] = None if found["lost"] else finite(evaluate(run.after, state))
    found["response"] = run.account(kept, done)
    write_summary(folder, found)
    seconds = round(time.perf_counter() - begun, 3)
    note_time(work.directory, job=job.name, rounds=state.t, seconds=seconds, processes=1)
    return found


def _unmeasured(program: Program) -> Any:
    return attrs.evolve(program.parameters, weightings=())


def _responding(work: Work, job: Job, folder: Path) -> "Responding":
    rule = job.rule
    if not isinstance(rule, Respond):
        raise ConfigError(f"{job.name} does not respond", clause="EX-21")
    setting = segment_setting(work.experiment)
    named = [other.name for other in jobs(work.experiment) if other.purpose != "measure"]
    found = [read_summary(work.directory, name) for name in named]
    groups = segment_thresholds(setting, [one for one in found if one is not None])
    base = program_of(work, job)
    program = attrs.evolve(base, rule=ValidRule(), estimate="agents")
    after = attrs.evolve(base, rule=rule.after or ValidRule(), estimate="none")
    return Responding(
        work=work,
        job=job,
        folder=folder,
        program=program,
        after=after,
        stops=rule.after is None,
        ends=setting.ends,
        groups=groups,
    )


@attrs.frozen(eq=False)
class Responding:
    """A job that responds: `program` is that of the segments, `after` that of what follows.

    Implements: EX-21.
    """

    work: Work
    job: Job
    folder: Path
    program: Program
    after: Program
    stops: bool
    ends: tuple[int, ...]
    groups: Groups

    def go_on(self, watch: Watch, stop: Stop) -> tuple[State, State, list[Segment]]:
        """From what is in the folder to the last validated state, the last state and the verdicts.

        Implements: EX-14, EX-21.
        """
        done = self._read()
        kept = state = self._load(VALIDATED, self.program) or start(self.program)
        if done and done[-1].alarmed:
            fits = kept.t == (0, *self.ends)[len(done) - 1]
            if not fits or not self._cut(self._reached(done), done):
                return self._anew(watch, stop)
        else:
            later = self._load(CHECKPOINT, self.program)
            state = kept if later is None or later.t < kept.t else later
            done = [segment for segment in done if segment.end <= state.t]
            past = sum(end <= state.t for end in self.ends)
            if len(done) != past or not self._cut(state.t, done):
                return self._anew(watch, stop)
            self._write(done)
            try:
                writer = resume(
                    self.folder / TRANSCRIPTS, self.program, state.t, self.work.options.memory
                )
            except TranscriptError:
                return self._anew(watch, stop)
            with contextlib.closing(writer):
                kept, state, done = self._validated(
                    _light(kept), state, done, writer=writer, watch=watch, stop=stop
                )
        if done[-1].alarmed:
            state = self._followed(kept, done, watch, stop)
        return kept, state, done

    def _anew(self, watch: Watch, stop: Stop) -> tuple[State, State, list[Segment]]:
        """Begin again where the files do not belong together."""
        for name in (CHECKPOINT, VALIDATED, AFTER, SEGMENTS, CURVE):
            (self.folder / name).unlink(missing_ok=True)
        return self.go_on(watch, stop)

    def _load(self, name: str, program: Program) -> State | None:
        path = self.folder / name
        return checkpoint.load(path, program) if path.is_file() else None

    def _read(self) -> list[Segment]:
        """The lines that are whole."""
        path = self.folder / SEGMENTS
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        try:
            lines = text[: text.rfind("\n") + 1].splitlines()
            found = [structure(Segment, read_json(line)) for line in lines]
        except DocumentError as error:
            raise ResponseError(f"{path} is damaged ({error}); remove it to begin anew") from None
        return found

    def _write(self, done: list[Segment]) -> None:
        replace_file(self.folder / SEGMENTS, "".join(segment.text() for segment in done))

    def _expected(self, done: list[Segment]) -> tuple[int, ...]:
        """The rounds that a curve has: none after an honest agent was lost in a segment."""
        gone = {
            t
            for segment in done
            if segment.lost is not None
            for t in range(segment.lost, segment.end + 1)
        }
        rounds = self.work.experiment.evaluation.rounds(self.program.rounds)
        return tuple(t for t in rounds if t not in gone)

    def _reached(self, done: list[Segment]) -> int:
        """The round that what follows an alarm has reached."""
        found = self._load(AFTER, self.after)
        return done[-1].end if found is None else found.t

    def _cut(self, t: int, done: list[Segment]) -> bool:
        return cut_curve(self.folder / CURVE, t, self._expected(done))

    def _evaluated(self, program: Program, state: State) -> None:
        if state.t in self.work.experiment.evaluation.rounds(program.rounds):
            append_row(self.folder / CURVE, self.job.name, evaluate(program, state))

    def _validated(
        self,
        kept: State,
        state: State,
        done: list[Segment],
        *,
        writer: TranscriptWriter,
        watch: Watch,
        stop: Stop,
    ) -> tuple[State, State, list[Segment]]:
        """Learn and validate until there is an alarm or all rounds are done.

        The last state that was found valid comes first.

        Implements: EX-21.
        """
        program = self.program
        while state.t < program.rounds:
            if stop():
                self._save(CHECKPOINT, state, writer)
                raise StoppedError(f"{self.folder.name} stopped after round {state.t}")
            state, said = advance(program, state)
            lost = bool(diverged(program, state))
            if not lost:
                writer.append(said)
                self._evaluated(program, state)
            if lost or state.t in self.ends:
                done = [*done, self._judged(state, writer, len(done), lost=lost)]
                self._write(done)
                if done[-1].alarmed:
                    return kept, state, done
                self._save(VALIDATED, state, writer)
                kept = _light(state)
            elif state.t % self.work.options.checkpoint_every == 0:
                self._save(CHECKPOINT, state, writer)
            watch(self.folder.name, state.t)
        return kept, state, done

    def _save(self, name: str, state: State, writer: TranscriptWriter | None = None) -> None:
        if writer is not None:
            writer.sync()
        checkpoint.save(self.folder / name, state)

    def _judged(self, state: State, writer: TranscriptWriter, place: int, *, lost: bool) -> Segment:
        """Validate all rounds up to the end of a segment; a lost agent has alarmed already.

        Implements: EX-21, AR-14.
        """
        program, end = self.program, self.ends[place]
        if lost:
            reasons: dict[tuple[str, str], int] = {}
            for agent in program.honest:
                for key in {(r.phase, r.alarm.name) for r in state.alarms[agent]}:
                    reasons[key] = reasons.get(key, 0) + 1
            counts = tuple(AlarmCount(*key, agents) for key, agents in sorted(reasons.items()))
            return Segment(end, state.t, len(program.honest), 0, counts, None)
        size = len(self.groups[place])
        short = prefix(program, end, place, self.groups[place])
        found = verdict(
            short,
            prefix_state(short, state, slice(place * size, (place + 1) * size)),
            prefix_transcripts(short, writer.transcripts()),
            None,
        )
        alarmed = found["valid"] < found["honest"]
        return Segment(
            end=end,
            lost=None,
            honest=found["honest"],
            valid=found["valid"],
            alarms=tuple(AlarmCount(**one) for one in found["alarms"]),
            before=evaluate(program, state).accuracy if alarmed else None,
        )

    def _followed(self, kept: State, done: list[Segment], watch: Watch, stop: Stop) -> State:
        """Go on from the last validated state, which the discarded rounds have not touched.

        Their number is used up: T counts them. Where training stops the validated models stand.

        Implements: EX-21.
        """
        program, end = self.after, done[-1].end
        state = self._load(AFTER, program) or back(kept, program, end)
        if self.stops:
            state = attrs.evolve(state, t=program.rounds)
            if end < program.rounds:
                self._evaluated(program, state)
            watch(self.folder.name, state.t)
            return state
        while state.t < program.rounds and not diverged(program, state):
            if stop():
                self._save(AFTER, state)
                raise StoppedError(f"{self.folder.name} stopped after round {state.t}")
            state, _said = advance(program, state)
            if not diverged(program, state):
                self._evaluated(program, state)
            if state.t % self.work.options.checkpoint_every == 0 and state.t < program.rounds:
                self._save(AFTER, state)
            watch(self.folder.name, state.t)
        return state

    def account(self, kept: State, done: list[Segment]) -> dict[str, Any]:
        """What the summary says of the segments.

        Implements: EX-21, EX-23.
        """
        return {
            "segments": [unstructure(segment) for segment in done],
            "alarm": len(done) if done[-1].alarmed else None,
            "validated": {"round": kept.t, "accuracy": evaluate(self.program, kept).accuracy},
        }


def _light(state: State) -> State:
    """The state without what only validation needs."""
    return attrs.evolve(state, estimates=None)


def back(kept: State, program: Program, end: int) -> State:
    """The last validated state as that after the discarded segment, with no alarm.

    Implements: EX-21.
    """
    agents = program.graph.agents
    losses = torch.full_like(kept.losses, torch.nan)
    return attrs.evolve(
        _light(kept), t=end, silent=frozenset(), losses=losses, alarms=((),) * agents
    )
