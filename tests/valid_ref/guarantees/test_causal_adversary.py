"""Why the adversary must not know mini-batches of the future: a run in which it does.

Two agents, one Byzantine. The honest loss has 2001 narrow bumps, of which a mini-batch shows one;
at any point the chance to meet it is 1/2001, so the variance of the gradients is tiny everywhere.
Whoever knows the last mini-batch beforehand leads the model into its bump: then the estimate of
the honest gradient is wrong by the whole bump, and what the checks certify is false.
"""

import attrs
import numpy as np
import pytest

from valid_ref.adversary.attack import Setting, lying, models_said
from valid_ref.coins import Coins
from valid_ref.execution import Execution, execute
from valid_ref.graph_families import complete
from valid_ref.guarantees.admissible import is_admissible
from valid_ref.guarantees.outcome import final_models
from valid_ref.guarantees.radius import certified_radius, measured_errors
from valid_ref.hashing import PrimeField
from valid_ref.lattice import MERSENNE_61, FloatVector, IntVector, default_limits
from valid_ref.losses import Problem
from valid_ref.losses.loss import FloatMatrix, SampleNoise
from valid_ref.machine import CausalView
from valid_ref.protocols.parameters import ValidParameters, exponential_weights, make_weighting
from valid_ref.protocols.valid import Private
from valid_ref.schedule import Precision, Schedule

STEEPEST = 8 / 27**0.5
"""The largest slope of (1 - u^2)^2, at u = 1/sqrt(3)."""
WIDTH = 5e-4
HEIGHT = 0.3 * WIDTH
CENTRES = 2 * WIDTH * np.arange(-1000, 1001)
ROUNDS, LAST_STEP = 30, 10
PRECISION = Precision(36, 20)
THETA = 0.05


@attrs.frozen(eq=False)
class Bumps:
    """f(x, D) = x^2/2 + h w (8/15 - B((x - c_D)/w)), B' = (1 - u^2)^2 on [-1, 1], D uniform.

    Finite at 0, nonnegative, beta-smooth, mu-strongly convex, of bounded gradient variance.
    """

    dimension: int = 1
    strong_convexity: float = 1 - STEEPEST * HEIGHT / WIDTH
    smoothness: float = 1 + STEEPEST * HEIGHT / WIDTH
    loss_at_zero: float = 16 / 15 * HEIGHT * WIDTH

    def bump(self, point: FloatVector) -> FloatVector:
        """The part of the gradient that a mini-batch shows if its bump is the nearest one."""
        nearest = np.clip(np.rint(point / (2 * WIDTH)), -1000, 1000)
        u = np.clip((point - 2 * WIDTH * nearest) / WIDTH, -1, 1)
        return -HEIGHT * (1 - u**2) ** 2

    def gradient_deviation(self, radius: float) -> float:
        """At most the whole bump, once in 2001."""
        return float(HEIGHT / np.sqrt(len(CENTRES)))

    def sample_noise(self, points: FloatMatrix) -> SampleNoise:
        """Exactly."""
        share, height = 1 / len(CENTRES), np.abs(self.bump(points[:, 0]))
        return SampleNoise(height**2 * share * (1 - share), height * (1 - share))

    def value(self, point: FloatVector) -> float:
        """Not needed."""
        raise NotImplementedError

    def gradient(self, point: FloatVector) -> FloatVector:
        """x plus the mean of all bumps."""
        return point + self.bump(point) / len(CENTRES)

    def hessian_at(self, point: FloatVector) -> FloatMatrix:
        """Good enough for Newton's method."""
        return np.eye(1)

    def sample(self, point: FloatVector, batch: int, generator: np.random.Generator) -> FloatVector:
        """The gradient for one D."""
        assert batch == 1
        u = np.clip((point - CENTRES[generator.integers(len(CENTRES))]) / WIDTH, -1, 1)
        return point - HEIGHT * (1 - u**2) ** 2


def drawn(seed: int, t: int) -> np.random.Generator:
    """What the honest agent draws its mini-batch of round t with."""
    return np.random.default_rng([seed, t])


