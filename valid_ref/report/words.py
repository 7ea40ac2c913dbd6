"""Phases, alarms, outcomes and errata in words for people who have not read the paper."""

from collections.abc import Mapping

import attrs

from valid_ref.alarms import Alarm
from valid_ref.explore.settings import BROADCAST_PHASE
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import COMMITMENTS, ESTIMATES, HASHES, KEYS

BROADCAST = (
    "Broadcast",
    "One agent, the source, tells its neighbours a value; everybody passes on what it adopted, and "
    "objects to a different value.",
)

PHASES: Mapping[str, tuple[str, str]] = {
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
    lean.FIX: (
        "Commitments and total",
        "Every agent commits to its shares of the common keys. Beside it the sum of everybody's "
        "gradients goes up a tree and comes down again. Nobody knows a key yet.",
    ),
    lean.OPEN: (
        "Openings",
        "Every agent opens its shares. The common keys are their sums, which nobody could foresee.",
    ),
    lean.REPORT: (
        "Reports",
        "Every agent reports hashes of its own messages under the common keys. Then everybody "
        "checks its neighbours' reports, that models follow from what was received, and the total.",
    ),
    lean.COMPARE: (
        "Comparison",
        "Neighbours compare one digest of everything they hold.",
    ),
    AGREEMENT: (
        "Agreement",
        "Whoever has an alarm says so, until it has reached everybody that honest agents reach.",
    ),
    "Broadcast": BROADCAST,
    BROADCAST_PHASE: BROADCAST,
}
"""Name of a phase to its title and what happens in it."""

ALARMS: Mapping[Alarm, str] = {
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
    Alarm.TOO_OPTIMAL: "the gradients of all agents cancel out better than those of honest runs",
    Alarm.TOO_HETEROGENEOUS: "the gradients are larger than honest data allow",
    Alarm.TOO_HOMOGENEOUS: "the gradients are smaller than those of honest runs",
    Alarm.EARLY_VALUE: "a value came before it can have come along any path",
    Alarm.LATE_VALUE: "a value came after the last round in which it may",
    Alarm.OPENING_MISMATCH: "an agent opens other shares than it had committed to",
    Alarm.RECORD_MISMATCH: "what a neighbour says of its own messages is not what it sent",
    Alarm.WRONG_TOTAL: "the total is not the sum of the gradients of all agents",
    Alarm.DIGEST_MISMATCH: "a neighbour holds other values",
    Alarm.NEIGHBOUR_ALARM: "a neighbour says that it has an alarm",
}
"""Why an agent objects."""

OUTCOMES: Mapping[str, str] = {
    "a": "Nobody cheats; everybody ends valid and near the optimum.",
    "b": "Somebody cheats, but the valid honest agents are near one admissible model.",
    "c": "Somebody cheats, and every honest agent has an alarm.",
    "failed": "None of the three outcomes that the protocol promises.",
    "unknown": "What is known is not enough to tell.",
    "wrong": "It goes wrong.",
    "right": "No promise is broken.",
}
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


def deviation_words(phase: str, *, split: bool, misfit: bool, found: int | None) -> tuple[str, str]:
    """What kind of deviation it is, and what the checks can and cannot see of it."""
    if phase == LEARNING:
        return _lie_in_learning(split=split, misfit=misfit, diverges=found is not None)
    if phase == AGREEMENT:
        return "an alarm denied or invented", (
            "A false alarm reaches whoever hears it and cannot be refuted; a denied alarm travels "
            "around the liar along honest agents."
        )
    said = "different things to different neighbours" if split else "something else, to all alike"
    return said, (
        "Neighbours compare what they hold, so that somebody honest notices different values."
        if split
        else "What an agent says of itself is its own choice; what it reports of others is "
        "compared with the other reports, and with what they know they sent."
    )


