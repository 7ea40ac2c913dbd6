"""A finished run in words and tables."""

from rich.console import Console
from rich.table import Table

from valid_ref.alarms import Raised
from valid_ref.guarantees.admissible import Distance
from valid_ref.guarantees.outcome import Judgement
from valid_ref.printable import clause_words
from valid_ref.protocols.weakened import left_out
from valid_ref.runs import Run

MEANING = {
    "a": "nobody is Byzantine; everybody is valid and near the optimum",
    "b": "the valid honest agents are near one admissible model",
    "c": "every honest agent has an alarm",
    "unknown": "whether the valid honest agents are near an admissible model is not decided",
    "failed": "none of the outcomes a, b, c",
}


def summary(finished: Run, console: Console) -> None:
    """Agents, outcome, costs, notes."""
    execution, parameters = finished.execution, finished.execution.parameters
    graph, lattice = parameters.graph, parameters.lattice
    console.print(
        f"Valid: {graph.agents} agents, {graph.edge_count} edges, d = {lattice.dimension}, "
        f"T = {lattice.schedule.rounds}, p = {parameters.field.prime}, "
        f"{len(execution.rounds)} rounds"
    )
    if missing := left_out(parameters):
        console.print(f"left out: {', '.join(missing)}", soft_wrap=True)
    console.print(_agents(finished))
    alarms = [one for state in execution.states.values() for one in state.memory.alarms]
    if alarms:
        clause = alarms[0].alarm.clause
        console.print(f"[{clause}]: {clause_words(clause)}", markup=False)
    judgement = finished.judgement
    console.print(f"outcome {finished.outcome}: {MEANING[finished.outcome]}")
    if judgement.squared_distance is not None:
        what = "the admissible set" if execution.byzantine else "the optimum"
        console.print(
            f"  mean squared distance to {what} {judgement.squared_distance:.3e} "
            f"(eps_success {finished.prepared.eps_success:.3e}), "
            f"consensus error {judgement.consensus_error:.3e}"
        )
    if judgement.strong is not None and judgement.relaxed is not None:
        console.print(
            f"  admissible for all honest agents: {judgement.strong.value}; "
            f"in the relaxed set: {judgement.relaxed.value}"
        )
    for line in certified_words(judgement, finished.prepared.delta):
        console.print(f"  {line}")
    if judgement.reason:
        console.print(f"  {judgement.reason}")
    console.print(_costs(finished))
    for note in finished.prepared.notes:
        console.print(f"note: {note}")
    if finished.scenario.coins is not None:
        console.print(repeats(finished.scenario.coins), soft_wrap=True)


def repeats(coins: str) -> str:
    """How to get the same run again."""
    return f"the same options with --coins {coins} repeat this run"


def certified_words(judgement: Judgement, delta: float | None) -> tuple[str, ...]:
    """What the honest records certify, in words.

    Implements: VA-5.
    """
    found = judgement.radius
    if found is None:
        return ()
    said = (
        f"certified except with probability {found.probability:g}: the mean of the valid models is "
        f"admissible at level {found.level:.3g} (delta {delta:.3g})"
    )
    if found.radius is None:
        return (said,)
    return (f"{said}, and within {found.radius:.3g} of a model admissible at level delta",)


def _agents(finished: Run) -> Table:
    execution = finished.execution
    found = finished.measured_distances()
    wanted = "to A(H)" if execution.byzantine else "to optimum"
    table = Table("agent", "role", "verdict", "alarms", "first alarm", wanted, box=None)
    for agent, state in sorted(execution.states.items()):
        byzantine, alarms = agent in execution.byzantine, state.memory.alarms
        table.add_row(
            str(agent),
            "Byzantine" if byzantine else "honest",
            "-" if byzantine else "invalid" if state.memory.invalid else "valid",
            str(len(alarms)),
            _short(alarms[0]) if alarms else "",
            "" if byzantine else _distance(found.get(agent)),
        )
    return table


def _short(raised: Raised) -> str:
    """An alarm that fits in a column: reason, from or about whom, clause."""
    whom = f" {raised.about}" if raised.about is not None else ""
    whom = f" from {raised.sender}" if raised.sender is not None else whom
    return f"{raised.alarm.name}{whom} [{raised.alarm.clause}]"


def _distance(found: Distance | None) -> str:
    if found is None:
        return ""
    return f"{'' if found.exact else '<= '}{found.value:.3e}"


def _costs(finished: Run) -> Table:
    table = Table("phase", "rounds", "messages/agent", "scalars/agent", "in all", box=None)
    for phase, costs in finished.execution.costs().items():
        n = len(costs)
        scalars = sum(cost.scalars for cost in costs)
        table.add_row(
            phase,
            str(costs[0].rounds),
            f"{sum(cost.messages for cost in costs) / n:.1f}",
            f"{scalars / n:.1f}",
            str(scalars),
        )
    return table
