"""The front door: run a scenario, get everything about the run."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from valid_ref.alarms import Raised
from valid_ref.document import unstructure
from valid_ref.execution import Execution, execute
from valid_ref.guarantees.outcome import Judgement, judge
from valid_ref.lattice import from_lattice
from valid_ref.machine import DEEPEST, Message
from valid_ref.scenario.build import Prepared, prepare
from valid_ref.scenario.scenario import Scenario, scenario_as_json


@attrs.frozen
class Run:
    """A scenario, what it prepared, what happened, and what it amounts to."""

    scenario: Scenario
    prepared: Prepared
    execution: Execution
    judgement: Judgement

    @property
    def outcome(self) -> str:
        """One of "a", "b", "c" and "failed"."""
        return self.judgement.outcome.value

    def record(self) -> bytes:
        """Everything that was said and how everybody ended, as canonical bytes.

        Implements: VA-8.
        """
        lines = [
            {
                "phase": spoken.phase,
                "round": spoken.number,
                "said": {str(agent): _plain(said) for agent, said in spoken.said.items()},
                "deviations": {
                    f"{sender}>{receiver}": _plain(message)
                    for (sender, receiver), message in sorted(spoken.deviations.items())
                },
            }
            for spoken in self.execution.rounds
        ]
        text = [json.dumps(line, sort_keys=True) for line in [*lines, agents_as_json(self)]]
        return ("\n".join(text) + "\n").encode()

    def digest(self) -> str:
        """The SHA-256 of the record."""
        return hashlib.sha256(self.record()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Outcome, agents, costs and parameters, for machines."""
        return {
            "outcome": self.outcome,
            "judgement": unstructure(self.judgement) | {"eps_success": self.prepared.eps_success},
            "agents": agents_as_json(self),
            "costs": {
                phase: [unstructure(cost) for cost in costs]
                for phase, costs in self.execution.costs().items()
            },
            "rounds": len(self.execution.rounds),
            "parameters": scenario_as_json(self.scenario),
            "delta": self.prepared.delta,
            "notes": list(self.prepared.notes),
            "digest": self.digest(),
        }


def run(scenario: Scenario, watch: Callable[[int], None] | None = None) -> Run:
    """Run a scenario from the first gradient to the verdict and judge the outcome.

    Implements: VA-6, VA-8.
    """
    prepared = prepare(scenario)
    execution = execute(
        prepared.parameters,
        prepared.private,
        byzantine=prepared.byzantine,
        adversary=prepared.adversary,
        watch=watch,
    )
    judgement = judge(
        execution, prepared.problem, delta=prepared.delta, eps_success=prepared.eps_success
    )
    return Run(scenario, prepared, execution, judgement)


def agents_as_json(finished: Run) -> list[dict[str, Any]]:
    """How every agent ended: verdict, alarms, model."""
    execution = finished.execution
    precision = execution.parameters.lattice.precision
    rows = []
    for agent, state in sorted(execution.states.items()):
        model = execution.output(agent)
        rows.append({
            "agent": agent,
            "byzantine": agent in execution.byzantine,
            "valid": not state.memory.invalid,
            "alarms": [_alarm(raised) for raised in state.memory.alarms],
            "lattice_model": None if model is None else model.tolist(),
            "model": None if model is None else from_lattice(model, precision).tolist(),
        })  # fmt: skip
    return rows


def _alarm(raised: Raised) -> dict[str, Any]:
    return {
        "reason": raised.alarm.name,
        "clause": raised.alarm.clause,
        "phase": raised.phase,
        "round": raised.round,
        "sender": raised.sender,
        "about": _plain(raised.about),
    }


def _plain(message: Message, depth: int = 0) -> Any:  # noqa: PLR0911 - one return per kind of data
    """A message as JSON; what is not data is named by its type."""
    if message is None or isinstance(message, bool | int | str):
        return message
    if isinstance(message, float):
        return message if np.isfinite(message) else str(message)
    if isinstance(message, np.ndarray):
        return message.tolist() if message.dtype == np.int64 else f"<array of {message.dtype}>"
    if depth == DEEPEST:
        return "<nested too deeply>"
    if isinstance(message, tuple | list):
        return [_plain(item, depth + 1) for item in message]
    if isinstance(message, Mapping):
        pairs = message.items()
        entries = [[_plain(key, depth + 1), _plain(value, depth + 1)] for key, value in pairs]
        return sorted(entries, key=lambda entry: json.dumps(entry[0], sort_keys=True))
    kind = type(message)
    if attrs.has(kind):
        fields = attrs.fields(kind)
        return {field.name: _plain(getattr(message, field.name), depth + 1) for field in fields}
    return f"<{type(message).__name__}>"
