"""What generated scenarios reach: every outcome and every alarm, each with a scenario.

A property that holds because nothing ever happens is worth little. This is the other half: the
adversaries of this package can bring about everything that the protocol can answer.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
from hypothesis import HealthCheck, Phase, given, seed, settings

from valid_ref.adversary.attack import Attack
from valid_ref.adversary.edits import Edits
from valid_ref.alarms import Alarm
from valid_ref.errors import ValidRefError
from valid_ref.guarantees.calibration import Tails
from valid_ref.guarantees.outcome import Outcome
from valid_ref.named_parts import name_of
from valid_ref.runs import Run, run
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.build import build_graph
from valid_ref.testing import problems
from valid_ref.testing.attacks import named_attacks
from valid_ref.testing.strategies import GENEROUS, LEAN, PAPERS, adversarial_scenarios, scenarios

Goal = Outcome | Alarm

GOALS: tuple[Goal, ...] = (Outcome.A, Outcome.B, Outcome.C, *Alarm)
"""Everything that must be reached: outcomes of the whole run, alarms of honest agents."""

NETWORKS = ((parts.Family("complete:3"), (2,)), (parts.Family("path:3"), (2,)))
"""Where the named attacks are tried: everybody sees everybody, and an agent out of sight."""


@attrs.frozen
class ReachedGoal:
    """The first scenario of a sweep that reached a goal, and how many were run until then."""

    goal: Goal
    scenario: Scenario | None = None
    runs: int = 0

    @property
    def name(self) -> str:
        """The goal in words."""
        return f"outcome {self.goal.value}" if isinstance(self.goal, Outcome) else self.goal.name

    def __str__(self) -> str:
        return f"{self.name:24} {'never' if self.scenario is None else describe(self.scenario)}"


def coverage(
    candidates: Iterable[Scenario], goals: tuple[Goal, ...] = GOALS
) -> tuple[ReachedGoal, ...]:
    """For every goal the first of the scenarios that reaches it; stops when all are reached."""
    found: dict[Goal, ReachedGoal] = {}
    for number, scenario in enumerate(candidates, start=1):
        for goal in reached(run(scenario)) - found.keys():
            found[goal] = ReachedGoal(goal, scenario, number)
        if found.keys() >= set(goals):
            break
    return tuple(found.get(goal, ReachedGoal(goal)) for goal in goals)


def missing(table: Iterable[ReachedGoal]) -> tuple[str, ...]:
    """The goals that a sweep did not reach."""
    return tuple(row.name for row in table if row.scenario is None)


def reached(finished: Run) -> set[Goal]:
    """The outcome of a run and the alarms of its honest agents."""
    execution = finished.execution
    alarms = {r.alarm for v in execution.honest for r in execution.states[v].memory.alarms}
    return {finished.judgement.outcome, *alarms}


def describe(scenario: Scenario) -> str:
    """A scenario in a line: its size, its Byzantine agents, its attack."""
    graph, attack = scenario.graph, scenario.attack
    size = f"{build_graph(scenario).agents} agents"
    if isinstance(graph, parts.Family):
        size = graph.name
    if isinstance(attack, Edits):
        story = "; ".join(str(edit) for edit in attack.edits)
    else:
        story = "honest" if attack is None else _named(attack)
    lean = ", lean validation" if isinstance(scenario.validation, parts.Lean) else ""
    return f"{size}, T = {scenario.rounds}, B = {list(scenario.byzantine)}{lean}: {story}"


def _named(attack: Attack) -> str:
    """The name of an attack and the options that are not the default."""
    kind: Any = type(attack)
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    options = {field.name: getattr(attack, field.name) for field in fields}
    changed = [f"{f.name}={options[f.name]}" for f in fields if options[f.name] != f.default]
    return " ".join([name_of(attack), *changed])


def sweep(generated: int = 300, batches: int = 20) -> Iterator[Scenario]:
    """Honest scenarios, the named attacks on fixed networks, then generated adversarial ones.

    These come in batches, of each the simplest first; who has seen enough stops asking. The same
    on every call with one version of Hypothesis.
    """
    yield from generate(honest=True, count=5)
    yield from named_scenarios()
    for batch in range(batches):
        yield from sorted(generate(honest=False, count=generated, batch=batch), key=_size)


def _size(scenario: Scenario) -> tuple[int, int]:
    attack, graph = scenario.attack, scenario.graph
    edits = len(attack.edits) if isinstance(attack, Edits) else 0
    return edits, graph.agents if isinstance(graph, parts.Edges) else 0


def named_scenarios() -> Iterator[Scenario]:
    """Every named attack wherever it fits, with thresholds from above and then with all.

    All with the paper's validation; on the first network also with lean validation.
    """
    both = attrs.evolve(problems.CALIBRATED, tails=Tails.BOTH)
    paper = itertools.product([parts.PaperValidation()], [problems.CALIBRATED, both], NETWORKS)
    lean = itertools.product([parts.Lean(1)], [problems.CALIBRATED], NETWORKS[:1])
    for validation, thresholds, (graph, byzantine) in (*paper, *lean):
        check = parts.Check("t^1", parts.Polynomial(), thresholds)
        peaceful = Scenario(
            graph=graph,
            loss=parts.RandomRidge(1, 1),
            rounds=2,
            checks=(check,),
            eps_success=GENEROUS,
            byzantine=byzantine,
            seed=0,
            validation=validation,
        )
        for attack in named_attacks(on_lean=isinstance(validation, parts.Lean)):
            scenario = attrs.evolve(peaceful, attack=attack)
            if _fits(scenario):
                yield scenario


def _fits(scenario: Scenario) -> bool:
    try:
        prepare(scenario)
    except ValidRefError:
        return False
    return True


def generate(*, honest: bool, count: int, batch: int = 0) -> list[Scenario]:
    """So many scenarios out of the strategies, always the same ones for a batch.

    Every second batch is of lean validation.
    """
    found: list[Scenario] = []
    strategy = (
        scenarios(max_agents=3)
        if honest
        else adversarial_scenarios(
            max_agents=3, max_rounds=3, max_dimension=1, validations=LEAN if batch % 2 else PAPERS
        )
    )

    @seed(batch)
    @settings(
        max_examples=count,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(scenario: Scenario) -> None:
        found.append(scenario)

    collect()
    return found
