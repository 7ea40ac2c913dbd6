"""Vectors of the field and the hash: primes, keys, extremes, collisions, hashes of transcripts."""

from collections.abc import Iterable, Sequence

from valid_ref import hashing
from valid_ref.document import Json
from valid_ref.hashing import PrimeField, hash_integers, hash_vector
from valid_ref.lattice import MERSENNE_61
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import COMPARE, VectorCase, VectorFamily, operation
from valid_ref.vectors.schema import (
    INTEGER,
    RATIO,
    SMALL,
    VECTOR,
    YES,
    Vector,
    fields,
    integer_vector,
    many,
)

Rows = Sequence[Vector]


@operation("hash/field", fields(prime=INTEGER), YES, "HA-1 HA-2")
def field(prime: int) -> Json:
    """Whether the field is admitted."""
    PrimeField(prime)
    return {"accepted": True}


@operation("hash/length", fields(prime=INTEGER, length=SMALL), YES, "HA-1")
def length(prime: int, length: int) -> Json:
    """Whether vectors of this length dT can be hashed."""
    PrimeField(prime).check_length(length)
    return {"accepted": True}


@operation("hash/key", fields(prime=INTEGER, key=INTEGER), YES, "LV-3")
def key(prime: int, key: int) -> Json:
    """Whether this is a key."""
    PrimeField(prime).check_key(key)
    return {"accepted": True}


@operation(
    "hash/hash",
    fields(prime=INTEGER, key=INTEGER, vector=VECTOR),
    fields(hash=INTEGER, integer_form=INTEGER),
    "HA-3 HA-4 HA-5",
)
def hashed(prime: int, key: int, vector: Vector) -> Json:
    """Hash(key, vector) modulo the prime, and the paper's integer form, which is not reduced."""
    field, entries = PrimeField(prime), integer_vector(vector)
    return {
        "hash": hash_vector(field, key, entries),
        "integer_form": hash_integers(field, key, entries),
    }


@operation("hash/colliding-keys", fields(prime=INTEGER, vector=VECTOR), fields(keys=VECTOR), "HA-7")
def colliding_keys(prime: int, vector: Vector) -> Json:
    """All keys, in increasing order, under which the vector hashes to 0."""
    return {"keys": hashing.colliding_keys(PrimeField(prime), integer_vector(vector))}


@operation(
    "hash/collision-bound",
    fields(prime=INTEGER, length=SMALL, keys=SMALL),
    fields(bound=RATIO),
    "HA-8",
)
def collision_bound(prime: int, length: int, keys: int) -> Json:
    """((length - 1) / prime)^keys: the largest chance that so many keys all miss a difference."""
    return {"bound": hashing.collision_bound(PrimeField(prime), length, keys)}


OPERATIONS = (field, length, key, hashed, colliding_keys, collision_bound)

BELOW_32, ABOVE_32 = 2**31 - 1, 2**31 + 11
BELOW_62, BELOW_63, BELOW_64 = 2**62 - 57, 2**63 - 25, 2**64 - 59
PRIMES = {
    **{str(prime): prime for prime in (2, 3, 13, 101, 10007)},
    "31-bits": BELOW_32,
    "32-bits": ABOVE_32,
    "mersenne-61": MERSENNE_61,
    "62-bits": BELOW_62,
    "63-bits": BELOW_63,
    "64-bits": BELOW_64,
}
"""Primes on both sides of every word size that an implementation may special-case."""


def _fields() -> Iterable[VectorCase]:
    """Which fields and keys are admitted."""
    for name, prime in PRIMES.items():
        yield field(f"prime-{name}", "a prime", prime)
    yield field("zero-refused", "no field", 0, refused="HA-1")
    yield field("one-refused", "no field", 1, refused="HA-1")
    yield field("composite-refused", "3 * 5", 15, refused="HA-1")
    yield field(
        "large-composite-refused", "2^61 + 1 = 3 * 768614336404564651", 2**61 + 1, refused="HA-1"
    )
    yield field("eight-refused", "GF(8) is no prime field", 8, refused="HA-2")
    yield field("nine-refused", "GF(9) is no prime field", 9, refused="HA-2")
    yield field("large-power-refused", "GF(2^61)", 2**61, refused="HA-2")
    yield field("negative-refused", "no field", -7, refused="HA-1")
    yield field("four-refused", "GF(4)", 4, refused="HA-2")
    yield field("sixty-four-refused", "GF(2^6), which is 8^2 and 4^3 too", 64, refused="HA-2")
    yield field("prime-squared-refused", "(2^31 - 1)^2", (2**31 - 1) ** 2, refused="HA-2")
    yield field("composite-squared-refused", "6^2 is no power of a prime", 36, refused="HA-1")
    yield length("shorter", "12 entries modulo 13", 13, 12)
    yield length("equal-refused", "13 entries modulo 13", 13, 13, refused="HA-1")
    yield length("longer-refused", "14 entries modulo 13 (P19)", 13, 14, refused="HA-1")
    yield key("zero", "0 is a key", 101, 0)
    yield key("largest", "p - 1 is a key", MERSENNE_61, MERSENNE_61 - 1)
    yield key("prime-refused", "p is not", MERSENNE_61, MERSENNE_61, refused="LV-3")
    yield key("negative-refused", "nor is -1", 101, -1, refused="LV-3")


