"""Vectors of the per-round form: one polynomial a round, four hashes of a transcript."""

from collections.abc import Sequence

from valid_ref.hashing import PrimeField, hash_vector, transcript_hashes
from valid_ref.lattice import MERSENNE_61
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.document import Case, Family, Json, Operation, make
from valid_ref.vectors.numbers import integer_vector, rows, whole, wholes
from valid_ref.vectors.schema import INTEGER, VECTOR, fields, many

FOUR = fields(key=INTEGER, out=INTEGER, into=INTEGER, into_eta=INTEGER, gamma=INTEGER)
OPERATIONS = {
    "round-polynomials": Operation(
        "For each row the sum of entry j times key^j, modulo the prime.",
        fields(prime=INTEGER, key=INTEGER, rows=many(VECTOR)),
        fields(values=VECTOR),
    ),
    "four-hashes": Operation(
        "H_out, H_in, H_in,eta and H_Gamma of one transcript under each key, by HA-10 or of the "
        "concatenated vectors by HA-3; `mixing` are a_1..a_T, `start` is x(0).",
        fields(
            prime=INTEGER, keys=VECTOR, mixing=VECTOR, start=VECTOR, models=many(VECTOR),
            scaled_gradients=many(VECTOR),
        ),
        fields(hashes=many(FOUR)),
    ),
}  # fmt: skip

Rows = Sequence[Sequence[int]]


def _polynomials(name: str, comment: str, prime: int, key: int, vectors: Rows) -> Case:
    def compute() -> Json:
        found = (hash_vector(PrimeField(prime), key, integer_vector(row)) for row in vectors)
        return {"values": wholes(found)}

    given = {"prime": whole(prime), "key": whole(key), "rows": rows(vectors)}
    return make(f"transcript-hashes/round-polynomials/{name}", "HA-9", comment, given, compute)


def _four(
    name: str, comment: str, prime: int, keys: Sequence[int], mixing: Sequence[int], models: Rows,
    gradients: Rows,
) -> Case:  # fmt: skip
    """`models` begins with x(0)."""

    def compute() -> Json:
        schedule = Schedule(Precision(0, 0), tuple(mixing), (1,) * len(mixing))
        parts = [[integer_vector(row) for row in part] for part in (models, gradients)]
        found = [transcript_hashes(PrimeField(prime), key, schedule, *parts) for key in keys]
        return {
            "hashes": [
                dict(zip(("key", "out", "into", "into_eta", "gamma"), wholes((key, *four)),
                         strict=True))
                for key, four in zip(keys, found, strict=True)
            ]
        }  # fmt: skip

    given = {
        "prime": whole(prime), "keys": wholes(keys), "mixing": wholes(mixing),
        "start": wholes(models[0]), "models": rows(models[1:]),
        "scaled_gradients": rows(gradients),
    }  # fmt: skip
    identifier = f"transcript-hashes/four-hashes/{name}"
    return make(identifier, "HA-10 LV-5", comment, given, compute)


def family() -> Family:
    """All cases of the per-round form."""
    large = 2**38 - 1
    two = [[1, -2], [3, 4], [-5, 6], [7, -8]]
    gradients = [[10, -20], [-30, 40], [50, 60]]
    return Family(
        "transcript-hashes",
        "The four hashes of a transcript, spec/hashing.md HA-9 and HA-10.",
        ("For each case, compute the operation named in `operation` from `input` and compare.",),
        OPERATIONS,
        (
            _polynomials("two-rows", "d = 3", 101, 7, [[1, 2, 3], [-1, 0, 5]]),
            _polynomials("key-zero", "only entry 0 counts", 101, 0, [[9, 8], [-7, 6]]),
            _polynomials("wide", "62 bits, the default prime", MERSENNE_61, MERSENNE_61 - 3,
                         [[2**62 - 1, -(2**62) + 1], [1, 2**61]]),
            _four("hashing-agent-0", "the worked example of hashing.md", 101, [7], [1, 1, 1],
                  [[0], [2], [2], [3]], [[-4], [-3], [-4]]),
            _four("hashing-agent-1", "the worked example of hashing.md", 101, [7], [1, 1, 1],
                  [[0], [-1], [0], [0]], [[2], [1], [2]]),
            _four("local-validate-agent-2", "the worked example of local-validate.md", 10007,
                  [5, 17, 42], [1, 1], [[0], [16], [23]], [[-64], [-36]]),
            _four("steps-differ", "a_(t+1) goes with x(t), not a_t (P14)", 10007, [5, 17],
                  [3, 5, 2], two, gradients),
            _four("start-counts", "x(0) is the first block of X_in (P16)", 101, [2, 3], [4],
                  [[7, 9], [1, 1]], [[0, 0]]),
            _four("key-zero", "S = 0: the first block alone, 0^0 = 1", 10007, [0], [3, 5, 2], two,
                  gradients),
            _four("key-one-and-last", "powers of 1 and of -1", MERSENNE_61, [1, MERSENNE_61 - 1],
                  [3, 5, 2], two, gradients),
            _four("one-round", "T = 1, d = 2", 10007, [10006], [7], [[1, 2], [3, 4]], [[5, 6]]),
            _four("large", "entries and steps near the range rule", MERSENNE_61,
                  [2**60 + 12345, 3], [2**19, 2**18, 2**19 - 1],
                  [[large, -large], [-large, large], [large - 1, 0], [1, -1]],
                  [[2**60 - 2, -(2**60) + 2], [1, 0], [0, -1]]),
            _four("small-prime-wraps", "entries far above the prime", 13, [0, 5, 12], [20, 30],
                  [[100, -100], [26, 27], [-13, 14]], [[39, -40], [1000, -1000]]),
            _four("63-bit-prime", "a prime for which sums of residues need more than 63 bits",
                  2**63 - 25, [2**63 - 26, 2**62], [3, 5, 2], two, gradients),
        ),
    )  # fmt: skip
