"""Vectors of GlobalValidate: weights, thresholds, estimates, statistics, checks."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from valid_ref.document import Json
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
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors import parameters as sample
from valid_ref.vectors.document import COMPARE, VectorCase, VectorFamily, operation
from valid_ref.vectors.parameters import TRANSCRIPTS
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
    either,
    fields,
    integer_vector,
    many,
    ref,
)

Estimate = Sequence[int]
PRINTED = Reading.without("P27")
"""The reading in which heterogeneity is tested on averaged lengths."""

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


@operation(
    "global-checks/estimate",
    fields(parameters=ref("parameters"), transcript=ref("transcript")),
    fields(estimate=VECTOR),
    "GV-2",
)
def estimate(parameters: ValidParameters, transcript: Sequence[LearningMessage]) -> Json:
    """For each weighting the entries of ghat; if P27 is in `without`, each followed by lhat."""
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
    """The alarms of GV-4 to GV-6 and GV-13 of one agent, which holds these estimates (others are
    null) and whose own record gives `own`: consistency of every agent, the self-check, then per
    weighting optimality and heterogeneity; and for each weighting |sum_u ghat_u|^2 and
    sum_u |ghat_u|^2 (sum_u lhat_u^2 if P27 is in `without`), null if some agent has no estimate.
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


OPERATIONS = (exponential, polynomial, thresholds, estimate, estimate_form, estimates)


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
    ]  # fmt: skip


