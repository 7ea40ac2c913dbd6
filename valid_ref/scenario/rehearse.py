"""Rehearsals: honest learning phases whose statistics set the thresholds.

`rehearse_one` runs the machine of LearnModel; `rehearse` gives the same integers for many
rehearsals at a time, and `Rehearsals` keeps them in a file, so that none is run twice.
"""

import concurrent.futures
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.document import DocumentError, read_json, structure, unstructure
from valid_ref.guarantees.calibration import CalibrationError, Statistics
from valid_ref.kernels import steps
from valid_ref.kernels.sums import WeightedTotals, squared_norms
from valid_ref.lattice import GradientSource, LatticeError
from valid_ref.losses import Problem
from valid_ref.machine import run_machine
from valid_ref.protocols.global_validate import squares
from valid_ref.protocols.learn import LearnModel
from valid_ref.protocols.measures import Fast
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.workers import Workers

AT_ONCE = 16
"""So many rehearsals are run together: enough to share the cost of a round."""


class Rehearse(Protocol):
    """Whoever can say what honest runs with other coins would show."""

    def __call__(
        self, parameters: ValidParameters, problem: Problem, indices: Sequence[int]
    ) -> list[Statistics]:
        """The statistics of these rehearsals, in this order."""


def rehearse_one(parameters: ValidParameters, problem: Problem, index: int) -> Statistics:
    """The statistics of one rehearsal, by the machine of LearnModel.

    Implements: GU-12.
    """
    graph, measures = parameters.graph, Fast(parameters)
    other = problem.rehearsal(index)
    machine = LearnModel(
        graph,
        parameters.lattice,
        parameters.start_model,
        parameters.reading,
        arithmetic=measures.arithmetic,
    )
    private = {agent: other.gradient_source(agent) for agent in range(graph.agents)}
    result = run_machine(graph, machine, private)
    if any(state.alarms for state in result.states.values()):
        raise _left_the_range(index)
    own = [measures.estimate(machine.transcripts(s).own) for s in result.states.values()]
    return tuple(measures.statistics(i, own) for i in range(len(parameters.weightings)))


def rehearse(
    parameters: ValidParameters, problem: Problem, indices: Sequence[int]
) -> list[Statistics]:
    """The statistics of these rehearsals, many at a time.

    Implements: GU-12.
    """
    if not parameters.reading.P17:
        return [rehearse_one(parameters, problem, index) for index in indices]
    found: list[Statistics] = []
    for begin in range(0, len(indices), AT_ONCE):
        found += _together(parameters, problem, indices[begin : begin + AT_ONCE])
    return found


def _together(
    parameters: ValidParameters, problem: Problem, indices: Sequence[int]
) -> list[Statistics]:
    agents = range(parameters.graph.agents)
    sources = [[problem.rehearsal(i).gradient_source(v) for v in agents] for i in indices]
    learned = learn_together(parameters, sources)
    if any(one is None for one in learned):
        left = (index for index, one in zip(indices, learned, strict=True) if one is None)
        raise _left_the_range(*left)
    return [one.statistics for one in learned if one is not None]


@attrs.frozen(eq=False)
class LearnedTogether:
    """What one of several learning phases ended with."""

    statistics: Statistics
    models: npt.NDArray[np.int64]
    """x_v(T), one row for each agent."""
    within_bounds: bool
    """Whether no message breaks the norm bounds; in floats, so almost exactly."""


def learn_together(
    parameters: ValidParameters, sources: Sequence[Sequence[GradientSource]]
) -> list[LearnedTogether | None]:
    """Learning phases in which nobody deviates but by its gradients; one list of sources each.

    All agents of all phases are rows of one array: every entry is updated alone. None stands for
    a phase in which an update left the lattice.
    """
    lattice, n, d = parameters.lattice, parameters.graph.agents, parameters.lattice.dimension
    neighbours = _neighbour_matrix(parameters)
    degrees = neighbours.sum(axis=1)[:, np.newaxis]
    flat = [source for several in sources for source in several]
    models = np.tile(parameters.start_model, (len(sources), n, 1))
    totals = WeightedTotals([w.weights for w in parameters.weightings], models.size)
    lengths = _Lengths(parameters, len(flat))
    bounded = np.full(len(sources), fill_value=True)
    for t in range(1, lattice.schedule.rounds + 1):
        mixed = lattice.schedule.a(t) * (neighbours @ models - degrees * models)
        Y = ((models << lattice.precision.step_bits) + mixed).reshape(-1)
        points = steps.evaluation_point(lattice, Y).reshape(-1, d)
        drawn = [source(t, point) for source, point in zip(flat, points, strict=True)]
        try:
            x, gamma = steps.step(lattice, t, Y, np.concatenate(drawn))
        except LatticeError:
            return _one_by_one(parameters, sources)
        gradients = gamma // lattice.schedule.A(t)
        totals.add(gradients[np.newaxis, :])
        lengths.add(gradients.reshape(-1, d))
        models = x.reshape(models.shape)
        bounded &= _within_bounds(parameters, t, models, gradients.reshape(models.shape))
    shape = (len(sources), n, d)
    by_weighting = [
        _statistics(entries, shape, printed)
        for entries, printed in zip(totals.integers(), lengths.totals, strict=True)
    ]
    return [
        LearnedTogether(tuple(one[run] for one in by_weighting), models[run], bool(bounded[run]))
        for run in range(len(sources))
    ]


def _one_by_one(
    parameters: ValidParameters, sources: Sequence[Sequence[GradientSource]]
) -> list[LearnedTogether | None]:
    """The same when a phase leaves the lattice: the others are not to suffer."""
    if len(sources) == 1:
        return [None]
    return [one for several in sources for one in learn_together(parameters, [several])]


