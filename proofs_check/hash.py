"""The polynomial hash: how many keys a difference can fool, and why the field must be prime.

Proves: HA-5, HA-6, HA-7, HA-8, HA-10, HA-11.
"""

from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np

from proofs_check.engines import identity, sp, universal, z3
from proofs_check.extension_field import FIELDS_AND_DIFFERENCES, ExtensionField
from proofs_check.framework import Axiom, Claim, Finding, Method, Proof, Reach, Role, step
from valid_ref.hashing import PrimeField, colliding_keys, hash_integers

SMALL_PRIMES = (2, 3, 5, 7, 11, 13)


@universal()
def integer_form() -> Claim:
    """HA-5: adding xi int(s^i) or xi s^i keeps the two sums congruent modulo p.

    One term: powers that differ by a multiple of p give totals that differ by one.

    Proves: HA-5.
    """
    total, field_total, m, xi, power, j, k, p = z3.Ints("total field m xi power j k p")
    given = {
        "the sums so far are congruent": total == field_total + p * m,
        "the powers are congruent": power == k + p * j,
    }
    then = total + xi * power == field_total + xi * k + p * (m + xi * j)
    return Claim(given, then, drop="the powers are congruent")


@identity()
def linearity() -> dict[str, Any]:
    """HA-6: the hash is linear in the vector, term by term.

    Proves: HA-6.
    """
    c, d, x, y, s, i = sp.symbols("c d x y s i")
    return {"one term": (c * x + d * y) * s**i - c * x * s**i - d * y * s**i}


@identity()
def root_factor() -> dict[str, Any]:
    """HA-7: s - r divides s^k - r^k, by induction on k; so a polynomial with root r is (s - r) q.

    Proves: HA-7.
    """
    s, r, quotient, k = sp.symbols("s r quotient k", positive=True)
    power = r**k + (s - r) * quotient
    return {"step": s * power - r ** (k + 1) - (s - r) * (s * quotient + r**k)}


@universal(axioms=(Axiom.FIELD, Axiom.INDUCTION), needs=(root_factor,))
def one_root_less() -> Claim:
    """HA-7: without zero divisors a root of (s - r) q other than r is a root of q.

    So a nonzero polynomial of degree at most n-1 has at most n-1 roots, by induction on n.

    Proves: HA-7.
    """
    F = z3.DeclareSort("F")
    zero, r, s, quotient = z3.Consts("zero r s quotient", F)
    times, minus = z3.Function("times", F, F, F), z3.Function("minus", F, F, F)
    factors = z3.Or(minus(s, r) == zero, quotient == zero)
    given = {
        "no zero divisors": z3.Implies(times(minus(s, r), quotient) == zero, factors),
        "s - r = 0 only for s = r": z3.Implies(minus(s, r) == zero, s == r),
        "a root": times(minus(s, r), quotient) == zero,
        "another root": s != r,
    }
    return Claim(given, quotient == zero, drop="no zero divisors")


@identity(reach=Reach.INSTANCE, role=Role.INSTANCE)
def vandermonde() -> dict[str, Any]:
    """HA-7: the Vandermonde determinant is the product of s_j - s_i, for n = 2 to 5.

    Proves: HA-7.
    """
    found = {}
    for n in range(2, 6):
        keys = sp.symbols(f"s1:{n + 1}")
        matrix = sp.Matrix(n, n, lambda i, j, keys=keys: keys[i] ** j)
        wanted = sp.Mul(*(b - a for a, b in combinations(keys, 2)))
        found[f"n = {n}"] = sp.expand(matrix.det(method="berkowitz")) - sp.expand(wanted)
    return found


@step(Method.EXHAUSTIVE, role=Role.INSTANCE)
def minors() -> Finding:
    """HA-7: for the primes up to 13 no minor of the table int(s^j) on n keys is 0 modulo p."""
    count = 0
    for p in SMALL_PRIMES:
        for n in range(1, p + 1):
            rows = np.array(list(combinations(range(p), n)), dtype=np.int64)
            singular = (_determinants(p, rows[:, :, np.newaxis] ** np.arange(n) % p) == 0).any()
            if singular or len(rows) != comb(p, n):
                return Finding(False, f"a singular minor for p = {p}, n = {n}")
            count += len(rows)
    return Finding(True, f"{count} minors")


def _determinants(p: int, matrices: Any) -> Any:
    """Determinants modulo p of a stack of square matrices, by elimination."""
    matrices = matrices.copy()
    size, stack = matrices.shape[1], np.arange(len(matrices))
    result = np.ones(len(matrices), dtype=np.int64)
    inverses = np.array([pow(x, -1, p) if x else 0 for x in range(p)])
    for k in range(size):
        pivots = k + (matrices[:, k:, k] != 0).argmax(axis=1)
        rows = matrices[stack, pivots].copy()
        matrices[stack, pivots] = matrices[:, k]
        matrices[:, k] = rows
        result = result * np.where(pivots == k, 1, -1) * rows[:, k] % p
        factors = matrices[:, k + 1 :, k] * inverses[rows[:, k]][:, np.newaxis] % p
        matrices[:, k + 1 :] = (
            matrices[:, k + 1 :] - factors[:, :, np.newaxis] * rows[:, np.newaxis]
        ) % p
    return result