def _estimate_cases() -> list[VectorCase]:
    public = sample.parameters()
    two = sample.parameters((sample.WEIGHTING, Weighting("flat", (1, 1), Fraction(2), 50, 5000)))
    steps = Schedule(Precision(0, 2), (1, 1), (1, 3))
    broad = Weighting("wide", (2**60, 2**60 + 1), Fraction(2**61 + 1), 10**40, 10**60)
    plane = sample.parameters_for(path(2), steps, 2**61 - 1, (broad,), dimension=2)
    printed, plane_printed = (attrs.evolve(one, reading=PRINTED) for one in (public, plane))
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
        estimate("printed", "as printed lhat follows ghat", printed, TRANSCRIPTS[1],
                 source="P27 GV-2"),
        estimate("printed-plane", "as printed: lengths are rounded down", plane_printed, sent,
                 source="P27 GV-2 GV-9"),
        estimate_form("good", "d entries", public, (4,)),
        estimate_form("largest", "W G_max is allowed", public, (3 * limit,)),
        estimate_form("smallest", "-W G_max is allowed", public, (-3 * limit,)),
        estimate_form("too-large", "beyond W G_max", public, (3 * limit + 1,)),
        estimate_form("too-small", "beyond -W G_max", public, (-3 * limit - 1,)),
        estimate_form("own-limits", "W is that of the weighting", two, (3 * limit, 2 * limit),
                      source="GV-3 GV-12"),
        estimate_form("second-too-large", "the second W is 2", two, (3 * limit, 2 * limit + 1),
                      source="GV-3 GV-12"),
        estimate_form("empty", "there is one weighting", public, ()),
        estimate_form("long", "with a length, as it is printed", public, (4, 4)),
        estimate_form("printed", "as printed: d entries and a length", printed,
                      (-3 * limit, 3 * limit), source="P27 GV-3"),
        estimate_form("printed-too-long", "as printed: beyond W isqrt(d G_max^2)", printed,
                      (0, 3 * limit + 1), source="P27 GV-3"),
        estimate_form("printed-negative-length", "as printed: a length is not negative", printed,
                      (0, -1), source="P27 GV-3"),
        estimate_form("real", "a floating-point number", public, (4.0,)),
        estimate_form("integer", "not a list", public, 4),
    ]  # fmt: skip


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

    def low(*pairs: tuple[int, int], above: tuple[int, int] = (108, 6336)) -> ValidParameters:
        """The weighting of the example, once for each pair of lower thresholds."""
        return sample.parameters(
            [
                Weighting(
                    f"low {number}",
                    (1, 2),
                    Fraction(3),
                    *above,
                    optimality_low=optimality,
                    heterogeneity_low=heterogeneity,
                )
                for number, (optimality, heterogeneity) in enumerate(pairs, start=1)
            ]
        )

    far, wide = (2**60, 2**120), 2**40
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
            changed={(2, 1): (-31,)},
            agent=0,
        ),
        _checked(
            "lowest-reporter-counts",
            "GV-4 GV-5",
            "the statistic uses reporter 0",
            changed={(0, 1): (-3200,)},
            agent=2,
        ),
        _checked(
            "self-mismatch", "GV-4 P07", "reporter 0 is wrong about me", changed={(0, 1): (-33,)}
        ),
        _checked(
            "null-skipped", "GV-8", "no estimate of 1 by 0: that of 2 is used", lacking=[(0, 1)]
        ),
        _checked("no-estimate", "GV-8", "nobody knows agent 2: no statistic", lacking=[(1, 2)]),
        _checked(
            "wide",
            "GV-9",
            "squares beyond 64 bits",
            changed={(1, 0): (2**40,), (1, 2): (-(2**40),)},
            agent=1,
        ),
        _checked(
            "on-the-lower-thresholds", "GV-13", "equality passes from below too",
            public=low((96, 5664)),
        ),
        _checked(
            "below-the-lower-thresholds", "GV-13", "one less does not: |sum|^2 is 97^2 - 193",
            public=low((97, 5665)),
        ),
        _checked(
            "too-optimal", "GV-13", "the first test alone fails from below",
            public=low((97, 5664)),
        ),
        _checked(
            "too-homogeneous", "GV-13", "the second test alone fails from below",
            public=low((96, 5665)),
        ),
        _checked(
            "lower-threshold-is-squared", "GV-13", "9216 is above 97 and below its square",
            public=low((97, 76)),
        ),
        _checked(
            "no-lower-thresholds", "GV-13", "0 is none: estimates of 0 pass",
            changed=dict.fromkeys(sample.estimates(), (0,)),
        ),
        _checked(
            "estimates-of-zero", "GV-13", "and fail from below where a threshold is 1",
            changed=dict.fromkeys(sample.estimates(), (0, 0, 0)),
            public=low((1, 1), (0, 1), (1, 0)),
        ),
        _checked(
            "cancelled-out", "GV-6 GV-13 P27", "gradients of opposite signs: optimal, not small",
            changed={
                (v, u): ((-100 if u == 1 else 50),) * 3 for v, u in sample.estimates()
            },
            public=low((0, 15000), (1, 15000), (0, 15001), above=(1, 15001)),
        ),
        _checked(
            "order-of-alarms", "GV-13 MO-12", "optimality first, in each weighting",
            public=sample.parameters(
                [
                    Weighting("one", (1, 2), Fraction(3), 95, 6336, heterogeneity_low=6336),
                    Weighting("two", (1, 2), Fraction(3), 108, 5663, optimality_low=108),
                    Weighting("three", (1, 2), Fraction(3), 108, 6336, optimality_low=108,
                              heterogeneity_low=6336),
                ]
            ),
        ),
        _checked(
            "wide-lower", "GV-13 GV-9", "the sum is 2^40, the squares are 3 * 2^80",
            changed=dict.fromkeys(sample.estimates(), (wide,) * 2) | {(1, 2): (-wide,) * 2},
            public=low((wide, 3 * wide**2), (wide + 1, 3 * wide**2 + 1), above=far),
        ),
        _checked(
            "lower-no-estimate", "GV-8 GV-13", "nobody knows agent 2: no lower test either",
            lacking=[(1, 2)], public=low((108, 6336)),
        ),
        _checked(
            "printed", "P27 GV-6", "as printed the averaged lengths are tested: 4, 32 and 68",
            public=sample.parameters(reading=PRINTED),
        ),
        _checked(
            "printed-lengths", "P27 GV-6", "as printed lengths are what is tested: 45, 32, 69",
            changed={(1, 0): (0, 45), (1, 2): (-68, 69)},
            public=sample.parameters(
                [Weighting("edge", (1, 2), Fraction(3), 108, 7809)], reading=PRINTED
            ),
        ),
    ]  # fmt: skip


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
