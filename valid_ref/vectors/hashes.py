"""Vectors of the field and of the hash: primes, keys, extremes, collisions."""

from collections.abc import Iterable, Sequence

from valid_ref.hashing import (
    PrimeField,
    colliding_keys,
    collision_bound,
    hash_integers,
    hash_vector,
)
from valid_ref.lattice import MERSENNE_61
from valid_ref.vectors.document import Case, Family, Json, Operation, make
from valid_ref.vectors.numbers import integer_vector, ratio, whole, wholes
from valid_ref.vectors.schema import INTEGER, RATIO, SMALL, VECTOR, YES, fields

OPERATIONS = {
    "field": Operation("Whether the field is admitted.", fields(prime=INTEGER), YES),
    "length": Operation(
        "Whether vectors of this length dT can be hashed.",
        fields(prime=INTEGER, length=SMALL),
        YES,
    ),
    "key": Operation("Whether this is a key.", fields(prime=INTEGER, key=INTEGER), YES),
    "hash": Operation(
        "Hash(key, vector) modulo the prime, and the paper's integer form, which is not reduced.",
        fields(prime=INTEGER, key=INTEGER, vector=VECTOR),
        fields(hash=INTEGER, integer_form=INTEGER),
    ),
    "colliding-keys": Operation(
        "All keys, in increasing order, under which the vector hashes to 0.",
        fields(prime=INTEGER, vector=VECTOR),
        fields(keys=VECTOR),
    ),
    "collision-bound": Operation(
        "((length - 1) / prime)^keys: the largest chance that so many keys all miss a difference.",
        fields(prime=INTEGER, length=SMALL, keys=SMALL),
        fields(bound=RATIO),
    ),
}

BELOW_32, ABOVE_32 = 2**31 - 1, 2**31 + 11
BELOW_62, BELOW_63, BELOW_64 = 2**62 - 57, 2**63 - 25, 2**64 - 59
PRIMES = {
    "2": 2, "3": 3, "13": 13, "101": 101, "10007": 10007, "31-bits": BELOW_32,
    "32-bits": ABOVE_32, "mersenne-61": MERSENNE_61, "62-bits": BELOW_62, "63-bits": BELOW_63,
    "64-bits": BELOW_64,
}  # fmt: skip
"""Primes on both sides of every word size that an implementation may special-case."""


def _field(name: str, comment: str, prime: int, refused: str | None = None) -> Case:
    def compute() -> Json:
        PrimeField(prime)
        return {"accepted": True}

    return make(
        f"hash/field/{name}", "HA-1 HA-2", comment, {"prime": whole(prime)}, compute,
        refused=refused,
    )  # fmt: skip


def _length(name: str, comment: str, prime: int, length: int, refused: str | None = None) -> Case:
    def compute() -> Json:
        PrimeField(prime).check_length(length)
        return {"accepted": True}

    given = {"prime": whole(prime), "length": length}
    return make(f"hash/length/{name}", "HA-1", comment, given, compute, refused=refused)


def _key(name: str, comment: str, prime: int, key: int, refused: str | None = None) -> Case:
    def compute() -> Json:
        PrimeField(prime).check_key(key)
        return {"accepted": True}

    given = {"prime": whole(prime), "key": whole(key)}
    return make(f"hash/key/{name}", "LV-3", comment, given, compute, refused=refused)


def _hash(name: str, comment: str, prime: int, key: int, vector: Sequence[int]) -> Case:
    def compute() -> Json:
        field, entries = PrimeField(prime), integer_vector(vector)
        return {
            "hash": whole(hash_vector(field, key, entries)),
            "integer_form": whole(hash_integers(field, key, entries)),
        }

    given = {"prime": whole(prime), "key": whole(key), "vector": wholes(vector)}
    return make(f"hash/hash/{name}", "HA-3 HA-4 HA-5", comment, given, compute)


def _colliding(name: str, source: str, comment: str, prime: int, vector: Sequence[int]) -> Case:
    def compute() -> Json:
        return {"keys": wholes(colliding_keys(PrimeField(prime), integer_vector(vector)))}

    given = {"prime": whole(prime), "vector": wholes(vector)}
    return make(f"hash/colliding-keys/{name}", source, comment, given, compute)


def _bound(name: str, comment: str, prime: int, length: int, keys: int) -> Case:
    return make(
        f"hash/collision-bound/{name}", "HA-8", comment,
        {"prime": whole(prime), "length": length, "keys": keys},
        lambda: {"bound": ratio(collision_bound(PrimeField(prime), length, keys))},
    )  # fmt: skip


