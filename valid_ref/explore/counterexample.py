"""The smallest counterexample of an exploration: fewest agents, then fewest Byzantine words."""

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any

import attrs

from valid_ref.alarms import Alarm, Raised
from valid_ref.explore.cases import Case
from valid_ref.explore.plain import Joint, PlainBroadcast, cheapest_lies, cheapest_words
from valid_ref.explore.results import Exploration
from valid_ref.explore.script import BROADCAST_GUARANTEES, Script, outcome_of, replay_script
from valid_ref.explore.settings import Settings
from valid_ref.explore.variants import BROADCAST_PHASE, ExploreError
from valid_ref.protocols.broadcast import BroadcastState

CANDIDATES = 60
"""How many of the smallest violating cases are searched for the one with the fewest words."""


def smallest_counterexample(exploration: Exploration, name: str) -> Script | None:
    """A script that violates a property, judged by the guarantee in a replay; None if none does.

    Of the violating cases with the fewest agents, the script with the fewest words, then that
    on the graph with the fewest edges; a word is a Byzantine message that is not null.
    """
    cases = exploration.violating.get(name, ())
    scripts = [
        script
        for case in islice(cases, CANDIDATES)
        for script in islice(_scripts(exploration.settings, case, name), 1)
    ]
    if cases and not scripts:
        raise ExploreError(f"{name} is violated, but no script shows it", clause=name)
    return min(scripts, key=lambda s: (len(s.words), s.graph.edge_count), default=None)


def _scripts(settings: Settings, case: Case, name: str) -> Iterator[Script]:
    """Scripts of one case that break the property, the fewest words first."""
    if name in BROADCAST_GUARANTEES:
        candidates = _broadcast_scripts(settings, case, name)
    elif name == "VS1":
        candidates = _joint_scripts(settings, case, name)
    else:
        candidates = _agreement_scripts(settings, case, name)
    for script in sorted(candidates, key=lambda script: len(script.words)):
        if not replay_script(script).verdict:
            yield script


def _broadcast_scripts(settings: Settings, case: Case, name: str) -> Iterator[Script]:
    """The final states that violate the property, each by its cheapest script."""
    plain = PlainBroadcast(case, settings.broadcast, len(settings.values))
    for joint, step in cheapest_words(plain, settings.values).items():
        script = _script(settings, case, name, broadcast=settings.broadcast, words=step.words)
        states = states_of(script, joint, settings.values)
        if not BROADCAST_GUARANTEES[name](outcome_of(script, states)):
            yield script


def _joint_scripts(settings: Settings, case: Case, name: str) -> Iterator[Script]:
    """Every end of the broadcast, followed by every end of the agreement that is not unanimous."""
    plain = PlainBroadcast(case, settings.broadcast, len(settings.values))
    for joint, step in cheapest_words(plain, settings.values).items():
        alarmed = frozenset(a for a, s in zip(case.honest, joint, strict=True) if s[2])
        for ends, lies in cheapest_lies(case, settings.agreement, alarmed).items():
            if len(ends) < len(case.honest):
                yield _script(
                    settings, case, name, broadcast=settings.broadcast,
                    agreement=settings.agreement, words=step.words + lies,
                )  # fmt: skip


def _agreement_scripts(settings: Settings, case: Case, name: str) -> Iterator[Script]:
    """Every start and every end of the agreement; small starts first."""
    sizes = range(1) if name == "S4" else range(1, len(case.honest) + 1)
    for alarmed in (frozenset(some) for k in sizes for some in combinations(case.honest, k)):
        for lies in cheapest_lies(case, settings.agreement, alarmed).values():
            script = Script(name, case.graph, case.byzantine, lies, agreement=settings.agreement)
            yield attrs.evolve(script, alarmed=alarmed)


def _script(settings: Settings, case: Case, name: str, **fields: Any) -> Script:
    script = Script(
        name, case.graph, case.byzantine, (), source=case.named_source, value=settings.values[0]
    )
    return attrs.evolve(script, **fields)


def states_of(script: Script, joint: Joint, values: tuple[str, ...]) -> dict[int, BroadcastState]:
    """A joint honest state in the form that the guarantees judge; which alarm does not matter."""
    objection = Raised(Alarm.DIFFERENT_VALUE, BROADCAST_PHASE, 0, None, script.tag)
    honest = [v for v in range(script.graph.agents) if v not in script.byzantine]
    return {
        agent: BroadcastState(
            agent, {script.tag: values[held - 1]} if held else {}, {}, (objection,) * alarmed
        )
        for agent, (held, _, alarmed) in zip(honest, joint, strict=True)
    }
