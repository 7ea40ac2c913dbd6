"""A loss of somebody's own: the same as a loss of the reference, and less where it says less."""

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.valid_ref.adversary.test_what_is_known import Secrets
from valid_ref import Scenario, run
from valid_ref.adversary.attack import Setting
from valid_ref.coins import Coins
from valid_ref.errors import ValidRefError
from valid_ref.guarantees.admissible import heterogeneity
from valid_ref.losses import (
    GradientError,
    LossError,
    Problem,
    RefutedError,
    RidgeLeastSquares,
    UnknownError,
)
from valid_ref.losses.own import AgentLoss, check_own_loss, own_minimiser
from valid_ref.losses.refuted import require_constants
from valid_ref.scenario import prepare
from valid_ref.scenario.build import kept_rehearsals
from valid_ref.scenario.scenario import run_coins, settled

AGENTS, ROUNDS = 4, 12
STEPS = "constant:alpha=0.1,eta=0.1"


def data(agents: int = AGENTS, dimension: int = 2, seed: int = 0) -> list[RidgeLeastSquares]:
    generator = np.random.default_rng(seed)
    features = generator.uniform(-1, 1, size=(agents, 6, dimension)) / np.sqrt(dimension)
    targets = features.sum(axis=2) + 0.1 * generator.standard_normal((agents, 6))
    return [RidgeLeastSquares(a, b, 0.5) for a, b in zip(features, targets, strict=True)]


class Bare:
    """Gradients alone."""

    dimension = 2

    def __init__(self, losses=None) -> None:
        self.losses = data() if losses is None else losses
        self.asked: list[tuple[int, int]] = []

    def gradient(self, agent, t, point):
        self.asked.append((agent, t))
        return self.losses[agent].gradient(point)


class Known(Bare):
    """The same loss, with all that is known of it."""

    def __init__(self, losses=None) -> None:
        super().__init__(losses)
        problem = Problem(self.losses)
        self.dimension = problem.dimension
        self.mu, self.beta = problem.strong_convexity, problem.smoothness
        self.F0, self.sigma = problem.loss_at_zero, problem.gradient_deviation(10.0)


class Sampled(Known):
    def sample(self, agent, t, point, generator):
        return self.losses[agent].sample(point, 1, generator)


def scenario(loss, **options) -> Scenario:
    return Scenario(graph="complete:4", rounds=ROUNDS, loss=loss, seed=0, **options)


@pytest.mark.checks("MO-14", "MO-9")
@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**16))
def test_the_optimum_by_descent_is_that_of_newtons_method(agents, dimension, seed) -> None:
    losses = data(agents, dimension, seed)
    wanted = Problem(losses).minimiser()
    own = Known(losses)
    found = own_minimiser(own, range(agents))
    assert np.linalg.norm(found - wanted) <= 1e-9 * (1 + np.linalg.norm(wanted))
    assert heterogeneity(Problem([AgentLoss(own, v) for v in range(agents)])) == pytest.approx(
        heterogeneity(Problem(losses)), rel=1e-6, abs=1e-18
    )


@pytest.mark.checks("MO-14", "MO-9")
def test_a_loss_in_disguise_has_the_gradients_of_the_one_it_is() -> None:
    """Those of mini-batches too, over the same coins; and other ones in a rehearsal."""
    losses, own, coins, point = data(), Sampled(), Coins.of_seed(3), np.array([0.3, -1.0])
    known = Problem(losses, coins=coins)
    found = Problem([AgentLoss(own, v) for v in range(AGENTS)], coins=coins)
    for problems in ((known, found), (known.rehearsal(2), found.rehearsal(2))):
        for agent in range(AGENTS):
            sources = [problem.gradient_source(agent) for problem in problems]
            for t in range(1, 6):
                wanted, given = (source(t, point) for source in sources)
                assert wanted.tobytes() == given.tobytes()
    apart = [
        problem.gradient_source(0)(1, point).tobytes()
        for problem in (found, found.rehearsal(0), found.rehearsal(1))
    ]
    assert len({*apart}) == 3
    assert not found.noiseless
    assert Problem([AgentLoss(Known(), 0)]).noiseless


@pytest.mark.checks("MO-14", "VA-5")
@pytest.mark.parametrize("attack", [None, "sign-flip", "equivocation", "benign:fraction=0.5"])
def test_a_run_with_a_loss_in_disguise_ends_as_with_the_one_it_is(attack) -> None:
    """Models to the last bit, since both are without noise; outcomes by another way."""
    options = {} if attack is None else {"byzantine": 3, "attack": attack}
    # One datum for every agent: the reference knows that there is no noise.
    losses = [RidgeLeastSquares(one.features[:1], one.targets[:1], 0.5) for one in data()]
    wanted = run(scenario(losses, **options))
    found = run(scenario(Known(losses), **options))
    assert found.outcome == wanted.outcome
    assert found.prepared.eps_success == pytest.approx(wanted.prepared.eps_success)
    if attack != "benign:fraction=0.5":  # whose target depends on the last bits of the optimum
        for agent in range(AGENTS):
            one, other = (r.execution.output(agent) for r in (wanted, found))
            assert (one is None) == (other is None)
            assert one is None or one.tobytes() == other.tobytes()


