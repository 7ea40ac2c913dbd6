"""Lean validation over tiny fields: what a lie is, and how everybody stands before the agreement.

The learning is not run: everybody's record is zero, and what one Byzantine agent told its
neighbours, or adds to the sum or the total, is the lie. The phases after it are those of the real
machines, up to the agreement.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

import attrs
import numpy as np

from valid_ref.adversary.attack import Account, Deviation, Setting, together
from valid_ref.adversary.broadcasts import echo
from valid_ref.adversary.lean_attacks import changing_along_tree
from valid_ref.adversary.own_words import in_own_words
from valid_ref.coins import Coins
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import LatticeParameters
from valid_ref.losses import Problem, Quadratic
from valid_ref.machine import Adversary, Edge, Message, run_machine
from valid_ref.protocols import lean
from valid_ref.protocols.flood import SUM, TOTAL
from valid_ref.protocols.global_validate import Estimate
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.lean_stages import numbers
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.local_validate import Transcript
from valid_ref.protocols.measures import Plain, ResultT
from valid_ref.protocols.memory import Learned
from valid_ref.protocols.parameters import LeanParameters, ValidParameters, Weighting
from valid_ref.protocols.remembered import Memo
from valid_ref.protocols.routes import Routes
from valid_ref.protocols.valid import Valid, ValidState
from valid_ref.protocols.validation import Validation, ValidationInput
from valid_ref.schedule import Precision, Schedule

PRIME = 3
"""The field of the exploration."""

NAME = "0" * 64
"""The name of all its runs."""

Words = tuple[int, ...]
"""The entries of Gamma(1), .., Gamma(T), one after the other."""


@attrs.frozen
class Shape:
    """The dimension and the number of rounds: dT = 2 < p, so that one key misses a lie."""

    dimension: int
    rounds: int


SHAPES = (Shape(1, 2), Shape(2, 1))


def tiny_parameters(
    graph: AgentGraph,
    shape: Shape,
    *,
    kappa: int = 1,
    prime: int = PRIME,
    without: tuple[str, ...] = ("range",),
) -> ValidParameters:
    """All steps 1 and no fraction bits; gradients are -1, 0 or 1, and thresholds out of reach.

    The rule of LE-3 leaves no room below a prime so small; no total here is off by a multiple of p.
    """
    d, T = shape.dimension, shape.rounds
    schedule = Schedule(Precision(0, 0), (1,) * T, (1,) * T)
    lattice = LatticeParameters(
        d,
        schedule,
        graph.max_degree,
        prime,
        model_limit=1,
        gradient_limit=2,
        enforce_field_range=False,
    )
    weighting = Weighting("1", (1,) * T, Fraction(T), 10**6, 10**6)
    return ValidParameters(
        graph=graph,
        lattice=lattice,
        start_model=np.zeros(d, dtype=np.int64),
        field=PrimeField(prime),
        bounds=None,
        weightings=(weighting,),
        lean=LeanParameters(kappa, NAME, without),
    )


@attrs.frozen
class Play:
    """What is fixed before the openings: who is Byzantine, what was learned, how they deviate."""

    parameters: ValidParameters
    byzantine: frozenset[int]
    learned: Mapping[int, Learned]
    adversary: Adversary
    measures: Plain
    machine: "_BeforeAgreement" = attrs.field(init=False, eq=False, repr=False)

    @machine.default
    def _machine(self) -> "_BeforeAgreement":
        return _BeforeAgreement(Validation(Valid(self.parameters, self.measures)))

    @property
    def honest(self) -> tuple[int, ...]:
        """H, in order."""
        agents = range(self.parameters.graph.agents)
        return tuple(v for v in agents if v not in self.byzantine)

    def states(self, shares: Mapping[int, Words]) -> Mapping[int, ValidState]:
        """How everybody stands before the agreement, when these are the shares."""
        parameters = self.parameters
        fixed = {
            v: ValidationInput(Opening(v, shares[v]), self.learned[v])
            for v in range(parameters.graph.agents)
        }
        result = run_machine(
            parameters.graph,
            self.machine,
            fixed,
            byzantine=self.byzantine,
            adversary=self.adversary,
        )
        return result.states

    def unseen(self, shares: Mapping[int, Words]) -> bool:
        """Whether no honest agent has an alarm by then."""
        states = self.states(shares)
        return not any(states[v].memory.alarms for v in self.honest)

    def all_shares(self) -> Iterator[dict[int, Words]]:
        """All tuples of honest shares; those of Byzantine agents are zero."""
        p, kappa = self.parameters.field.prime, lean.lean_of(self.parameters).kappa
        one = list(itertools.product(range(p), repeat=kappa))
        for chosen in itertools.product(one, repeat=len(self.honest)):
            zero = dict.fromkeys(self.byzantine, (0,) * kappa)
            yield dict(zip(self.honest, chosen, strict=True)) | zero

    def count(self) -> tuple[int, int]:
        """How many tuples of honest shares there are, and under how many nobody alarms."""
        found = [self.unseen(shares) for shares in self.all_shares()]
        return len(found), sum(found)

    @property
    def bound(self) -> int:
        """(dT - 1)^kappa p^(kappa (|H| - 1)).

        Implements: LE-15.
        """
        lattice, kappa = self.parameters.lattice, lean.lean_of(self.parameters).kappa
        length = lattice.dimension * lattice.schedule.rounds
        others = self.parameters.field.prime ** (kappa * (len(self.honest) - 1))
        return int((length - 1) ** kappa * others)


@attrs.frozen
class _Kept(Plain):
    """The definitions, with results kept by the identity of what they are made from."""

    memo: Memo = attrs.field(init=False, factory=lambda: Memo(most=1 << 10), eq=False)

    def estimate(self, transcript: Transcript) -> Estimate:
        """Once for every transcript."""
        plain = super().estimate
        return self.memo.once(("estimate",), transcript, lambda: plain(transcript))

    def report(self, keys: Words, transcript: Transcript) -> Words:
        """Once for every transcript and all keys."""
        plain = super().report
        return self.memo.once(("report", keys), transcript, lambda: plain(keys, transcript))

    def once(self, kind: str, values: Sequence[object], make: Callable[[], ResultT]) -> ResultT:
        """Once for all who hold the same."""
        return self.memo.once((kind,), values, make)


@attrs.frozen
class _BeforeAgreement:
    """Validation without its last phase."""

    validation: Validation

    @property
    def rounds(self) -> int:
        """All but |V| - 1."""
        return self.validation.rounds - self.validation.valid.parameters.graph.agents + 1

    def place(self, round_number: int) -> tuple[str, int]:
        """As in validation."""
        return self.validation.place(round_number)

    def start(self, agent: int, private: ValidationInput) -> ValidState:
        """As in validation."""
        return self.validation.start(agent, private)

    def send(self, state: ValidState, round_number: int) -> Message:
        """As in validation."""
        return self.validation.send(state, round_number)

    def receive(
        self, state: ValidState, round_number: int, inbox: Mapping[int, Message]
    ) -> ValidState:
        """As in validation."""
        return self.validation.receive(state, round_number, inbox)


# The lies.


def learned(parameters: ValidParameters, lies: Mapping[Edge, Words]) -> dict[int, Learned]:
    """Records of zeros, but for what was told over the edges of a lie."""
    d, T = parameters.lattice.dimension, parameters.lattice.schedule.rounds

    def transcript(words: Words) -> tuple[LearningMessage, ...]:
        rows = np.array(words, dtype=np.int64).reshape(T, d)
        return tuple(LearningMessage(np.zeros(d, np.int64), row) for row in rows)

    zero = transcript((0,) * (d * T))
    return {
        v: Learned(
            Transcripts(
                zero,
                {
                    u: transcript(lies[u, v]) if (u, v) in lies else zero
                    for u in parameters.graph.neighbours(v)
                },
            )
        )
        for v in range(parameters.graph.agents)
    }


def play(
    parameters: ValidParameters,
    byzantine: frozenset[int],
    lies: Mapping[Edge, Words],
    deviation: Deviation | None = None,
) -> Play:
    """A play in which Byzantine agents account for what they told their first honest neighbour."""
    told, measures = learned(parameters, lies), _Kept(parameters)

    def tell(_view: object, agent: int) -> Account:
        near = parameters.graph.neighbours(agent)
        first = next((u for u in near if u not in byzantine), near[0])
        transcript = told[first].transcripts.received[agent]
        estimate = measures.estimate(transcript)
        return Account(transcript, tuple(estimate), numbers(measures, estimate))

    given = Deviation() if deviation is None else deviation
    given = attrs.evolve(given, tell=tell, adversary=together(given.adversary, echo))
    adversary = in_own_words(tiny_setting(parameters, byzantine), given, measures)
    return Play(parameters, byzantine, told, adversary, measures)


def tiny_setting(parameters: ValidParameters, byzantine: frozenset[int]) -> Setting:
    """What the attacks of the catalogue ask for; nobody has data here."""
    d = parameters.lattice.dimension
    losses = (Quadratic(np.eye(d), np.zeros(d)),) * parameters.graph.agents
    return Setting(parameters, Problem(losses), byzantine, 0.0, Coins.of_seed(0))


def differences(length: int) -> tuple[Words, ...]:
    """All vectors of -1, 0, 1 but zero, one of each pair of opposite sign: all lies modulo 3."""
    found = itertools.product((0, 1, -1), repeat=length)
    return tuple(one for one in found if next((e for e in one if e), -1) == 1)


KINDS = ("equivocation", "relation", "sum", "total")
"""What a lie is about: two neighbours are told two things, a relation is broken, a sum is wrong."""


def plays(
    parameters: ValidParameters, byzantine: frozenset[int], kinds: Sequence[str] = KINDS
) -> Iterator[tuple[str, Play]]:
    """Every lie of one Byzantine agent, with its kind."""
    for b in sorted(byzantine):
        made = (
            _lies_in_learning(parameters, byzantine, b),
            _lies_on_the_tree(parameters, byzantine, b),
        )
        yield from (one for one in itertools.chain(*made) if one[0] in kinds)


def _lies_in_learning(
    parameters: ValidParameters, byzantine: frozenset[int], liar: int
) -> Iterator[tuple[str, Play]]:
    """The same lie to everybody breaks the relation; to one honest neighbour it equivocates."""
    graph, shape = parameters.graph, parameters.lattice
    near = [u for u in graph.neighbours(liar) if u not in byzantine]
    for lie in differences(shape.dimension * shape.schedule.rounds):
        everybody = {(liar, u): lie for u in graph.neighbours(liar)}
        yield "relation", play(parameters, byzantine, everybody)
        for u in near if len(near) > 1 else ():
            yield "equivocation", play(parameters, byzantine, {(liar, u): lie})


def _lies_on_the_tree(
    parameters: ValidParameters, byzantine: frozenset[int], liar: int
) -> Iterator[tuple[str, Play]]:
    """A wrong sum for the parent, or a wrong total for one honest child."""
    routes = Routes(parameters.graph)
    children = [u for u in routes.children[liar] if u not in byzantine]
    for lie in differences(parameters.lattice.dimension):
        if liar != routes.root:
            yield "sum", _tampered(parameters, byzantine, (liar, None), SUM, lie)
        for u in children:
            yield "total", _tampered(parameters, byzantine, (liar, u), TOTAL, lie)


def _tampered(
    parameters: ValidParameters,
    byzantine: frozenset[int],
    where: tuple[int, int | None],
    slot: str,
    lie: Words,
) -> Play:
    """One Byzantine agent adds a lie to what it passes on, to this receiver or to any."""
    sender, receiver = where

    def change(_view: object, edge: Edge, own: Words) -> Words:
        wanted = edge[0] == sender and receiver in {None, edge[1]}
        return tuple(one + more for one, more in zip(own, lie, strict=True)) if wanted else own

    tampering = Deviation(changing_along_tree(lean.FIX, slot, change))
    return play(parameters, byzantine, {}, tampering)
