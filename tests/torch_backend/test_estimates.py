"""Weighted sums beyond 64 bits are exact in every form, and carries are moved up in time."""

from fractions import Fraction
from unittest import mock

import attrs
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torch_backend.runs import program
from torch_backend import kernels
from torch_backend.delivery import Said
from torch_backend.estimates import no_estimates
from torch_backend.squares import squared_norms
from torch_backend.weighted_sums import (
    Weighted,
    add_all,
    carry_up,
    planes_for,
    room_is_short,
    statistics_of,
    totals,
)
from valid_ref.graph_families import parse_family
from valid_ref.hashing import PrimeField
from valid_ref.lattice import LatticeParameters, default_limits
from valid_ref.protocols.parameters import ValidParameters, Weighting
from valid_ref.schedule import Precision, Schedule

SHIFT = st.integers(-1, 1)
FORMS = pytest.mark.parametrize("pays_from", [0, 2**62], ids=["compiled", "tensors"])


def a_lattice(k: int, steps: tuple[int, ...], d: int = 3) -> LatticeParameters:
    return default_limits(d, Schedule(Precision(28, k), (1,) * len(steps), steps), 2)


def some_parameters(lattice: LatticeParameters, weights: list[tuple[int, ...]]) -> ValidParameters:
    weightings = tuple(Weighting(str(i), w, sum(w), 1, 1) for i, w in enumerate(weights))
    start = np.zeros(lattice.dimension, dtype=np.int64)
    return ValidParameters(
        graph=parse_family("path:3"),
        lattice=lattice,
        start_model=start,
        field=PrimeField(),
        bounds=None,
        weightings=weightings,
    )