def _lie_in_learning(*, split: bool, misfit: bool, diverges: bool) -> tuple[str, str]:
    if diverges and not misfit and not split:
        return "not what the specification demands", (
            "Found by the oracle, which replays every agent on what it received."
        )
    if split and misfit:
        return "different models to different neighbours, with steps that do not fit", (
            "Two reports about the agent differ (H), and its model does not follow from what it "
            "received (R)."
        )
    if split:
        return "different models to different neighbours, each with a step that fits", (
            "No neighbour can see it alone: on every edge the model follows from what was "
            "received. The reports of two neighbours differ (H), and so do their estimates."
        )
    if misfit:
        return "one model to all, with a step that does not fit", (
            "The reports agree, but the model does not follow from what was received (R)."
        )
    return "one model to all, with a step that fits", (
        "Hashes and relations cannot see it: it is what an agent with other data would say. Only "
        "the sizes of the gradients can tell, where they are beyond what honest data allow."
    )


def nothing_behind(reason: str) -> str:
    """What an alarm comes from where no message deviates."""
    if reason in {Alarm.OWN_UPDATE_OUT_OF_RANGE.name}:
        return "its own data drive the model out of range; no message deviates"
    if reason in {
        Alarm.NOT_OPTIMAL.name,
        Alarm.TOO_HETEROGENEOUS.name,
        Alarm.TOO_OPTIMAL.name,
        Alarm.TOO_HOMOGENEOUS.name,
        Alarm.MODEL_NORM.name,
        Alarm.GRADIENT_NORM.name,
        Alarm.NEIGHBOUR_ALARM.name,
    }:
        return "no message deviates: it comes from the data that agents learn from, or from a limit"
    return "no message deviates: the rule itself fails on honest messages"


@attrs.frozen
class PlainStory:
    """An erratum in three short paragraphs: the setting, what went wrong, the repair.

    `rule` is what holds as printed and what holds repaired, where no run shows the difference.
    """

    setting: str
    wrong: str
    repair: str
    rule: tuple[str, str] | None = None


HONEST = (
    "A few honest agents learn together; nobody cheats. Afterwards they check each other with "
    "hashes: what an agent sent must follow, by a linear relation, from what it received."
)
WEIGHED = "Nobody can be blamed for the alarm: the protocol as printed accuses honest agents."

