"""Attacks on what follows the learning: silence, late words, false relays, false alarms."""

from collections.abc import Callable, Mapping
from typing import ClassVar

import attrs

from valid_ref.adversary.attack import (
    AttackError,
    Deviation,
    Setting,
    quiet,
    require_phase,
    together,
)
from valid_ref.machine import Adversary, CausalView, Edge, Message
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import COMMITMENTS, ESTIMATES, HASHES, KEYS
from valid_ref.wide import WideIntegers

BROADCASTS = (COMMITMENTS, KEYS, HASHES, ESTIMATES)
"""The phases that are validated broadcasts; COMMITMENTS exists without the repair P09 only."""

FLOODS = (lean.FIX, lean.OPEN, lean.REPORT)
"""The phases of lean validation in which everybody's values are flooded."""

Said = Mapping[Tag, object]
Rewrite = Callable[[CausalView, Edge, Said], Message]
"""What a Byzantine agent says on an edge of a broadcast instead of what honest code says."""


def rewriting(phase: str, rewrite: Rewrite) -> Adversary:
    """Byzantine agents change their words in one broadcast, and never alarm."""

    def adversary(view: CausalView) -> Mapping[Edge, Message]:
        if view.phase != phase:
            return {}
        words: dict[Edge, Message] = {}
        for edge in view.own_edges:
            said = view.on_edge(*edge)
            words[edge] = rewrite(view, edge, said) if isinstance(said, Mapping) else said
        return words

    return together(adversary, quiet)


def with_values(said: Said, values: Mapping[Tag, object]) -> dict[Tag, object]:
    """A broadcast message in which some tags, where they occur, have another value."""
    return {tag: values.get(tag, value) for tag, value in said.items()}


def first_said(view: CausalView) -> Mapping[int, Message]:
    """What honest code said in the first round of this phase: everybody's own values."""
    if view.round == 1:
        return view.said
    return next(spoken for spoken in view.history if spoken.phase == view.phase).said


def chosen_phase(setting: Setting, phase: str | None, paper: str, in_lean: str) -> str:
    """The phase that an attack names; if it names none, one of the validation that the run has."""
    if phase is not None:
        return phase
    return paper if setting.parameters.lean is None else in_lean


@attrs.frozen
class SilentSource:
    """No values of one's own in one phase; with `wholly` no word at all there.

    `phase` is LearnModel, a broadcast, a phase of lean validation, or the agreement; if none is
    given, the broadcast of the keys, or the flood of the openings.

    Expected: NO_VALUE at every honest agent in a broadcast (VB-8; as printed, without P01, no
    alarm from the broadcast itself). Wholly silent: MISSING_MESSAGE at every honest neighbour.
    In LearnModel and in the agreement silence is always whole.
    """

    kind: ClassVar[str] = "silent-source"
    phase: str | None = None
    wholly: bool = False

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        phase = chosen_phase(setting, self.phase, KEYS, lean.OPEN)
        among = (LEARNING, *BROADCASTS, *FLOODS, lean.COMPARE, AGREEMENT)
        require_phase(setting, phase, among=among)
        if phase in (*BROADCASTS, *FLOODS) and not self.wholly:
            return Deviation(rewriting(phase, _without_own))

        def adversary(view: CausalView) -> Mapping[Edge, Message]:
            return dict.fromkeys(view.own_edges) if view.phase == phase else {}

        return Deviation(together(quiet, adversary))


def _without_own(_view: CausalView, edge: Edge, said: Said) -> Message:
    return {tag: value for tag, value in said.items() if tag[0] != edge[0]}