def play(seed: int, target: float) -> tuple[Execution, Problem]:
    """A run in which the Byzantine agent keeps the mean of both models at the target.

    So it leads the honest agent to the target, and in the last round, whose step is tiny, claims
    the opposite of the honest gradient.
    """
    loss, graph = Bumps(), complete(2)
    problem = Problem((loss, loss), coins=Coins.of_seed(0))
    half = 1 << (PRECISION.step_bits - 1)
    schedule = Schedule(PRECISION, (half,) * ROUNDS, (half,) * (ROUNDS - 1) + (LAST_STEP,))
    parameters = ValidParameters(
        graph=graph,
        lattice=default_limits(1, schedule, 1, MERSENNE_61),
        start_model=np.zeros(1, dtype=np.int64),
        field=PrimeField(MERSENNE_61),
        bounds=None,
        weightings=(
            make_weighting(
                "last",
                exponential_weights(ROUNDS, 0.0),
                2,
                PRECISION.fraction_bits,
                optimality=1e-4,
                heterogeneity=4.0,
            ),
        ),
    )
    setting = Setting.of(parameters, problem, frozenset({1}), 1.0, Coins.of_seed(1))
    aim = round(target * 2**PRECISION.fraction_bits)

    def lie(view: CausalView, _sender: int, _receiver: int) -> IntVector:
        honest_model: IntVector = models_said(setting, view, (0,))[0].astype(np.int64)
        return 2 * aim - honest_model

    def honest(t: int, point: FloatVector) -> FloatVector:
        return loss.sample(point, 1, drawn(seed, t))

    private = {agent: Private(honest, agent + 1) for agent in (0, 1)}
    byzantine = frozenset({1})
    return execute(parameters, private, byzantine=byzantine, adversary=lying(setting, lie)), problem


def judged(seed: int, target: float) -> tuple[float, float, bool]:
    """The true error of the honest estimate, the certified one, and whether the level is true."""
    execution, problem = play(seed, target)
    assert execution.honest_valid == (0,)
    z = final_models(execution, (0,))[0]
    found = certified_radius(execution, problem, z, delta=1.0, probability=THETA)
    error = float(np.linalg.norm(measured_errors(execution, problem, z, 0)))
    return error, found.nu, is_admissible(problem, (0,), found.level, z)


def nu_before_the_run() -> float:
    """AN-9's nu: on K2 with eta = 1/2 mixing is perfect, so only the last step is left."""
    loss, largest = Bumps(), 3.0
    assert largest > 2 * abs(CENTRES).max() + HEIGHT
    drift = loss.smoothness * largest * LAST_STEP / 2**PRECISION.step_bits
    return float(drift + loss.gradient_deviation(1.0) * (1 / THETA) ** 0.5)


def last_bump(seed: int) -> float:
    """Where the last mini-batch shows its bump; positive, so that the bump hides some gradient."""
    return float(CENTRES[drawn(seed, ROUNDS).integers(len(CENTRES))])


SEEDS = [seed for seed in range(40) if last_bump(seed) > 0.1][:8]


@pytest.mark.checks("AD-3", "AN-9", "AN-18", "AN-19")
@pytest.mark.parametrize("seed", SEEDS)
def test_an_adversary_that_knows_the_last_mini_batch_breaks_what_is_certified(seed: int) -> None:
    error, nu, admissible = judged(seed, last_bump(seed))
    assert error > 0.9 * HEIGHT
    assert error > nu
    assert error > 2 * nu_before_the_run()
    assert not admissible


@pytest.mark.checks("AD-3", "AN-9", "AN-18", "AN-19")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_causal_adversary_does_not(seed: int) -> None:
    """It leads to the bump of the round before, which it has seen; the next one is elsewhere."""
    seen = float(CENTRES[drawn(seed, ROUNDS - 1).integers(len(CENTRES))])
    error, nu, admissible = judged(seed, seen)
    assert error < min(nu, nu_before_the_run())
    assert error < 0.1 * HEIGHT
    assert admissible


def test_the_losses_meet_the_assumptions() -> None:
    """Slopes between mu and beta, mean and variance of one datum's gradient as they are claimed."""
    loss = Bumps()
    points = np.linspace(-0.01, 0.01, 4001)
    u = np.clip((points[:, np.newaxis] - CENTRES[980:1021]) / WIDTH, -1, 1)
    of_datum = points[:, np.newaxis] - HEIGHT * (1 - u**2) ** 2
    slopes = np.diff(of_datum, axis=0) / np.diff(points)[:, np.newaxis]
    assert loss.strong_convexity <= slopes.min() + 1e-9
    assert slopes.max() - 1e-9 <= loss.smoothness
    away = len(CENTRES) - of_datum.shape[1]
    mean = (of_datum.sum(axis=1) + away * points) / len(CENTRES)
    squares = ((of_datum - mean[:, np.newaxis]) ** 2).sum(axis=1) + away * (points - mean) ** 2
    np.testing.assert_allclose(mean, loss.gradient(points), atol=1e-15)
    noise = loss.sample_noise(points[:, np.newaxis])
    np.testing.assert_allclose(noise.variance, squares / len(CENTRES), rtol=1e-9, atol=1e-22)
    assert noise.variance.max() <= loss.gradient_deviation(1.0) ** 2