def _fields() -> Iterable[Case]:
    """Which fields and keys are admitted."""
    for name, prime in PRIMES.items():
        yield _field(f"prime-{name}", "a prime", prime)
    yield _field("zero-refused", "no field", 0, "HA-1")
    yield _field("one-refused", "no field", 1, "HA-1")
    yield _field("composite-refused", "3 * 5", 15, "HA-1")
    yield _field("large-composite-refused", "2^61 + 1 = 3 * 768614336404564651", 2**61 + 1, "HA-1")
    yield _field("eight-refused", "GF(8) is no prime field", 8, "HA-2")
    yield _field("nine-refused", "GF(9) is no prime field", 9, "HA-2")
    yield _field("large-power-refused", "GF(2^61)", 2**61, "HA-2")
    yield _field("negative-refused", "no field", -7, "HA-1")
    yield _field("four-refused", "GF(4)", 4, "HA-2")
    yield _field("sixty-four-refused", "GF(2^6), which is 8^2 and 4^3 too", 64, "HA-2")
    yield _field("prime-squared-refused", "(2^31 - 1)^2", (2**31 - 1) ** 2, "HA-2")
    yield _field("composite-squared-refused", "6^2 is no power of a prime", 36, "HA-1")
    yield _length("shorter", "12 entries modulo 13", 13, 12)
    yield _length("equal-refused", "13 entries modulo 13", 13, 13, "HA-1")
    yield _length("longer-refused", "14 entries modulo 13 (P19)", 13, 14, "HA-1")
    yield _key("zero", "0 is a key", 101, 0)
    yield _key("largest", "p - 1 is a key", MERSENNE_61, MERSENNE_61 - 1)
    yield _key("prime-refused", "p is not", MERSENNE_61, MERSENNE_61, "LV-3")
    yield _key("negative-refused", "nor is -1", 101, -1, "LV-3")


def _hashes() -> Iterable[Case]:
    """Hashes for every kind of prime."""
    mixed = [3, -1, 4, 1, -5, 9, -2, 6]
    wide = [2**62 - 1, -(2**62) + 1, 2**61 - 1, -(2**61) + 2, 1]
    ends = [2**63 - 1, -(2**63), 2**63 - 1, -(2**63)]
    for name, prime in PRIMES.items():
        keys = {"zero": 0, "one": 1, "middle": prime // 3 * 2 + 1, "largest": prime - 1}
        for place, key in keys.items():
            if key < prime and (prime > 3 or place in {"zero", "one"}):
                yield _hash(f"mixed-{name}-{place}", f"entries of either sign, key {place}",
                            prime, key, mixed)  # fmt: skip
        yield _hash(f"wide-{name}", "entries of 62 bits: products wrap in one word", prime,
                    prime - 2 if prime > 2 else 1, wide)  # fmt: skip
        yield _hash(f"ends-{name}", "both ends of int64", prime, prime // 2, ends)
    yield _hash("key-zero-first-entry", "0^0 = 1: only the first entry counts", 101, 0, [7, 8, 9])
    yield _hash("zero-vector", "hashes to 0", 101, 7, [0, 0, 0])
    yield _hash("one-entry", "no power is taken", MERSENNE_61, 12345, [-1])
    yield _hash("agent-0-out", "X_out of agent 0 in hashing.md", 101, 7, [2, 2, 3])
    yield _hash("agent-0-gamma", "Gamma of agent 0 in hashing.md", 101, 7, [-4, -3, -4])
    yield _hash("plus-prime", "101 more in an entry is invisible (P20)", 101, 7, [103, 2, 3])
    yield _hash("all-largest", "every entry p - 1, key p - 1", MERSENNE_61, MERSENNE_61 - 1,
                [MERSENNE_61 - 1] * 9)  # fmt: skip


def family() -> Family:
    """All cases of the hash."""
    return Family(
        "hash",
        "The prime field and the polynomial hash of spec/hashing.md.",
        ("For each case, compute the operation named in `operation` from `input` and compare.",
         "An implementation that supports only some primes skips the cases of others, and says "
         "so."),
        OPERATIONS,
        (
            *_fields(),
            *_hashes(),
            _colliding("tight", "HA-7 P18", "5 = n - 1 of 13 keys miss it", 13,
                       [-1, 0, -1, 1, 0, 1]),
            _colliding("longer-than-prime", "HA-1 P19", "e_2 - e_14 is invisible to every key",
                       13, [0, 1, *[0] * 11, -1]),
            _colliding("multiple-of-prime", "AR-13 P20", "invisible to every key", 101,
                       [101, 0, 0]),
            _colliding("one-entry", "HA-7", "no key misses a difference of length 1", 13, [5]),
            _colliding("only-zero", "HA-7", "a residual (0, 1, 0) is missed by the key 0", 101,
                       [0, 1, 0]),
            _bound("two-keys", "25/169", 13, 6, 2),
            _bound("one-entry", "nothing is missed", 13, 1, 1),
            _bound("default", "dT = 10^8, one key", MERSENNE_61, 10**8, 1),
        ),
    )  # fmt: skip