def _hashes() -> Iterable[VectorCase]:
    """Hashes for every kind of prime."""
    mixed = [3, -1, 4, 1, -5, 9, -2, 6]
    wide = [2**62 - 1, -(2**62) + 1, 2**61 - 1, -(2**61) + 2, 1]
    ends = [2**63 - 1, -(2**63), 2**63 - 1, -(2**63)]
    for name, prime in PRIMES.items():
        keys = {"zero": 0, "one": 1, "middle": prime // 3 * 2 + 1, "largest": prime - 1}
        for place, key in keys.items():
            if key < prime and (prime > 3 or place in {"zero", "one"}):
                yield hashed(
                    f"mixed-{name}-{place}",
                    f"entries of either sign, key {place}",
                    prime,
                    key,
                    mixed,
                )
        yield hashed(
            f"wide-{name}",
            "entries of 62 bits: products wrap in one word",
            prime,
            prime - 2 if prime > 2 else 1,
            wide,
        )
        yield hashed(f"ends-{name}", "both ends of int64", prime, prime // 2, ends)
    yield hashed("key-zero-first-entry", "0^0 = 1: only the first entry counts", 101, 0, [7, 8, 9])
    yield hashed("zero-vector", "hashes to 0", 101, 7, [0, 0, 0])
    yield hashed("one-entry", "no power is taken", MERSENNE_61, 12345, [-1])
    yield hashed("agent-0-out", "X_out of agent 0 in hashing.md", 101, 7, [2, 2, 3])
    yield hashed("agent-0-gamma", "Gamma of agent 0 in hashing.md", 101, 7, [-4, -3, -4])
    yield hashed("plus-prime", "101 more in an entry is invisible (P20)", 101, 7, [103, 2, 3])
    yield hashed(
        "all-largest",
        "every entry p - 1, key p - 1",
        MERSENNE_61,
        MERSENNE_61 - 1,
        [MERSENNE_61 - 1] * 9,
    )


def family() -> VectorFamily:
    """All cases of the hash."""
    long = [0, 1, *[0] * 11, -1]
    return VectorFamily(
        "hash",
        "The prime field and the polynomial hash of spec/hashing.md.",
        (
            COMPARE,
            "An implementation that supports only some primes skips the cases of others, and says "
            "so.",
        ),
        OPERATIONS,
        (
            *_fields(),
            *_hashes(),
            colliding_keys(
                "tight", "5 = n - 1 of 13 keys miss it", 13, [-1, 0, -1, 1, 0, 1], source="HA-7 P18"
            ),
            colliding_keys(
                "longer-than-prime",
                "e_2 - e_14 is invisible to every key",
                13,
                long,
                source="HA-1 P19",
            ),
            colliding_keys(
                "multiple-of-prime", "invisible to every key", 101, [101, 0, 0], source="AR-13 P20"
            ),
            colliding_keys("one-entry", "no key misses a difference of length 1", 13, [5]),
            colliding_keys(
                "only-zero", "a residual (0, 1, 0) is missed by the key 0", 101, [0, 1, 0]
            ),
            collision_bound("two-keys", "25/169", 13, 6, 2),
            collision_bound("one-entry", "nothing is missed", 13, 1, 1),
            collision_bound("default", "dT = 10^8, one key", MERSENNE_61, 10**8, 1),
        ),
    )


FOUR = fields(key=INTEGER, out=INTEGER, into=INTEGER, into_eta=INTEGER, gamma=INTEGER)


@operation(
    "transcript-hashes/round-polynomials",
    fields(prime=INTEGER, key=INTEGER, rows=many(VECTOR)),
    fields(values=VECTOR),
    "HA-9",
)
def round_polynomials(prime: int, key: int, rows: Rows) -> Json:
    """For each row the sum of entry j times key^j, modulo the prime."""
    field = PrimeField(prime)
    return {"values": [hash_vector(field, key, integer_vector(row)) for row in rows]}


@operation(
    "transcript-hashes/four-hashes",
    fields(
        prime=INTEGER,
        keys=VECTOR,
        mixing=VECTOR,
        start=VECTOR,
        models=many(VECTOR),
        scaled_gradients=many(VECTOR),
    ),
    fields(hashes=many(FOUR)),
    "HA-10 LV-5",
)
def four_hashes(
    prime: int, keys: Vector, mixing: Vector, start: Vector, models: Rows, scaled_gradients: Rows
) -> Json:
    """H_out, H_in, H_in,eta and H_Gamma of one transcript under each key, by HA-10 or of the
    concatenated vectors by HA-3; `mixing` are a_1..a_T, `start` is x(0).
    """
    schedule = Schedule(Precision(0, 0), tuple(mixing), (1,) * len(mixing))
    parts = [[integer_vector(row) for row in part] for part in ([start, *models], scaled_gradients)]
    field = PrimeField(prime)
    found = [hashing.transcript_hashes(field, key, schedule, *parts) for key in keys]
    names = ("key", "out", "into", "into_eta", "gamma")
    pairs = zip(keys, found, strict=True)
    return {"hashes": [dict(zip(names, (key, *four), strict=True)) for key, four in pairs]}


TRANSCRIPT_OPERATIONS = (round_polynomials, four_hashes)


def transcript_family() -> VectorFamily:
    """All cases of the per-round form: one polynomial a round, four hashes of a transcript."""

    def four(
        name: str, comment: str, prime: int, keys: Vector, sent: tuple[Vector, Rows, Rows]
    ) -> VectorCase:
        mixing, (start, *models), gradients = sent
        return four_hashes(
            name,
            comment,
            prime=prime,
            keys=keys,
            mixing=mixing,
            start=start,
            models=models,
            scaled_gradients=gradients,
        )

    agent_0 = [1, 1, 1], [[0], [2], [2], [3]], [[-4], [-3], [-4]]
    agent_1 = [1, 1, 1], [[0], [-1], [0], [0]], [[2], [1], [2]]
    agent_2 = [1, 1], [[0], [16], [23]], [[-64], [-36]]
    uneven = ([3, 5, 2], [[1, -2], [3, 4], [-5, 6], [7, -8]], [[10, -20], [-30, 40], [50, 60]])
    x = 2**38 - 1
    large = (
        [2**19, 2**18, 2**19 - 1],
        [[x, -x], [-x, x], [x - 1, 0], [1, -1]],
        [[2**60 - 2, -(2**60) + 2], [1, 0], [0, -1]],
    )
    wide = [[2**62 - 1, -(2**62) + 1], [1, 2**61]]
    start, short = ([4], [[7, 9], [1, 1]], [[0, 0]]), ([7], [[1, 2], [3, 4]], [[5, 6]])
    above = [20, 30], [[100, -100], [26, 27], [-13, 14]], [[39, -40], [1000, -1000]]
    ends = [1, MERSENNE_61 - 1]
    needs_64 = "a prime for which sums of residues need more than 63 bits"
    return VectorFamily(
        "transcript-hashes",
        "The four hashes of a transcript, spec/hashing.md HA-9 and HA-10.",
        (COMPARE,),
        TRANSCRIPT_OPERATIONS,
        (
            round_polynomials("two-rows", "d = 3", 101, 7, [[1, 2, 3], [-1, 0, 5]]),
            round_polynomials("key-zero", "only entry 0 counts", 101, 0, [[9, 8], [-7, 6]]),
            round_polynomials(
                "wide", "62 bits, the default prime", MERSENNE_61, MERSENNE_61 - 3, wide
            ),
            four("hashing-agent-0", "the worked example of hashing.md", 101, [7], agent_0),
            four("hashing-agent-1", "the worked example of hashing.md", 101, [7], agent_1),
            four(
                "local-validate-agent-2",
                "the worked example of local-validate.md",
                10007,
                [5, 17, 42],
                agent_2,
            ),
            four("steps-differ", "a_(t+1) goes with x(t), not a_t (P14)", 10007, [5, 17], uneven),
            four("start-counts", "x(0) is the first block of X_in (P16)", 101, [2, 3], start),
            four("key-zero", "S = 0: the first block alone, 0^0 = 1", 10007, [0], uneven),
            four("key-one-and-last", "powers of 1 and of -1", MERSENNE_61, ends, uneven),
            four("one-round", "T = 1, d = 2", 10007, [10006], short),
            four(
                "large",
                "entries and steps near the range rule",
                MERSENNE_61,
                [2**60 + 12345, 3],
                large,
            ),
            four("small-prime-wraps", "entries far above the prime", 13, [0, 5, 12], above),
            four("63-bit-prime", needs_64, 2**63 - 25, [2**63 - 26, 2**62], uneven),
        ),
    )
