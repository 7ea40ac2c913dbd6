"""Scenario documents: strict reading, round trip, and a schema that says the same."""

import copy
import json
from typing import Any, Literal

import attrs
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.adversary.catalogue import AttackPart
from valid_ref.adversary.data import Benign
from valid_ref.document import (
    DocumentError,
    number,
    schema,
    structure,
    structure_by_definition,
    unstructure,
    whole_number,
)
from valid_ref.errors import ValidRefError
from valid_ref.graph_families import parse_family
from valid_ref.losses import Noise
from valid_ref.named_parts import parse_part, value_of
from valid_ref.scenario import (
    Scenario,
    load_scenario,
    parts,
    scenario_as_json,
    scenario_from_json,
    scenario_schema,
    scenario_text,
)
from valid_ref.scenario.convert import parse_integers

SCENARIOS = [
    Scenario(seed=0),
    Scenario(
        graph=parts.Edges(3, ((0, 1), (1, 2))),
        loss=parts.Quadratics(
            tuple(parts.QuadraticAgent(((1.0,),), (float(c),)) for c in range(3))
        ),
        schedule=parts.ExplicitSteps((1, 2), (3, 4)),
        rounds=2,
        start=(0.5,),
        keys=(1, 2, 3),
        bounds=parts.ConfiguredBounds(9.0, 9.0),
        checks=(
            parts.Check("a", parts.Exponential(0.9), parts.ConfiguredThresholds(1.0, 2.0)),
            parts.Check("b", parts.Polynomial(2), parts.CertifiedThresholds(0.1)),
        ),
        delta=1.0,
        eps_success=0.1,
        without=("P07", "P14"),
        byzantine=(2,),
        attack=Benign(0.25),
        seed=0,
    ),
    Scenario(
        loss=parts.Ridge((parts.DataAgent(((1.0, 2.0),), (1.0,)),), 0.5),
        schedule=parts.ConstantSteps(0.1, 0.1),
        bounds=parts.NoBounds(),
        checks=(),
        seed=0,
    ),
]


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_survives_its_document(scenario: Scenario) -> None:
    text = scenario_text(scenario)
    assert scenario_from_json(text) == scenario
    jsonschema.validate(json.loads(text), scenario_schema())


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(p for key, child in children for p in paths(child, (*path, key)))]


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


