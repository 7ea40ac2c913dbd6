"""The fixed cases, simplest first: each is there for mistakes that are often made.

Honest cases come first, so that a plain mistake is not found in a case that is about another.
"""

from typing import Any

import attrs

from valid_ref.adversary.actions import (
    Action,
    Add,
    Drop,
    Entries,
    Entry,
    EntryValue,
    Flag,
    Forge,
    Integer,
    Integers,
    Learning,
    Nothing,
    Set,
    Text,
    Value,
)
from valid_ref.adversary.edits import Edit
from valid_ref.lattice import MERSENNE_61
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.schedule import Precision
from valid_ref.testing.conform.case import ConformCase
from valid_ref.testing.conform.lean_cases import lean_cases
from valid_ref.testing.conform.settings import (
    ALARM,
    ALL_FOUR,
    GRADIENTS,
    HALVES,
    HEAVY,
    PAIR,
    PATH,
    STEPS,
    THREE,
    TRIANGLE,
    TWELVE,
    TWO,
    USUAL,
    EditRow,
    edited,
    forge,
    lower_at,
    null_for,
    scenario_on,
    several,
)


def fixed_cases() -> tuple[ConformCase, ...]:
    """All of them, in the order in which they are tried.

    Implements: CF-15.
    """
    return (
        *_honest(),
        *_weightings(),
        *_learning(),
        *_own_limits(),
        *_broadcasts(),
        *_twice(),
        *_hashes(),
        *_estimates(),
        *_single_entries(),
        *_long_vectors(),
        *_agreement(),
        *_orders(),
        *_limits(),
        *_networks(),
        *lean_cases(),
    )


def _honest() -> tuple[ConformCase, ...]:
    large = scenario_on(
        TRIANGLE,
        schedule=parts.ConstantSteps(0.25, 1 / 3),
        precision=Precision(),
        start=(700.3, -650.7),
        bounds=parts.NoBounds(),
        rounds=2,
    )
    calibrated = parts.Check("calibrated", parts.Polynomial(2), parts.CalibratedThresholds())
    short = scenario_on(
        parts.Family("path:2"),
        rounds=1,
        prime=10007,
        keys=(0, 10006),
        schedule=parts.ExplicitSteps((3,), (4,)),
    )
    return (
        ConformCase("honest, rounding ties, a key 0", 1, scenario_on(), GRADIENTS),
        ConformCase("honest, numbers beyond 2^53", 0, large),
        ConformCase("honest, thresholds just above", 2, scenario_on(checks=(calibrated,))),
        ConformCase("honest, two agents, one round, a small prime", 0, short),
        ConformCase("honest, weights of 2^60", 1, scenario_on(checks=HEAVY)),
        ConformCase("honest, other keys", 1, scenario_on(keys=(11, 12, 13, 14)), GRADIENTS),
        ConformCase("honest, no weightings", 0, scenario_on(checks=())),
        ConformCase("honest, steps without a fraction", 1, _whole(k=0), GRADIENTS),
        ConformCase("honest, models without a fraction", 1, _whole(f=0), HALVES),
        ConformCase("honest, no fractions at all", 1, _whole(f=0, k=0), HALVES),
    )


def _whole(f: int = 4, k: int = 4) -> Scenario:
    """Few bits or none: with k = 0 steps are integers, with f = 0 models are."""
    schedule = parts.ExplicitSteps((1, 1, 1), (1, 2, 1))
    return scenario_on(
        PAIR,
        precision=Precision(f, k),
        schedule=schedule,
        start=(1.0, -3.0),
        bounds=parts.NoBounds(),
    )


def _weightings() -> tuple[ConformCase, ...]:
    """Three weightings, of which one fails one test, from above or from below."""
    tight = {
        "not optimal": parts.ConfiguredThresholds(1e-3, 1e12),
        "not homogeneous": parts.ConfiguredThresholds(1e6, 1e-3),
    }
    above = [
        ConformCase(
            f"{what} under weighting {index + 1} of 3",
            0,
            scenario_on(
                checks=tuple(
                    attrs.evolve(one, thresholds=thresholds) if position == index else one
                    for position, one in enumerate(THREE)
                )
            ),
        )
        for index in range(3)
        for what, thresholds in tight.items()
    ]
    below = [
        lower_at(
            ConformCase(f"{what} under weighting {index + 1} of 3", 0, scenario_on(checks=THREE)),
            *(low if position == index else (0, 0) for position in range(3)),
        )
        for index in range(3)
        for what, low in (("too optimal", (10**8, 0)), ("too homogeneous", (0, 10**16)))
    ]
    return *above, *below