def _within_bounds(
    parameters: ValidParameters,
    t: int,
    models: npt.NDArray[np.int64],
    gradients: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """For each phase whether all its messages of this round pass the norm checks.

    Implements: LV-2.
    """
    bounds, found = parameters.bounds, np.full(len(models), fill_value=True)
    if bounds is None:
        return found
    for vectors, squared in (
        (models, bounds.model_squared[t - 1]),
        (gradients, bounds.gradient_squared[t - 1]),
    ):
        lengths = (vectors.astype(np.float64) ** 2).sum(axis=2)
        found &= (lengths <= float(squared)).all(axis=1)
    return found


def _neighbour_matrix(parameters: ValidParameters) -> npt.NDArray[np.int64]:
    matrix = np.zeros((parameters.graph.agents,) * 2, np.int64)
    for u, v in parameters.graph.edges:
        matrix[u, v] = matrix[v, u] = 1
    return matrix


class _Lengths:
    """lhat of every row under every weighting, as printed; nothing where P27 is repaired."""

    def __init__(self, parameters: ValidParameters, rows: int) -> None:
        self.weights = [weighting.weights for weighting in parameters.weightings]
        self.printed, self.rounds = not parameters.reading.P27, 0
        self.totals = [[0] * rows if self.printed else [] for _weights in self.weights]

    def add(self, gradients: npt.NDArray[np.int64]) -> None:
        """The gradients of the next round."""
        if self.printed:
            lengths = [math.isqrt(square) for square in squared_norms(gradients)]
            for weights, total in zip(self.weights, self.totals, strict=True):
                for row, length in enumerate(lengths):
                    total[row] += weights[self.rounds] * length
        self.rounds += 1


def _statistics(
    entries: list[int], shape: tuple[int, int, int], printed: list[int]
) -> list[tuple[int, int]]:
    """|sum_u ghat_u|^2 and sum_u |ghat_u|^2 of every rehearsal; as printed with lhat_u^2."""
    runs, n, d = shape
    found = []
    for run in range(runs):
        own = entries[run * n * d : (run + 1) * n * d]
        lengths = printed[run * n : (run + 1) * n] if printed else own
        found.append((squares(sum(own[j::d]) for j in range(d)), squares(lengths)))
    return found


def _left_the_range(*indices: int) -> CalibrationError:
    numbers = ", ".join(map(str, indices))
    return CalibrationError(
        f"an update left the range of the lattice in a rehearsal ({numbers}): honest runs of this "
        "scenario alarm"
    )


@attrs.frozen
class Kept:
    """One line of a file of rehearsals."""

    index: int
    statistics: tuple[tuple[int, int], ...]


Watch = Callable[[int, int], None]
"""Told how many rehearsals are done, and of how many."""


@attrs.frozen
class Rehearsals:
    """Rehearsals that are kept in a file, one line each, and run by several processes.

    `document` is the text from which another process can make the same problem; it is also what
    the file is named after, so that another problem never finds these lines. An interrupted
    calibration goes on where it stopped. Without a directory nothing is kept.

    Implements: GU-12.
    """

    directory: Path | None
    document: str
    work: Callable[[str, Sequence[int]], list[Statistics]]
    jobs: int = 1
    watch: Watch | None = None

    def __call__(
        self, parameters: ValidParameters, problem: Problem, indices: Sequence[int]
    ) -> list[Statistics]:
        """The statistics of these rehearsals; those that are missing are run and kept."""
        known = self._read(len(parameters.weightings))
        missing = [index for index in indices if index not in known]
        pieces = [missing[begin : begin + AT_ONCE] for begin in range(0, len(missing), AT_ONCE)]
        done = len(indices) - len(missing)
        for piece, found in self._run(parameters, problem, pieces):
            known.update(zip(piece, found, strict=True))
            self._append([Kept(i, one) for i, one in zip(piece, found, strict=True)])
            done += len(piece)
            if self.watch is not None:
                self.watch(done, len(indices))
        return [known[index] for index in indices]

    def _run(
        self, parameters: ValidParameters, problem: Problem, pieces: Sequence[Sequence[int]]
    ) -> Iterator[tuple[Sequence[int], list[Statistics]]]:
        if self.jobs == 1 or len(pieces) < 2:
            for piece in pieces:
                yield piece, rehearse(parameters, problem, piece)
            return
        with Workers(self.jobs) as pool:
            waiting = {pool.submit(self.work, self.document, piece): piece for piece in pieces}
            for one in concurrent.futures.as_completed(waiting):
                yield waiting[one], one.result()

    @property
    def path(self) -> Path | None:
        """The file, named by the SHA-256 of the document."""
        name = hashlib.sha256(self.document.encode()).hexdigest()
        return None if self.directory is None else self.directory / f"{name}.jsonl"

    def _read(self, weightings: int) -> dict[int, Statistics]:
        """What the file has; a last line that was cut off, and whatever is no such line, is not."""
        if self.path is None:
            return {}
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return {}
        found: dict[int, Statistics] = {}
        for line in lines:
            try:
                kept: Kept = structure(Kept, read_json(line))
            except DocumentError:
                continue
            if len(kept.statistics) == weightings and min(map(min, kept.statistics)) >= 0:
                found[kept.index] = kept.statistics
        return found

    def _append(self, lines: list[Kept]) -> None:
        """A cache that cannot be written costs time, nothing else."""
        if self.path is None:
            return
        text = "".join(json.dumps(unstructure(line)) + "\n" for line in lines)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            return
