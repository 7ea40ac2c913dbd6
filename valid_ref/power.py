"""How much harm can an attack do without an alarm? A search over shapes of attacks.

Every attack here keeps to honest code except for its gradients: a Byzantine agent adds a push to
the gradient that honest code would take, so that all local checks pass and only the norm bounds
and the tests of GlobalValidate can see it. A push is a direction, a course over the rounds, and a
strength. For each direction and course the most harmful push that nobody sees is searched for.
"""

import enum
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from valid_ref.adversary.attack import Deviation
from valid_ref.document import DocumentError, read_json, structure, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.execution import execute
from valid_ref.guarantees.admissible import distance_to_admissible
from valid_ref.guarantees.outcome import Judgement, judge
from valid_ref.inputs import read_text
from valid_ref.lattice import FloatVector, GradientSource, from_lattice
from valid_ref.losses import Problem
from valid_ref.protocols.global_validate import statistic_alarms
from valid_ref.protocols.valid import Private
from valid_ref.scenario.build import Prepared
from valid_ref.scenario.rehearse import LearnedTogether, learn_together
from valid_ref.scenario.scenario import scenario_text

COARSE, FINE = 20, 7
"""How many strengths are tried over the whole range, and then between seen and unseen."""


class PowerError(ValidRefError):
    """A scenario whose attacks cannot be searched."""

    default_clause = "AN-19"


class Course(enum.Enum):
    """How strong the push is in round t of T: a factor from -1 to 1."""

    CONSTANT = "constant"
    EARLY = "early"
    """The first half."""
    LATE = "late"
    """The last quarter."""
    RISING = "rising"
    """t/T."""
    FALLING = "falling"
    """1 - t/T."""
    OSCILLATING = "oscillating"
    """Two full waves."""
    ALTERNATING = "alternating"
    """+1 and -1 by turns."""
    BALANCED = "balanced"
    """+1 at first, then so much less than 0 that the weighted sum over all rounds is 0."""


def course(kind: Course, weights: Sequence[int]) -> list[float]:
    """The factor of every round; `weights` are those of the test that a balanced push evades."""
    T = len(weights)
    moments = np.arange(1, T + 1) / T
    shapes: Mapping[Course, Callable[[], Any]] = {
        Course.CONSTANT: lambda: np.ones(T),
        Course.EARLY: lambda: np.where(moments <= 0.5, 1.0, 0.0),
        Course.LATE: lambda: np.where(moments > 0.75, 1.0, 0.0),
        Course.RISING: lambda: moments,
        Course.FALLING: lambda: 1 - moments,
        Course.OSCILLATING: lambda: np.sin(4 * math.pi * moments),
        Course.ALTERNATING: lambda: np.where(np.arange(T) % 2 == 0, 1.0, -1.0),
        Course.BALANCED: lambda: _balanced(weights),
    }
    return [float(factor) for factor in shapes[kind]()]


def _balanced(weights: Sequence[int]) -> list[float]:
    """+1 until about half of the weight has passed, then minus what makes the sum 0."""
    total, passed, turn = sum(weights), 0, 0
    while 2 * passed < total and turn < len(weights) - 1:
        passed += weights[turn]
        turn += 1
    rest = total - passed
    factor = passed / rest if rest else 0.0
    largest = max(1.0, factor)
    return [1 / largest] * turn + [-factor / largest] * (len(weights) - turn)


@attrs.frozen
class Push:
    """One attack to be tried: whose gradients, along which direction, with which course."""

    course: Course
    direction: str
    vector: tuple[float, ...]
    repeat: int


@attrs.frozen
class Found:
    """The most harmful push of its kind that nobody saw, and what it did.

    `harm` is the squared distance of the honest models from the admissible set, as in outcome b;
    `unseen` says whether any strength went unseen; `limit` is the next strength that was tried.
    """

    course: Course
    direction: str
    repeat: int
    unseen: bool
    strength: float
    limit: float
    harm: float
    moved: float
    """Squared distance of the mean honest model from where it ends without an attack."""


@attrs.frozen
class Confirmed:
    """The most harmful push run again by the whole protocol, and what is certified about it."""

    found: Found
    alarms: int
    judgement: Judgement


