"""Honest and attacked runs on quadratic losses, many at once, for the statistical steps.

Real arithmetic: the lattice adds less than 1e-6 to anything measured here. The loss of agent v is
|x - D|^2/2, D Gaussian about c_v, so mu = beta = 1 and the gradient noise is Gaussian.
"""

import math

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.graph import AgentGraph

Floats = npt.NDArray[np.float64]
LEVEL = 2.5758293035489004
"""The normal quantile of a two-sided interval of 99 %."""


@attrs.frozen(eq=False)
class SimulationSetting:
    """One configuration: graph, centres c_v (one row an agent), noise, weights and steps.

    alpha_t = a/(t + t0), eta_t = e0/sqrt(t + t0), e0 = sqrt(1 + t0)/lM; `deviation` is sigma_g.
    """

    graph: AgentGraph
    centres: Floats
    rounds: int
    batch: int = 1
    gamma: float = 0.9
    deviation: float = 1.0
    a: float = 2.0
    offset: float = 4.0

    @property
    def optimum(self) -> Floats:
        """x*, the mean of the centres."""
        mean: Floats = self.centres.mean(axis=0)
        return mean

    @property
    def heterogeneity(self) -> float:
        """(1/n) sum |x* - c_v|^2."""
        return float(((self.centres - self.optimum) ** 2).sum(axis=1).mean())

    def steps(self, t: int) -> tuple[float, float]:
        """alpha_t and eta_t."""
        largest = float(self.graph.laplacian_eigenvalues()[-1])
        first = math.sqrt(1 + self.offset) / largest
        return self.a / (t + self.offset), first / math.sqrt(t + self.offset)


@attrs.frozen(eq=False)
class Runs:
    """The final models [run, agent, entry] and the statistics of every run.

    `heterogeneity` is that of averaged lengths, `means` that of averaged gradients.
    """

    models: Floats
    optimality: Floats
    heterogeneity: Floats
    means: Floats


def simulate(setting: SimulationSetting, runs: int, seed: int) -> Runs:
    """Independent runs from x_0 = x*; the statistics are those of GlobalValidate, weights of sum 1.

    A Byzantine agent of a benign attack is one whose centre is a lie: it is simulated the same.
    """
    generator = np.random.default_rng(seed)
    n, d = setting.centres.shape
    laplacian = setting.graph.laplacian().astype(np.float64)
    largest = float(setting.graph.laplacian_eigenvalues()[-1])
    first = math.sqrt(1 + setting.offset) / largest
    scale = setting.deviation / math.sqrt(d * setting.batch)
    models = np.broadcast_to(setting.optimum, (runs, n, d)).copy()
    estimates, lengths = np.zeros((runs, n, d)), np.zeros((runs, n))
    total = (1 - setting.gamma**setting.rounds) / (1 - setting.gamma)
    for t in range(1, setting.rounds + 1):
        alpha = setting.a / (t + setting.offset)
        eta = first / math.sqrt(t + setting.offset)
        mixed = models - eta * (laplacian @ models)
        gradients = mixed - setting.centres + generator.normal(scale=scale, size=(runs, n, d))
        models = mixed - alpha * gradients
        estimates = setting.gamma * estimates + gradients
        lengths = setting.gamma * lengths + np.sqrt((gradients**2).sum(axis=2))
    balance = np.sqrt((estimates.mean(axis=1) ** 2).sum(axis=1)) / total
    squares = ((estimates / total) ** 2).sum(axis=2).mean(axis=1)
    return Runs(models, balance, ((lengths / total) ** 2).mean(axis=1), squares)


def simulate_mean(setting: SimulationSetting, runs: int, seed: int) -> Runs:
    """The mean model and the optimality statistic alone, whose law needs no graph here."""
    generator = np.random.default_rng(seed)
    n, d = setting.centres.shape
    scale = setting.deviation / math.sqrt(n * d * setting.batch)
    offset, estimate = np.zeros((runs, d)), np.zeros((runs, d))
    total = (1 - setting.gamma**setting.rounds) / (1 - setting.gamma)
    for t in range(1, setting.rounds + 1):
        gradient = offset + generator.normal(scale=scale, size=(runs, d))
        offset = offset - setting.a / (t + setting.offset) * gradient
        estimate = setting.gamma * estimate + gradient
    means = (setting.optimum + offset)[:, np.newaxis, :]
    none = np.zeros(runs)
    return Runs(means, np.sqrt((estimate**2).sum(axis=1)) / total, none, none)


def interval(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's interval of 99 % for a probability."""
    share, square = hits / runs, LEVEL**2
    centre = (share + square / (2 * runs)) / (1 + square / runs)
    spread = share * (1 - share) / runs + square / (4 * runs**2)
    half = LEVEL * math.sqrt(spread) / (1 + square / runs)
    return max(0.0, centre - half), min(1.0, centre + half)


def shown(hits: int, runs: int) -> str:
    """A rate with its interval, for a report."""
    low, high = interval(hits, runs)
    return f"{hits}/{runs} [{low:.3f}, {high:.3f}]"
