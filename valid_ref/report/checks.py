"""The checks of LocalValidate as matrices: agents by key owners, agents by reporters."""

import string
from collections import defaultdict
from collections.abc import Mapping

from valid_ref.alarms import Alarm
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.valid import HASHES
from valid_ref.report.view import CheckCell, ChecksView, ReportCell
from valid_ref.report.watched import Watched

LETTERS = {
    Alarm.INCONSISTENT_HASHES.name: "H",
    Alarm.BROKEN_RELATION.name: "R",
    Alarm.SELF_MISMATCH.name: "S",
}
"""Reports that differ, a relation that is broken, a report that is not what was sent."""


def checks_of(watched: Watched, most_agents: int) -> tuple[ChecksView | None, tuple[str, ...]]:
    """The matrices, and what was left out of them; None where no hashes were exchanged."""
    spoken = [round_ for round_ in watched.rounds if round_.phase == HASHES]
    if watched.parameters is None or not spoken:
        return None, ()
    n = watched.graph.agents
    failures = _failures(watched)
    agents = tuple(range(n))
    omitted: tuple[str, ...] = ()
    if n > most_agents:
        suspects = {cell.agent for cell in failures}
        agents = tuple(sorted(suspects | set(range(most_agents - len(suspects)))))[:most_agents]
        omitted = (f"the matrix of checks shows {len(agents)} of {n} agents",)
    own_only = watched.parameters.checked_keys is CheckedKeys.OWN
    return ChecksView(
        agents=agents,
        owners=tuple(range(n)) if n <= most_agents else agents,
        checkers=1 if own_only else len(watched.honest),
        failures=tuple(cell for cell in failures if cell.agent in agents),
        reports=tuple(cell for cell in _reports(watched, spoken[0]) if cell.agent in agents),
    ), omitted


def _failures(watched: Watched) -> list[CheckCell]:
    """Which checks failed at how many honest agents, from their alarms."""
    failed: dict[tuple[int, int], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for checker in watched.honest:
        for alarm in watched.ends[checker].alarms:
            pair = (alarm.about or "").split("/")
            if alarm.reason in LETTERS and len(pair) == 2 and all(p.isdigit() for p in pair):
                key = (int(pair[0]), int(pair[1]))
                failed[key][LETTERS[alarm.reason]].add(checker)
    return [
        CheckCell(agent, owner, tuple(sorted(kinds)), len(set[int]().union(*kinds.values())))
        for (agent, owner), kinds in sorted(failed.items())
    ]


def _reports(watched: Watched, first: object) -> list[ReportCell]:
    """The reports as their sources send them in the first round; equal ones share a letter."""
    graph, cells = watched.graph, []
    on_edge = getattr(first, "on_edge", None)
    for agent in range(graph.agents):
        letters: dict[object, str] = {}
        for reporter in graph.neighbours(agent):
            said = []
            for receiver in graph.neighbours(reporter):
                message = on_edge(reporter, receiver) if on_edge is not None else None
                value = message.get((reporter, agent)) if isinstance(message, Mapping) else None
                key = value if isinstance(value, tuple) else None
                if key is None:
                    said.append("-")
                else:
                    said.append(letters.setdefault(key, _letter(len(letters))))
            cells.append(ReportCell(agent, reporter, "".join(dict.fromkeys(said))))
    return cells


def _letter(index: int) -> str:
    return string.ascii_uppercase[min(index, 25)]
