"""The hash: one function in several forms, linear, with an exact collision bound."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.hash_forms import by_galois
from valid_ref import modular
from valid_ref.hashing import (
    FieldError,
    PrimeField,
    colliding_keys,
    collision_bound,
    hash_integers,
    hash_vector,
    is_prime,
    transcript_hashes,
)
from valid_ref.kernels.polyhash import combine_rounds, round_polynomials
from valid_ref.schedule import Precision, Schedule

MERSENNE_61 = 2**61 - 1
PRIMES = [2, 3, 13, 101, 2**31 - 1, MERSENNE_61, 2**62 - 57]
SMALL_PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31]
EXTREMES = [0, 1, -1, 2**62 - 1, -(2**62 - 1), MERSENNE_61, -MERSENNE_61]

primes = st.sampled_from(PRIMES)
entries = st.one_of(st.sampled_from(EXTREMES), st.integers(-(2**62) + 1, 2**62 - 1))
vectors = st.lists(entries, min_size=1, max_size=6).map(lambda v: np.array(v, dtype=np.int64))


def keys_of(p: int) -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from([0, 1 % p, p - 1]), st.integers(0, p - 1))


def by_python(p: int, key: int, vector: np.ndarray) -> int:
    return sum(int(entry) * pow(key, i, p) for i, entry in enumerate(vector)) % p


@pytest.mark.checks("HA-3", "HA-4", "HA-5", "HA-9")
@given(st.data())
def test_every_form_is_the_same_function(data: st.DataObject) -> None:
    p = data.draw(primes)
    key, vector = data.draw(keys_of(p)), data.draw(vectors)
    field, expected = PrimeField(p), by_python(p, key, vector)
    assert hash_vector(field, key, vector) == expected
    assert hash_integers(field, key, vector) % p == expected
    assert round_polynomials(field, (key,), vector[np.newaxis]).tolist() == [[expected]]
    assert by_galois((key,), vector[np.newaxis], p) == [[expected]]


@pytest.mark.checks("HA-6")
@given(st.data())
def test_the_hash_is_linear(data: st.DataObject) -> None:
    p = data.draw(primes)
    key, n = data.draw(keys_of(p)), data.draw(st.integers(1, 6))
    small = st.lists(st.integers(-(2**40), 2**40), min_size=n, max_size=n).map(np.array)
    left, right = data.draw(small), data.draw(small)
    factor = data.draw(st.integers(-(2**20), 2**20))
    field = PrimeField(p)
    combined = hash_vector(field, key, factor * left + right)
    assert combined == (factor * hash_vector(field, key, left) + hash_vector(field, key, right)) % p


@pytest.mark.checks("HA-3")
def test_key_zero_sees_the_first_entry_only() -> None:
    assert hash_vector(PrimeField(), 0, np.array([7, 5, 5])) == 7
    assert hash_vector(PrimeField(13), 0, np.array([7, 5, 5])) == 7


@pytest.mark.checks("HA-7")
@pytest.mark.parametrize("p", SMALL_PRIMES)
def test_at_most_n_minus_1_keys_collide_and_that_is_attained(p: int) -> None:
    """Every nonzero difference of length <= 3 (4 for p <= 7); the attaining one has given roots."""
    field = PrimeField(p)
    for n in range(1, min(p - 1, 4 if p <= 7 else 3) + 1):
        rows = np.array(list(itertools.product(range(p), repeat=n)), dtype=np.int64)[1:]
        collisions = (round_polynomials(field, range(p), rows) == 0).sum(axis=1)
        assert collisions.max() == n - 1, (p, n)
    for n in range(1, min(p, 8)):  # prod (s - r), r = 0..n-2, has n - 1 roots
        difference = np.array([1], dtype=np.int64)
        for root in range(n - 1):
            difference = np.convolve(difference, np.array([-root, 1])) % p
        assert colliding_keys(field, difference) == tuple(range(n - 1))


@pytest.mark.checks("HA-7", "HA-8")
@pytest.mark.witness("P18")
def test_the_printed_collision_probability_is_exceeded() -> None:
    """p = 13, n = 6: 5 of 13 keys; two honest agents: 25/169 > 1/13, the printed 1/|F|^(|H|-1)."""
    field = PrimeField(13)
    keys = colliding_keys(field, np.array([-1, 0, -1, 1, 0, 1]))
    assert len(keys) == 5
    pairs = sum(1 for pair in itertools.product(range(13), repeat=2) if set(pair) <= set(keys))
    assert Fraction(pairs, 13**2) == collision_bound(field, 6, 2) == Fraction(25, 169)
    assert Fraction(pairs, 13**2) > Fraction(1, 13)


@pytest.mark.checks("HA-8")
@pytest.mark.parametrize(("p", "n", "h"), [(3, 2, 3), (5, 3, 2), (5, 4, 3), (7, 3, 2)])
def test_the_bound_for_several_keys_holds_for_every_difference(p: int, n: int, h: int) -> None:
    field, worst = PrimeField(p), 0
    for difference in itertools.product(range(p), repeat=n):
        if any(difference):
            worst = max(worst, len(colliding_keys(field, np.array(difference))) ** h)
    assert Fraction(worst, p**h) == collision_bound(field, n, h)


@pytest.mark.checks("HA-1")
@pytest.mark.witness("P19")
@pytest.mark.parametrize("p", [3, 5, 7, 11, 13])
def test_a_vector_longer_than_p_has_differences_no_key_sees(p: int) -> None:
    difference = np.zeros(p + 1, dtype=np.int64)
    difference[1], difference[p] = 1, -1  # e_2 - e_(p+1): s = s^p for every s
    assert len(colliding_keys(PrimeField(p), difference)) == p
    with pytest.raises(FieldError, match=rf"p = {p} is not larger .* dT = {p + 1}.*HA-1"):
        PrimeField(p).check_length(p + 1)
    PrimeField(p).check_length(p - 1)


@pytest.mark.checks("HA-2")
@pytest.mark.witness("P19")
@pytest.mark.parametrize(
    ("order", "n", "keys"),
    [(8, 3, 4), (8, 4, 6), (9, 3, 3), (16, 3, 3), (16, 4, 4), (16, 5, 5), (25, 4, 5)],
)
def test_extension_fields_break_the_bound(order: int, n: int, keys: int) -> None:
    """Some integer difference vanishes under more than n - 1 keys of the extension field."""
    assert most_colliding_keys(order, n, at_least=keys) >= keys > n - 1
    with pytest.raises(FieldError, match=rf"{order} = .* extension field.*HA-2"):
        PrimeField(order)


def most_colliding_keys(order: int, n: int, at_least: int) -> int:
    """The largest set of keys whose rows int(s^(i-1)) have rank below n, found by elimination."""
    import galois
    import sympy

    GF = galois.GF(order)
    rows = [[int(GF(s) ** i) for i in range(n)] for s in range(order)]
    for chosen in itertools.combinations(range(order), n):
        minor = [rows[s] for s in chosen]
        if abs(np.linalg.det(minor)) > 0.5:  # of integers so small: it is not 0
            continue
        for kernel in sympy.Matrix(minor).nullspace():
            hit = sum(1 for row in rows if sympy.Matrix([row]).dot(kernel) == 0)
            if hit >= at_least:
                return hit
    return 0


@pytest.mark.checks("HA-1")
@pytest.mark.parametrize("order", [-7, 0, 1, 6, 15, 2**61 + 1])
def test_composite_orders_are_refused(order: int) -> None:
    with pytest.raises(FieldError, match=rf"p = {order} is not a prime number.*HA-1"):
        PrimeField(order)


@pytest.mark.checks("HA-1")
def test_primes_are_told_from_other_numbers() -> None:
    """All small numbers, and composites that pass for primes under many single bases."""
    small = [n for n in range(2000) if n > 1 and all(n % q for q in range(2, n))]
    assert [n for n in range(-3, 2000) if is_prime(n)] == small
    for strong in (2047, 3215031751, 3825123056546413051, 318665857834031151167461):
        assert not is_prime(strong)
    assert all(map(is_prime, (*PRIMES, 2**63 - 25, 2**64 - 59)))


@pytest.mark.checks("LV-3")
@pytest.mark.parametrize("key", [-1, 13])
def test_keys_outside_the_field_are_refused(key: int) -> None:
    with pytest.raises(FieldError, match=rf"key {key} is not in 0..12"):
        hash_vector(PrimeField(13), key, np.array([1]))


@pytest.mark.checks("HA-9", "HA-10")
@given(st.data())
def test_per_round_form_equals_the_hashes_of_the_concatenated_transcript(data) -> None:
    p = data.draw(primes)
    T, d = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    rows = st.lists(entries, min_size=d, max_size=d)
    models = np.array(data.draw(st.lists(rows, min_size=T + 1, max_size=T + 1)), dtype=np.int64)
    gammas = np.array(data.draw(st.lists(rows, min_size=T, max_size=T)), dtype=np.int64)
    steps = data.draw(st.lists(st.integers(1, 2**21), min_size=T, max_size=T).map(tuple))
    schedule = Schedule(Precision(), mixing=steps, gradient=steps)
    keys = data.draw(st.lists(keys_of(p), min_size=1, max_size=3))
    field = PrimeField(p)
    result = combine_rounds(
        field,
        keys,
        d,
        schedule,
        round_polynomials(field, keys, models),
        round_polynomials(field, keys, gammas),
    )
    scaled = [[steps[t] * int(x) for x in models[t]] for t in range(T)]
    for key, four in zip(keys, result, strict=True):
        assert (
            four
            == transcript_hashes(field, key, schedule, models, gammas)
            == (
                by_python(p, key, models[1:].ravel()),
                by_python(p, key, models[:-1].ravel()),
                by_python(p, key, np.array(scaled, dtype=object).ravel()),
                by_python(p, key, gammas.ravel()),
            )
        )


@given(primes, st.data())
@example(MERSENNE_61, None)
def test_modular_products_are_exact(p: int, data: st.DataObject | None) -> None:
    extremes = [0, 1 % p, p - 1, p // 2, 2**30 % p, (2**31 - 1) % p, 2**31 % p]
    pairs = list(itertools.product(extremes, extremes))
    if data is not None:
        residues = st.integers(0, p - 1)
        pairs += data.draw(st.lists(st.tuples(residues, residues), max_size=20))
    left = modular.residues(p, np.array([a for a, _ in pairs], dtype=object))
    right = modular.residues(p, np.array([b for _, b in pairs], dtype=object))
    assert [int(c) for c in modular.multiply(p, left, right)] == [a * b % p for a, b in pairs]


@pytest.mark.checks("HA-10")
@pytest.mark.parametrize("p", [2**61 - 1, 2**31 - 1, 101])
@pytest.mark.parametrize("rounds", [1, 8, 9, 64, 1000])
def test_sums_over_many_rounds_do_not_wrap(p: int, rounds: int) -> None:
    """The largest residues: nine of 2^61 - 2 no longer fit into 64 bits."""
    weights = modular.residues(p, np.ones((rounds, 2), dtype=np.int64))
    values = modular.residues(p, np.full((rounds, 2), p - 1, dtype=np.int64))
    assert modular.weighted_sum(p, weights, values) == [-rounds % p] * 2
