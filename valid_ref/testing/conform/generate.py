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

from valid_ref.adversary import actions
from valid_ref.adversary.edits import Edit, Edits, Set
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.protocols.lean import SLOTS
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.testing import problems, strategies
from valid_ref.testing.attacks import Shapes, attacks, fitting_attacks
from valid_ref.testing.conform.case import ConformCase, case_text
from valid_ref.testing.conform.drive import LEAN, PAPER, VALIDATIONS, AgentFinding
from valid_ref.testing.conform.kit import Session
from valid_ref.testing.conform.peer import FindingKind
from valid_ref.testing.coverage import describe
from valid_ref.testing.problems import graphs, repeated
from valid_ref.testing.strategies import scenarios

SHRINKING = 60.0
"""Seconds after which a divergence is no longer made smaller."""

TIGHT = parts.ConfiguredThresholds(0.01, 0.01)
"""Thresholds that hardly any run passes."""

NARROW = parts.ConfiguredBounds(1.5, 1.5)
"""Norm bounds that many runs break."""

WIDE = parts.ConfiguredBounds(1e4, 1e4)
"""Norm bounds under which no sum can wrap, and which hardly any run breaks."""

PRIMES = {4: (1009, 65537, 2**61 - 31), 8: (2**31 - 1,)}
"""By step bits: small primes, one that needs 61 bits and is not 2^61 - 1."""

FEW = 5
"""Agents of most networks."""

NAME_LENGTH = 160
"""Characters of the name of a generated case."""

ODD = ("nan", "inf", "-inf", "1e30", "-1e300")
"""Gradients that no lattice holds."""


def cases(
    *, max_agents: int = 12, max_rounds: int = 4, known: tuple[str, ...] = VALIDATIONS
) -> st.SearchStrategy[ConformCase]:
    """Scenarios of every kind with an honest agent to replace; shrinks to two honest agents.

    Any set of Byzantine agents will do: what an agent must do rests on no assumption. One
    network in ten has more than five agents; of these some are complete, so that messages have
    more than a hundred entries, and Byzantine agents may send hundreds. About one case in
    three has lean validation, where the agent knows both.

    Implements: CF-15.
    """
    for prime in (prime for primes in PRIMES.values() for prime in primes):
        PrimeField(prime)  # tested once, and not where Hypothesis watches over random numbers
    kinds = [one for one in (PAPER, PAPER, LEAN) if one in known]
    return st.sampled_from(kinds).flatmap(lambda one: _cases(max_agents, max_rounds, one == LEAN))


@st.composite
def _cases(draw: st.DrawFn, max_agents: int, max_rounds: int, lean: bool) -> ConformCase:
    graph = draw(_graphs(max_agents))
    agents = range(graph.agents)
    byzantine = draw(st.sets(st.sampled_from(agents), max_size=graph.agents - 1))
    validations = strategies.LEAN if lean else strategies.PAPERS
    peaceful = draw(
        scenarios(graph, max_rounds=max_rounds, max_dimension=3, validations=validations)
    )
    if len(agents) > FEW and not _fits(peaceful):
        peaceful = attrs.evolve(peaceful, bounds=WIDE)  # derived ones need smaller steps
    varied = _varied(draw, attrs.evolve(peaceful, byzantine=tuple(sorted(byzantine))))
    attack = draw(_attacks(varied)) if byzantine else None
    scenario = attrs.evolve(varied, attack=attack)
    agent = draw(st.sampled_from([v for v in agents if v not in byzantine]))
    gradients = draw(st.none() | _gradients(scenario))
    return ConformCase("generated", agent, scenario, gradients, lower=draw(_lower(scenario)))


@st.composite
def _graphs(draw: st.DrawFn, max_agents: int) -> AgentGraph:
    """Mostly few agents, now and then many or as many as allowed; of these some with all edges."""
    few = min(FEW, max_agents)
    if few == max_agents or draw(st.sampled_from(range(10))) < 9:
        return draw(graphs(max_agents=few))
    n = draw(st.just(max_agents) | st.sampled_from(range(few + 1, max_agents + 1)))
    if draw(st.sampled_from(range(3))) < 2:
        return draw(graphs(min_agents=n, max_agents=n))
    return AgentGraph.from_edges(n, ((u, v) for v in range(n) for u in range(v)))


def _attacks(scenario: Scenario) -> st.SearchStrategy[Any]:
    """One attack in six is a message of many entries; the others are of every kind."""
    usual = attacks(scenario) | fitting_attacks(scenario)
    return st.sampled_from(range(6)).flatmap(lambda n: usual if n < 5 else _crowds(scenario))


