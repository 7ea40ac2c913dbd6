"""Figures: files that can be read, every series told apart without colour, the right numbers."""

import csv
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread

from torch_backend.config.experiment import Job, described, experiment_document, jobs
from torch_backend.config.load import load
from torch_backend.plot import STYLE, detection_figure, plot, rounds_figure, sigma_figure
from torch_backend.results import FORMAT, CurveRow, Results, ResultsError
from torch_backend.tables import detection_csv, detection_of
from valid_ref.named_parts import name_of
from valid_ref.protocols.parameters import exponential_weights

EXPERIMENT = load("demo", quick=True, changes=["seeds=[1, 2]", "rounds=40"])


def accuracy(job: Job) -> float:
    """Made up: UBAR at .5, the others better, the second seed above the first."""
    return (0.5 if name_of(job.rule) == "ubar" else 0.7) + 0.1 * (job.seed - 1)


def summary(job: Job, diverged: bool) -> dict[str, Any]:
    attacked = job.attacked and name_of(job.rule) == "valid"
    length = (10**12 if attacked else 10**9) << 28
    return {
        "job": job.name,
        "purpose": job.purpose,
        "rule": described(job.rule),
        "attack": described(job.attack),
        "seed": job.seed,
        "rounds": 40,
        "outcome": "diverged" if diverged else "finished",
        "final": None if diverged else {"accuracy": accuracy(job), "averaged": 0.9, "distance": 1},
        "statistics": [
            {
                "check": f"gamma={gamma:g}",
                "total": sum(exponential_weights(40, gamma)),
                "optimality": length**2,
                "heterogeneity": length**2,
            }
            for gamma in EXPERIMENT.detection.gammas
            if name_of(job.rule) == "valid" and not diverged
        ],
        "validation": None,
    }


def made_up(lost: str = "") -> Results:
    """Results of the demonstration; jobs whose name contains `lost` have diverged."""
    todo = jobs(EXPERIMENT)
    header = {
        "format": FORMAT,
        "experiment": experiment_document(EXPERIMENT),
        "agents": 20,
        "jobs": [job.name for job in todo],
    }
    rows = {
        job.name: tuple(
            CurveRow(
                round=t,
                accuracy=accuracy(job) * t / 40,
                averaged=0.9,
                lowest=0,
                highest=1,
                loss=1.0,
                distance=1.0,
            )
            for t in (1, 20, 40)
        )
        for job in todo
    }
    gone = [bool(lost) and lost in job.name for job in todo]
    summaries = [summary(job, diverged) for job, diverged in zip(todo, gone, strict=True)]
    return Results(header, tuple(summaries), rows)


@pytest.mark.checks("EX-15")
def test_every_figure_is_a_readable_png_and_svg(tmp_path: Path) -> None:
    written = plot(made_up(), tmp_path / "one")
    assert [path.name for path in written] == [
        f"{name}.{kind}" for name in EXPERIMENT.figures for kind in ("png", "svg")
    ]
    for path in written:
        if path.suffix == ".png":
            assert imread(path).std() > 0
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
    again = plot(made_up(), tmp_path / "two")
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]


def texts(figure: Any) -> list[str]:
    from matplotlib.text import Text

    return [found.get_text() for found in figure.findobj(Text) if found.get_text()]


@pytest.mark.checks("EX-15")
def test_rules_are_told_apart_without_colour() -> None:
    with mpl.rc_context(STYLE):
        figure = rounds_figure(made_up())
    lines = figure.axes[0].get_lines()
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == len(lines) == 3
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["VALID", "UBAR", "BRIDGE-M"]
    assert "round of learning" in texts(figure)
    assert "test accuracy of honest agents" in texts(figure)
    for line, expected in zip(lines, (0.75, 0.55, 0.75), strict=True):
        data = np.asarray(line.get_ydata(), dtype=float)
        assert np.allclose(data, expected * np.array([1, 20, 40]) / 40)


@pytest.mark.checks("EX-15")
def test_alarms_are_counted_under_the_accuracies() -> None:
    with mpl.rc_context(STYLE):
        figure = sigma_figure(made_up())
    shown = texts(figure)
    assert shown.count("0/2") == 2  # no attack, for two gammas
    assert shown.count("2/2") == 4  # two attacks
    assert {"0", "0.1", "1", "γ = 0.9", "γ = 0.99"} <= set(shown)


@pytest.mark.checks("EX-15", "EX-16")
def test_runs_that_diverged_are_marked_and_enter_no_mean() -> None:
    with mpl.rc_context(STYLE):
        figure = sigma_figure(made_up("valid_gaussian+sigma=1.0+keeps_seed=1"))
    assert "1 of 2 diverged" in texts(figure)
    assert texts(figure).count("2/2") == 4  # who diverges has alarmed


@pytest.mark.checks("EX-15", "EX-16")
def test_figure_and_table_count_the_same_runs_where_some_diverged() -> None:
    found = made_up("valid_gaussian+sigma=1.0+keeps_seed=1")
    with mpl.rc_context(STYLE):
        shown = texts(sigma_figure(found))
    measured = detection_of(found)
    assert measured is not None
    rows = list(csv.DictReader(detection_csv(measured).splitlines()))
    counts = Counter(f"{row['either']}/{row['runs']}" for row in rows)
    assert counts == Counter(text for text in shown if re.fullmatch(r"\d/\d", text))
    lost = [row for row in rows if row["diverged"] == "1"]
    assert [(row["runs"], row["either"], row["optimality"]) for row in lost] == [
        ("2", "2", "1")
    ] * 2


@pytest.mark.checks("EX-10", "EX-15")
def test_the_table_of_detection_has_both_tests() -> None:
    with mpl.rc_context(STYLE):
        figure = detection_figure(made_up())
    shown = texts(figure)
    assert {"optimality test", "heterogeneity test", "0.9", "0.99"} <= set(shown)
    assert shown.count("0/2") == 4
    assert shown.count("2/2") == 8
    assert any("largest γ without false alarm: 0.99" in text for text in shown)
    with pytest.raises(ResultsError, match="nothing is calibrated"):
        detection_figure(made_up("seed"))
