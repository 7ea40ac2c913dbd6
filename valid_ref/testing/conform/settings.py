"""What the fixed cases are made of: one small scenario, edits of one message, thresholds."""

from typing import Any

import attrs

from valid_ref.adversary.actions import Action, Flag, Forge, Integers, Nothing, Set
from valid_ref.adversary.edits import Edit, Edits
from valid_ref.lattice import MERSENNE_61
from valid_ref.scenario import Scenario, parts
from valid_ref.schedule import Precision
from valid_ref.testing.conform.case import ConformCase

LOOSE = parts.ConfiguredThresholds(1e6, 1e12)
TWO = (
    parts.Check("t^1", parts.Polynomial(1), LOOSE),
    parts.Check("half", parts.Exponential(0.5, 10), LOOSE),
)
THREE = (*TWO, parts.Check("last", parts.Exponential(0.25, 4), LOOSE))
HEAVY = (parts.Check("heavy", parts.Exponential(1.0, 60), LOOSE),)
"""Estimates that need more than 64 bits."""
RING = parts.Edges(4, ((0, 1), (0, 2), (1, 3), (2, 3)))
"""0 and 3 do not see each other; what one says reaches the other over 1 and over 2."""
PATH = parts.Family("path:3")
"""What is known of 2 comes to 0 from 1 alone."""
PAIR = parts.Family("path:2")
TRIANGLE = parts.Family("complete:3")
ALL_FOUR = parts.Family("complete:4")
"""Of every agent there are three reports."""
GRADIENTS = (("-0.125", "0.21875"), ("0.28125", "-0.34375"), ("-0.8125", "1.09375"))
"""In units of 1/16: -2, 3.5, 4.5, -5.5, -13, 17.5; ties for AR-3, and with A = 4 one for AR-5."""
USUAL = ("0.5", "0.25")
"""The gradient in the rounds that a case is not about."""
HALVES = (("-2.0", "3.5"), ("4.5", "-5.5"), ("-13.0", "17.5"))
"""The same in units of 1."""
ALARM = Set(Flag(value=True))
EditRow = tuple[str, int | None, int | None, Action]
"""(phase, round, receiver, action); None stands for all rounds or receivers."""


def scenario_on(graph: parts.GraphPart = RING, **changes: Any) -> Scenario:
    """A small scenario with coarse numbers, uneven steps, a start that is not 0 and a key 0."""
    agents = graph.agents if isinstance(graph, parts.Edges) else int(graph.name.split(":")[1])
    four = ((1.5, -2.0), (-1.0, 0.5), (2.0, 1.0), (-0.5, -1.5))
    centres = [four[v % 4] for v in range(agents)]
    hessian = ((1.0, 0.0), (0.0, 2.0))
    scenario = Scenario(
        graph=graph,
        loss=parts.Quadratics(tuple(parts.QuadraticAgent(hessian, c) for c in centres)),
        rounds=3,
        schedule=parts.ExplicitSteps((3, 5, 7), (4, 6, 9)),
        precision=Precision(4, 4),
        start=(0.5, -1.25),
        keys=(5, 0, MERSENNE_61 - 1, 7, *range(100, 96 + agents))[:agents],
        bounds=parts.ConfiguredBounds(100.0, 20.0),
        checks=TWO,
        eps_success=1.0,
        delta=1.0,  # nobody asks for the outcome
        seed=0,
    )
    return attrs.evolve(scenario, **changes)


def edited(
    name: str,
    *edits: EditRow,
    sender: int = 1,
    agent: int = 0,
    graph: parts.GraphPart = RING,
    **changes: Any,
) -> ConformCase:
    """A case with one Byzantine agent, the sender of these edits."""
    made = [Edit(phase, number, sender, to, action) for phase, number, to, action in edits]
    return several(name, *made, agent=agent, graph=graph, **changes)


def several(
    name: str, *edits: Edit, agent: int = 0, graph: parts.GraphPart = RING, **changes: Any
) -> ConformCase:
    """A case with the Byzantine agents of these edits."""
    byzantine = tuple(sorted({edit.sender for edit in edits}))
    scenario = scenario_on(graph, byzantine=byzantine, attack=Edits(edits), **changes)
    return ConformCase(name, agent, scenario)


def forge(field: str, *numbers: int) -> Forge:
    """Replace a vector by these numbers."""
    return Forge(field, Integers(numbers))


def null_for(tag: str) -> Forge:
    """Replace an entry of a broadcast by null."""
    return Forge(tag, Nothing())


def lower_at(case: ConformCase, *lower: tuple[int, int]) -> ConformCase:
    """The case with these lower thresholds, a pair for each weighting."""
    return attrs.evolve(case, lower=lower)


_FRONT = ((0, 2), (0, 10), (2, 11), (10, 11), (1, 2), (3, 10), (1, 4))
_BACK = ((3, 5), (4, 6), (5, 7), (6, 8), (7, 9), (8, 9), (4, 5))
TWELVE = parts.Edges(12, (*_FRONT, *_BACK))
"""0 and 11 hear of each other from 2 and from 10; the others stand in two rows behind these."""

STEPS = parts.ExplicitSteps((1, 1, 1), (4, 6, 9))
"""Small enough for agents of many neighbours."""
