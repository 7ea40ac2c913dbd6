"""Every named attack: round trip, determinism, a description, a line in the command line."""

import enum
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.adversary.catalogue import ATTACKS, LEAN_ATTACKS, AttackPart, describe
from valid_ref.document import structure, unstructure
from valid_ref.oracle import recording_digest
from valid_ref.runs import run
from valid_ref.scenario import Scenario, parts, scenario_from_json, scenario_schema, scenario_text
from valid_ref.scenario.scenario import parse_part
from valid_ref.schedule import Precision

NAMES = [kind for kind in ATTACKS if kind != "edits"]


def options(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type."""
    if get_origin(kind) in {Union, types.UnionType}:
        return st.one_of([options(k) for k in get_args(kind)])
    if get_origin(kind) is tuple:
        return st.lists(options(get_args(kind)[0]), max_size=4).map(tuple)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return st.sampled_from(kind)
    plain = {
        float: st.floats(allow_nan=False, allow_infinity=False),
        int: st.integers(-(2**65), 2**65),
        bool: st.booleans(),
        str: st.text(),
        type(None): st.none(),
    }
    return plain[kind]


@st.composite
def attacks(draw: st.DrawFn) -> Any:
    attack = ATTACKS[draw(st.sampled_from(NAMES))]
    hints = get_type_hints(attack)
    return attack(**{f.name: draw(options(hints[f.name])) for f in attrs.fields(attack)})


@pytest.mark.checks("AD-9", "VA-6")
@given(attacks())
def test_every_attack_survives_the_round_trip(attack) -> None:
    scenario = Scenario(byzantine=(1,), attack=attack, seed=0)
    assert scenario_from_json(scenario_text(scenario)) == scenario
    assert structure(AttackPart, unstructure(attack)) == attack


@pytest.mark.checks("AD-9")
def test_every_attack_has_a_text_that_says_what_to_expect() -> None:
    described = describe()
    assert [one.kind for one in described] == list(ATTACKS)
    assert (len(described), len(LEAN_ATTACKS)) == (41, 13)
    for one in described:
        assert one.expected, one.kind
        assert one.summary
        assert parse_part(AttackPart, one.kind, "--attack") == ATTACKS[one.kind]()
        assert tuple(one.options) == tuple(f.name for f in attrs.fields(ATTACKS[one.kind]))
    assert "hidden-hashes" in str(scenario_schema())
    assert parse_part(AttackPart, "gaussian:sigma=2,per_edge=true", "--attack").sigma == 2


SMALL = Scenario(
    graph=parts.Edges(6, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 3))),
    loss=parts.RandomQuadratics(2),
    rounds=4,
    precision=Precision(12, 10),
    bounds=parts.ConfiguredBounds(1e3, 1e3),
    checks=(parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e3, 1e4)),),
    delta=100.0,
    seed=3,
)


PAIR = parts.Family("path:2")

LEAN = {
    "guessed-shares": parts.Lean(kappa=1, without=("nonce", "range")),
    "late-total": parts.Lean(kappa=1, without=("total-first",)),
}
"""Of attacks that need a part left out: the validation without it."""


def setting_for(kind: str) -> Scenario:
    """A small scenario in which an attack can be built with its defaults."""
    changes: dict[str, Any] = {"byzantine": (1, 2)}
    if kind.startswith("hidden"):
        changes = {"byzantine": (0, 1, 4, 5)}
    if kind == "balanced-report":
        changes = {"byzantine": (0,), "graph": parts.Family("cycle:5"), "keys_checked": "own"}
    if kind == "early-keys":
        changes |= {"without": ("P11",)}
    if kind in LEAN_ATTACKS:
        changes |= {"validation": LEAN.get(kind, parts.Lean())}
    if kind == "guessed-shares":
        changes |= {"prime": 257, "precision": Precision(1, 1), "rounds": 2, "graph": PAIR}
        changes |= {"loss": parts.RandomQuadratics(1, offset=0.0), "byzantine": (1,)}
        changes |= {
            "schedule": parts.ConstantSteps(0.5, 0.5),
            "bounds": parts.ConfiguredBounds(9, 9),
        }
    document = unstructure(attrs.evolve(SMALL, byzantine=(1,), attack=ATTACKS[kind]()))
    return structure(Scenario, document | unstructure_all(changes))


def unstructure_all(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: unstructure(value) for name, value in changes.items()}


@pytest.mark.checks("VA-8", "AD-9")
@pytest.mark.parametrize("kind", ATTACKS)
def test_the_same_seed_gives_the_same_run(kind: str) -> None:
    first, second = run(setting_for(kind)), run(setting_for(kind))
    if kind in LEAN_ATTACKS:
        assert first.as_json() == second.as_json()
    else:
        assert recording_digest(first) == recording_digest(second)


@pytest.mark.checks("VA-8")
def test_noise_comes_from_the_seed_alone() -> None:
    scenario = setting_for("gaussian")
    other = attrs.evolve(scenario, seed=4)
    assert recording_digest(run(scenario)) != recording_digest(run(other))