@pytest.mark.checks("MO-14", "GU-9")
def test_with_constants_certificates_and_bounds_are_those_of_the_loss_it_is() -> None:
    losses = data()
    options = {"checks": "certificate:theta=0.3", "eps_success": 1.0}
    wanted = prepare(scenario(losses, **options)).parameters
    found = prepare(scenario(Sampled(losses), **options)).parameters
    assert found.bounds == wanted.bounds is not None
    [one], [other] = wanted.weightings, found.weightings
    assert other.origin == "certificate"
    # sigma is given for a larger ball than the one that follows, so no threshold is smaller
    assert other.optimality >= one.optimality * (1 - 1e-9)


@pytest.mark.checks("MO-14", "VA-11", "VA-5")
def test_without_constants_thresholds_are_calibrated_and_the_rest_is_unknown() -> None:
    loss = Bare()
    found = run(scenario(loss, schedule=STEPS))
    assert found.prepared.parameters.weightings[0].origin == "calibrated"
    assert found.prepared.parameters.bounds is None
    assert found.outcome == "unknown"
    assert "the loss gives neither a minimiser nor mu and beta" in found.judgement.reason
    assert any("cannot be decided" in note for note in found.prepared.notes)
    assert any("no norm checks: the loss gives no F0" in note for note in found.prepared.notes)
    assert (found.prepared.delta, found.prepared.eps_success) == (None, None)
    assert found.as_json()["delta"] is None
    with pytest.raises(ValidRefError, match="no steps follow, since the loss gives no mu"):
        prepare(scenario(loss))
    with pytest.raises(ValidRefError, match="a certificate needs delta"):
        prepare(scenario(loss, schedule=STEPS, checks="certificate"))
    with pytest.raises(UnknownError, match="neither a minimiser nor mu and beta"):
        prepare(scenario(loss, schedule=STEPS, delta=1, checks="certificate"))


@pytest.mark.checks("VA-11")
def test_what_is_given_is_decided_without_an_optimum() -> None:
    attacked = {"byzantine": 3, "attack": "gaussian:sigma=0.00001", "schedule": STEPS}
    attacked["checks"] = "configured:optimality=100,heterogeneity=1000"
    unknown = run(scenario(Bare(), **attacked))
    assert unknown.outcome == "unknown"
    assert "delta is not known" in unknown.judgement.reason
    decided = run(scenario(Bare(), **attacked, delta=10.0, eps_success=1.0))
    assert decided.outcome == "b"
    assert decided.judgement.radius is None
    apart = run(scenario(Bare(), **attacked, eps_success=1e-15))
    assert apart.outcome == "failed"
    assert "mean squared distance of the valid models from their mean" in apart.judgement.reason
    alone = run(scenario(Bare(), schedule=STEPS, eps_success=1e-15))
    assert alone.outcome == "failed"


@pytest.mark.checks("MO-14")
def test_a_minimiser_that_is_given_is_taken_if_it_is_one() -> None:
    class Given(Bare):
        shift = 0.0

        def minimiser(self, agents):
            return Problem(self.losses).minimiser(agents) + self.shift

    loss = Given()
    found = run(scenario(loss, schedule=STEPS))
    assert found.prepared.delta == heterogeneity(Problem(loss.losses))
    assert found.outcome in {"a", "failed"}
    loss.shift = 0.1
    with pytest.raises(LossError, match="is no minimiser"):
        prepare(scenario(loss, schedule=STEPS))
    wrong = Known()
    wrong.beta, wrong.mu, wrong.F0 = 1e-3, 1e-3, 1e9
    with pytest.raises(LossError, match="are mu, beta and gradients of one loss"):
        prepare(scenario(wrong))


@pytest.mark.checks("MO-14")
def test_agents_ask_for_their_own_gradients_of_their_rounds_alone() -> None:
    loss = Bare()
    run(scenario(loss, schedule=STEPS))
    assert {agent for agent, _t in loss.asked} == {*range(AGENTS)}
    assert {t for _agent, t in loss.asked} == {*range(ROUNDS + 1)} - {0}


