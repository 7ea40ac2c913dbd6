"""Alarms: every way in which an agent can object, and where it did."""

import enum

import attrs


class Alarm(enum.Enum):
    """One member per reason; `clause` is the clause that demands it.

    Implements: MO-7.
    """

    MISSING_MESSAGE = ("missing-message", "MO-8")
    """A neighbour said nothing in a round in which it must speak."""
    MALFORMED_MESSAGE = ("malformed-message", "MO-8")
    """What a neighbour said is not of the form that the phase demands."""
    OUT_OF_RANGE = ("out-of-range", "AR-11")
    """A learning message has an entry that breaks the range rule."""
    OWN_UPDATE_OUT_OF_RANGE = ("own-update-out-of-range", "AR-14")
    """The agent's own update or private gradient left the lattice; it falls silent."""
    UNKNOWN_TAG = ("unknown-tag", "VB-9")
    """A broadcast message carries a (source, slot) that does not exist."""
    MALFORMED_VALUE = ("malformed-value", "VB-9")
    """A broadcast value is not of the form that its slot demands."""
    DIFFERENT_VALUE = ("different-value", "VB-6")
    """A neighbour holds another value of the same source and slot."""
    NO_VALUE = ("no-value", "VB-8")
    """The broadcast ended and no value of this source and slot has arrived."""
    MODEL_NORM = ("model-norm", "LV-2")
    """A received model is longer than an honest one can be."""
    GRADIENT_NORM = ("gradient-norm", "LV-2")
    """A received gradient is longer than an honest one can be."""
    INCONSISTENT_HASHES = ("inconsistent-hashes", "LV-7")
    """Two neighbours of an agent report different hashes of what it sent them."""
    BROKEN_RELATION = ("broken-relation", "LV-8")
    """An agent's outputs do not follow from its inputs and its scaled gradient."""
    SELF_MISMATCH = ("self-mismatch", "LV-9")
    """A neighbour's hashes of what I sent are not the hashes of what I sent."""
    INCONSISTENT_ESTIMATES = ("inconsistent-estimates", "GV-4")
    """Two neighbours of an agent report different estimates of its gradient."""
    SELF_ESTIMATE_MISMATCH = ("self-estimate-mismatch", "GV-4")
    """A neighbour's estimate of my gradient is not mine."""
    NOT_OPTIMAL = ("not-optimal", "GV-5")
    """The sum of the gradient estimates is too far from zero."""
    TOO_HETEROGENEOUS = ("too-heterogeneous", "GV-6")
    """The gradient estimates are longer than the heterogeneity allows."""
    TOO_OPTIMAL = ("too-optimal", "GV-13")
    """The sum of the gradient estimates is nearer to zero than in honest runs."""
    TOO_HOMOGENEOUS = ("too-homogeneous", "GV-13")
    """The gradient estimates are shorter than in honest runs."""
    EARLY_VALUE = ("early-value", "LE-6")
    """A flooded value or a sum came sooner than it can along any path."""
    LATE_VALUE = ("late-value", "LE-6")
    """A flooded value came after the flood, or a sum after its round."""
    OPENING_MISMATCH = ("opening-mismatch", "LE-10")
    """An agent opened something else than it had committed to."""
    RECORD_MISMATCH = ("record-mismatch", "LE-12")
    """What a neighbour says of its own transcript is not what it sent me."""
    WRONG_TOTAL = ("wrong-total", "LE-12")
    """The total that I received is not the sum of all estimates."""
    DIGEST_MISMATCH = ("digest-mismatch", "LE-13")
    """A neighbour holds other values than I do."""
    NEIGHBOUR_ALARM = ("neighbour-alarm", "SA-3")
    """A neighbour says that it has an alarm."""

    def __init__(self, slug: str, clause: str) -> None:
        self.slug = slug
        self.clause = clause


@attrs.frozen
class Raised:
    """One alarm as it was raised: why, in which phase and round, over which edge, about whom.

    `sender` is the neighbour whose message caused it (none for a check over many reports),
    `about` the agent or tag that the failed check concerns.

    Implements: MO-7, MO-12.
    """

    alarm: Alarm
    phase: str
    round: int
    sender: int | None = None
    about: object = None

    def __str__(self) -> str:
        parts = [f"{self.alarm.name} in {self.phase} round {self.round}"]
        if self.sender is not None:
            parts.append(f"from {self.sender}")
        if self.about is not None:
            parts.append(f"about {self.about}")
        return f"{' '.join(parts)} [{self.alarm.clause}]"


Alarms = tuple[Raised, ...]
"""An agent's alarms in the order in which it raised them; nothing is ever removed."""
