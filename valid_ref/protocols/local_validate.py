"""LocalValidate: whether everybody said one thing that follows from what it heard.

The norm checks and the hash checks of alg:localvalidation; the broadcasts themselves are
ValidatedBroadcast.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from valid_ref.alarms import Alarm, Raised
from valid_ref.hashing import KeyHashes, transcript_hashes
from valid_ref.lattice import read_gradient, squared_norm
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters

# Inputs.

PHASE = "LocalValidate"

Transcript = Sequence[LearningMessage]
"""The messages of one agent to one neighbour in rounds 1..T."""

Reports = Mapping[Tag, tuple[int, ...]]
"""(reporter, agent reported on) to 4|V| hashes: out, in, in-eta, Gamma for each key owner."""


def checked_keys(parameters: ValidParameters, agent: int) -> Sequence[int]:
    """The key owners under whose keys this agent checks.

    Implements: LV-10.
    """
    own_only = parameters.checked_keys is CheckedKeys.OWN
    return (agent,) if own_only else range(parameters.graph.agents)


def checked_agents(parameters: ValidParameters, agent: int) -> Sequence[int]:
    """Everybody; as printed in the prose only neighbours (erratum P08).

    Implements: LV-7, LV-8.
    """
    graph = parameters.graph
    return range(graph.agents) if parameters.reading.P08 else graph.neighbours(agent)


# State: the alarms, and what the two broadcasts hold (`BroadcastState`).


# Start: the norms of what was received, before any key exists.


def norm_alarms(parameters: ValidParameters, transcripts: Transcripts) -> list[Raised]:
    """Received models beyond B_t and gradients beyond C_t.

    Implements: LV-2.
    """
    raised: list[Raised] = []
    if parameters.bounds is None:
        return raised
    for sender, transcript in transcripts.received.items():
        raised += too_long(parameters, sender, squared_lengths(parameters, transcript))
    return raised


def too_long(
    parameters: ValidParameters, sender: int, lengths: Iterable[tuple[int, int, int]]
) -> list[Raised]:
    """The alarms for these t, |x(t)|^2 and |g(t)|^2 of one sender.

    Implements: LV-2.
    """
    raised: list[Raised] = []
    if parameters.bounds is None:
        return raised
    for t, model, gradient in lengths:
        if model > parameters.bounds.model_squared[t - 1]:
            raised.append(Raised(Alarm.MODEL_NORM, PHASE, t, sender))
        if gradient > parameters.bounds.gradient_squared[t - 1]:
            raised.append(Raised(Alarm.GRADIENT_NORM, PHASE, t, sender))
    return raised


def squared_lengths(
    parameters: ValidParameters, transcript: Transcript
) -> Iterator[tuple[int, int, int]]:
    """t, |x(t)|^2 and |g(t)|^2 for each round, exactly, in lattice units.

    Implements: AR-8, AR-12.
    """
    for t, message in enumerate(transcript, start=1):
        gradient = read_gradient(parameters.lattice, t, message.scaled_gradient)
        yield t, squared_norm(message.model), squared_norm(gradient)


# Send: the hashes of what was received. Keys and hashes are held as in any broadcast.


def transcript_report(
    parameters: ValidParameters, keys: Sequence[int], transcript: Transcript
) -> tuple[int, ...]:
    """The four hashes of a transcript under each key, in the order of key owners.

    Implements: LV-5, LV-6.
    """
    models = [parameters.start_model, *(message.model for message in transcript)]
    gammas = [message.scaled_gradient for message in transcript]
    hashes = (
        transcript_hashes(
            parameters.field,
            key,
            parameters.lattice.schedule,
            models,
            gammas,
            eta_shift=eta_shift(parameters),
        )
        for key in keys
    )
    return flat_report(parameters, hashes)


def eta_shift(parameters: ValidParameters) -> int:
    """a_(t+1) goes with x(t); as printed a_t (erratum P14)."""
    return 1 if parameters.reading.P14 else 0


def flat_report(parameters: ValidParameters, hashes: Iterable[KeyHashes]) -> tuple[int, ...]:
    """The four hashes under every key, one after the other.

    As printed, the cross hash of Gamma is taken of X^in (erratum P15).

    Implements: LV-6.
    """
    repaired = parameters.reading.P15
    return tuple(
        entry
        for h_out, h_in, h_in_eta, h_gamma in hashes
        for entry in (h_out, h_in, h_in_eta, h_gamma if repaired else h_in)
    )


# Receive: the form of a key and of a report.


def is_key(parameters: ValidParameters, value: object) -> bool:
    """Whether a broadcast value is a key: an integer in 0..p-1.

    Implements: LV-4.
    """
    return _is_residue(value, parameters.field.prime)


def is_report(parameters: ValidParameters, value: object) -> bool:
    """Whether a broadcast value is a report: 4|V| integers in 0..p-1.

    Implements: LV-6.
    """
    if type(value) is not tuple or len(value) != 4 * parameters.graph.agents:
        return False
    return all(_is_residue(entry, parameters.field.prime) for entry in value)


def _is_residue(value: object, prime: int) -> bool:
    return type(value) is int and 0 <= value < prime


# Finish: the checks of all reports.


def hash_alarms(
    parameters: ValidParameters, agent: int, reports: Reports, own: tuple[int, ...]
) -> list[Raised]:
    """All checks of the hashes by one agent; `own` is the report of its own record.

    Implements: LV-7, LV-8, LV-9, LV-10.
    """
    found: list[Raised] = []
    for key_owner in checked_keys(parameters, agent):
        hashes = under_key(reports, key_owner)
        own_hashes = own[4 * key_owner : 4 * key_owner + 4]
        for alarm, test in (
            (Alarm.INCONSISTENT_HASHES, is_inconsistent),
            (Alarm.BROKEN_RELATION, is_broken),
        ):
            wrong = [v for v in checked_agents(parameters, agent) if test(parameters, v, hashes)]
            found += [raised(parameters, alarm, (v, key_owner)) for v in wrong]
        if parameters.reading.P07:
            found += self_mismatches(parameters, agent, key_owner, hashes, own_hashes)
    return found


def under_key(reports: Reports, key_owner: int) -> Reports:
    """The four hashes of every report under one key."""
    return {tag: report[4 * key_owner : 4 * key_owner + 4] for tag, report in reports.items()}


def is_inconsistent(parameters: ValidParameters, v: int, hashes: Reports) -> bool:
    """Whether reporters of v differ (eq:cc1 to eq:cc3).

    Implements: LV-7, LV-11.
    """
    return len({hashes[tag] for tag in tags_about(parameters, v, hashes)}) > 1


def tags_about(parameters: ValidParameters, v: int, reports: Reports) -> list[Tag]:
    """The tags of all reports about v."""
    return [(r, v) for r in parameters.graph.neighbours(v) if (r, v) in reports]


def is_broken(parameters: ValidParameters, v: int, hashes: Reports) -> bool:
    """Whether the output of v does not follow from its input (eq:cc4).

    Implements: LV-8, LV-11.
    """
    scale = 1 << parameters.lattice.precision.step_bits
    sign = -1 if parameters.reading.P13 else 1
    agreed = _agreed(parameters, v, hashes)
    neighbours = [_agreed(parameters, u, hashes) for u in parameters.graph.neighbours(v)]
    if agreed is None or None in neighbours:
        return False
    h_out, h_in, h_in_eta, h_gamma = hashes[agreed]
    mixing = sum(hashes[tag][2] - h_in_eta for tag in neighbours if tag is not None)
    difference = scale * h_out - scale * h_in - mixing - sign * h_gamma
    return difference % parameters.field.prime != 0


def tags_that_count(parameters: ValidParameters, v: int, reports: Reports) -> list[Tag]:
    """The tags of the reports that the relation of v is tested on."""
    agents = (v, *parameters.graph.neighbours(v))
    found = (_agreed(parameters, agent, reports) for agent in agents)
    return [tag for tag in found if tag is not None]


def _agreed(parameters: ValidParameters, v: int, hashes: Reports) -> Tag | None:
    """The tag of the report about v that counts: that of its lowest-numbered reporter.

    Implements: LV-8, LV-11.
    """
    for reporter in parameters.graph.neighbours(v):
        tag = (reporter, v) if parameters.reading.P15 else (v, reporter)
        if tag in hashes:
            return tag
    return None


def self_mismatches(
    parameters: ValidParameters,
    agent: int,
    key_owner: int,
    hashes: Reports,
    own: tuple[int, ...],
) -> Iterator[Raised]:
    """Reports about oneself that are not what one sent.

    Implements: LV-9, LV-11.
    """
    for reporter in parameters.graph.neighbours(agent):
        if hashes.get((reporter, agent), own) != own:
            yield raised(parameters, Alarm.SELF_MISMATCH, (agent, key_owner), reporter)


CHECKS = {"inconsistent": (is_inconsistent, tags_about), "broken": (is_broken, tags_that_count)}
"""The checks of one agent under one key, each with the tags of the reports that matter to it."""


# Alarms.


def raised(
    parameters: ValidParameters, alarm: Alarm, about: object, sender: int | None = None
) -> Raised:
    """An alarm of these checks, which come after the last round of the broadcast."""
    return Raised(alarm, PHASE, parameters.graph.agents, sender, about)
