"""Attacks: lists of edits, lies that keep the relation, and the named attacks of the catalogue.

The edits of a scenario know its graph, its Byzantine agents and the shapes of its messages, so
that many of them pass for honest messages; the others are garbage of every kind.
"""

import enum
import functools
from collections.abc import Iterator, Mapping
from typing import Any, get_type_hints

import attrs
from hypothesis import strategies as st

from valid_ref.adversary import actions
from valid_ref.adversary.attack import Setting
from valid_ref.adversary.catalogue import ATTACKS, LEAN_ATTACKS, AttackPart
from valid_ref.adversary.edits import Edit, Edits, without_alarm
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.protocols import lean
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARN
from valid_ref.protocols.routes import Routes
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.build import build_graph
from valid_ref.scenario.scenario import run_coins
from valid_ref.schedule import Precision
from valid_ref.testing.problems import repeated

LARGE = (2**20, -(2**20), 2**40, 2**61 - 2, 2**63 - 1, -(2**63), 2**70)
"""Around and beyond the limits of the lattice, of the field and of a word."""

GARBAGE: tuple[actions.Value, ...] = (
    actions.Flag(value=False),
    actions.Flag(value=True),
    actions.Integer(0),
    actions.Text(""),
    actions.Real(0.5),
    actions.Integers(()),
    actions.Learning((), ()),
    actions.Entries(),
    actions.Entries((actions.Entry(0, None, actions.Integer(0)),)),
    actions.Entries((actions.Entry(99, 0, actions.Text("?")),)),
)
"""Values of every shape; each is a proper message of one phase at most."""


@attrs.frozen
class Shapes:
    """What the messages of a scenario look like."""

    graph: AgentGraph
    byzantine: tuple[int, ...]
    rounds: int
    dimension: int
    precision: Precision
    prime: int
    weightings: int
    kappa: int | None = None
    """Of lean validation; None with the paper's."""

    @classmethod
    def of(cls, scenario: Scenario) -> "Shapes":
        """Those of a scenario of the repaired reading."""
        return cls(
            graph=build_graph(scenario),
            byzantine=scenario.byzantine,
            rounds=scenario.rounds,
            dimension=_dimension(scenario.loss),
            precision=scenario.precision,
            prime=scenario.prime,
            weightings=len(scenario.checks),
            kappa=scenario.validation.kappa
            if isinstance(scenario.validation, parts.Lean)
            else None,
        )

    @property
    def phases(self) -> Mapping[str, int]:
        """The phases in order, and how many rounds each takes."""
        n, routes = self.graph.agents, Routes(self.graph)
        between = {KEYS: n, HASHES: n, ESTIMATES: n}
        if self.kappa is not None:
            between = {lean.FIX: 2 * routes.height, lean.OPEN: routes.diameter}
            between |= {lean.REPORT: routes.diameter, lean.COMPARE: 1}
        return {LEARN: self.rounds, **between, AGREEMENT: n - 1}

    @property
    def largest_model(self) -> int:
        """The largest entry that the range rule surely admits where eta_t is at most 1/maxdeg."""
        return (1 << 58 - self.precision.step_bits) - 2

    def tags(self, phase: str) -> list[str]:
        """The fields of a broadcast message or a flood, those of Byzantine sources first."""
        named = {KEYS: ["key"], lean.OPEN: ["opening"], lean.REPORT: ["report"]}
        named[lean.FIX] = ["fixed", "sum", "total"]
        slots: dict[int, list[str]] = {
            v: named.get(phase, [str(u) for u in self.graph.neighbours(v)])
            for v in range(self.graph.agents)
        }
        order = sorted(slots, key=lambda v: (v not in self.byzantine, v))
        return [f"{v}/{slot}" for v in order for slot in slots[v]]


def _dimension(loss: parts.AnyLoss) -> int:
    match loss:
        case parts.Quadratics():
            return len(loss.agents[0].centre)
        case parts.Ridge() | parts.Logistic():
            return len(loss.agents[0].features[0])
        case _:
            return loss.dimension