@attrs.frozen
class LastRoundEquivocator:
    """Silent about its own values until agents adopt for the last time, then a lie per receiver.

    In round |V|-1 (as printed min(|V|, |E|)) receiver number i of a Byzantine agent is told the
    value with i added to its first entry; in the compare round the same again. In a flood of lean
    validation it is round D, and in its compare round every receiver hears its own digest. If no
    phase is given, it is the broadcast of the keys, or the flood of the openings.

    Expected: DIFFERENT_VALUE at neighbouring honest receivers, NO_VALUE at honest agents further
    away. Without P01 nobody alarms in the broadcast, and honest agents hold different values;
    in the broadcast of keys, with keys_checked = own, they even end valid.
    """

    kind: ClassVar[str] = "last-round-equivocator"
    phase: str | None = None

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        phase = chosen_phase(setting, self.phase, KEYS, lean.OPEN)
        rounds = require_phase(setting, phase, among=(*BROADCASTS, *FLOODS))
        last = rounds - 1 if setting.parameters.reading.P01 else rounds
        last = setting.graph.diameter if phase in FLOODS else last
        prime = _modulus(setting, phase)

        def rewrite(view: CausalView, edge: Edge, said: Said) -> Message:
            sender, receiver = edge
            rank = view.graph.neighbours(sender).index(receiver)
            own = first_said(view)[sender]
            own = own if isinstance(own, Mapping) else {}
            lies = {t: shifted(v, rank, prime) for t, v in own.items() if t[0] == sender}
            others = {tag: value for tag, value in said.items() if tag not in lies}
            if view.round < last or (view.round > last and phase in FLOODS):
                return others
            return others | lies

        return Deviation(together(echo, rewriting(phase, rewrite)))


def echo(view: CausalView) -> Mapping[Edge, Message]:
    """Where digests are compared, every receiver hears its own."""
    return {edge: view.said[edge[1]] for edge in view.own_edges if view.phase == lean.COMPARE}


def shifted(value: object, by: int, prime: int | None) -> object:
    """A key or the first entry of a report or estimate changed, modulo p if p is given."""
    if isinstance(value, tuple | WideIntegers):
        return (shifted(value[0], by, prime), *value[1:]) if value else value
    if not isinstance(value, int):
        return value
    return value + by if prime is None else (value + by) % prime


def _modulus(setting: Setting, phase: str) -> int | None:
    """Keys and hashes are residues modulo p, estimates plain integers; digests have 256 bits."""
    if phase in {lean.FIX, lean.OPEN}:
        return lean.BEYOND
    return None if phase == ESTIMATES else setting.parameters.field.prime


@attrs.frozen
class RelayTamperer:
    """Passes on what honest agents broadcast with 1 added to the first entry, in every round.

    If no phase is given, it is the broadcast of the hashes, or the flood of the reports.

    Expected: DIFFERENT_VALUE at an honest agent at the latest when the values are compared (V2);
    it cannot separate honest agents unseen, whatever the graph. All honest agents end invalid.
    """

    kind: ClassVar[str] = "relay-tamperer"
    phase: str | None = None
    source: int | None = None

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        phase = chosen_phase(setting, self.phase, HASHES, lean.REPORT)
        require_phase(setting, phase, among=(*BROADCASTS, *FLOODS))
        sources = setting.honest if self.source is None else (self.source,)
        prime = _modulus(setting, phase)

        def rewrite(_view: CausalView, _edge: Edge, said: Said) -> Message:
            return {t: shifted(v, 1, prime) if t[0] in sources else v for t, v in said.items()}

        return Deviation(rewriting(phase, rewrite))


@attrs.frozen
class LateFalseAlarm:
    """A false "I have an alarm" in one round of the agreement, the last unless given.

    With `receiver` only that neighbour is told; on all other occasions they say "no alarm". A lie
    in round r reaches the honest agents within |V|-1-r steps of an honest receiver (S4, P26); one
    in the last round splits the network.

    Expected: NEIGHBOUR_ALARM and invalid at the honest agents so reached; the others end valid
    with an admissible model.
    """

    kind: ClassVar[str] = "late-false-alarm"
    round: int | None = None
    receiver: int | None = None

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        rounds = setting.phases()[AGREEMENT]
        when = rounds if self.round is None else self.round
        if not 1 <= when <= rounds:
            raise AttackError(f"the agreement has rounds 1..{rounds}, not {when}", clause="SA-1")

        def adversary(view: CausalView) -> Mapping[Edge, Message]:
            if view.phase != AGREEMENT or view.round != when:
                return {}
            return {e: True for e in view.own_edges if self.receiver in {None, e[1]}}

        return Deviation(together(quiet, adversary))
