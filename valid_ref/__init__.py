"""valid-ref: the reference implementation of VALID, validated decentralised learning.

    from valid_ref import Scenario, run
    finished = run(Scenario(graph="complete:5", rounds=100, byzantine=4, attack="equivocation"))
    finished.outcome, finished.models, finished.alarms, finished.history
    finished.plot("run.svg"), finished.report("run.html"), finished.record("run.zip")

What to bring of one's own: a loss (`OwnLoss`), an attack (`Attack`), a graph (`AgentGraph`). The
packages beneath that are meant for use from outside are in `PACKAGES`.

Everything is loaded when it is first used, so that importing the package stays fast.
"""

from __future__ import annotations

from valid_ref._version import __version__

TYPE_CHECKING = False  # as in `typing`, which takes a while to load: Ctrl-C may come meanwhile
if TYPE_CHECKING:
    from typing import Any

    from valid_ref.adversary.attack import Attack, Deviation, Setting
    from valid_ref.alarms import Alarm
    from valid_ref.errors import ValidRefError
    from valid_ref.execution import Execution, execute
    from valid_ref.graph import AgentGraph
    from valid_ref.guarantees.outcome import Judgement, Outcome
    from valid_ref.history import LearningHistory
    from valid_ref.losses import NoisyOwnLoss, OwnLoss
    from valid_ref.reading import Reading
    from valid_ref.runs import Run, run
    from valid_ref.scenario import Scenario, load_scenario, prepare, scenario_text
    from valid_ref.scenario.parts import OwnGraph

__all__ = [
    "PACKAGES",
    "AgentGraph",
    "Alarm",
    "Attack",
    "Deviation",
    "Execution",
    "Judgement",
    "LearningHistory",
    "NoisyOwnLoss",
    "Outcome",
    "OwnGraph",
    "OwnLoss",
    "Reading",
    "Run",
    "Scenario",
    "Setting",
    "ValidRefError",
    "__version__",
    "execute",
    "load_scenario",
    "prepare",
    "run",
    "scenario_text",
]

PACKAGES = (
    "valid_ref.adversary",
    "valid_ref.explore",
    "valid_ref.graph_families",
    "valid_ref.guarantees",
    "valid_ref.losses",
    "valid_ref.machine",
    "valid_ref.oracle",
    "valid_ref.scenario",
    "valid_ref.scenario.parts",
    "valid_ref.testing.game",
    "valid_ref.testing.laws",
    "valid_ref.testing.strategies",
)
"""The packages and modules for use from outside: what is in their `__all__` is documented."""

_HOMES = {
    "AgentGraph": "graph",
    "Alarm": "alarms",
    "Attack": "adversary.attack",
    "Deviation": "adversary.attack",
    "Execution": "execution",
    "LearningHistory": "history",
    "Judgement": "guarantees.outcome",
    "NoisyOwnLoss": "losses",
    "Outcome": "guarantees.outcome",
    "OwnGraph": "scenario.parts",
    "OwnLoss": "losses",
    "Reading": "reading",
    "Run": "runs",
    "Scenario": "scenario",
    "Setting": "adversary.attack",
    "ValidRefError": "errors",
    "execute": "execution",
    "load_scenario": "scenario",
    "prepare": "scenario",
    "run": "runs",
    "scenario_text": "scenario",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'valid_ref' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"valid_ref.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
