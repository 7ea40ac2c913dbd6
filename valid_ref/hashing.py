"""The polynomial hash over a prime field, in the paper's two forms and in the per-round form.

`hash_by_definition` (galois) is the readable definition; `hash_vector` and `round_polynomials`
are the same function on the arithmetic of `valid_ref.modular`. Tests hold them equal.
"""

import functools
from collections.abc import Sequence
from fractions import Fraction

import attrs
import numpy as np

from valid_ref import modular
from valid_ref.errors import ValidRefError
from valid_ref.kernels import PolyHash, groups, stack
from valid_ref.lattice import MERSENNE_61, IntVector
from valid_ref.modular import Residues
from valid_ref.schedule import Schedule

KeyHashes = tuple[int, int, int, int]
"""H_out, H_in, H_in_eta and H_Gamma of one transcript under one key, in the paper's order."""


class FieldError(ValidRefError):
    """A field or a key that the hash cannot use."""


@attrs.frozen
class PrimeField:
    """The integers modulo a prime p.

    Implements: HA-1, HA-2.
    """

    prime: int = MERSENNE_61

    def __attrs_post_init__(self) -> None:
        if self.prime != MERSENNE_61:
            _refuse_non_prime(self.prime)

    def check_length(self, n: int) -> None:
        """Refuse vectors of length n = dT that are not shorter than p.

        Implements: HA-1.
        """
        if n >= self.prime:
            raise FieldError(
                f"p = {self.prime} is not larger than the hashed length dT = {n}: some "
                "difference would be invisible to every key",
                clause="HA-1",
            )

    def check_key(self, key: int) -> None:
        """Refuse a key that is no integer in 0..p-1; one of numpy would not be sent as a key."""
        if type(key) is not int or not 0 <= key < self.prime:
            raise FieldError(
                f"key {key!r} is not in 0..{self.prime - 1} as a plain int", clause="LV-3"
            )


@functools.lru_cache(maxsize=64)
def _refuse_non_prime(order: int) -> None:
    if order < 2:
        raise FieldError(f"p = {order} is not a prime number", clause="HA-1")
    import galois  # deferred: takes about a second

    if galois.is_prime(order):
        return
    primes, exponents = galois.factors(order)
    if len(primes) == 1:
        raise FieldError(
            f"{order} = {primes[0]}^{exponents[0]} is the order of an extension field: integer "
            "representations of its elements are not linear, so the collision bound fails",
            clause="HA-2",
        )
    raise FieldError(f"p = {order} is not a prime number", clause="HA-1")


def hash_by_definition(field: PrimeField, key: int, vector: IntVector) -> int:
    """Hash(s, xi) = sum_i xi_i s^(i-1) in GF(p), 0^0 = 1, written with galois.

    Implements: HA-3.
    """
    import galois

    if len(vector) == 0:
        return 0  # galois has no empty sum
    GF = galois.GF(field.prime)
    entries = GF([int(entry) % field.prime for entry in vector])
    powers = GF(key) ** np.arange(len(vector))
    return int(np.sum(entries * powers))


def hash_integers(field: PrimeField, key: int, vector: IntVector) -> int:
    """The paper's integer-valued form: sum_i xi_i int(s^(i-1)), not reduced.

    Implements: HA-4.
    """
    total, power = 0, 1
    for entry in vector.tolist():
        total += entry * power
        power = power * key % field.prime
    return total


def hash_vector(field: PrimeField, key: int, vector: IntVector) -> int:
    """Hash(s, xi) as an integer in 0..p-1.

    Implements: HA-3.
    """
    return int(round_polynomials(field, (key,), np.asarray(vector)[np.newaxis, :])[0, 0])


def round_polynomials(field: PrimeField, keys: Sequence[int], rows: IntVector) -> Residues:
    """P_t(s) = sum_j x_j(t) s^j for each row x(t) and each key s: an array [rows, keys].

    Implements: HA-9.
    """
    for key in keys:
        field.check_key(key)
    if field.prime == MERSENNE_61 and rows.dtype == np.int64:
        return PolyHash(keys).hash(rows)
    return modular.evaluate(field.prime, rows, keys)


def transcript_polynomials(
    field: PrimeField, keys: Sequence[int], vectors: Sequence[IntVector]
) -> Residues:
    """The same of the vectors of a transcript, at least one, without a copy of all of them.

    Implements: HA-9.
    """
    if field.prime == MERSENNE_61:
        for key in keys:
            field.check_key(key)
        return PolyHash(keys).hash_each(vectors)
    parts = [round_polynomials(field, keys, stack(group)) for group in groups(vectors)]
    return np.concatenate(parts)


def combine_rounds(
    field: PrimeField,
    keys: Sequence[int],
    dimension: int,
    schedule: Schedule,
    models: Residues,
    gradients: Residues,
    *,
    eta_shift: int = 1,
) -> tuple[KeyHashes, ...]:
    """The four hashes of a transcript under each key, from its per-round polynomials.

    `models` is P_0..P_T, `gradients` R_1..R_T. With S = s^d:
    H_out = sum S^(t-1) P_t, H_in = sum S^t P_t, H_in_eta = sum S^t a_(t+1) P_t (t = 0..T-1),
    H_Gamma = sum S^(t-1) R_t. `eta_shift=0` is the printed index a_t (erratum P14), a_0 = a_1.

    Implements: HA-10.
    """
    p, T = field.prime, schedule.rounds
    steps = [schedule.mixing[max(0, t + eta_shift - 1)] % p for t in range(T)]
    powers = modular.powers(p, [pow(key, dimension, p) for key in keys], T)
    mixed = modular.multiply(p, models[:-1], modular.residues(p, steps)[:, np.newaxis])
    columns = (
        modular.weighted_sum(p, powers, values)
        for values in (models[1:], models[:-1], mixed, gradients)
    )
    return tuple(zip(*columns, strict=True))


def colliding_keys(field: PrimeField, difference: IntVector) -> tuple[int, ...]:
    """Every key under which two vectors with this difference have one hash (small p only).

    Implements: HA-7.
    """
    values = round_polynomials(field, range(field.prime), np.asarray(difference)[np.newaxis, :])
    return tuple(int(key) for key in np.flatnonzero(values[0] == 0))


def collision_bound(field: PrimeField, length: int, honest_keys: int) -> Fraction:
    """((n-1)/p)^h: the largest probability that h fresh keys all miss a difference of length n.

    Implements: HA-8.
    """
    return Fraction(max(0, length - 1), field.prime) ** honest_keys
