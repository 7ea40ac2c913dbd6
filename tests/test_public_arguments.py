"""Every public function and class refuses arguments of other types, by the name of the argument."""

import enum
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import valid_ref
from valid_ref import (
    AgentGraph,
    Deviation,
    Execution,
    Judgement,
    LearningHistory,
    Reading,
    Run,
    Scenario,
    Setting,
    ValidRefError,
    run,
)
from valid_ref.coins import Coins
from valid_ref.scenario.rehearse import rehearse

Call = tuple[Callable[..., object], Mapping[str, Any]]
WRONG = (
    *(None, True, -1, 2.5, 1j, float("nan"), "", "\0", "x", b"x", [], {}, (3, 4), {"a": 1}, [[]]),
    *(int, len, object(), np.zeros(2), np.array("x"), Path("no") / "such", enum),
)


class Strange:
    """Nothing takes it: no text, no number, no function, no list; and it cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError

    __hash__ = None


@pytest.fixture(scope="module")
def finished() -> Run:
    return run(Scenario(graph="path:3", rounds=2, loss="random-ridge", byzantine=1, seed=0))


def calls(finished: Run, directory: Path) -> dict[str, Call]:
    """A right call of everything that is public; methods by Class.method."""
    execution, prepared = finished.execution, finished.prepared
    graph, history = execution.parameters.graph, finished.history
    setting = Setting.of(
        execution.parameters, prepared.problem, execution.byzantine, 1.0, Coins.of_seed(1)
    )
    fields = {
        kind: {field.alias: getattr(one, field.name) for field in attrs.fields(kind) if field.init}
        for kind, one in (
            (AgentGraph, graph),
            (Deviation, Deviation()),
            (Execution, execution),
            (Judgement, finished.judgement),
            (LearningHistory, history),
            (Reading, Reading()),
            (Run, finished),
            (Scenario, finished.scenario),
            (Setting, setting),
        )
    }
    return {
        **{kind.__name__: (kind, values) for kind, values in fields.items()},
        "AgentGraph.degree": (graph.degree, {"agent": 0}),
        "AgentGraph.distance": (graph.distance, {"u": 0, "v": 1}),
        "AgentGraph.distances_from": (graph.distances_from, {"agent": 0}),
        "AgentGraph.from_edges": (AgentGraph.from_edges, {"agents": 2, "edges": [(0, 1)]}),
        "AgentGraph.from_networkx": (AgentGraph.from_networkx, {"graph": graph.to_networkx()}),
        "AgentGraph.induced_components": (graph.induced_components, {"agents": [0]}),
        "AgentGraph.is_connected": (graph.is_connected, {"agents": [0]}),
        "AgentGraph.neighbours": (graph.neighbours, {"agent": 0}),
        "Execution.output": (execution.output, {"agent": 0}),
        "Reading.without": (_without, {"errata": "P07"}),
        "Run.plot": (finished.plot, {"path": directory / "run.svg"}),
        "Run.record": (finished.record, {"path": directory / "run.zip", "byzantine_known": True}),
        "Run.report": (finished.report, {"path": directory / "run.html", "label": "x"}),
        "Scenario.require_agents": (finished.scenario.require_agents, {"agents": 3}),
        "Setting.gradient_source": (setting.gradient_source, {"agent": 1, "loss": None}),
        "Setting.of": (Setting.of, _known(fields[Setting]) | {"problem": prepared.problem}),
        "execute": (
            valid_ref.execute,
            {
                "parameters": prepared.parameters,
                "private": prepared.private,
                "byzantine": prepared.byzantine,
                "adversary": prepared.adversary,
                "watch": None,
            },
        ),
        "load_scenario": (valid_ref.load_scenario, {"path": directory / "s.json"}),
        "prepare": (valid_ref.prepare, {"scenario": finished.scenario, "rehearsals": rehearse}),
        "run": (run, {"scenario": finished.scenario, "watch": None, "rehearsals": rehearse}),
        "scenario_text": (valid_ref.scenario_text, {"scenario": finished.scenario}),
    }


def _without(errata: Any) -> Reading:
    return Reading.without(errata)


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What `Setting.of` takes of a Setting."""
    return {name: value for name, value in fields.items() if name != "samples"}


def public() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every public function, class and method that takes arguments, with their names."""
    for name in valid_ref.__all__:
        found = getattr(valid_ref, name)
        if not callable(found) or _not_ours(found):
            continue
        yield name, _arguments(found)
        if not isinstance(found, type):
            continue
        for method in filter(lambda one: not one.startswith("_"), vars(found)):
            if callable(got := getattr(found, method)):
                bound = isinstance(vars(found)[method], classmethod)
                taken = _arguments(got)[0 if bound else 1 :]
                if taken:
                    yield f"{name}.{method}", taken


def _not_ours(found: object) -> bool:
    """What is made by others only: protocols, and what Python itself makes."""
    made = isinstance(found, type) and issubclass(found, enum.Enum | Exception)
    return made or getattr(found, "_is_protocol", False)


def _arguments(function: Callable[..., object]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


PUBLIC = dict(public())
CALLED = ("watch", "rehearsals")
"""Functions of whoever calls: what they raise goes to whoever called."""


@pytest.mark.checks("VA-10")
@pytest.mark.parametrize("name", PUBLIC)
def test_an_argument_of_another_type_is_refused_by_its_name(
    name: str, finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(valid_ref.scenario_text(finished.scenario))
    call, right = calls(finished, tmp_path)[name]
    assert set(right) == set(PUBLIC[name])
    call(**right)
    for argument in right:
        called = {"u": "an agent", "v": "an agent", "agent": "an agent"}.get(argument, argument)
        with pytest.raises(ValidRefError, match=called):
            call(**right | {argument: Strange()})
        for wrong in WRONG:
            if callable(wrong) and argument in CALLED:
                continue
            try:
                call(**right | {argument: wrong})
            except ValidRefError as error:
                assert str(error)
