"""LocalValidate: whether everybody said one thing that follows from what it heard.

The norm checks and the hash checks of alg:localvalidation; the broadcasts themselves are
ValidatedBroadcast.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from valid_ref.alarms import Alarm, Raised
from valid_ref.hashing import KeyHashes, combine_rounds, transcript_polynomials
from valid_ref.kernels import for_sums, rounds_at_once, squared_norms, stack
from valid_ref.lattice import IntVector
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters

PHASE = "LocalValidate"

Transcript = Sequence[LearningMessage]
"""The messages of one agent to one neighbour in rounds 1..T."""

Reports = Mapping[Tag, tuple[int, ...]]
"""(reporter, agent reported on) to 4|V| hashes: out, in, in-eta, Gamma for each key owner."""


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
    """t, |x(t)|^2 and |g(t)|^2 for each round, exactly, in lattice units."""
    backend = for_sums(2 * parameters.lattice.dimension * len(transcript))
    for begin, rows in read_gradients(parameters, transcript):
        messages = transcript[begin : begin + len(rows)]
        models = squared_norms(stack([message.model for message in messages]), backend)
        gradients = squared_norms(rows, backend)
        yield from zip(range(begin + 1, begin + 1 + len(rows)), models, gradients, strict=True)


def read_gradients(
    parameters: ValidParameters, transcript: Transcript
) -> Iterator[tuple[int, IntVector]]:
    """begin and the gradients of rounds begin + 1, begin + 2, ..., as rows, some at a time.

    One vector is divided by a scalar, which numpy does several times as fast.

    Implements: AR-8.
    """
    steps = parameters.lattice.schedule.gradient
    at_once = rounds_at_once(parameters.lattice.dimension)
    for begin in range(0, len(transcript), at_once):
        messages = transcript[begin : begin + at_once]
        gammas = stack([message.scaled_gradient for message in messages])
        divisors = np.array(steps[begin : begin + len(messages)], dtype=np.int64)
        yield begin, gammas // (divisors[:, np.newaxis] if len(messages) > 1 else divisors[0])


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


def transcript_report(
    parameters: ValidParameters, keys: Sequence[int], transcript: Transcript
) -> tuple[int, ...]:
    """The four hashes of a transcript under each key, in the order of key owners.

    Implements: LV-5, LV-6.
    """
    models = [parameters.start_model, *(message.model for message in transcript)]
    gammas = [message.scaled_gradient for message in transcript]
    hashes = combine_rounds(
        parameters.field,
        keys,
        parameters.lattice.dimension,
        parameters.lattice.schedule,
        transcript_polynomials(parameters.field, keys, models),
        transcript_polynomials(parameters.field, keys, gammas),
        eta_shift=1 if parameters.reading.P14 else 0,
    )
    return tuple(entry for four in hashes for entry in _as_read(parameters, four))


def _as_read(parameters: ValidParameters, hashes: KeyHashes) -> KeyHashes:
    """As printed, the cross hash of Gamma is taken of X^in (erratum P15)."""
    if parameters.reading.P15:
        return hashes
    return hashes[0], hashes[1], hashes[2], hashes[1]


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


def raised(
    parameters: ValidParameters, alarm: Alarm, about: object, sender: int | None = None
) -> Raised:
    """An alarm of these checks, which come after the last round of the broadcast."""
    return Raised(alarm, PHASE, parameters.graph.agents, sender, about)


CHECKS = {"inconsistent": (is_inconsistent, tags_about), "broken": (is_broken, tags_that_count)}
"""The checks of one agent under one key, each with the tags of the reports that matter to it."""