@step(Method.EXHAUSTIVE, role=Role.INSTANCE)
def collisions() -> Finding:
    """HA-7: every nonzero vector modulo p has at most n-1 colliding keys, and some has n-1."""
    count = 0
    for p, longest in ((2, 2), (3, 3), (5, 5), (7, 6), (11, 4), (13, 4)):
        for n in range(1, longest + 1):
            vectors = np.array(list(product(range(p), repeat=n)), dtype=np.int64)[1:]
            powers = np.array([[pow(s, i, p) for s in range(p)] for i in range(n)])
            worst = int(((vectors @ powers % p) == 0).sum(axis=1).max())
            if worst != n - 1:
                return Finding(False, f"p = {p}, n = {n}: {worst} colliding keys")
            count += len(vectors)
    return Finding(True, f"{count} vectors under every key")


@step(Method.EXACT, role=Role.INSTANCE)
def bound_attained() -> Finding:
    """HA-7, HA-8: the example p = 13, n = 6 has 5 colliding keys, and so has its integer form."""
    field, difference = PrimeField(13), np.array([-1, 0, -1, 1, 0, 1], dtype=np.int64)
    keys = colliding_keys(field, difference)
    integers = tuple(s for s in range(13) if hash_integers(field, s, difference) == 0)
    pairs = sum(a in keys and b in keys for a, b in product(range(13), repeat=2))
    exact = Fraction(pairs, 13**2) == Fraction(5, 13) ** 2
    return Finding(keys == integers == (1, 3, 5, 8, 9) and exact, "5 of 13; two keys 25/169")


@identity()
def blocks() -> dict[str, Any]:
    """HA-10: entry j of block b stands at s^(bd+j) = (s^d)^b s^j, so a block weighs S^b.

    Proves: HA-10.
    """
    s = sp.symbols("s", positive=True)
    b, d, j, x, a = sp.symbols("b d j x a", integer=True)
    term = a * x * s ** (b * d + j) - a * (s**d) ** b * x * s**j
    return {"one entry": sp.powsimp(sp.expand_power_exp(term))}


@identity(needs=(linearity, blocks))
def residual() -> dict[str, Any]:
    """HA-11: the hash of the residual of AR-6 is the same combination of the four hashes.

    One entry of one block with two neighbours; sums over entries, blocks and neighbours are
    linear.

    Proves: HA-11.
    """
    k, out, own, first, second, gamma, a, w = sp.symbols("k out own first second gamma a w")
    scale = 2**k
    entry = scale * out - scale * own - a * (first - own) - a * (second - own) + gamma
    hashes = scale * w * out - scale * w * own + w * gamma
    hashes -= (w * a * first - w * a * own) + (w * a * second - w * a * own)
    return {"one entry": w * entry - hashes}


@universal()
def range_rule() -> Claim:
    """AR-13: a residual strictly between -p and p that is a multiple of p is 0.

    Proves: AR-13.
    """
    r, p, m = z3.Ints("r p m")
    given = {"a multiple of p": r == p * m, "in range": z3.And(-p < r, r < p)}
    return Claim(given, r == 0, drop="in range")


@step(Method.COUNTEREXAMPLE)
def printed_probability() -> Finding:
    """P18: printed, h honest keys all miss a difference with probability at most 1/p^(h-1)."""
    exact, printed = Fraction(5, 13) ** 2, Fraction(1, 13)
    return Finding(exact > printed, f"p = 13, n = 6, h = 2: {exact} against {printed}")


@step(Method.COUNTEREXAMPLE)
def longer_than_the_field() -> Finding:
    """P19: printed, any large field. For n > p the difference e_2 - e_(p+1) fools every key."""
    blind = []
    for p in (2, 3, 5, 7, 11, 13, 31):
        difference = np.zeros(p + 1, dtype=np.int64)
        difference[1], difference[p] = 1, -1
        blind.append(len(colliding_keys(PrimeField(p), difference)) == p)
    return Finding(all(blind), "all keys, for the primes 2, 3, 5, 7, 11, 13, 31")


@step(Method.COUNTEREXAMPLE)
def extension_fields() -> Finding:
    """P19: printed, any finite field. With int() in GF(8), 9, 16, 25 more than n-1 keys collide."""
    found = []
    for characteristic, modulus, difference, wanted in FIELDS_AND_DIFFERENCES:
        keys = ExtensionField(characteristic, modulus).colliding_keys(difference)
        if keys != wanted or len(keys) < len(difference):
            return Finding(False, f"{modulus}: {keys}")
        found.append(f"{len(keys)} of bound {len(difference) - 1}")
    return Finding(True, "colliding keys " + ", ".join(found))


@step(Method.COUNTEREXAMPLE)
def wrap_around() -> Finding:
    """P20: printed, entries are unbounded. Adding p to an entry is invisible modulo p."""
    blind = colliding_keys(PrimeField(101), np.array([0, 101, 0], dtype=np.int64))
    zero = colliding_keys(PrimeField(101), np.array([0, 5, 7], dtype=np.int64))
    return Finding(len(blind) == 101 and 0 in zero, "p = 101: all 101 keys; key 0 sees entry 1")


PROOF = Proof(
    "hash",
    "The polynomial hash (HA-5 to HA-11)",
    (
        integer_form,
        linearity,
        root_factor,
        one_root_less,
        vandermonde,
        minors,
        collisions,
        bound_attained,
        blocks,
        residual,
        range_rule,
        printed_probability,
        longer_than_the_field,
        extension_fields,
        wrap_around,
    ),
    theorems=(
        "HashProof.integer_form",
        "HashProof.hash_linear",
        "HashProof.few_collisions",
        "HashProof.few_colliding_tuples",
        "HashProof.collisions_tight",
        "LatticeProof.four_hashes_correct",
        "LatticeProof.hash_of_residual",
        "LatticeProof.range_no_overflow",
        "LatticeProof.range_residual_mod",
    ),
)
