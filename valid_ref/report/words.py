"""What phases, alarms and outcomes mean, in words for people who have not read the paper."""

from types import MappingProxyType

from valid_ref.alarms import Alarm
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import COMMITMENTS, ESTIMATES, HASHES, KEYS

PHASES = MappingProxyType({
    LEARNING: (
        "Learning",
        "Every agent mixes its model with those of its neighbours, takes a gradient step on its "
        "own data, and sends model and scaled gradient to its neighbours.",
    ),
    KEYS: (
        "Keys",
        "Every agent reveals its random key to all, by flooding. Nobody knew a key before "
        "learning ended, so no lie could be fitted to it.",
    ),
    COMMITMENTS: (
        "Commitments",
        "As printed: hashes under one's own key, sent before the keys. Nobody reads them.",
    ),
    HASHES: (
        "Hashes",
        "Every agent reports, for all to see, short hashes of what each neighbour sent it. Then "
        "everybody checks that all reports agree and that models follow from what was received.",
    ),
    ESTIMATES: (
        "Estimates",
        "Every agent reports averages of its neighbours' gradients. Then everybody checks that "
        "the gradients cancel out and are not larger than honest data allow.",
    ),
    AGREEMENT: (
        "Agreement",
        "Whoever has an alarm says so, until it has reached everybody that honest agents reach.",
    ),
    "Broadcast": (
        "Broadcast",
        "One agent, the source, tells its neighbours a value; everybody passes on what it "
        "adopted, and objects to a different value.",
    ),
})  # fmt: skip
"""Name of a phase to its title and what happens in it."""

ALARMS = MappingProxyType({
    Alarm.MISSING_MESSAGE: "a neighbour said nothing in a round in which it must speak",
    Alarm.MALFORMED_MESSAGE: "what a neighbour said is not of the form that is demanded",
    Alarm.OUT_OF_RANGE: "a learning message has an entry that is out of range",
    Alarm.OWN_UPDATE_OUT_OF_RANGE: "its own update left the range; it falls silent",
    Alarm.UNKNOWN_TAG: "a broadcast message names a source or slot that does not exist",
    Alarm.MALFORMED_VALUE: "a broadcast value is not of the form that is demanded",
    Alarm.DIFFERENT_VALUE: "a neighbour holds another value of the same source",
    Alarm.NO_VALUE: "the broadcast ended and no value of this source has arrived",
    Alarm.MODEL_NORM: "a received model is longer than an honest one can be",
    Alarm.GRADIENT_NORM: "a received gradient is longer than an honest one can be",
    Alarm.INCONSISTENT_HASHES: "two neighbours of an agent report different hashes of what it sent",
    Alarm.BROKEN_RELATION: "an agent's models do not follow from what it received and its gradient",
    Alarm.SELF_MISMATCH: "a neighbour's hashes of what it sent are not those of what it sent",
    Alarm.INCONSISTENT_ESTIMATES: "two neighbours of an agent report different estimates of it",
    Alarm.SELF_ESTIMATE_MISMATCH: "a neighbour's estimate of its gradient is not its own",
    Alarm.NOT_OPTIMAL: "the gradients of all agents do not cancel out",
    Alarm.TOO_HETEROGENEOUS: "the gradients are larger than honest data allow",
    Alarm.NEIGHBOUR_ALARM: "a neighbour says that it has an alarm",
})  # fmt: skip
"""Why an agent objects."""

OUTCOMES = MappingProxyType({
    "a": "Nobody cheats; everybody ends valid and near the optimum.",
    "b": "Somebody cheats, but the valid honest agents are near one admissible model.",
    "c": "Somebody cheats, and every honest agent has an alarm.",
    "failed": "None of the three outcomes that the protocol promises.",
    "unknown": "The recording does not say enough to tell.",
    "wrong": "It goes wrong.",
    "right": "No promise is broken.",
})  # fmt: skip
"""What a run amounts to."""


def phase_words(name: str) -> tuple[str, str]:
    """Title and explanation of a phase; an unknown one is its own title."""
    return PHASES.get(name, (name, ""))


def alarm_words(reason: str) -> tuple[str, str]:
    """Meaning and clause of an alarm by its name; a recording may name one that is unknown."""
    if reason not in Alarm.__members__:
        return "a reason that the specification does not know", "MO-7"
    alarm = Alarm[reason]
    return ALARMS[alarm], alarm.clause
