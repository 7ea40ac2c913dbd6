"""The machines of the protocol, fed with a recording in place of private gradients.

Given what an agent received, the specification determines everything it says but the gradient;
of that the recorded Gamma tells all (AR-6).
"""

from collections.abc import Callable

import attrs
import numpy as np

from valid_ref.alarms import Alarm, Raised
from valid_ref.kernels import WideIntegers
from valid_ref.lattice import IntVector, LatticeParameters, mix, shift_half_even
from valid_ref.machine import Message
from valid_ref.oracle.relation import Confirmed
from valid_ref.protocols.broadcast import ValidatedBroadcast
from valid_ref.protocols.learn import PHASE, LearningMessage, LearnModel, LearnState
from valid_ref.protocols.measures import Measures
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import EstimateStage, HashStage, LearnStage, Stage, Valid

Recorded = Callable[[int], Message]
"""What an agent says to all in the coming learning round, as recorded; None for silence."""


@attrs.frozen
class ReplayedLearnModel(LearnModel):
    """LearnModel with the recorded message in place of the private gradient.

    Implements: RE-9.
    """

    recorded: Recorded = attrs.field(kw_only=True, eq=False)
    confirmed: Confirmed = attrs.field(kw_only=True, eq=False)

    def _advance(
        self, state: LearnState, t: int, own: IntVector, neighbours: list[IntVector]
    ) -> LearnState:
        """The recorded message if some gradient explains it, else the nearest one that is.

        Silence is explained by a gradient that leaves the range (AR-14); it comes with an alarm.
        """
        found = self.recorded(state.agent)
        if found is None:
            raised = Raised(Alarm.OWN_UPDATE_OUT_OF_RANGE, PHASE, t, about=state.agent)
            return attrs.evolve(state, message=None, alarms=(*state.alarms, raised))
        confirmed = self.confirmed.follows(state.agent, found, own, neighbours)
        if isinstance(found, LearningMessage) and confirmed:
            return attrs.evolve(state, message=found)
        Y = mix(self.parameters, t, own, neighbours)
        if self._problem(found) is not None or not isinstance(found, LearningMessage):
            zero = np.zeros_like(Y)
            return attrs.evolve(state, message=explained(self.parameters, t, Y, zero, self.absorbs))
        expected = explained(self.parameters, t, Y, found.scaled_gradient, self.absorbs)
        return attrs.evolve(state, message=found if same(expected, found) else expected)

    def _problem(self, message: Message) -> Alarm | None:
        return None if self.confirmed.fits(message) else super()._problem(message)

    @property
    def absorbs(self) -> bool:
        """Whether Gamma absorbs the rounding."""
        return self.reading.P17


def explained(
    parameters: LatticeParameters, t: int, Y: IntVector, gamma: IntVector, absorb: bool
) -> LearningMessage:
    """The message of an honest agent whose scaled gradient is, or is nearest to, this one.

    x must be the rounding of (Y - A_t G) / 2^k for some integer G, per entry.

    Implements: RE-9.
    """
    A, bits = parameters.schedule.A(t), parameters.precision.step_bits
    if not absorb:
        plain = A * _nearest(gamma, A)
        return LearningMessage(shift_half_even(Y - plain, bits), plain)
    x = shift_half_even(Y - gamma, bits)
    below = (Y - (x << bits)) // A
    lower, upper = (shift_half_even(Y - A * G, bits) for G in (below, below + 1))
    near = shift_half_even(Y - A * _nearest(Y - (x << bits), A), bits)
    possible = (lower == x) | (upper == x)
    reached: IntVector = np.where(possible, x, near)
    return LearningMessage(reached, Y - (reached << bits))


def _nearest(numerator: IntVector, divisor: int) -> IntVector:
    quotient = numerator // divisor
    rest = numerator - quotient * divisor
    rounded: IntVector = quotient + (rest > divisor - rest)
    return rounded


def same(left: LearningMessage, right: LearningMessage) -> bool:
    """Whether two well-formed learning messages are equal."""
    return np.array_equal(left.model, right.model) and np.array_equal(
        left.scaled_gradient, right.scaled_gradient
    )


@attrs.frozen
class ReplayedValid(Valid):
    """The whole protocol, with its learning phase replayed.

    Implements: RE-9.
    """

    stages: tuple[Stage, ...] = attrs.field(kw_only=True, eq=False, repr=False)


def _trusting(machine: ValidatedBroadcast, form: type) -> ValidatedBroadcast:
    """The same broadcast; a recording delivers none of these but well-formed ones (RowReader)."""

    def has_type(_tag: object, value: object) -> bool:
        return type(value) is form

    return attrs.evolve(machine, well_formed=has_type)


def replayed(
    parameters: ValidParameters, recorded: Recorded, measures: Measures, confirmed: Confirmed
) -> ReplayedValid:
    """The machine of the agents whose learning messages are recorded."""

    def stage_of(stage: Stage) -> Stage:
        if isinstance(stage, LearnStage):
            machine = ReplayedLearnModel(
                parameters.graph, parameters.lattice, parameters.start_model, parameters.reading,
                recorded=recorded, confirmed=confirmed,
            )  # fmt: skip
            return attrs.evolve(stage, machine=machine)
        if isinstance(stage, HashStage):
            return attrs.evolve(stage, machine=_trusting(stage.machine, tuple))
        if isinstance(stage, EstimateStage):
            return attrs.evolve(stage, machine=_trusting(stage.machine, WideIntegers))
        return stage

    stages = tuple(stage_of(stage) for stage in Valid(parameters, measures).stages)
    return ReplayedValid(parameters, measures, stages=stages)
