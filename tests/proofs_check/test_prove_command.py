"""`valid-ref prove` as a user sees it."""

import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from proofs_check import registry
from proofs_check.framework import Finding, Method, Proof, ProofError, Step
from valid_ref.cli.prove import ProofsMissingError, prove

app = typer.Typer()
app.command()(prove)


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*arguments, "--jobs", "1"])
    return result.exit_code, result.output


def test_the_printed_perturbation_lemma_is_refuted_and_the_corrected_one_proved() -> None:
    code, output = invoke("perturbation", "--details")
    assert code == 0
    rows = {line.split()[0]: line.split()[1:3] for line in output.splitlines() if "." in line}
    assert rows["perturbation.printed_exponential_decay"] == ["counterexample", "refuted"]
    assert rows["perturbation.gamma_product"] == ["identity", "passed"]
    assert "proved for all values; theorems of Coq: 3; printed statements refuted: 3" in output
    assert "axioms: induction" in output


def test_json() -> None:
    code, output = invoke("remarks", "--json")
    document = json.loads(output)
    assert code == 0
    assert document["as_expected"] is True
    assert {step["result"] for step in document["proofs"][0]["steps"]} == {"passed", "refuted"}


def test_a_step_that_does_not_hold_is_an_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Step(
        "wrong.step", "AN-1: false.", ("AN-1",), Method.EXACT, lambda: Finding(False, "no")
    )
    proof = Proof("wrong", "Wrong", (wrong,))
    monkeypatch.setattr(registry, "select", lambda _name: (proof,))
    code, output = invoke()
    assert code == 1
    assert "not proved: wrong.step" in output
    assert "AN-1: false." in output


def test_an_unknown_proof_is_a_typed_error() -> None:
    with pytest.raises(ProofError, match="no proof is called"):
        prove("nothing")


def test_without_the_proofs_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "proofs_check.registry", None)
    with pytest.raises(ProofsMissingError, match="pip install sympy z3-solver"):
        prove("hash")


def test_record_needs_all_proofs() -> None:
    with pytest.raises(typer.BadParameter, match="give no name"):
        prove("remarks", jobs=1, record=True, as_json=True)
