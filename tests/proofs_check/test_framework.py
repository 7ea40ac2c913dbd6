"""The framework itself: undecided is never passed, cycles are refused, claims are not vacuous."""

import attrs
import pytest

from proofs_check import engines, registry, runner
from proofs_check.framework import (
    AXIOM_TEXTS,
    REDUCING,
    Axiom,
    Claim,
    Finding,
    Method,
    Proof,
    ProofError,
    Reach,
    Result,
    Role,
    Step,
    ordered,
    step,
)

x, y = engines.reals("x y")


def make(name: str, method: Method = Method.EXACT, needs: tuple[str, ...] = ()) -> Step:
    return Step(name, name, (), method, lambda: Finding(True), needs=needs)


def test_undecided_is_unknown_and_never_passed() -> None:
    undecided = attrs.evolve(make("a"), check=lambda: Finding(None))
    assert runner.run_step(undecided).result is Result.UNKNOWN
    assert not runner.run_step(undecided).as_expected


def test_a_crash_is_unknown() -> None:
    def crash() -> Finding:
        raise ZeroDivisionError("nothing was proved")

    outcome = runner.run_step(attrs.evolve(make("a"), check=crash))
    assert outcome.result is Result.UNKNOWN
    assert "ZeroDivisionError" in outcome.detail


@pytest.mark.parametrize(
    ("method", "holds", "result"),
    [
        (Method.EXACT, True, Result.PASSED),
        (Method.EXACT, False, Result.FAILED),
        (Method.COUNTEREXAMPLE, True, Result.REFUTED),
        (Method.COUNTEREXAMPLE, False, Result.FAILED),
    ],
)
def test_results(method: Method, holds: bool, result: Result) -> None:
    assert make("a", method).judge(Finding(holds)) is result


def test_a_cycle_is_refused() -> None:
    with pytest.raises(ProofError, match="support each other"):
        ordered([make("a", needs=("b",)), make("b", needs=("a",))])


def test_a_missing_need_and_a_name_used_twice_are_refused() -> None:
    with pytest.raises(ProofError, match="which is no step"):
        ordered([make("a", needs=("b",))])
    with pytest.raises(ProofError, match="two steps are called a"):
        ordered([make("a"), make("a")])


def test_needs_come_first() -> None:
    order = ordered([make("a", needs=("b",)), make("c"), make("b", needs=("c",))])
    assert order.index("c") < order.index("b") < order.index("a")


def test_a_proof_reaches_as_far_as_its_narrowest_step() -> None:
    wide = make("a", Method.UNIVERSAL)
    scalars = attrs.evolve(make("b", Method.UNIVERSAL), reach=Reach.SCALARS)
    beside = attrs.evolve(make("c", Method.STATISTICAL), role=Role.INSTANCE)
    sampled = make("d", Method.STATISTICAL)
    assert registry.reach(Proof("p", "P", (wide, beside))) is Reach.ALL_VALUES
    assert registry.reach(Proof("p", "P", (wide, scalars, beside))) is Reach.SCALARS
    assert registry.reach(Proof("p", "P", (wide, scalars, sampled))) is Reach.STATISTICAL
    leaning = make("e", Method.UNIVERSAL, needs=("cost.once_to_every_neighbour",))
    assert registry.reach(Proof("p", "P", (leaning,))) is Reach.INSTANCE
    assert registry.relies_on(Proof("p", "P", (leaning,))) == ("cost",)
    assert registry.reach(Proof("p", "P", (beside,))) is None


@pytest.mark.parametrize("axiom", [axiom for axiom in Axiom if axiom in REDUCING])
def test_a_fact_about_vectors_or_laws_taken_for_granted_leaves_scalars(axiom: Axiom) -> None:
    @step(Method.UNIVERSAL, axioms=(axiom,))
    def reduced() -> Finding:
        """AN-1: numbers."""
        return Finding(True)

    assert reduced.reach is Reach.SCALARS
    with pytest.raises(ProofError, match="does not reach further than: reduced to scalars"):
        attrs.evolve(reduced, reach=Reach.ALL_VALUES)


