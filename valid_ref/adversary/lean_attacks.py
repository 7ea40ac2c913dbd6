"""Attacks on lean validation: on shares and openings, on the total, on reports and digests.

Three of them tell a lie in the learning that no check sees under the key 0: Gamma(T) has one unit
more in its first entry. They differ in how they try to make every common key 0.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
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
from valid_ref.adversary.broadcasts import FLOODS, Said, echo, rewriting, with_values
from valid_ref.adversary.early_keys import invisible_difference
from valid_ref.adversary.gradients import InconsistentGradient
from valid_ref.machine import Adversary, CausalView, Edge, Message
from valid_ref.protocols import lean
from valid_ref.protocols.flood import SUM, TOTAL
from valid_ref.protocols.memory import Memory
from valid_ref.protocols.parameters import LeanParameters
from valid_ref.protocols.routes import Routes
from valid_ref.protocols.valid import ValidState
from valid_ref.wide import WideIntegers

MOST_GUESSES = 1 << 16
"""More shares than this are not tried for a commitment."""


def _lean(setting: Setting) -> LeanParameters:
    """The parameters of lean validation; the attack is refused where there is another."""
    if setting.parameters.lean is None:
        raise AttackError("an attack on lean validation needs --validation lean", clause="LE-1")
    return setting.parameters.lean


def _memory(view: CausalView, agent: int) -> Memory:
    state = view.byzantine_states[agent]
    if not isinstance(state, ValidState):
        raise AttackError("the states of honest code are not those of Valid", clause="AD-4")
    return state.memory


def _changed(value: object, change: Callable[[tuple[int, ...]], Sequence[int]]) -> object:
    """A value of integers with something done to them; anything else as it is."""
    if isinstance(value, tuple | WideIntegers):
        return tuple(change(tuple(value)))
    return value


def _rewriting_own(
    phase: str, slot: str, change: Callable[[CausalView, Edge, tuple[int, ...]], Sequence[int]]
) -> Adversary:
    """Byzantine agents change the value of which they are the source, in one phase."""

    def rewrite(view: CausalView, edge: Edge, said: Said) -> Message:
        tag = edge[0], slot
        if tag not in said:
            return said
        value = _changed(said[tag], lambda own: change(view, edge, own))
        return with_values(said, {tag: value})

    return rewriting(phase, rewrite)


def _hidden_by_key_0(setting: Setting) -> Adversary:
    """One unit more in Gamma(T): the residual is a power of the key, and 0 under the key 0."""
    T = setting.parameters.lattice.schedule.rounds
    if T < 2:
        raise AttackError("a lie that the key 0 does not see needs T >= 2", clause="HA-7")
    return InconsistentGradient(units=1, first=T).build(setting).adversary


# Shares, commitments and openings.


@attrs.frozen
class AdaptiveOpening:
    """Opens shares that make every common key 0, after it has seen all honest openings.

    Expected: OPENING_MISMATCH at every honest agent. Without commitments everybody ends valid
    although the Byzantine agents broke their relation.
    """

    kind: ClassVar[str] = "adaptive-opening"

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        lean_only, p = _lean(setting), setting.parameters.field.prime
        adaptive = min(setting.byzantine)

        def change(view: CausalView, edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            if edge[0] != adaptive or view.round != 1:
                return own
            openings = [_said(view.said, v, lean.OPENING) for v in range(setting.graph.agents)]
            others = [o for v, o in enumerate(openings) if v != adaptive]
            sums = (sum(opening[1 + i] for opening in others) for i in range(lean_only.kappa))
            return (own[0], *(-total % p for total in sums))

        opens = _rewriting_own(lean.OPEN, lean.OPENING, change)
        return Deviation(together(_hidden_by_key_0(setting), opens, echo))


def _said(said: Mapping[int, Message], agent: int, slot: str) -> tuple[int, ...]:
    """The value that an agent says of itself in the first round of a flood."""
    word = said[agent]
    value = word.get((agent, slot)) if isinstance(word, Mapping) else None
    return value if isinstance(value, tuple) else ()


@attrs.frozen
class GuessedShares:
    """Finds the shares behind the honest commitments, and commits to what makes every key 0.

    It tries all shares, which needs commitments without a nonce and few shares to try; refused
    otherwise.

    Expected: without the nonce everybody ends valid although the Byzantine agents broke their
    relation. With it the attack cannot be built.
    """

    kind: ClassVar[str] = "guessed-shares"

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        lean_only, parameters = _lean(setting), setting.parameters
        p, kappa = parameters.field.prime, lean_only.kappa
        if "nonce" not in lean_only.without or p**kappa > MOST_GUESSES:
            raise AttackError(
                "shares can be guessed only without the nonce and where p^kappa is at most "
                f"{MOST_GUESSES}",
                clause="LE-9",
            )
        guesser = min(setting.byzantine)
        agents = [v for v in range(setting.graph.agents) if v != guesser]
        tried = {
            (v, lean.commitment(parameters, v, (0, *shares))): shares
            for v in agents
            for shares in itertools.product(range(p), repeat=kappa)
        }

        def chosen(said: Mapping[int, Message]) -> tuple[int, ...]:
            committed = ((v, _said(said, v, lean.FIXED)[0]) for v in agents)
            guessed = [tried[one] for one in committed]
            return tuple(-sum(column) % p for column in zip(*guessed, strict=True))

        def commit(view: CausalView, edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            if edge[0] != guesser or view.round != 1:
                return own
            made = lean.commitment(parameters, guesser, (0, *chosen(view.said)))
            return (made, *own[1:])

        def opens(view: CausalView, edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            if edge[0] != guesser or view.round != 1:
                return own
            return (0, *chosen(_first(view, lean.FIX)))

        return Deviation(
            together(
                _hidden_by_key_0(setting),
                _rewriting_own(lean.FIX, lean.FIXED, commit),
                _rewriting_own(lean.OPEN, lean.OPENING, opens),
                echo,
            )
        )


def _first(view: CausalView, phase: str) -> Mapping[int, Message]:
    """What honest code said in the first round of a phase before this one."""
    return next(spoken for spoken in view.history if spoken.phase == phase).said


@attrs.frozen
class CopiedCommitment:
    """Every Byzantine agent commits to and opens what the lowest-numbered honest agent does.

    With c copies the common keys are (c + 1) times that agent's shares and the others: where c + 1
    is a multiple of p they do not depend on the shares of that agent at all.

    Expected: OPENING_MISMATCH at every honest agent. Without the agent in the commitment nobody
    notices; with one honest agent and p - 1 copies every key is 0, and everybody ends valid
    although the Byzantine agents broke their relation.
    """

    kind: ClassVar[str] = "copied-commitment"

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _lean(setting)
        victim = min(setting.honest)

        def commit(view: CausalView, _edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            return (_said(view.said, victim, lean.FIXED)[0], *own[1:]) if view.round == 1 else own

        def opens(view: CausalView, _edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            return _said(view.said, victim, lean.OPENING) if view.round == 1 else own

        return Deviation(
            together(
                _hidden_by_key_0(setting),
                _rewriting_own(lean.FIX, lean.FIXED, commit),
                _rewriting_own(lean.OPEN, lean.OPENING, opens),
                echo,
            )
        )


@attrs.frozen
class SplitOpening:
    """Tells receiver number i of its opening, and of its commitment with `committed`, i more.

    Expected: OPENING_MISMATCH at the receivers that hear something else than was committed to;
    DIFFERENT_VALUE or DIGEST_MISMATCH where two honest neighbours hold different values. With a
    commitment for each opening every receiver finds its own pair fitting, and the values differ.
    """

    kind: ClassVar[str] = "split-opening"
    committed: bool = False

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _lean(setting)
        parameters, p = setting.parameters, setting.parameters.field.prime

        def opening(view: CausalView, edge: Edge) -> tuple[int, ...]:
            key = _memory(view, edge[0]).private.key
            nonce, first, *others = lean.check_opening(parameters, key).value
            rank = view.graph.neighbours(edge[0]).index(edge[1])
            return (nonce, (first + rank) % p, *others)

        def commit(view: CausalView, edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            if not self.committed:
                return own
            return (lean.commitment(parameters, edge[0], opening(view, edge)), *own[1:])

        def opens(view: CausalView, edge: Edge, _own: tuple[int, ...]) -> Sequence[int]:
            return opening(view, edge)

        return Deviation(
            together(
                _rewriting_own(lean.FIX, lean.FIXED, commit),
                _rewriting_own(lean.OPEN, lean.OPENING, opens),
                echo,
            )
        )


# The sum along the tree.


def changing_along_tree(
    phase: str, slot: str, change: Callable[[CausalView, Edge, tuple[int, ...]], Sequence[int]]
) -> Adversary:
    """Byzantine agents change the sums, or the total, that they pass on."""

    def rewrite(view: CausalView, edge: Edge, said: Said) -> Message:
        return {
            tag: _changed(value, lambda own: change(view, edge, own)) if tag[1] == slot else value
            for tag, value in said.items()
        }

    return rewriting(phase, rewrite)


def _require_tree(setting: Setting, *, children: bool) -> Routes:
    """The routes, where a Byzantine agent has a part in the tree that an attack can use."""
    _lean(setting)
    routes = Routes(setting.graph)
    if setting.parameters.weightings == ():
        raise AttackError("without a weighting there is no sum", clause="LE-8")
    used = [b for b in setting.byzantine if (routes.children[b] if children else b != routes.root)]
    if not used:
        what = "a child" if children else "a parent"
        raise AttackError(f"no Byzantine agent has {what} in the tree", clause="LE-8")
    return routes


def _more(units: int) -> Callable[[CausalView, Edge, tuple[int, ...]], Sequence[int]]:
    return lambda _view, _edge, own: (own[0] + units, *own[1:]) if own else own


@attrs.frozen
class WrongSum:
    """Adds `units` to the first entry of the sum that goes to its parent.

    Expected: WRONG_TOTAL at every honest agent, MALFORMED_VALUE where the sum is out of range.
    """

    kind: ClassVar[str] = "wrong-sum"
    units: int = 1

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _require_tree(setting, children=False)
        return Deviation(changing_along_tree(lean.FIX, SUM, _more(self.units)))


@attrs.frozen
class WrongTotal:
    """Adds `units` to the first entry of the total that goes to its children.

    Expected: WRONG_TOTAL at every honest agent of its subtree, and then at the latest
    NEIGHBOUR_ALARM at all.
    """

    kind: ClassVar[str] = "wrong-total"
    units: int = 1

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _require_tree(setting, children=True)
        return Deviation(changing_along_tree(lean.FIX, TOTAL, _more(self.units)))


@attrs.frozen
class WrappedTotal:
    """Adds `times` p to the first entry of the total that goes to its children.

    Expected: MALFORMED_VALUE at every honest child. Where parameters let a sum wrap, no hash sees
    it and everybody ends valid with a wrong total.
    """

    kind: ClassVar[str] = "wrapped-total"
    times: int = 1

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _require_tree(setting, children=True)
        p = setting.parameters.field.prime
        return Deviation(changing_along_tree(lean.FIX, TOTAL, _more(self.times * p)))


@attrs.frozen
class LateTotal:
    """Adds to the total, when it knows the keys, a vector whose hash is 0 under all of them.

    It needs a total that comes after the openings; refused otherwise.

    Expected: without the total first, everybody ends valid with a wrong total.
    """

    kind: ClassVar[str] = "late-total"

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _require_tree(setting, children=True)
        lean_only, d = _lean(setting), setting.parameters.lattice.dimension
        if "total-first" not in lean_only.without:
            raise AttackError("the total is fixed before the keys can be known", clause="LE-8")
        if d <= lean_only.kappa:
            raise AttackError(
                f"{lean_only.kappa} keys leave no difference of {d} entries unseen", clause="HA-7"
            )

        def change(view: CausalView, edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            keys = _memory(view, edge[0]).keys
            added = invisible_difference(setting.parameters.field.prime, keys, d)
            first = (entry + more for entry, more in zip(own[:d], added, strict=True))
            return (*first, *own[d:])

        return Deviation(changing_along_tree(lean.REPORT, TOTAL, change))


@attrs.frozen
class SilentBranch:
    """Passes on neither the sum of its subtree nor the total; its flooded values are honest.

    Expected: NO_VALUE, naming its sum, at an honest parent, and naming the total at every honest
    child and below it.
    """

    kind: ClassVar[str] = "silent-branch"

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _lean(setting)

        def rewrite(_view: CausalView, _edge: Edge, said: Said) -> Message:
            return {tag: value for tag, value in said.items() if tag[1] not in {SUM, TOTAL}}

        return Deviation(rewriting(lean.FIX, rewrite))


# What is flooded, and the comparison.


@attrs.frozen
class EarlyValue:
    """Passes on what all honest agents say of themselves in the very round in which they say it.

    Expected: EARLY_VALUE at every honest neighbour.
    """

    kind: ClassVar[str] = "early-value"
    phase: str = lean.OPEN

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _lean(setting)
        require_phase(setting, self.phase, among=FLOODS)

        def rewrite(view: CausalView, _edge: Edge, said: Said) -> Message:
            if view.round > 1:
                return said
            words = (view.said[v] for v in setting.honest)
            early = [word for word in words if isinstance(word, Mapping)]
            return dict(said) | {tag: value for word in early for tag, value in word.items()}

        return Deviation(rewriting(self.phase, rewrite))


@attrs.frozen
class FalseNumber:
    """Adds `units` to the first number q that it says of itself.

    Expected: RECORD_MISMATCH at every honest neighbour; MALFORMED_VALUE where q is no number.
    """

    kind: ClassVar[str] = "false-number"
    units: int = 1

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _lean(setting)
        if not setting.parameters.weightings:
            raise AttackError("without a weighting there is no number q", clause="LE-7")

        def change(_view: CausalView, _edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            return (own[0], own[1] + self.units, *own[2:])

        own = _rewriting_own(lean.FIX, lean.FIXED, change)
        return Deviation(together(own, echo))


@attrs.frozen
class FalseOwnReport:
    """Adds 1 to Gamma(1), and reports an H_Gamma under which its relation holds all the same.

    Expected: RECORD_MISMATCH at every honest neighbour. Without the comparison with the record
    everybody ends valid although the Byzantine agents broke their relation.
    """

    kind: ClassVar[str] = "false-own-report"

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _lean(setting)
        p, width = setting.parameters.field.prime, 4 + len(setting.parameters.weightings)
        broken = InconsistentGradient(units=1, last=1).build(setting).adversary

        def change(_view: CausalView, _edge: Edge, own: tuple[int, ...]) -> Sequence[int]:
            return tuple((e - (i % width == 3)) % p for i, e in enumerate(own))

        reports = _rewriting_own(lean.REPORT, lean.REPORTED, change)
        return Deviation(together(broken, reports, echo))


@attrs.frozen
class WrongDigest:
    """Adds 1 to its digest.

    Expected: DIGEST_MISMATCH at every honest neighbour.
    """

    kind: ClassVar[str] = "wrong-digest"

    def build(self, setting: Setting) -> Deviation:
        """The adversary."""
        _lean(setting)

        def adversary(view: CausalView) -> Mapping[Edge, Message]:
            if view.phase != lean.COMPARE:
                return {}
            digests = {edge: view.on_edge(*edge) for edge in view.own_edges}
            return {
                edge: (digest + 1) % lean.BEYOND if isinstance(digest, int) else digest
                for edge, digest in digests.items()
            }

        return Deviation(together(quiet, adversary))
