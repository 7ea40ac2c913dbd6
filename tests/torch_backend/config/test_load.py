"""Experiments as documents: presets, refusals with their path, changes, the schema."""

import copy
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_backend.attacks import Gaussian, NoAttack
from torch_backend.config.experiment import Experiment, experiment_document, jobs
from torch_backend.config.load import changed, experiment_schema, load, overlaid, presets
from torch_backend.config.response import ResponseOptions
from torch_backend.errors import ConfigError
from torch_backend.rules import BridgeMedian, Respond, Ubar, ValidRule
from valid_ref.document import structure
from valid_ref.named_parts import name_of

NAMES = sorted(presets())


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text('about = "mine"\n' + text, encoding="utf-8")
    return str(path)


@pytest.mark.checks("EX-13")
@pytest.mark.parametrize("name", NAMES)
def test_presets_are_whole_and_small_variants_are_smaller(name: str) -> None:
    whole, quick = load(name), load(name, quick=True)
    assert len(whole.seeds) >= 3
    assert whole.rounds >= {"demo": 100, "honest": 20}.get(name, 300)
    assert (whole.steps.counts, whole.pixels) == ("epoch", "unit")  # preset A
    assert len(jobs(quick)) * quick.rounds * 3 < len(jobs(whole)) * whole.rounds
    assert structure(Experiment, experiment_document(whole)) == whole


@pytest.mark.checks("EX-13")
def test_the_presets_are_the_experiments_of_the_paper() -> None:
    assert {"fig-noniid", "fig-iid", "fig-noniid-attack", "detection", "demo", "honest"} <= set(
        NAMES
    )
    three = (ValidRule(), Ubar(), BridgeMedian())
    assert load("fig-noniid").rules == load("fig-iid").rules == three
    assert name_of(load("fig-noniid").partition) == "rotated"
    assert name_of(load("fig-iid").partition) == "iid"
    assert load("fig-noniid").attacks == (NoAttack(),)
    attacked = load("fig-noniid-attack")
    assert attacked.rules == three
    assert [getattr(a, "sigma", 0) for a in attacked.attacks] == [0, 1e-3, 1e-2, 0.1, 1]
    table = load("detection")
    assert [getattr(a, "sigma", 0) for a in table.attacks] == [0, 3e-4, 1e-3, 3e-3, 1e-2, 0.1]
    assert table.detection.gammas == (0.0, 0.5, 0.9, 0.99, 0.999)
    assert all(a.keeps and a.gradient == "consistent" for a in table.attacks[1:])


@pytest.mark.checks("EX-12")
def test_defaults_are_those_of_the_specification() -> None:
    found = experiment_document(Experiment("x"))
    assert found["graph"] == {"kind": "family", "name": "paper"}
    assert found["model"] == {"kind": "mlp", "hidden": [128, 64]}
    assert (found["batch"], found["rounds"], found["pixels"]) == (300, 400, "standardised")
    assert found["partition"]["kind"] == "rotated"
    assert found["partition"]["direction"] == "counter_clockwise"
    assert found["partition"]["test_probability"] == 0.4
    assert found["steps"] == {
        "initial": 5,
        "counts": "round",
        "mixing": {"kind": "constant", "eta": 1 / 11},
    }
    assert found["start"] == {"kind": "random"}
    assert (found["attacks"], found["byzantine"]) == ([{"kind": "none"}], [4])
    assert found["detection"] == {
        "gammas": [0.9, 0.99],
        "bits": 30,
        "level": 0.05,
        "tails": "upper",
        "pilots": 5,
        "runs": None,
        "first_seed": 1000,
    }
    assert found["common_seed"] is None
    assert found["precision"] == {"fraction_bits": 28, "step_bits": 20}
    assert set(found) == {field.name for field in attrs.fields(Experiment)}
    ubar = experiment_document(Experiment("x", rules=(Ubar(), BridgeMedian())))["rules"]
    assert ubar[0] == {
        "kind": "ubar",
        "rho": 0.4,
        "mixing": 0.5,
        "count": "max1",
        "fallback": "min_loss",
    }
    assert ubar[1] == {"kind": "bridge-m", "own": "included", "median": "mean_of_middle"}


