"""The attack on a lone honest agent, whose only reporters are Byzantine (erratum P07)."""

from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import Deviation, Setting, together
from valid_ref.adversary.broadcasts import Said, retelling, revalued
from valid_ref.adversary.learning import in_learning, on_lattice, units
from valid_ref.adversary.reports import known_keys
from valid_ref.machine import CausalView, Edge, Message
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.global_validate import estimate
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import transcript_report
from valid_ref.protocols.valid import ESTIMATES, HASHES


@attrs.frozen
class LoneVictim:
    """All Byzantine agents stay at `target` and report that the honest agents did the same.

    x(t) = target in every entry, Gamma(1) = 2^k (x_0 - target), Gamma(t) = 0 afterwards. If that
    were what everybody sent, every relation would hold and every later gradient would be zero;
    the honest agent is drawn along by the mixing.

    Expected: with one honest agent and without P07 it ends valid near the target (norm bounds
    must let the first gradient pass). Repaired: SELF_MISMATCH and SELF_ESTIMATE_MISMATCH at
    every honest neighbour of a liar, and INCONSISTENT_HASHES if there are more honest agents.
    """

    kind: ClassVar[str] = "lone-victim"
    target: float = 50.0

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        parameters, script = setting.parameters, self.script(setting)

        def learning(view: CausalView) -> dict[Edge, Message]:
            if not in_learning(view):
                return {}
            return dict.fromkeys(view.own_edges, script[view.round - 1])

        def lies(said: Said, sender: int, value: object) -> dict[Tag, object]:
            return revalued(said, {(sender, u): value for u in setting.honest})

        def hashes(view: CausalView, edge: Edge, said: Said) -> Message:
            report = transcript_report(parameters, known_keys(view, edge[0]), script)
            return lies(said, edge[0], report)

        def estimates(_view: CausalView, edge: Edge, said: Said) -> Message:
            return lies(said, edge[0], estimate(parameters, script))

        return Deviation(
            together(learning, retelling(HASHES, hashes), retelling(ESTIMATES, estimates))
        )

    def script(self, setting: Setting) -> tuple[LearningMessage, ...]:
        """What every Byzantine agent sends, and says that everybody sent."""
        lattice, start = setting.parameters.lattice, setting.parameters.start_model
        model = on_lattice(setting, np.full(lattice.dimension, units(setting, self.target)))
        jump = (start - model) << lattice.precision.step_bits
        rest = LearningMessage(model, np.zeros_like(model))
        return LearningMessage(model, jump), *[rest] * (lattice.schedule.rounds - 1)