def _own_limits() -> tuple[ConformCase, ...]:
    """Updates of the agent itself at X_max and G_max, which are not those of AR-10's default.

    Its neighbour says what makes Y = 16 (8, -20) + (m - 8, 0) in round 2; A_t = 1.
    """
    small, narrow = (1000, 64), (21, 1000)

    def own(
        name: str, limits: tuple[int, int], m: int, *sixteenths: tuple[int, int]
    ) -> ConformCase:
        said = Learning((m, -20), (0, 0))
        case = edited(
            name,
            (LEARNING, None, 0, Set(said)),
            graph=PAIR,
            rounds=2,
            schedule=parts.ExplicitSteps((1, 1), (1, 1)),
        )
        rows = tuple((str(one / 16), str(other / 16)) for one, other in sixteenths)
        return attrs.evolve(case, gradients=rows, limits=limits)

    return (
        own("an own gradient below G_max", small, 8, (0, 0), (48, -48)),
        own("an own gradient at G_max", small, 8, (0, 0), (64, 0)),
        own("an own gradient at -G_max", small, 8, (0, 0), (0, -64)),
        own("an own gradient that is rounded up to G_max", small, 8, (0, 0), (63, 0)),
        own("an own gradient that is rounded below G_max", small, 7, (0, 0), (64, 0)),
        own("an own gradient that is rounded below G_max, a tie", small, 7, (0, 0), (71, 0)),
        own("an own gradient that is rounded above -G_max", small, 9, (0, 0), (-64, 0)),
        own("an own gradient at G_max in the first round", small, 8, (0, 64), (0, 0)),
        own("an own model below X_max", narrow, 8, (0, 0), (-12 * 16, 0)),
        own("an own model at X_max", narrow, 8, (0, 0), (-13 * 16, 0)),
        own("an own model at -X_max", narrow, 8, (0, 0), (0, 16)),
        own("an own model that is rounded up to X_max", narrow, 8, (0, 0), (-12 * 16 - 9, 0)),
        ConformCase(
            "an own update beyond the range and no other alarm before the agreement",
            0,
            scenario_on(PAIR, rounds=1, schedule=parts.ExplicitSteps((3,), (4,)), start=(0.0, 0.0)),
            (("nan", "0.0"),),
        ),
    )


def _twice() -> tuple[ConformCase, ...]:
    """A tag stands twice in one message: if it is public, that is no mapping (VB-9)."""
    five, zero, null = Integer(5), Integer(0), Nothing()
    report, estimate = Integers((1,) * 16), Integers((1, 1, 1, 1))
    other = Entry(3, None, Integer(7))

    def keys(name: str, number: int, *entries: Entry) -> ConformCase:
        return edited(name, (KEYS, number, 0, Set(Entries(entries))))

    def key(*values: EntryValue) -> tuple[Entry, ...]:
        return tuple(Entry(1, None, value) for value in values)

    def listed(
        name: str, phase: str, number: int, value: EntryValue, *tags: tuple[int, int]
    ) -> ConformCase:
        entries = tuple(Entry(v, u, value) for v, u in tags)
        return edited(name, (phase, number, 0, Set(Entries(entries))))

    unknown = Entry(99, 0, five)
    return (
        keys("a key twice, different values", 1, *key(zero, five)),
        keys("a key twice, equal values", 1, *key(zero, zero)),
        keys("a key twice, the second null", 1, *key(zero, null)),
        keys("a key twice, the first null", 1, *key(null, zero)),
        keys("a key twice, both null", 1, *key(null, null)),
        keys("a key twice, both malformed", 1, *key(Text("?"), Text("?"))),
        keys("a key twice, the second malformed", 1, *key(zero, Text("?"))),
        keys("a key three times, another between", 2, *key(zero), other, *key(zero, zero)),
        keys("a key twice, an unknown tag", 1, *key(zero), unknown, *key(zero)),
        keys("a key of the agent itself twice", 2, *(Entry(0, None, five),) * 2),
        keys("the keys held twice in the compare round", 4, *key(zero), other, *key(zero), other),
        listed("a report twice", HASHES, 1, report, (1, 0), (1, 3), (1, 0)),
        listed("a report about another twice, null", HASHES, 2, null, (3, 1), (3, 1)),
        listed("an estimate twice", ESTIMATES, 1, estimate, (1, 0), (1, 3), (1, 3)),
        listed("an estimate twice in the compare round", ESTIMATES, 4, null, (1, 0), (1, 0)),
        keys("an unknown tag twice", 1, *key(zero), unknown, unknown),
        keys("an unknown tag twice, different values", 2, unknown, Entry(99, 0, null), other),
        keys("tags of another broadcast twice", 1, *key(zero), *(Entry(0, 1, five),) * 2),
        listed("a report about no neighbour twice", HASHES, 2, report, (0, 3), (0, 3)),
        edited(
            "what is no pair twice",
            (KEYS, 1, 0, Forge("?", five)),
            (KEYS, 1, 0, Forge("!", five)),
        ),
    )


