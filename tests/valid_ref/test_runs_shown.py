"""What a Run gives: models, alarms, distances, history, frames, a plot, a page, a recording."""

import html.parser
import sys

import numpy as np
import pytest

from valid_ref import Run, Scenario, run
from valid_ref.errors import ValidRefError
from valid_ref.guarantees.outcome import final_models
from valid_ref.history import LearningHistory
from valid_ref.lattice import from_lattice
from valid_ref.oracle import check, open_recording, recording_digest
from valid_ref.report.curves import series_of
from valid_ref.report.watched import watch_run

HONEST = Scenario(graph="complete:4", loss="random-ridge", rounds=30, seed=0)
ATTACKED = Scenario(
    graph="complete:4", loss="random-ridge", rounds=30, seed=0, byzantine=3, attack="equivocation"
)


@pytest.fixture(scope="module")
def honest() -> Run:
    return run(HONEST)


@pytest.fixture(scope="module")
def attacked() -> Run:
    return run(ATTACKED)


def test_models_verdicts_and_alarms_are_those_of_the_agents(honest: Run, attacked: Run) -> None:
    assert honest.verdicts == dict.fromkeys(range(4), "valid")
    assert attacked.verdicts == dict.fromkeys(range(4), "invalid")
    assert [*honest.models] == [0, 1, 2, 3]
    for agent, model in honest.models.items():
        (expected,) = final_models(honest.execution, (agent,))
        assert model.tobytes() == expected.tobytes()
    assert attacked.models == {}
    assert honest.alarms == dict.fromkeys(range(4), ())
    assert all(attacked.alarms[v] == s.memory.alarms for v, s in attacked.execution.states.items())


def test_distances_are_those_of_the_judgement(honest: Run, attacked: Run) -> None:
    mean = np.mean([distance**2 for distance in honest.distances.values()])
    assert mean == pytest.approx(honest.judgement.squared_distance)
    assert attacked.distances == {}
    mimicked = run(Scenario(**_options(ATTACKED, attack="mimic")))
    assert mimicked.outcome == "b"
    assert [*mimicked.distances] == [0, 1, 2]
    assert all(0 <= one < 1 for one in mimicked.distances.values())


def _options(scenario: Scenario, **changes: object) -> dict[str, object]:
    names = ("graph", "loss", "rounds", "seed", "byzantine", "attack")
    return {name: getattr(scenario, name) for name in names} | changes


@pytest.mark.parametrize("attack", [None, "mimic"])
def test_the_history_is_what_the_agents_recorded(attack) -> None:
    byzantine = () if attack is None else (3,)
    finished = run(Scenario(**_options(ATTACKED, attack=attack, byzantine=byzantine)))
    history, execution = finished.history, finished.execution
    assert isinstance(history, LearningHistory)
    assert history.models.shape == history.gradients.shape == (30, 4, 5)
    assert history.rounds.tolist() == [*range(1, 31)]
    assert history.honest == execution.honest
    precision = execution.parameters.lattice.precision
    for agent in execution.honest:
        record = execution.states[agent].memory.fixed_transcripts.own
        for t, message in enumerate(record):
            model = from_lattice(message.model, precision)
            assert history.models[t, agent].tobytes() == model.tobytes()
    last = [finished.models[agent] for agent in execution.honest]
    spread = np.mean([np.sum((model - np.mean(last, axis=0)) ** 2) for model in last])
    assert history.consensus_errors[-1] == pytest.approx(spread)
    if attack is None:
        ends = [distance**2 for distance in finished.distances.values()]
        assert history.squared_distances[-1] == pytest.approx(ends)
    optimum = finished.prepared.problem.minimiser(execution.honest)
    assert history.optimum.tobytes() == optimum.tobytes()


def test_the_curves_of_a_page_are_the_history(attacked: Run) -> None:
    series, history = series_of(watch_run(attacked, ""), 1000), attacked.history
    assert series is not None
    means = history.squared_distances[:, [0, 1, 2]].mean(axis=1)
    assert series.distance == pytest.approx(means, rel=1e-4)
    assert series.consensus == pytest.approx(history.consensus_errors, rel=1e-4)
    assert series.goal == history.goal == "optimum of the honest agents"


def test_frames_have_a_row_for_every_agent_and_every_round(honest: Run, attacked: Run) -> None:
    pytest.importorskip("pandas", reason="frames need pandas")
    agents = attacked.frame()
    assert agents.index.tolist() == [0, 1, 2, 3]
    assert agents["byzantine"].tolist() == [False, False, False, True]
    assert agents["alarms"].tolist() == [len(own) for own in attacked.alarms.values()]
    assert agents["first_alarm"].iloc[0] == attacked.alarms[0][0].alarm.name
    assert honest.frame()["distance"].to_dict() == honest.distances
    course = honest.history.frame()
    assert len(course) == 30 * 4
    row = course[(course["round"] == 7) & (course["agent"] == 2)].iloc[0]
    assert row["squared_distance"] == honest.history.squared_distances[6, 2]
    assert row["consensus_error"] == honest.history.consensus_errors[6]


def test_without_pandas_a_frame_is_refused_in_words(honest: Run, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValidRefError, match="frames need pandas"):
        honest.frame()


def test_a_run_is_plotted_reported_and_recorded(attacked: Run, tmp_path) -> None:
    figure = attacked.plot(tmp_path / "run.svg")
    assert "outcome c" in (tmp_path / "run.svg").read_text(encoding="utf-8")
    assert len(figure.axes) == 3
    assert len(attacked.plot().axes) == 3
    page = attacked.report(str(tmp_path / "run.html"), label="two stories").read_text("utf-8")
    assert "A run of VALID: two stories" in page
    path = attacked.record(tmp_path / "run.zip")
    verdict = check(open_recording(path))
    assert verdict.conforms
    assert verdict.findings.outcome == "c"
    anonymous = attacked.record(tmp_path / "anonymous.zip", byzantine_known=False)
    assert open_recording(anonymous).header.byzantine is None
    assert recording_digest(attacked) == recording_digest(run(ATTACKED))


def test_a_run_says_what_it_is_in_a_line_and_in_a_notebook(honest: Run, attacked: Run) -> None:
    assert repr(attacked) == "<Run: outcome c, 4 agents, 45 rounds>"
    table = attacked._repr_html_()
    tags = _Tags()
    tags.feed(table)
    assert tags.open == []
    assert tags.count["tr"] == 5
    assert "<b>outcome c</b>" in table
    assert str(attacked.alarms[0][0]).split()[0] in table
    assert f"{honest.distances[0]:.3g}" in honest._repr_html_()


class _Tags(html.parser.HTMLParser):
    """Which elements are still open, and how many there were of each."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag, attrs) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag
