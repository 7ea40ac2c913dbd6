"""AN-18 and AN-19: what honest records certify, against what only the losses know."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from valid_ref.adversary.catalogue import AttackPart
from valid_ref.execution import Execution
from valid_ref.graph import assumption_1_plus
from valid_ref.graph_families import complete, parse_family
from valid_ref.guarantees.admissible import distance_to_admissible, is_admissible, phi
from valid_ref.guarantees.outcome import final_models, relaxed_tolerances
from valid_ref.guarantees.radius import (
    GRID,
    Noise,
    Path,
    Radius,
    RadiusError,
    certified_radius,
    drift,
    grid_point,
    measured_errors,
    noise_bound,
    noise_of,
    own_error,
    path_of,
    read_off_errors,
    shares_of,
    spread_of_models,
    tolerances,
)
from valid_ref.lattice import FloatVector
from valid_ref.losses import LogisticRegression, Loss, Quadratic, RidgeLeastSquares
from valid_ref.losses.loss import FloatMatrix, sample_noise
from valid_ref.losses.loss import Noise as Kind
from valid_ref.named_parts import parse_part
from valid_ref.runs import Run, run
from valid_ref.scenario import Scenario, parts

WIDE = parts.Check("t^1", parts.Polynomial(1), parts.ConfiguredThresholds(1e6, 1e9))
LOSSES = (
    "random-quadratic:dimension=2",
    "random-quadratic:dimension=2,noise=signs,spread=0.7",
    "random-ridge:dimension=2,samples=5",
    "random-logistic:dimension=2,samples=5",
)
ATTACKS = ("sign-flip", "ipm", "benign:fraction=0.5", "label-flip")


def played(
    graph: str, byzantine: tuple[int, ...], loss: str, attack: str | None, **changes: object
) -> Run:
    """A run whose checks let everything pass."""
    scenario = Scenario(
        graph=parts.Family(graph),
        loss=parse_part(parts.LossPart, loss, "loss"),
        rounds=20,
        seed=1,
        byzantine=byzantine,
        attack=None if attack is None else parse_part(AttackPart, attack, "attack"),
        bounds=parts.NoBounds(),
        checks=(WIDE,),
    )
    return run(attrs.evolve(scenario, **changes))


def mean_model(execution: Execution) -> FloatVector:
    found: FloatVector = np.mean(final_models(execution, execution.honest_valid), axis=0)
    return found


def certified(finished: Run, z: FloatVector, probability: float = 0.05) -> Radius:
    prepared = finished.prepared
    return certified_radius(
        finished.execution, prepared.problem, z, delta=prepared.delta, probability=probability
    )


# The path, the drift.


@pytest.mark.checks("AN-18", "AR-6")
def test_the_record_shows_where_gradients_were_taken() -> None:
    """Without noise the gradient read off is the gradient at y, up to h_t."""
    finished = played("cycle:4", (3,), LOSSES[0], "sign-flip")
    parameters, problem = finished.execution.parameters, finished.prepared.problem
    for agent in finished.execution.honest:
        record = finished.execution.states[agent].memory.fixed_transcripts.own
        path = path_of(parameters, record)
        for y, g, slack in zip(
            path.points, path.gradients, read_off_errors(parameters), strict=True
        ):
            assert np.linalg.norm(problem.losses[agent].gradient(y) - g) <= slack


vectors = st.lists(st.floats(-3, 3), min_size=2, max_size=2).map(np.array)


def some_losses() -> tuple[Loss, ...]:
    generator = np.random.default_rng(5)
    features, targets = generator.standard_normal((4, 2)), generator.standard_normal(4)
    return (
        Quadratic(np.diag([1.0, 3.0]), np.array([1.0, -1.0])),
        RidgeLeastSquares(features, targets, 0.3),
        LogisticRegression(features, np.sign(targets), 0.3),
    )


@pytest.mark.checks("AN-18")
@given(
    st.sampled_from(some_losses()),
    st.lists(st.tuples(vectors, st.integers(0, 9)), min_size=1, max_size=6),
    vectors,
)
def test_the_drift_bounds_the_difference_of_gradients(loss, steps, z) -> None:
    points = np.array([point for point, _weight in steps])
    weights = [weight for _point, weight in steps]
    assume(sum(weights) > 0)
    shares = shares_of(weights)
    true = sum(
        share * (loss.gradient(y) - loss.gradient(z))
        for share, y in zip(shares, points, strict=True)
    )
    found = drift(loss, Path(points, points), shares, z)
    assert np.linalg.norm(true - found.linear) <= found.rest + 1e-12
    assert np.linalg.norm(true) <= found.length + 1e-12
    longest = loss.smoothness * float((shares * np.linalg.norm(points - z, axis=1)).sum())
    assert found.length <= longest + 1e-9  # never worse than beta alone


@pytest.mark.checks("AN-18")
def test_with_equal_curvatures_the_drift_is_exact() -> None:
    loss = Quadratic(2 * np.eye(2), np.zeros(2))
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])
    found = drift(loss, Path(points, points), shares_of([1, 1, 2]), np.zeros(2))
    assert found.length == pytest.approx(2.0)


# The noise.


@pytest.mark.checks("AN-18", "MO-10")
@given(st.sampled_from(some_losses()), vectors)
def test_the_noise_of_data_is_that_of_all_data(loss, point) -> None:
    found = sample_noise(loss, point[np.newaxis])
    if isinstance(loss, Quadratic):
        assert found.variance[0] == found.largest[0] == 0
        return
    one = [
        attrs.evolve(loss, features=loss.features[i : i + 1], targets=loss.targets[i : i + 1])
        for i in range(4)
    ]
    departures = [np.linalg.norm(part.gradient(point) - loss.gradient(point)) for part in one]
    assert found.variance[0] == pytest.approx(np.mean(np.square(departures)), abs=1e-12)
    assert found.largest[0] == pytest.approx(max(departures), abs=1e-7)
    assert found.variance[0] <= loss.gradient_deviation(float(np.linalg.norm(point))) ** 2 + 1e-9


@pytest.mark.checks("AN-18", "MO-10")
def test_the_noise_of_a_quadratic_is_that_of_its_displacements() -> None:
    hessian = np.array([[2.0, 0.5], [0.5, 1.0]])
    signs = Quadratic(hessian, np.zeros(2), Kind.SIGNS, 0.7)
    lengths = [np.linalg.norm(hessian @ (0.7 * np.array([a, b]))) for a in (1, -1) for b in (1, -1)]
    found = signs.sample_noise(np.zeros((3, 2)))
    assert found.variance == pytest.approx(np.mean(np.square(lengths)))
    assert (found.largest >= max(lengths)).all()
    gaussian = Quadratic(hessian, np.zeros(2), Kind.GAUSSIAN, 0.7).sample_noise(np.zeros((1, 2)))
    assert gaussian.largest[0] == math.inf
    assert gaussian.variance[0] == pytest.approx(found.variance[0])


@attrs.frozen(eq=False)
class OnlyBounds:
    """A loss that knows no more of its noise than sigma on balls."""

    dimension: int = 2
    strong_convexity: float = 1.0
    smoothness: float = 1.0
    loss_at_zero: float = 0.0

    def gradient_deviation(self, radius: float) -> float:
        return 1 + radius

    def value(self, point: FloatVector) -> float:
        return float(point @ point) / 2

    def gradient(self, point: FloatVector) -> FloatVector:
        return point

    def hessian_at(self, point: FloatVector) -> FloatMatrix:
        del point
        return np.eye(2)

    def sample(self, point: FloatVector, batch: int, generator: np.random.Generator) -> FloatVector:
        del batch, generator
        return point


@pytest.mark.checks("AN-18")
def test_a_loss_that_knows_only_sigma_on_balls_has_unbounded_steps() -> None:
    found = sample_noise(OnlyBounds(), np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert found.variance.tolist() == [36.0, 1.0]
    assert (found.largest == math.inf).all()


@pytest.mark.checks("AN-18")
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_the_grid_is_the_least_number_not_below(seen, expected) -> None:
    found, share = grid_point(seen, expected)
    assert seen <= found < seen * GRID * (1 + 1e-9)
    assert 0 < share <= 1 / 3
    j = round(math.log(found / expected) / math.log(GRID))
    assert share == pytest.approx(2 / 3 / ((abs(j) + 1) * (abs(j) + 2)))


@pytest.mark.checks("AN-18")
def test_noise_bounds_by_hand() -> None:
    """V = V_0 and A = A_0: j = k = 0, shares 1/3."""
    seen = Noise(variance=4.0, step=0.01)
    exponent = math.log(4 / (0.01 / 9))
    term = 0.01 * exponent / 3
    bernstein = term + math.sqrt(term**2 + 8 * exponent)
    assert noise_bound(seen, seen, 0.01) == pytest.approx(bernstein)
    unbounded = Noise(4.0, math.inf)
    assert noise_bound(unbounded, unbounded, 0.01) == pytest.approx(math.sqrt(8 / (0.01 / 3)))
    long = Noise(4.0, 100.0)
    assert noise_bound(long, long, 0.01) == pytest.approx(math.sqrt(8 / (0.01 / 3)))
    assert noise_bound(Noise(0.0, 0.0), Noise(0.0, 0.0), 0.01) == 0.0
    with pytest.raises(RadiusError, match="none was expected"):
        noise_bound(seen, Noise(0.0, 0.0), 0.01)


@pytest.mark.checks("AN-18", "AD-3")
@pytest.mark.parametrize("level", [0.02, 0.2])
def test_no_causal_choice_of_points_beats_the_noise_bound(level: float) -> None:
    """An adversary that goes where noise is large while it is ahead, and rests when it is not.

    1000 runs a level. If the bound failed with probability `level`, more than level + 4 standard
    deviations would happen in less than 1 of 10^4 repetitions of this test.
    """
    features = np.array([[0.2, 0.0], [-0.2, 0.0], [0.0, 4.0], [0.0, -4.0]])
    loss = RidgeLeastSquares(features, np.array([0.1, 0.1, 0.0, 0.0]), 0.5)
    T, runs, generator = 30, 1000, np.random.default_rng(11)
    shares = shares_of(range(1, T + 1))
    calm, wild = np.array([0.0, 0.0]), np.array([0.0, 3.0])
    expected = noise_of((loss,), (np.tile(calm, (T, 1)),), shares, 1)
    exceeded = 0
    for _run in range(runs):
        total, points = np.zeros(2), []
        for share in shares:
            threshold = 2.0 * math.sqrt(expected.variance)
            y = wild if 0 < np.linalg.norm(total) < threshold else calm
            points.append(y)
            total += share * (loss.sample(y, 1, generator) - loss.gradient(y))
        seen = noise_of((loss,), (np.array(points),), shares, 1)
        exceeded += np.linalg.norm(total) > noise_bound(seen, expected, level)
    assert exceeded <= runs * level + 4 * math.sqrt(runs * level * (1 - level))


# The whole.


@pytest.mark.checks("AN-18", "AN-19", "AN-9")
@given(
    st.sampled_from([("complete:4", (3,)), ("cycle:4", (2,)), ("complete:4", (1, 2, 3))]),
    st.sampled_from(LOSSES),
    st.sampled_from(ATTACKS),
    st.integers(1, 5),
)
@settings(max_examples=40, deadline=None)
def test_what_is_certified_is_true(network, loss, attack, seed) -> None:
    """q is 10^-6, so that not one failure is to be expected in any number of examples."""
    graph, byzantine = network
    finished = played(graph, byzantine, loss, attack, seed=seed)
    execution, problem = finished.execution, finished.prepared.problem
    assume(execution.honest_valid)
    z, delta = mean_model(execution), finished.prepared.delta
    found = certified(finished, z, 1e-6)
    errors = measured_errors(execution, problem, z, 0)
    assert np.linalg.norm(errors) <= found.nu
    assert np.linalg.norm(errors.sum(axis=0)) <= found.total_error
    assert found.nu == pytest.approx(found.drift + found.noise + found.read_off)
    pull = np.sum([problem.losses[h].gradient(z) for h in execution.honest], axis=0)
    assert np.linalg.norm(pull) <= found.pull
    assert phi(problem, execution.honest, z) <= len(problem.losses) * found.level
    assert is_admissible(problem, execution.honest, found.level, z)
    distance = distance_to_admissible(problem, execution.honest, delta, z)
    if found.radius is not None and distance.exact:
        assert distance.value <= found.radius + 1e-12
    if assumption_1_plus(execution.parameters.graph, execution.byzantine):
        assert found.level <= found.promised


@pytest.mark.checks("AN-19")
def test_passing_the_checks_promises_a_level() -> None:
    """Thresholds that the run just passes: the level is below what they promise, not far below."""
    finished = played("complete:4", (3,), LOSSES[0], None, rounds=100)
    found = certified(finished, mean_model(finished.execution))
    check = parts.Check("t^1", parts.Polynomial(1), parts.CalibratedThresholds(runs=19, pilots=1))
    tight = played("complete:4", (3,), LOSSES[0], None, rounds=100, checks=(check,))
    assert tight.outcome == "b"
    promised = certified(tight, mean_model(tight.execution)).promised
    assert found.level <= promised < 1.2 * found.level


@pytest.mark.checks("AN-19")
def test_the_radius_is_left_out_where_nothing_admissible_is_known() -> None:
    """At delta = 0 unequal agents have no admissible model, so none is near."""
    for loss in (LOSSES[0], LOSSES[3]):
        finished = played("complete:4", (3,), loss, None, delta=0.0)
        assert certified(finished, mean_model(finished.execution)).radius is None


@pytest.mark.checks("AN-18", "VA-7")
def test_where_there_is_no_radius_it_is_said_why() -> None:
    finished = played("complete:4", (3,), LOSSES[0], None)
    z = mean_model(finished.execution)
    with pytest.raises(RadiusError, match="not between 0 and 1"):
        certified(finished, z, 1.0)
    alone = played("complete:4", (), LOSSES[0], None)
    with pytest.raises(RadiusError, match="Byzantine"):
        certified(alone, mean_model(alone.execution))
    unchecked = played("complete:4", (3,), LOSSES[0], None, checks=())
    with pytest.raises(RadiusError, match="no weighting"):
        certified(unchecked, mean_model(unchecked.execution))
    printed = played("complete:4", (3,), LOSSES[0], None, without=("P27",))
    assert certified(printed, mean_model(printed.execution)).level > 0
    other = played("complete:4", (3,), LOSSES[0], None, without=("P20",))
    with pytest.raises(RadiusError, match="turned off"):
        certified(other, mean_model(other.execution))


@pytest.mark.checks("AN-18")
def test_several_weightings_share_the_probability() -> None:
    """The same weighting twice: each has half of the level, so the noise bound grows."""
    once = played("complete:4", (3,), LOSSES[1], None)
    again = attrs.evolve(WIDE, name="again")
    twice = played("complete:4", (3,), LOSSES[1], None, checks=(WIDE, again))
    noises = [certified(one, mean_model(one.execution)).noise for one in (once, twice)]
    assert noises[0] < noises[1] < 1.2 * noises[0]


@pytest.mark.checks("VA-5", "AN-9")
def test_the_relaxed_tolerances_take_the_measured_errors() -> None:
    finished = played("complete:4", (3,), LOSSES[1], "sign-flip")
    execution, problem = finished.execution, finished.prepared.problem
    z = mean_model(execution)
    errors = measured_errors(execution, problem, z, 0)
    optimality, heterogeneity = tolerances(execution.parameters, execution.parameters.weightings[0])
    assert optimality == pytest.approx(4e6)
    assert heterogeneity == pytest.approx(math.sqrt(4e9))
    e1, e2 = relaxed_tolerances(execution, problem, z)
    assert e1 == pytest.approx((optimality + np.linalg.norm(errors.sum(axis=0))) / 4)
    assert e2 == pytest.approx((heterogeneity + np.linalg.norm(errors)) ** 2 / 4)


# One agent alone.


@pytest.mark.checks("AN-18")
@pytest.mark.parametrize("loss", LOSSES)
def test_an_agent_knows_the_error_of_its_own_estimate(loss: str) -> None:
    finished = played("cycle:4", (3,), loss, "ipm")
    execution, problem = finished.execution, finished.prepared.problem
    parameters = execution.parameters
    weights = parameters.weightings[0].weights
    for agent in execution.honest:
        path = path_of(parameters, execution.states[agent].memory.fixed_transcripts.own)
        own, mine = final_models(execution, (agent,))[0], problem.losses[agent]
        shares = shares_of(weights)
        resting = np.tile(problem.minimiser((agent,)), (len(shares), 1))
        noise = noise_bound(
            noise_of((mine,), (path.points,), shares, 1),
            noise_of((mine,), (resting,), shares, 1),
            1e-6,
        )
        bound = own_error(
            mine, path, weights, own, noise=noise, read_off=read_off_errors(parameters)
        )
        estimate = (shares[:, np.newaxis] * path.gradients).sum(axis=0)
        assert np.linalg.norm(estimate - mine.gradient(own)) <= bound


@pytest.mark.checks("AN-18")
@example("complete:2", [[1.0, 0.0], [0.0, 0.0]])
@given(
    st.sampled_from(["complete:2", "path:3", "cycle:4", "star:4", "complete:4"]),
    st.lists(st.lists(st.floats(-5, 5), min_size=2, max_size=2), min_size=4, max_size=4),
)
def test_differences_along_edges_bound_the_spread(name, rows) -> None:
    graph = parse_family(name)
    models = np.array(rows[: graph.agents])
    true = float(((models - models.mean(axis=0)) ** 2).sum())
    assert true <= spread_of_models(graph, range(graph.agents), models) * (1 + 1e-9) + 1e-12


@pytest.mark.checks("AN-18")
def test_the_spread_counts_edges_among_the_agents_only() -> None:
    models = np.array([[0.0], [2.0]])
    assert spread_of_models(complete(3), (0, 2), models) == pytest.approx(2.0)  # exact on K2
    assert spread_of_models(complete(3), (1,), models[:1]) == 0.0


@pytest.mark.checks("AN-18", "AD-3")
def test_the_certificate_needs_no_coins() -> None:
    finished = played("complete:4", (3,), LOSSES[1], None)
    z, delta = mean_model(finished.execution), finished.prepared.delta
    public = finished.prepared.problem.public()
    found = certified_radius(finished.execution, public, z, delta=delta, probability=0.05)
    assert found == certified(finished, z)
