"""What goes over the pipe comes back the same; what is malformed stays malformed."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from valid_ref import wire
from valid_ref.adversary import actions
from valid_ref.machine import Addressed, Message
from valid_ref.oracle.divergence import message_difference
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.valid import Valid
from valid_ref.testing.attacks import GARBAGE
from valid_ref.testing.conform.agent import Agent
from valid_ref.words import Again, Listed, Malformed

big = st.integers(-(2**70), 2**70)


def piped(value):
    return json.loads(json.dumps(value))


@pytest.mark.checks("CF-6", "CF-7")
def test_what_the_reference_says_comes_back_the_same(cases, lean, played) -> None:
    for case in (*cases[:12], *lean[:12]):
        script = played(case)
        for turn in script.turns:
            word = turn.message
            messages = [word.usual, *word.to.values()] if isinstance(word, Addressed) else [word]
            for message in messages:
                if message is None:
                    continue
                written = piped(wire.message_as_json(message, digests=True))
                found = wire.message_from_json(written, script.parameters.lattice.dimension)
                assert message_difference(
                    script.parameters, turn.phase, case.agent, message, found
                ) is None  # fmt: skip


@pytest.mark.checks("CF-7")
def test_an_integer_is_a_digest_to_those_that_know_these_only() -> None:
    assert piped(wire.message_as_json(7)) == {"kind": "other", "text": "7"}
    for value in (0, -1, 2**300):
        written = piped(wire.message_as_json(value, digests=True))
        assert written == {"kind": "digest", "value": value}
        assert wire.message_from_json(written, 2) == value
    assert wire.message_as_json(True, digests=True) == {"kind": "flag", "value": True}


@pytest.mark.checks("CF-4", "LE-1")
def test_the_parameters_of_a_lean_run_have_kappa_and_the_name_of_the_run(lean, played) -> None:
    document = piped(wire.parameters_for_agent(played(lean[0]).parameters))
    assert list(document["lean"]) == ["kappa", "run"]
    assert document["lean"]["kappa"] == 2
    assert len(bytes.fromhex(document["lean"]["run"])) == 32


@pytest.mark.checks("CF-6")
@pytest.mark.parametrize(
    "addressed",
    [
        3,
        [3],
        [{"receiver": 0}],
        [{"receiver": "x", "message": None}],
        [{"receiver": 0, "message": None}, {"receiver": 0, "message": None}],
    ],
)
def test_addressed_messages_of_another_form_are_refused(addressed) -> None:
    with pytest.raises(wire.FormError) as caught:
        wire.addressed_from_json(addressed, 2)
    assert caught.value.clause == "CF-6"
    flag = {"kind": "flag", "value": True}
    assert wire.addressed_from_json([{"receiver": 1, "message": flag}], 2) == {1: True}


@pytest.mark.checks("CF-4")
def test_the_parameters_are_those_of_a_recording_without_what_is_secret(cases, played) -> None:
    document = piped(wire.parameters_for_agent(played(cases[0]).parameters))
    assert list(document) == [
        "agents", "edges", "dimension", "fraction_bits", "step_bits", "mixing", "gradient",
        "max_degree", "prime", "model_limit", "gradient_limit", "start_model", "bounds",
        "weightings", "keys_checked",
    ]  # fmt: skip
    assert (document["mixing"], document["gradient"]) == ([3, 5, 7], [4, 6, 9])


@pytest.mark.checks("CF-3")
@given(st.recursive(big | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=3)))
@example(2**53)
@example(-(2**53))
def test_integers_survive_as_strings(value) -> None:
    written = json.dumps(wire.with_strings({"a": value}))
    assert "9007199254740992" not in written.replace('"9007199254740992"', "").replace(
        '"-9007199254740992"', ""
    )

    def back(found):
        if isinstance(found, list):
            return [back(item) for item in found]
        return wire.integer(found, "a", "CF-3") if isinstance(found, str) else found

    assert back(json.loads(written, parse_float=pytest.fail)["a"]) == value


@pytest.mark.checks("CF-3")
@pytest.mark.parametrize("value", [1.0, True, None, "1.0", "01", "-0x1", "", " 1", "1" * 5000, [1]])
def test_what_is_no_exact_integer_is_refused(value) -> None:
    with pytest.raises(wire.FormError, match="an integer") as caught:
        wire.integer(value, "Y", "CF-5")
    assert caught.value.clause == "CF-5"
    assert wire.integer("-12", "Y", "CF-5") == -12


@pytest.mark.checks("CF-3")
@given(st.floats())
def test_reals_are_read_back_the_same(value: float) -> None:
    written = piped(wire.real_as_json(value))
    assert np.array_equal(float(written), value, equal_nan=True)
    if isinstance(written, str):
        with pytest.raises(wire.FormError, match="a number"):
            wire.reals([written], "point", "CF-5")
    else:
        assert wire.reals([written], "point", "CF-5") == (value,)


def vectors() -> st.SearchStrategy[object]:
    sizes = st.integers(0, 3)
    return st.one_of(
        sizes.map(lambda n: np.zeros(n, dtype=np.int64)),
        sizes.map(lambda n: np.zeros(n, dtype=np.int32)),
        sizes.map(np.zeros),
        sizes.map(lambda n: np.zeros((n, 1), dtype=np.int64)),
        st.lists(big, max_size=3).map(lambda found: actions.vector(tuple(found))),
        st.sampled_from([None, True, 3, 0.5, "?", (0, 0), [0, 0], "0", np.int64(3)]),
        st.just(np.array([1, 2], dtype=object)),
    )


@pytest.mark.checks("CF-7")
@given(vectors(), st.sampled_from(["model", "scaled_gradient"]))
def test_a_vector_is_malformed_exactly_where_the_reference_says_so(
    cases, played, vector: object, field: str
) -> None:
    script = played(cases[0])
    fine = np.zeros(2, dtype=np.int64)
    message = LearningMessage(**({"model": fine, "scaled_gradient": fine} | {field: vector}))
    agent = Agent()
    agent.start(piped(wire.parameters_for_agent(script.parameters)), script.agent, script.key)
    expected = Valid(script.parameters).stages[0].machine.problem(message)
    heard = piped(wire.message_as_json(message))
    assert agent.objection(heard) == (None if expected is None else expected.name)


@pytest.mark.checks("CF-7", "CF-8")
@pytest.mark.parametrize("message", [value.plain() for value in GARBAGE], ids=str)
def test_garbage_is_written_as_what_it_is(message: Message) -> None:
    kinds = {LearningMessage: "learning", bool: "flag", dict: "entries"}
    assert piped(wire.message_as_json(message))["kind"] == kinds.get(type(message), "other")


@pytest.mark.checks("CF-7")
def test_values_and_tags_of_every_kind_are_told_apart() -> None:
    said = {
        (0, "key"): 5, (1, "key"): True, (2, 0): (1, True, 0.5), (3, 0): [1], (4, 0): 1.0,
        (5, 0): "7", (6, 0): None, "text": 1, (1, -1): 1, (True, 0): 1, (7, 0): np.int64(1),
        (1, 2, 3): 1,
    }  # fmt: skip
    entries = piped(wire.message_as_json(said))["entries"]
    assert entries == [
        [0, -1, 5], [1, -1, True], [2, 0, [1, True, {"other": "0.5"}]], [3, 0, {"other": "[1]"}],
        [4, 0, {"other": "1.0"}], [5, 0, {"other": "7"}], [6, 0, None], [-1, -1, 1], [-1, -1, 1],
        [-1, -1, 1], [7, 0, {"other": "1"}], [-1, -1, 1],
    ]  # fmt: skip


@pytest.mark.checks("CF-7", "VB-9")
def test_a_tag_that_stands_twice_is_sent_twice() -> None:
    twice = [[0, -1, 5], [0, -1, None]]
    said = Listed(({(0, "key"): 5}, {(0, "key"): None}))
    assert piped(wire.message_as_json(said)) == {"kind": "entries", "entries": twice}
    unknown = {(9, 0): 1, Again((9, 0), 1): 1, Again("?", 2): 1}
    assert piped(wire.message_as_json(unknown))["entries"] == [[9, 0, 1], [9, 0, 1], [-1, -1, 1]]


@pytest.mark.checks("CF-7")
@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        (3, "kind learning, flag, entries or digest"),
        ({"kind": "other", "text": ""}, "kind learning, flag, entries or digest"),
        ({"kind": ["learning"]}, "kind learning, flag, entries or digest"),
        ({"kind": "digest"}, "fields kind, value"),
        ({"kind": "digest", "value": 0.5}, "an integer"),
        ({"kind": "flag"}, "fields kind, value"),
        ({"kind": "flag", "value": 1}, "true or false"),
        ({"kind": "learning", "model": [1.5], "scaled_gradient": [1]}, "an integer"),
        ({"kind": "entries", "entries": [[0, -1]]}, "source, slot, value"),
        ({"kind": "entries", "entries": [[0, -1, 1], [0, -1, 1]]}, "each tag once"),
        ({"kind": "entries", "entries": [[0, 1, [0, None]]]}, "an integer"),
        ({"kind": "entries", "entries": {}}, "a list"),
    ],
)
def test_a_message_of_no_admitted_form_is_refused(message, wrong: str) -> None:
    with pytest.raises(wire.FormError, match=wrong) as caught:
        wire.message_from_json(message, 1)
    assert caught.value.clause == "CF-7"


@pytest.mark.checks("CF-7")
@pytest.mark.parametrize("model", [[1], [1, 2**63]])
def test_vectors_of_another_length_or_size_are_no_learning_message(model: list[int]) -> None:
    message = {"kind": "learning", "model": model, "scaled_gradient": [1, 2]}
    assert isinstance(wire.message_from_json(message, 2), Malformed)


@pytest.mark.checks("CF-9")
@pytest.mark.parametrize(
    "change",
    [{"reason": 1}, {"round": 1.5}, {"sender": "x"}, {"about": 3}, {"more": 1}, {"phase": None}],
)
def test_an_alarm_of_another_form_is_refused(change) -> None:
    alarm = {"reason": "NO_VALUE", "phase": "p", "round": 1, "sender": None, "about": None}
    assert len(wire.alarms_from_json([alarm])) == 1
    with pytest.raises(wire.FormError) as caught:
        wire.alarms_from_json([alarm | change])
    assert caught.value.clause == "CF-9"
    with pytest.raises(wire.FormError):
        wire.alarms_from_json([3])


@pytest.mark.checks("RE-17")
def test_a_number_of_too_many_digits_is_shown_in_words() -> None:
    for value in (10**5000, -(10**5000), (1, 10**5000)):
        assert wire.shown(value) == "an integer of very many digits"