def _single_entries() -> tuple[ConformCase, ...]:
    """Reports and estimates that differ in one entry, for every entry and place of the reporter."""

    def about(
        name: str, phase: str, sender: int, agents: tuple[int, ...], *more: int, **changes: Any
    ) -> ConformCase:
        edits = [(phase, 1, None, Add(more, f"{sender}/{u}")) for u in agents]
        return edited(name, *edits, sender=sender, **changes)

    def one(position: int, size: int) -> tuple[int, ...]:
        return tuple(int(entry == position) for entry in range(size))

    names = ("H_out", "H_in", "H_in,eta", "H_Gamma")
    hashes = [
        about(f"{what} differs under the key of {w}", HASHES, 1, (0, 3), *one(4 * w + place, 16))
        for place, what in enumerate(names)
        for w in range(4)
    ]
    estimates = [
        about(
            f"entry {position + 1} of 6 of the estimates differs",
            ESTIMATES,
            1,
            (0, 3),
            *one(position, 6),
            checks=THREE,
        )
        for position in range(6)
    ]
    reporters = [
        about(f"{what} of three {named} differs", phase, sender, (u,), 1, agent=v, graph=ALL_FOUR)
        for phase, named in ((HASHES, "reports"), (ESTIMATES, "estimates"))
        for what, sender, u, v in (
            ("the first", 0, 2, 3),
            ("the second", 1, 2, 3),
            ("the last", 3, 1, 0),
        )
    ]
    sizes = [
        about(f"estimates differ by {what}", ESTIMATES, 1, (0, 3), more, 0, checks=HEAVY)
        for what, more in (("1 beyond 2^53", 1), ("2^32", 1 << 32), ("2^64", 1 << 64))
    ]
    return *hashes, *estimates, *reporters, *sizes


LONG = 33
"""Entries of long vectors: one more than many blocks in which sums are made."""


def _long_vectors() -> tuple[ConformCase, ...]:
    """Sums of squares of many entries, of which the last is large and the others are small."""
    centre = (*[0.25] * (LONG - 1), -0.5)
    hessian = tuple(tuple(float(i == j) for j in range(LONG)) for i in range(LONG))
    long: dict[str, Any] = {
        "graph": PAIR,
        "loss": parts.Quadratics((parts.QuadraticAgent(hessian, centre),) * 2),
        "start": (0.0,) * LONG,
        "rounds": 2,
        "schedule": parts.ExplicitSteps((1, 1), (4, 4)),
    }
    zeros = (0,) * (LONG - 1)
    optimal = (parts.Check("even", parts.Polynomial(0), parts.ConfiguredThresholds(2.0, 1e12)),)
    alike = (parts.Check("even", parts.Polynomial(0), parts.ConfiguredThresholds(1e6, 2.0)),)
    return (
        edited(
            "the last of 33 entries of a model is large",
            (LEARNING, 1, 0, forge("model", *zeros, 1601)),
            **long,
        ),
        edited(
            "the last of 33 entries of a gradient is large",
            (LEARNING, 2, 0, forge("scaled_gradient", *zeros, 4 * 321)),
            **long,
        ),
        edited(
            "the last of 33 entries is not optimal",
            (LEARNING, 2, 0, forge("scaled_gradient", *zeros, 4 * 300)),
            checks=optimal,
            **long,
        ),
        edited(
            "the last of 33 entries is not homogeneous",
            (LEARNING, 2, 0, forge("scaled_gradient", *zeros, 4 * 300)),
            checks=alike,
            **long,
        ),
    )


