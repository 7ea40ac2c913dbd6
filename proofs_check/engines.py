"""The two engines: z3 for statements about all values, sympy for identities."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import sympy as sp  # type: ignore[import-untyped, unused-ignore]
import z3  # type: ignore[import-untyped, unused-ignore]

from proofs_check.framework import (
    Axiom,
    Claim,
    Finding,
    Method,
    ProofError,
    Reach,
    Role,
    Step,
    step,
)

__all__ = ["control", "find_model", "identity", "real", "reals", "sp", "universal", "z3"]

TIMEOUT_SECONDS = 60.0
"""What the solver may take for one question; after that the answer is unknown."""


def real(name: str) -> Any:
    """One real constant."""
    return z3.Real(name)


def reals(names: str) -> Any:
    """Real constants, the names separated by spaces."""
    return z3.Reals(names)


def decide(formulas: Iterable[Any], timeout: float = TIMEOUT_SECONDS) -> tuple[bool | None, Any]:
    """Whether the formulas have a model (None: not decided in time), and the model."""
    solver = z3.Solver()
    solver.set("timeout", int(timeout * 1000))
    solver.add(*formulas)
    answer = solver.check()
    if answer == z3.sat:
        return True, solver.model()
    return (False, None) if answer == z3.unsat else (None, None)


def holds_for_all(claim: Claim, timeout: float = TIMEOUT_SECONDS) -> Finding:
    """The hypotheses are consistent, and with the negated conclusion they are not."""
    consistent, _model = decide([*claim.given.values(), *claim.small, *claim.example], timeout)
    if consistent is None:
        return Finding(None, "the solver did not decide whether the hypotheses are consistent")
    if not consistent:
        return Finding(False, "the hypotheses contradict each other")
    found, model = decide([*claim.given.values(), z3.Not(claim.then)], timeout)
    if found is None:
        return Finding(None, "the solver did not decide")
    return Finding(not found, f"fails for {shown(model)}" if found else "negation unsatisfiable")


def control(claim: Claim, timeout: float = TIMEOUT_SECONDS) -> Finding:
    """The negative control: without one hypothesis, or with too much claimed, there is a model."""
    given = dict(claim.given)
    conclusion = claim.then if claim.stronger is None else claim.stronger
    given.pop(claim.drop, None)
    if claim.instead is not None:
        given["instead"] = claim.instead
    found, model = decide([*given.values(), z3.Not(conclusion), *claim.small], timeout)
    return Finding(found, shown(model) if found else "no model")


def find_model(formulas: Iterable[Any], timeout: float = TIMEOUT_SECONDS) -> Finding:
    """A model of the formulas, as a finding that names its values."""
    found, model = decide(formulas, timeout)
    return Finding(found, shown(model) if found else "no model")


def shown(model: Any) -> str:
    """The constants of a model, by name; functions are left out."""
    values = {str(name): model[name] for name in model.decls() if name.arity() == 0}
    return ", ".join(f"{name} = {values[name]}" for name in sorted(values)) or "a model"


def universal(
    *,
    role: Role = Role.PROOF,
    reach: Reach | None = None,
    axioms: tuple[Axiom, ...] = (),
    needs: tuple[Step | str, ...] = (),
    deep: bool = False,
    timeout: float = TIMEOUT_SECONDS,
) -> Callable[[Callable[[], Claim]], Step]:
    """Make a step of a function that returns a claim: z3 proves it for all values."""

    def make(function: Callable[[], Claim]) -> Step:
        def check() -> Finding:
            return holds_for_all(function(), timeout)

        check.__doc__, check.__name__ = function.__doc__, function.__name__
        check.__module__ = function.__module__
        make_step = step(
            Method.UNIVERSAL, role=role, reach=reach, axioms=axioms, needs=needs, deep=deep
        )
        made = make_step(check)
        return attrs.evolve(made, claim=function)

    return make


def identity(
    *,
    role: Role = Role.PROOF,
    reach: Reach | None = None,
    axioms: tuple[Axiom, ...] = (),
    needs: tuple[Step | str, ...] = (),
    deep: bool = False,
) -> Callable[[Callable[[], Mapping[str, Any]]], Step]:
    """Make a step of a function that returns differences by name: sympy makes each zero."""

    def make(function: Callable[[], Mapping[str, Any]]) -> Step:
        def check() -> Finding:
            left = {name: _zero(difference) for name, difference in function().items()}
            wrong = [f"{name}: {rest}" for name, rest in left.items() if rest != 0]
            if not left:
                raise ProofError("an identity without sides")
            return Finding(not wrong, "; ".join(wrong) or f"{len(left)} simplified to 0")

        check.__doc__, check.__name__ = function.__doc__, function.__name__
        check.__module__ = function.__module__
        make_step = step(
            Method.IDENTITY, role=role, reach=reach, axioms=axioms, needs=needs, deep=deep
        )
        return make_step(check)

    return make


def _zero(difference: Any) -> Any:
    """What is left of a difference; zero if the sides are equal."""
    for simplify in (sp.expand, sp.gammasimp, sp.simplify, sp.radsimp):
        difference = simplify(difference)
        if difference == 0:
            return 0
    return difference
