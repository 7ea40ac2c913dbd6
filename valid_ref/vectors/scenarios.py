"""Small scenarios whose gradients are exact in doubles: dyadic quadratics, few bits, integer steps.

So the vectors come out alike on every machine.
"""

import attrs

from valid_ref.adversary.catalogue import AttackPart
from valid_ref.adversary.early_keys import EarlyKeys
from valid_ref.lattice import MERSENNE_61
from valid_ref.scenario import Scenario, parts
from valid_ref.schedule import Precision

PRECISION = Precision(10, 6)
KEYS = (1234567890123456789, 987654321, 2**60 + 7, 31415926535897932, 0, MERSENNE_61 - 1)
CENTRES = ((1.0, -0.5), (0.25, 0.75), (-1.0, 0.5), (0.5, 0.5), (-0.75, -1.0), (0.0, 1.0))
CURVATURES = ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (1.5, 1.0), (1.0, 1.25), (2.0, 2.0))
SIZES = {"path:2": 2, "complete:3": 3, "path:3": 3, "path:4": 4, "star:4": 4, "cycle:5": 5,
         "path:6": 6}  # fmt: skip
OPEN = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(64.0, 4096.0))
"""Thresholds that a short run passes."""
STEPS = parts.ExplicitSteps((12, 10, 8), (20, 14, 10))


def quadratics(agents: int, dimension: int) -> parts.Quadratics:
    """Losses with diagonal Hessians, everything dyadic."""
    made = []
    for centre, curvature in list(zip(CENTRES, CURVATURES, strict=True))[:agents]:
        hessian = tuple(
            tuple(curvature[i] if i == j else 0.0 for j in range(dimension))
            for i in range(dimension)
        )
        made.append(parts.QuadraticAgent(hessian, centre[:dimension]))
    return parts.Quadratics(tuple(made))


def small(graph: str = "complete:3", dimension: int = 2) -> Scenario:
    """An honest run of three rounds on a small graph."""
    return Scenario(
        graph=parts.Family(graph),
        loss=quadratics(SIZES[graph], dimension),
        rounds=3,
        schedule=STEPS,
        precision=PRECISION,
        keys=KEYS[: SIZES[graph]],
        bounds=parts.ConfiguredBounds(16.0, 64.0),
        checks=(OPEN,),
        delta=2.0,
        eps_success=1.0,
    )


def attacked(attack: AttackPart, graph: str = "complete:3", byzantine: tuple[int, ...] = (2,),
             dimension: int = 1) -> Scenario:  # fmt: skip
    """The same run, attacked."""
    return attrs.evolve(small(graph, dimension), attack=attack, byzantine=byzantine)


def early_keys() -> Scenario:
    """The attack that knows the keys, in the printed order; only LocalValidate could notice it."""
    thresholds = parts.ConfiguredThresholds(2.0**80, 2.0**160)
    return attrs.evolve(
        attacked(EarlyKeys(), byzantine=(0,), dimension=2),
        checks=(parts.Check("t", parts.Polynomial(), thresholds),),
        bounds=parts.NoBounds(),
        without=("P11",),
    )