@pytest.mark.checks("MO-14")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda point: point[:1], "has shape (1,), not (2,)"),
        (lambda point: [0.0, np.nan], "has nan in entry 1"),
        (lambda point: np.inf * np.ones(2), "has inf in entry 0"),
        (lambda point: "text", "is no array of real numbers"),
        (lambda point: 1j * point, "is no array of real numbers"),
        (lambda point: point > 0, "is no array of real numbers"),
        (lambda point: ["0.5", "1"], "is no array of real numbers"),
        (lambda point: [[1.0], [2.0, 3.0]], "raises ValueError"),
        (lambda point: point / point["x"], "raises IndexError"),
        (lambda point: None, "is no array of real numbers"),
    ],
)
def test_what_is_no_gradient_is_refused_by_agent_and_round(given, words) -> None:
    class Wrong(Bare):
        def gradient(self, agent, t, point):
            return given(point) if (agent, t) == (2, 7) else super().gradient(agent, t, point)

    with pytest.raises(GradientError) as caught:
        run(scenario(Wrong(), schedule=STEPS))
    assert "the gradient of agent 2 in round 7 " in str(caught.value)
    assert words in str(caught.value)
    assert caught.value.clause == "MO-14"


@pytest.mark.checks("MO-14")
def test_a_loss_that_writes_into_the_point_changes_nothing() -> None:
    class Writing(Bare):
        def gradient(self, agent, t, point):
            found = super().gradient(agent, t, point)
            point += 1
            return found

    point = np.array([0.25, 0.5])
    found = AgentLoss(Writing(), 1).gradient(point)
    assert point.tolist() == [0.25, 0.5]
    assert found.tobytes() == AgentLoss(Bare(), 1).gradient(point).tobytes()


@pytest.mark.checks("MO-14", "MO-10")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gradient": None}, "has no method gradient"),
        ({"gradient": 3}, "has no method gradient"),
        ({"sample": 3}, "has no method sample"),
        ({"dimension": 0}, "dimension = 0 is not an integer from 1 on"),
        ({"dimension": "2"}, "is not an integer"),
        ({"mu": 0}, "mu = 0.0"),
        ({"mu": "x"}, "mu = 'x' is not a number"),
        ({"mu": 2, "beta": 1}, "beta = 1.0 is not a number from 2 on"),
        ({"F0": -1}, "F0 = -1.0"),
        ({"sigma": np.inf}, "sigma = inf"),
        ({"beta": np.nan}, "beta = nan"),
    ],
)
def test_what_is_no_loss_is_refused_when_the_scenario_is_made(changes, words) -> None:
    loss = Bare()
    for name, value in changes.items():
        setattr(loss, name, value)
    with pytest.raises(ValidRefError) as caught:
        scenario(loss)
    assert words in str(caught.value)
    with pytest.raises(LossError):
        check_own_loss(loss, "loss")


@pytest.mark.checks("MO-14")
def test_mini_batches_are_a_matter_of_the_loss() -> None:
    with pytest.raises(LossError, match="leave batch at 1"):
        prepare(scenario(Sampled(), batch=2))


@pytest.mark.checks("MO-14", "AD-3")
def test_an_adversary_that_has_the_loss_has_no_honest_sample() -> None:
    """It may ask for mini-batches with a generator of its own; nothing else is within reach."""
    chosen = attrs.evolve(scenario(Sampled()), seed=918273645546372819, byzantine=3, attack="mimic")
    prepared = prepare(chosen)
    coins = run_coins(prepared.scenario).child("attack")
    setting = Setting.of(
        prepared.parameters, prepared.problem, prepared.byzantine, prepared.delta, coins
    )
    secrets = Secrets(prepared)
    assert (
        secrets.check([setting, prepared.adversary], keys_known=False) == 4
    )  # two of each setting


@pytest.mark.checks("VA-10", "GU-12")
def test_rehearsals_of_somebodys_loss_are_not_kept(tmp_path) -> None:
    named = settled(scenario(f"{__name__}:Flat", schedule=STEPS))
    assert named.loss == Flat()
    assert kept_rehearsals(named, tmp_path).directory is None
    assert kept_rehearsals(settled(scenario("random-ridge")), tmp_path).directory == tmp_path
    assert run(named).outcome == "unknown"


@attrs.frozen
class Flat:
    """A loss that a document can name."""

    dimension: int = 2

    def gradient(self, agent, t, point):
        return point - agent


def changed(**constants: object) -> Known:
    """The loss whose constants are right, with others in their place."""
    own = Sampled() if "sigma" in constants or "sample" in constants else Known()
    for name, value in constants.items():
        setattr(own, name, value)
    return own


