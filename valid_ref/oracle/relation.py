"""The learning relation of a whole round at once: who surely follows, decided column by column.

This only ever confirms. Where it does not, the machine of the agent decides by itself.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from valid_ref.kernels import Backend, compiled, settle
from valid_ref.lattice import WORD_LIMIT, IntVector
from valid_ref.machine import Message, Round
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters

COLUMNS = 1 << 13
"""How many entries of all agents are looked at together, so that they stay in the cache."""

LOOPS_PAY_FROM = 1 << 15
"""From so many entries of a round on the compiled form is worth loading."""

Matrix = npt.NDArray[np.int64]


class Confirmed:
    """What is known of the current learning round: messages in range, agents that follow.

    Implements: RE-9.
    """

    def __init__(self, parameters: ValidParameters) -> None:
        self._parameters = parameters
        self._before: list[Message] = []
        self._said: list[Message] = []
        self._fit: tuple[frozenset[int], frozenset[int]] = frozenset(), frozenset()
        self._follow: frozenset[int] = frozenset()

    def observe(
        self,
        spoken: Round,
        models: Matrix | None,
        gradients: Matrix | None,
        earlier: Matrix | None,
    ) -> None:
        """Take in a round; of a learning round its rows [n, d], and the models of the last one."""
        agents = range(self._parameters.graph.agents)
        self._before, self._said = self._said, []
        fit, self._follow = frozenset[int](), frozenset()
        if models is not None and gradients is not None:
            self._said = [spoken.said[agent] for agent in agents]
            inside, relation = confirm(self._parameters, spoken.number, earlier, models, gradients)
            real = [v for v in agents if inside[v] and isinstance(self._said[v], LearningMessage)]
            fit = frozenset(id(self._said[v]) for v in real)
            self._follow = frozenset(v for v in real if relation[v])
        self._fit = self._fit[1], fit

    def fits(self, message: Message) -> bool:
        """Whether this very message of this round or the last is known to be in range."""
        return id(message) in self._fit[0] or id(message) in self._fit[1]

    def follows(
        self, agent: int, found: Message, own: IntVector, neighbours: Sequence[IntVector]
    ) -> bool:
        """Whether what an agent says is known to follow from just these models."""
        if agent not in self._follow or found is not self._said[agent]:
            return False
        if not self._before:
            start = self._parameters.start_model
            return own is start and all(model is start for model in neighbours)
        senders = (agent, *self._parameters.graph.neighbours(agent))
        return all(
            isinstance(message := self._before[sender], LearningMessage) and message.model is model
            for sender, model in zip(senders, (own, *neighbours), strict=True)
        )


def confirm(
    parameters: ValidParameters,
    t: int,
    earlier: Matrix | None,
    models: Matrix,
    gradients: Matrix,
    backend: Backend = Backend.AUTO,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For every agent whether its rows are in range, and whether they are x(t) and Gamma(t).

    `earlier` are the models of round t-1, None for x_0. They are if 2^k x + Gamma = Y and
    A_t < 2^k: then some A_t G lies among the 2^k - 1 numbers or more that are rounded to x. Else,
    and without P17, nothing is confirmed. Numbers beyond the range may wrap; nobody is confirmed
    by them.

    Implements: RE-9, AR-4, AR-5, AR-6.
    """
    lattice, graph = parameters.lattice, parameters.graph
    bits, schedule = lattice.precision.step_bits, lattice.schedule
    fit = np.ones(graph.agents, dtype=np.bool_)
    follow = np.full(graph.agents, parameters.reading.P17 and schedule.A(t) < 1 << bits)
    settled = settle("steps", backend, models.size, pays_from=LOOPS_PAY_FROM)
    loops = compiled("steps", settled)
    if loops is not None and max(lattice.model_limit, lattice.gradient_limit) < WORD_LIMIT:
        before = parameters.start_model[np.newaxis, :] if earlier is None else earlier
        rows = (np.ascontiguousarray(array) for array in (models, gradients, before))
        limits = lattice.model_limit, lattice.gradient_limit
        loops.confirm(*rows, *_flat(parameters), schedule.a(t), bits, *limits, fit, follow)
        return fit, follow
    for begin in range(0, lattice.dimension, COLUMNS):
        columns = slice(begin, begin + COLUMNS)
        x, gamma = models[:, columns], gradients[:, columns]
        fit &= _within(x, lattice.model_limit) & _within(gamma, lattice.gradient_limit)
        if not follow.any():
            continue
        if earlier is None:  # everybody stands at x_0, where mixing changes nothing
            Y = parameters.start_model[np.newaxis, columns] << bits
        else:
            Y = _mixed(parameters, t, earlier[:, columns])
        found = x << bits
        found += gamma
        follow &= (found == Y).all(axis=1)
    return fit, follow


def _flat(parameters: ValidParameters) -> tuple[Matrix, Matrix]:
    """Where the neighbours of every agent end, and all neighbours one after the other."""
    near = [parameters.graph.neighbours(v) for v in range(parameters.graph.agents)]
    ends = np.cumsum([0, *map(len, near)], dtype=np.int64)
    return ends, np.fromiter(itertools.chain.from_iterable(near), np.int64, int(ends[-1]))


def _within(rows: Matrix, limit: int) -> npt.NDArray[np.bool_]:
    inside: Any = (rows.max(axis=1) < limit) & (rows.min(axis=1) > -limit)
    return np.asarray(inside, dtype=np.bool_)


def _mixed(parameters: ValidParameters, t: int, x: Matrix) -> Matrix:
    """Y = (2^k - a_t deg) x_v + a_t sum_u x_u of all agents.

    Implements: AR-4.
    """
    graph, lattice = parameters.graph, parameters.lattice
    a, scale = lattice.schedule.a(t), 1 << lattice.precision.step_bits
    rows = np.ascontiguousarray(x)
    mixed = np.zeros_like(rows)
    for v in range(graph.agents):
        near = graph.neighbours(v)
        for u in near:
            np.add(mixed[v], rows[u], out=mixed[v])
        mixed[v] *= a
        mixed[v] += (scale - a * len(near)) * rows[v]
    return mixed
