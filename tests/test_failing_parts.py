"""Whatever somebody's own parts raise is a typed refusal in Python, and a line of a command."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pages import called
from tests.theirs import ERRORS, HOOKS, Loss, Untyped, scenario
from valid_ref import Deviation, Scenario, run
from valid_ref.adversary.attack import AttackError
from valid_ref.document import DocumentError
from valid_ref.errors import ValidRefError
from valid_ref.losses.own import GradientError
from valid_ref.machine import NetworkError
from valid_ref.scenario import scenario_from_json, scenario_text

THEIRS = Path(__file__).parent / "theirs.py"
PLACES = [(place, hook) for place, hooks in HOOKS.items() for hook in hooks]


@pytest.fixture(scope="module", autouse=True)
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current directory; commands put it on the path of modules."""
    folder = tmp_path_factory.mktemp("theirs")
    shutil.copy(THEIRS, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        yield folder
    for name in ("theirs", "ends"):
        sys.modules.pop(name, None)


def words(place: str, hook: str, error: str) -> tuple[str, ...]:
    """The options of a command that asks everything of its parts, one of which fails."""
    name = f"theirs:{place.capitalize()}:fails={hook},error={error}"
    usual = {"graph": "path:3", "loss": "random-ridge", "attack": "silent-source"} | {place: name}
    return tuple(word for part, text in usual.items() for word in (f"--{part}", text))


def refused(*command: str) -> str:
    """The line that a command is refused with."""
    status, output, error = called(("valid-ref", *command))
    assert status == 2, (output, error)
    assert "Traceback" not in output + error
    assert error.count("\n") == 1
    return error


@pytest.mark.checks("VA-10", "MO-14")
@given(place=st.sampled_from(PLACES), error=st.sampled_from(sorted(ERRORS)), lean=st.booleans())
@settings(max_examples=30)
def test_what_a_part_raises_is_refused_by_name(place, error, lean) -> None:
    part, hook = place
    if error == "AttributeError" and hook in {"dimension", "mu", "beta"}:
        return  # then Python itself says that there is no such attribute
    lean = lean or hook == "tell"
    given = f"theirs:{part.capitalize()}:fails={hook},error={error}"
    with pytest.raises(ValidRefError) as caught:
        run(scenario(**{part: given}, validation="lean" if lean else "paper"))
    assert f"theirs:{part.capitalize()}" in str(caught.value)
    assert error in str(caught.value)
    assert type(caught.value.__cause__).__name__ == error
    how = ("--validation", "lean") if lean else ()
    command = ("run", "--rounds", "2", "--seed", "0", "--byzantine", "1", *how)
    assert f"theirs:{part.capitalize()}" in refused(*command, *words(part, hook, error))


@pytest.mark.checks("VA-10")
def test_ctrl_c_in_a_part_is_ctrl_c(monkeypatch) -> None:
    def stop(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Loss, "gradient", stop)
    with pytest.raises(KeyboardInterrupt):
        run(scenario(loss=Loss()))


@pytest.mark.checks("VA-6", "VA-10")
@pytest.mark.parametrize("line", ["raise SystemExit(0)", "raise BrokenPipeError", "import ends.it"])
def test_a_module_that_ends_the_program_is_refused(project: Path, line: str) -> None:
    sys.modules.pop("ends", None)
    (project / "ends.py").write_text(f"{line}\n")
    assert "cannot import ends: " in refused("run", "--byzantine", "1", "--attack", "ends:Attack")


@pytest.mark.checks("VA-6")
def test_fields_without_a_known_type_are_refused_only_where_they_are_given(project: Path) -> None:
    attack: Any = scenario(attack="theirs:Untyped:size=2").attack
    assert attack.size == 2
    for name in ("strength", "loud"):
        command = ("run", "--byzantine", "1", "--attack", f"theirs:Untyped:{name}=1")
        assert f"attack.{name}: theirs:Untyped says no type" in refused(*command)
    with pytest.raises(DocumentError, match=r"attack.strength: tests.theirs:Untyped says no type"):
        scenario_text(scenario(attack=Untyped()))


@pytest.mark.checks("VA-6", "VA-10")
@given(
    numbers=st.lists(st.integers()),
    names=st.frozensets(st.text()),
    by_name=st.dictionaries(st.text(), st.lists(st.floats())),
    file=st.sampled_from([Path("a/b"), Path()]),
)
@settings(max_examples=25)
def test_what_is_written_is_read_back_equal_or_refused_by_its_field(**fields: Any) -> None:
    held = scenario(attack=Plain(**fields))
    try:
        text = scenario_text(held)
    except DocumentError as error:
        numbers = [one for several in fields["by_name"].values() for one in several]
        assert not np.isfinite(numbers).all()
        assert "attack.by_name" in error.message
    else:
        assert scenario_from_json(text) == held


@attrs.frozen
class Plain:
    """An attack with fields that are not plain."""

    numbers: list[int]
    names: frozenset[str]
    by_name: dict[str, list[float]]
    file: Path
    odd: complex | None = None

    def build(self, setting: object) -> Deviation:
        return Deviation()


@pytest.mark.checks("VA-10")
def test_a_field_that_no_document_holds_is_named() -> None:
    held = scenario(attack=Plain([], frozenset(), {}, Path(), odd=1j))
    with pytest.raises(DocumentError, match=r"attack.odd cannot be written down: TypeError"):
        scenario_text(held)
    run(held)


class Given:
    """An attack that builds what it is given."""

    def __init__(self, *given: Any) -> None:
        self.given = given

    def build(self, setting: object) -> Any:
        return Deviation(*self.given)


@pytest.mark.checks("VA-10", "AD-1", "AD-4")
@pytest.mark.parametrize(
    ("given", "said", "kind"),
    [
        (("x",), "adversary of a Deviation is a str, not a function", AttackError),
        ((lambda _view: {}, 3), "gradient_sources of a Deviation is no mapping", AttackError),
        (
            (lambda _view: {}, {1: "x"}),
            r"gradient_sources\[1\] of a Deviation is a str",
            AttackError,
        ),
        ((lambda _view: {}, {}, 3), "tell of a Deviation is a int", AttackError),
        ((lambda _view: {}, {0: len}), "gives gradients of 0, which is no Byz", AttackError),
        ((lambda _view: {}, {1: lambda _t, x: 1j * x}), "is no array of real numbers", AttackError),
        ((lambda _view: {}, {1: lambda _t, _x: "0"}), "is no array of real numbers", AttackError),
        ((lambda _view: [],), "answers with a dict of edges and words", NetworkError),
        ((lambda _view: {}, {}, lambda _v, _a: 3), "tell gives a int, not an Account", AttackError),
    ],
)
def test_a_deviation_of_another_form_is_refused(given, said, kind) -> None:
    with pytest.raises(kind, match=said):
        run(scenario(attack=Given(*given), validation="lean"))


class Towards:
    """A loss whose attributes are what they are set to."""

    dimension: Any = 2

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def gradient(self, agent: int, t: int, point: Any) -> Any:
        return point - 1


@pytest.mark.checks("MO-10", "MO-14")
@pytest.mark.parametrize(
    "attributes",
    [
        {"dimension": True},
        {"dimension": "2"},
        {"dimension": 2.0},
        {"mu": True},
        {"mu": "1"},
        {"mu": np.bool_(1)},
        {"mu": 1j},
        {"mu": [1.0, 2.0]},
        {"mu": float("nan")},
        {"mu": -1.0},
        {"mu": 0},
        {"mu": 2.0, "beta": 1.0},
        {"beta": float("inf")},
        {"F0": -1.0},
        {"sigma": "small"},
    ],
)
def test_a_constant_that_is_none_is_refused(attributes: dict[str, Any]) -> None:
    with pytest.raises(ValidRefError) as caught:
        Scenario(loss=Towards(**attributes))
    assert caught.value.clause in {"MO-9", "MO-10", "MO-14"}


@pytest.mark.checks("MO-14", "VA-8")
@pytest.mark.parametrize("method", ["gradient", "sample"])
def test_a_gradient_that_depends_on_more_than_its_arguments_is_refused(method: str) -> None:
    hidden = np.random.default_rng(0)

    def drawn(agent: int, t: int, point: Any, generator: Any = None) -> Any:
        return point + hidden.standard_normal(2)

    with pytest.raises(GradientError, match="is asked for twice and gives two results"):
        run(scenario(loss=Towards(mu=1.0, beta=1.0, **{method: drawn})))