def pushes(prepared: Prepared, *, directions: int, repeats: int) -> list[Push]:
    """All pushes of a search: every course along every direction, with other mini-batches again.

    The directions are the axes along which honest curvature is least, where a push moves the
    model most, each with both signs.
    """
    if not prepared.byzantine:
        raise PowerError("there is no Byzantine agent whose attacks could be searched")
    honest = [v for v in range(prepared.parameters.graph.agents) if v not in prepared.byzantine]
    if not honest:
        raise PowerError("no honest agent is left", clause="AD-1")
    optimum = prepared.problem.minimiser()
    hessian = np.sum([prepared.problem.losses[v].hessian_at(optimum) for v in honest], axis=0)
    _curvatures, axes = np.linalg.eigh(hessian)
    chosen = axes.T[: max(1, min(directions, len(axes)))]
    return [
        Push(kind, f"{sign}{index}", tuple((factor * axis).tolist()), repeat)
        for repeat in range(repeats)
        for index, axis in enumerate(chosen)
        for sign, factor in (("+", 1.0), ("-", -1.0))
        for kind in Course
    ]


def search(prepared: Prepared, push: Push) -> Found:
    """The most harmful unseen push of this kind: a grid of strengths, then a finer one."""
    largest = 4 * _largest_gradient(prepared)
    grid = [largest * 2.0 ** (-index) for index in range(COARSE)][::-1]
    tried = _try(prepared, push, [0.0, *grid])
    base = tried[0][1]
    unseen = [index for index, (seen, _one) in enumerate(tried) if not seen and index > 0]
    if not unseen:
        return _found(prepared, push, None, grid[0], base)
    best = max(unseen, key=lambda index: _harm(prepared, tried[index][1]))
    low = grid[best - 1]
    high = grid[best] if best < len(grid) else 2 * low
    finer = [low * (high / low) ** (step / (FINE + 1)) for step in range(1, FINE + 1)]
    more = [
        (strength, one)
        for strength, (seen, one) in zip(finer, _try(prepared, push, finer), strict=True)
        if not seen
    ]
    candidates = [(low, tried[best][1]), *more]
    strongest = max(candidates, key=lambda pair: _harm(prepared, pair[1]))
    seen_from = min((s for s in [*finer, high] if s > strongest[0]), default=high)
    return _found(prepared, push, strongest, seen_from, base)


def _found(
    prepared: Prepared,
    push: Push,
    strongest: tuple[float, LearnedTogether | None] | None,
    limit: float,
    base: LearnedTogether | None,
) -> Found:
    strength, learned = strongest if strongest is not None else (0.0, base)
    moved = 0.0
    if learned is not None and base is not None:
        moved = float(np.sum((_mean(prepared, learned) - _mean(prepared, base)) ** 2))
    return Found(
        push.course,
        push.direction,
        push.repeat,
        unseen=strongest is not None,
        strength=strength,
        limit=limit,
        harm=_harm(prepared, learned),
        moved=moved,
    )


def _largest_gradient(prepared: Prepared) -> float:
    """The longest gradient of any agent at the start and at the optimum."""
    problem = prepared.problem
    points = np.zeros(problem.dimension), problem.minimiser()
    lengths = [np.linalg.norm(loss.gradient(x)) for loss in problem.losses for x in points]
    return max(1e-6, float(max(lengths)))


def _try(
    prepared: Prepared, push: Push, strengths: Sequence[float]
) -> list[tuple[bool, LearnedTogether | None]]:
    """For every strength whether somebody sees it, and how the learning phase ended."""
    found = []
    for begin in range(0, len(strengths), 16):
        some = strengths[begin : begin + 16]
        sources = [_sources(prepared, push, strength) for strength in some]
        found += [(_seen(prepared, o), o) for o in learn_together(prepared.parameters, sources)]
    return found


def _repeated(problem: Problem, repeat: int) -> Problem:
    """The run's own mini-batches, or those of another run with the same thresholds."""
    if repeat == 0 or problem.coins is None:
        return problem
    return attrs.evolve(problem, coins=problem.coins.child("power", repeat))


def _sources(prepared: Prepared, push: Push, strength: float) -> list[GradientSource]:
    problem = _repeated(prepared.problem, push.repeat)
    weights = prepared.parameters.weightings[0].weights if prepared.parameters.weightings else ()
    factors = course(push.course, weights or (1,) * prepared.parameters.lattice.schedule.rounds)
    added = [strength * factor * np.array(push.vector) for factor in factors]
    return [
        pushed(problem.gradient_source(agent), added)
        if agent in prepared.byzantine
        else problem.gradient_source(agent)
        for agent in range(prepared.parameters.graph.agents)
    ]


def pushed(source: GradientSource, added: Sequence[FloatVector]) -> GradientSource:
    """The same gradients with something added in every round."""

    def gradient(t: int, point: FloatVector) -> FloatVector:
        total: FloatVector = source(t, point) + added[t - 1]
        return total

    return gradient


