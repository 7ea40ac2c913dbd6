"""The fixed cases, simplest first: each is there for mistakes that are often made.

Honest cases come first, so that a plain mistake is not found in a case that is about another.
"""

from typing import Any

import attrs

from valid_ref.adversary.actions import Action, Add, Drop, Forge, Set
from valid_ref.adversary.edits import Edit, Edits
from valid_ref.adversary.values import Entries, Flag, Integer, Integers, Nothing, Text, Value
from valid_ref.lattice import MERSENNE_61
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.schedule import Precision
from valid_ref.testing.conform.case import Case

LOOSE = parts.ConfiguredThresholds(1e6, 1e12)
TWO = (
    parts.Check("t^1", parts.Polynomial(1), LOOSE),
    parts.Check("half", parts.Exponential(0.5, 10), LOOSE),
)
RING = parts.Edges(4, ((0, 1), (0, 2), (1, 3), (2, 3)))
"""0 and 3 do not see each other; what one says reaches the other over 1 and over 2."""
TRIANGLE = parts.Family("complete:3")
GRADIENTS = (("-0.125", "0.21875"), ("0.28125", "-0.34375"), ("-0.8125", "1.09375"))
"""In units of 1/16: -2, 3.5, 4.5, -5.5, -13, 17.5; ties for AR-3, and with A = 4 one for AR-5."""


def fixed_cases() -> tuple[Case, ...]:
    """All of them, in the order in which they are tried.

    Implements: CF-15.
    """
    return (*_honest(), *_learning(), *_broadcasts(), *_hashes(), *_estimates(), *_agreement())


def _scenario(graph: parts.GraphPart = RING, **changes: Any) -> Scenario:
    """A small scenario with coarse numbers, uneven steps, a start that is not 0 and a key 0."""
    agents = graph.agents if isinstance(graph, parts.Edges) else int(graph.name[-1])
    centres = ((1.5, -2.0), (-1.0, 0.5), (2.0, 1.0), (-0.5, -1.5))[:agents]
    hessian = ((1.0, 0.0), (0.0, 2.0))
    scenario = Scenario(
        graph=graph,
        loss=parts.Quadratics(tuple(parts.QuadraticAgent(hessian, c) for c in centres)),
        rounds=3,
        schedule=parts.ExplicitSteps((3, 5, 7), (4, 6, 9)),
        precision=Precision(4, 4),
        start=(0.5, -1.25),
        keys=(5, 0, MERSENNE_61 - 1, 7)[:agents],
        bounds=parts.ConfiguredBounds(100.0, 20.0),
        checks=TWO,
        eps_success=1.0,
    )
    return attrs.evolve(scenario, **changes)


def _edited(
    name: str,
    sender: int,
    *edits: tuple[str, int | None, int | None, Action],
    agent: int = 0,
    graph: parts.GraphPart = RING,
    **changes: Any,
) -> Case:
    """A case with one Byzantine agent; an edit is (phase, round, receiver, action)."""
    made = (Edit(phase, number, sender, to, action) for phase, number, to, action in edits)
    attack = Edits(tuple(made))
    scenario = _scenario(graph, byzantine=(sender,), attack=attack, **changes)
    return Case(name, agent, scenario)


def _honest() -> tuple[Case, ...]:
    large = _scenario(
        TRIANGLE,
        schedule=parts.ConstantSteps(0.25, 1 / 3),
        precision=Precision(),
        start=(700.3, -650.7),
        bounds=parts.NoBounds(),
        rounds=2,
    )
    calibrated = parts.Check("calibrated", parts.Polynomial(2), parts.CalibratedThresholds(1, 1.05))
    short = _scenario(parts.Family("path:2"), rounds=1, prime=10007, keys=(0, 10006),
                      schedule=parts.ExplicitSteps((3,), (4,)))  # fmt: skip
    return (
        Case("honest, rounding ties, a key 0", 1, _scenario(), GRADIENTS),
        Case("honest, numbers beyond 2^53", 0, large),
        Case("honest, thresholds just above", 2, _scenario(checks=(calibrated,))),
        Case("honest, two agents, one round, a small prime", 0, short),
    )


