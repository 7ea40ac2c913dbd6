"""Lean validation: common keys from committed shares, one total, one comparison of digests.

The values, their encodings and all checks; floods are in `flood`, the phases in `lean_stages`.
"""

import hashlib
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.coins import Coins
from valid_ref.errors import ValidRefError
from valid_ref.hashing import hash_vector
from valid_ref.machine import Message
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.global_validate import Estimate
from valid_ref.protocols.parameters import (
    LeanParameters,
    ParameterError,
    ValidParameters,
    estimate_limit,
)
from valid_ref.protocols.routes import Routes
from valid_ref.wide import WideIntegers

# Inputs.

PHASE = "LeanValidate"

FIX, OPEN, REPORT, COMPARE = (f"{PHASE}.{name}" for name in ("fix", "open", "report", "compare"))
"""Its phases."""

FIXED, OPENING, REPORTED = "fixed", "opening", "report"
"""The slots of the three floods."""

FORMAT = b"valid-ref/lean/1/"
"""What every text that is hashed begins with: version and, after it, the purpose."""

BEYOND = 1 << 256
"""Nonces, commitments and digests are below this."""

Held = Mapping[Tag, Any]
"""What an agent holds of all floods, and its total."""


class OpeningError(ValidRefError):
    """Shares and a nonce that an agent cannot commit to."""

    default_clause: ClassVar[str] = "LE-4"


@attrs.frozen
class Opening:
    """What an agent commits to and opens later: a nonce, and its share of every common key.

    Implements: LE-4.
    """

    nonce: int = attrs.field(repr=False)
    shares: tuple[int, ...] = attrs.field(repr=False)

    @classmethod
    def of_coins(cls, coins: Coins, parameters: ValidParameters) -> "Opening":
        """The nonce and the shares that these coins give; the coins are for one agent and one run.

        Implements: LE-4.
        """
        p, kappa = parameters.field.prime, lean_of(parameters).kappa
        nonce = int.from_bytes(coins.child("nonce").secret)
        return cls(nonce, tuple(coins.integer_below(p, "share", i) for i in range(kappa)))

    @property
    def value(self) -> tuple[int, ...]:
        """The nonce and the shares as they are flooded."""
        return (self.nonce, *self.shares)


def lean_of(parameters: ValidParameters) -> LeanParameters:
    """The parameters of lean validation, where there are some."""
    if parameters.lean is None:
        raise ParameterError("these are parameters of the paper's validation", clause="LE-1")
    return parameters.lean


def check_opening(parameters: ValidParameters, opening: object) -> Opening:
    """The private input of an agent; refused where it is no nonce with kappa shares.

    Implements: LE-4.
    """
    kappa = lean_of(parameters).kappa
    if type(opening) is not Opening:
        raise OpeningError("an agent of lean validation brings an opening, not a key")
    if not is_flooded(limits_of(parameters)[OPENING], opening.value):
        raise OpeningError(f"the opening is no nonce below 2^256 with {kappa} shares in 0..p-1")
    return opening


def check_openings(openings: Iterable[Opening]) -> None:
    """Refuse a coin source that repeats: two agents with one nonce.

    Implements: LE-4.
    """
    nonces = [opening.nonce for opening in openings]
    if len(set(nonces)) < len(nonces):
        raise OpeningError("two agents have the same nonce: the source of coins repeats")


# Encodings.


def commitment(parameters: ValidParameters, agent: int, opening: Sequence[int]) -> int:
    """SHA-256 of the name of the run, the agent, its nonce and its shares.

    Implements: LE-9.
    """
    lean = lean_of(parameters)
    nonce, *shares = opening
    who = () if "agent" in lean.without else (number(agent),)
    blind = () if "nonce" in lean.without else (number(nonce),)
    return _sha256(lean, b"commitment", *who, *blind, *map(number, shares))


def digest(parameters: ValidParameters, held: Held) -> int:
    """SHA-256 of everything flooded that an agent holds, nulls included.

    Implements: LE-13.
    """
    tags = [
        (v, slot) for v in range(parameters.graph.agents) for slot in (FIXED, OPENING, REPORTED)
    ]
    pieces = (framed(*map(number, held[tag])) if tag in held else b"" for tag in tags)
    return _sha256(lean_of(parameters), b"digest", *pieces)


