"""From something watched to the view of it."""

from collections.abc import Iterable, Sequence

import attrs

from valid_ref._version import __version__
from valid_ref.execution import Execution
from valid_ref.markdown import html_of
from valid_ref.report.causes import Causes, Deviation, deviations_of, with_divergences
from valid_ref.report.changes import SAME_RUN, both_promises, changes_between, same_run
from valid_ref.report.curves import series_of
from valid_ref.report.layout import kept_rounds, positions
from valid_ref.report.rounds import (
    MessageTable,
    alarms_of,
    checks_of,
    deviation_views,
    phases_of,
    placed_alarms,
    rounds_of,
)
from valid_ref.report.view import AgentView, ClauseView, CostView, PageView, RunView, StoryView
from valid_ref.report.watched import (
    ENTRIES,
    Watched,
    outcome,
    outcome_of_story,
    watch_played,
    watch_run,
)
from valid_ref.report.words import STORIES
from valid_ref.runs import Run
from valid_ref.trace import Erratum, Specification
from valid_ref.trace.spec_text import erratum_parts
from valid_ref.witness.story import Played, Story

MOST_CELLS = 8000
"""Rounds times agents whose messages a page holds."""
MOST_ROUNDS = 600
MOST_POINTS = 1000
"""Points of a curve."""
MOST_CHECKED = 40
"""Rows of the matrix of checks."""


def view_of(
    title: str, subtitle: str, watched: Sequence[Watched], specification: Specification
) -> PageView:
    """A page of one run, or of several under tabs."""
    runs = tuple(run_view(one) for one in watched)
    return PageView(
        title=title,
        subtitle=subtitle,
        layout="one" if len(runs) == 1 else "tabs",
        runs=runs,
        clauses=clause_views(
            specification, _clauses(runs).union(*(one.clauses for one in watched))
        ),
        version=__version__,
    )


def erratum_view(
    erratum: Erratum, printed: Story, repaired: Story, specification: Specification
) -> PageView:
    """A page of an erratum: what was printed, what was put in its place, and what that changes.

    Two runs are shown beside each other only if they differ; a run that the repair leaves as it
    is, because it changes the promise alone, is shown once.
    """
    words, parts = STORIES[erratum.identifier], erratum_parts(erratum.text)
    runs = tuple(
        run_view(_of_story(told, told.shown, label))
        for told, label in ((printed, "As printed"), (repaired, "Repaired"))
        if told.shown is not None
    )
    story = StoryView(
        erratum=erratum.identifier,
        title=erratum.title,
        severity=erratum.severity,
        setting=words.setting,
        wrong=words.wrong,
        repair=words.repair,
        printed=printed.lines,
        repaired=repaired.lines,
        printed_wrong=printed.wrong,
        repaired_wrong=repaired.wrong,
        changes=changes_between(printed, repaired, runs, words.rule),
        printed_html=html_of(parts.get("Printed", "")),
        because_html=html_of(parts.get("Wrong because", "")),
        repair_html=html_of(parts.get("Repair", "")),
    )
    if len(runs) == 2 and same_run(*runs):
        runs = (attrs.evolve(runs[0], label=SAME_RUN, outcome=both_promises(printed, repaired)),)
    wanted = (*_clauses(runs), *erratum.clauses)
    return PageView(
        title=f"{erratum.identifier}: {erratum.title}",
        subtitle="An erratum of the paper, and its repair",
        layout="beside" if len(runs) == 2 else "one",
        runs=runs,
        clauses=clause_views(specification, wanted),
        story=story,
        version=__version__,
    )


def _of_story(told: Story, shown: Run | Played, label: str) -> Watched:
    if isinstance(shown, Played):
        return watch_played(shown, label, outcome("wrong" if told.wrong else "right"))
    watched = watch_run(shown, label)
    return attrs.evolve(watched, outcome=outcome_of_story(shown, wrong=told.wrong))


def run_view(watched: Watched) -> RunView:
    """Everything that a page shows of one run; what it leaves out is said in `omitted`."""
    n, total = watched.graph.agents, len(watched.rounds)
    phases = phases_of(watched.rounds)
    deviations = _deviations(watched)
    causes = Causes(watched.graph, watched.rounds, deviations, placed_alarms(watched))
    alarms = alarms_of(watched, causes)
    edges_of_phases = {i for p in phases for i in (p.first, p.first + p.rounds - 1)}
    important = edges_of_phases | {alarm.index for alarm in alarms}
    important |= {index for one in deviations for index in (one.first, one.last)}
    important |= {alarm.cause.index for alarm in alarms if alarm.cause is not None}
    important |= {one.index for one in watched.divergences}
    kept = kept_rounds(total, max(20, min(MOST_ROUNDS, MOST_CELLS // n)), important)
    parameters = watched.parameters
    table = MessageTable(None if parameters is None else parameters.lattice.precision)
    rounds = rounds_of(watched, kept, table)
    series = series_of(watched, MOST_POINTS)
    checks, omitted = checks_of(watched, MOST_CHECKED, causes)
    if len(kept) < total:
        omitted = (f"the slider stops at {len(kept)} of {total} rounds", *omitted)
    if series is not None and parameters is not None:
        T = sum(phase.rounds for phase in phases if phase.name == "LearnModel")
        if len(series.rounds) < T:
            omitted = (*omitted, f"the curves have {len(series.rounds)} points of {T} rounds")
        d = parameters.lattice.dimension
        if d > ENTRIES:
            omitted = (*omitted, f"of vectors the first {ENTRIES} of {d} entries are shown")
    return RunView(
        label=watched.label,
        facts=watched.facts,
        agents=_agents(watched),
        edges=watched.graph.edges,
        phases=phases,
        messages=tuple(table.views),
        rounds=rounds,
        total_rounds=total,
        alarms=alarms,
        series=series,
        checks=checks,
        costs=_costs(watched),
        outcome=watched.outcome,
        deviations=deviation_views(watched, deviations, alarms),
        divergences=watched.divergences,
        notes=watched.notes,
        omitted=omitted,
    )


def _deviations(watched: Watched) -> tuple[Deviation, ...]:
    found = deviations_of(watched.graph, watched.rounds, watched.parameters)
    diverging = [
        (one.agent, watched.rounds[one.index].phase, one.index, one.receiver)
        for one in watched.divergences
    ]
    return with_divergences(watched.graph, found, diverging)


def _agents(watched: Watched) -> tuple[AgentView, ...]:
    known, views = watched.byzantine, []
    for agent, (x, y) in enumerate(positions(watched.graph)):
        end = watched.ends[agent]
        byzantine = known is not None and agent in known
        role = "unknown" if known is None else "byzantine" if byzantine else "honest"
        verdict, text = ("", "") if byzantine else (end.verdict, end.text)
        views.append(AgentView(role, round(x, 4), round(y, 4), verdict, text))
    return tuple(views)


def _costs(watched: Watched) -> tuple[CostView, ...]:
    """Counted off the record as VA-4 says."""
    if watched.parameters is None:
        return ()
    execution = Execution(watched.parameters, watched.byzantine or frozenset(), watched.rounds, {})
    return tuple(
        CostView(
            phase, costs[0].rounds, sum(c.messages for c in costs), sum(c.scalars for c in costs)
        )
        for phase, costs in execution.costs().items()
    )


def _clauses(runs: Sequence[RunView]) -> set[str]:
    """The clauses that the runs mention."""
    found = {alarm.clause for run in runs for alarm in run.alarms}
    found |= {divergence.clause for run in runs for divergence in run.divergences}
    found |= {s.clause for run in runs if run.series for s in run.series.statistics}
    return found | {"VA-5"}


def clause_views(specification: Specification, wanted: Iterable[str]) -> tuple[ClauseView, ...]:
    """The clauses with these ids that exist, each once, by id."""
    found = (specification.clauses.get(identifier) for identifier in sorted(set(wanted)))
    return tuple(
        ClauseView(clause.identifier, str(clause.kind), clause.file, html_of(clause.text))
        for clause in found
        if clause is not None
    )
