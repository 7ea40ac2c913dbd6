"""The attack from behind: a Byzantine agent without honest neighbours (erratum P06)."""

import math
from collections.abc import Callable, Mapping
from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import (
    Account,
    AttackError,
    Deviation,
    Setting,
    clip_model,
    consistent_message,
    honest_message,
    honest_neighbours,
    in_learning,
    on_lattice,
    quiet,
    require_paper,
    together,
    units,
)
from valid_ref.adversary.broadcasts import Said, first_said, rewriting, with_values
from valid_ref.adversary.own_words import what_was_sent
from valid_ref.lattice import IntVector
from valid_ref.machine import Adversary, CausalView, Edge, Message
from valid_ref.protocols.global_validate import width
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.valid import ESTIMATES, HASHES
from valid_ref.wide import WideIntegers

Report = tuple[int, ...]


@attrs.frozen
class HiddenHashes:
    """Fronts stay at +size, -size, +size, ..; hidden agents get hashes invented after the keys.

    A front is a Byzantine agent with an honest neighbour and a hidden one of its own. It sends
    x = +-size and Gamma = 0 in every round. What its hidden neighbour w "said" is reported by
    Byzantine agents alone: H_in_eta(w) is chosen so that the relation of the front holds, and
    H_Gamma(w) so that the relation of w holds, key by key. The estimate of w makes the sum of all
    estimates zero.

    Expected: under Assumption 1 alone everybody valid and no consensus: T sum |x_h - mean|^2
    grows with T. Assumption 1+ fails, and the run says so; where it holds the attack is refused.
    """

    kind: ClassVar[str] = "hidden-hashes"
    size: float = 3.0

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        require_paper(setting)
        fronts = fronts_of(setting)
        stand = _stands(setting, fronts, self.size)

        def learning(view: CausalView) -> dict[Edge, Message]:
            if not in_learning(view):
                return {}
            return {
                (v, u): LearningMessage(stand[v], np.zeros_like(stand[v]))
                for v, u in view.own_edges
                if v in fronts
            }

        def hashes(view: CausalView, edge: Edge, said: Said) -> Message:
            invented = _balanced_reports(setting, fronts, first_said(view))
            return with_values(said, {(edge[0], w): report for w, report in invented.items()})

        return Deviation(together(learning, rewriting(HASHES, hashes), _estimates(setting)))


@attrs.frozen
class HiddenTranscripts:
    """The same with real messages that are fixed before any key exists: no hash is invented.

    The hidden neighbour w of a front v sends, in round t,
    x_w = 2^k (x_v(t+1) - x_v(t)) / a_(t+1) + deg(v) x_v(t) - sum of the other neighbours' models,
    so that mixing alone leads v where it wants to be and its gradient is zero up to rounding; the
    gradient of w is what the relation demands, and large. Fronts stand at x_0 in round 1 and at
    +-size from round 2 on. Only the estimate of w, which no hash covers, is invented; in lean
    validation w says it itself.

    Expected: as for invented hashes; no order of commitments and keys can help.
    """

    kind: ClassVar[str] = "hidden-transcripts"
    size: float = 3.0

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        fronts = fronts_of(setting)
        stand = _stands(setting, fronts, self.size)

        def stands(v: int, t: int) -> IntVector:
            return setting.parameters.start_model if t <= 1 else stand[v]

        def pulls(view: CausalView, v: int) -> IntVector:
            t, lattice = view.round, setting.parameters.lattice
            now, later = stands(v, t), stands(v, t + 1)
            a = lattice.schedule.a(min(t + 1, lattice.schedule.rounds))
            move = ((later - now) << lattice.precision.step_bits) // a
            model: IntVector = move + setting.graph.degree(v) * now
            for u in setting.graph.neighbours(v):
                if u != fronts[v]:
                    model = model - (
                        stands(u, t) if u in fronts else honest_message(setting, view, u).model
                    )
            return clip_model(setting, model)

        def learning(view: CausalView) -> dict[Edge, Message]:
            if not in_learning(view):
                return {}
            models = {v: stands(v, view.round) for v in fronts}
            models |= {w: pulls(view, v) for v, w in fronts.items()}
            return {
                (b, u): consistent_message(setting, view, b, u, models[b])
                for b, u in view.own_edges
                if b in models
            }

        if setting.parameters.lean is not None:
            return Deviation(together(learning, quiet), tell=_invented(setting))
        return Deviation(together(learning, _estimates(setting)))