@pytest.mark.checks("VA-6")
@given(st.data())
def test_reader_and_schema_refuse_the_same_documents(data: st.DataObject) -> None:
    """Whatever the reader takes the schema takes; what only the reader refuses is a value rule."""
    document = scenario_as_json(data.draw(st.sampled_from(SCENARIOS)))
    path = data.draw(st.sampled_from(paths(document)))
    junk = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(allow_nan=False, allow_infinity=False, width=16),  # JSON has neither
        st.text(max_size=3),
        st.lists(st.integers(0, 2), max_size=2),
        st.just({"kind": "paper"}),
    )
    changed = replaced(document, path, data.draw(junk))
    valid = jsonschema.Draft202012Validator(scenario_schema()).is_valid(changed)
    try:
        scenario_from_json(json.dumps(changed))
    except DocumentError as error:
        refused_for_form = error.clause == "VA-6" and ": " in error.message
        if valid:  # an integral float is an integer for the schema, or a rule on values speaks
            assert (
                not refused_for_form
                or "expected" in error.message
                or "a class of your own" in error.message
                or ("format" in str(error) or "negative" in error.message)
                or "coins are not" in error.message
            )
    else:
        assert valid


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "$: not JSON"),
        ('{"seed": NaN}', "$: NaN is not a JSON number"),
        ('{"delta": Infinity}', "$: Infinity is not a JSON number"),
        ('{"delta": -Infinity}', "$: -Infinity is not a JSON number"),
        ('{"seed": 1, "seed": 2}', "the key 'seed' stands twice"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "$: expected an object"),
        ('{"sed": 1}', "$.sed: unknown field; did you mean 'seed'?"),
        ('{"seed": 1.5}', "$.seed: expected an integer, found 1.5"),
        ('{"seed": true}', "$.seed: expected an integer, found true"),
        ('{"seed": -1}', "seed = -1 is not an integer from 0 on"),
        ('{"delta": 1e999}', "$.delta: expected a finite number"),
        ('{"graph": {"kind": "famly"}}', '$.graph.kind: no graph is called "famly"'),
        ('{"graph": 3}', "$.graph: expected an object, or a text"),
        ('{"graph": {"kind": "edges", "agents": 2}}', "$.graph.edges: missing"),
        (
            '{"graph": {"kind": "edges", "agents": 2, "edges": [[0]]}}',
            "$.graph.edges[0]: expected an array of 2",
        ),
        (
            '{"graph": {"kind": "edges", "agents": 2, "edges": [[0, "x"]]}}',
            "$.graph.edges[0][1]: expected an integer",
        ),
        (
            '{"loss": {"kind": "random-quadratic", "noise": "loud"}}',
            "$.loss.noise: expected one of 'none', 'signs', 'gaussian'",
        ),
        ('{"checks": [{"weights": {"kind": "exponential", "gamma": 2}}]}', "$.checks[0].weights"),
        ('{"without": ["P99"]}', "no switch P99"),
        ('{"attack": {"kind": "benign"}}', "an attack needs Byzantine agents"),
        ('{"format": "other"}', 'format "other"'),
    ],
)
def test_wrong_documents_are_refused_with_the_path(text: str, words: str) -> None:
    with pytest.raises(DocumentError) as caught:
        scenario_from_json(text)
    assert words in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path) -> None:
    with pytest.raises(DocumentError, match="cannot read"):
        load_scenario(tmp_path / "missing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    with pytest.raises(DocumentError, match="cannot read"):
        load_scenario(tmp_path / "binary.json")
    (tmp_path / "good.json").write_text(scenario_text(SCENARIOS[1]))
    assert load_scenario(tmp_path / "good.json") == SCENARIOS[1]


def test_shorthand_on_the_command_line() -> None:
    assert parse_part(
        parts.LossPart, "random-quadratic:dimension=3,noise=signs,spread=0.5", "x"
    ) == (parts.RandomQuadratics(3, noise=Noise.SIGNS, spread=0.5))
    assert parse_integers("3, -1,") == (3, -1)
    with pytest.raises(DocumentError, match=r"x\.dimensio: unknown field; did you mean"):
        parse_part(parts.LossPart, "random-quadratic:dimensio=3", "x")
    with pytest.raises(DocumentError, match=r"\[1\]: expected an integer"):
        parse_integers("1,b")


@pytest.mark.checks("VA-6")
@given(st.integers(), st.sampled_from(["٣", "३", "３", "²", "½"]))
def test_numbers_are_read_in_the_digits_from_0_to_9_alone(value: int, digit: str) -> None:
    assert whole_number(str(value)) == number(str(value)) == value_of(str(value)) == value
    assert number(f"{value}.5") == float(f"{value}.5")
    for text in (digit, f"{value}{digit}", f".{digit}", f"{digit}e1", "inf", "nan", "1e999", ""):
        assert whole_number(text) is None
        assert number(text) is None
    for text in (digit, f"{value}{digit}", f".{digit}"):
        assert value_of(text) == text
        for option in (f"gaussian:sigma={text}", f"isolation:victim={text}"):
            with pytest.raises(DocumentError):
                parse_part(AttackPart, option, "--attack")
        with pytest.raises(DocumentError):
            parse_integers(text)
        with pytest.raises(ValidRefError):
            parse_family(f"complete:{text}")


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize(
    "rest", [":", ": ", ":,", ":kappa=3,", ":,kappa=3", ":kappa=3,,without=[]"]
)
def test_an_option_that_is_empty_is_refused(rest: str) -> None:
    with pytest.raises(DocumentError, match="expected an option such as name=value after every"):
        parse_part(parts.ValidationPart, f"lean{rest}", "--validation")
    own = f"tests.valid_ref.test_named_parts:Loud{rest}"
    for text in (f"gaussian{rest}", own):
        with pytest.raises(DocumentError, match="expected an option such as name=value after"):
            structure(parts.AnyAttack, text, "--attack")


def test_every_default_is_written_out() -> None:
    document = scenario_as_json(Scenario(seed=0))
    assert set(document) == {field.name for field in attrs.fields(Scenario)}


@pytest.mark.checks("VA-6")
def test_a_word_of_a_closed_list_is_read_and_described() -> None:
    @attrs.frozen
    class Turn:
        """A turn."""

        direction: Literal["left", "right"] = "left"

    assert unstructure(structure(Turn, {"direction": "right"})) == {"direction": "right"}
    assert schema(Turn)["properties"]["direction"] == {"enum": ["left", "right"]}
    with pytest.raises(DocumentError, match=r"\$\.direction: expected one of 'left', 'right'"):
        structure(Turn, {"direction": "up"})


ROWS = st.recursive(
    st.one_of(st.integers(-3, 3), st.booleans(), st.none(), st.just(1.0), st.just("1")),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.checks("VA-6")
@given(value=st.one_of(ROWS, st.lists(st.lists(st.integers(), min_size=2, max_size=2))))
def test_rows_of_integers_are_read_at_once_as_they_are_one_by_one(value) -> None:
    kind = tuple[tuple[int, int], ...]

    def outcome(read):
        try:
            return repr(read())
        except DocumentError as error:
            return str(error)

    assert outcome(lambda: structure(kind, value)) == outcome(
        lambda: structure_by_definition(kind, value, "$")
    )


@pytest.mark.checks("VA-6")
@given(value=st.recursive(st.one_of(st.integers(), st.booleans()), lambda i: st.tuples(i, i)))
def test_tuples_of_any_depth_become_lists(value) -> None:
    def plain(one):
        return [plain(item) for item in one] if isinstance(one, tuple) else one

    assert repr(unstructure(value)) == repr(plain(value))
