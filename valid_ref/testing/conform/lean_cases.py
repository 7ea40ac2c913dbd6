"""The fixed cases of lean validation: honest runs, every named attack, and single edits.

The ring 0-1, 0-2, 1-3, 2-3 has D = r = 2 and the root 0, whose children are 1 and 2; 3 is the child
of 1. The path of four has the root 1, r = 2 and D = 3.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from valid_ref.adversary.actions import (
    Add,
    Drop,
    Entries,
    Entry,
    Flag,
    Forge,
    Integer,
    Integers,
    Nothing,
    Replay,
    Set,
    Text,
    Value,
)
from valid_ref.adversary.catalogue import AttackPart
from valid_ref.adversary.lean_attacks import (
    AdaptiveOpening,
    CopiedCommitment,
    EarlyValue,
    FalseNumber,
    FalseOwnReport,
    SilentBranch,
    SplitOpening,
    WrappedTotal,
    WrongDigest,
    WrongSum,
    WrongTotal,
)
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.lean import BEYOND, COMPARE, FIX, OPEN, REPORT, limits_of
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.testing.conform.case import ConformCase
from valid_ref.testing.conform.settings import (
    ALARM,
    GRADIENTS,
    PAIR,
    PATH,
    RING,
    STEPS,
    THREE,
    TRIANGLE,
    TWELVE,
    TWO,
    EditRow,
    edited,
    forge,
    lower_at,
    scenario_on,
)

FOUR = parts.Family("path:4")
TWO_CLIQUES = parts.Edges(7, ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (4, 6)))
"""r = 2 and D = 4: here 2r is D, and the tree has branches of two lengths."""
FAN = parts.Edges(5, ((0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)))
"""Two triangles that share 2: D = 2 and r = 1."""
FIVE_RING = parts.Family("cycle:5")
"""D = r = 2, so that the first phase has two rounds more than its flood."""


def lean_cases() -> tuple[ConformCase, ...]:
    """All of them, honest ones first.

    Implements: CF-15.
    """
    return (
        *_honest(),
        *_statistics(),
        *_learning(),
        *_attacks(),
        *_messages(),
        *_values(),
        *_tree(),
        *_missing(),
        *_comparison(),
    )


def _lean(graph: parts.GraphPart = RING, kappa: int = 2, **changes: Any) -> Scenario:
    """The small scenario with lean validation."""
    return scenario_on(graph, keys=None, validation=parts.Lean(kappa=kappa), **changes)


def _edited(
    name: str,
    *edits: EditRow,
    sender: int = 1,
    agent: int = 0,
    graph: parts.GraphPart = RING,
    kappa: int = 2,
    **changes: Any,
) -> ConformCase:
    """A case with one Byzantine agent, the sender of these edits."""
    validation = parts.Lean(kappa=kappa)
    options = {"keys": None, "validation": validation, **changes}
    return edited(f"lean: {name}", *edits, sender=sender, agent=agent, graph=graph, **options)


def _honest() -> tuple[ConformCase, ...]:
    def honest(name: str, agent: int, scenario: Scenario, *more: Any) -> ConformCase:
        return ConformCase(f"lean: honest, {name}", agent, scenario, *more)

    narrow = parts.ConfiguredBounds(100.0, 2.0)
    small: dict[str, Any] = {"prime": 10007, "bounds": narrow, "checks": TWO[:1]}
    return (
        honest("rounding ties", 1, _lean(), GRADIENTS),
        honest("one key", 0, _lean(kappa=1)),
        honest("the root of a path, three weightings, three keys", 1, _lean(FOUR, 3, checks=THREE)),
        honest("the end of a path", 3, _lean(FOUR)),
        honest("two agents", 1, _lean(PAIR)),
        honest("two agents, the root", 0, _lean(PAIR)),
        honest("no weightings", 1, _lean(checks=())),
        honest("a small prime", 1, _lean(PAIR, 1, **small)),
        honest("a branch of two lengths", 4, _lean(TWO_CLIQUES, schedule=STEPS)),
        honest("2r = D = 2", 2, _lean(FAN, schedule=STEPS)),
        honest("a ring of five", 3, _lean(FIVE_RING)),
        honest("twelve agents", 11, _lean(TWELVE, schedule=STEPS)),
    )


def _statistics() -> tuple[ConformCase, ...]:
    """One statistic of one weighting beyond its threshold, from above or from below."""

    def checks(index: int, thresholds: parts.ConfiguredThresholds) -> tuple[parts.Check, ...]:
        changed = attrs.evolve(THREE[index], thresholds=thresholds)
        return (*THREE[:index], changed, *THREE[index + 1 :])

    above = {
        "not optimal": parts.ConfiguredThresholds(1e-3, 1e12),
        "not homogeneous": parts.ConfiguredThresholds(1e6, 1e-3),
    }
    below = {"too optimal": (10**8, 0), "too homogeneous": (0, 10**16)}
    tight = tuple(
        attrs.evolve(one, thresholds=parts.ConfiguredThresholds(1e-3, 1e-3)) for one in TWO
    )
    return (
        *(
            ConformCase(f"lean: {what}, weighting {i + 1}", 3, _lean(checks=checks(i, limits)))
            for i in (0, 2)
            for what, limits in above.items()
        ),
        *(
            lower_at(
                ConformCase(f"lean: {what}, weighting {i + 1}", 2, _lean(checks=THREE)),
                *(low if j == i else (0, 0) for j in range(3)),
            )
            for i in (0, 2)
            for what, low in below.items()
        ),
        ConformCase("lean: neither optimal nor homogeneous", 0, _lean(checks=tight)),
        lower_at(
            ConformCase("lean: too optimal and too homogeneous", 0, _lean()),
            (10**8, 10**16),
            (10**8, 10**16),
        ),
    )


def _learning() -> tuple[ConformCase, ...]:
    """Lies in the learning, which the reports show."""
    told_apart = (LEARNING, 2, 1, Add((1,), "model"))
    return (
        _edited("another model to one neighbour", told_apart, sender=3),
        _edited("another model to one neighbour, seen by it", told_apart, sender=3, agent=1),
        _edited("a gradient that does not fit", (LEARNING, 1, None, Add((1,), "scaled_gradient"))),
        _edited("a learning message is missing", (LEARNING, 2, 0, Drop())),
        _edited("a gradient beyond C", (LEARNING, 3, 0, forge("scaled_gradient", 9 * 400, 0))),
        attrs.evolve(
            _edited("an own gradient that is not a number", (AGREEMENT, 1, 0, ALARM)),
            gradients=(("nan", "0.5"),) * 3,
        ),
    )


def _attacks() -> tuple[ConformCase, ...]:
    """Every named attack on lean validation, seen from several places."""

    def attacked(
        attack: AttackPart,
        liar: int = 2,
        agents: tuple[int, ...] = (1, 3),
        graph: parts.GraphPart = FOUR,
        what: str = "",
    ) -> list[ConformCase]:
        scenario = _lean(graph, byzantine=(liar,), attack=attack)
        name = f"lean: {attack.kind}{what} of {liar}, seen by"
        return [ConformCase(f"{name} {agent}", agent, scenario) for agent in agents]

    return (
        *attacked(AdaptiveOpening()),
        *attacked(CopiedCommitment()),
        *attacked(SplitOpening()),
        *attacked(SplitOpening(committed=True), what=", committed,"),
        *attacked(WrongSum()),
        *attacked(WrongSum(units=1 << 60), what=" beyond its range"),
        *attacked(WrongTotal(), liar=1, agents=(0, 2, 3)),
        *attacked(WrappedTotal(), liar=1, agents=(0, 2)),
        *attacked(SilentBranch()),
        *attacked(SilentBranch(), liar=1, agents=(0, 2, 3)),
        *(
            case
            for phase in (FIX, OPEN, REPORT)
            for case in attacked(EarlyValue(phase), what=f" in {phase}")
        ),
        *attacked(FalseNumber()),
        *attacked(FalseOwnReport()),
        *attacked(WrongDigest()),
        *attacked(SplitOpening(), liar=0, agents=(1, 2, 3), graph=parts.Family("complete:4")),
    )


def _messages() -> tuple[ConformCase, ...]:
    """Messages that are missing, no mapping, or have tags that are not public."""
    value = Integers((1, 1, 1))
    twice = Set(Entries((Entry(1, "fixed", Integers((0, 0, 0))),) * 2))
    other_twice = Set(Entries((Entry(1, "opening", value), Entry(3, "sum", value)) * 2))
    return (
        *(
            _edited(f"{what} in {phase}", (phase, 1, None, action))
            for phase in (FIX, OPEN, REPORT, COMPARE)
            for what, action in (
                ("no message", Drop()),
                ("a text", Set(Text("?"))),
                ("an alarm state", Set(Flag(value=False))),
                ("an integer", Set(Integer(5))),
                ("nothing new", Set(Entries())),
            )
        ),
        _edited("a public tag twice", (FIX, 1, 0, twice)),
        _edited("tags twice, one of them public", (FIX, 1, 0, other_twice)),
        _edited("an unknown tag twice", (OPEN, 1, 0, other_twice)),
        _edited("an unknown tag", (OPEN, 1, 0, Forge("99/opening", value))),
        _edited("an unknown tag with null", (FIX, 2, 0, Forge("99/0", Nothing()))),
        _edited("a key", (FIX, 1, 0, Forge("1/key", Integer(5)))),
        _edited("a tag of the flood before", (OPEN, 1, 0, Forge("1/fixed", value))),
        _edited("a sum after its phase", (OPEN, 1, 0, Forge("1/sum", value))),
        _edited(
            "a sum of no agent that has one", (FIX, 1, 1, Forge("0/sum", value)), sender=0, agent=1
        ),
        _edited(
            "a total of another than the root",
            (FIX, 3, 1, Forge("1/total", value)),
            sender=0,
            agent=1,
        ),
    )


def _limits() -> Mapping[str, tuple[int, ...]]:
    return limits_of(prepare(_lean()).parameters)


def _values() -> tuple[ConformCase, ...]:
    """Values at their limits, beyond them, of another form, early, late, different, null."""
    limits = _limits()

    def said(name: str, phase: str, number: int, field: str, value: Value) -> ConformCase:
        return _edited(name, (phase, number, 0, Forge(field, value)))

    found = []
    for phase, slot in ((FIX, "fixed"), (OPEN, "opening"), (REPORT, "report")):
        largest = tuple(limit - 1 for limit in limits[slot])
        tag = f"1/{slot}"
        found.append(said(f"the largest {slot} value", phase, 1, tag, Integers(largest)))
        for place in (0, 1, len(largest) - 1):
            for what, entry in (("at its limit", limits[slot][place]), ("negative", -1)):
                numbers = (*largest[:place], entry, *largest[place + 1 :])
                name = f"entry {place + 1} of a {slot} value {what}"
                found.append(said(name, phase, 1, tag, Integers(numbers)))
        zeros = (0,) * len(largest)
        wrong: dict[str, Value] = {
            "too short": Integers(zeros[1:]),
            "too long": Integers((*zeros, 0)),
            "empty": Integers(()),
            "that is null": Nothing(),
            "that is true": Flag(value=True),
            "that is a text": Text("?"),
            "that is one integer": Integer(0),
        }
        for what, value in wrong.items() if phase == FIX else [*wrong.items()][:4]:
            found.append(said(f"a {slot} value {what}", phase, 1, tag, value))
        found.append(said(f"a {slot} value of zeros", phase, 1, tag, Integers(zeros)))
        found.append(said(f"another {slot} value of 3", phase, 2, f"3/{slot}", Integers(zeros)))
        found.append(said(f"an own {slot} value, another", phase, 2, f"0/{slot}", Integers(zeros)))
        found.append(said(f"an own {slot} value, early", phase, 1, f"0/{slot}", Integers(zeros)))
        found.append(_edited(f"a {slot} value again", (phase, 2, None, Replay(1)), agent=3))
        late = "late" if phase == FIX else "at last"
        edits: list[EditRow] = [(phase, t, None, Forge(tag, Nothing())) for t in (1, 2)]
        when = 3 if phase == FIX else 2
        edits.append((phase, when, None, Forge(tag, Integers(zeros))))
        found.append(_edited(f"a {slot} value {late}", *edits))
        found.append(
            _edited(
                f"a {slot} value {late}, malformed",
                *edits[:-1],
                (phase, when, None, Forge(tag, Integers((*largest, 0)))),
            )
        )
    narrow = parts.ConfiguredBounds(100.0, 2.0)
    early = _lean(bounds=narrow, byzantine=(1,), attack=EarlyValue(FIX))
    name = "lean: an own norm beyond its bound, whose number comes back"
    own = (("9.0", "0.0"),) * 3
    own_words = ConformCase(name, 0, early, own)
    split = (OPEN, 1, 3, Add((0, 1), "1/opening"))
    return (
        *found,
        ConformCase("lean: an own norm beyond its bound", 0, _lean(bounds=narrow), own),
        own_words,
        _edited("two openings, one to each neighbour", split),
        _edited("two openings, seen by 3", split, agent=3),
        _edited(
            "two openings, a shared neighbour of both",
            (OPEN, 1, 0, Add((0, 1), "1/opening")),
            agent=2,
        ),
    )


def _tree() -> tuple[ConformCase, ...]:
    """Sums and totals: early, late, on other edges, at their limits, of another form."""
    d = 4
    zeros = Integers((0,) * d)
    limit = 6 * 320
    child = {"sender": 1, "agent": 0}
    parent = {"sender": 0, "agent": 1}
    at_root = _edited  # the edge from 1 to 0

    def sums(name: str, number: int, value: Value, **where: Any) -> ConformCase:
        return at_root(
            f"a sum {name}", (FIX, number, where["agent"], Forge("1/sum", value)), **where
        )

    def totals(name: str, number: int, value: Value, **where: Any) -> ConformCase:
        return at_root(
            f"a total {name}", (FIX, number, where["agent"], Forge("0/total", value)), **where
        )

    return (
        sums("early", 1, zeros, **child),
        sums("late", 3, zeros, **child),
        sums("late, malformed", 3, Integers((0,)), **child),
        sums("on another edge", 2, zeros, sender=1, agent=3),
        sums("of another form", 2, Integers((0, 0, 0)), **child),
        sums("that is null", 2, Nothing(), **child),
        sums("that is a text", 2, Text("?"), **child),
        sums("at its limit", 2, Integers((2 * limit, 0, 0, 0)), **child),
        sums("at its limit below zero", 2, Integers((0, -2 * limit, 0, 0)), **child),
        sums("beyond its limit", 2, Integers((2 * limit + 1, 0, 0, 0)), **child),
        sums("beyond its limit below zero", 2, Integers((0, -2 * limit - 1, 0, 0)), **child),
        totals("early", 2, zeros, **parent),
        totals("late", 4, zeros, **parent),
        totals("from a child", 3, zeros, **child),
        totals("from a neighbour that is not its parent", 3, zeros, sender=3, agent=2),
        totals("of another form", 3, Integers(()), **parent),
        totals("that is null", 3, Nothing(), **parent),
        totals("at its limit", 3, Integers((4 * limit, 0, 0, 0)), **parent),
        totals("beyond its limit", 3, Integers((4 * limit + 1, 0, 0, 0)), **parent),
        _edited("a sum comes from one child of two", (FIX, 2, 0, Forge("1/sum", Nothing()))),
        _edited("an empty sum that is null", (FIX, 2, 0, Forge("1/sum", Nothing())), checks=()),
        _edited(
            "an empty sum with an entry", (FIX, 2, 0, Forge("1/sum", Integers((0,)))), checks=()
        ),
    )


def _missing() -> tuple[ConformCase, ...]:
    """Values of 2 that never come to 0, over the only edge, and what is then not checked."""
    tight = tuple(
        attrs.evolve(one, thresholds=parts.ConfiguredThresholds(1e-3, 1e-3)) for one in TWO
    )

    def never(what: str, *fields: tuple[str, str], **changes: Any) -> ConformCase:
        edits: list[EditRow] = [(phase, None, 0, Forge(tag, Nothing())) for phase, tag in fields]
        return _edited(f"{what} of the far agent never comes", *edits, graph=PATH, **changes)

    broken = (LEARNING, 1, None, Add((1,), "scaled_gradient"))
    number, opening, report = (FIX, "2/fixed"), (OPEN, "2/opening"), (REPORT, "2/report")
    own = (FIX, "1/fixed"), (OPEN, "1/opening"), (REPORT, "1/report")
    return (
        never("the number", number),
        never("the number, statistics beyond,", number, checks=tight),
        never("the opening", opening),
        never("the report", report),
        never("the report, statistics beyond,", report, checks=tight),
        never("nothing", *own),
        never("the total, statistics beyond,", (FIX, "1/total"), checks=tight),
        _edited(
            "a relation without the report of a neighbour",
            broken,
            (REPORT, None, 0, Forge("2/report", Nothing())),
            graph=PATH,
        ),
        _edited(
            "a false total without a report",
            (FIX, None, 0, Add((1,), "1/total")),
            (REPORT, None, 0, Forge("2/report", Nothing())),
            graph=PATH,
        ),
        _edited(
            "a wrong number and a wrong report",
            (FIX, 1, None, Add((0, 1), "1/fixed")),
            (REPORT, 1, None, Add((1,), "1/report")),
        ),
        _edited(
            "a wrong last entry of a report", (REPORT, 1, None, Add((*(0,) * 11, 1), "1/report"))
        ),
        _edited("an opening that does not fit", (OPEN, 1, None, Add((0, 1), "1/opening"))),
        _edited("another nonce", (OPEN, 1, None, Add((1,), "1/opening"))),
        _edited("another number of 3 in the last round", (FIX, 2, 0, Add((0, 1), "3/fixed"))),
        _edited(
            "a triangle with a false report",
            (REPORT, 1, None, Add((1,), "1/report")),
            graph=TRIANGLE,
        ),
    )


def _comparison() -> tuple[ConformCase, ...]:
    """Digests, and the agreement after them."""

    def digest(name: str, value: int) -> ConformCase:
        return _edited(f"a digest {name}", (COMPARE, 1, 0, Set(Integer(value))))

    return (
        digest("of 0", 0),
        digest("that is negative", -1),
        digest("just below 2^256", BEYOND - 1),
        digest("of 2^256", BEYOND),
        _edited("a digest that is another", (COMPARE, 1, None, Add((1,)))),
        _edited("a false alarm in the agreement", (AGREEMENT, 1, 0, ALARM)),
        _edited("silence in the agreement", (AGREEMENT, 2, 0, Drop())),
    )
