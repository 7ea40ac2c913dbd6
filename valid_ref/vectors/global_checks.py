"""Vectors of GlobalValidate: weights, thresholds, estimates, statistics, checks."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from valid_ref.graph_families import path
from valid_ref.protocols import global_validate
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import (
    ValidParameters,
    Weighting,
    exponential_weights,
    make_weighting,
    polynomial_weights,
)
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors import sample
from valid_ref.vectors.document import COMPARE, VectorCase, VectorFamily, operation
from valid_ref.vectors.sample import TRANSCRIPTS
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    CANDIDATE,
    FLAG,
    INTEGER,
    NULL,
    RATIO,
    SMALL,
    VECTOR,
    Json,
    either,
    fields,
    integer_vector,
    many,
    ref,
)

Estimate = Sequence[int]


STATISTICS = many(fields(optimality=INTEGER, heterogeneity=INTEGER))


@operation(
    "global-checks/exponential-weights",
    fields(rounds=SMALL, gamma=RATIO, bits=SMALL),
    fields(weights=VECTOR),
    "GV-1",
)
def exponential(rounds: int, gamma: float, bits: int) -> Json:
    """w_1..w_T = round(2^bits gamma^(T-t)), ties to even."""
    return {"weights": exponential_weights(rounds, gamma, bits)}


@operation(
    "global-checks/polynomial-weights",
    fields(rounds=SMALL, power=SMALL),
    fields(weights=VECTOR),
    "GV-1",
)
def polynomial(rounds: int, power: int) -> Json:
    """w_t = t^power."""
    return {"weights": polynomial_weights(rounds, power)}


@operation(
    "global-checks/thresholds",
    fields(
        weights=VECTOR, agents=SMALL, fraction_bits=SMALL, eps_opt=RATIO, delta_plus_eps_het=RATIO
    ),
    fields(optimality=INTEGER, heterogeneity=INTEGER),
    "GV-5 GV-6 GV-7",
)
def thresholds(
    weights: Sequence[int], agents: int, fraction_bits: int, **tolerances: float
) -> Json:
    """Theta_opt and Theta_het, rounded up."""
    found = make_weighting(
        "w",
        tuple(weights),
        agents,
        fraction_bits,
        optimality=tolerances["eps_opt"],
        heterogeneity=tolerances["delta_plus_eps_het"],
    )
    return {"optimality": found.optimality, "heterogeneity": found.heterogeneity}


@operation("global-checks/square-root", fields(value=INTEGER), fields(root=INTEGER), "GV-2")
def square_root(value: int) -> Json:
    """The integer square root, rounded down."""
    return {"root": math.isqrt(value)}


@operation(
    "global-checks/estimate",
    fields(parameters=ref("parameters"), transcript=ref("transcript")),
    fields(estimate=VECTOR),
    "GV-2",
)
def estimate(parameters: ValidParameters, transcript: Sequence[LearningMessage]) -> Json:
    """For each weighting the entries of ghat, then lhat."""
    return {"estimate": global_validate.estimate(parameters, transcript)}


@operation(
    "global-checks/estimate-form",
    fields(parameters=ref("parameters"), value=CANDIDATE),
    fields(well_formed=FLAG),
    "GV-3 VB-9",
)
def estimate_form(parameters: ValidParameters, value: object) -> Json:
    """Whether a value is a well-formed estimate."""
    return {"well_formed": global_validate.is_estimate(parameters, value)}


@operation(
    "global-checks/estimates",
    fields(
        parameters=ref("parameters"),
        agent=AGENT,
        own=VECTOR,
        estimates=many(fields(reporter=AGENT, agent=AGENT, entries=VECTOR)),
    ),
    fields(alarms=ALARMS, statistics=either(NULL, STATISTICS)),
)
def estimates(
    parameters: ValidParameters, agent: int, estimates: Sequence[Json], own: Estimate
) -> Json:
    """The alarms of GV-4 to GV-6 of one agent, which holds these estimates (others are null) and
    whose own record gives `own`: consistency of every agent, the self-check, then per weighting
    optimality and heterogeneity; and for each weighting |sum_u ghat_u|^2 and sum_u lhat_u^2, null
    if some agent has no estimate.
    """
    held = {(one["reporter"], one["agent"]): one["entries"] for one in estimates}
    alarms = global_validate.estimate_alarms(parameters, agent, held, own)
    return {"alarms": alarms, "statistics": _statistics(parameters, held)}


def _statistics(public: ValidParameters, held: Mapping[Tag, Estimate]) -> Json:
    """Both statistics of every weighting; null if some agent has no estimate."""
    agreed = []
    for agent in range(public.graph.agents):
        found = [held[v, agent] for v in public.graph.neighbours(agent) if (v, agent) in held]
        if not found:
            return None
        agreed.append(found[0])
    pairs = (
        global_validate.statistics(public, index, agreed) for index in range(len(public.weightings))
    )
    return [{"optimality": one, "heterogeneity": two} for one, two in pairs]


OPERATIONS = (exponential, polynomial, thresholds, square_root, estimate, estimate_form, estimates)


def _weights() -> list[VectorCase]:
    ones, steep = [1, 1, 1], [1, 2]

    def threshold(
        name: str,
        comment: str,
        weights: Sequence[int],
        tolerances: tuple[float, float],
        **options: Any,
    ) -> VectorCase:
        given = {
            "agents": 3,
            "fraction_bits": 4,
            "eps_opt": tolerances[0],
            "delta_plus_eps_het": tolerances[1],
        }
        return thresholds(name, comment, weights, **(given | options))

    return [
        exponential("half", "gamma = 1/2: ties to even", 5, 0.5, 1),
        exponential("zero", "gamma = 0 weighs the last round only", 4, 0.0, 30),
        exponential("one", "gamma = 1 weighs all alike", 4, 1.0, 3),
        exponential("default-bits", "gamma is the double nearest to .99", 12, 0.99, 30),
        exponential("underflow", "gamma = 1/8, 4 bits: early rounds vanish", 6, 0.125, 4),
        exponential("sixty-bits", "wider than a double", 5, 0.9, 60),
        exponential("above-one-refused", "gamma is at most 1", 3, 1.5, 30, refused="GV-1"),
        exponential("negative-refused", "gamma is not negative", 3, -0.25, 30, refused="GV-1"),
        exponential("too-many-bits-refused", "m = 61", 3, 0.5, 61, refused="GV-1"),
        polynomial("linear", "w_t = t", 5, 1),
        polynomial("flat", "c = 0", 4, 0),
        polynomial("wide", "t^20 leaves 53 bits", 8, 20),
        threshold("worked-example", "Theta_opt = 108", steep, (0.75, 0.25)),
        threshold("rounded-up", "one tenth is a little more than 1/10", ones, (0.1, 0.1), agents=7,
                  fraction_bits=0),
        threshold("exact-not-raised", "an exact product is not raised", ones, (0.25, 0.5), agents=4,
                  fraction_bits=1),
        threshold("tiny", "the smallest double gives 1", ones, (5e-324, 5e-324), fraction_bits=28),
        threshold("wide", "far beyond 64 bits", [2**60, 2**60 - 1], (0.05, 1.0), agents=20,
                  fraction_bits=28),
        threshold("zero-refused", "a tolerance is positive", ones, (0.0, 1.0), refused="GV-7"),
        threshold("negative-refused", "a tolerance is positive", ones, (1.0, -1.0), refused="GV-7"),
        threshold("no-weight-refused", "weights are not all zero", [0, 0, 0], (1.0, 1.0),
                  refused="GV-1"),
        threshold("negative-weight-refused", "no weight is negative", [2, -1, 2], (1.0, 1.0),
                  refused="GV-1"),
        square_root("zero", "0", 0),
        square_root("below-a-square", "rounded down", 24),
        square_root("a-square", "exact", 25),
        square_root("double-trap", "2^104 - 1 rounds to 2^52 in doubles", 2**104 - 1),
        square_root("wide", "126 bits", (2**63 - 1) ** 2 - 1),
    ]  # fmt: skip


def _estimate_cases() -> list[VectorCase]:
    public = sample.parameters()
    two = sample.parameters((sample.WEIGHTING, Weighting("flat", (1, 1), Fraction(2), 50, 5000)))
    steps = Schedule(Precision(0, 2), (1, 1), (1, 3))
    broad = Weighting("wide", (2**60, 2**60 + 1), Fraction(2**61 + 1), 10**40, 10**60)
    plane = sample.parameters_for(path(2), steps, 2**61 - 1, (broad,), dimension=2)
    sent = [
        LearningMessage(integer_vector([0, 0]), integer_vector(gamma))
        for gamma in ((3, -4), (-7, 2**55))
    ]
    limit = public.lattice.gradient_limit
    return [
        estimate("agent-0", "the worked example", public, TRANSCRIPTS[0]),
        estimate("agent-2", "the worked example", public, TRANSCRIPTS[2]),
        estimate(
            "two-weightings",
            "concatenated in their order",
            two,
            TRANSCRIPTS[1],
            source="GV-2 GV-12",
        ),
        estimate("wide", "sums beyond 64 bits, d = 2, A_t differ", plane, sent, source="GV-2 GV-9"),
        estimate_form("good", "d entries and a length", public, (4, 4)),
        estimate_form("largest", "W G_max is allowed", public, (-3 * limit, 3 * limit)),
        estimate_form("vector-too-large", "beyond W G_max", public, (3 * limit + 1, 0)),
        estimate_form("length-too-large", "beyond W isqrt(d G_max^2)", public, (0, 3 * limit + 1)),
        estimate_form("negative-length", "a length is not negative", public, (0, -1)),
        estimate_form("short", "the length is missing", public, (4,)),
        estimate_form("long", "one entry too many", public, (4, 4, 4)),
        estimate_form("real", "a floating-point number", public, (4.0, 4)),
        estimate_form("integer", "not a list", public, 4),
    ]


def _checked(
    name: str,
    source: str,
    comment: str,
    *,
    changed: Mapping[Tag, Estimate] | None = None,
    lacking: Sequence[Tag] = (),
    agent: int = 1,
    public: ValidParameters | None = None,
) -> VectorCase:
    """The checks of one agent of the worked example; `changed` are other estimates."""
    known = sample.parameters() if public is None else public
    held = [
        {"reporter": reporter, "agent": about, "entries": value}
        for (reporter, about), value in {**sample.estimates(known), **(changed or {})}.items()
        if (reporter, about) not in lacking
    ]
    own = global_validate.estimate(known, TRANSCRIPTS[agent])
    given: Json = {"parameters": known, "agent": agent, "estimates": held, "own": own}
    return estimates(name, comment, source=source, **given)


def _check_cases() -> list[VectorCase]:
    strict = sample.parameters((Weighting("strict", (1, 2), Fraction(3), 72, 6336),))
    edge = sample.parameters((Weighting("edge", (1, 2), Fraction(3), 96, 5664),))
    below = sample.parameters((Weighting("below", (1, 2), Fraction(3), 95, 5663),))
    two = sample.parameters((sample.WEIGHTING, Weighting("flat", (1, 1), Fraction(2), 50, 500)))
    return [
        _checked("honest", "GV-4 GV-5 GV-6", "the worked example passes"),
        _checked("not-optimal", "GV-5", "eps_opt = 1/2: 96 is above 72", public=strict),
        _checked("on-the-thresholds", "GV-5 GV-6", "equality passes", public=edge),
        _checked("below-the-thresholds", "GV-5 GV-6", "one less does not", public=below),
        _checked("two-weightings", "GV-12", "the second alarms twice", public=two),
        _checked(
            "inconsistent",
            "GV-4",
            "two reporters of agent 1 differ",
            changed={(2, 1): (-31, 32)},
            agent=0,
        ),
        _checked(
            "lowest-reporter-counts",
            "GV-4 GV-5",
            "the statistic uses reporter 0",
            changed={(0, 1): (-3200, 3200)},
            agent=2,
        ),
        _checked(
            "self-mismatch", "GV-4 P07", "reporter 0 is wrong about me", changed={(0, 1): (-32, 33)}
        ),
        _checked(
            "null-skipped", "GV-8", "no estimate of 1 by 0: that of 2 is used", lacking=[(0, 1)]
        ),
        _checked("no-estimate", "GV-8", "nobody knows agent 2: no statistic", lacking=[(1, 2)]),
        _checked(
            "wide",
            "GV-9",
            "squares beyond 64 bits",
            changed={(1, 0): (2**40, 2**40), (1, 2): (-(2**40), 2**40)},
            agent=1,
        ),
    ]


def family() -> VectorFamily:
    """All cases of the global checks."""
    return VectorFamily(
        "global-checks",
        "Weights, thresholds, estimates and checks of GlobalValidate (spec/global-validate.md).",
        (
            COMPARE,
            "Rational parameters are exact. Values of the kind `other` are of a type that is no "
            "integer; skip them where your wire format cannot carry such a thing.",
        ),
        OPERATIONS,
        (*_weights(), *_estimate_cases(), *_check_cases()),
    )
