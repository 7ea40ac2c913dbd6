"""Generated cases, and the search for the first that diverges (needs Hypothesis)."""

import contextlib
import random
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import attrs
from hypothesis import HealthCheck, Phase, find, reject, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import NoSuchExample

from valid_ref.errors import ValidRefError
from valid_ref.hashing import PrimeField
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.testing import learning
from valid_ref.testing.attacks import attacks, fitting_attacks
from valid_ref.testing.conform.case import Case, case_text
from valid_ref.testing.conform.drive import Finding
from valid_ref.testing.conform.errors import Kind
from valid_ref.testing.conform.session import Session
from valid_ref.testing.coverage import describe
from valid_ref.testing.edits import Shapes
from valid_ref.testing.graphs import graphs, repeated
from valid_ref.testing.scenarios import scenarios

SHRINKING = 60.0
"""Seconds after which a divergence is no longer made smaller."""

TIGHT = parts.ConfiguredThresholds(0.01, 0.01)
"""Thresholds that hardly any run passes."""

NARROW = parts.ConfiguredBounds(1.5, 1.5)
"""Norm bounds that many runs break."""

PRIMES = {4: (1009, 65537, 2**61 - 31), 8: (2**31 - 1,)}
"""By step bits: small primes, one that needs 61 bits and is not 2^61 - 1."""

NAME_LENGTH = 160
"""Characters of the name of a generated case."""

ODD = ("nan", "inf", "-inf", "1e30", "-1e300")
"""Gradients that no lattice holds."""


def cases(*, max_agents: int = 5, max_rounds: int = 4) -> st.SearchStrategy[Case]:
    """Scenarios of every kind with an honest agent to replace; shrinks to two honest agents.

    Any set of Byzantine agents will do: what an agent must do rests on no assumption.

    Implements: CF-15.
    """
    for prime in (prime for primes in PRIMES.values() for prime in primes):
        PrimeField(prime)  # tested once, and not where Hypothesis watches over random numbers
    return _cases(max_agents, max_rounds)


@st.composite
def _cases(draw: st.DrawFn, max_agents: int, max_rounds: int) -> Case:
    graph = draw(graphs(max_agents=max_agents))
    agents = range(graph.agents)
    byzantine = draw(st.sets(st.sampled_from(agents), max_size=graph.agents - 1))
    peaceful = draw(scenarios(graph, max_rounds=max_rounds, max_dimension=3))
    varied = _varied(draw, attrs.evolve(peaceful, byzantine=tuple(sorted(byzantine))))
    some = attacks(varied) | fitting_attacks(varied) if byzantine else st.none()
    scenario = attrs.evolve(varied, attack=draw(some))
    agent = draw(st.sampled_from([v for v in agents if v not in byzantine]))
    return Case("generated", agent, scenario, draw(st.none() | _gradients(scenario)))


def _varied(draw: st.DrawFn, scenario: Scenario) -> Scenario:
    """Other primes, keys, starts, bounds and thresholds, where they fit together."""
    primes = PRIMES.get(scenario.precision.step_bits, ())
    prime = draw(st.sampled_from((scenario.prime, *primes)))
    changes: dict[str, Any] = {
        "delta": 1.0,  # nobody asks for the outcome
        "prime": prime,
        "keys": draw(st.none() | _keys(scenario, prime)),
        "start": draw(st.none() | repeated(_dimension(scenario), st.sampled_from((1.0, -0.5)))),
    }
    if draw(st.booleans()):
        changes["bounds"] = NARROW
    if draw(st.booleans()):
        changes["checks"] = draw(learning.checks((TIGHT, learning.FAIR)))
    varied = attrs.evolve(scenario, **changes)
    try:
        prepare(varied)
    except ValidRefError:
        return scenario
    return varied


def _keys(scenario: Scenario, prime: int) -> st.SearchStrategy[tuple[int, ...]]:
    agents = Shapes.of(scenario).graph.agents
    one = st.sampled_from((0, 1, 2, prime - 1)) | st.integers(0, prime - 1)
    return repeated(agents, one)


def _gradients(scenario: Scenario) -> st.SearchStrategy[tuple[tuple[str, ...], ...]]:
    """Multiples of half a lattice unit, and now and then something impossible."""
    half = 2.0 ** -(scenario.precision.fraction_bits + 1)
    small = st.integers(-40, 40).map(lambda m: str(m * half))
    common = st.one_of(small, small, small, st.sampled_from(("0.5", "-1.25", "3.0")))
    entry = st.integers(0, 15).flatmap(lambda n: common if n else st.sampled_from(ODD))
    return repeated(scenario.rounds, repeated(_dimension(scenario), entry))


def _dimension(scenario: Scenario) -> int:
    return Shapes.of(scenario).dimension


class _SearchIsOver(BaseException):
    """Ends the search with what has been found; an Exception would be shrunk."""


@attrs.define
class Hunt:
    """The search: the first divergence, then smaller cases that break the same clause."""

    session: Session
    first: Finding | None = None
    best: Finding | None = None
    failure: Exception | None = None
    deadline: float = 0.0
    known: dict[str, Finding | None] = attrs.field(factory=dict)

    def diverges(self, case: Case) -> bool:
        """Whether a case shows the divergence that is hunted."""
        text = case_text(case)
        if text in self.known and self.known[text] is None:
            reject()  # the same case again does not count
        if text not in self.known:
            self.known[text] = self._driven(case)
        finding = self.known[text]
        if finding is None or self.first is None:
            return False
        if (finding.kind, finding.clause) != (self.first.kind, self.first.clause):
            return False
        self.best = finding
        return True

    def _driven(self, case: Case) -> Finding | None:
        """Drive a case; what goes wrong in the kit ends the search, and is not shrunk."""
        if self.first is not None and time.monotonic() > self.deadline:
            raise _SearchIsOver
        try:
            if self.first is not None:
                return self.session.drive(case)
            finding = self.session.confirmed(case)
        except Exception as error:
            self.failure = error
            raise _SearchIsOver from error
        if finding is not None:
            self.first = finding
            slow = finding.kind in {Kind.TIMEOUT, Kind.NOT_REPEATED}
            self.deadline = time.monotonic() + (0.0 if slow else SHRINKING)
        return finding


@contextlib.contextmanager
def homeless() -> Iterator[None]:
    """Let Hypothesis keep what it notes for itself out of the directory of the caller."""
    with tempfile.TemporaryDirectory() as directory:
        set_hypothesis_home_dir(directory)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def hunt(session: Session, examples: int, seed: int) -> Finding | None:
    """Drive generated cases; the first divergence, shrunk within its clause.

    The same seed gives the same cases with one version of Hypothesis.

    Implements: CF-15.
    """
    searching = Hunt(session)
    with contextlib.suppress(NoSuchExample, _SearchIsOver):
        find(
            cases(),
            searching.diverges,
            settings=settings(
                max_examples=examples, database=None, deadline=None, derandomize=False,
                phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
            ),
            random=random.Random(seed),
        )  # fmt: skip
    if searching.failure is not None:
        raise searching.failure
    first, best = searching.first, searching.best
    if first is None or best is None:
        return first
    again = session.drive(best.case)
    return _named(again if again is not None and again.clause == first.clause else first)


def _named(finding: Finding) -> Finding:
    """The finding with a case that says what it is about."""
    name = f"generated: {describe(finding.case.scenario)}"[:NAME_LENGTH]
    return attrs.evolve(finding, case=attrs.evolve(finding.case, name=name))
