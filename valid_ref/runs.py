"""Run a scenario, and get everything about the run."""

from collections.abc import Callable
from typing import Any

import attrs

from valid_ref.document import unstructure
from valid_ref.execution import Execution, execute
from valid_ref.guarantees.admissible import Distance, distance_to_admissible
from valid_ref.guarantees.outcome import Judgement, judge
from valid_ref.lattice import FloatVector, from_lattice
from valid_ref.losses.own import if_known
from valid_ref.scenario.build import Prepared, prepare
from valid_ref.scenario.rehearse import Rehearse, rehearse
from valid_ref.scenario.scenario import Scenario, described
from valid_ref.wire import alarms_as_json


@attrs.frozen
class Run:
    """A scenario, what it prepared, what happened, and what it amounts to."""

    scenario: Scenario
    prepared: Prepared
    execution: Execution
    judgement: Judgement

    @property
    def outcome(self) -> str:
        """One of "a", "b", "c", "unknown" and "failed"."""
        return self.judgement.outcome.value

    @property
    def models(self) -> dict[int, FloatVector]:
        """The final model of every agent that ended valid, as real numbers."""
        precision = self.execution.parameters.lattice.precision
        outputs = {agent: self.execution.output(agent) for agent in sorted(self.execution.states)}
        return {v: from_lattice(x, precision) for v, x in outputs.items() if x is not None}

    @property
    def distances(self) -> dict[int, Distance]:
        """How far the model of each valid honest agent is from where it should be.

        From the optimum, or where somebody is Byzantine from the nearest admissible model; a
        distance that is not exact is an upper bound. Agents without a model, and distances that
        are not known (VA-11), are left out.
        """
        found, problem = {}, self.prepared.problem
        optimum, _unknown = if_known(problem.minimiser)
        honest, delta = self.execution.honest, self.prepared.delta
        for agent, model in self.models.items():
            if self.execution.byzantine and delta is not None and agent in honest:
                found[agent] = distance_to_admissible(problem, honest, delta, model)
            elif not self.execution.byzantine and optimum is not None:
                length = float(((model - optimum) ** 2).sum()) ** 0.5
                found[agent] = Distance(length, exact=True)
        return found

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
            "parameters": described(self.scenario),
            "delta": self.prepared.delta,
            "notes": list(self.prepared.notes),
        }


def run(
    scenario: Scenario,
    watch: Callable[[int], None] | None = None,
    *,
    rehearsals: Rehearse = rehearse,
) -> Run:
    """Run a scenario from the first gradient to the verdict and judge the outcome.

    `rehearsals` runs the honest rehearsals that thresholds are calibrated by. `scenario` of the
    result has the coins that were drawn, if any were: to run it again gives the same run.

    Implements: VA-6, VA-8.
    """
    return run_prepared(prepare(scenario, rehearsals), watch)


def run_prepared(prepared: Prepared, watch: Callable[[int], None] | None = None) -> Run:
    """Run what was prepared, and judge the outcome.

    Implements: VA-6, VA-8.
    """
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
    return Run(prepared.scenario, prepared, execution, judgement)


def agents_as_json(finished: Run) -> list[dict[str, Any]]:
    """How every agent ended: verdict, alarms, model."""
    execution = finished.execution
    precision = execution.parameters.lattice.precision
    rows = []
    for agent, state in sorted(execution.states.items()):
        model = execution.output(agent)
        rows.append(
            {
                "agent": agent,
                "byzantine": agent in execution.byzantine,
                "valid": not state.memory.invalid,
                "alarms": alarms_as_json(state.memory.alarms),
                "lattice_model": None if model is None else model.tolist(),
                "model": None if model is None else from_lattice(model, precision).tolist(),
            }
        )
    return rows
