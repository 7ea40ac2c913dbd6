"""The manifest lists every step, and the page of all proofs is what is generated."""

from pathlib import Path

import pytest

from proofs_check.framework import ProofError
from proofs_check.manifest import expectation, markdown, read_manifest
from proofs_check.registry import load_all, steps_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables" / "proofs.md"


def test_the_page_is_generated_from_the_proofs() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(load_all(), read_manifest()), (
        "run valid-ref prove --deep --record"
    )


def test_the_manifest_lists_every_step_as_it_is() -> None:
    recorded, steps = read_manifest(), steps_of(load_all(), deep=True)
    assert list(recorded) == [step.name for step in steps]
    for step in steps:
        assert expectation(step, None, recorded) == recorded[step.name]
        assert recorded[step.name]["result"] == step.expected.value


def test_the_readme_says_how_many_steps_there_are() -> None:
    results = [entry["result"] for entry in read_manifest().values()]
    stated = f"{len(results)}, of which {results.count('refuted')} refuted |"
    assert stated in (PAGE.parents[2] / "README.md").read_text(encoding="utf-8")


def test_nothing_is_unknown() -> None:
    assert {entry["result"] for entry in read_manifest().values()} == {"passed", "refuted"}


def test_a_manifest_that_cannot_be_read_is_a_typed_error(tmp_path: Path) -> None:
    broken = tmp_path / "manifest.json"
    broken.write_text("{")
    with pytest.raises(ProofError, match=r"manifest\.json cannot be read"):
        read_manifest(broken)
