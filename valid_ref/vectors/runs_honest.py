"""Whole runs without Byzantine agents: graphs, dimensions, primes, weightings, alarms."""

import attrs
import numpy as np

from valid_ref.lattice import FloatVector, GradientSource
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.scenario import Scenario, parts
from valid_ref.schedule import Precision
from valid_ref.vectors.document import Case, Family
from valid_ref.vectors.runs import Setup, run_case, run_family, setup_of
from valid_ref.vectors.scenarios import OPEN, small


def _honest(name: str, source: str, comment: str, setup: Setup | Scenario) -> Case:
    return run_case(f"honest/run/{name}", source, comment, setup)


def _worked_example() -> Scenario:
    """The network of local-validate.md and global-validate.md."""
    centres = (0.0, 1.0, 2.0)
    return Scenario(
        graph=parts.Family("path:3"),
        loss=parts.Quadratics(tuple(parts.QuadraticAgent(((1.0,),), (c,)) for c in centres)),
        rounds=2,
        schedule=parts.ExplicitSteps((1, 1), (2, 2)),
        precision=Precision(4, 2),
        prime=10007,
        keys=(5, 17, 42),
        bounds=parts.ConfiguredBounds(26 / 16, 52 / 16),
        checks=(
            parts.Check("halves", parts.Exponential(0.5, 1), parts.ConfiguredThresholds(0.75, 1.0)),
        ),
        delta=2 / 3,
        eps_success=1.0,
    )


def _toy() -> Scenario:
    """The two agents of learn-model.md and hashing.md, modulo 101."""
    return Scenario(
        graph=parts.Family("path:2"),
        loss=parts.Quadratics(
            tuple(parts.QuadraticAgent(((1.0,),), (c,)) for c in (1.25, -0.5))
        ),
        rounds=3,
        schedule=parts.ExplicitSteps((1, 1, 1), (1, 1, 1)),
        precision=Precision(2, 1),
        prime=101,
        keys=(7, 0),
        bounds=parts.NoBounds(),
        checks=(OPEN,),
        delta=2.0,
        eps_success=1.0,
    )  # fmt: skip


def _failing(scenario: Scenario, agent: int, round_number: int, bad: float) -> Setup:
    """The same run, but one agent's gradient is this number from one round on."""
    setup = setup_of(scenario)
    usual = setup.private[agent].gradient

    def gradient(t: int, point: FloatVector) -> FloatVector:
        return usual(t, point) if t < round_number else np.full_like(point, bad)

    source: GradientSource = gradient
    private = {**setup.private, agent: attrs.evolve(setup.private[agent], gradient=source)}
    return attrs.evolve(setup, private=private)


def _strict(scenario: Scenario) -> Scenario:
    thresholds = parts.ConfiguredThresholds(2.0**-6, 2.0**-6)
    return attrs.evolve(scenario, checks=(parts.Check("t", parts.Polynomial(), thresholds),))


def family() -> Family:
    """All honest runs."""
    wide = attrs.evolve(small("path:2"), precision=Precision(40, 10), start=(3.5, -2.25))
    fine = attrs.evolve(
        small("path:3", 1),
        precision=Precision(28, 20),
        schedule=parts.ExplicitSteps((95325, 90000, 80000), (873813, 748983, 655360)),
    )
    two = parts.Check("gamma = 3/4", parts.Exponential(0.75), parts.ConfiguredThresholds(64.0, 8e3))
    return run_family(
        "runs-honest",
        "Whole runs without Byzantine agents, some of which end with alarms all the same.",
        (
            _honest("toy", "VA-1 LM-2 AR-5", "the worked example of learn-model.md and hashing.md",
                    _toy()),
            _honest("worked-example", "VA-1 LV-8 GV-5",
                    "the worked example of local-validate.md and global-validate.md",
                    _worked_example()),
            _honest("triangle", "VA-1 VA-2", "three agents, d = 2", small()),
            _honest("path", "VA-1 VB-10", "four agents in a row", small("path:4", 1)),
            _honest("star", "VA-1", "degrees differ", small("star:4", 1)),
            _honest("cycle", "VA-1", "five agents, degree 2", small("cycle:5", 1)),
            _honest("default-precision", "AR-1 AR-4", "f = 28, k = 20, p = 2^61 - 1", fine),
            _honest("start-model", "LM-1", "x_0 is not zero, f = 40", wide),
            _honest("small-prime", "HA-1", "p = 1000003",
                    attrs.evolve(small("path:3", 1), prime=1000003, keys=(0, 1, 1000002))),
            _honest("own-keys", "LV-10", "hashes are checked under one's own key only",
                    attrs.evolve(small("path:3", 1), keys_checked=CheckedKeys.OWN)),
            _honest("two-weightings", "GV-12", "exponential and polynomial weights",
                    attrs.evolve(small("path:3", 2), checks=(two, OPEN))),
            _honest("no-checks", "GV-12", "no weighting and no norm bounds",
                    attrs.evolve(small("path:2", 1), checks=(), bounds=parts.NoBounds())),
            _honest("thresholds-too-low", "GV-5 GV-6", "everybody alarms: three rounds are too few",
                    _strict(small("path:3", 1))),
            _honest("bounds-too-low", "LV-2", "norm bounds that honest messages break",
                    attrs.evolve(small("path:3", 1),
                                 bounds=parts.ConfiguredBounds(2.0**-3, 2.0**-3))),
            _honest("gradient-not-finite", "AR-14 LM-4", "agent 1 has a NaN in round 2, alarms and "
                    "falls silent", _failing(small("path:3", 1), 1, 2, float("nan"))),
            _honest("gradient-too-large", "AR-14 LM-4", "agent 0 leaves the range in round 3",
                    _failing(small("path:3", 1), 0, 3, 2.0**50)),
        ),
    )  # fmt: skip
