"""The view of a run says what the run says: messages, alarms, costs, checks, statistics."""

import json

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.adversary.actions import Forge, Integers
from valid_ref.adversary.edits import Edit, Edits
from valid_ref.adversary.lean_attacks import WrongSum
from valid_ref.alarms import Alarm
from valid_ref.graph import AgentGraph
from valid_ref.machine import Round
from valid_ref.oracle import check, open_recording, record_run
from valid_ref.protocols.learn import LearningMessage
from valid_ref.report import run_view, watch_recording, watch_run
from valid_ref.report.rounds import MessageTable, describe
from valid_ref.report.view import PageView
from valid_ref.report.words import ALARMS, PHASES
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts
from valid_ref.schedule import Precision
from valid_ref.testing.strategies import adversarial_scenarios, scenarios
from valid_ref.wire import identity

SLOW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WIDE = (parts.Check("w", parts.Polynomial(), parts.ConfiguredThresholds(1e6, 1e12)),)


FALLS_SILENT = Scenario(
    graph=parts.Family("path:2"),
    loss=parts.RandomQuadratics(1),
    rounds=2,
    checks=WIDE,
    bounds=parts.NoBounds(),
    byzantine=(0,),
    attack=Edits((Edit("LearnModel", 1, 0, None, Forge("model", Integers((2**54 - 2,)))),)),
    seed=0,
)
"""The only honest agent leaves the range and says nothing in round 2."""

LEAN = Scenario(
    graph=parts.Family("path:4"),
    loss=parts.RandomQuadratics(1),
    rounds=2,
    checks=WIDE,
    bounds=parts.ConfiguredBounds(1e3, 1e3),
    validation=parts.Lean(),
    byzantine=(2,),
    attack=WrongSum(),
    seed=0,
)


def test_divergences_are_in_the_order_of_their_rounds_messages_before_alarms(tmp_path) -> None:
    found = run(
        Scenario(graph=parts.Family("complete:4"), loss=parts.RandomQuadratics(1), rounds=5, seed=0)
    )
    record_run(found, tmp_path / "r", checksums=False)
    models = np.load(tmp_path / "r" / "models.npy")
    models[2, 3, 0] += 1
    np.save(tmp_path / "r" / "models.npy", models)
    opened = open_recording(tmp_path / "r")
    verdict = check(opened)
    watched = watch_recording(opened, verdict, "x")
    assert [(one.agent, one.index, one.said) for one in watched.divergences] == [
        (3, 2, True),
        (0, 3, True),
        (1, 3, True),
        (2, 3, True),
    ]
    learning, late = verdict.divergences[0], verdict.divergences[1]
    for what, phase in (("missing alarm 0", learning.phase), ("verdict", "the end")):
        difference = attrs.evolve(learning.difference, what=what)
        alarm = attrs.evolve(learning, agent=0, phase=phase, difference=difference)
        again = watch_recording(opened, attrs.evolve(verdict, divergences=(alarm, late)), "x")
        assert {one.agent: one.said for one in again.divergences} == {0: False, 1: True}
        assert [one.agent for one in again.divergences] == [1, 0]


@SLOW
@given(scenario=st.one_of(scenarios(), adversarial_scenarios()))
@example(scenario=FALLS_SILENT)
@example(scenario=LEAN)
def test_a_view_is_the_run(scenario: Scenario) -> None:
    finished = run(scenario)
    execution = finished.execution
    view = run_view(watch_run(finished, "x"))
    document = PageView("t", "s", "one", (view,), ()).as_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document

    graph = execution.parameters.graph
    assert [tuple(edge) for edge in view.edges] == list(graph.edges)
    assert len(view.rounds) == view.total_rounds == len(execution.rounds)
    for shown, spoken in zip(view.rounds, execution.rounds, strict=True):
        assert view.phases[shown.phase].name == spoken.phase
        _same_words(graph, view, shown, spoken)

    honest = [execution.states[v].memory.alarms for v in execution.honest]
    assert sum(alarm.count for alarm in view.alarms) == sum(map(len, honest))
    by_agent = {alarm.agent for alarm in view.alarms}
    assert by_agent == {v for v in execution.honest if execution.states[v].memory.alarms}
    assert {cost.phase: cost.scalars for cost in view.costs} == {
        phase: sum(cost.scalars for cost in costs) for phase, costs in execution.costs().items()
    }
    assert view.outcome.outcome == finished.outcome


def _same_words(graph: AgentGraph, view, shown, spoken: Round) -> None:
    """Two directed edges have the same index exactly if they carry the same message."""
    special = {(edge.sender, edge.receiver): edge.message for edge in shown.edges}
    found: dict[bytes, int] = {}
    for sender, receiver in graph.directed_edges:
        index = special.get((sender, receiver), shown.said[sender])
        assert 0 <= index < len(view.messages)
        key = identity(spoken.on_edge(sender, receiver))
        assert found.setdefault(key, index) == index
    assert len(set(found.values())) == len(found)


@pytest.mark.parametrize("options", [{}, {"byzantine": (2,)}])
def test_the_statistics_are_those_that_the_protocol_checks(options) -> None:
    """The course ends where the check is made, on the side of the threshold that alarms say."""
    for limits in ((1e-9, 1e-9), (1e6, 1e12)):
        checks = (parts.Check("w", parts.Polynomial(2), parts.ConfiguredThresholds(*limits)),)
        scenario = Scenario(
            graph=parts.Family("complete:4"), rounds=9, checks=checks, **options, seed=0
        )
        finished = run(scenario)
        series = run_view(watch_run(finished, "x")).series
        reasons = {alarm.alarm for alarm in finished.execution.states[0].memory.alarms}
        for statistic, alarm in zip(
            series.statistics, (Alarm.NOT_OPTIMAL, Alarm.TOO_HETEROGENEOUS), strict=True
        ):
            assert (statistic.final > statistic.threshold) == (alarm in reasons)
            assert statistic.course[-1] == pytest.approx(statistic.final, rel=1e-3)


