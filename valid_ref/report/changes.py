"""What a repair changes: the run, what is refused, or only what is promised of the run."""

from collections.abc import Callable, Sequence

from valid_ref.grammar import agents_named, counted
from valid_ref.report.view import ChangeView, Evidence, OutcomeView, RunView
from valid_ref.report.watched import outcome
from valid_ref.witness.story import Story

SAME_RUN = "The run, the same by both texts"
NO_RUN = "there is no run"


def same_run(printed: RunView, repaired: RunView) -> bool:
    """Whether two runs have the same agents, messages, beliefs and alarms."""
    return all(
        getattr(printed, part) == getattr(repaired, part)
        for part in ("agents", "edges", "phases", "messages", "rounds", "alarms")
    )


def both_promises(printed: Story, repaired: Story) -> OutcomeView:
    """What the two texts promise of one and the same run."""
    before, after = own_lines(printed, repaired)
    rows = (
        Evidence("what the printed text promises holds", _holds(printed), before),
        Evidence("what the repaired text promises holds", _holds(repaired), after),
    )
    meaning = "Every message is the same by both texts; the repair changes what is promised."
    return outcome("wrong" if repaired.wrong else "right", rows, meaning)


def _holds(story: Story) -> str:
    return "no" if story.wrong else "yes"


def own_lines(printed: Story, repaired: Story) -> tuple[str, str]:
    """The lines of each story that the other has not."""
    before = [line.strip() for line in printed.lines if line not in repaired.lines]
    after = [line.strip() for line in repaired.lines if line not in printed.lines]
    return _joined(before), _joined(after)


def _joined(lines: Sequence[str]) -> str:
    """Lines in one; a line that ends with a colon announces the next."""
    return "; ".join(lines).replace(":; ", ": ")


def changes_between(
    printed: Story, repaired: Story, runs: Sequence[RunView], rule: tuple[str, str] | None = None
) -> tuple[ChangeView, ...]:
    """What differs, each in a row: refusals, the network, rounds, alarms, ends, or the promise.

    `rule` is the difference in words, for a story without a run.
    """
    rows = [] if rule is None else [ChangeView("the rule", *rule)]
    if printed.refusals or repaired.refusals:
        what = "; ".join(printed.refusals) or "nothing", "; ".join(repaired.refusals) or "nothing"
        rows.append(ChangeView("refused", *what))
    if len(runs) == 2:
        for name, told in TOLD:
            before, after = (told(run) for run in runs)
            if before != after:
                rows.append(ChangeView(name, before, after))
    elif runs:
        shown = [story.shown is not None for story in (printed, repaired)]
        rows.append(ChangeView("the run", *("is shown below" if one else NO_RUN for one in shown)))
    if not rows or not (runs or repaired.refusals):
        before, after = own_lines(printed, repaired)
        name = "what is promised" if runs else "the figures"
        rows.append(ChangeView(name, before, after))
    return tuple(rows)


def _network(run: RunView) -> str:
    return ", ".join(f"{u}-{v}" for u, v in run.edges)


def _rounds(run: RunView) -> str:
    return counted(run.total_rounds, "round")


def _phases(run: RunView) -> str:
    return ", ".join(phase.title.lower() for phase in run.phases)


def _alarmed(run: RunView) -> str:
    agents = sorted({alarm.agent for alarm in run.alarms})
    return agents_named(agents) if agents else "nobody"


def _first_alarm(run: RunView) -> str:
    if not run.alarms:
        return "none"
    first = min(run.alarms, key=lambda alarm: (alarm.index, alarm.agent))
    return f"agent {first.agent} in round {first.index + 1}: {first.meaning}"


def _ends(run: RunView) -> str:
    ends = [
        f"agent {place}: {', '.join(filter(None, (agent.verdict, agent.end)))}"
        for place, agent in enumerate(run.agents)
        if agent.role != "byzantine"
    ]
    return "; ".join(ends)


def _said(run: RunView) -> str:
    numbers = sum(cost.scalars for cost in run.costs)
    return counted(numbers, "number") if run.costs else ""


TOLD: tuple[tuple[str, Callable[[RunView], str]], ...] = (
    ("lines of the network", _network),
    ("rounds", _rounds),
    ("phases", _phases),
    ("honest agents with an alarm", _alarmed),
    ("first alarm", _first_alarm),
    ("how honest agents end", _ends),
    ("numbers sent in all", _said),
)
"""What is compared of two runs."""
