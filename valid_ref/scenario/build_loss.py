"""The losses of a scenario."""

import numpy as np

from valid_ref.losses import (
    LogisticRegression,
    Loss,
    LossError,
    Problem,
    Quadratic,
    RidgeLeastSquares,
    random_quadratics,
)
from valid_ref.scenario.parts import (
    DataAgent,
    Logistic,
    Quadratics,
    RandomLogistic,
    RandomQuadratics,
    RandomRidge,
    Ridge,
)
from valid_ref.scenario.scenario import Scenario


def build_problem(scenario: Scenario, agents: int) -> Problem:
    """One loss per agent, with the scenario's batch size and seed."""
    part = scenario.loss
    if isinstance(part, RandomQuadratics):
        _check_size(part.dimension, 1)
        return random_quadratics(
            agents, part.dimension, scenario.seed,
            condition=part.condition, scale=part.scale, noise=part.noise, spread=part.spread,
            batch=scenario.batch,
        )  # fmt: skip
    losses = tuple(_losses(scenario, agents))
    if len(losses) != agents:
        raise LossError(f"{len(losses)} losses for {agents} agents", clause="MO-9")
    return Problem(losses, scenario.batch, scenario.seed)


def _losses(scenario: Scenario, agents: int) -> list[Loss]:
    part = scenario.loss
    if isinstance(part, Quadratics):
        return [
            Quadratic(_matrix(one.hessian), np.array(one.centre), part.noise, part.spread)
            for one in part.agents
        ]
    if isinstance(part, Ridge | Logistic):
        make = RidgeLeastSquares if isinstance(part, Ridge) else LogisticRegression
        return [make(_matrix(one.features), np.array(one.targets), part.ridge)
                for one in part.agents]  # fmt: skip
    if isinstance(part, RandomRidge | RandomLogistic):
        _check_size(part.dimension, part.samples)
        kind = RidgeLeastSquares if isinstance(part, RandomRidge) else LogisticRegression
        signs = isinstance(part, RandomLogistic)
        data = [
            _random_data(scenario.seed, agent, part.dimension, part.samples, signs=signs)
            for agent in range(agents)
        ]
        return [kind(_matrix(one.features), np.array(one.targets), part.ridge) for one in data]
    raise LossError(f"{type(part).__name__} has no losses of its own", clause="MO-9")


def _random_data(seed: int, agent: int, dimension: int, samples: int, *, signs: bool) -> DataAgent:
    """Features in the unit ball; targets from a model that differs a little by agent."""
    generator = np.random.default_rng([seed, agent])
    features = generator.standard_normal((samples, dimension))
    features /= np.maximum(1.0, np.sqrt((features**2).sum(axis=1, keepdims=True)))
    model = np.ones(dimension) + 0.3 * generator.standard_normal(dimension)
    targets = (features * model).sum(axis=1) + 0.1 * generator.standard_normal(samples)
    targets = np.where(targets >= 0, 1.0, -1.0) if signs else targets
    return DataAgent(tuple(map(tuple, features.tolist())), tuple(targets.tolist()))


def _matrix(rows: tuple[tuple[float, ...], ...]) -> np.ndarray:
    if len({len(row) for row in rows}) != 1:
        raise LossError("the rows of a matrix have different lengths", clause="MO-9")
    return np.array(rows, dtype=np.float64)


def _check_size(dimension: int, samples: int) -> None:
    if dimension < 1 or samples < 1:
        raise LossError(f"dimension {dimension}, samples {samples}: below 1", clause="MO-9")