def test_every_phase_and_every_alarm_has_words() -> None:
    phases = {spoken.phase for spoken in run(LEAN).execution.rounds}
    assert phases <= PHASES.keys()
    assert set(ALARMS) == set(Alarm)


def test_distances_and_consensus_end_as_the_judgement_says() -> None:
    finished = run(Scenario(graph=parts.Family("cycle:5"), rounds=30, seed=0))
    series = run_view(watch_run(finished, "x")).series
    assert series.distance[-1] == pytest.approx(finished.judgement.squared_distance, rel=1e-4)
    assert series.consensus[-1] == pytest.approx(finished.judgement.consensus_error, rel=1e-4)
    assert len(series.distances) == 5


def test_the_matrix_names_the_agent_whose_hashes_differ() -> None:
    from valid_ref.adversary.models import Equivocation

    scenario = Scenario(
        graph=parts.Family("complete:5"),
        rounds=3,
        checks=WIDE,
        byzantine=(4,),
        attack=Equivocation(),
        seed=0,
    )
    checks = run_view(watch_run(run(scenario), "x")).checks
    by_hash = {(cell.agent, cell.owner) for cell in checks.failures if "H" in cell.failed}
    assert by_hash == {(4, owner) for owner in range(5)}
    assert all(cell.by == 4 for cell in checks.failures if cell.agent == 4)
    letters = {cell.reporter: cell.letters for cell in checks.reports if cell.agent == 4}
    assert sorted(letters.values()) == ["A", "A", "B", "B"]
    others = {cell.letters for cell in checks.reports if cell.agent != 4}
    assert others == {"A"}


def test_long_and_large_runs_are_thinned_and_say_so() -> None:
    scenario = Scenario(
        graph=parts.Family("path:2"),
        loss=parts.RandomQuadratics(4),
        rounds=900,
        checks=WIDE,
        seed=0,
    )
    view = run_view(watch_run(run(scenario), "x"))
    assert len(view.rounds) <= 600 < view.total_rounds == 907
    assert view.rounds[0].index == 0
    assert view.rounds[-1].index == 906
    kept = {shown.index for shown in view.rounds}
    assert {phase.first for phase in view.phases} <= kept
    assert any(f"{len(kept)} of 907 rounds" in text for text in view.omitted)
    assert any("first 3 of 4 entries" in text for text in view.omitted)


def test_a_recording_shows_its_divergence(tmp_path) -> None:
    finished = run(Scenario(graph=parts.Family("path:3"), rounds=3, checks=WIDE, seed=0))
    record_run(finished, tmp_path / "run", checksums=False)
    models = tmp_path / "run" / "models.npy"
    data = np.load(models)
    data[1, 2, 0] += 1
    np.save(models, data)
    opened = open_recording(tmp_path / "run")
    view = run_view(watch_recording(opened, check(opened), "x"))
    [found] = [one for one in view.divergences if one.agent == 2]
    assert (found.where, found.clause) == ("LearnModel round 2", "AR-6")
    assert view.outcome.tone == "bad"
    assert {alarm.reason for alarm in view.alarms} == set()


def test_a_conforming_recording_looks_like_its_run(tmp_path) -> None:
    scenario = Scenario(
        graph=parts.Family("path:3"), rounds=3, checks=WIDE, eps_success=1e9, seed=0
    )
    finished = run(scenario)
    record_run(finished, tmp_path / "run.zip", checksums=True)
    opened = open_recording(tmp_path / "run.zip")
    recorded = run_view(watch_recording(opened, check(opened), "x"))
    own = run_view(watch_run(finished, "x"))
    for part in ("rounds", "messages", "alarms", "series", "checks", "costs", "phases"):
        assert getattr(recorded, part) == getattr(own, part)
    assert recorded.outcome.outcome == finished.outcome == "a"


@given(left=support.messages(2), right=support.messages(2))
@example(
    left=LearningMessage(np.array([1, 2]), np.array([3, 4])),
    right=LearningMessage(np.array([1, 2]), np.array([3, 5])),
)
def test_equal_messages_and_only_they_share_an_index(left, right) -> None:
    table = MessageTable(Precision())
    copy = LearningMessage(left.model.copy(), left.scaled_gradient.copy())
    indices = [table.index("LearnModel", message) for message in (left, right, copy, left)]
    assert indices[0] == indices[2] == indices[3]
    assert (indices[0] == indices[1]) == support.same_message(left, right)


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "message",
    [
        None,
        Hostile(),
        {(0, "key"): Hostile()},
        "<script>",
        (10**5000,),
        (),
        {},
        LearningMessage(np.array([1.5]), np.array([1])),
        LearningMessage("x", None),
    ],
)
@pytest.mark.parametrize("phase", ["LearnModel", "LocalValidate.keys", "ValidationStateAgreement"])
def test_whatever_is_said_can_be_shown(message, phase) -> None:
    shown = describe(phase, message, Precision())
    assert shown.text
    assert len(shown.text) < 300
    assert MessageTable(Precision()).index(phase, message) == 0
