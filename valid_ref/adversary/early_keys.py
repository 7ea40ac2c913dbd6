"""The attack with keys that are known while there is still something to choose (erratum P11)."""

from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import AttackError, Deviation, Setting, quiet, together
from valid_ref.adversary.invisible import invisible_difference
from valid_ref.adversary.learning import in_learning, usual
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
                said = usual(setting, view, sender)
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
