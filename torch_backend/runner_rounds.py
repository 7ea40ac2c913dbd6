"""The rounds of a job: from its last checkpoint to the last round, in one process or several."""

import tempfile
from pathlib import Path

import attrs

from torch_backend import checkpoint
from torch_backend.config.experiment import Experiment
from torch_backend.distributed import divided, gathered
from torch_backend.distributed_team import Team
from torch_backend.engine import State, advance, diverged, start
from torch_backend.evaluate import evaluate
from torch_backend.process import Stop, StoppedError, Watch
from torch_backend.program import Program
from torch_backend.results import CHECKPOINT, CURVE, append_row, cut_curve
from torch_backend.shard import Whole
from torch_backend.transcripts import TranscriptError, TranscriptWriter, resume
from torch_backend.verdict import TRANSCRIPTS


@attrs.frozen(eq=False)
class Rounds:
    """What a job needs to learn; the first process of the team alone touches the folder.

    `every` is how many rounds lie between two checkpoints; with `validated` transcripts are kept.
    """

    program: Program
    experiment: Experiment
    folder: Path
    team: Team
    every: int
    validated: bool

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
        return resume(self.folder / TRANSCRIPTS, self.whole, t) if self.validated else None

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
