"""The attack with keys that are known while there is still something to choose (erratum P11).

It needs short differences that the hash maps to zero under given keys, by lattice reduction.
"""

import functools
from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import (
    AttackError,
    Deviation,
    Setting,
    honest_message,
    in_learning,
    quiet,
    require_paper,
    together,
)
from valid_ref.adversary.reports import known_keys
from valid_ref.machine import CausalView, Edge, Message
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import CheckedKeys

LONGEST = 24
"""The differences searched have at most this many entries: more would only take longer."""


@attrs.frozen
class EarlyKeys:
    """The honest model with Gamma + scale v, where v is short and hashes to 0 under known keys.

    v is a short vector of the lattice of all v with sum_i v_i s^i = 0 modulo p for every key s
    that is checked, laid over the first rounds. The keys are those broadcast before the learning
    (the reading without P11), or `known` from an earlier run (reuse).

    Expected: where the keys are the true ones, broken relations and no local alarm. Where `known`
    are not this run's keys, BROKEN_RELATION at every honest agent, as for any difference (L2).
    With keys drawn last and none known the attack is refused.
    """

    kind: ClassVar[str] = "early-keys"
    scale: int = 1
    known: tuple[int, ...] | None = None

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        parameters = setting.parameters
        if self.known is None:
            require_paper(setting)
        if self.known is None and parameters.reading.P11:
            raise AttackError(
                "keys are drawn after the learning, so none is known: P11 is repaired",
                clause="LV-1",
            )
        d, T = parameters.lattice.dimension, parameters.lattice.schedule.rounds
        length = min(d * T, LONGEST)
        counted = setting.graph.agents if self.known is None else len(set(self.known))
        if not 1 <= counted < length:
            raise AttackError(
                f"{counted} keys leave no difference of {length} entries unseen", clause="HA-7"
            )

        def adversary(view: CausalView) -> dict[Edge, Message]:
            begin = (view.round - 1) * d
            if not in_learning(view) or begin >= length:
                return {}
            keys = self._keys(setting, view)
            v = invisible_difference(parameters.field.prime, keys, length) + (0,) * d
            added = self.scale * np.array(v[begin : begin + d], dtype=np.int64)
            words: dict[Edge, Message] = {}
            for sender, receiver in view.own_edges:
                said = honest_message(setting, view, sender)
                words[sender, receiver] = LearningMessage(said.model, said.scaled_gradient + added)
            return words

        return Deviation(together(adversary, quiet))

    def _keys(self, setting: Setting, view: CausalView) -> tuple[int, ...]:
        if self.known is not None:
            return self.known
        keys = known_keys(view, min(setting.byzantine))
        if setting.parameters.checked_keys is CheckedKeys.OWN:
            return tuple(keys[v] for v in setting.honest)
        return keys


Vector = tuple[int, ...]


@functools.cache
def invisible_difference(prime: int, keys: tuple[int, ...], length: int) -> Vector:
    """A short nonzero integer vector v with sum_i v_i s^i = 0 modulo p for each of these keys.

    The vectors that the keys do not see form a lattice of determinant p^m for m distinct keys;
    its reduced basis has vectors of length about p^(m/n).
    """
    basis = _basis(prime, tuple(dict.fromkeys(keys)), length)
    return min(reduced(basis), key=lambda row: max(map(abs, row)))


def _basis(prime: int, keys: tuple[int, ...], length: int) -> list[Vector]:
    """p s^i below the number of keys, and s^i reduced modulo prod (s - key) from there on."""
    m = len(keys)
    product = [1]
    for key in keys:
        pairs = zip([0, *product], [*product, 0], strict=True)
        product = [(low - key * high) % prime for low, high in pairs]
    rows: list[Vector] = [_unit(i, length, prime) for i in range(m)]
    remainder = [-entry % prime for entry in product[:m]]
    for i in range(m, length):
        row = [-entry for entry in remainder] + [0] * (length - m)
        row[i] = 1
        rows.append(tuple(row))
        carry = remainder[-1] if m else 0
        shifted = [0, *remainder[:-1]]
        remainder = [(s - carry * q) % prime for s, q in zip(shifted, product[:m], strict=True)]
    return rows


def _unit(place: int, length: int, value: int) -> Vector:
    return tuple(value if i == place else 0 for i in range(length))


def reduced(basis: list[Vector]) -> list[Vector]:
    """The LLL-reduced basis of a lattice, in integers throughout (de Weger's form)."""
    state = _Reduction(basis)
    k = 1
    while k < len(basis):
        state.shorten(k, k - 1)
        if state.out_of_order(k):
            state.swap(k)
            k = max(1, k - 1)
        else:
            for j in range(k - 2, -1, -1):
                state.shorten(k, j)
            k += 1
    return [tuple(row) for row in state.rows]


class _Reduction:
    """The basis, the Gram determinants D_0..D_n, and lambda_ij = D_(j+1) mu_ij."""

    def __init__(self, basis: list[Vector]) -> None:
        n = len(basis)
        self.rows = [list(row) for row in basis]
        self.D = [1] * (n + 1)
        self.mu = [[0] * n for _row in range(n)]
        for i in range(n):
            for j in range(i + 1):
                value = sum(one * other for one, other in zip(basis[i], basis[j], strict=True))
                for m in range(j):
                    crossed = self.mu[i][m] * self.mu[j][m]
                    value = (self.D[m + 1] * value - crossed) // self.D[m]
                if j < i:
                    self.mu[i][j] = value
                else:
                    self.D[i + 1] = value

    def shorten(self, k: int, j: int) -> None:
        """Take the nearest multiple of row j off row k."""
        times = (2 * self.mu[k][j] + self.D[j + 1]) // (2 * self.D[j + 1])
        if times == 0:
            return
        pairs = zip(self.rows[k], self.rows[j], strict=True)
        self.rows[k] = [one - times * other for one, other in pairs]
        for m in range(j):
            self.mu[k][m] -= times * self.mu[j][m]
        self.mu[k][j] -= times * self.D[j + 1]

    def out_of_order(self, k: int) -> bool:
        """Whether Lovász' condition with 3/4 fails at rows k-1 and k."""
        left = 4 * (self.D[k + 1] * self.D[k - 1] + self.mu[k][k - 1] ** 2)
        return left < 3 * self.D[k] ** 2

    def swap(self, k: int) -> None:
        """Exchange rows k-1 and k."""
        D, mu = self.D, self.mu
        self.rows[k - 1], self.rows[k] = self.rows[k], self.rows[k - 1]
        for j in range(k - 1):
            mu[k - 1][j], mu[k][j] = mu[k][j], mu[k - 1][j]
        between = mu[k][k - 1]
        for i in range(k + 1, len(self.rows)):
            first, second = mu[i][k - 1], mu[i][k]
            mu[i][k - 1] = (first * between + second * D[k - 1]) // D[k]
            mu[i][k] = (first * D[k + 1] - second * between) // D[k]
        D[k] = (D[k - 1] * D[k + 1] + between**2) // D[k]