@st.composite
def _crowds(draw: st.DrawFn, scenario: Scenario) -> Edits:
    """One message of up to some hundred entries: known tags, unknown ones, null and garbage.

    In some of them an entry stands twice.
    """
    shapes = Shapes.of(scenario)
    lean = shapes.kappa is not None
    phase = draw(st.sampled_from([*SLOTS] if lean else [KEYS, HASHES, ESTIMATES]))
    agents, sender = shapes.graph.agents, draw(st.sampled_from(shapes.byzantine))
    number = draw(st.integers(1, shapes.phases[phase]))
    sizes = {HASHES: 4 * agents, ESTIMATES: shapes.weightings * shapes.dimension}
    sizes |= dict.fromkeys(SLOTS, 1 + (shapes.kappa or 0))
    proper = actions.Integer(1) if phase == KEYS else actions.Integers((1,) * sizes[phase])
    what = repeated(7, st.sampled_from([proper, actions.Nothing(), actions.Integer(-1)]))
    chosen, count = draw(what), draw(st.integers(0, 20) | st.sampled_from((250, 400)))
    width = draw(st.integers(1, 2 * agents))
    entries = tuple(
        actions.Entry(i, SLOTS.get(phase), chosen[i % 7])
        if lean or phase == KEYS
        else actions.Entry(i // width, i % width, chosen[i % 7])
        for i in range(count)
    )
    again = draw(st.just(()) | st.sampled_from(entries).map(lambda one: (one,))) if entries else ()
    message = actions.Entries((*entries, *again))
    return Edits((Edit(phase, number, sender, None, Set(message)),))


def _varied(draw: st.DrawFn, scenario: Scenario) -> Scenario:
    """Other primes, keys, starts, bounds and thresholds, where they fit together."""
    primes = PRIMES.get(scenario.precision.step_bits, ())
    prime = draw(st.sampled_from((scenario.prime, *primes)))
    lean = isinstance(scenario.validation, parts.Lean)
    changes: dict[str, Any] = {
        "delta": 1.0,  # nobody asks for the outcome
        "prime": prime,
        "keys": None if lean else draw(st.none() | _keys(scenario, prime)),
        "start": draw(st.none() | repeated(_dimension(scenario), st.sampled_from((1.0, -0.5)))),
    }
    if draw(st.booleans()):
        changes["bounds"] = NARROW
    if draw(st.booleans()):
        changes["checks"] = draw(problems.checks((TIGHT, problems.FAIR)))
    varied = attrs.evolve(scenario, **changes)
    return varied if _fits(varied) else scenario


def _fits(scenario: Scenario) -> bool:
    """Whether a scenario is admitted."""
    try:
        prepare(scenario)
    except ValidRefError:
        return False
    return True


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


def _lower(scenario: Scenario) -> st.SearchStrategy[tuple[tuple[int, int], ...] | None]:
    """Lower thresholds, from hardly any to those above them; mostly none."""
    pairs = [
        st.tuples(*(st.sampled_from((0, 1, high // 2, high)) for high in limits))
        for limits in (
            (one.optimality, one.heterogeneity) for one in prepare(scenario).parameters.weightings
        )
    ]
    some: st.SearchStrategy[tuple[tuple[int, int], ...]] = st.tuples(*pairs)
    return st.none() | st.none() | some


def _dimension(scenario: Scenario) -> int:
    return Shapes.of(scenario).dimension


class _SearchIsOver(BaseException):
    """Ends the search with what has been found; an Exception would be shrunk."""


@attrs.define
class DivergenceSearch:
    """The search: the first divergence, then smaller cases that break the same clause.

    `first` is confirmed, and from then on nothing that happens takes it away: neither a fault of
    the kit, nor an answer that does not come again, nor anything that Hypothesis makes of it.
    """

    session: Session
    first: AgentFinding | None = None
    best: AgentFinding | None = None
    failure: Exception | None = None
    deadline: float = 0.0
    known: dict[str, bool] = attrs.field(factory=dict)

    def diverges(self, case: ConformCase) -> bool:
        """Whether a case shows the divergence that is hunted; for one case always the same."""
        text = case_text(case)
        if text not in self.known:
            self.known[text] = self._shows(case)
        elif self.first is None:
            reject()  # while nothing is found, the same case again does not count
        return self.known[text]

    def _shows(self, case: ConformCase) -> bool:
        if self.first is None:
            return self._is_first(case)
        if time.monotonic() > self.deadline:
            raise _SearchIsOver
        try:
            finding = self.session.drive(case)
        except Exception:
            raise _SearchIsOver from None  # what has been found already is enough
        if finding is None:
            return False
        if (finding.kind, finding.clause) != (self.first.kind, self.first.clause):
            return False
        self.best = finding
        return True

    def _is_first(self, case: ConformCase) -> bool:
        """Drive a case; what goes wrong in the kit ends the search, and is not shrunk."""
        try:
            self.first = self.session.confirmed(case)
        except Exception as error:
            self.failure = error
            raise _SearchIsOver from error
        if self.first is None:
            return False
        slow = self.first.kind in {FindingKind.TIMEOUT, FindingKind.NOT_REPEATED}
        self.deadline = time.monotonic() + (0.0 if slow else SHRINKING)
        return True

    def smallest(self) -> AgentFinding | None:
        """The smallest divergence, if it comes again; else the first, which has been confirmed."""
        if self.first is None or self.best is None:
            return self.first
        try:
            again = self.session.drive(self.best.case)
        except Exception:
            return self.first
        same = again is not None and again.clause == self.first.clause
        return again if same else self.first


@contextlib.contextmanager
def temporary_home() -> Iterator[None]:
    """Let Hypothesis keep what it notes for itself out of the directory of the caller."""
    with tempfile.TemporaryDirectory() as directory:
        set_hypothesis_home_dir(directory)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def find_divergence(session: Session, examples: int, seed: int) -> AgentFinding | None:
    """Drive generated cases; the first divergence, shrunk within its clause.

    The same seed gives the same cases with one version of Hypothesis.

    Implements: CF-15.
    """
    searching = DivergenceSearch(session)
    try:
        find(
            cases(known=session.validations),
            searching.diverges,
            settings=settings(
                max_examples=examples,
                database=None,
                deadline=None,
                derandomize=False,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            ),
            random=random.Random(seed),
        )
    except (NoSuchExample, _SearchIsOver):
        pass
    except Exception:
        if searching.first is None:
            raise
    if searching.failure is not None:
        raise searching.failure
    finding = searching.smallest()
    return None if finding is None else _named(finding)


def _named(finding: AgentFinding) -> AgentFinding:
    """The finding with a case that says what it is about."""
    name = f"generated: {describe(finding.case.scenario)}"[:NAME_LENGTH]
    return attrs.evolve(finding, case=attrs.evolve(finding.case, name=name))
