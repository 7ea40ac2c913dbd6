"""Run steps, one after the other or in several processes, and say what came of each."""

import time
from collections.abc import Iterable, Iterator

import attrs

from proofs_check.framework import Finding, Proof, Result, Role, Step
from proofs_check.registry import find_step, relies_on, strength
from valid_ref.workers import Workers


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
    """One line on a proof: proved and how strongly, or which steps are missing."""
    found = {outcome.step.name: outcome for outcome in outcomes}
    wrong = [name for name, outcome in found.items() if not outcome.as_expected]
    if wrong:
        return f"not proved: {', '.join(wrong)}"
    left_out = sum(step.name not in found for step in proof.steps)
    refuted = sum(step.role is Role.PRINTED for step in proof.steps if step.name in found)
    parts = [f"proved, weakest step {strength(proof).value}"]
    if relies_on(proof):
        parts[0] += f", with {', '.join(relies_on(proof))}"
    if refuted:
        parts.append(f"printed statements refuted: {refuted}")
    if left_out:
        parts.append(f"deep steps not run: {left_out}")
    return "; ".join(parts)
