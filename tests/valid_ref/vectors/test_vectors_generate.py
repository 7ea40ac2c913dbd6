"""The generator: the same bytes as the files, and no id ever changes or disappears."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.valid_ref.vectors.reading import VECTORS
from valid_ref.cli import app
from valid_ref.document import Json
from valid_ref.vectors import hashes, parameters
from valid_ref.vectors.document import VectorCase, VectorError, VectorFamily, make, text_of
from valid_ref.vectors.publish import differences, families, generate, write


@pytest.fixture(scope="module")
def few() -> tuple[VectorFamily, ...]:
    return parameters.graph_family(), hashes.family()


@pytest.mark.checks("VE-6")
def test_the_files_are_what_the_reference_generates() -> None:
    """Regenerate with `valid-ref vectors --write`."""
    published = (VECTORS / "ids.txt").read_text(encoding="utf-8")
    texts = generate(families(), published)
    assert {path.name for path in VECTORS.iterdir()} == texts.keys()
    for name, text in texts.items():
        assert (VECTORS / name).read_bytes() == text.encode(), name


@pytest.mark.checks("VE-6")
def test_every_kind_of_difference_is_seen(few: tuple[VectorFamily, ...], tmp_path: Path) -> None:
    assert len(write(tmp_path, few)) == 5
    assert differences(tmp_path, few) == ()
    path = tmp_path / "hash.json"
    path.write_text(path.read_text().replace("GF(8)", "GF(9)"))
    (tmp_path / "graph.json").unlink()
    (tmp_path / "more.json").write_text("{}")
    assert differences(tmp_path, few) == ("graph.json", "hash.json", "more.json")
    assert write(tmp_path, few) == ("graph.json", "hash.json")
    assert differences(tmp_path, few) == ("more.json",)
    assert differences(tmp_path / "nowhere", few) == (
        "graph.json",
        "graph.schema.json",
        "hash.json",
        "hash.schema.json",
        "ids.txt",
    )
    with pytest.raises(VectorError, match="cannot write"):
        write(path, few)


@pytest.mark.checks("VE-6")
def test_the_command_checks_writes_and_lists(
    few: tuple[VectorFamily, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["valid_ref.cli.vectors"], "families", lambda: few)

    def call(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["vectors", *arguments])
        return result.exit_code, result.output

    assert call("--check", str(tmp_path))[0] == 1
    assert "5 files changed" in call("--write", str(tmp_path))[1]
    assert "0 files changed" in call("--write", str(tmp_path))[1]
    assert call("--check", str(tmp_path))[0] == 0
    (tmp_path / "more.json").write_text("{}")
    assert "more.json" in call("--check", str(tmp_path))[1]
    (tmp_path / "ids.txt").write_text("gone/run/away " + "0" * 64 + "\n")
    assert call("--write", str(tmp_path))[0] != 0
    assert "1 files changed" in call("--write", "--renew", str(tmp_path))[1]
    assert "away " + "0" * 64 + " retired" in (tmp_path / "ids.txt").read_text()
    assert "belongs to --write" in call("--renew", str(tmp_path))[1]
    assert "16 refused" in call()[1]


@pytest.mark.checks("VE-5", "VE-6")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gone/run/away " + "0" * 64, "has disappeared"),
        ("hash/hash/zero-vector " + "0" * 64, "has another meaning"),
        ("hash/hash/zero-vector " + "0" * 64 + " retired", "was retired and is back"),
        ("hash/hash/zero-vector", "not an id and its digest"),
        ("", "not an id and its digest"),
    ],
)
def test_an_id_is_neither_changed_nor_dropped_nor_revived(
    few: tuple[VectorFamily, ...], line: str, message: str
) -> None:
    with pytest.raises(VectorError, match=message) as caught:
        generate(few, line + "\n")
    assert caught.value.clause == "VE-5"


@pytest.mark.checks("VE-5")
def test_a_retired_id_stays_in_the_list(few: tuple[VectorFamily, ...]) -> None:
    old = "gone/run/away " + "0" * 64 + " retired\n"
    assert generate(few, old)["ids.txt"] == old + generate(few)["ids.txt"]


def ids(texts: Mapping[str, str]) -> dict[str, str]:
    """The ids of the list with what stands behind them."""
    return dict(line.split(" ", 1) for line in texts["ids.txt"].splitlines())


@pytest.mark.checks("VE-5", "VE-6")
def test_a_case_that_has_changed_gets_the_next_number(few: tuple[VectorFamily, ...]) -> None:
    """Once, twice, and where the name was retired; and a case that is gone is retired."""
    name, other = "hash/hash/zero-vector", "0" * 64
    meaning = ids(generate(few))[name]
    gone = f"gone/run/away {other}"
    texts = generate(few, f"{name} {other}\n{gone}\n", renew=True)
    assert texts["ids.txt"].splitlines()[:2] == [f"{name} {other} retired", f"{gone} retired"]
    assert ids(texts)[f"{name}.2"] == meaning
    found = [case["id"] for case in json.loads(texts["hash.json"])["cases"]]
    assert f"{name}.2" in found
    assert name not in found
    assert generate(few, texts["ids.txt"]) == texts  # from now on nothing need be renewed
    assert generate(few, texts["ids.txt"], renew=True) == texts
    changed = texts["ids.txt"].replace(f"{name}.2 {meaning}", f"{name}.2 {other}")
    with pytest.raises(VectorError, match=r"zero-vector\.2 has another meaning"):
        generate(few, changed)
    assert ids(generate(few, changed, renew=True))[f"{name}.3"] == meaning
    back = generate(few, f"{name} {meaning} retired\n", renew=True)
    assert ids(back)[name] == f"{meaning} retired"
    assert ids(back)[f"{name}.2"] == meaning


@pytest.mark.checks("VE-5")
def test_an_id_stands_once(few: tuple[VectorFamily, ...]) -> None:
    with pytest.raises(VectorError, match="stand twice: graph/"):
        generate((few[0], few[0]))


@pytest.mark.checks("VE-4")
def test_a_case_must_be_what_its_author_says() -> None:
    def refuse() -> None:
        raise VectorError("no", clause="VE-1")

    with pytest.raises(VectorError, match="unexpected refusal"):
        make("a/b/c", "VE-1", "another clause", {}, refuse, refused="VE-2")
    with pytest.raises(VectorError, match="not refused"):
        make("a/b/c", "VE-1", "a result", {}, lambda: 1, refused="VE-1")
    assert make("a/b/c", "VE-1", "as said", {}, refuse, refused="VE-1").refused == "VE-1"
    with pytest.raises(ZeroDivisionError):
        make("a/b/c", "VE-1", "an error of the generator", {}, lambda: 1 // 0, refused="VE-1")


SCALARS = st.none() | st.booleans() | st.integers() | st.text()
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(), inner, max_size=5),
)


@given(DOCUMENTS)
def test_the_text_of_a_document_is_that_document(document: Json) -> None:
    assert json.loads(text_of(document)) == document


@pytest.mark.checks("VE-5")
@given(DOCUMENTS, DOCUMENTS)
def test_a_meaning_is_input_and_result_but_not_what_is_said_about_them(
    one: Json, other: Json
) -> None:
    case = VectorCase("a/b/c", ("VE-1",), "said", one, expected=other)
    assert case.digest() == VectorCase("x/b/z", (), "otherwise", one, expected=other).digest()
    changed = VectorCase("a/b/c", ("VE-1",), "said", [one], expected=other)
    assert case.digest() != changed.digest()
    assert case.digest() != VectorCase("a/b/c", (), "", one, expected=[other]).digest()
    assert case.digest() != VectorCase("a/b/c", (), "", one, refused="VE-1").digest()
