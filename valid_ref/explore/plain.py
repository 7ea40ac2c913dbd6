"""A slow version of the compiled core, short enough to be read; it remembers who said what.

It finds the cheapest script of a counterexample, checks the compiled core, and is what the core's
speed is measured against.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import attrs

from valid_ref.document import NAME
from valid_ref.explore.settings import BROADCAST_PHASE, AgreementVariant, BroadcastVariant
from valid_ref.graph import honest_agents
from valid_ref.protocols.agreement import PHASE as AGREEMENT_PHASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from valid_ref.explore.cases import ExploredCase

AgentState = tuple[int, bool, bool]
"""What an agent holds (0 is null), whether it will send it, whether it has alarmed."""

Joint = tuple[AgentState, ...]
Spoken = tuple[int, ...]
"""What the Byzantine neighbours of an agent say to it in a round, in their order."""

Heard = tuple[int | None, ...]
"""What the neighbours of an agent say in their order; None is a Byzantine one's."""

Known = dict[tuple[AgentState, Heard, bool], dict[AgentState, Spoken]]


@attrs.frozen
class Word:
    """What a Byzantine agent says on one edge in one round: a value, or true for "I am alarmed"."""

    phase: str
    round: int
    sender: int = attrs.field(metadata={NAME: "from"})
    receiver: int = attrs.field(metadata={NAME: "to"})
    says: str | bool


@attrs.frozen
class CheapestStep:
    """The cheapest known way into a state: its price, the number of words, and the words."""

    price: int
    words: tuple[Word, ...]


@attrs.frozen
class PlainBroadcast:
    """One case of a broadcast over so many values, an honest source having value 1."""

    case: ExploredCase
    variant: BroadcastVariant
    values: int
    rounds: int = attrs.field(init=False)
    honest: tuple[int, ...] = attrs.field(init=False)

    @rounds.default
    def _rounds(self) -> int:
        return self.variant.flood_rounds(self.case.graph) + self.variant.compare

    @honest.default
    def _honest(self) -> tuple[int, ...]:
        return self.case.honest

    def start(self) -> Joint:
        """Everybody holds null but an honest source."""
        source = self.case.source
        return tuple(
            (1, True, False) if agent == source else (0, False, False) for agent in self.honest
        )

    def options(self, joint: Joint, number: int, known: Known) -> list[dict[AgentState, Spoken]]:
        """For every honest agent the states it can be brought into, with the fewest words.

        They depend on its state and on what honest neighbours say; `known` keeps them.
        """
        comparing = self.variant.compare and number == self.rounds
        said = {
            agent: held if sends or comparing else 0
            for agent, (held, sends, _) in zip(self.honest, joint, strict=True)
        }
        found = []
        for agent, state in zip(self.honest, joint, strict=True):
            heard = tuple(said.get(u) for u in self.case.graph.neighbours(agent))
            key = (state, heard, number == self.rounds)
            if key not in known:
                known[key] = self._ways(state, heard, comparing, number)
            found.append(known[key])
        return found

    def _ways(
        self, state: AgentState, heard: Heard, comparing: bool, number: int
    ) -> dict[AgentState, Spoken]:
        ways: dict[AgentState, Spoken] = {}
        for spoken in product(range(self.values + 1), repeat=heard.count(None)):
            lies = iter(spoken)
            words = [next(lies) if word is None else word for word in heard]
            after = self._receive(state, words, comparing, number)
            if after not in ways or _price(spoken) < _price(ways[after]):
                ways[after] = spoken
        return ways

    def _receive(
        self, state: AgentState, heard: list[int], comparing: bool, number: int
    ) -> AgentState:
        held, _, alarmed = state
        fresh = False
        for word in heard:
            if word and held:
                alarmed = alarmed or word != held
            elif word and not comparing:
                held, fresh = word, True
        if number == self.rounds and self.variant.null_alarm and not held:
            alarmed = True
        return held, fresh or (self.variant.resend and held > 0), alarmed


def reachable(plain: PlainBroadcast) -> tuple[set[Joint], int]:
    """The joint honest states at the end, and how many there were at the ends of all rounds."""
    layer, known, states = {plain.start()}, Known(), 1
    for number in range(1, plain.rounds + 1):
        layer = {
            after for joint in layer for after in product(*plain.options(joint, number, known))
        }
        states += len(layer)
    return layer, states


def cheapest_words(plain: PlainBroadcast, names: tuple[str, ...]) -> dict[Joint, CheapestStep]:
    """Every final state with the fewest words that lead there."""
    layer, known = {plain.start(): CheapestStep(0, ())}, Known()
    for number in range(1, plain.rounds + 1):
        following: dict[Joint, CheapestStep] = {}
        for joint, step in layer.items():
            ways = plain.options(joint, number, known)
            for after in product(*ways):
                price = step.price + sum(_price(w[s]) for w, s in zip(ways, after, strict=True))
                if after not in following or price < following[after].price:
                    spoken = [w[s] for w, s in zip(ways, after, strict=True)]
                    words = tuple(_words(plain.case, number, spoken, names))
                    following[after] = CheapestStep(price, step.words + words)
        layer = following
    return layer


def _price(spoken: Spoken) -> int:
    return sum(map(bool, spoken))


def _words(
    case: ExploredCase, number: int, spoken: list[Spoken], names: tuple[str, ...]
) -> Iterator[Word]:
    for agent, values in zip(case.honest, spoken, strict=True):
        liars = [u for u in case.graph.neighbours(agent) if u in case.byzantine]
        for sender, value in zip(liars, values, strict=True):
            if value:
                yield Word(BROADCAST_PHASE, number, sender, agent, names[value - 1])


def cheapest_lies(
    case: ExploredCase, variant: AgreementVariant, alarmed: frozenset[int]
) -> Mapping[frozenset[int], tuple[Word, ...]]:
    """Every set of honest agents that can end alarmed from this start, with the fewest lies."""
    honest = frozenset(honest_agents(case.graph, case.byzantine))
    neighbours = {agent: case.graph.neighbours(agent) for agent in honest}
    liars = {v: case.byzantine.intersection(us) for v, us in neighbours.items()}
    liar = {v: min(some) for v, some in liars.items() if some}
    layer: dict[frozenset[int], tuple[Word, ...]] = {alarmed: ()}
    for number in range(1, variant.count(case.graph, len(honest)) + 1):
        following: dict[frozenset[int], tuple[Word, ...]] = {}
        for before, words in sorted(layer.items(), key=lambda item: len(item[1])):
            forced = {v for v in honest if before & set(neighbours[v])}
            forced |= before if variant.persist else frozenset()
            quiet = sorted(set(liar) - forced)
            for choice in product((False, True), repeat=len(quiet)):
                lied = [v for v, lie in zip(quiet, choice, strict=True) if lie]
                told = words + tuple(Word(AGREEMENT_PHASE, number, liar[v], v, True) for v in lied)
                after = frozenset(forced.union(lied))
                if after not in following or len(told) < len(following[after]):
                    following[after] = told
        layer = following
    return layer
