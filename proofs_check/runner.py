"""Run steps, one after the other or in several processes, and say what came of each."""

import time
from collections.abc import Iterable, Iterator, Mapping

import attrs

from proofs_check.framework import Finding, Proof, Reach, Result, Role, Step
from proofs_check.registry import find_step, reach, relies_on
from valid_ref.workers import Workers

VERDICTS: Mapping[Reach, str] = {
    Reach.ALL_VALUES: "proved for all values",
    Reach.SCALARS: "proved, reduced to scalars",
    Reach.INSTANCE: "proved in part, the rest on instances",
    Reach.STATISTICAL: "proved in part, the rest on samples",
}
"""What a proof is called by the reach of its narrowest step."""


@attrs.frozen
class StepOutcome:
    """What came of one step."""

    step: Step
    result: Result
    detail: str
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether a statement that must hold held, and one that must fail failed."""
        return self.result is self.step.expected


def run_step(step: Step) -> StepOutcome:
    """Run one step; a crash of a check is unknown, never passed."""
    started = time.perf_counter()
    try:
        finding = step.check()
    except Exception as error:  # whatever a checker throws proves nothing
        finding = Finding(None, f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - started
    return StepOutcome(step, step.judge(finding), finding.detail, seconds)


def _run_by_name(name: str) -> tuple[str, str, float]:
    outcome = run_step(find_step(name))
    return outcome.result.value, outcome.detail, outcome.seconds


def run(steps: Iterable[Step], jobs: int = 1) -> Iterator[StepOutcome]:
    """The outcomes in the order of the steps, each as soon as it and all before it are known."""
    chosen = list(steps)
    if jobs <= 1:
        yield from map(run_step, chosen)
        return
    with Workers(jobs) as pool:
        names = [step.name for step in chosen]
        for step, found in zip(chosen, pool.map(_run_by_name, names), strict=True):
            result, detail, seconds = found
            yield StepOutcome(step, Result(result), detail, seconds)


def verdict(proof: Proof, outcomes: Iterable[StepOutcome]) -> str:
    """One line on a proof: how far its steps reach and what Coq proves, or what is missing."""
    found = {outcome.step.name: outcome for outcome in outcomes}
    wrong = [name for name, outcome in found.items() if not outcome.as_expected]
    if wrong:
        return f"not proved: {', '.join(wrong)}"
    left_out = sum(step.name not in found for step in proof.steps)
    refuted = sum(step.role is Role.PRINTED for step in proof.steps if step.name in found)
    narrowest = reach(proof)
    parts = [VERDICTS[narrowest] if narrowest else "proved in Coq alone"]
    if relies_on(proof):
        parts[0] += f", with {', '.join(relies_on(proof))}"
    if proof.theorems:
        parts.append(f"theorems of Coq: {len(proof.theorems)}")
    if refuted:
        parts.append(f"printed statements refuted: {refuted}")
    if left_out:
        parts.append(f"deep steps not run: {left_out}")
    return "; ".join(parts)
