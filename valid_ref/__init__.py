"""valid-ref: the reference implementation of VALID, validated decentralised learning.

    from valid_ref import Scenario, run
    finished = run(Scenario(rounds=100))
    finished.outcome, finished.execution.states[0].memory.alarms

Everything is loaded when it is first used, so that importing the package stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from valid_ref._version import __version__

if TYPE_CHECKING:
    from valid_ref.alarms import Alarm
    from valid_ref.execution import Execution, execute
    from valid_ref.graph import AgentGraph
    from valid_ref.reading import Reading
    from valid_ref.runs import Run, run
    from valid_ref.scenario import Scenario, load_scenario

__all__ = [
    "AgentGraph",
    "Alarm",
    "Execution",
    "Reading",
    "Run",
    "Scenario",
    "__version__",
    "execute",
    "load_scenario",
    "run",
]

_HOMES = {
    "AgentGraph": "graph",
    "Alarm": "alarms",
    "Execution": "execution",
    "Reading": "reading",
    "Run": "runs",
    "Scenario": "scenario",
    "execute": "execution",
    "load_scenario": "scenario",
    "run": "runs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'valid_ref' has no attribute {name!r}")
    return getattr(import_module(f"valid_ref.{_HOMES[name]}"), name)
