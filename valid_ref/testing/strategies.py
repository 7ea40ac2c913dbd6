"""The public strategies, in one place.

All are made to shrink: few agents, one edit, small numbers, simplest choices first.
"""

from valid_ref.testing.attacks import attacks, fitting_attacks, named_attacks
from valid_ref.testing.edits import edit_lists, edits, excursions, garbage, last_pushes
from valid_ref.testing.graphs import byzantine_sets, graphs, networks
from valid_ref.testing.learning import (
    checks,
    explicit_steps,
    losses,
    precisions,
    quadratics,
    random_losses,
    schedules,
)
from valid_ref.testing.scenarios import adversarial_scenarios, scenarios

__all__ = [
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
