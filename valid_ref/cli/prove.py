"""`valid-ref prove`: run the machine-checked steps of the lemmas and theorems."""

import importlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from valid_ref.errors import ValidRefError
from valid_ref.trace import find_root


class ProofsMissingError(ValidRefError):
    """The proofs, or what they compute with, are not installed."""


def _proofs(module: str) -> Any:
    """A module of proofs_check, which the reference itself never imports."""
    try:
        return importlib.import_module(f"proofs_check.{module}")
    except ModuleNotFoundError as error:
        raise ProofsMissingError(
            f"{error.name} is not installed; the proofs need: pip install sympy z3-solver"
        ) from None


def prove(
    name: Annotated[
        str | None, typer.Argument(help="One proof, such as perturbation; all by default.")
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Long and statistical steps too.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use.")] = 2,
    details: Annotated[
        bool, typer.Option("--details", help="Print each statement and what was found.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write the manifest and docs/tables/proofs.md anew.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print one line on each proof only.")
    ] = False,
) -> None:
    """Check every step of every lemma and theorem; fail if one that must hold does not.

    \b
    Examples:
      valid-ref prove
      valid-ref prove perturbation --details
      valid-ref prove --deep --jobs 4
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if record and name is not None:
        raise typer.BadParameter("--record writes the table of all proofs: give no name")
    registry, runner = _proofs("registry"), _proofs("runner")
    _proofs("engines")  # sympy and z3, or a helpful refusal
    proofs = registry.select(name)
    steps = registry.steps_of(proofs, deep)
    outcomes = []
    if not as_json and not quiet:
        left = "" if deep else ", deep ones left out"
        typer.echo(f"{len(steps)} steps of {len(proofs)} proofs{left}")
        typer.echo(f"{'step':<48}  {'method':<14}  {'result':<8}  {'reach':<18}  seconds")
    for number, outcome in enumerate(runner.run(steps, jobs), start=1):
        outcomes.append(outcome)
        if not as_json and (not quiet or not outcome.as_expected):
            typer.echo(_line(number, len(steps), outcome, details))
    wrong = [outcome for outcome in outcomes if not outcome.as_expected]
    if as_json:
        typer.echo(json.dumps(_document(proofs, outcomes, registry, runner), indent=1))
    else:
        for line in _verdicts(proofs, outcomes, runner):
            if line or not quiet:
                typer.echo(line)
        if name is None and not quiet:
            for line in _theorems():
                typer.echo(line)
    if record:
        _record(proofs, outcomes)
    if wrong:
        raise typer.Exit(1)


def _theorems() -> list[str]:
    """The theorems that Coq checks for every size (`make coq`), by file."""
    found: dict[str, list[str]] = _proofs("coq.gate").headline_theorems()
    total = sum(map(len, found.values()))
    lines = [
        "",
        f"In Coq, for every graph, adversary and size: {total} theorems, checked by make coq",
    ]
    return lines + [f"  {file}: {', '.join(names)}" for file, names in found.items()]


def _line(number: int, total: int, outcome: Any, details: bool) -> str:
    """One row of the table."""
    step = outcome.step
    axioms = ", ".join(axiom.value for axiom in step.axioms)
    row = f"{step.name:<48}  {step.method.value:<14}  {outcome.result.value:<8}"
    row += f"  {step.reach.value:<18}  {outcome.seconds:7.2f}"
    row += f"  [{number}/{total}]" + (f"  axioms: {axioms}" if axioms else "")
    if details or not outcome.as_expected:
        row += f"\n    {step.statement}\n    {outcome.detail}"
    return row


def _verdicts(proofs: Any, outcomes: list[Any], runner: Any) -> list[str]:
    """One line on each proof."""
    lines = [""]
    for proof in proofs:
        mine = [outcome for outcome in outcomes if outcome.step in proof.steps]
        lines.append(f"{proof.title}: {runner.verdict(proof, mine)}")
    return lines


def _document(proofs: Any, outcomes: list[Any], registry: Any, runner: Any) -> dict[str, Any]:
    """Everything that was found, for a program."""
    found = []
    for proof in proofs:
        mine = [outcome for outcome in outcomes if outcome.step in proof.steps]
        steps = [
            {
                "name": outcome.step.name,
                "statement": outcome.step.statement,
                "clauses": list(outcome.step.clauses),
                "method": outcome.step.method.value,
                "role": outcome.step.role.value,
                "reach": outcome.step.reach.value,
                "axioms": [axiom.value for axiom in outcome.step.axioms],
                "needs": list(outcome.step.needs),
                "deep": outcome.step.deep,
                "result": outcome.result.value,
                "expected": outcome.step.expected.value,
                "detail": outcome.detail,
                "seconds": round(outcome.seconds, 3),
            }
            for outcome in mine
        ]
        found.append(
            {
                "name": proof.name,
                "title": proof.title,
                "steps": steps,
                "reach": registry.reach(proof),
                "theorems": list(proof.theorems),
                "verdict": runner.verdict(proof, mine),
            }
        )
    return {"proofs": found, "as_expected": all(outcome.as_expected for outcome in outcomes)}


def _record(proofs: Any, outcomes: list[Any]) -> None:
    """Write what came out into the manifest, and the table into the documents."""
    manifest, root = _proofs("manifest"), find_root(Path.cwd())
    path = root / "proofs_check" / "manifest.json"
    known = manifest.read_manifest(path) if path.is_file() else {}
    text = manifest.manifest_text(proofs, outcomes, known)
    path.write_text(text, encoding="utf-8")
    page = manifest.markdown(proofs, manifest.read_manifest(path))
    (root / "docs" / "tables" / "proofs.md").write_text(page, encoding="utf-8")
