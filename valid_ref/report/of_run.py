"""What a Run shows of itself: its page, its plot, and a table for notebooks."""

import html
from pathlib import Path
from typing import Any

from valid_ref.grammar import counted
from valid_ref.report.build import view_of
from valid_ref.report.curves import (
    MOST_POINTS_OF_PLOT,
    PlotError,
    draw,
    figure_of,
    require_matplotlib,
    series_of,
)
from valid_ref.report.page import render_page
from valid_ref.report.watched import Watched, watch_run
from valid_ref.report.words import OUTCOMES
from valid_ref.runs import Run
from valid_ref.trace import load_specification


def page_of_run(finished: Run, label: str) -> str:
    """The page of a run, as `valid-ref report` writes it."""
    watched = watch_run(finished, label)
    title = f"A run of VALID: {label}"
    return render_page(view_of(title, subtitle(watched), [watched], load_specification()))


def subtitle(watched: Watched) -> str:
    """The network and the phases in a line."""
    facts = dict(watched.facts)
    rounds = counted(len(watched.rounds), "round")
    return ", ".join([facts.get("network", ""), facts.get("model", ""), rounds]).replace(", ,", ",")


def plot_run(finished: Run, path: Path | None) -> Any:
    """The curves of a run as a figure of matplotlib; written to a file if there is a path."""
    require_matplotlib(path)
    found = series_of(watch_run(finished, ""), MOST_POINTS_OF_PLOT)
    if found is None:
        raise PlotError("nothing was learned in this run, so there is nothing to draw")
    title = f"outcome {finished.outcome}"
    if path is not None:
        draw(found, title, path)
    return figure_of(found, title)


def html_of_run(finished: Run) -> str:
    """The outcome and a row for every agent."""
    execution, found = finished.execution, finished.distances
    rows = []
    for agent, verdict in finished.verdicts.items():
        alarms = finished.alarms[agent]
        distance = found.get(agent)
        cells = (
            str(agent),
            "Byzantine" if agent in execution.byzantine else "honest",
            verdict,
            str(len(alarms)),
            str(alarms[0]) if alarms else "",
            "" if distance is None else f"{distance:.3g}",
        )
        rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
    names = ("agent", "role", "verdict", "alarms", "first alarm", "distance")
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    reason = f"<br>{html.escape(finished.judgement.reason)}" if finished.judgement.reason else ""
    notes = "".join(f"<br><i>{html.escape(note)}</i>" for note in finished.prepared.notes)
    return (
        f"<p><b>outcome {finished.outcome}</b>: {html.escape(OUTCOMES[finished.outcome])}"
        f"{reason}{notes}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