def _learning() -> tuple[Case, ...]:
    lattice = prepare(_scenario()).parameters.lattice
    largest, gradient = lattice.model_limit, lattice.gradient_limit

    def forged(name: str, field: str, *numbers: int, **changes: Any) -> Case:
        action = Forge(field, Integers(numbers))
        return _edited(name, 1, (LEARNING, 2, 0, action), **changes)

    fine: dict[str, Any] = {
        "precision": Precision(28, 4),
        "bounds": parts.ConfiguredBounds(10.0, 1e6),
    }
    return (
        _edited("a learning message is missing", 1, (LEARNING, 2, 0, Drop())),
        _edited("a learning message is a text", 1, (LEARNING, 1, None, Set(Text("?")))),
        _edited("a learning message is a flag", 1, (LEARNING, 1, 0, Set(Flag(value=True)))),
        _edited("a learning message is empty", 1, (LEARNING, 3, 0, Forge("model", Integers(())))),
        _edited("a model is a text", 1, (LEARNING, 3, 0, Forge("model", Text("?")))),
        forged("an entry at X_max", "model", 0, largest),
        forged("an entry just below X_max", "model", 0, largest - 1),
        forged("an entry at -G_max", "scaled_gradient", -gradient, 0),
        forged("an entry at -2^63", "model", -(2**63), 0),
        forged("an entry beyond 64 bits", "model", 2**63, 0),
        Case("a gradient beyond the range", 0, _scenario(),
             (("0.5", "0.25"), ("1e30", "0.0"), ("0.5", "0.25"))),
        Case("an update just beyond the range", 0, _scenario(),
             (("0.5", "0.25"), (str(float(largest)), "0.0"), ("0.5", "0.25"))),
        Case("a gradient that is not a number", 0, _scenario(),
             (("nan", "0.5"), ("0.5", "0.25"), ("0.5", "0.25"))),
        Case("an infinite gradient in the last round", 0, _scenario(),
             (("0.5", "0.25"), ("0.5", "0.25"), ("0.25", "-inf"))),
        forged("a model one unit beyond B", "model", 10 * 2**28, 1, **fine),
        forged("a gradient beyond C", "scaled_gradient", 6 * 16 * 30, 0),
    )  # fmt: skip


def _broadcasts() -> tuple[Case, ...]:
    nothing = Set(Entries())

    def key(name: str, number: int | None, value: Value, field: str = "1/key") -> Case:
        return _edited(name, 1, (KEYS, number, 0, Forge(field, value)))

    return (
        _edited("a key never comes", 2, (KEYS, None, None, nothing), graph=TRIANGLE),
        _edited("a key comes in the compare round", 2, (KEYS, 1, None, nothing), graph=TRIANGLE),
        _edited("a report comes in the compare round", 2, (HASHES, 1, None, nothing),
                graph=TRIANGLE),
        _edited("an estimate never comes", 2, (ESTIMATES, None, None, nothing), graph=TRIANGLE),
        _edited("two keys of one agent", 2, (KEYS, 1, 0, Add((1,), "2/key")), graph=TRIANGLE),
        _edited("two keys in one round", 1, (KEYS, 2, 0, Add((1,), "3/key"))),
        _edited("two keys, one only in the compare round", 1, (KEYS, 4, 0, Add((1,), "3/key"))),
        _edited("no broadcast message", 1, (HASHES, 2, 0, Drop())),
        _edited("a broadcast message that is a text", 1, (ESTIMATES, 2, 0, Set(Text("?")))),
        key("an unknown tag", 1, Integer(3), "99/0"),
        key("a key that is true", 1, Flag(value=True)),
        key("a key that is p", 1, Integer(MERSENNE_61)),
        key("a key that is null", 1, Nothing()),
        key("a key of another that is negative", 2, Integer(-1), "3/key"),
        _edited("a report that is too short", 1,
                (HASHES, 1, 0, Forge("1/0", Integers((1,) * 15)))),
        _edited("an estimate that is too large", 1,
                (ESTIMATES, 1, 0, Forge("1/0", Integers((10**30, 0, 1, 0, 0, 0))))),
        _edited("an estimate of negative length", 1,
                (ESTIMATES, 1, 0, Forge("1/0", Integers((0, 0, -1, 0, 0, 0))))),
    )  # fmt: skip


def _hashes() -> tuple[Case, ...]:
    told_apart = (LEARNING, 2, 1, Add((1,), "model"))
    wrong_gamma = (LEARNING, 1, None, Add((1,), "scaled_gradient"))
    about_me = (HASHES, 1, None, Add((1,), "1/0"))
    own: dict[str, Any] = {"keys_checked": CheckedKeys.OWN}
    return (
        _edited("another model to one neighbour", 3, told_apart),
        _edited("another model to one neighbour, own key checked", 3, told_apart, **own),
        _edited("a gradient that does not fit", 3, wrong_gamma),
        _edited("a gradient that does not fit, own key checked", 3, wrong_gamma, **own),
        _edited("a false report about the agent", 1, about_me),
        _edited("a false report about the agent, own key checked", 1, about_me, **own),
    )


def _estimates() -> tuple[Case, ...]:
    tight = (parts.Check("tight", parts.Polynomial(), parts.ConfiguredThresholds(1e-3, 1e-3)),)
    near = (parts.Check("near", parts.Polynomial(0), parts.ConfiguredThresholds(0.5, 1e6)),)
    about_me = (ESTIMATES, 1, None, Add((1,), "1/0"))
    about_other = (ESTIMATES, 1, None, Add((0, 0, 1), "1/3"))
    return (
        _edited("a false estimate about the agent", 1, about_me),
        _edited("a false length about another agent", 1, about_other),
        Case("neither optimal nor homogeneous", 0, _scenario(checks=tight)),
        Case("not optimal", 0, _scenario(checks=near)),
    )


def _agreement() -> tuple[Case, ...]:
    def lie(name: str, number: int, action: Action, to: int | None = None) -> Case:
        return _edited(name, 1, (AGREEMENT, number, to, action))

    return (
        lie("a false alarm in the first round", 1, Set(Flag(value=True)), 0),
        lie("a false alarm in the last round", 3, Set(Flag(value=True)), 0),
        lie("silence in the agreement", 2, Drop()),
        lie("no flag in the agreement", 2, Set(Integer(0)), 0),
    )