@functools.lru_cache(maxsize=4096)
def numbers() -> st.SearchStrategy[int]:
    """Small integers first, then ones at the limits."""
    return st.integers(-3, 3) | st.sampled_from(LARGE)


@functools.lru_cache(maxsize=4096)
def garbage() -> st.SearchStrategy[actions.Action]:
    """Something else instead of the message."""
    return st.builds(actions.Set, st.sampled_from(GARBAGE))


@st.composite
def edits(draw: st.DrawFn, scenario: Scenario) -> Edit:
    """One edit that fits the scenario; shrinks to silence in the first round of learning."""
    shapes = Shapes.of(scenario)
    phases = shapes.phases
    phase = draw(st.sampled_from(list(phases)))
    number = draw(st.integers(1, phases[phase]) | st.none())
    sender = draw(st.sampled_from(shapes.byzantine))
    neighbours = shapes.graph.neighbours(sender)
    receiver = draw(st.sampled_from(neighbours) | st.none())
    last = phases[phase] if number is None else number
    found = [st.just(actions.Drop()), _proper(shapes, phase), garbage()]
    if last > 1:
        found.append(st.builds(actions.Replay, st.integers(1, last - 1)))
    if len(neighbours) > 1:
        found.append(st.builds(actions.Swap, st.sampled_from(neighbours)))
    return Edit(phase, number, sender, receiver, draw(st.one_of(found)))


def _proper(shapes: Shapes, phase: str) -> st.SearchStrategy[actions.Action]:
    """Edits that leave the message of the form that the phase demands, for the most part."""
    if phase == AGREEMENT:
        return st.builds(actions.Set, st.builds(actions.Flag, value=st.booleans()))
    if phase == lean.COMPARE:
        return st.builds(actions.Add, st.tuples(st.integers(1, 3)))
    return _in_learning(shapes) if phase == LEARN else _in_broadcast(shapes, phase)


@functools.lru_cache(maxsize=4096)
def _in_learning(shapes: Shapes) -> st.SearchStrategy[actions.Action]:
    d, fields = shapes.dimension, st.sampled_from(["model", "scaled_gradient"])
    one = repeated(d, numbers() | st.just(shapes.largest_model))
    return st.one_of(
        st.builds(actions.Add, one, fields),
        st.builds(actions.Scale, st.sampled_from([-1.0, 0.0, 2.0, 1e6]), fields),
        st.builds(actions.Forge, fields, st.builds(actions.Integers, one)),
        st.builds(actions.Set, st.builds(actions.Learning, one, one)),
    )


@functools.lru_cache(maxsize=4096)
def _in_broadcast(shapes: Shapes, phase: str) -> st.SearchStrategy[actions.Action]:
    fields = st.sampled_from(shapes.tags(phase))
    entries = st.integers(0, 3) | st.sampled_from([shapes.prime - 1, -1, shapes.prime])
    m, kappa = shapes.weightings, shapes.kappa or 0
    sizes = {HASHES: 4 * shapes.graph.agents, ESTIMATES: m * shapes.dimension}
    sizes |= {lean.FIX: 1 + m, lean.OPEN: 1 + kappa, lean.REPORT: kappa * (4 + m)}
    value: st.SearchStrategy[actions.Value] = (
        st.builds(actions.Integer, entries)
        if phase == KEYS
        else st.builds(actions.Integers, repeated(sizes[phase], entries))
    )
    return st.one_of(
        st.builds(actions.Add, st.tuples(st.integers(1, 3)), fields),
        st.builds(actions.Forge, fields, value),
        st.builds(actions.Forge, fields, st.just(actions.Text("?"))),
        st.builds(actions.Forge, st.just("99/0"), value),
    )


def edit_lists(
    scenario: Scenario, *, max_size: int = 4, quiet: st.SearchStrategy[bool] | None = None
) -> st.SearchStrategy[Edits]:
    """Up to `max_size` edits; if `quiet`, the Byzantine agents also keep "no alarm" up.

    Shrinks to one edit.
    """
    some = st.lists(edits(scenario), min_size=1, max_size=max_size)
    denials = without_alarm(*scenario.byzantine)
    return st.builds(
        lambda found, denied: Edits((*found, *(denials if denied else ()))),
        some,
        st.booleans() if quiet is None else quiet,
    )


