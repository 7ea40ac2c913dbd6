"""Networks of any size with gradients that cost next to nothing: y - c for an agent's centre c."""

from collections.abc import Mapping

import numpy as np

from valid_ref.graph_families import parse_family
from valid_ref.hashing import PrimeField
from valid_ref.lattice import FloatVector, GradientSource, default_limits
from valid_ref.protocols.parameters import (
    Bounds,
    ValidParameters,
    make_weighting,
    polynomial_weights,
)
from valid_ref.protocols.valid import Private
from valid_ref.schedule import make_schedule


def network(graph: str, d: int, T: int) -> tuple[ValidParameters, Mapping[int, Private]]:
    """Public parameters with loose bounds and thresholds, and private inputs by a fixed seed."""
    agents = parse_family(graph)
    schedule = make_schedule(T, alpha=lambda _t: 0.01, eta=lambda _t: 0.01)
    lattice = default_limits(d, schedule, agents.max_degree)
    weighting = make_weighting(
        "t",
        polynomial_weights(T, 1),
        agents.agents,
        schedule.precision.fraction_bits,
        optimality=1e9,
        heterogeneity=1e18,
    )
    bounds = Bounds((1 << 120,) * T, (1 << 120,) * T)
    parameters = ValidParameters(
        graph=agents,
        lattice=lattice,
        start_model=np.zeros(d, np.int64),
        field=PrimeField(),
        bounds=bounds,
        weightings=(weighting,),
    )
    generator = np.random.default_rng(5)
    private = {
        agent: Private(_towards(generator.normal(size=d)), 2**60 - 7 * agent)
        for agent in range(agents.agents)
    }
    return parameters, private


def _towards(centre: FloatVector) -> GradientSource:
    return lambda _t, point: point - centre
