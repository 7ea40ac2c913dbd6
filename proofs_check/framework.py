"""What a proof is here: named steps, each with a method, its axioms and a result.

A step is a function with one of the decorators below. Its docstring is the statement, with the
clauses it is about. `Proof` joins the steps of one lemma or theorem.
"""

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import attrs

from valid_ref.errors import ValidRefError


class ProofError(ValidRefError):
    """A proof that is not well made, or a name that no proof has."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the error cross a process boundary."""
        return type(self), (self.message,)


class Method(enum.StrEnum):
    """How a step is checked."""

    UNIVERSAL = "universal"
    """z3 finds the negation unsatisfiable: proved for all values."""
    IDENTITY = "identity"
    """sympy simplifies the difference of the two sides to zero: proved for all values."""
    COUNTEREXAMPLE = "counterexample"
    """A printed statement is false: a model from z3, or an explicit one, checked exactly."""
    EXHAUSTIVE = "exhaustive"
    """Every case of a finite domain; the number of cases is stated."""
    EXACT = "exact"
    """Named instances in rational arithmetic, or in floats with a stated margin."""
    STATISTICAL = "statistical"
    """Simulated runs; number, seed and confidence interval are stated."""


class Reach(enum.StrEnum):
    """For what a step shows its statement, from the widest to the narrowest."""

    ALL_VALUES = "for all values"
    """The statement itself, for all values of everything it speaks about."""
    SCALARS = "reduced to scalars"
    """Vectors, runs and probabilities enter as inequalities between numbers, which are supposed;
    what follows from these is proved for all numbers."""
    INSTANCE = "instance"
    """Named cases, small sizes, or every case of a finite domain."""
    STATISTICAL = "statistical"
    """Simulated runs."""

    @property
    def narrowness(self) -> int:
        """0 for all values, 3 for samples."""
        return tuple(Reach).index(self)


WIDEST: Mapping[Method, Reach] = {
    Method.UNIVERSAL: Reach.ALL_VALUES,
    Method.IDENTITY: Reach.ALL_VALUES,
    Method.COUNTEREXAMPLE: Reach.INSTANCE,
    Method.EXHAUSTIVE: Reach.INSTANCE,
    Method.EXACT: Reach.INSTANCE,
    Method.STATISTICAL: Reach.STATISTICAL,
}
"""The widest reach that a method can give; a step may claim less, never more."""


class Role(enum.StrEnum):
    """What a step is for."""

    PROOF = "proof"
    """Part of the proof of a clause."""
    INSTANCE = "instance"
    """Beside the proof: sharpness, or a figure of the specification."""
    PRINTED = "printed"
    """Refutes what the paper prints."""


class Result(enum.StrEnum):
    """What came of a step. Nothing but PASSED and REFUTED is a success."""

    PASSED = "passed"
    REFUTED = "refuted"
    """The printed statement is false; its counterexample was found, as expected."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The solver did not decide, or ran out of time."""


class Axiom(enum.Enum):
    """What is taken from elsewhere and not proved here."""

    COCOERCIVITY = "co-coercivity"
    PINELIS = "Pinelis"
    CHEBYSHEV = "Chebyshev"
    JENSEN = "Jensen"
    TRIANGLE = "triangle inequality"
    CAUCHY_SCHWARZ = "Cauchy-Schwarz"
    LOGARITHM = "ln(1+x) <= x"
    BERNOULLI = "Bernoulli"
    INDUCTION = "induction"
    PATH_INDUCTION = "path induction"
    FIELD = "Z/p is a field"
    GAUSSIAN = "Gaussian integrals"


AXIOM_TEXTS: Mapping[Axiom, str] = {
    Axiom.COCOERCIVITY: "convex beta-smooth f: <Df, D> >= |Df|^2 / beta",
    Axiom.PINELIS: "the tail of a martingale in a Hilbert space with bounded steps and variances",
    Axiom.CHEBYSHEV: "P(|Z| >= r) <= E|Z|^2 / r^2, with Markov's inequality",
    Axiom.JENSEN: "the square of a mean is at most the mean of the squares",
    Axiom.TRIANGLE: "the triangle inequality of the norm of R^d and of the Frobenius norm",
    Axiom.CAUCHY_SCHWARZ: "<a, b>^2 <= |a|^2 |b|^2; with it vectors are reduced to scalars",
    Axiom.LOGARITHM: "ln(1 + x) <= x for x > -1",
    Axiom.BERNOULLI: "(1+x)^p >= 1 + px for x >= -1 and p >= 1 or p <= 0, <= for 0 <= p <= 1",
    Axiom.INDUCTION: "base case and step, both proved, give the claim for all t",
    Axiom.PATH_INDUCTION: "in a connected graph a property of one agent that passes along every "
    "edge is a property of all; distances are at most the number of agents less one",
    Axiom.FIELD: "the integers modulo a prime have inverses, so no zero divisors",
    Axiom.GAUSSIAN: "E|N(0, I_d)| = sqrt(2) Gamma((d+1)/2) / Gamma(d/2)",
}


REDUCING = frozenset(
    {
        Axiom.COCOERCIVITY,
        Axiom.PINELIS,
        Axiom.CHEBYSHEV,
        Axiom.JENSEN,
        Axiom.TRIANGLE,
        Axiom.CAUCHY_SCHWARZ,
    }
)
"""Axioms about vectors and laws: who takes one for granted is left with numbers."""