@st.composite
def last_pushes(draw: st.DrawFn, scenario: Scenario) -> Edits:
    """A lie that keeps the relation: in round T, m is added to the model and -2^k m to Gamma.

    All receivers hear the same and nobody computes with it any more, so no hash shows it; only
    norms and estimates can. The liar keeps "no alarm" up, though its own record differs.
    """
    shapes = Shapes.of(scenario)
    scale, liar = 1 << shapes.precision.step_bits, draw(st.sampled_from(shapes.byzantine))
    small, unit = st.integers(-3, 3), 1 << shapes.precision.fraction_bits
    push = draw(repeated(shapes.dimension, small | small.map(lambda m: m * unit)))
    change = actions.Add(push + tuple(-scale * m for m in push))
    edit = Edit(LEARN, shapes.rounds, liar, None, change)
    return Edits((edit, *without_alarm(liar)))


@st.composite
def excursions(draw: st.DrawFn, scenario: Scenario) -> Edits:
    """In one round, models that are as large as the range rule admits, to everybody.

    With steps that overshoot they drive the next honest update out of the range.
    """
    shapes = Shapes.of(scenario)
    liar, sign = draw(st.sampled_from(shapes.byzantine)), draw(st.sampled_from([1, -1]))
    model = (sign * shapes.largest_model,) * shapes.dimension
    when = draw(st.integers(1, max(1, shapes.rounds - 1)))
    return Edits((Edit(LEARN, when, liar, None, actions.Forge("model", actions.Integers(model))),))


PHASES = (LEARN, KEYS, HASHES, ESTIMATES, AGREEMENT)
LEAN_PHASES = (LEARN, lean.FIX, lean.OPEN, lean.REPORT, lean.COMPARE, AGREEMENT)


@functools.lru_cache(maxsize=4096)
def named_attacks(*, on_lean: bool = False) -> tuple[AttackPart, ...]:
    """Every attack of the catalogue with its defaults, then with each other choice of an option.

    Choices are those of options that are enumerations, flags or phases; edits are left out, and so
    are the attacks on lean validation where there is the paper's.
    """
    kinds = [kind for kind in ATTACKS if on_lean or kind not in LEAN_ATTACKS]
    found: list[AttackPart] = [ATTACKS[kind]() for kind in kinds if ATTACKS[kind] is not Edits]
    phases = LEAN_PHASES if on_lean else PHASES
    return (*found, *(other for attack in found for other in _variants(attack, phases)))


def _variants(attack: AttackPart, phases: tuple[str, ...]) -> Iterator[AttackPart]:
    hints = get_type_hints(type(attack))
    for field in attrs.fields(type(attack)):
        for choice in phases if field.name == "phase" else _choices(hints[field.name]):
            if choice != getattr(attack, field.name):
                options: Any = attrs.asdict(attack, recurse=False) | {field.name: choice}
                yield type(attack)(**options)


def _choices(kind: object) -> tuple[object, ...]:
    if kind is bool:
        return False, True
    return tuple(kind) if isinstance(kind, enum.EnumMeta) else ()


@st.composite
def fitting_attacks(draw: st.DrawFn, scenario: Scenario) -> AttackPart:
    """The named attacks that can be built on a scenario with Byzantine agents."""
    prepared = prepare(attrs.evolve(scenario, attack=None))
    setting = Setting.of(
        prepared.parameters,
        prepared.problem,
        prepared.byzantine,
        prepared.delta,
        run_coins(prepared.scenario).child("attack"),
    )

    def fits(attack: AttackPart) -> bool:
        try:
            attack.build(setting)
        except ValidRefError:
            return False
        return True

    on_lean = isinstance(scenario.validation, parts.Lean)
    return draw(st.sampled_from(named_attacks(on_lean=on_lean)).filter(fits))


def attacks(scenario: Scenario) -> st.SearchStrategy[AttackPart]:
    """Any attack on this scenario; edits come first, as they shrink best."""
    return st.one_of(
        edit_lists(scenario),
        last_pushes(scenario),
        excursions(scenario),
        fitting_attacks(scenario),
    )