def _invented(setting: Setting) -> Callable[[CausalView, int], Account]:
    """Every agent's account, but of hidden agents the estimates are invented, as in `_estimates`.

    Their numbers q are zero.
    """
    hidden, tell = hidden_agents(setting), what_was_sent(setting)

    def told(view: CausalView, agent: int) -> Account:
        account = tell(view, agent)
        if agent not in hidden:
            return account
        others = [tell(view, u).estimate for u in range(setting.graph.agents) if u not in hidden]
        vector = tuple(-sum(column) for column in zip(*others, strict=True))
        estimate = vector if agent == hidden[0] else (0,) * len(vector)
        return attrs.evolve(account, estimate=estimate, numbers=(0,) * len(account.numbers))

    return told


def hidden_agents(setting: Setting) -> tuple[int, ...]:
    """The Byzantine agents without an honest neighbour."""
    return tuple(b for b in sorted(setting.byzantine) if not honest_neighbours(setting, b))


def fronts_of(setting: Setting) -> Mapping[int, int]:
    """Every Byzantine agent that has an honest neighbour and a hidden one of its own; and that."""
    hidden, found = hidden_agents(setting), {}
    for w in reversed(hidden):
        near = [v for v in setting.graph.neighbours(w) if v not in hidden]
        if len(near) == 1:
            found[near[0]] = w
    if not found:
        raise AttackError(
            "no Byzantine agent has a hidden neighbour of its own: Assumption 1+ holds, or several "
            "share one",
            clause="AD-6",
        )
    return dict(sorted(found.items()))


def _stands(setting: Setting, fronts: Mapping[int, int], size: float) -> Mapping[int, IntVector]:
    d = setting.parameters.lattice.dimension
    return {
        v: on_lattice(setting, np.full(d, units(setting, size * (-1) ** rank)))
        for rank, v in enumerate(fronts)
    }


def _honest_report(setting: Setting, said: Mapping[int, Message], agent: int) -> tuple[int, ...]:
    """What honest code reports of an agent, at its lowest-numbered neighbour."""
    reporter = setting.graph.neighbours(agent)[0]
    values = said[reporter]
    value = values.get((reporter, agent)) if isinstance(values, Mapping) else None
    return tuple(value) if isinstance(value, tuple | WideIntegers) else ()


def _balanced_reports(
    setting: Setting, fronts: Mapping[int, int], said: Mapping[int, Message]
) -> Mapping[int, Report]:
    """Reports on all hidden agents under which every relation of a Byzantine agent holds."""
    graph, prime = setting.graph, setting.parameters.field.prime
    reports = {u: list(_honest_report(setting, said, u)) for u in range(graph.agents)}
    for owner in range(graph.agents):
        eta, gamma = 4 * owner + 2, 4 * owner + 3
        for v, w in fronts.items():
            missing = _missing(setting, reports, v, owner)
            reports[w][eta] = (reports[w][eta] + missing) % prime
        for w in hidden_agents(setting):
            missing = _missing(setting, reports, w, owner)
            reports[w][gamma] = (reports[w][gamma] - missing) % prime
    return {w: tuple(reports[w]) for w in hidden_agents(setting)}


def _missing(setting: Setting, reports: Mapping[int, list[int]], v: int, owner: int) -> int:
    """By how much the relation of an agent fails under a key."""
    h_out, h_in, h_in_eta, h_gamma = reports[v][4 * owner : 4 * owner + 4]
    others = (reports[u][4 * owner + 2] for u in setting.graph.neighbours(v))
    mixing = sum(entry - h_in_eta for entry in others)
    return ((h_out - h_in) << setting.parameters.lattice.precision.step_bits) - mixing + h_gamma


def _estimates(setting: Setting) -> Adversary:
    """Invented estimates of hidden agents: the first makes the sum zero, the others are zero."""
    hidden, d = hidden_agents(setting), setting.parameters.lattice.dimension
    size = width(setting.parameters)

    def rewrite(view: CausalView, edge: Edge, said: Said) -> Message:
        seen = [u for u in range(setting.graph.agents) if u not in hidden]
        columns = list(
            zip(*(_honest_report(setting, first_said(view), u) for u in seen), strict=True)
        )
        first: list[int] = []
        for begin in range(0, len(columns), size):
            vector = [-sum(column) for column in columns[begin : begin + d]]
            first += [*vector, math.isqrt(sum(entry * entry for entry in vector))][:size]
        invented: dict[int, tuple[int, ...]] = dict.fromkeys(hidden, (0,) * len(first))
        invented[hidden[0]] = tuple(first)
        return with_values(said, {(edge[0], w): value for w, value in invented.items()})

    return rewriting(ESTIMATES, rewrite)