@pytest.mark.parametrize("method", Method)
def test_no_step_reaches_further_than_its_method(method: Method) -> None:
    widest = make("a", method).reach
    for reach in Reach:
        if reach.narrowness < widest.narrowness:
            with pytest.raises(ProofError, match="does not reach further"):
                attrs.evolve(make("a", method), reach=reach)


def test_a_proof_rests_on_theorems_that_coq_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Rate.rate" in registry.theorems_of_coq()
    wrong = Proof("p", "P", (), theorems=("Rate.rat",))
    monkeypatch.setattr(registry, "load", lambda _name: wrong)
    with pytest.raises(ProofError, match=r"rest on Rate\.rat, which is not in Coq"):
        registry.load_all()


def test_a_false_statement_fails_with_its_model() -> None:
    finding = engines.holds_for_all(Claim({"x > 0": x > 0}, x > 1, drop="x > 0"))
    assert finding.holds is False
    assert "x = " in finding.detail


def test_contradictory_hypotheses_prove_nothing() -> None:
    claim = Claim({"x > 0": x > 0, "x < 0": x < 0}, y == 7, drop="x > 0")
    assert engines.holds_for_all(claim).holds is False


def test_a_hypothesis_that_is_not_needed_fails_its_control() -> None:
    claim = Claim({"x > 1": x > 1, "y > 1": y > 1}, x > 0, drop="y > 1")
    assert engines.holds_for_all(claim).holds is True
    assert engines.control(claim).holds is False


def test_a_solver_without_time_is_unknown() -> None:
    n, a, b, c = engines.z3.Ints("n a b c")
    hard = Claim({"all": engines.z3.And(n > 3, a > 0, b > 0, c > 0)}, a**n + b**n != c**n, "all")
    finding = engines.holds_for_all(hard, timeout=0.05)
    assert finding.holds is None


def test_a_claim_has_exactly_one_control() -> None:
    with pytest.raises(ProofError, match="one negative control"):
        Claim({"x > 0": x > 0}, x >= 0)
    with pytest.raises(ProofError, match="one negative control"):
        Claim({"x > 0": x > 0}, x >= 0, drop="x > 1")


def test_the_statement_and_the_clauses_come_from_the_docstring() -> None:
    @step(Method.EXACT)
    def small() -> Finding:
        """AN-1, A03: first
        paragraph, with the sum S2 of squares.

        Proves: GU-3.
        """
        return Finding(True)

    assert small.statement == "AN-1, A03: first paragraph, with the sum S2 of squares."
    assert small.clauses == ("AN-1", "A03", "GU-3")
    assert small.name == "test_framework.small"


def test_an_identity_that_is_none_fails() -> None:
    @engines.identity()
    def wrong() -> dict[str, object]:
        """Not zero."""
        return {"sides": engines.sp.Symbol("x") - 1}

    assert runner.run_step(wrong).result is Result.FAILED


def test_unknown_names_are_typed_errors() -> None:
    with pytest.raises(ProofError, match="did you mean perturbation"):
        registry.load("pertubation")
    with pytest.raises(ProofError, match="no step is called"):
        registry.find_step("hash.nothing")


def test_every_step_has_a_clause_and_every_axiom_a_text_and_a_use() -> None:
    steps = registry.steps_of(registry.load_all(), deep=True)
    assert all(found.clauses and found.statement for found in steps)
    assert set(AXIOM_TEXTS) == set(Axiom)
    assert {axiom for found in steps for axiom in found.axioms} == set(Axiom)


def test_every_universal_step_has_a_claim_with_a_control() -> None:
    steps = registry.steps_of(registry.load_all(), deep=True)
    assert all((found.claim is None) == (found.method is not Method.UNIVERSAL) for found in steps)


def test_processes_give_the_same_results() -> None:
    steps = registry.load("remarks").steps
    alone = [(found.step.name, found.result) for found in runner.run(steps)]
    assert [(found.step.name, found.result) for found in runner.run(steps, jobs=2)] == alone
