"""The polynomial hash over a prime field, in plain integers.

The fast form for many vectors and keys is `valid_ref.kernels.polyhash`; tests hold both equal.
"""

from collections.abc import Sequence
from fractions import Fraction

import attrs

from valid_ref.errors import ValidRefError
from valid_ref.lattice import MERSENNE_61, IntVector
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
        if is_prime(self.prime):
            return
        for exponent in range(2, self.prime.bit_length() + 1):
            root = _integer_root(self.prime, exponent)
            if root**exponent == self.prime and is_prime(root):
                raise FieldError(
                    f"{self.prime} = {root}^{exponent} is the order of an extension field: integer "
                    "representations of its elements are not linear, so the collision bound fails",
                    clause="HA-2",
                )
        raise FieldError(f"p = {self.prime} is not a prime number", clause="HA-1")

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


_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
"""Miller-Rabin with these bases decides every number below 3.3 * 10^24 > 2^81."""


def is_prime(number: int) -> bool:
    """Whether a number is prime, by Miller-Rabin; beyond 2^81 a rare composite could pass.

    Implements: HA-1.
    """
    if number < 2 or any(number % base == 0 for base in _BASES):
        return number in _BASES
    odd = number - 1
    twos = (odd & -odd).bit_length() - 1
    odd >>= twos
    return all(
        pow(base, odd, number) == 1
        or any(pow(base, odd << i, number) == number - 1 for i in range(twos))
        for base in _BASES
    )


def _integer_root(number: int, exponent: int) -> int:
    """The largest integer whose power with this exponent is at most the number, by bisection."""
    low, high = 0, 1 << -(-number.bit_length() // exponent)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**exponent <= number else (low, middle - 1)
    return low


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
    """Hash(s, xi) = sum_i xi_i s^(i-1) mod p, an integer in 0..p-1, with 0^0 = 1.

    Of a model or a scaled gradient of one round these are P_t(s) and R_t(s).

    Implements: HA-3, HA-9.
    """
    field.check_key(key)
    p, entries = field.prime, [int(entry) for entry in vector]
    return sum(entry * pow(key, i, p) for i, entry in enumerate(entries)) % p


def transcript_hashes(
    field: PrimeField,
    key: int,
    schedule: Schedule,
    models: Sequence[IntVector],
    gradients: Sequence[IntVector],
    *,
    eta_shift: int = 1,
) -> KeyHashes:
    """The four hashes of a transcript under one key, from the hashes of its rounds.

    `models` is x(0)..x(T), `gradients` Gamma(1)..Gamma(T). With S = s^d:
    H_out = sum S^(t-1) P_t, H_in = sum S^t P_t, H_in_eta = sum S^t a_(t+1) P_t (t = 0..T-1),
    H_Gamma = sum S^(t-1) R_t. `eta_shift=0` is the printed index a_t (erratum P14), a_0 = a_1.

    Implements: HA-10.
    """
    p, T = field.prime, schedule.rounds
    S = pow(key, len(models[0]), p)
    P = [hash_vector(field, key, model) for model in models]
    R = [hash_vector(field, key, gradient) for gradient in gradients]
    a = [schedule.a(max(1, t + eta_shift)) for t in range(T)]
    return (
        sum(pow(S, t, p) * P[t + 1] for t in range(T)) % p,
        sum(pow(S, t, p) * P[t] for t in range(T)) % p,
        sum(pow(S, t, p) * a[t] * P[t] for t in range(T)) % p,
        sum(pow(S, t, p) * R[t] for t in range(T)) % p,
    )


def colliding_keys(field: PrimeField, difference: IntVector) -> tuple[int, ...]:
    """Every key under which two vectors with this difference have one hash (small p only).

    Implements: HA-7.
    """
    return tuple(key for key in range(field.prime) if hash_vector(field, key, difference) == 0)


def collision_bound(field: PrimeField, length: int, honest_keys: int) -> Fraction:
    """((n-1)/p)^h: the largest probability that h fresh keys all miss a difference of length n.

    Implements: HA-8.
    """
    return Fraction(max(0, length - 1), field.prime) ** honest_keys
