"""The files themselves: schemas, numbers, ids, and that they are what the reference generates."""

import copy
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.valid_ref.vectors.reading import VECTORS, Json, files, load
from valid_ref.adversary.catalogue import ATTACKS, LEAN_ATTACKS
from valid_ref.alarms import Alarm
from valid_ref.reading import Reading
from valid_ref.trace import load as load_trace
from valid_ref.witness import WITNESSES

ROOT = VECTORS.parents[1]
RUNS = ("runs-honest", "runs-attacks", "runs-errata")
NETWORKS = (*RUNS, "broadcast", "agreement")
STATIC = {"P21", "P23"}
"""Witnesses that count graphs or costs: there is nothing to feed to an implementation."""


def schema(family: str) -> Json:
    return json.loads((VECTORS / f"{family}.schema.json").read_text(encoding="utf-8"))


def everything() -> Iterator[tuple[str, Json]]:
    return ((family, case) for family in files() for case in load(family)["cases"])


def leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


def objects(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from objects(item)


@pytest.mark.checks("VE-1")
@pytest.mark.parametrize("family", files())
def test_a_file_has_the_form_of_its_schema(family: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(family))
    document = load(family)
    jsonschema.Draft202012Validator(schema(family)).validate(document)
    assert document["format"] == "valid-ref/vectors/2"
    assert document["family"] == family
    assert document["harness"]
    assert document["numbers"]


@pytest.mark.checks("VE-1")
@pytest.mark.parametrize("family", files())
def test_every_object_of_a_schema_is_closed(family: str) -> None:
    for form in objects(schema(family)):
        if form.get("type") == "object":
            assert form["additionalProperties"] is False


@pytest.mark.checks("VE-1", "VE-2")
@pytest.mark.parametrize("family", files())
def test_a_schema_admits_no_field_that_it_does_not_name(family: str) -> None:
    """In the first objects of the shortest case of every operation."""
    document = load(family)
    validator = jsonschema.Draft202012Validator(schema(family))
    ordered = sorted(document["cases"], key=lambda case: -len(json.dumps(case)))
    for case in {case["operation"]: case for case in ordered}.values():
        for index in range(min(8, len([*objects(case)]))):
            changed = copy.deepcopy(case)
            [*objects(changed)][index]["surprise"] = 1
            assert not validator.is_valid(document | {"cases": [changed]}), (case["id"], index)
        for field in case:
            lacking = {name: value for name, value in case.items() if name != field}
            assert not validator.is_valid(document | {"cases": [lacking]}), (case["id"], field)
        assert not validator.is_valid(
            document | {"cases": [case | {"refused": "AR-1", "expected": 1}]}
        )
    assert not validator.is_valid(document | {"surprise": 1})


@pytest.mark.checks("VE-3")
def test_no_number_needs_more_than_31_bits() -> None:
    for _family, case in everything():
        for leaf in leaves(case):
            assert not isinstance(leaf, float), case["id"]
            assert not isinstance(leaf, int) or -1 <= leaf < 2**31, case["id"]


@pytest.mark.checks("VE-2")
def test_every_source_is_a_clause_or_an_erratum() -> None:
    known = load_trace(ROOT).rows
    for _family, case in everything():
        assert case["source"], case["id"]
        assert set(case["source"]) <= known.keys(), case["id"]
        assert case["id"].split("/")[1] == case["operation"]
        assert case.get("refused", "MO-1") in known, case["id"]


def digest(case: Json) -> str:
    """As VE-5 says it, written anew."""
    meaning = {name: case[name] for name in case if name not in {"id", "source", "comment"}}
    text = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@pytest.mark.checks("VE-5")
def test_published_ids_keep_their_meaning() -> None:
    lines = (VECTORS / "ids.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[a-z0-9./-]+ [0-9a-f]{64}( retired)?", line) for line in lines)
    names = [line.split(" ")[0] for line in lines]
    assert len(set(names)) == len(names)
    published = {line.split(" ")[0]: line.split(" ")[1] for line in lines if "retired" not in line}
    found = [(case["id"], digest(case)) for _family, case in everything()]
    assert len(found) == len({name for name, _digest in found})
    assert dict(found) == published


@pytest.mark.checks("VE-8")
def test_every_attack_and_every_alarm_occurs_in_a_run() -> None:
    ids = [case["id"] for case in load("runs-attacks")["cases"]]
    for kind in {*ATTACKS} - {*LEAN_ATTACKS}:
        assert any(name.startswith(f"attack/run/{kind}") for name in ids), kind
    ends = [end for family in RUNS for case in load(family)["cases"] for end in ends_of(case)]
    papers = {alarm.name for alarm in Alarm if not alarm.clause.startswith("LE-")}
    assert {alarm["reason"] for end in ends for alarm in end["alarms"]} == papers
    assert {end["valid"] for end in ends} == {True, False}


def ends_of(case: Json) -> Json:
    return case["expected"]["ends"]


@pytest.mark.checks("VE-8")
def test_every_erratum_that_can_be_run_is_shown() -> None:
    shown = {source for _family, case in everything() for source in case["source"]}
    assert WITNESSES.keys() - STATIC <= shown
    off = {
        name
        for family in NETWORKS
        for case in load(family)["cases"]
        for name in case["input"].get("without", case["input"].get("parameters", {}).get("without"))
    }
    silent = {"P06", "P20"}  # these switches only change what is refused or said beforehand
    assert off == set(Reading.switches()) - silent


@pytest.mark.checks("VE-7")
def test_the_runs_are_small_and_say_everything() -> None:
    assert sum(path.stat().st_size for path in Path(VECTORS).iterdir()) < 3_000_000
    for family in RUNS:
        for case in load(family)["cases"]:
            public, given = case["input"]["parameters"], case["input"]
            n, honest = public["agents"], public["agents"] - len(given["byzantine"])
            assert n <= 6
            assert len(public["mixing"]) <= 3
            assert public["dimension"] <= 2
            rounds = {(line["phase"], line["round"]) for line in case["expected"]["said"]}
            assert len(case["expected"]["said"]) == honest * len(rounds)
            if not public["without"]:
                assert len(rounds) == len(public["mixing"]) + 4 * n - 1