STORIES: Mapping[str, PlainStory] = {
    "P01": PlainStory(
        "One agent, the source, has a value that everybody should end up with. Values are passed "
        "on from neighbour to neighbour; whoever holds one value and hears another objects. Here "
        "the source, agent 2, is Byzantine.",
        "The source keeps silent until the very last round and then tells agent 0 one value and "
        "agent 1 another. Both adopt what they hear, and there is no round left in which they "
        "could compare. They end with different values, and nobody has an alarm. A source that "
        "never says anything is not noticed either.",
        "The last round is kept for comparing: everybody says what it holds and nobody adopts "
        "anything any more. Whoever has no value by then has an alarm.",
    ),
    "P02": PlainStory(
        "Agent 2 is the honest source of a value in a star whose centre is agent 0. Agent 1 is "
        "Byzantine and passes a forged value to the centre before the true one arrives.",
        "The paper promises that each honest agent holds the true value or has an alarm. Agent 3 "
        "hears only the forged value, from the centre, and has no reason to object. So for agent "
        "3 the promise is false.",
        "The promise is corrected: if any honest agent holds another value, somebody honest has "
        "an alarm. Here it is the source itself, which hears the forged value from the centre. "
        "A later phase carries the alarm to everybody.",
    ),
    "P04": PlainStory(
        "At the end agents tell each other whether they have an alarm, so that one alarm becomes "
        "everybody's. Two honest agents, of which one has an alarm.",
        "As printed an agent decides anew in every round, from what its neighbours said alone. So "
        "the alarmed agent forgets its own alarm while the other one takes it over; the alarm "
        "jumps to and fro, and the two never agree.",
        "An alarm is never taken back: an agent is alarmed if it was before or if a neighbour is.",
    ),
    "P05": PlainStory(
        "Five agents in a ring; agent 1 has an alarm, and agent 0 is Byzantine and denies it. For "
        "how many rounds must the alarm be passed on?",
        "As many rounds as the network is wide seem enough: two in this ring. But the Byzantine "
        "agent passes nothing on, so the alarm must take the long way through honest agents, and "
        "after two rounds agent 4 knows nothing.",
        "The alarm is passed on for one round less than there are agents. No honest path is "
        "longer than that.",
    ),
    "P06": PlainStory(
        "Six agents in a line. Agents 2 and 3 are honest and want to agree on a common model; "
        "agents 0, 1, 4 and 5 are Byzantine. Nobody honest is a neighbour of agents 0 and 5: "
        "they are hidden. Every check rests on what neighbours report.",
        "Agent 1 always says +3 and agent 4 always says \u22123, and they pull the honest agents "
        "apart for ever. To pass the checks agent 1 must show where its models come from, and "
        "it says: from agent 0. What agent 0 said is reported by agent 1 alone, so it can be "
        "anything. All checks pass, both honest agents end valid without an alarm, and yet they "
        "never agree, however long they learn. The paper promises that they do.",
        "The network must give every Byzantine agent an honest neighbour. The protocol says the "
        "same words as before, but the promise is made only for such networks; for this one it "
        "states that no guarantee applies. On the right is what changes if agents 0 and 5 get an "
        "honest neighbour by two more lines, 0 to 2 and 3 to 5: that lie cannot be told any more, "
        "and another one, that agents 2 and 3 sent something else, gives them alarms.",
    ),
    "P07": PlainStory(
        "Two agents: agent 0 is honest and its own best model is 0; agent 1 is Byzantine and "
        "wants it to end near 50.",
        "Agent 1 says 50 in every round and draws agent 0 there. Asked what agent 0 had sent, it "
        "reports a lie that fits its own story. As printed agent 0 compares only what others say "
        "about others; it never looks at what is said about itself. It ends valid at 49.1.",
        "Every agent compares each report about itself with what it really sent. The lie is seen "
        "at once.",
    ),
    "P08": PlainStory(
        "Five agents in a ring; agent 0 is Byzantine. It sends models that do not follow from "
        "what it received, off by one unit.",
        "Where each agent checks only its neighbours, with its own key, agent 0 can tell each of "
        "them a lie about that neighbour itself which balances the sum. Nobody else looks at "
        "these reports, and everybody ends valid.",
        "Every agent checks every agent.",
    ),
    "P09": PlainStory(
        "As printed agents first publish hashes under their own keys, and only later the keys.",
        "Agent 0 publishes garbage in that first step, and nothing changes: nobody ever reads "
        "these hashes. The step costs as much as a useful one and protects against nothing.",
        "The step is gone; keys come first, and hashes under all of them follow.",
    ),
    "P11": PlainStory(
        "A hash under a key that nobody knows notices every change. Agent 0 is Byzantine and "
        "knows all keys while it can still choose what it sends.",
        "Knowing the keys, agent 0 computes a change of its messages that every hash maps to "
        "zero. The change is real and no check sees it.",
        "No key is drawn before the last learning message has been delivered; the attack cannot "
        "even be built.",
    ),
    "P13": PlainStory(
        HONEST,
        "In one place the paper adds the gradient in this relation and in another it subtracts "
        "it. Crossed, every honest agent breaks the relation and everybody has alarms. " + WEIGHED,
        "One sign everywhere: the gradient step is subtracted.",
    ),
    "P14": PlainStory(
        HONEST,
        "The weight by which models are mixed changes from round to round, and the paper takes "
        "the weight of the wrong round. The relation of every honest agent fails. " + WEIGHED,
        "The weight of the round in which the mixing takes place.",
    ),
    "P15": PlainStory(
        HONEST,
        "Where the gradients should be hashed the paper hashes the received models instead. The "
        "relation of every honest agent fails. " + WEIGHED,
        "The gradients are hashed where gradients are meant.",
    ),
    "P17": PlainStory(
        HONEST,
        "The paper computes with real numbers, but computers round. If model and gradient are "
        "rounded each for itself, the two sides of the relation differ in the last digit and "
        "every honest agent has alarms. " + WEIGHED,
        "Everything is an exact integer, and the gradient that is sent absorbs the rounding.",
    ),
    "P18": PlainStory(
        "Two different texts may have the same hash by bad luck. The paper says how unlikely "
        "that is.",
        "Counted out for a small case, two honest agents both miss a difference with probability "
        "0.148, where at most 0.077 is claimed.",
        "The bound is corrected; it is small for the default parameters and is attained.",
        (
            "a bound on bad luck that is exceeded",
            "a larger bound, which is never exceeded and is attained",
        ),
    ),
    "P19": PlainStory(
        "Hashes are computed with remainders after division by a number p.",
        "If p is smaller than the text is long, some differences are invisible under every key; "
        "if the numbers do not form a prime field, the bound on bad luck fails.",
        "p must be prime and larger than the text is long; anything else is refused.",
        (
            "any finite field, however short",
            "a prime field with more elements than a text has entries",
        ),
    ),
    "P20": PlainStory(
        "Hashes are computed with remainders after division by a number p.",
        "Adding p to an entry of a message changes the message and no hash: a lie that nobody can "
        "see.",
        "Entries must stay in a range so small that p cannot be added; one that does not is an "
        "alarm.",
        (
            "entries of any size",
            "entries in a range so small that p cannot be added; any other is an alarm",
        ),
    ),
    "P21": PlainStory(
        "The paper assumes that the honest agents are connected, and calls that enough.",
        "Counted over all networks of five agents, the assumption also admits Byzantine agents "
        "that nobody honest hears. For these the promise is false (see P06).",
        "The assumption also demands that every Byzantine agent has an honest neighbour.",
        (
            "the honest agents are connected",
            "the honest agents are connected, and every Byzantine agent has an honest neighbour",
        ),
    ),
    "P22": PlainStory(
        "The paper says how much every agent must send.",
        "As printed everybody repeats in every round all it knows; the cost per agent, divided by "
        "what is claimed, grows with the network.",
        "Everything is sent once and compared once.",
        ("all that is known is sent again in every round", "everything is sent once"),
    ),
    "P23": PlainStory(
        "After learning, agents exchange keys, hashes and estimates by broadcasts.",
        "Read as printed, the broadcasts run one after the other: on the network of the paper's "
        "experiments more than 77 000 rounds for a few hundred rounds of learning.",
        "All broadcasts of a stage run at the same time: about four rounds per agent.",
        ("one broadcast after the other", "all broadcasts of a stage at the same time"),
    ),
    "P24": PlainStory(
        "Four honest agents learn; nobody cheats. At the end everybody checks that the average "
        "gradient is small.",
        "The printed average is multiplied by the sum of its weights where it must be divided by "
        "it. An honest network scores ten thousand times too high. " + WEIGHED,
        "The weights sum to one.",
    ),
    "P26": PlainStory(
        "Agents tell each other whether they have an alarm. Agent 0 is Byzantine and says nothing "
        "wrong until the last round.",
        "Then it says that it has an alarm, to one neighbour only. That neighbour takes it over "
        "and no round is left to pass it on: some honest agents end with an alarm, others "
        "without. The text of the paper says that they agree.",
        "Agreement is not promised. What is promised instead is exactly who can be reached: the "
        "agents around a Byzantine neighbour, up to a distance given by the rounds left.",
    ),
    "P27": PlainStory(
        "Five agents learn from small random batches, so that single gradients are noisy. Agent 4 "
        "is Byzantine: it learns from data of its own making and pulls the model away, a little "
        "in every round. At the end everybody checks how much the agents differ.",
        "The printed test averages the lengths of the gradients. Noise makes every gradient long, "
        "so that a push which is small against the noise changes the average hardly at all: "
        "everybody ends valid, outside of what honest data could explain.",
        "The test takes the length of the averaged gradient. The noise averages out, the push "
        "does not, and every honest agent alarms.",
    ),
}
"""One story for every erratum that replays."""
