"""What the page asks and gets: documents in, documents out, and a refusal for everything else."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.valid_ref.play.test_session import RELAYED, SMALL
from valid_ref import run
from valid_ref.document import DocumentError
from valid_ref.oracle import recording_digest
from valid_ref.play import Session
from valid_ref.play.commands import answer, first_session, text_of
from valid_ref.scenario import scenario_from_json, scenario_text
from valid_ref.trace import load_specification

SPECIFICATION = load_specification()


def ask(session: str | None, **command) -> dict:
    return answer(json.dumps({"session": session, "command": command}), SPECIFICATION)


def played(session: str | None, **command) -> tuple[str, dict]:
    found = ask(session, **command)
    assert "refused" not in found, found
    return found["session"], found["view"]


def filled(sender: int, receiver: int, way: str, **rest) -> dict:
    return {"sender": sender, "receiver": receiver, "choice": {"way": way} | rest}


BEGIN = {
    "graph": "complete:4",
    "byzantine": "3",
    "rounds": 2,
    "dimension": 1,
    "seed": 0,
    "validation": "paper",
    "without": "",
}


@pytest.mark.parametrize("validation", ["paper", "lean"])
def test_a_game_from_its_beginning_to_its_file(validation) -> None:
    session, view = played(None, kind="begin", **BEGIN | {"validation": validation})
    assert (view["played"], view["phase"], view["number"]) == (0, "LearnModel", 1)
    assert [edge["sender"] for edge in view["next"] if edge["choice"]] == [3, 3, 3]
    honest = [edge for edge in view["next"] if edge["sender"] != 3]
    assert len(honest) == 9
    assert all("model (" in edge["says"] and not edge["changed"] for edge in honest)
    lie = [filled(3, 0, "model", numbers="0.5"), filled(3, 1, "honest")]
    _same, looked = played(session, kind="look", filled=lie)
    changed = [edge for edge in looked["next"] if edge["changed"]]
    assert [(edge["sender"], edge["receiver"]) for edge in changed] == [(3, 0)]
    assert changed[0]["says"] != changed[0]["usual"]
    session, view = played(session, kind="step", filled=lie)
    assert view["nodes"][1]["moves"] == ["3 to 0: (0.5) more in model"]
    session, view = played(session, kind="follow", rounds=99)
    assert view["end"]["name"] == "c"
    assert view["alarms"]
    assert {alarm["clause"] for alarm in view["alarms"]} <= {
        clause["clause"] for clause in view["clauses"]
    }
    assert all(agent["verdict"] == "invalid" for agent in view["agents"][:3])
    found = ask(session, kind="save")["file"]
    again = run(scenario_from_json(found["text"]))
    assert recording_digest(again) == view["end"]["digest"]
    back, view = played(session, kind="go", node=1)
    back, view = played(back, kind="undo")
    assert view["here"] == 0
    assert [edge["changed"] for edge in view["next"] if edge["choice"]] == [True, False, False]
    again, view = played(back, kind="step", filled=None)
    assert (view["here"], len(view["nodes"])) == (1, len(json.loads(session)["steps"]) + 1)
    _branch, view = played(back, kind="step", filled=[])
    assert view["nodes"][-1]["parent"] == 0


def test_files_open_as_what_they_are() -> None:
    _session, view = played(None, kind="open", text=scenario_text(SMALL))
    assert view["title"] == "A run of VALID"
    session, view = played(None, kind="open", text=json.dumps(RELAYED.as_json()))
    assert view["breaks"] == "V5"
    assert "source" in next(one["html"] for one in view["clauses"] if one["clause"] == "V5")
    assert [edge["says"] for edge in view["next"] if edge["changed"]] == ["2/value = b"]
    session, view = played(session, kind="follow", rounds=99)
    assert view["end"]["tone"] == "bad"
    assert ask(session, kind="save")["file"]["name"] == "script.json"
    _again, view = played(None, kind="open", text=session)
    assert view["end"]["tone"] == "bad"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (BEGIN | {"graph": "complete"}, "complete"),
        (BEGIN | {"graph": "json:Missing"}, "no part of this package"),
        (BEGIN | {"byzantine": "9"}, "9"),
        (BEGIN | {"byzantine": ""}, "yzantine"),
        (BEGIN | {"rounds": 0}, "rounds"),
        (BEGIN | {"validation": "none"}, "validation"),
        (BEGIN | {"without": "P99"}, "P99"),
        (BEGIN | {"seed": 0.5}, "integer"),
    ],
)
def test_a_game_that_cannot_be_is_refused_in_words(command, said) -> None:
    found = ask(None, kind="begin", **command)
    assert set(found) == {"refused"}
    assert re.search(said, found["refused"]["message"]), found


def test_a_wrong_form_is_refused_by_its_edge() -> None:
    session = text_of(Session.of_scenario(SMALL))
    for command, said in (
        ({"kind": "step", "filled": [filled(3, 1, "model", numbers="x")]}, "3 to 1: 'x' is no"),
        ({"kind": "look", "filled": [filled(3, 2, "other", text="{")]}, "3 to 2: $: not JSON"),
        ({"kind": "step", "filled": [filled(0, 1, "drop")]}, "no edge of yours"),
        ({"kind": "step", "filled": [filled(3, 3, "lie")]}, "no edge of yours"),
        ({"kind": "step", "filled": [filled(3, 1, "replay", numbers="1")]}, "no earlier round"),
        ({"kind": "undo"}, "nothing to undo"),
        ({"kind": "go", "node": 5}, "no node 5"),
        ({"kind": "fly"}, "fly"),
        ({"kind": "open", "text": "{}", "more": 1}, "unknown field"),
    ):
        found = ask(session, **command)
        assert said in found["refused"]["message"]
    assert "no game has begun" in ask(None, kind="undo")["refused"]["message"]


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_request_is_answered(text) -> None:
    assert set(answer(text, SPECIFICATION)) == {"refused"}


@given(
    st.dictionaries(st.sampled_from(["format", "steps", "here", "scenario", "script"]), st.none())
    | st.none()
)
def test_any_session_is_answered(session) -> None:
    found = ask(json.dumps(session), kind="look", filled=None)
    assert set(found) == {"refused"}


def test_what_nobody_foresaw_is_said_too(monkeypatch) -> None:
    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr("valid_ref.play.commands.view_of_session", broken)
    found = ask(text_of(first_session()), kind="look", filled=None)
    assert found["refused"]["message"] == "this cannot be computed: ZeroDivisionError: x"


FOREIGN = "brought.along:Part"


def with_foreign(value):
    """The document with a class of a module in the place of each text and each part, in turn."""
    if isinstance(value, dict):
        yield value | {"kind": FOREIGN}
        for key, inner in value.items():
            yield from (value | {key: changed} for changed in with_foreign(inner))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], changed, *value[at + 1 :]] for changed in with_foreign(inner))
    elif value is None or isinstance(value, str):
        yield FOREIGN
        yield {"kind": FOREIGN}


def test_nothing_that_a_request_names_is_imported(monkeypatch) -> None:
    imported: list[str] = []

    def seen(target: str, _place: str) -> type:
        imported.append(target)
        raise DocumentError("imported")

    monkeypatch.setattr("valid_ref.named_parts._imported", seen)
    written = json.loads(text_of(first_session()))
    requests = [(None, {"kind": "begin"} | one) for one in with_foreign(BEGIN)]
    for text in with_foreign(written):
        requests += [
            (json.dumps(text), {"kind": "undo"}),
            (None, {"kind": "open", "text": json.dumps(text)}),
        ]
    for text in with_foreign(written["scenario"]):
        requests.append((None, {"kind": "open", "text": json.dumps(text)}))
    for session, command in requests:
        ask(session, **command)
    assert not imported
    assert len(requests) > 50


def test_an_entry_point_with_the_name_of_a_family_is_not_played(monkeypatch) -> None:
    monkeypatch.setattr("valid_ref.named_parts._targets", lambda _group: {"complete": (FOREIGN,)})
    found = ask(None, kind="begin", **BEGIN)
    assert "no part of this package" in found["refused"]["message"]


@pytest.mark.parametrize("way", ["lie", "model", "gradient", "replay", "swap", "other"])
def test_a_way_is_chosen_before_its_form_is_filled_in(way) -> None:
    session = text_of(Session.of_scenario(SMALL))
    forms = [filled(3, 0, way), filled(3, 1, "drop")]
    _same, view = played(session, kind="look", filled=forms)
    assert [edge["receiver"] for edge in view["next"] if edge["changed"]] == [1]
    assert "3 to 0" in ask(session, kind="step", filled=forms)["refused"]["message"]
