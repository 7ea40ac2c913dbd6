"""The verdict on a recording: conforms, weakened, diverges or cannot tell, and its outcome."""

import enum
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import attrs
import numpy as np

from valid_ref.document import unstructure
from valid_ref.errors import ValidRefError
from valid_ref.execution import Execution
from valid_ref.guarantees.outcome import Judgement, Outcome, judge
from valid_ref.lattice import FloatVector
from valid_ref.losses import Problem
from valid_ref.oracle.divergence import Divergence
from valid_ref.oracle.files import RecordingError, release
from valid_ref.oracle.header import Header, Losses
from valid_ref.oracle.read import Recording
from valid_ref.oracle.replay import AgentReplay, ConfirmedMessages, replayed
from valid_ref.printable import printable
from valid_ref.protocols.remembered import Replayed
from valid_ref.protocols.valid import ValidState
from valid_ref.protocols.weakened import checked_less, left_out
from valid_ref.scenario.build import build_losses
from valid_ref.scenario.parts import Logistic, Quadratics, RandomQuadratics, Ridge
from valid_ref.scenario.scenario import Scenario

MOST_NUMBERS = 10**7
"""Losses that need more numbers than this are not built from a header."""
LEAST, MOST = 1e-60, 1e60
"""Curvatures, gradients and delta beyond these are not computed with: their squares, and sums of
these over all agents, must neither vanish nor overflow."""
WORST_CONDITION = 1e6
"""beta / mu beyond which least squares in float64 say nothing."""


@attrs.frozen
class Findings:
    """The outcome, or why it is not known, and what it rests on.

    Implements: RE-11.
    """

    outcome: str | None
    reason: str
    honest_valid: tuple[int, ...]
    judgement: Judgement | None = None


def evaluate(
    recording: Recording, byzantine: frozenset[int], states: Mapping[int, ValidState]
) -> Findings:
    """The outcome of a run in which the honest agents conform.

    Implements: RE-11.
    """
    execution = Execution(recording.parameters, byzantine, (), states)
    valid, losses = execution.honest_valid, recording.header.losses
    if byzantine and not valid:
        judgement = Judgement(Outcome.C)
        return Findings("c", "every honest agent has an alarm", (), judgement)
    if losses is None:
        return Findings(None, "the losses are not recorded", valid)
    try:
        problem = recorded_problem(recording.header, losses)
        with np.errstate(over="raise", invalid="raise", divide="raise", under="ignore"):
            found = judge(execution, problem, delta=losses.delta, eps_success=losses.eps_success)
            check_finding(found, problem, losses.eps_success)
    except (ValidRefError, ArithmeticError, ValueError) as error:  # LinAlgError is a ValueError
        return Findings(None, f"the recorded losses cannot be used: {printable(error)}", valid)
    return Findings(found.outcome.value, "judged with the recorded losses", valid, found)


def recorded_problem(header: Header, losses: Losses) -> Problem:
    """The losses that a header describes; their size is checked before they are made.

    Implements: RE-7, RE-11.
    """
    n, d = header.agents, header.dimension
    dimension, numbers = _size(losses, n)
    if dimension != d or max(numbers, n * d * d) > MOST_NUMBERS:
        raise RecordingError(
            f"header.json: losses of dimension {dimension} for d = {d}", clause="RE-11"
        )
    scenario = Scenario(loss=losses.loss, seed=losses.seed, batch=losses.batch)
    with np.errstate(over="raise", invalid="raise", divide="raise", under="ignore"):
        problem = build_losses(scenario, n)
        if problem.dimension != d or len(problem.losses) != n:
            raise RecordingError("header.json: losses for another network", clause="RE-11")
        _check_range(problem, losses.delta)
    if not 0 < losses.eps_success < math.inf:
        raise RecordingError("header.json: eps_success is not positive", clause="MO-11")
    return problem


def _check_range(problem: Problem, delta: float) -> None:
    """Refuse losses that float64 cannot compute with: too steep, too flat, or nearly singular.

    Implements: RE-11.
    """
    mu, beta = problem.strong_convexity, problem.smoothness
    if not LEAST <= mu <= beta <= MOST:
        raise RecordingError(
            f"header.json: mu = {mu:g}, beta = {beta:g}: not within {LEAST:g}..{MOST:g}",
            clause="RE-11",
        )
    if beta > WORST_CONDITION * mu:
        raise RecordingError(f"header.json: beta / mu is above {WORST_CONDITION:g}", clause="RE-11")
    largest = max(_length(loss.gradient(np.zeros(problem.dimension))) for loss in problem.losses)
    if not largest <= MOST or not 0 <= delta <= MOST:
        raise RecordingError(f"header.json: a gradient or delta above {MOST:g}", clause="RE-11")