def _learning() -> tuple[ConformCase, ...]:
    lattice = prepare(scenario_on()).parameters.lattice
    largest, gradient = lattice.model_limit, lattice.gradient_limit

    def forged(name: str, field: str, *numbers: int, t: int = 2, **changes: Any) -> ConformCase:
        return edited(name, (LEARNING, t, 0, forge(field, *numbers)), **changes)

    def gradients(name: str, *rows: tuple[str, str]) -> ConformCase:
        return ConformCase(name, 0, scenario_on(), rows)

    fine, far = Precision(28, 4), parts.ConfiguredBounds(10.0, 1e6)
    return (
        edited("a learning message is missing", (LEARNING, 2, 0, Drop())),
        edited("a learning message is a text", (LEARNING, 1, None, Set(Text("?")))),
        edited("a learning message is a flag", (LEARNING, 1, 0, ALARM)),
        edited("a learning message is empty", (LEARNING, 3, 0, forge("model"))),
        edited("a model is a text", (LEARNING, 3, 0, Forge("model", Text("?")))),
        edited(
            "a length of 2^31 and not quite one more",
            (LEARNING, 3, None, forge("scaled_gradient", 9 << 31, 9 << 16)),
            bounds=parts.NoBounds(),
        ),
        edited(
            "a gradient beyond 2^53",
            (LEARNING, 3, None, forge("scaled_gradient", -(9 << 54) - 1, 0)),
            bounds=parts.NoBounds(),
        ),
        forged("an entry at X_max", "model", 0, largest),
        forged("an entry just below X_max", "model", 0, largest - 1),
        forged("an entry at -G_max", "scaled_gradient", -gradient, 0),
        forged("a gradient out of range in the last round", "scaled_gradient", gradient, 0, t=3),
        forged("a model out of range in the last round", "model", 0, -largest, t=3),
        forged("an entry at -2^63", "model", -(2**63), 0),
        forged("an entry beyond 64 bits", "model", 2**63, 0),
        gradients("a gradient beyond the range", USUAL, ("1e30", "0.0"), USUAL),
        gradients("an update just beyond the range", USUAL, (str(float(largest)), "0.0"), USUAL),
        gradients("a gradient that is not a number", ("nan", "0.5"), USUAL, USUAL),
        gradients("an infinite gradient in the last round", USUAL, USUAL, ("0.25", "-inf")),
        forged("a model one unit beyond B", "model", 10 * 2**28, 1, precision=fine, bounds=far),
        forged("a gradient beyond C", "scaled_gradient", 6 * 16 * 30, 0),
    )


def _broadcasts() -> tuple[ConformCase, ...]:
    nothing = Set(Entries())

    def key(name: str, number: int | None, value: Value, field: str = "1/key") -> ConformCase:
        return edited(name, (KEYS, number, 0, Forge(field, value)))

    return (
        edited("a key never comes", (KEYS, None, None, nothing), sender=2, graph=TRIANGLE),
        edited(
            "a key comes in the compare round", (KEYS, 1, None, nothing), sender=2, graph=TRIANGLE
        ),
        edited(
            "a report comes in the compare round",
            (HASHES, 1, None, nothing),
            sender=2,
            graph=TRIANGLE,
        ),
        edited(
            "an estimate never comes", (ESTIMATES, None, None, nothing), sender=2, graph=TRIANGLE
        ),
        edited("two keys of one agent", (KEYS, 1, 0, Add((1,), "2/key")), sender=2, graph=TRIANGLE),
        edited("two keys in one round", (KEYS, 2, 0, Add((1,), "3/key"))),
        edited("two keys, one only in the compare round", (KEYS, 4, 0, Add((1,), "3/key"))),
        edited("no broadcast message", (HASHES, 2, 0, Drop())),
        edited("a broadcast message that is a text", (ESTIMATES, 2, 0, Set(Text("?")))),
        key("an unknown tag", 1, Integer(3), "99/0"),
        key("an unknown tag in every round", None, Integer(3), "4/key"),
        key("an unknown tag with null", 2, Nothing(), "99/0"),
        edited(
            "two unknown tags in one message",
            (KEYS, 1, 0, Forge("99/0", Integer(3))),
            (KEYS, 1, 0, Forge("98/key", Integer(3))),
        ),
        edited(
            "a report about an agent that is no neighbour",
            (HASHES, 2, 0, Forge("0/3", Integers((1,) * 16))),
        ),
        key("null for a key that is held", 3, Nothing(), "3/key"),
        key("null for a key that is held, in the compare round", 4, Nothing(), "3/key"),
        edited("null for a report of the agent itself", (HASHES, 2, 0, null_for("0/1"))),
        key("a key that is true", 1, Flag(value=True)),
        key("a key that is p", 1, Integer(MERSENNE_61)),
        key("a key that is null", 1, Nothing()),
        key("a key of another that is negative", 2, Integer(-1), "3/key"),
        edited("a report that is too short", (HASHES, 1, 0, Forge("1/0", Integers((1,) * 15)))),
        edited("a report with an entry p", (HASHES, 1, 0, forge("1/0", *[1] * 15, MERSENNE_61))),
        edited("an estimate that is too large", (ESTIMATES, 1, 0, forge("1/0", 10**30, 0, 0, 0))),
        edited(
            "an estimate with the lengths of the printed text",
            (ESTIMATES, 1, 0, forge("1/0", 3, 4, 5, 3, 4, 5)),
        ),
        key("a key that is a text, in every round", None, Text("?")),
        edited("a report that is empty, in every round", (HASHES, None, 0, forge("1/0"))),
        edited("an estimate that is empty, in every round", (ESTIMATES, None, 0, forge("1/0"))),
        *(
            key(f"a false key of {whose} in round {number}", number, Integer(6), f"{v}/key")
            for whose, v in (("the agent itself", 0), ("the sender", 1))
            for number in (2, 4)
        ),
        edited("a false report of the agent itself, at last", (HASHES, 4, 0, Add((1,), "0/2"))),
        edited(
            "a false estimate of the agent itself, at last", (ESTIMATES, 4, 0, Add((1,), "0/2"))
        ),
    )


