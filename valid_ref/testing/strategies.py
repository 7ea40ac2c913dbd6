"""The public strategies, in one place, and whole scenarios, honest and adversarial.

Scenarios are of the repaired reading with the prime 2^61 - 1. All strategies are made to shrink:
few agents, one edit, small numbers, simplest choices first.
"""

import attrs
from hypothesis import strategies as st

from valid_ref.graph import AgentGraph, assumption_1, assumption_1_plus
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.scenario import Scenario, parts
from valid_ref.schedule import Precision
from valid_ref.testing import problems
from valid_ref.testing.attacks import (
    attacks,
    edit_lists,
    edits,
    excursions,
    fitting_attacks,
    garbage,
    last_pushes,
    named_attacks,
)
from valid_ref.testing.problems import (
    Network,
    byzantine_sets,
    checks,
    explicit_steps,
    graphs,
    losses,
    networks,
    precisions,
    quadratics,
    random_losses,
    schedules,
)

__all__ = [
    "LEAN",
    "PAPERS",
    "adversarial_scenarios",
    "attacks",
    "byzantine_sets",
    "checks",
    "edit_lists",
    "edits",
    "excursions",
    "explicit_steps",
    "fitting_attacks",
    "garbage",
    "graphs",
    "last_pushes",
    "losses",
    "named_attacks",
    "networks",
    "precisions",
    "quadratics",
    "random_losses",
    "scenarios",
    "schedules",
]

GENEROUS = 1e30
"""An eps_success that leaves the spread of the models to the law of AN-9 (see `laws`)."""

BOUNDS: tuple[parts.BoundsPart, ...] = (
    parts.DerivedBounds(),
    parts.NoBounds(),
    parts.ConfiguredBounds(1e6, 1e6),
)
"""Derived, none, or so wide that honest runs pass."""

PAPERS: st.SearchStrategy[parts.ValidationPart] = st.just(parts.PaperValidation())

LEAN: st.SearchStrategy[parts.ValidationPart] = st.builds(parts.Lean, st.integers(1, 3))
"""Lean validation with one to three keys."""

LEAN_BOUNDS: tuple[parts.BoundsPart, ...] = (
    parts.DerivedBounds(),
    parts.ConfiguredBounds(1e4, 1e4),
)
"""Lean validation needs bounds under which no sum can wrap (LE-3)."""


@st.composite
def scenarios(
    draw: st.DrawFn,
    graph: AgentGraph | None = None,
    *,
    max_agents: int = 5,
    max_rounds: int = 4,
    max_dimension: int = 2,
    validations: st.SearchStrategy[parts.ValidationPart] = PAPERS,
) -> Scenario:
    """Scenarios without Byzantine agents, which everybody must end valid.

    Thresholds are calibrated, or so that every honest run passes them: with noise or with steps
    that overshoot they are loose.
    """
    chosen = draw(graphs(max_agents=max_agents)) if graph is None else graph
    rounds, dimension = draw(st.integers(1, max_rounds)), draw(st.integers(1, max_dimension))
    precision = draw(problems.precisions())
    validation = draw(validations)
    lean = isinstance(validation, parts.Lean)
    # The default leaves models 10 bits before the point.
    roomy = precision != Precision() and not lean
    schedule = draw(problems.schedules(rounds, precision, chosen.max_degree, overshoot=roomy))
    loss = draw(problems.losses(chosen.agents, dimension))
    return Scenario(
        graph=parts.Edges(chosen.agents, chosen.edges),
        loss=loss,
        rounds=rounds,
        schedule=schedule,
        precision=precision,
        seed=draw(st.integers(0, 99)),
        bounds=draw(st.sampled_from(LEAN_BOUNDS if lean else BOUNDS)),
        checks=draw(problems.checks(_thresholds(loss, schedule, precision))),
        eps_success=GENEROUS,
        keys_checked=CheckedKeys.ALL if lean else draw(st.sampled_from(CheckedKeys)),
        validation=validation,
    )


@st.composite
def adversarial_scenarios(
    draw: st.DrawFn,
    network: Network | None = None,
    *,
    assumption_plus: bool = True,
    max_agents: int = 5,
    max_rounds: int = 4,
    max_dimension: int = 2,
    validations: st.SearchStrategy[parts.ValidationPart] = PAPERS,
) -> Scenario:
    """Scenarios with Byzantine agents and an attack, under Assumption 1+, or 1 alone."""
    assumption = assumption_1_plus if assumption_plus else assumption_1
    graph, byzantine = (
        draw(networks(assumption, max_agents=max_agents)) if network is None else network
    )
    peaceful = draw(
        scenarios(
            graph,
            max_rounds=max_rounds,
            max_dimension=max_dimension,
            validations=validations,
        )
    )
    occupied = attrs.evolve(peaceful, byzantine=tuple(sorted(byzantine)))
    return attrs.evolve(occupied, attack=draw(attacks(occupied)))


def _thresholds(
    loss: parts.LossPart, schedule: parts.SchedulePart, precision: Precision
) -> tuple[parts.ThresholdsPart, ...]:
    """Those that an honest run is sure to pass, and that are not refused.

    Calibrated ones need gradients without noise, or they are a matter of luck: quadratics, or
    one datum to an agent. In few bits gradients may add up to exactly zero, from which nothing
    can be calibrated.
    """
    if not isinstance(loss, parts.Quadratics):
        noisy = isinstance(loss, parts.RandomRidge | parts.RandomLogistic) and loss.samples > 1
        fine = precision == Precision() and not noisy
        return (problems.CALIBRATED, problems.LOOSE) if fine else (problems.LOOSE,)
    overshoots = isinstance(schedule, parts.ConstantSteps) and schedule.alpha > 1
    return (problems.LOOSE,) if overshoots else (problems.FAIR, problems.LOOSE)