def _length(vector: FloatVector) -> float:
    return float(np.linalg.norm(vector))


def check_finding(found: Judgement, problem: Problem, eps_success: float) -> None:
    """Refuse a judgement that rests on numbers that are none, or on an optimum that is none.

    The computed optimum x is within |sum_v G_v(x)| / (n mu) of the true one; the root mean square
    distance of the models from the two differs by no more.

    Implements: RE-11.
    """
    numbers = (found.squared_distance, found.consensus_error)
    known = [number for number in numbers if number is not None]
    lasting = found.outcome is Outcome.FAILED or all(map(math.isfinite, known))
    if any(map(math.isnan, known)) or not lasting:
        raise RecordingError("a distance is no finite number", clause="RE-11")
    if found.outcome is not Outcome.A or found.squared_distance is None:
        return
    optimum, n, mu = problem.minimiser(), len(problem.losses), problem.strong_convexity
    gradients = [loss.gradient(optimum) for loss in problem.losses]
    at_zero = [loss.gradient(np.zeros_like(optimum)) for loss in problem.losses]
    sizes = sum(map(_length, at_zero)) + n * problem.smoothness * _length(optimum)
    rounding = 2.0**-50 * problem.dimension * sizes
    error = (_length(np.sum(gradients, axis=0)) + rounding) / (n * mu)
    if not math.sqrt(found.squared_distance) + error < math.sqrt(eps_success):
        raise RecordingError(
            f"the optimum is known to {error:g} only, too little to tell", clause="RE-11"
        )


def _size(losses: Losses, agents: int) -> tuple[int, int]:
    """The dimension of the losses and how many numbers they are made of."""
    loss = losses.loss
    if isinstance(loss, Quadratics):
        dimension = len(loss.agents[0].centre) if loss.agents else 0
        return dimension, 0
    if isinstance(loss, Ridge | Logistic):
        rows = loss.agents[0].features if loss.agents else ()
        return (len(rows[0]) if rows else 0), 0
    if isinstance(loss, RandomQuadratics):
        return loss.dimension, agents * loss.dimension**2
    return loss.dimension, agents * loss.dimension * loss.samples


class Status(enum.Enum):
    """Four values; what the oracle cannot decide is never called wrong.

    Implements: RE-8.
    """

    CONFORMS = "conforms"
    WEAKENED = "weakened"
    DIVERGES = "diverges"
    CANNOT_TELL = "cannot tell"