def _hashes() -> tuple[ConformCase, ...]:
    told_apart = (LEARNING, 2, 1, Add((1,), "model"))
    wrong_gamma = (LEARNING, 1, None, Add((1,), "scaled_gradient"))
    about_me = (HASHES, 1, None, Add((1,), "1/0"))
    own: dict[str, Any] = {"keys_checked": CheckedKeys.OWN}
    return (
        edited("another model to one neighbour", told_apart, sender=3),
        edited("another model to one neighbour, own key checked", told_apart, sender=3, **own),
        edited("a gradient that does not fit", wrong_gamma, sender=3),
        edited("a gradient that does not fit, own key checked", wrong_gamma, sender=3, **own),
        edited("a false report about the agent", about_me),
        edited("a false report about the agent, own key checked", about_me, **own),
        edited(
            "a neighbour of which there is no report",
            (HASHES, None, None, null_for("1/2")),
            graph=PATH,
        ),
        edited(
            "an agent of which there is no report",
            (HASHES, None, None, null_for("1/0")),
            graph=PATH,
        ),
        edited(
            "a gradient that does not fit, to the lowest reporter",
            (LEARNING, 1, 0, Add((1,), "scaled_gradient")),
            agent=3,
        ),
    )


def _estimates() -> tuple[ConformCase, ...]:
    tight = (parts.Check("tight", parts.Polynomial(), parts.ConfiguredThresholds(1e-3, 1e-3)),)
    near = (parts.Check("near", parts.Polynomial(0), parts.ConfiguredThresholds(0.5, 1e6)),)
    far = parts.Check("near", parts.Polynomial(0), parts.ConfiguredThresholds(1e3, 1e6))
    about_me = (ESTIMATES, 1, None, Add((1,), "1/0"))
    about_other = (ESTIMATES, 1, None, Add((0, 1), "1/3"))
    return (
        edited("a false estimate about the agent", about_me),
        edited("a false estimate about another agent", about_other),
        ConformCase("neither optimal nor homogeneous", 0, scenario_on(checks=tight)),
        ConformCase("not optimal", 0, scenario_on(checks=near)),
        edited(
            "an agent of which there is no estimate, the others not optimal",
            (ESTIMATES, None, None, null_for("1/2")),
            graph=PATH,
            checks=tight,
        ),
        *_statistics(),
        edited(
            "another estimate by the lowest reporter",
            (ESTIMATES, 1, None, Add((1 << 20, 0), "1/3")),
            agent=2,
            checks=(far,),
        ),
    )


FAR = 1 << 60, 1 << 120
"""Thresholds far above a statistic."""


