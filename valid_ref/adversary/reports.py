"""Attacks by false reports: about what a neighbour sent, in hashes and in estimates."""

import enum
from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import (
    AttackError,
    Deviation,
    Setting,
    honest_neighbours,
    in_learning,
    on_lattice,
    require_paper,
    together,
    units,
)
from valid_ref.adversary.broadcasts import Said, rewriting, with_values
from valid_ref.adversary.gradients import InconsistentGradient
from valid_ref.hashing import hash_vector
from valid_ref.machine import CausalView, Edge, Message
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.global_validate import estimate
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import transcript_report
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.valid import COMMITMENTS, ESTIMATES, HASHES, ValidState
from valid_ref.wide import WideIntegers


class Which(enum.Enum):
    """The four hashes of a report, in its order."""

    OUT = "out"
    IN = "in"
    IN_ETA = "in-eta"
    GAMMA = "gamma"

    @property
    def index(self) -> int:
        """The place among the four."""
        return list(Which).index(self)


def known_keys(view: CausalView, agent: int) -> tuple[int, ...]:
    """The keys that the honest code of a Byzantine agent holds; none before they were sent."""
    state = view.byzantine_states[agent]
    return state.memory.keys if isinstance(state, ValidState) else ()


def with_added(report: object, added: Mapping[int, int], prime: int) -> object:
    """A report with something added to some entries, modulo p."""
    if not isinstance(report, tuple):
        return report
    return tuple((e + added[i]) % prime if i in added else e for i, e in enumerate(report))


@attrs.frozen
class HashLiar:
    """Adds 1 to one of the four hashes in its reports, modulo p, under one key or under all.

    `about` is the neighbour reported on (all of them unless given), `key` the owner of the key.
    With `before_keys` it lies in the hashes that the paper lets agents broadcast before the keys,
    which needs the reading without P09.

    Expected: INCONSISTENT_HASHES, naming the neighbour, at every honest agent that checks under
    that key when the neighbour has another reporter, and SELF_MISMATCH at the neighbour if it is
    honest. Before the keys nobody reads it: everybody ends valid (P09).
    """

    kind: ClassVar[str] = "hash-liar"
    about: int | None = None
    key: int | None = None
    which: Which = Which.OUT
    before_keys: bool = False

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        require_paper(setting)
        if self.before_keys and setting.parameters.reading.P09:
            raise AttackError(
                "no hash is broadcast before the keys: P09 is repaired", clause="LV-6"
            )
        owners = range(setting.graph.agents) if self.key is None else (self.key,)
        added = {4 * owner + self.which.index: 1 for owner in owners}
        prime = setting.parameters.field.prime

        def rewrite(_view: CausalView, edge: Edge, said: Said) -> Message:
            return with_values(
                said,
                {
                    tag: with_added(value, added, prime)
                    for tag, value in said.items()
                    if tag[0] == edge[0] and self.about in {None, tag[1]}
                },
            )

        return Deviation(rewriting(COMMITMENTS if self.before_keys else HASHES, rewrite))


@attrs.frozen
class FalseReport:
    """Reports of a neighbour that its Gamma had `units` more in the first entry of round 1.

    Hashes and estimates tell the same story, and H_out is lowered by units/2^k modulo p, which
    keeps the relation of the neighbour: only other reporters, or the neighbour itself, can object.

    Expected: INCONSISTENT_HASHES at every honest agent when the neighbour has another reporter,
    SELF_MISMATCH and SELF_ESTIMATE_MISMATCH at the neighbour if it is honest. If all its reporters
    are Byzantine and P07 is turned off nobody objects.
    """

    kind: ClassVar[str] = "false-report"
    about: int | None = None
    units: int = 1

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        require_paper(setting)
        prime, lattice = setting.parameters.field.prime, setting.parameters.lattice
        lowered = -self.units * pow(1 << lattice.precision.step_bits, -1, prime)
        agents = range(setting.graph.agents)
        added = {4 * v: lowered for v in agents} | {4 * v + 3: self.units for v in agents}

        def about(edge: Edge, tag: Tag) -> bool:
            return tag[0] == edge[0] and self.about in {None, tag[1]}

        def hashes(_view: CausalView, edge: Edge, said: Said) -> Message:
            return with_values(
                said,
                {
                    tag: with_added(value, added, prime)
                    for tag, value in said.items()
                    if about(edge, tag)
                },
            )

        def estimates(_view: CausalView, edge: Edge, said: Said) -> Message:
            more = self.units // lattice.schedule.A(1) or 1
            return with_values(
                said,
                {
                    tag: (value[0] + more, *value[1:])
                    for tag, value in said.items()
                    if about(edge, tag) and isinstance(value, WideIntegers) and len(value)
                },
            )

        return Deviation(together(rewriting(HASHES, hashes), rewriting(ESTIMATES, estimates)))