@attrs.frozen
class Verdict:
    """What a recording shows.

    `judged` are the agents that were replayed, `divergences` the first one of each that has one;
    `rounds` is how many complete rounds there are. `deviations` are the first ones of agents that
    are known to be Byzantine, which count for nothing. `left_out` are the necessary parts of the
    protocol that the header leaves out, `checked_less` what its parameters leave unchecked.

    Implements: RE-8, RE-10, RE-20.
    """

    status: Status
    reason: str
    judged: tuple[int, ...]
    divergences: tuple[Divergence, ...]
    rounds: int
    findings: Findings | None = None
    deviations: tuple[Divergence, ...] = ()
    left_out: tuple[str, ...] = ()
    checked_less: tuple[str, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether everything is as the specification says, or as a weakened one that was asked for.

        Implements: RE-8.
        """
        return self.status is Status.CONFORMS

    @property
    def need_freedom(self) -> tuple[int, ...]:
        """The agents whose behaviour no honest agent can show.

        Implements: RE-10.
        """
        return tuple(divergence.agent for divergence in self.divergences)

    @property
    def limits(self) -> tuple[str, ...]:
        """What this verdict does not prove.

        Implements: RE-10.
        """
        return (
            "an agent that diverges, or its recorder, or the links that it was recorded on, does "
            "not follow the specification: the recording cannot tell these apart",
            "an agent that does not diverge may still have chosen its gradients or its key "
            "freely: only its words are judged, after the private gradient",
        )

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "verdict": self.status.value,
            "reason": self.reason,
            "left_out": list(self.left_out),
            "checked_less": list(self.checked_less),
            "judged": list(self.judged),
            "rounds": self.rounds,
            "need_byzantine_freedom": list(self.need_freedom),
            "divergences": [unstructure(divergence) for divergence in self.divergences],
            "findings": None if self.findings is None else unstructure(self.findings),
            "byzantine_deviations": [unstructure(deviation) for deviation in self.deviations],
            "limits": list(self.limits),
        }


def check(
    recording: Recording,
    *,
    agents: Collection[int] | None = None,
    watch: Callable[[int], None] | None = None,
    allow_weakened: bool = False,
) -> Verdict:
    """Replay every honest agent, or these agents, and compare word by word.

    Agents not known to be Byzantine are taken for honest. `watch` is told each finished round.
    A run whose header leaves necessary parts out conforms only with `allow_weakened`.

    Implements: RE-8, RE-9, RE-10, RE-11, RE-20.
    """
    known = recording.header.byzantine
    n = recording.header.agents
    chosen = range(n) if agents is None else sorted({*agents})
    judged = tuple(agent for agent in chosen if 0 <= agent < n and agent not in (known or ()))
    measures = Replayed(recording.parameters)
    confirmed = ConfirmedMessages(recording.parameters)
    coming: dict[int, object] = {}
    machine = replayed(recording.parameters, coming.__getitem__, measures, confirmed)
    replays = [AgentReplay(recording, agent, machine, coming) for agent in judged]
    liars = [AgentReplay(recording, v, machine, coming) for v in chosen if v in (known or ())]
    finished, rounds = _walk(recording, [*replays, *liars], measures, confirmed, watch)
    divergences = tuple(r.divergence for r in replays if r.divergence is not None)
    whole = agents is None
    missing = left_out(recording.parameters)
    status, reason = _status(recording, divergences, judged, rounds, whole=whole)
    if status is Status.CONFORMS and missing and not allow_weakened:
        status = Status.WEAKENED
        reason = (
            "every word is as the header asks, but nothing is promised without what it leaves out"
        )
    findings = None
    if whole and finished and not divergences and known is not None:
        states = {r.agent: r.state for r in replays if r.state is not None}
        findings = evaluate(recording, frozenset(known), states)
    deviations = tuple(r.divergence for r in liars if r.divergence is not None)
    return Verdict(
        status=status,
        reason=reason,
        judged=judged,
        divergences=divergences,
        rounds=rounds,
        findings=findings,
        deviations=deviations,
        left_out=missing,
        checked_less=checked_less(recording.parameters, 1 if known is None else n - len(known)),
    )


def _walk(
    recording: Recording,
    replays: list[AgentReplay],
    measures: Replayed,
    confirmed: ConfirmedMessages,
    watch: Callable[[int], None] | None,
) -> tuple[bool, int]:
    """Feed the rounds to all replays, one ahead: what is said next tells the gradient."""
    number, current = 0, None
    for following in recording.rounds(measures.one):
        confirmed.observe(following, *recording.learned(following))
        for replay in replays:
            if current is None:
                replay.begin(following)
            else:
                replay.hear(current, following)
            replay.judge(following)
        current = following
        number += 1
        release(recording.arrays)
        if watch is not None:
            watch(number)
    if recording.finished and current is not None:
        for replay in replays:
            replay.hear(current, None)
            replay.judge_end()
    return recording.finished, number


def _only(judged: tuple[int, ...]) -> str:
    names = ", ".join(map(str, judged))
    return f"only agent {names} was" if len(judged) == 1 else f"only agents {names} were"


def _status(
    recording: Recording,
    divergences: tuple[Divergence, ...],
    judged: tuple[int, ...],
    rounds: int,
    *,
    whole: bool,
) -> tuple[Status, str]:
    """The verdict of what was found.

    Implements: RE-8.
    """
    names = ", ".join(str(divergence.agent) for divergence in divergences)
    one = len(divergences) == 1
    diverging = f"agent {names} does" if one else f"agents {names} do"
    known = recording.header.byzantine is not None
    if divergences and (known or len(divergences) == recording.header.agents):
        return Status.DIVERGES, f"{diverging} not follow the specification"
    if divergences:
        return Status.CANNOT_TELL, (
            f"{diverging} not follow the specification; whether "
            f"{'it is' if one else 'they are'} Byzantine is not recorded"
        )
    if not recording.finished:
        return Status.CANNOT_TELL, f"the run is cut off; its {rounds} complete rounds conform"
    if not whole:
        return Status.CANNOT_TELL, f"{_only(judged)} replayed"
    return Status.CONFORMS, "every word and every verdict of the honest agents is as specified"