@pytest.mark.checks("EX-12")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("batchh = 3", "batchh: unknown field; did you mean 'batch'?"),
        ("batch = 0", "batch = 0 is not an integer from 1 on"),
        ("batch = true", "batch: expected an integer, found true"),
        ('pixels = "grey"', "pixels: expected one of 'standardised', 'unit'"),
        ('model = { kind = "mpl" }', 'model.kind: no model is called "mpl"'),
        ('model = { kind = "mpl" }', "did you mean 'mlp'?"),
        ('[[rules]]\nkind = "ubar"\nroh = 1', "rules[0].roh: unknown field; did you mean 'rho'?"),
        ('[[rules]]\nkind = "ubar"\nrho = 2', "rules[0]: "),
        ("rules = []", "rules: at least one is needed"),
        ("seeds = [1, 1]", "seeds: one stands twice"),
        ("seeds = [-1]", "seeds: -1 is negative"),
        ("seeds = [1003]", "1003 is also a seed of calibration"),
        ("seeds = [1023]", "1023 is also a seed of calibration"),
        ("detection = { runs = 18 }", "18 rehearsals give a level of 1/19 at best"),
        ("detection = { level = 0.01, runs = 19 }", "the level 0.01 needs 99"),
        ("detection = { level = 0 }", "level = 0.0 is not a number in (0, 1]"),
        ("detection = { level = 1 }", "the level 1.0 is not between 0 and 1"),
        ("detection = { pilots = 0 }", "pilots = 0 is not an integer from 1 on"),
        ('detection = { tails = "lower" }', "tails: "),
        ("detection = { factor = 1.1 }", "factor: unknown field"),
        ("common_seed = -1", "common_seed = -1 is not an integer from 0 on"),
        ("detection = { gammas = [1.5] }", "gamma = 1.5 is outside 0..1"),
        ("detection = { gammas = [0.5, 0.5] }", "a gamma stands twice"),
        ('byzantine = []\nattacks = [{ kind = "gaussian", sigma = 1 }]', "needs Byzantine agents"),
        ('format = "other"', "format 'other'"),
        ("[quick]\nbatchh = 3", "batchh: unknown field"),
        ("quick = 3", "quick is not a table"),
        ("batch = ", "not TOML"),
    ],
)
def test_wrong_documents_are_refused_with_the_path(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, text))
    assert words in str(caught.value)
    assert str(tmp_path / "mine.toml") in str(caught.value)


@pytest.mark.checks("EX-12", "EX-13")
def test_unknown_presets_and_files_are_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'fig-noniid'"):
        load("fig-nonid")
    with pytest.raises(ConfigError, match="known: checks, demo"):
        load("zzz")
    with pytest.raises(ConfigError, match="cannot read"):
        load("missing.toml")


@pytest.mark.checks("EX-12")
def test_changes_on_the_command_line() -> None:
    found = load(
        "demo",
        changes=[
            "rounds=7",
            "steps.initial=3",
            "rules.1.rho=.5",
            "pixels=standardised",
            "model.hidden=[4, 4]",
            "start.kind=zero",
        ],
    )
    assert (found.rounds, found.steps.initial, found.pixels) == (7, 3, "standardised")
    assert found.rules[1] == Ubar(rho=0.5)
    assert found.start.kind == "zero"
    assert experiment_document(found)["model"] == {"kind": "mlp", "hidden": [4, 4]}
    for change, words in (
        ("rounds", "not of the form key=value"),
        ("rules.9.rho=1", "'9' is not one of 0..2"),
        ("rounds.x=1", "nothing below 'x'"),
        ("rouns=1", "rouns: unknown field; did you mean 'rounds'?"),
    ):
        with pytest.raises(ConfigError) as caught:
            load("demo", changes=[change])
        assert words in str(caught.value)