def number(value: int) -> bytes:
    """An integer from 0 on, highest byte first, without leading zeros; 0 is no byte at all.

    Implements: LE-9.
    """
    return value.to_bytes((value.bit_length() + 7) // 8)


def framed(*pieces: bytes) -> bytes:
    """Each piece after its length in 8 bytes: different lists of pieces never give one text.

    Implements: LE-9.
    """
    return b"".join([len(piece).to_bytes(8) + piece for piece in pieces])


def _sha256(lean: LeanParameters, purpose: bytes, *pieces: bytes) -> int:
    text = framed(FORMAT + purpose, bytes.fromhex(lean.run), *pieces)
    return int.from_bytes(hashlib.sha256(text).digest())


# Forms.


def limits_of(parameters: ValidParameters) -> Mapping[str, tuple[int, ...]]:
    """For the value of each flood what each of its integers is below.

    A commitment with one number q for each weighting; a nonce with a share of every key; a report
    of 4 + m residues for every key.

    Implements: LE-7, LE-10, LE-11.
    """
    p, kappa = parameters.field.prime, lean_of(parameters).kappa
    largest = [estimate_limit(parameters, weighting) for weighting in parameters.weightings]
    squares = (parameters.lattice.dimension * limit**2 + 1 for limit in largest)
    return {
        FIXED: (BEYOND, *squares),
        OPENING: (BEYOND, *(p,) * kappa),
        REPORTED: (p,) * (kappa * (4 + len(largest))),
    }


def is_flooded(limits: Sequence[int], value: object) -> bool:
    """Whether a value is a tuple of so many plain integers, each from 0 to below its limit.

    Implements: LE-7, LE-10, LE-11.
    """
    if type(value) is not tuple or len(value) != len(limits):
        return False
    plain = set(map(type, value)) == {int}
    return plain and min(value) >= 0 and all(map(operator.lt, value, limits))


def is_sum(parameters: ValidParameters, value: object, count: int) -> bool:
    """Whether a value is a vector that the sum of so many estimates can be.

    Implements: LE-8.
    """
    d, m = parameters.lattice.dimension, len(parameters.weightings)
    if type(value) not in {tuple, WideIntegers} or not isinstance(value, Sequence):
        return False
    if len(value) != m * d or set(map(type, value)) - {int}:
        return False
    limits = [count * estimate_limit(parameters, weighting) for weighting in parameters.weightings]
    return all(max(map(abs, value[i * d : (i + 1) * d])) <= limit for i, limit in enumerate(limits))


# Checks of what the floods brought.


def opening_alarms(parameters: ValidParameters, held: Held, round_number: int) -> Alarms:
    """Openings that are not what their agents had committed to.

    Implements: LE-10.
    """
    if "commitment" in lean_of(parameters).without:
        return ()
    agents = range(parameters.graph.agents)
    both = [v for v in agents if (v, FIXED) in held and (v, OPENING) in held]
    wrong = [v for v in both if commitment(parameters, v, held[v, OPENING]) != held[v, FIXED][0]]
    return tuple(Raised(Alarm.OPENING_MISMATCH, OPEN, round_number, about=v) for v in wrong)


def common_keys(parameters: ValidParameters, held: Held) -> tuple[int, ...]:
    """The sums of all shares modulo p; an opening that did not come counts as zero.

    Implements: LE-10.
    """
    openings = [held[v, OPENING] for v in range(parameters.graph.agents) if (v, OPENING) in held]
    return tuple(
        sum(opening[1 + i] for opening in openings) % parameters.field.prime
        for i in range(lean_of(parameters).kappa)
    )


def report_of(
    parameters: ValidParameters, hashes: Sequence[int], vectors: Sequence[int]
) -> tuple[int, ...]:
    """For each key the four hashes of the transcript, then that of the estimate per weighting.

    `hashes` has four for each key; `vectors` one for each key of each weighting in turn.

    Implements: LE-11.
    """
    kappa = lean_of(parameters).kappa
    return tuple(
        entry for i in range(kappa) for entry in (*hashes[4 * i : 4 * i + 4], *vectors[i::kappa])
    )


def record_alarms(
    held: Held, expected: Mapping[int, tuple[Sequence[int], Sequence[int]]], round_number: int
) -> Alarms:
    """Neighbours whose numbers or report are not those of what they sent me.

    `expected` has for each neighbour the numbers q and the report of my record of it.

    Implements: LE-12.
    """
    raised = []
    for u, (numbers, report) in sorted(expected.items()):
        for tag, right in (((u, FIXED), tuple(numbers)), ((u, REPORTED), tuple(report))):
            said = held.get(tag)
            said = said[1:] if said is not None and tag[1] == FIXED else said
            if said is not None and said != right:
                raised.append(Raised(Alarm.RECORD_MISMATCH, REPORT, round_number, u, tag))
    return tuple(raised)


def relation_alarms(parameters: ValidParameters, held: Held, round_number: int) -> Alarms:
    """Agents whose reports and those of their neighbours break the linear relation.

    Implements: LE-12.
    """
    graph, field, raised = parameters.graph, parameters.field, []
    scale = 1 << parameters.lattice.precision.step_bits
    for key in range(lean_of(parameters).kappa):
        hashes = {v: under_key(parameters, held, v, key) for v in range(graph.agents)}
        for v, own in hashes.items():
            neighbours = [hashes[u] for u in graph.neighbours(v)]
            if own is None or None in neighbours:
                continue
            h_out, h_in, h_in_eta, h_gamma = own[:4]
            mixing = sum(other[2] - h_in_eta for other in neighbours if other is not None)
            if (scale * (h_out - h_in) - mixing + h_gamma) % field.prime:
                raised.append(Raised(Alarm.BROKEN_RELATION, REPORT, round_number, about=(v, key)))
    return tuple(raised)


def under_key(
    parameters: ValidParameters, held: Held, agent: int, key: int
) -> tuple[int, ...] | None:
    """The 4 + m entries of an agent's report under one key; None if there is no report."""
    width = 4 + len(parameters.weightings)
    if (agent, REPORTED) not in held:
        return None
    report: tuple[int, ...] = held[agent, REPORTED]
    return report[key * width : (key + 1) * width]


def total_alarms(
    parameters: ValidParameters, held: Held, of_total: Sequence[int], round_number: int
) -> Alarms:
    """Weightings under which the hash of the total is not the sum of the reported hashes.

    `of_total` has the hashes of the total, one for each key of each weighting in turn. Nothing is
    compared where a report is missing.

    Implements: LE-12.
    """
    agents, kappa = range(parameters.graph.agents), lean_of(parameters).kappa
    raised = []
    for index, weighting in enumerate(parameters.weightings):
        for key in range(kappa):
            entries = [under_key(parameters, held, v, key) for v in agents]
            known = [entry[4 + index] for entry in entries if entry is not None]
            differs = (sum(known) - of_total[index * kappa + key]) % parameters.field.prime
            if len(known) == len(agents) and differs:
                about = weighting.name
                raised.append(Raised(Alarm.WRONG_TOTAL, REPORT, round_number, about=about))
                break
    return tuple(raised)


def square_sums(parameters: ValidParameters, held: Held) -> list[int] | None:
    """sum_u q_u for each weighting; None if an agent's numbers are missing.

    Implements: LE-12.
    """
    agents = range(parameters.graph.agents)
    if any((v, FIXED) not in held for v in agents):
        return None
    return [
        sum(held[v, FIXED][1 + index] for v in agents)
        for index in range(len(parameters.weightings))
    ]


def vector_hashes(
    parameters: ValidParameters, keys: Sequence[int], vector: Sequence[int]
) -> list[int]:
    """The hash of the part of each weighting, under each key in turn.

    Implements: LE-11, HA-3.
    """
    d, parts = parameters.lattice.dimension, range(len(parameters.weightings))
    cut = [np.array(vector[i * d : (i + 1) * d], dtype=object) for i in parts]
    return [hash_vector(parameters.field, key, part) for part in cut for key in keys]


def added(vectors: Sequence[Sequence[int]]) -> Estimate:
    """The sum of at least one vector.

    Implements: LE-8.
    """
    return WideIntegers.of(sum(column) for column in zip(*vectors, strict=True))


# The comparison.


@attrs.frozen
class CompareState:
    """One's digest, and the alarms of the comparison."""

    agent: int
    digest: int
    alarms: Alarms = ()


@attrs.frozen
class Compare:
    """One round, in which every agent tells its neighbours the digest of all it holds.

    Implements: LE-13.
    """

    routes: Routes

    @property
    def rounds(self) -> int:
        """1.

        Implements: LE-5.
        """
        return 1

    def place(self, round_number: int) -> tuple[str, int]:
        """The phase and the round in it."""
        return COMPARE, round_number

    def start(self, agent: int, private: int) -> CompareState:
        """Begin with the digest."""
        return CompareState(agent, private)

    def send(self, state: CompareState, round_number: int) -> Message:  # noqa: ARG002
        """The digest."""
        return state.digest

    def receive(
        self, state: CompareState, round_number: int, inbox: Mapping[int, Message]
    ) -> CompareState:
        """A digest that is missing, none at all, or another than one's own is an alarm.

        Implements: LE-13, MO-8.
        """
        raised = []
        for sender in self.routes.graph.neighbours(state.agent):
            alarm = _objection(inbox.get(sender), state.digest)
            if alarm is not None:
                raised.append(Raised(alarm, COMPARE, round_number, sender))
        return attrs.evolve(state, alarms=tuple(raised))


def _objection(message: Message, own: int) -> Alarm | None:
    if message is None:
        return Alarm.MISSING_MESSAGE
    if type(message) is not int or not 0 <= message < BEYOND:
        return Alarm.MALFORMED_MESSAGE
    return None if message == own else Alarm.DIGEST_MISMATCH