def _seen(prepared: Prepared, learned: LearnedTogether | None) -> bool:
    """Whether norm checks or statistics alarm; nothing else can.

    Implements: GV-5, GV-6, GV-13, LV-2.
    """
    if learned is None or not learned.within_bounds:
        return True
    pairs = zip(prepared.parameters.weightings, learned.statistics, strict=True)
    return any(statistic_alarms(prepared.parameters, w, *found) for w, found in pairs)


def _honest_models(prepared: Prepared, learned: LearnedTogether) -> list[FloatVector]:
    precision = prepared.parameters.lattice.precision
    agents = range(prepared.parameters.graph.agents)
    return [
        from_lattice(learned.models[v], precision) for v in agents if v not in prepared.byzantine
    ]


def _mean(prepared: Prepared, learned: LearnedTogether) -> FloatVector:
    mean: FloatVector = np.mean(_honest_models(prepared, learned), axis=0)
    return mean


def _harm(prepared: Prepared, learned: LearnedTogether | None) -> float:
    """The squared distance from the admissible set, plus the disagreement of honest models.

    Implements: VA-5.
    """
    if learned is None:
        return 0.0
    models = _honest_models(prepared, learned)
    mean = _mean(prepared, learned)
    spread = float(np.mean([np.sum((model - mean) ** 2) for model in models]))
    honest = [v for v in range(prepared.parameters.graph.agents) if v not in prepared.byzantine]
    distance = distance_to_admissible(prepared.problem, honest, _delta(prepared), mean)
    return distance.value**2 + spread


def _delta(prepared: Prepared) -> float:
    if prepared.delta is None:
        raise PowerError("delta is not known: name it in the scenario", clause="AN-19")
    return prepared.delta


def confirm(prepared: Prepared, push: Push, found: Found) -> Confirmed:
    """The same push by the whole protocol, from the first gradient to the verdict."""
    sources = _sources(prepared, push, found.strength)
    private = {
        agent: Private(source, prepared.private[agent].key) for agent, source in enumerate(sources)
    }
    execution = execute(
        prepared.parameters,
        private,
        byzantine=prepared.byzantine,
        adversary=Deviation().adversary,
    )
    judgement = judge(
        execution, prepared.problem, delta=prepared.delta, eps_success=prepared.eps_success
    )
    honest = [execution.states[v].memory.alarms for v in execution.honest]
    return Confirmed(found, sum(map(len, honest)), judgement)


@attrs.frozen
class Searches:
    """The results of searches, kept in a file as they come, one line each.

    The file belongs to one scenario: its first line names it, and another one is refused.
    """

    path: Path

    def all(
        self,
        prepared: Prepared,
        wanted: Sequence[Push],
        watch: Callable[[int, int], None] | None = None,
    ) -> list[Found]:
        """Every search, those that are in the file from there.

        An interrupted search goes on where it stopped.
        """
        known = self._read(prepared)
        for done, push in enumerate(wanted):
            place = (push.course, push.direction, push.repeat)
            if place not in known:
                known[place] = search(prepared, push)
                self._append(json.dumps(unstructure(known[place])))
            if watch is not None:
                watch(done + 1, len(wanted))
        return [known[push.course, push.direction, push.repeat] for push in wanted]

    def _read(self, prepared: Prepared) -> dict[tuple[Course, str, int], Found]:
        first = json.dumps({"scenario": scenario_digest(prepared)})
        lines: list[str] = []
        if self.path.exists():
            lines = read_text(self.path, PowerError, "VA-6").splitlines()
        if not lines:
            self._append(first)
        elif lines[0] != first:
            raise PowerError(
                f"the first line of {self.path} does not name this scenario: it has the searches "
                "of another one, or is damaged",
                clause="VA-6",
            )
        found = {}
        for line in lines[1:]:
            try:
                one: Found = structure(Found, read_json(line))
            except DocumentError:
                continue  # a line that was cut off is searched again
            found[one.course, one.direction, one.repeat] = one
        return found

    def _append(self, line: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise PowerError(f"cannot write {self.path}: {error}", clause="VA-6") from None


def scenario_digest(prepared: Prepared) -> str:
    """SHA-256 of the scenario's text."""
    return hashlib.sha256(scenario_text(prepared.scenario).encode()).hexdigest()


def worst(found: Sequence[Found]) -> Iterator[Found]:
    """For every course the unseen push with the most harm, in the order of courses."""
    for kind in Course:
        unseen = [one for one in found if one.course is kind and one.unseen]
        if unseen:
            yield max(unseen, key=lambda one: one.harm)