def widest_reach(method: Method, axioms: tuple[Axiom, ...]) -> Reach:
    """The widest reach of a step that is checked like this and takes these axioms for granted."""
    reduced = WIDEST[method] is Reach.ALL_VALUES and REDUCING & {*axioms}
    return Reach.SCALARS if reduced else WIDEST[method]


@attrs.frozen
class Finding:
    """What a check found: true, false, or undecided; and the figures that go with it."""

    holds: bool | None
    detail: str = ""


@attrs.frozen
class Claim:
    """A statement for z3: named hypotheses and a conclusion, for all values of its constants.

    `drop` names the hypothesis the negative control goes without; `instead` is the weaker one
    put in its place, if any. Without `drop`, `stronger` is a false sharper conclusion. `small`
    narrows the search for models, which stay models: a universe of a few agents, say; `example`
    does so for the consistency of the hypotheses alone.
    """

    given: Mapping[str, Any]
    then: Any
    drop: str = ""
    instead: Any = None
    stronger: Any = None
    small: tuple[Any, ...] = ()
    example: tuple[Any, ...] = ()

    def __attrs_post_init__(self) -> None:
        if (self.drop in self.given) == (self.stronger is not None):
            raise ProofError("a claim has one negative control")


Check = Callable[[], Finding]
_CLAUSE = re.compile(r"(?<![\w-])((?:[A-Z]{2}-\d+|VS\d|[PA]\d{2}|[VSL]\d))(?![\w])")


@attrs.frozen
class Step:
    """One step of a proof."""

    name: str
    statement: str
    clauses: tuple[str, ...]
    method: Method
    check: Check = attrs.field(eq=False, repr=False)
    role: Role = Role.PROOF
    axioms: tuple[Axiom, ...] = ()
    reach: Reach = attrs.field()
    needs: tuple[str, ...] = ()
    deep: bool = False
    claim: Callable[[], Claim] | None = attrs.field(default=None, eq=False, repr=False)

    @reach.default
    def _widest(self) -> Reach:
        return widest_reach(self.method, self.axioms)

    def __attrs_post_init__(self) -> None:
        widest = widest_reach(self.method, self.axioms)
        if self.reach.narrowness < widest.narrowness:
            raise ProofError(f"{self.name} does not reach further than: {widest}")

    @property
    def expected(self) -> Result:
        """What must come of it."""
        return Result.REFUTED if self.method is Method.COUNTEREXAMPLE else Result.PASSED

    def judge(self, finding: Finding) -> Result:
        """The result of a finding; undecided is unknown, never passed."""
        if finding.holds is None:
            return Result.UNKNOWN
        return self.expected if finding.holds else Result.FAILED


@attrs.frozen
class Proof:
    """The steps of one lemma or theorem, and the theorems of Coq that carry it.

    `theorems` are named `File.theorem`; what they show needs no step here.
    """

    name: str
    title: str
    steps: tuple[Step, ...]
    theorems: tuple[str, ...] = ()

    @property
    def clauses(self) -> tuple[str, ...]:
        """All clauses and errata its steps speak about."""
        found = dict.fromkeys(clause for step in self.steps for clause in step.clauses)
        return tuple(found)


def ordered(steps: Iterable[Step]) -> tuple[str, ...]:
    """The names in an order in which every step comes after what it needs; no cycles."""
    listed = list(steps)
    names = [step.name for step in listed]
    for name in names:
        if names.count(name) > 1:
            raise ProofError(f"two steps are called {name}")
    for step in listed:
        for needed in step.needs:
            if needed not in names:
                raise ProofError(f"{step.name} needs {needed}, which is no step")
    try:
        return tuple(TopologicalSorter({s.name: s.needs for s in listed}).static_order())
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise ProofError(f"the steps support each other: {circle}") from None


def _statement(function: Callable[..., Any]) -> tuple[str, str]:
    """The first paragraph of the docstring on one line, and the whole docstring."""
    whole = function.__doc__ or ""
    return " ".join(whole.strip().split("\n\n")[0].split()), whole


def _clauses(statement: str, docstring: str) -> tuple[str, ...]:
    """The clauses before the colon of a statement, and those of the marker."""
    proves = re.findall(r"^\s*Proves:(.*)$", docstring, re.MULTILINE)
    named = " ".join([statement.partition(":")[0], *proves])
    return tuple(dict.fromkeys(_CLAUSE.findall(named)))


def _names(needs: Iterable[Step | str]) -> Iterator[str]:
    return (needed if isinstance(needed, str) else needed.name for needed in needs)


def step(
    method: Method,
    *,
    role: Role = Role.PROOF,
    reach: Reach | None = None,
    axioms: tuple[Axiom, ...] = (),
    needs: tuple[Step | str, ...] = (),
    deep: bool = False,
) -> Callable[[Check], Step]:
    """Make a step of a function that returns a finding; the docstring is the statement."""

    def make(function: Check) -> Step:
        text, whole = _statement(function)
        module = function.__module__.rpartition(".")[2]
        shown = Role.PRINTED if method is Method.COUNTEREXAMPLE else role
        return Step(
            name=f"{module}.{function.__name__}",
            statement=text,
            clauses=_clauses(text, whole),
            method=method,
            check=function,
            role=shown,
            reach=widest_reach(method, axioms) if reach is None else reach,
            axioms=axioms,
            needs=tuple(_names(needs)),
            deep=deep,
        )

    return make