def _statistics() -> tuple[ConformCase, ...]:
    """Both statistics at a threshold and one unit beyond, small ones and beyond 64 bits.

    80 is 9^2 - 1, and with m = 2^55 the square of (2^28, m) is (m + 1)^2 - 1.
    """
    large, just_less, m = (3 << 54, 4 << 54), (1 << 28, 1 << 55), 1 << 55
    there, back = (3, 4), (-3, -4)
    return (
        _measured("statistics at the thresholds", there, (5, 25)),
        _measured("statistics just above the thresholds", there, (4, 24)),
        _measured("statistics at thresholds beyond 2^53", large, (5 << 54, 25 << 108)),
        _measured(
            "statistics above thresholds beyond 2^53",
            (3 << 54, (4 << 54) + 1),
            (5 << 54, 25 << 108),
        ),
        _measured("statistics of 2^64", (1 << 32, 0), (1 << 31, 1 << 62)),
        _measured("statistics of 2^63", (1 << 31, 1 << 31), (1 << 31, 1 << 62)),
        _measured("gradients that add up, squares at the threshold", there, (10, 50), own=there),
        _measured("gradients that cancel out, squares at the threshold", back, (1, 50), own=there),
        _measured("gradients that cancel out, squares above it", back, (1, 49), own=there),
        _measured("statistics at the lower thresholds", there, FAR, (5, 25)),
        _measured("statistics just below the lower thresholds", (8, 4), FAR, (9, 81)),
        _measured("statistics between equal thresholds", there, (5, 25), (5, 25)),
        _measured("optimality below, heterogeneity at its threshold", there, FAR, (6, 25)),
        _measured("heterogeneity below, optimality at its threshold", there, FAR, (5, 26)),
        _measured("no statistic at all, no lower threshold", (0, 0), FAR),
        _measured("no statistic at all, lower thresholds of 1", (0, 0), FAR, (1, 1)),
        _measured("gradients that cancel out, too optimal", back, FAR, (1, 50), own=there),
        _measured("gradients that add up, too homogeneous", there, FAR, (10, 51), own=there),
        _measured("lower thresholds of 2^64", there, FAR, (1 << 32, 1 << 64)),
        _measured("lower thresholds of 2^63", there, FAR, (3 << 31, 1 << 63)),
        _measured("lower thresholds beyond 2^53", large, FAR, (5 << 54, 25 << 108)),
        _measured("below lower thresholds beyond 2^53", just_less, FAR, (m + 1, (m + 1) ** 2)),
        _measured(
            "a little below lower thresholds beyond 2^53",
            (3 << 54, (4 << 54) - 1),
            FAR,
            (5 << 54, 25 << 108),
        ),
        _measured("statistics of 2^64, lower thresholds", (1 << 32, 0), FAR, (1 << 31, 1 << 62)),
        _measured("statistics of 2^63, lower thresholds", (1 << 31,) * 2, FAR, (1 << 31, 1 << 62)),
    )


def _measured(
    name: str,
    ghat: tuple[int, int],
    above: tuple[int, int],
    below: tuple[int, int] = (0, 0),
    own: tuple[int, int] = (0, 0),
) -> ConformCase:
    """A case in which a Byzantine agent sets both statistics, and which has these thresholds.

    The weight is 1; its own gradient is `own`, and what it says of agent 0 counts: |ghat + own|
    is compared with the first threshold of each pair and |ghat|^2 + |own|^2 with the second.
    """
    thresholds = parts.ConfiguredThresholds(above[0] / 32, above[1] / 512)
    case = edited(
        name,
        (LEARNING, 1, 0, forge("scaled_gradient", *(4 * entry for entry in own))),
        (ESTIMATES, 1, 0, forge("1/0", *ghat)),
        (ESTIMATES, 2, 0, forge("1/0", *ghat)),
        graph=parts.Family("path:2"),
        rounds=1,
        schedule=parts.ExplicitSteps((3,), (4,)),
        checks=(parts.Check("one", parts.Polynomial(0), thresholds),),
        keys=(5, 0),
    )
    return case if below == (0, 0) else lower_at(case, below)


def _agreement() -> tuple[ConformCase, ...]:
    def lie(name: str, number: int | None, action: Action, to: int | None = None) -> ConformCase:
        return edited(name, (AGREEMENT, number, to, action))

    return (
        lie("a false alarm in the first round", 1, ALARM, 0),
        lie("a false alarm in the last round", 3, ALARM, 0),
        lie("silence in the agreement", 2, Drop()),
        lie("no flag in the agreement", 2, Set(Integer(0)), 0),
        lie("a false alarm in every round", None, ALARM, 0),
        edited(
            "silence in learning, in a broadcast and in the agreement",
            (LEARNING, 2, 0, Drop()),
            (HASHES, 1, 0, Drop()),
            (AGREEMENT, 2, 0, Drop()),
        ),
        edited(
            "garbage in learning, in a broadcast and in the agreement",
            (LEARNING, 2, 0, Set(Text("?"))),
            (KEYS, 2, 0, Set(Text("?"))),
            (AGREEMENT, 2, 0, Set(Text("?"))),
        ),
        edited(
            "silence and then a false alarm", (AGREEMENT, 1, 0, Drop()), (AGREEMENT, 2, 0, ALARM)
        ),
    )