@pytest.mark.checks("MO-10", "MO-14")
@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({"beta": 0.55}, r"test_own:Known: agent \d refutes beta = 0.55: between two points"),
        ({"mu": 1.2, "beta": 9.0}, r"Known: agent \d refutes mu = 1.2: between two points"),
        ({"F0": 1e-3}, r"Known: agent \d refutes F0 = 0.001: its gradient at zero"),
        ({"sigma": 1e-3}, r"Sampled: agent \d refutes sigma = 0.001: \d+ gradients of sample"),
        ({"sigma": 0.0}, r"Sampled: agent \d refutes sigma = 0: \d+ gradients of sample"),
        (
            {"sample": lambda _agent, _t, point, _generator: point + 1e3},
            "or gradient is not the mean of sample",
        ),
    ],
)
def test_a_constant_that_the_gradients_refute_is_refused(constants, words) -> None:
    with pytest.raises(RefutedError, match=words):
        run(scenario(changed(**constants), schedule=STEPS, byzantine=3, attack="sign-flip"))


@pytest.mark.checks("MO-10", "MO-14")
@given(
    st.integers(1, 3),
    st.integers(0, 2**16),
    st.sampled_from(["mu", "beta", "F0", "sigma"]),
    st.integers(0, 2**16),
)
def test_right_constants_are_never_refuted_and_wrong_ones_where_they_are_tight(
    dimension, seed, name, draws
) -> None:
    """Quadratics whose constants are exact: 1 along one axis and 3 along another."""
    generator = np.random.default_rng(seed)
    curvature = np.concatenate([[1.0, 3.0], generator.uniform(1, 3, dimension)])
    spread = generator.uniform(0.1, 10)
    centre = generator.uniform(0.5, 2, dimension + 2)
    exact = {
        "mu": 1.0,
        "beta": 3.0,
        "F0": float((curvature * centre) @ (curvature * centre)) / 6,
        "sigma": float(np.sqrt(dimension + 2)) * spread,
    }

    class Exact:
        def gradient(self, _agent, _t, point):
            return curvature * (point - centre)

        def sample(self, _agent, _t, point, own):
            return curvature * (point - centre) + own.choice([-spread, spread], dimension + 2)

    own: Any = Exact()
    own.dimension = dimension + 2
    for key, value in exact.items():
        setattr(own, key, value)
    losses = [AgentLoss(own, agent) for agent in range(3)]
    axes = [np.zeros(own.dimension), *np.eye(own.dimension)[:2]]
    points, coins = [axes] * 3, Coins.of_seed(draws)
    require_constants(losses, points, coins)
    own.F0 *= 2 if name == "beta" else 1
    wrong = {"mu": 1.1, "beta": 2.9, "F0": exact["F0"] * 0.9, "sigma": exact["sigma"] / 4}
    setattr(own, name, wrong[name])
    with pytest.raises(RefutedError, match=f"refutes {name} ="):
        require_constants(losses, points, coins)


@pytest.mark.checks("MO-14")
def test_a_constant_is_held_against_the_models_of_the_run_as_well() -> None:
    """The curvature is beyond beta only where the run passes by, neither at its start nor end."""

    class Steep(Bare):
        mu, beta, F0 = 1.0, 2.0, 100.0

        def gradient(self, agent, t, point):
            return point - 2 + 5 * np.clip(point - 0.7, 0, 0.2)

        def minimiser(self, agents):
            return np.array([1.0, 1.0])

    with pytest.raises(RefutedError, match="refutes beta = 2:"):
        run(scenario(Steep(), schedule=STEPS))


@pytest.mark.checks("MO-9", "MO-14")
@pytest.mark.parametrize(
    ("minimiser", "words"),
    [
        (lambda _agents: np.zeros(2), r"is no minimiser: there the gradients .* add up to"),
        (lambda _agents: np.full(2, 1e300), r"is no minimiser: there the gradients .* add up to"),
        (lambda _agents: np.zeros(3), r"has shape \(3,\), not \(2,\)"),
        (lambda _agents: np.array([0.0, np.nan]), "has nan in entry 1"),
        (lambda _agents: "far", "gives no array of real numbers"),
        (lambda _agents: None, "gives no array of real numbers"),
        (lambda: np.zeros(2), "raises TypeError"),
    ],
)
def test_a_wrong_minimiser_is_blamed_by_its_name(minimiser, words) -> None:
    several: tuple[Any, ...] = (Known(), Sampled())
    for own in several:
        own.minimiser = minimiser
        with pytest.raises(LossError, match=rf"minimiser\(\[0, 1, 2, 3\]\) {words}"):
            prepare(scenario(own))


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("sample", r"agent, round, point, generator"),
        ("minimiser", "agents"),
        ("gradient", "agent, round, point"),
    ],
)
def test_what_is_no_method_is_refused_with_its_arguments(method, arguments) -> None:
    own = Known()
    setattr(own, method, 5)
    with pytest.raises(LossError, match=rf"has no method {method}\({arguments}\)"):
        check_own_loss(own, "loss")