@pytest.mark.checks("EX-13")
def test_what_is_laid_over_merges_tables_of_one_kind_only() -> None:
    below = {"a": {"kind": "x", "b": 1, "c": 2}, "d": [1, 2]}
    assert overlaid(below, {"a": {"b": 3}}) == {"a": {"kind": "x", "b": 3, "c": 2}, "d": [1, 2]}
    assert overlaid(below, {"a": {"kind": "y"}, "d": [3]}) == {"a": {"kind": "y"}, "d": [3]}
    assert below["d"] == [1, 2]


@pytest.mark.checks("EX-12")
@pytest.mark.parametrize("name", NAMES)
def test_the_schema_admits_the_presets(name: str) -> None:
    validator = jsonschema.Draft202012Validator(experiment_schema())
    validator.validate(tomllib.loads(presets()[name]))
    validator.validate(experiment_document(load(name)))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(p for key, child in children for p in places(child, (*path, key)))]


VALIDATOR = jsonschema.Draft202012Validator(experiment_schema())
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, width=16),
    st.text(max_size=3),
    st.lists(st.integers(0, 2), max_size=2),
    st.just({"kind": "paper"}),
)


@pytest.mark.checks("EX-12")
@given(st.sampled_from(NAMES), st.data())
def test_whatever_the_reader_takes_the_schema_takes(name: str, data: st.DataObject) -> None:
    document = copy.deepcopy(experiment_document(load(name)))
    *path, last = data.draw(st.sampled_from(places(document)[1:]))
    place: Any = document
    for key in path:
        place = place[key]
    place[last] = data.draw(JUNK)
    try:
        structure(Experiment, json.loads(json.dumps(document)))
    except Exception as error:
        assert type(error).__name__ == "DocumentError"
    else:
        VALIDATOR.validate(document)


def test_a_change_leaves_the_document_as_it_was() -> None:
    document = {"a": [{"b": 1}]}
    assert changed(document, "a.0.b=2") == {"a": [{"b": 2}]}
    assert document == {"a": [{"b": 1}]}


@pytest.mark.checks("EX-12")
def test_the_options_of_the_specification_are_those_of_the_documents() -> None:
    """Every name in the table of EX-12 is an option, and no option is missing there."""
    text = (Path(__file__).resolve().parents[3] / "spec" / "experiments.md").read_text()
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 6]
    named = {name for row in rows[2:] for name in re.findall(r"`([a-z_.]+)`", row[2])}
    kinds = (Gaussian, Ubar, BridgeMedian, Respond)
    parts = {field.name for kind in kinds for field in attrs.fields(kind)}
    document = experiment_document(Experiment("x", response=ResponseOptions()))
    for name in named - parts - {Respond.kind}:
        place: Any = document
        for key in name.split("."):
            assert key in place, name
            place = place[key]
    assert parts - {"sigma"} <= named
    top = {name.partition(".")[0] for name in named}
    assert set(document) - {"about", "format", "figures"} <= top


@pytest.mark.checks("EX-12")
def test_graph_bounds_and_agents_are_read_as_a_scenario_reads_them() -> None:
    texts = ("graph=complete:5", "bounds=configured:model=.5,gradient=+3", "byzantine=3,1")
    documents = (
        'graph={kind="family", name="complete:5"}',
        'bounds={kind="configured", model=0.5, gradient=3}',
        "byzantine=[3, 1]",
    )
    assert load("demo", changes=texts) == load("demo", changes=documents)
    assert load("demo", changes=["detection.level=+1_0e-2"]).detection.level == 0.1


@pytest.mark.checks("EX-12", "AD-1", "HA-1")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("graph=cycle:2", "demo: graph: the number of agents must be at least 3"),
        ("graph=equivocation", "'equivocation' is an attack, not a graph"),
        ("bounds=derived", "names: configured, none"),
        ("byzantine=[-1]", "byzantine[0] = -1 is not an agent"),
        ("byzantine=[77]", "unknown agent 77"),
        ("prime=15", "prime: p = 15 is not a prime number"),
    ],
)
def test_what_an_experiment_can_see_is_refused_when_it_is_read(change: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load("demo", changes=[change])
    assert words in str(caught.value)
