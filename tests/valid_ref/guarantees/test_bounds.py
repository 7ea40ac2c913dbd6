"""Norm bounds: no honest message breaks them, and some honest messages reach them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import learned
from valid_ref.coins import Coins
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import complete, path
from valid_ref.guarantees import (
    BoundsError,
    GivenConstants,
    configured_bounds,
    derive_bounds,
    range_conflicts,
)
from valid_ref.guarantees.bounds import root
from valid_ref.lattice import default_limits, read_gradient, squared_norm, to_lattice
from valid_ref.losses import (
    LogisticRegression,
    Noise,
    Problem,
    Quadratic,
    RidgeLeastSquares,
    random_quadratics,
)
from valid_ref.machine import CausalView, PhaseResult, run_machine
from valid_ref.protocols.learn import LearningMessage, LearnModel
from valid_ref.protocols.parameters import Bounds
from valid_ref.schedule import Precision, Schedule, constant, harmonic, make_schedule

seeds = st.integers(0, 2**32)


def coins_of(problem: Problem) -> Coins:
    assert problem.coins is not None
    return problem.coins


@pytest.mark.checks("GU-8")
@given(st.fractions(-5, 10**12))
def test_root_is_the_least_integer_whose_square_is_enough(value: Fraction) -> None:
    m = root(value)
    assert m >= 0
    assert m * m >= value
    assert m == 0 or (m - 1) ** 2 < value


@pytest.mark.checks("GU-8")
def test_worked_example_of_the_specification() -> None:
    schedule = Schedule(Precision(4, 2), (1, 1), (2, 2))
    bounds = derive_bounds(GivenConstants(1, 1.0, 1.0, 2.0), schedule, 2)
    assert bounds == Bounds((17**2, 26**2), (35**2, 52**2))
    limits = default_limits(1, schedule, 2, 10007)
    assert range_conflicts(bounds, limits) == ()
    far = range_conflicts(Bounds((417**2, 416**2), (2501**2, 2502**2)), limits, 416**2)
    assert far == (
        "|x_0| reaches X_max = 416",
        "B_1 = 417 reaches X_max = 416",
        "B_2 = 416 reaches X_max = 416",
        "A_2 C_2 = 5004 reaches G_max = 5003",
    )


@st.composite
def problems(draw: st.DrawFn, agents: int) -> Problem:
    d, seed, batch = draw(st.integers(1, 3)), draw(seeds), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["none", "signs", "ridge", "logistic"]))
    if kind == "none":
        return random_quadratics(agents, d, seed, condition=draw(st.floats(1, 20)))
    if kind == "signs":
        spread = draw(st.floats(0.1, 3))
        return random_quadratics(agents, d, seed, noise=Noise.SIGNS, spread=spread, batch=batch)
    losses = []
    for agent in range(agents):
        generator = np.random.default_rng([seed, agent])
        features, targets = generator.normal(size=(5, d)), generator.normal(size=5)
        if kind == "ridge":
            losses.append(RidgeLeastSquares(features, targets, 0.1))
        else:
            losses.append(LogisticRegression(features, np.sign(targets), 0.1))
    return Problem(tuple(losses), batch, seed)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Problem, LearnModel]:
    n = draw(st.integers(2, 5))
    tree = {(draw(st.integers(0, v - 1)), v) for v in range(1, n)}
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    graph = AgentGraph.from_edges(n, tree | set(draw(st.lists(st.sampled_from(pairs)))))
    problem = draw(problems(n))
    f, k, T = draw(st.integers(0, 30)), draw(st.integers(2, 20)), draw(st.integers(1, 12))
    largest = max(1, math.floor(2**k * draw(st.floats(0.1, 3)) / problem.smoothness))
    gradient = draw(st.lists(st.integers(1, largest), min_size=T, max_size=T))
    mixing = st.integers(1, 2**k // graph.max_degree)
    mixes = draw(st.lists(mixing, min_size=T, max_size=T))
    schedule = Schedule(Precision(f, k), tuple(mixes), tuple(gradient))
    parameters = default_limits(problem.dimension, schedule, graph.max_degree)
    size = draw(st.floats(0, 5))
    start = size * coins_of(problem).generator("start").normal(size=problem.dimension)
    return problem, LearnModel(graph, parameters, to_lattice(start, schedule.precision))


def check_messages(machine: LearnModel, bounds: Bounds, result: PhaseResult, who: list[int]):
    parameters = machine.parameters
    conflicts = range_conflicts(bounds, parameters, squared_norm(machine.start_model))
    if not conflicts:
        assert all(result.states[v].alarms == () for v in who)
    for t, spoken in enumerate(result.rounds, start=1):
        largest = parameters.schedule.A(t) * root(bounds.gradient_squared[t - 1])
        for v in who:
            if spoken.said[v] is None:  # left the range: the parameters had said that it might
                assert conflicts
                continue
            message = learned(spoken, v)
            gradient = read_gradient(parameters, t, message.scaled_gradient)
            assert squared_norm(message.model) <= bounds.model_squared[t - 1]
            assert squared_norm(gradient) <= bounds.gradient_squared[t - 1]
            assert int(np.abs(message.scaled_gradient).max()) <= largest


@pytest.mark.checks("GU-8", "AN-5", "AN-6")
@given(runs())
def test_an_honest_run_never_breaks_its_bounds(run: tuple[Problem, LearnModel]) -> None:
    problem, machine = run
    n = machine.graph.agents
    bounds = derive_bounds(
        problem,
        machine.parameters.schedule,
        machine.graph.max_degree,
        start_squared=squared_norm(machine.start_model),
    )
    private = {v: problem.gradient_source(v) for v in range(n)}
    check_messages(machine, bounds, run_machine(machine.graph, machine, private), list(range(n)))


@pytest.mark.checks("AN-6")
@given(runs())
def test_neighbours_that_keep_the_bounds_cannot_make_an_honest_agent_break_them(
    run: tuple[Problem, LearnModel],
) -> None:
    """Byzantine models as long as allowed, in directions that change from edge to edge."""
    problem, machine = run
    n, d = machine.graph.agents, problem.dimension
    bounds = derive_bounds(
        problem,
        machine.parameters.schedule,
        machine.graph.max_degree,
        start_squared=squared_norm(machine.start_model),
    )

    def adversary(view: CausalView) -> dict[tuple[int, int], LearningMessage]:
        length = math.isqrt(bounds.model_squared[view.round - 1])
        said = {}
        for v in view.graph.neighbours(0):
            generator = coins_of(problem).generator("lie", view.round, v)
            direction = generator.normal(size=d)
            model = np.trunc(direction * (length / np.linalg.norm(direction)) * (1 - 1e-12))
            if np.abs(model).max() < machine.parameters.model_limit:
                said[0, v] = LearningMessage(model.astype(np.int64), np.zeros(d, dtype=np.int64))
        return said

    private = {v: problem.gradient_source(v) for v in range(n)}
    result = run_machine(
        machine.graph, machine, private, byzantine=frozenset({0}), adversary=adversary
    )
    check_messages(machine, bounds, result, list(range(1, n)))


def sign_problem(h: float, s: float) -> Problem:
    loss = Quadratic(np.array([[h]]), np.zeros(1), Noise.SIGNS, s)
    return Problem((loss, loss, loss))


@pytest.mark.checks("AN-5", "GU-8")
@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.45, 0.7])
def test_bounds_are_attained_by_data_that_always_pushes_outwards(alpha: float) -> None:
    """h = 2: the second branch below alpha = 1/h, the expanding one above; C_T by a last flip."""
    h, s, T = 2.0, 1.5, 40
    problem, graph = sign_problem(h, s), complete(3)
    schedule = make_schedule(T, constant(alpha), constant(0.3))
    machine = LearnModel(graph, default_limits(1, schedule, 2), np.zeros(1, dtype=np.int64))
    bounds = derive_bounds(problem, schedule, 2)

    def pushing(flip: bool):
        def source(t: int, point: np.ndarray) -> np.ndarray:
            outwards = 1.0 if alpha * h <= 1 else (-1.0) ** t
            towards = -np.sign(point) if flip and t == T else outwards
            return h * (point - towards * s)

        return source

    for flip in (False, True):
        result = run_machine(graph, machine, {v: pushing(flip) for v in range(3)})
        last = learned(result.rounds[-1], 0)
        gradient = read_gradient(machine.parameters, T, last.scaled_gradient)
        model_ratio = squared_norm(last.model) / bounds.model_squared[-1]
        gradient_ratio = squared_norm(gradient) / bounds.gradient_squared[-1]
        assert max(model_ratio, gradient_ratio) <= 1
        assert (gradient_ratio if flip else model_ratio) > 0.999999


@pytest.mark.checks("AN-5")
def test_the_root_form_of_the_bound_is_attained() -> None:
    """One step with alpha = 1/beta onto a datum that is right about the flat direction."""
    loss = Quadratic(np.diag([4.0, 1.0]), np.array([2.0, 3.0]))
    schedule = make_schedule(1, constant(0.25), constant(0.5))
    start = to_lattice([0.0, 3.0], schedule.precision)
    bounds = derive_bounds(loss, schedule, 1, start_squared=squared_norm(start))
    machine = LearnModel(path(2), default_limits(2, schedule, 1), start)
    private = {v: lambda _t, point: loss.gradient(point) for v in range(2)}
    [spoken] = run_machine(path(2), machine, private).rounds
    ratio = squared_norm(learned(spoken, 0).model) / bounds.model_squared[0]
    assert 0.999999 < ratio <= 1
    linear = 0.75 * 3.0 + 0.25 * math.sqrt(2 * 4 * loss.loss_at_zero)
    assert bounds.model_squared[0] < (linear * 2**28) ** 2 / 1.2


@pytest.mark.checks("AN-5")
@given(st.floats(0.1, 1), st.floats(1, 20), st.floats(0, 50), st.integers(1, 60))
def test_the_ball_of_the_loss_at_zero_is_invariant(
    mu: float, kappa: float, F0: float, T: int
) -> None:
    beta = mu * kappa
    schedule = make_schedule(T, harmonic(0.999 / beta, 0), constant(0.25))
    bounds = derive_bounds(GivenConstants(2, mu, beta, F0), schedule, 4)
    slack = sum(math.sqrt(2) * (0.5 + schedule.alpha(t)) + 2 for t in range(1, T + 1))
    assert root(max(bounds.model_squared)) <= math.sqrt(2 * F0 / mu) * 2**28 * (1 + 1e-12) + slack


@pytest.mark.checks("AN-5", "GU-8")
@pytest.mark.witness("A18")
def test_what_the_printed_bounds_depend_on_does_not_bound_the_models() -> None:
    """t, beta, delta, |V| and even mu are the same; F0, which is not named, decides."""
    schedule = make_schedule(1, constant(0.5), constant(0.25))
    lengths = []
    for centre in (1.0, 10.0, 100.0):
        loss = Quadratic(np.eye(1), np.array([centre]))  # beta = mu = 1, delta = 0
        problem, graph = Problem((loss, loss), coins=0), path(2)
        machine = LearnModel(graph, default_limits(1, schedule, 1), np.zeros(1, dtype=np.int64))
        result = run_machine(graph, machine, {v: problem.gradient_source(v) for v in range(2)})
        [spoken] = result.rounds
        lengths.append(int(learned(spoken, 0).model[0]) / 2**28)
        check_messages(machine, derive_bounds(problem, schedule, 1), result, [0, 1])
    assert lengths == pytest.approx([0.5, 5.0, 50.0])


@pytest.mark.checks("GU-8", "MO-10")
def test_where_no_bounds_follow_they_must_be_configured() -> None:
    schedule = make_schedule(3, constant(0.1), constant(0.3))
    gaussian = random_quadratics(3, 2, 0, noise=Noise.GAUSSIAN, spread=1.0)
    with pytest.raises(BoundsError, match=r"F0 = inf.*must be configured.*GU-8"):
        derive_bounds(gaussian, schedule, 2)
    with pytest.raises(BoundsError, match=r"eta_1 = 0\.3 times the largest degree 4.*configured"):
        derive_bounds(random_quadratics(3, 2, 0), schedule, 4)
    for constants in (
        GivenConstants(1, 0.0, 1.0, 1.0),
        GivenConstants(1, 2.0, 1.0, 1.0),
        GivenConstants(1, 1.0, 1.0, -1.0),
    ):
        with pytest.raises(BoundsError, match="0 < mu <= beta and F0 >= 0"):
            derive_bounds(constants, schedule, 2)
    bounds = configured_bounds(2.5, 0.3, 3, Precision(2, 4))
    assert bounds == Bounds((100,) * 3, (4,) * 3)
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(BoundsError, match="not a positive number"):
            configured_bounds(1.0, bad, 3, Precision())
