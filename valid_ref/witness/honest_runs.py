"""Errata that alarm honest runs: sign, index, wrong vector, rounding, weights."""

import attrs

from valid_ref.scenario import parts
from valid_ref.scenario.scenario import Scenario
from valid_ref.witness.story import Story, Witness, honest_run

HONEST = Scenario(
    graph=parts.Family("path:3"),
    loss=parts.RandomQuadratics(2),
    rounds=4,
    checks=(parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e6, 1e12)),),
)
"""Three honest agents, diminishing steps, thresholds out of the way."""

WEIGHTED = attrs.evolve(
    HONEST,
    graph=parts.Family("path:4"),
    rounds=200,
    checks=(parts.Check("gamma = .99", parts.Exponential(0.99), parts.CalibratedThresholds()),),
)
"""An honest path of four with calibrated thresholds."""


def _switch(erratum: str, about: str, scenario: Scenario = HONEST) -> Witness:
    def printed() -> Story:
        return honest_run(attrs.evolve(scenario, without=(erratum,)))

    def repaired() -> Story:
        return honest_run(scenario)

    return Witness(erratum, about, printed, repaired)


WITNESSES = (
    _switch("P13", "adding Gamma where it must be subtracted breaks every honest relation"),
    _switch("P14", "with eta(t) in place of eta(t+1) every honest relation breaks"),
    _switch("P15", "hashing X^in where Gamma is meant breaks every honest relation"),
    _switch("P17", "rounding model and gradient apart breaks every honest relation"),
    _switch("P24", "weights that multiply by their sum alarm an honest network", WEIGHTED),
)
