"""What a Byzantine agent says is heard in one form, and what it is shown are copies."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import hostile, support
from tests.support import network, privates, same_message
from valid_ref.alarms import Alarm
from valid_ref.execution import Execution, execute
from valid_ref.graph_families import complete, path
from valid_ref.machine import CausalView, Edge, Message, NetworkError, run_machine
from valid_ref.oracle import check, open_recording, write_recording
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.measures import Fast, Plain
from valid_ref.protocols.parameters import Bounds
from valid_ref.protocols.remembered import Remembered
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS, Valid
from valid_ref.wide import WideIntegers
from valid_ref.words import LARGEST_BITS, Again, Border, Listed, Malformed, canonical

PHASES = (LEARNING, KEYS, HASHES, ESTIMATES, AGREEMENT)
SCALARS = (type(None), bool, int, float, str)
TAGS: Mapping[str, list[Any]] = {
    KEYS: [(2, "key"), (0, "key")], HASHES: [(2, 1), (1, 2)], ESTIMATES: [(2, 1), (1, 2)],
}  # fmt: skip


def is_word(word: object) -> bool:
    """Exact types, and nothing that can be written; the definition once more (MO-13)."""
    kind = type(word)
    if kind is tuple:
        return all(map(is_word, word))  # type: ignore[call-overload]
    if kind is MappingProxyType:
        return all(map(is_word, [*word.keys(), *word.values()]))  # type: ignore[attr-defined]
    if kind is np.ndarray:
        return type(word.base) is bytes and not word.flags.writeable  # type: ignore[attr-defined]
    if kind in {LearningMessage, WideIntegers, Listed, Again, Malformed}:
        return all(is_word(getattr(word, field.name)) for field in attrs.fields(kind))
    return kind in SCALARS and (kind is not int or word.bit_length() <= LARGEST_BITS)  # type: ignore[attr-defined]


def said_in(phase: str) -> st.SearchStrategy[Callable[[], object]]:
    """Makers of what is said in this phase: of odd form, or of a form that is nearly proper."""
    if phase == LEARNING:
        return hostile.odd_things() | hostile.learning_messages()
    if phase == AGREEMENT:
        return hostile.odd_things()
    proper: list[object] = {
        KEYS: [5, hostile.Alternating(5)],
        HASHES: [(1,) * 12, hostile.AlternatingTuple((1,) * 12), (True,) * 12],
        ESTIMATES: [(1,) * 2, hostile.AlternatingTuple((1,) * 2), WideIntegers.of((1, 2))],
    }[phase]
    return hostile.odd_things() | hostile.mappings(TAGS[phase], proper)


def saying(words: Mapping[str, Callable[[], object]]) -> Callable[[CausalView], dict[Edge, Any]]:
    """On the edges of agent 2, in every round of a phase: a new object of its kind."""

    def adversary(view: CausalView) -> dict[Edge, Any]:
        edges = view.own_edges if view.phase in words else ()
        return {edge: words[view.phase]() for edge in edges}

    return adversary


def three(**options: Any) -> Any:
    bounds = Bounds((10**6,) * 3, (10**6,) * 3)
    return network(path(3), bounds=bounds, **options)


def executed(adversary: Any, kind: type[Plain] = Remembered, parameters: Any = None) -> Execution:
    parameters = three() if parameters is None else parameters
    byzantine = frozenset({2})
    machine, private = Valid(parameters, kind(parameters)), privates(parameters)
    found = run_machine(
        parameters.graph, machine, private, byzantine=byzantine, adversary=adversary
    )
    return Execution(parameters, byzantine, found.rounds, found.states)


def ends(execution: Execution) -> list[object]:
    """How the honest agents end, with all that they remember, as plain data."""
    found: list[object] = []
    for agent in execution.honest:
        memory = execution.states[agent].memory
        sent = memory.fixed_transcripts
        vectors = [
            [(m.model.tolist(), m.scaled_gradient.tolist()) for m in transcript]
            for transcript in (sent.own, *sent.received.values())
        ]
        found.append((memory.alarms, memory.keys, memory.invalid, vectors))
    return found


# The canonical form.


@pytest.mark.checks("MO-13", "AD-4")
@pytest.mark.parametrize("name", [*hostile.ODD, *hostile.VECTORS])
def test_whatever_is_said_is_heard_as_a_word(name: str) -> None:
    word = (hostile.ODD | hostile.VECTORS)[name]()
    assert is_word(canonical(word))
    assert is_word(canonical({(0, 1): word}))
    assert is_word(canonical((1, word)))
    if name != "huge array":  # a message of it cannot even be made
        assert is_word(canonical(LearningMessage(word, word)))


@pytest.mark.checks("MO-13")
@given(st.data())
def test_words_of_exact_types_are_heard_as_they_are(data: st.DataObject) -> None:
    scalars = st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.text(max_size=3)
    tags = st.tuples(st.integers(0, 3), st.integers(0, 3) | st.just("key"))
    words = st.recursive(
        scalars | st.lists(st.integers()).map(tuple),
        lambda inside: st.lists(inside, max_size=3).map(tuple) | st.dictionaries(tags, inside),
        max_leaves=6,
    )
    word = data.draw(words)
    assert is_word(canonical(word))
    assert canonical(word) == word
    assert canonical(canonical(word)) == word


@pytest.mark.checks("MO-13")
def test_integers_have_a_stated_number_of_bits() -> None:
    largest = 2**LARGEST_BITS - 1
    assert canonical(largest) == largest
    assert canonical(-largest) == -largest
    for word in (largest + 1, -largest - 1, (largest + 1, 0), (True, largest + 1), 10**5000):
        assert canonical(word) == Malformed("an integer of too many bits")
    assert canonical({largest + 1: 1}) == {Malformed("an integer of too many bits"): 1}


@pytest.mark.checks("MO-13")
def test_nesting_and_size_have_limits() -> None:
    assert canonical(hostile.nested(16)) == hostile.nested(16)
    assert canonical(hostile.nested(17)) == Malformed("nested too deeply")
    assert canonical(hostile.nested(9, 1000)) == Malformed("too large")
    assert canonical(((1,) * 2**13,) * (2**13 + 1)) == Malformed("too large")
    assert len(canonical(((1,) * 2**13,) * 2**13)) == 2**13
    assert canonical(np.broadcast_to(np.int64(0), (1 << 40,))) == Malformed("too large")


@pytest.mark.checks("MO-13")
def test_a_key_of_a_mapping_is_no_other_key() -> None:
    tag = (1, 0)
    for odd in ((True, 0), (1.0, 0), hostile.KeyOfAnother(tag), hostile.RaisingTuple((1, 0))):
        heard: Any = canonical({odd: 5})
        (key,) = heard
        assert type(key) is Malformed
        assert key != tag
    assert canonical({Again(tag, 1): 5}) == {Again(tag, 1): 5}


@pytest.mark.checks("MO-13", "LM-5")
def test_words_have_their_own_bytes() -> None:
    memory = bytearray(16)
    array = hostile.over_bytearray(memory)
    heard: Any = canonical(LearningMessage(array, array))
    plain: Any = LearningMessage(array, array)
    wide: Any = canonical(WideIntegers(np.frombuffer(memory, np.uint64).reshape(2, 1)))
    memory[0] = 1
    assert heard.model.tolist() == plain.model.tolist() == [0, 0]
    assert tuple(wide) == (0, 0)
    with pytest.raises(ValueError, match="WRITEABLE"):
        heard.model.setflags(write=True)


@pytest.mark.checks("MO-13", "RE-4")
@pytest.mark.parametrize("text", ["x", "\ud800", "long" * 100])
def test_the_reason_of_a_malformed_word_is_short_ascii(text: str) -> None:
    found: Any = canonical(Malformed(text))
    assert found.text.isascii()
    assert len(found.text) <= 80
    assert canonical(type(text, (), {})() if "\ud800" not in text else hostile.OfRaisingClass())


# The objects that were found: each is an alarm, and nobody's code fails.


FOUND = {
    "alternating subclass": (KEYS, lambda: {(2, "key"): hostile.Alternating(5)}),
    "alternating report": (HASHES, lambda: {(2, 1): hostile.AlternatingTuple((1,) * 12)}),
    "alternating estimate": (ESTIMATES, lambda: {(2, 1): hostile.AlternatingTuple((1,) * 2)}),
    "lying read-only array": (
        LEARNING, lambda: LearningMessage(hostile.lying([2**62] * 2), hostile.lying([2**62] * 2)),
    ),
    "raising object": (AGREEMENT, hostile.Raising),
    "object of a raising class": (HASHES, lambda: {(2, 1): hostile.of_raising_class()}),
    "says it is a bool": (AGREEMENT, lambda: hostile.SaysItIs(bool)),
    "half a message": (LEARNING, lambda: object.__new__(LearningMessage)),
    "read-only raising mapping": (KEYS, lambda: MappingProxyType(hostile.RaisingMapping())),
    "large integer": (KEYS, lambda: 10**5000),
    "large key": (KEYS, lambda: {(2, "key"): 10**5000}),
    "large entries": (ESTIMATES, lambda: {(2, 1): (10**5000,) * 2}),
    "large flag": (AGREEMENT, lambda: 10**5000),
    "large vector": (
        LEARNING, lambda: LearningMessage(np.array([10**5000, 0]), np.zeros(2, np.int64)),
    ),
}  # fmt: skip


@pytest.mark.checks("MO-13", "MO-8", "VB-9", "RE-4", "RE-12")
@pytest.mark.parametrize("name", FOUND)
def test_objects_that_were_found_are_alarms_and_are_recorded(name: str, tmp_path: Path) -> None:
    phase, word = FOUND[name]
    execution = executed(saying({phase: word}))
    wrong = {Alarm.MALFORMED_MESSAGE, Alarm.MALFORMED_VALUE}
    raised = execution.states[1].memory.alarms
    assert {r.alarm for r in raised if r.sender == 2 and r.phase == phase} & wrong
    assert execution.honest_valid == ()
    write_recording(tmp_path / "run", execution, "test")
    assert check(open_recording(tmp_path / "run")).conforms


@pytest.mark.checks("MO-13", "LM-5")
def test_memory_under_a_message_can_be_written_and_nobody_hears_it() -> None:
    memory = bytearray(16)

    def adversary(view: CausalView) -> dict[Edge, Any]:
        if view.phase != LEARNING:
            memory[0] = 77
            return {}
        array = hostile.over_bytearray(memory)
        return dict.fromkeys(view.own_edges, LearningMessage(array, array))

    heard = executed(adversary).states[1].memory.fixed_transcripts.received[2]
    assert [message.model.tolist() for message in heard] == [[0, 0]] * 3


@pytest.mark.checks("MO-13", "LV-6", "GV-3")
@pytest.mark.parametrize("kind", [Plain, Fast, Remembered])
def test_one_tuple_is_no_report_and_no_estimate_at_once(kind: type[Plain]) -> None:
    """4 |V| numbers are a report, and with d = 12 an estimate too; -1 is only in an estimate."""
    parameters, said = three(d=12), (-1,) * 12
    words = {HASHES: lambda: {(2, 1): said}, ESTIMATES: lambda: {(2, 1): said}}
    execution = executed(saying(words), kind, parameters)
    raised = support.alarms(execution, 1)
    malformed = {r.phase for r in raised if r.alarm is Alarm.MALFORMED_VALUE}
    assert malformed == {HASHES}
    both = (1,) * 12
    words = {HASHES: lambda: {(2, 1): both}, ESTIMATES: lambda: {(2, 1): both}}
    assert ends(executed(saying(words), kind, parameters)) == ends(
        executed(saying(words), Plain, parameters)
    )


@pytest.mark.checks("SA-4", "AR-11", "MO-8")
def test_machines_without_a_network_look_at_exact_classes_too() -> None:
    parameters = three()
    learn, agreement = (Valid(parameters).stages[place].machine for place in (0, -1))
    good = np.zeros(2, np.int64)
    for odd in (hostile.lying([2**62] * 2), good.astype(float), good.astype(np.int32), (0, 0)):
        told = {1: LearningMessage(odd, good)}
        found = learn.receive(learn.start(0, privates(parameters)[0].gradient), 1, told)
        assert [raised.alarm for raised in found.alarms] == [Alarm.MALFORMED_MESSAGE]
    ended = agreement.receive(agreement.start(0, False), 1, {1: hostile.SaysItIs(bool)})
    assert [raised.alarm for raised in ended.alarms] == [Alarm.MALFORMED_MESSAGE]


# All measures hear the same.


@pytest.mark.checks("MO-13", "MO-8", "VA-1", "RE-12")
@given(data=st.data())
def test_all_measures_end_alike_whatever_is_said(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(PHASES), min_size=1, unique=True))
    words = {phase: data.draw(said_in(phase), label=phase) for phase in chosen}
    executions = [executed(saying(words), kind) for kind in (Plain, Fast, Remembered)]
    plain, fast, remembered = map(ends, executions)
    assert plain == fast == remembered
    place = tmp_path_factory.mktemp("hostile") / "run"
    write_recording(place, executions[2], "test")
    assert check(open_recording(place)).conforms


# What the adversary is shown.


def written_to(thing: object, seen: set[int]) -> None:
    """Try to change everything that can be reached by attributes, keys and entries."""
    if id(thing) in seen or isinstance(thing, type) or callable(thing):
        return
    seen.add(id(thing))
    parts: list[object] = []
    if isinstance(thing, Mapping):
        parts = [*thing.values()]
        for change in (dict.clear, dict.popitem):
            grabbed: list[Any] = [thing]
            thing == Grabbing(grabbed)  # noqa: B015 - a read-only mapping gives away what is inside
            for each in grabbed:
                _try(lambda each=each, change=change: change(each))
    elif isinstance(thing, tuple | list):
        parts = [*thing]
    elif isinstance(thing, np.ndarray):
        _try(lambda: thing.setflags(write=True))
        _try(lambda: thing.__setitem__(..., 77))
        _try(lambda: setattr(thing, "shape", (1, *thing.shape)))
        parts = [thing.base]
    elif attrs.has(type(thing)):
        for field in attrs.fields(type(thing)):
            parts.append(getattr(thing, field.name))
            _try(lambda name=field.name: setattr(thing, name, None))
            _try(lambda name=field.name: object.__setattr__(thing, name, None))
    for part in parts:
        written_to(part, seen)


def _try(change: Callable[[], object]) -> None:
    with contextlib.suppress(TypeError, ValueError, AttributeError, KeyError):
        change()


class Grabbing:
    """Keeps what it is compared with."""

    def __init__(self, found: list[Any]) -> None:
        self.found = found

    def __eq__(self, other: object) -> bool:
        self.found.append(other)
        return True

    __hash__ = None


@pytest.mark.checks("MO-13", "AD-4", "MO-6")
@pytest.mark.parametrize("graph", [path(3), complete(4)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_adversary_that_writes_to_all_it_sees_changes_nothing(graph: Any) -> None:
    parameters = network(graph)

    def vandal(view: CausalView) -> dict[Edge, Message]:
        seen = {id(view.graph), id(view.byzantine)}
        for part in (view.said, view.byzantine_states, *view.history):
            written_to(part, seen)
        return {}

    quiet = support.run(parameters, byzantine=[2])
    spoiled = support.run(parameters, vandal, byzantine=[2])
    assert ends(spoiled) == ends(quiet)
    for left, right in zip(quiet.rounds, spoiled.rounds, strict=True):
        assert left.deviations == right.deviations == {}
        assert all(same_message(left.said[v], right.said[v]) for v in range(graph.agents))
    assert spoiled.honest_valid == quiet.honest_valid == tuple(v for v in quiet.honest)


@pytest.mark.checks("MO-13", "AD-2")
def test_nothing_can_be_deleted_from_what_was_said() -> None:
    def adversary(view: CausalView) -> dict[Edge, Message]:
        with pytest.raises(TypeError):
            del view.said[0]  # type: ignore[attr-defined]
        with pytest.raises(TypeError):
            view.byzantine_states[2] = None
        for earlier in view.history:
            with pytest.raises(TypeError):
                del earlier.said[0]  # type: ignore[attr-defined]
        return {}

    execution = support.run(three(), adversary, byzantine=[2])
    assert execution.honest_valid == (0, 1)


@pytest.mark.checks("MO-13", "AD-2")
def test_a_copy_that_is_said_again_is_the_word_itself() -> None:
    border = Border()
    learned = LearningMessage(np.array([1]), np.array([2]))
    estimate = WideIntegers.of((1, 2))
    held = MappingProxyType({(0, 1): estimate, (0, 2): (1, 2)})
    shown: Any = border.words({0: learned, 1: held})
    assert shown[0] is not learned
    assert shown[1] is not held
    assert shown[0].model is not learned.model
    assert shown[1][0, 1].words is not estimate.words
    heard: Any = border.hear({0: shown[0], 1: shown[1], 2: dict(shown[1]), 3: learned})
    assert heard[0] is learned
    assert heard[1] is held
    assert heard[2][0, 1] is estimate
    assert heard[2][0, 2] is held[0, 2]
    assert heard[3] is not learned
    assert same_message(heard[3], learned)
    twice: Any = border.hear({(2, 0): learned, (2, 1): learned})
    assert twice[2, 0] is twice[2, 1]


@pytest.mark.checks("MO-13")
def test_states_of_a_long_run_are_copied_once_and_forgotten_in_time() -> None:
    border, chain = Border(), None
    for _ in range(3000):  # deeper than calls may be nested
        chain = Link(chain, np.zeros(1))
        shown: Any = border.states({0: chain})[0]
        assert shown is not chain
        assert shown.array is not chain.array
    assert len(border._states) <= 6
    fresh: Any = Border().states({0: chain})[0]
    assert fresh.earlier is not chain.earlier


@attrs.frozen(eq=False)
class Link:
    """A chain, as the states of learning are."""

    earlier: "Link | None"
    array: np.ndarray


# What an adversary cannot do is refused.


@pytest.mark.checks("AD-4")
@pytest.mark.parametrize(
    "answer",
    [
        None, [((2, 1), 0)], hostile.AlternatingDict({(2, 1): 0}), hostile.RaisingMapping(),
        {2: 0}, {(2, 1, 0): 0}, {(2, hostile.Alternating(1)): 0}, {(2, True): 0}, {(2, 1.0): 0},
        {hostile.KeyOfAnother((2, 1)): 0}, {(2, 10**5000): 0}, {hostile.OfRaisingKey(): 0},
    ],
    ids=range(12),
)  # fmt: skip
def test_an_answer_that_is_no_dict_of_edges_is_refused(answer: Any) -> None:
    with pytest.raises(NetworkError) as caught:
        execute(three(), privates(three()), byzantine=frozenset({2}), adversary=lambda _: answer)
    assert caught.value.clause == "AD-4"


@pytest.mark.checks("MO-13")
def test_a_tag_whose_parts_were_taken_away_is_no_word() -> None:
    def word() -> object:
        key = Again((3, "key"), 1)
        said = {key: 5}
        object.__delattr__(key, "tag")
        return said

    heard = canonical(word())
    assert isinstance(heard, MappingProxyType)
    assert [type(key) for key in heard] == [Malformed]


@pytest.mark.checks("AD-4")
def test_the_graph_that_an_adversary_sees_is_a_copy() -> None:
    def adversary(view: CausalView) -> dict[tuple[int, int], object]:
        object.__setattr__(view.graph, "_neighbours", ((1,), (0,), ()))
        return {}

    parameters = support.network(complete(3))
    assert support.run(parameters, adversary, byzantine=[2]).honest_valid == (0, 1)
    assert parameters.graph.neighbours(0) == (1, 2)
