"""Run a scenario, and get everything about the run."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, SupportsIndex

import attrs

from valid_ref.alarms import Raised
from valid_ref.arguments import is_a, require_function, require_text, require_type
from valid_ref.document import unstructure
from valid_ref.execution import Execution, execute
from valid_ref.guarantees.admissible import Distance, distance_to_admissible
from valid_ref.guarantees.outcome import Judgement, judge
from valid_ref.history import LearningHistory, history_of, require_pandas
from valid_ref.lattice import FloatVector, from_lattice
from valid_ref.losses.own import if_known
from valid_ref.outputs import place_of, require_file, require_folder, require_recording, writing
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.scenario.build import Prepared, prepare
from valid_ref.scenario.rehearse import Rehearse, rehearse
from valid_ref.scenario.scenario import Scenario, described
from valid_ref.wire import alarms_as_json


@contextlib.contextmanager
def _writing(
    path: Path | str, require: Callable[[Path, str], None] = require_file
) -> Iterator[Path]:
    """The place where something is written; one that cannot be is refused."""
    place = place_of(path, "path")
    require_folder(place, "path")
    require(place, "path")
    with writing(place, "path"):
        yield place


@attrs.frozen(repr=False, eq=False)
class Run:
    """A scenario, what it prepared, what happened, and what it amounts to.

    `execution` has every word that was said, and `judgement` the evidence for the outcome. A run is
    equal to itself alone, and a copy of it is itself, since nothing in it changes; whether two say
    the same is a matter of their recordings (`valid-ref diff`).
    """

    scenario: Scenario = attrs.field(validator=is_a(Scenario, "a Scenario"))
    prepared: Prepared = attrs.field(validator=is_a(Prepared, "what prepare(scenario) gives"))
    execution: Execution = attrs.field(validator=is_a(Execution, "an Execution"))
    judgement: Judgement = attrs.field(validator=is_a(Judgement, "a Judgement"))

    def __repr__(self) -> str:
        graph, rounds = self.execution.parameters.graph, len(self.execution.rounds)
        return f"<Run: outcome {self.outcome}, {graph.agents} agents, {rounds} rounds>"

    def __copy__(self) -> "Run":
        """Itself."""
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> "Run":
        """Itself."""
        return self

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        """Refuse to be pickled: losses and attacks in it may be anybody's functions."""
        raise TypeError(
            "a Run is not pickled: keep its scenario (scenario_text(run.scenario)), from which it "
            "can be run again, or a recording (run.record(path))"
        )

    def _repr_html_(self) -> str:
        """A table of the agents, for notebooks."""
        from valid_ref.report.of_run import html_of_run

        return html_of_run(self)

    @property
    def outcome(self) -> str:
        """One of "a", "b", "c", "unknown" and "failed"."""
        return self.judgement.outcome.value

    @property
    def verdicts(self) -> dict[int, str]:
        """How every agent ended by its own account: "valid" or "invalid"."""
        return {
            agent: "invalid" if state.memory.invalid else "valid"
            for agent, state in sorted(self.execution.states.items())
        }

    @property
    def alarms(self) -> dict[int, tuple[Raised, ...]]:
        """The alarms of every agent, in the order in which they were raised."""
        return {v: state.memory.alarms for v, state in sorted(self.execution.states.items())}

    @property
    def models(self) -> dict[int, FloatVector]:
        """The final model of every agent that ended valid, as real numbers."""
        precision = self.execution.parameters.lattice.precision
        outputs = {agent: self.execution.output(agent) for agent in sorted(self.execution.states)}
        return {v: from_lattice(x, precision) for v, x in outputs.items() if x is not None}

    @property
    def distances(self) -> dict[int, float]:
        """How far the model of each valid honest agent is from where it should be.

        From the optimum; or where somebody is Byzantine from the nearest admissible model, of
        which for losses that are not quadratic an upper bound stands here. Agents without a model
        are left out, and so is everybody where this is not known (VA-11).
        """
        return {agent: found.value for agent, found in self.measured_distances().items()}

    def measured_distances(self) -> dict[int, Distance]:
        """The distances, and whether each is exact or an upper bound."""
        found, problem = {}, self.prepared.problem
        honest, delta = self.execution.honest, self.prepared.delta
        optimum, _unknown = if_known(problem.minimiser)
        for agent, model in self.models.items():
            if self.execution.byzantine and delta is not None and agent in honest:
                found[agent] = distance_to_admissible(problem, honest, delta, model)
            elif not self.execution.byzantine and optimum is not None:
                length = float(((model - optimum) ** 2).sum()) ** 0.5
                found[agent] = Distance(length, exact=True)
        return found

    @property
    def history(self) -> LearningHistory:
        """Models and gradients round by round, as arrays; `history.frame()` for pandas."""
        execution = self.execution
        return history_of(
            execution.rounds, execution.parameters, execution.honest, self.prepared.problem
        )

    def frame(self) -> Any:
        """A pandas frame with a row for every agent. Needs pandas."""
        pandas, found = require_pandas(), self.distances
        rows = [
            {
                "agent": agent,
                "byzantine": agent in self.execution.byzantine,
                "verdict": verdict,
                "alarms": len(self.alarms[agent]),
                "first_alarm": next((one.alarm.name for one in self.alarms[agent]), None),
                "distance": found.get(agent),
            }
            for agent, verdict in self.verdicts.items()
        ]
        return pandas.DataFrame(rows).set_index("agent")

    def plot(self, path: Path | str | None = None) -> Any:
        """Distance, consensus and statistics over the rounds, as a figure of matplotlib.

        Written to a file (png, svg, pdf) if a path is given. Needs matplotlib.
        """
        from valid_ref.report.of_run import plot_run

        if path is None:
            return plot_run(self, None)
        with _writing(path) as place:
            return plot_run(self, place)

    def report(self, path: Path | str, *, label: str = "a scenario") -> Path:
        """Write a page of the run: one HTML file that needs no network."""
        from valid_ref.report.of_run import page_of_run

        require_text(label, "label")
        with _writing(path) as place:
            place.write_text(page_of_run(self, label), encoding="utf-8")
        return place

    def record(self, path: Path | str, *, byzantine_known: bool = True) -> Path:
        """Write a recording, which `valid_ref.oracle.check` and `valid-ref check` judge."""
        from valid_ref.oracle import record_run

        require_type(byzantine_known, bool, "byzantine_known", "True or False")
        with _writing(path, require_recording) as place:
            record_run(self, place, byzantine_known=byzantine_known)
        return place

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

    `watch` is told the number of every finished round. `rehearsals` runs the honest rehearsals
    that thresholds are calibrated by. `scenario` of the result has the coins that were drawn, if
    any were: to run it again gives the same run.

    Implements: VA-6, VA-8.
    """
    if watch is not None:
        require_function(watch, "watch")
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
    prepared.problem.require_constants(visited(execution), "visited")
    judgement = judge(
        execution, prepared.problem, delta=prepared.delta, eps_success=prepared.eps_success
    )
    return Run(prepared.scenario, prepared, execution, judgement)


def visited(execution: Execution) -> dict[int, list[FloatVector]]:
    """Models of every honest agent: of the last round, and of the rounds 1, 2, 4, 8, ... before."""
    learning = [spoken for spoken in execution.rounds if spoken.phase == LEARNING]
    count, precision = len(learning), execution.parameters.lattice.precision
    chosen = [count, *(1 << power for power in range(count.bit_length()) if 1 << power < count)]
    found: dict[int, list[FloatVector]] = {}
    for agent in execution.honest:
        said = [learning[number - 1].said.get(agent) for number in chosen]
        models = [one.model for one in said if isinstance(one, LearningMessage)]
        if models:
            found[agent] = [from_lattice(model, precision) for model in models]
    return found


def agents_as_json(finished: Run) -> list[dict[str, Any]]:
    """How every agent ended: verdict, alarms, model."""
    execution, models = finished.execution, finished.models
    rows = []
    for agent, verdict in finished.verdicts.items():
        output = execution.output(agent)
        rows.append(
            {
                "agent": agent,
                "byzantine": agent in execution.byzantine,
                "valid": verdict == "valid",
                "alarms": alarms_as_json(finished.alarms[agent]),
                "lattice_model": None if output is None else output.tolist(),
                "model": models[agent].tolist() if agent in models else None,
            }
        )
    return rows