def _orders() -> tuple[ConformCase, ...]:
    """Several alarms in one round: their order is fixed (MO-12)."""
    thresholds = parts.ConfiguredThresholds(1e-3, 1e-3)
    tight = tuple(attrs.evolve(one, thresholds=thresholds) for one in TWO)
    silent = [Edit(LEARNING, 2, sender, 0, Drop()) for sender in (1, 2)]
    long = [
        Edit(LEARNING, number, sender, 0, forge(field, 9 * 16 * 400, 0))
        for number in (1, 3)
        for sender in (1, 2)
        for field in ("model", "scaled_gradient")
    ]
    return (
        several("two messages are missing", *silent),
        several("norms of two neighbours in two rounds", *long),
        attrs.evolve(
            several("a message is missing, a gradient beyond the range", silent[0]),
            gradients=(USUAL, ("nan", "0.0"), USUAL),
        ),
        edited(
            "an unknown tag, malformed and different values in one message",
            (KEYS, 4, 0, Forge("99/0", Integer(3))),
            (KEYS, 4, 0, Forge("3/key", Text("?"))),
            (KEYS, 4, 0, Add((-1,), "2/key")),
            (KEYS, 4, 0, Forge("0/key", Text("?"))),
        ),
        several(
            "two false reports about the agent",
            *(Edit(HASHES, 1, u, None, Add((1,), f"{u}/0")) for u in (1, 2)),
        ),
        edited(
            "wrong gradients of a high agent and another model to its neighbour",
            (LEARNING, 1, 1, Add((1,), "scaled_gradient")),
            (LEARNING, 2, 2, Add((1, 1), "model")),
            sender=3,
        ),
        several(
            "two false estimates about the agent",
            *(Edit(ESTIMATES, 1, u, None, Add((1,), f"{u}/0")) for u in (1, 2)),
        ),
        several(
            "two false alarms in the agreement", *(Edit(AGREEMENT, 2, u, 0, ALARM) for u in (1, 2))
        ),
        ConformCase(
            "neither optimal nor homogeneous under two weightings", 0, scenario_on(checks=tight)
        ),
        *_crossed(),
    )


def _crossed() -> tuple[ConformCase, ...]:
    """Under each of two weightings one test fails from above and the other from below."""
    drifting, spread = (1e-3, 1e12), (1e6, 1e-3)
    large = {drifting: (0, 10**16), spread: (10**8, 0)}

    def crossed(name: str, *pairs: tuple[float, float]) -> ConformCase:
        checks = tuple(
            attrs.evolve(one, thresholds=parts.ConfiguredThresholds(*pair))
            for one, pair in zip(TWO, pairs, strict=True)
        )
        case = ConformCase(name, 0, scenario_on(checks=checks))
        return lower_at(case, *(large[pair] for pair in pairs))

    low = ConformCase("too optimal and too homogeneous", 0, scenario_on())
    return (
        lower_at(low, (10**8, 10**16), (10**8, 10**16)),
        crossed("not optimal, too homogeneous; then the other way", drifting, spread),
        crossed("too optimal, not homogeneous; then the other way", spread, drifting),
    )


def _limits() -> tuple[ConformCase, ...]:
    """Values at limits, also at those of other parameters than most cases have."""
    small: dict[str, Any] = {"prime": 10007, "keys": (5, 0, 10006, 7)}
    found = []
    for name, changes in (("", {}), (", a small prime", small)):
        lattice = prepare(scenario_on(**changes)).parameters.lattice
        X, G = lattice.model_limit, lattice.gradient_limit
        W = 256 + 512 + 1024  # of the second of TWO; that of the first is 6
        largest = (6 * G, -6 * G, W * G, -W * G)
        for what, change in (
            ("at the limits", (0, 0, 0, 0)),
            ("too large", (1, 0, 0, 0)),
            ("too large below zero", (0, -1, 0, 0)),
            ("too large in the second part", (0, 0, 0, -1)),
        ):
            value = Integers(tuple(one + more for one, more in zip(largest, change, strict=True)))
            edit = (ESTIMATES, 1, 0, Forge("1/0", value))
            found.append(edited(f"an estimate {what}{name}", edit, **changes))
        for what, field, entry in (
            ("X_max", "model", X),
            ("G_max", "scaled_gradient", G),
            ("-X_max", "model", -X),
            ("-G_max", "scaled_gradient", -G),
        ):
            for size, shorter in ((f"at {what}", 0), (f"just below {what}", 1)):
                numbers = Integers((0, entry - (shorter if entry > 0 else -shorter)))
                edit = (LEARNING, 2, 0, Forge(field, numbers))
                changed = {"bounds": parts.NoBounds(), **changes}
                found.append(edited(f"an entry {size}, no bounds{name}", edit, **changed))
    exact = [
        (LEARNING, 1, 0, forge("model", 1600, 0)),
        (LEARNING, 2, 0, forge("scaled_gradient", 6 * 320 + 5, 0)),
    ]
    beyond = [
        (LEARNING, 1, 0, forge("model", 1600, 1)),
        (LEARNING, 2, 0, forge("scaled_gradient", 6 * 320, 6)),
    ]
    return (
        *found,
        edited("norms at the bounds", *exact),
        edited("norms just beyond the bounds", *beyond),
        edited("norms beyond other bounds", *exact, bounds=parts.ConfiguredBounds(50.0, 10.0)),
        edited(
            "a key just below a small prime, and at it",
            (KEYS, 1, 0, Forge("1/key", Integer(10006))),
            (KEYS, 2, 0, Forge("1/key", Integer(10007))),
            **small,
        ),
    )