@FORMS
@pytest.mark.checks("AR-8", "GV-2", "GV-9")
@given(st.data())
def test_sums_and_carries_are_those_of_integers(pays_from: int, data: st.DataObject) -> None:
    T, d, rows = data.draw(st.integers(1, 4)), 3, 2
    k = data.draw(st.sampled_from([0, 1, 12, 20]))
    steps = data.draw(st.lists(st.integers(1, 2 ** (k + 1)), min_size=T, max_size=T))
    lattice = a_lattice(k, tuple(steps))
    weight = st.integers(1, 2**31) | st.integers(1, 2**75)
    weights = [tuple(data.draw(st.lists(weight, min_size=T, max_size=T))) for _ in range(2)]
    planes = planes_for(some_parameters(lattice, weights))
    limit = lattice.gradient_limit - 1
    entry = st.sampled_from([0, 1, -1, limit, -limit]) | st.integers(-limit, limit)
    gammas = np.array(
        data.draw(st.lists(entry, min_size=T * rows * d, max_size=T * rows * d)), dtype=np.int64
    ).reshape(T, rows, d)
    sums = torch.zeros((2, planes.digits, planes.limbs, rows, d), dtype=torch.int64)
    used = 0
    for t in range(1, T + 1):
        digits = [planes.digits_of(w[t - 1]) for w in weights]
        most = max(map(max, digits))
        if room_is_short(used, most) or data.draw(st.booleans()):
            carry_up(sums)
            used = 1
        used += most
        one = Weighted(t, torch.from_numpy(gammas[t - 1]), digits)
        with mock.patch.object(kernels, "PAYS_FROM", pays_from):
            add_all(lattice, [one], sums)
    read = [[[g // steps[t] for g in row] for row in gammas[t].tolist()] for t in range(T)]
    for index, w in enumerate(weights):
        expected = [
            [sum(w[t] * read[t][row][j] for t in range(T)) for j in range(d)] for row in range(rows)
        ]
        assert totals(sums[index].numpy()).tolist() == expected
        columns = [sum(column) ** 2 for column in zip(*expected, strict=True)]
        squares = [entry**2 for row in expected for entry in row]
        assert statistics_of(sums[index]) == (sum(columns), sum(squares))


@FORMS
@pytest.mark.checks("AR-8", "GV-2", "GV-9", "LE-3")
@settings(max_examples=40)
@given(st.data())
def test_sums_that_fit_into_words_are_those_of_integers(
    pays_from: int, data: st.DataObject
) -> None:
    """Weights of 16 bits, as in lean validation; scaled gradients up to where they fit no more."""
    T, rows, d = data.draw(st.integers(1, 17)), 2, data.draw(st.sampled_from([1, 5, 513]))
    steps = data.draw(st.lists(st.integers(1, 2**21), min_size=T, max_size=T))
    weights = [
        tuple(data.draw(st.lists(st.integers(0, 2**16), min_size=T, max_size=T))) for _ in range(2)
    ]
    limit = 2 ** data.draw(st.sampled_from([20, 40, 49, 50, 52]))
    near = st.integers(0, limit // steps[0]).map(lambda q: q * steps[0]) | st.just(limit - 1)
    entry = st.builds(lambda n, sign, off: sign * n + off, near, st.sampled_from([1, -1]), SHIFT)
    few = np.array(data.draw(st.lists(entry, min_size=1, max_size=9)), dtype=np.int64)
    gammas = np.resize(np.clip(few, 1 - limit, limit - 1), (T, rows, d))
    sums = torch.zeros((2, 1, 1, rows, d), dtype=torch.int64)
    weighted = [
        Weighted(t + 1, torch.from_numpy(gammas[t].copy()), [(w[t],) for w in weights])
        for t in range(T)
    ]
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        add_all(a_lattice(20, tuple(steps), d), weighted, sums)
    read = [(gammas[t] // steps[t]).astype(object) for t in range(T)]
    for index, w in enumerate(weights):
        expected = sum(w[t] * read[t] for t in range(T))
        wrapped = [[(x + 2**63) % 2**64 - 2**63 for x in row] for row in expected.tolist()]
        assert sums[index, 0, 0].tolist() == wrapped


REPEATED = [A for A in range(4097, 4400) if A * (1.0 / A) < 1.0]
"""Steps whose product with their reciprocal is rounded to less than one."""


@pytest.mark.checks("AR-8", "GV-9", "LE-3")
@pytest.mark.parametrize("A", [*REPEATED[:3], 2**21 - 1])
@pytest.mark.parametrize("weight", [1, 2**16])
def test_words_at_the_ends_of_float64_are_those_of_integers(A: int, weight: int) -> None:
    """Multiples of A, words beyond 2^50, and sums beyond it."""
    T, ends = 8, [A, 2 * A, 2**44 // A * A, 2**49 - 1, 2**50, 2**51 + 3, 2**52 - 1]
    numbers = [sign * end + off for end in ends for sign in (1, -1) for off in (-1, 0)]
    lattice = a_lattice(20, (A,) * T, len(numbers))
    for block in ([number] * len(numbers) for number in numbers):
        gammas = torch.tensor([block])
        sums = torch.zeros((1, 1, 1, 1, len(numbers)), dtype=torch.int64)
        with mock.patch.object(kernels, "PAYS_FROM", 0):
            add_all(lattice, [Weighted(t, gammas, [(weight,)]) for t in range(1, T + 1)], sums)
        expected = T * weight * (block[0] // A)
        assert sums.flatten().tolist() == [(expected + 2**63) % 2**64 - 2**63] * len(numbers)


@FORMS
@pytest.mark.checks("GV-9")
def test_a_lower_limb_does_not_wrap_in_many_rounds(pays_from: int) -> None:
    T, heavy = 600, 2**31 - 1
    lattice = a_lattice(0, (1,) * T, 1)
    planes = planes_for(some_parameters(lattice, [(heavy,) * T]))
    gammas = torch.full((1, 1), 2**24 - 1)
    sums = torch.zeros((1, planes.digits, planes.limbs, 1, 1), dtype=torch.int64)
    used = 0
    for t in range(1, T + 1):
        if room_is_short(used, heavy):
            carry_up(sums)
            used = 1
        used += heavy
        with mock.patch.object(kernels, "PAYS_FROM", pays_from):
            add_all(lattice, [Weighted(t, gammas, [planes.digits_of(heavy)])], sums)
    assert T * heavy * (2**24 - 1) > 2**63
    assert totals(sums[0].numpy()).tolist() == [[T * heavy * (2**24 - 1)]]


@FORMS
@pytest.mark.checks("AR-8")
@pytest.mark.parametrize("A", [2**20 - 1, 2**20 + 1, 3 * 2**19 + 1])
def test_gradients_beside_multiples_of_the_step_are_floored(pays_from: int, A: int) -> None:
    """The quotient in float64 is then that of the next integer; the remainder shows it."""
    lattice = a_lattice(20, (A,), 64)
    quotients = [lattice.gradient_limit // A - 1 - j for j in range(32)]
    numbers = [sign * q * A + off for q in quotients for sign in (1, -1) for off in (-1, 0, 1)]
    gammas = torch.tensor(numbers).reshape(3, 64)
    sums = torch.zeros((1, 1, 3, 3, 64), dtype=torch.int64)
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        add_all(lattice, [Weighted(1, gammas, [(1,)])], sums)
    expected = [[gamma // A for gamma in row] for row in gammas.tolist()]
    assert totals(sums[0].numpy()).tolist() == expected


@pytest.mark.checks("GV-2", "GV-9")
@pytest.mark.parametrize("pending", [1, 1 << 30])
def test_estimates_of_many_heavy_rounds_are_exact(pending: int) -> None:
    """Full limbs under full digits: a limb would wrap unless it is carried on the way."""
    T, heavy, entry = 600, 2**31 - 1, 2**24 - 1
    run = program(parse_family("path:3"), rounds=T)
    weights = (Weighting("heavy", (heavy,) * T, Fraction(heavy * T), 1, 1),)
    run = attrs.evolve(run, parameters=attrs.evolve(run.parameters, weightings=weights))
    steps, d = run.lattice.schedule.gradient, run.lattice.dimension
    estimates, zero = no_estimates(run), torch.zeros((3, d), dtype=torch.int64)
    with mock.patch("torch_backend.estimates.PENDING_BYTES", pending):
        for t in range(1, T + 1):
            gammas = torch.full((3, d), steps[t - 1] * entry)
            estimates = estimates.add(
                Said(
                    t=t,
                    agents=(0, 1, 2),
                    models=zero,
                    gammas=gammas,
                    edges={},
                    problems={},
                    edge_problems={},
                    losses=zero[:, 0],
                )
            )
    assert T * heavy * entry > 2**63
    assert estimates.values() == dict.fromkeys(range(3), (T * heavy * entry,) * d)
    assert estimates.statistics() == (
        (9 * d * (T * heavy * entry) ** 2, 3 * d * (T * heavy * entry) ** 2),
    )


@pytest.mark.checks("AR-12")
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=6))
def test_squares_are_exact(numbers: list[int]) -> None:
    assert squared_norms(torch.tensor([numbers])) == [sum(n * n for n in numbers)]


@pytest.mark.checks("GV-9")
def test_planes_are_as_few_as_is_safe() -> None:
    lattice = a_lattice(20, (2**20,) * 4)
    assert planes_for(some_parameters(lattice, [(1,) * 4])).limbs == 1
    assert planes_for(some_parameters(lattice, [(2**30,) * 4])).limbs == 2
    assert planes_for(some_parameters(lattice, [(2**40,) * 4])).digits == 2


@pytest.mark.checks("GV-5", "GV-6", "GV-9")
@given(st.integers(1, 3), st.integers(1, 5), st.sampled_from([1, 2, 5]), st.data())
def test_squares_of_estimates_are_exact(
    limbs: int, rows: int, columns: int, data: st.DataObject
) -> None:
    """Whatever the planes hold below 2^61, also where the sum over agents is beyond a word."""
    entry = st.integers(-(2**61), 2**61) | st.sampled_from([0, -1, 2**61, -(2**61), 2**24 - 1])
    count = limbs * rows * 7
    found = data.draw(st.lists(entry, min_size=count, max_size=count))
    planes = torch.tensor(found).reshape(1, limbs, rows, 7)
    expected = totals(planes.numpy()).tolist()
    sums = [sum(column) for column in zip(*expected, strict=True)]
    with mock.patch("torch_backend.weighted_sums.SQUARED_COLUMNS", columns):
        assert statistics_of(planes) == (
            sum(entry**2 for entry in sums),
            sum(entry**2 for row in expected for entry in row),
        )


@pytest.mark.checks("GV-9")
def test_squares_of_many_full_limbs_do_not_wrap() -> None:
    """More columns of the largest limbs than products of them fit into a word."""
    d, entry = (1 << 17) + 3, 2**48 - 1
    low, high = torch.full((1, d), 2**24 - 1), torch.full((1, d), 2**24 - 1)
    assert statistics_of(torch.stack([low, high])[None]) == (d * entry**2,) * 2


@pytest.mark.checks("GV-2")
def test_threads_share_the_columns_without_a_difference() -> None:
    lattice = a_lattice(20, (3, 5), 20_000)
    generator = np.random.default_rng(1)
    gammas = [torch.from_numpy(generator.integers(-(2**40), 2**40, (3, 20_000))) for _ in range(2)]
    rounds = [Weighted(t, gammas[t - 1], [(7,), (2**30,)]) for t in (1, 2)]
    found = []
    before = torch.get_num_threads()
    for threads in (1, 3):
        for pays_from in (0, 2**62):
            sums = torch.zeros((2, 1, 2, 3, 20_000), dtype=torch.int64)
            torch.set_num_threads(threads)
            with mock.patch.object(kernels, "PAYS_FROM", pays_from):
                add_all(lattice, rounds, sums)
            found.append(sums)
    torch.set_num_threads(before)
    assert all(torch.equal(sums, found[0]) for sums in found)
    assert found[0].any()
