"""Attacks by false gradients: against the relation, along it, and at the norm bound."""

import math
from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import (
    AttackError,
    Deviation,
    Lie,
    Setting,
    clip_model,
    honest_message,
    in_learning,
    lying,
    mixing_point,
    on_lattice,
    quiet,
    together,
    units,
)
from valid_ref.lattice import FloatVector, IntVector, shift_half_even, squared_norm
from valid_ref.machine import CausalView, Edge, Message
from valid_ref.protocols.learn import LearningMessage


@attrs.frozen
class InconsistentGradient:
    """The honest model with Gamma + units in its first entry: 2^k x = Y - Gamma fails by that.

    In the rounds from `first` to `last`, both included; honest code in the others.

    Expected: BROKEN_RELATION at every honest agent, naming each Byzantine agent, under every key
    it checks; missed with probability at most ((dT-1)/p)^|H| (L2).
    """

    kind: ClassVar[str] = "inconsistent-gradient"
    units: int = 1
    first: int = 1
    last: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.units < 1:
            raise AttackError(
                f"inconsistent-gradient: units = {self.units} is not an integer from 1 on",
                clause="AD-9",
            )
        if self.first < 1 or (self.last is not None and self.last < self.first):
            raise AttackError(
                f"inconsistent-gradient: no round is from first = {self.first} to last = "
                f"{self.last}",
                clause="AD-9",
            )

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""

        def adversary(view: CausalView) -> dict[Edge, Message]:
            past = self.last is not None and view.round > self.last
            if not in_learning(view) or view.round < self.first or past:
                return {}
            words: dict[Edge, Message] = {}
            for sender, receiver in view.own_edges:
                message = honest_message(setting, view, sender)
                false = message.scaled_gradient.copy()
                false[0] += self.units
                words[sender, receiver] = LearningMessage(message.model, false)
            return words

        return Deviation(together(adversary, quiet))


@attrs.frozen
class ConsistentGradientLie:
    """The model stays at `target` in every entry; the gradient is what explains it: (y - x)/alpha.

    It is never truly computed, and it need not be: any gradient that obeys the relation passes
    the local checks. To hold a model against the others takes |g| = (eta/alpha) |sum (x_u - x)|,
    which grows like sqrt(T) under the steps of the corrected analysis.

    Expected: no local alarm but for the norms (GRADIENT_NORM in the first round when the jump is
    longer than C_1); TOO_HETEROGENEOUS at every honest agent once (eta/alpha) times the distance
    of the target from the rest exceeds the threshold; at a target where the network would stand
    anyway, valid and admissible.
    """

    kind: ClassVar[str] = "consistent-gradient-lie"
    target: float = 1.0

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        d = setting.parameters.lattice.dimension
        model = on_lattice(setting, np.full(d, units(setting, self.target)))
        return Deviation(lying(setting, lambda _view, _sender, _receiver: model))


@attrs.frozen
class DriftPush:
    """In every round the longest gradient that the norm bounds allow, along (1, 1, .., 1).

    g = -fraction C_t u, u the unit vector, less what rounding may add; x = y - alpha g, drawn back
    to length B_t where it is longer. Without norm bounds in the setting it is refused.

    Expected: no local alarm, no norm alarm. The optimality test is a drift test (A25) and falls
    silent once the models stand at their bound; TOO_HETEROGENEOUS at every honest agent.
    """

    kind: ClassVar[str] = "drift-push"
    fraction: float = 1.0

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        return Deviation(lying(setting, _push(setting, self.fraction)))


def _push(setting: Setting, fraction: float) -> Lie:
    bounds, lattice = setting.parameters.bounds, setting.parameters.lattice
    if bounds is None:
        raise AttackError("a push at the norm bound needs norm bounds", clause="LV-2")
    d, bits = lattice.dimension, lattice.precision.step_bits

    def lie(view: CausalView, sender: int, receiver: int) -> IntVector:
        A = lattice.schedule.A(view.round)
        slack = math.isqrt(d) + 1
        rounding = slack * ((1 << bits) // (2 * A) + 2)
        allowed = math.isqrt(bounds.gradient_squared[view.round - 1]) - rounding
        size = min(max(0, int(fraction * allowed)), lattice.gradient_limit // A)
        gradient = np.full(d, -int(size / math.sqrt(d)), dtype=np.int64)
        Y = mixing_point(setting, view, sender, receiver)
        model = clip_model(setting, shift_half_even(Y - A * gradient, bits))
        return _shortened(model, math.isqrt(bounds.model_squared[view.round - 1]))

    return lie


def _shortened(model: IntVector, limit: int) -> IntVector:
    """The model itself, or the point of its ray at this length, rounded towards zero."""
    squared = squared_norm(model)
    if squared <= limit * limit:
        return model
    exact: FloatVector = np.trunc(model * (limit / math.sqrt(squared)) * (1 - 1e-12))
    return exact.astype(np.int64)