def _networks() -> tuple[ConformCase, ...]:
    """Twelve agents and more: numbers of two digits, and messages of many lengths."""
    twelve: dict[str, Any] = {"graph": TWELVE, "schedule": STEPS}
    star: dict[str, Any] = {"graph": parts.Family("star:12"), "schedule": STEPS}
    homogeneous = (parts.Check("even", parts.Polynomial(0), parts.ConfiguredThresholds(1e6, 12.0)),)
    return (
        ConformCase("honest, twelve agents", 0, scenario_on(**twelve)),
        edited(
            "two keys in one round, from 2 and from 10",
            (KEYS, 2, 0, Add((1,), "11/key")),
            sender=10,
            **twelve,
        ),
        edited(
            "a gradient that does not fit, to 10 and not to 2",
            (LEARNING, 1, 10, Add((1,), "scaled_gradient")),
            sender=11,
            **twelve,
        ),
        edited("no key comes, twelve agents", (KEYS, None, 0, Set(Entries())), **_gateway()),
        edited("messages of every length, new entries", *_lengthening(), **_gateway()),
        edited("messages of every length, known entries", *_repeating(), **star),
        edited(
            "messages of 210 entries, of which the last is false",
            (HASHES, 15, 0, Add((1,), "14/13")),
            graph=parts.Family("complete:15"),
            schedule=STEPS,
        ),
        edited(
            "the last of 18 agents is not homogeneous",
            (LEARNING, None, 0, forge("scaled_gradient", 9 * 300, 0)),
            sender=17,
            graph=parts.Family("star:18"),
            schedule=STEPS,
            checks=homogeneous,
        ),
    )


def _gateway() -> dict[str, Any]:
    """Twelve agents of which 0 hears from 1 alone, and the others all from each other."""
    others = ((u, v) for v in range(2, 12) for u in range(1, v))
    return {"graph": parts.Edges(12, ((0, 1), *others)), "schedule": STEPS}


def _lengthening() -> list[EditRow]:
    """What 1 tells 0 is invented: 1 new report in round 1, 2 in round 2, and so on; then estimates.

    In the first round of the estimates there are 12, and one more in each that follows, so that 0
    hears and passes on messages of every length up to 17.
    """
    tags = [
        (v, u) for v in range(1, 12) for u in range(12) if u not in (v, *([] if v == 1 else [0]))
    ]
    found: list[EditRow] = []
    for phase, first, rounds, size in ((HASHES, 1, 11, 48), (ESTIMATES, 12, 6, 4)):
        begin = 0
        for number in range(1, rounds + 1):
            some = tags[begin : begin + first + number - 1]
            begin += len(some)
            value = Integers((number,) * size)
            entries = Entries(tuple(Entry(v, u, value) for v, u in some))
            found.append((phase, number, 0, Set(entries)))
    return found


def _repeating() -> list[EditRow]:
    """What leaf 1 tells the hub of a star: so many entries, of which the last is false.

    The hub knows all of it after round 1; in round r there are r keys, and then 11 + r reports.
    """
    found: list[EditRow] = []
    for number in range(2, 13):
        keys = [Entry(v, None, Nothing()) for v in range(number - 1)]
        false = Entry(number - 1, None, Integer(number))
        found.append((KEYS, number, 0, Set(Entries((*keys, false)))))
    slots = [*((0, u) for u in range(1, 12)), *((u, 0) for u in range(1, 12))]
    for number in range(2, 12):
        some = slots[: 11 + number]
        reports = [Entry(v, u, Nothing()) for v, u in some[:-1]]
        false = Entry(*some[-1], Integers((number,) * 48))
        found.append((HASHES, number, 0, Set(Entries((*reports, false)))))
    return found