@attrs.frozen
class EstimateLiar:
    """Adds `units` to the first entry of ghat of a neighbour's estimate, or to lhat with `norm`.

    There is an lhat only as printed (without P27). The hashes say nothing of estimates, so the
    lie is free there; but all reporters must agree.

    Expected: INCONSISTENT_ESTIMATES, naming the neighbour, at every honest agent when it has
    another reporter, and SELF_ESTIMATE_MISMATCH at the neighbour if it is honest.
    """

    kind: ClassVar[str] = "estimate-liar"
    about: int | None = None
    units: int = 1
    norm: bool = False

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        if self.norm and setting.parameters.reading.P27:
            raise AttackError("there is an lhat to lie about only without P27", clause="GV-3")
        require_paper(setting)
        place = setting.parameters.lattice.dimension if self.norm else 0

        def rewrite(_view: CausalView, edge: Edge, said: Said) -> Message:
            return with_values(
                said,
                {
                    tag: tuple(e + self.units * (i == place) for i, e in enumerate(value))
                    for tag, value in said.items()
                    if tag[0] == edge[0]
                    and self.about in {None, tag[1]}
                    and isinstance(value, WideIntegers)
                },
            )

        return Deviation(rewriting(ESTIMATES, rewrite))


@attrs.frozen
class BalancedReport:
    """Breaks its relation by one unit and balances it, as each neighbour sees it, by a lie (P08).

    Byzantine b adds 1 to Gamma(1). To its neighbour w, under the key of w, it reports H_in_eta of
    another neighbour u larger by the hash of the residual; u is not adjacent to w, has b as its
    lowest-numbered reporter, and shares no neighbour with w but b.

    Expected: without P08 and with keys_checked = own everybody ends valid although b broke its
    relation. Repaired: INCONSISTENT_HASHES at every honest agent whose key was used.
    """

    kind: ClassVar[str] = "balanced-report"

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        require_paper(setting)
        scapegoats = {b: _scapegoats(setting, b) for b in sorted(setting.byzantine)}
        parameters = setting.parameters
        residual = np.eye(parameters.lattice.dimension, dtype=np.int64)[0]
        if parameters.checked_keys is not CheckedKeys.OWN:
            raise AttackError("balanced reports need keys_checked = own", clause="LV-10")

        def rewrite(view: CausalView, edge: Edge, said: Said) -> Message:
            keys = known_keys(view, edge[0])
            lies: dict[Tag, object] = {}
            for w, u in scapegoats[edge[0]].items():
                tag: Tag = (edge[0], u)
                by = hash_vector(parameters.field, keys[w], residual)
                before = lies.get(tag, said.get(tag))
                lies[tag] = with_added(before, {4 * w + 2: by}, parameters.field.prime)
            return with_values(said, lies)

        broken = InconsistentGradient(units=1, last=1).build(setting).adversary
        return Deviation(together(broken, rewriting(HASHES, rewrite)))


def _scapegoats(setting: Setting, b: int) -> dict[int, int]:
    """For every honest neighbour w of b a neighbour u about whom b can lie to w."""
    graph, found = setting.graph, {}
    for w in honest_neighbours(setting, b):
        near = set(graph.neighbours(w))
        usable = [
            u
            for u in graph.neighbours(b)
            if u != w
            and u not in near
            and graph.neighbours(u)[0] == b
            and near & set(graph.neighbours(u)) == {b}
        ]
        if not usable:
            raise AttackError(f"agent {b} has nobody to lie about to {w}", clause="LV-7")
        found[w] = usable[0]
    return found


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
        require_paper(setting)
        parameters, script = setting.parameters, self.script(setting)

        def learning(view: CausalView) -> dict[Edge, Message]:
            if not in_learning(view):
                return {}
            return dict.fromkeys(view.own_edges, script[view.round - 1])

        def lies(said: Said, sender: int, value: object) -> dict[Tag, object]:
            return with_values(said, {(sender, u): value for u in setting.honest})

        def hashes(view: CausalView, edge: Edge, said: Said) -> Message:
            report = transcript_report(parameters, known_keys(view, edge[0]), script)
            return lies(said, edge[0], report)

        def estimates(_view: CausalView, edge: Edge, said: Said) -> Message:
            return lies(said, edge[0], estimate(parameters, script))

        return Deviation(
            together(learning, rewriting(HASHES, hashes), rewriting(ESTIMATES, estimates))
        )

    def script(self, setting: Setting) -> tuple[LearningMessage, ...]:
        """What every Byzantine agent sends, and says that everybody sent."""
        lattice, start = setting.parameters.lattice, setting.parameters.start_model
        model = on_lattice(setting, np.full(lattice.dimension, units(setting, self.target)))
        jump = (start - model) << lattice.precision.step_bits
        rest = LearningMessage(model, np.zeros_like(model))
        return LearningMessage(model, jump), *[rest] * (lattice.schedule.rounds - 1)
