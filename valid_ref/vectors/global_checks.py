"""Vectors of GlobalValidate: weights, thresholds, estimates, statistics, checks."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

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
from valid_ref.vectors.document import Case, Family, Json, make
from valid_ref.vectors.forms import Candidate
from valid_ref.vectors.global_forms import OPERATIONS
from valid_ref.vectors.numbers import integer_vector, ratio, whole, wholes
from valid_ref.vectors.sample import TRANSCRIPTS
from valid_ref.vectors.spoken import transcript_json
from valid_ref.wire import alarms_as_json, parameters_in_digits

Estimate = Sequence[int]


def _exponential(
    name: str, comment: str, rounds: int, gamma: float, bits: int, refused: str | None = None
) -> Case:
    return make(
        f"global-checks/exponential-weights/{name}", "GV-1", comment,
        {"rounds": rounds, "gamma": ratio(gamma), "bits": bits},
        lambda: {"weights": wholes(exponential_weights(rounds, gamma, bits))}, refused=refused,
    )  # fmt: skip


def _polynomial(name: str, comment: str, rounds: int, power: int) -> Case:
    return make(
        f"global-checks/polynomial-weights/{name}", "GV-1", comment,
        {"rounds": rounds, "power": power},
        lambda: {"weights": wholes(polynomial_weights(rounds, power))},
    )  # fmt: skip


def _thresholds(
    name: str, comment: str, weights: Sequence[int], n: int, bits: int,
    tolerances: tuple[float, float], refused: str | None = None,
) -> Case:  # fmt: skip
    def compute() -> Json:
        found = make_weighting(
            name, tuple(weights), n, bits, optimality=tolerances[0], heterogeneity=tolerances[1]
        )
        return {
            "optimality": whole(found.optimality), "heterogeneity": whole(found.heterogeneity),
        }  # fmt: skip

    given = {
        "weights": wholes(weights), "agents": n, "fraction_bits": bits,
        "eps_opt": ratio(tolerances[0]), "delta_plus_eps_het": ratio(tolerances[1]),
    }  # fmt: skip
    identifier = f"global-checks/thresholds/{name}"
    return make(identifier, "GV-5 GV-6 GV-7", comment, given, compute, refused=refused)


def _square_root(name: str, comment: str, value: int) -> Case:
    return make(
        f"global-checks/square-root/{name}", "GV-2", comment, {"value": whole(value)},
        lambda: {"root": whole(math.isqrt(value))},
    )  # fmt: skip


def _estimate(
    name: str, source: str, comment: str, public: ValidParameters, sent: Sequence[LearningMessage]
) -> Case:
    return make(
        f"global-checks/estimate/{name}", source, comment,
        {"parameters": parameters_in_digits(public), "transcript": transcript_json(sent)},
        lambda: {"estimate": wholes(global_validate.estimate(public, sent))},
    )  # fmt: skip


def _form(name: str, value: Candidate) -> Case:
    public = sample.parameters()
    return make(
        f"global-checks/estimate-form/{name}", "GV-3 VB-9", value.comment,
        {"parameters": parameters_in_digits(public), "value": value.as_json()},
        lambda: {"well_formed": global_validate.is_estimate(public, value.plain)},
    )  # fmt: skip


def _checks(
    name: str, source: str, comment: str, *, changed: Mapping[Tag, Estimate] | None = None,
    lacking: Sequence[Tag] = (), agent: int = 1, public: ValidParameters | None = None,
) -> Case:  # fmt: skip
    known = sample.parameters() if public is None else public
    held = {**sample.estimates(known), **(changed or {})}
    held = {tag: value for tag, value in held.items() if tag not in lacking}
    own = global_validate.estimate(known, TRANSCRIPTS[agent])

    def compute() -> Json:
        alarms = global_validate.estimate_alarms(known, agent, held, own)
        return {"alarms": alarms_as_json(alarms), "statistics": _statistics(known, held)}

    given = {
        "parameters": parameters_in_digits(known),
        "agent": agent,
        "estimates": [
            {"reporter": reporter, "agent": about, "entries": wholes(value)}
            for (reporter, about), value in held.items()
        ],
        "own": wholes(own),
    }
    return make(f"global-checks/estimates/{name}", source, comment, given, compute)


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
    return [{"optimality": whole(one), "heterogeneity": whole(two)} for one, two in pairs]


def _weights() -> list[Case]:
    ones, steep = [1, 1, 1], [1, 2]
    return [
        _exponential("half", "gamma = 1/2: ties to even", 5, 0.5, 1),
        _exponential("zero", "gamma = 0 weighs the last round only", 4, 0.0, 30),
        _exponential("one", "gamma = 1 weighs all alike", 4, 1.0, 3),
        _exponential("default-bits", "gamma is the double nearest to .99", 12, 0.99, 30),
        _exponential("underflow", "gamma = 1/8, 4 bits: early rounds vanish", 6, 0.125, 4),
        _exponential("sixty-bits", "wider than a double", 5, 0.9, 60),
        _exponential("above-one-refused", "gamma is at most 1", 3, 1.5, 30, "GV-1"),
        _exponential("negative-refused", "gamma is not negative", 3, -0.25, 30, "GV-1"),
        _exponential("too-many-bits-refused", "m = 61", 3, 0.5, 61, "GV-1"),
        _polynomial("linear", "w_t = t", 5, 1),
        _polynomial("flat", "c = 0", 4, 0),
        _polynomial("wide", "t^20 leaves 53 bits", 8, 20),
        _thresholds("worked-example", "Theta_opt = 108", steep, 3, 4, (0.75, 0.25)),
        _thresholds("rounded-up", "one tenth is a little more than 1/10", ones, 7, 0, (0.1, 0.1)),
        _thresholds("exact-not-raised", "an exact product is not raised", ones, 4, 1, (0.25, 0.5)),
        _thresholds("tiny", "the smallest double gives 1", ones, 3, 28, (5e-324, 5e-324)),
        _thresholds("wide", "far beyond 64 bits", [2**60, 2**60 - 1], 20, 28, (0.05, 1.0)),
        _thresholds("zero-refused", "a tolerance is positive", ones, 3, 4, (0.0, 1.0), "GV-7"),
        _thresholds("negative-refused", "a tolerance is positive", ones, 3, 4, (1.0, -1.0), "GV-7"),
        _thresholds(
            "no-weight-refused", "weights are not all zero", [0, 0, 0], 3, 4, (1.0, 1.0), "GV-1"
        ),
        _thresholds(
            "negative-weight-refused", "no weight is negative", [2, -1, 2], 3, 4, (1.0, 1.0), "GV-1"
        ),
        _square_root("zero", "0", 0),
        _square_root("below-a-square", "rounded down", 24),
        _square_root("a-square", "exact", 25),
        _square_root("double-trap", "2^104 - 1 rounds to 2^52 in doubles", 2**104 - 1),
        _square_root("wide", "126 bits", (2**63 - 1) ** 2 - 1),
    ]


def _estimates() -> list[Case]:
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
        _estimate("agent-0", "GV-2", "the worked example", public, TRANSCRIPTS[0]),
        _estimate("agent-2", "GV-2", "the worked example", public, TRANSCRIPTS[2]),
        _estimate("two-weightings", "GV-2 GV-12", "concatenated in their order", two,
                  TRANSCRIPTS[1]),
        _estimate("wide", "GV-2 GV-9", "sums beyond 64 bits, d = 2, A_t differ", plane, sent),
        _form("good", Candidate((4, 4), "d entries and a length")),
        _form("largest", Candidate((-3 * limit, 3 * limit), "W G_max is allowed")),
        _form("vector-too-large", Candidate((3 * limit + 1, 0), "beyond W G_max")),
        _form("length-too-large", Candidate((0, 3 * limit + 1), "beyond W isqrt(d G_max^2)")),
        _form("negative-length", Candidate((0, -1), "a length is not negative")),
        _form("short", Candidate((4,), "the length is missing")),
        _form("long", Candidate((4, 4, 4), "one entry too many")),
        _form("real", Candidate((4.0, 4), "a floating-point number")),
        _form("integer", Candidate(4, "not a list")),
    ]  # fmt: skip


def _check_cases() -> list[Case]:
    strict = sample.parameters((Weighting("strict", (1, 2), Fraction(3), 72, 6336),))
    edge = sample.parameters((Weighting("edge", (1, 2), Fraction(3), 96, 5664),))
    below = sample.parameters((Weighting("below", (1, 2), Fraction(3), 95, 5663),))
    two = sample.parameters((sample.WEIGHTING, Weighting("flat", (1, 1), Fraction(2), 50, 500)))
    return [
        _checks("honest", "GV-4 GV-5 GV-6", "the worked example passes"),
        _checks("not-optimal", "GV-5", "eps_opt = 1/2: 96 is above 72", public=strict),
        _checks("on-the-thresholds", "GV-5 GV-6", "equality passes", public=edge),
        _checks("below-the-thresholds", "GV-5 GV-6", "one less does not", public=below),
        _checks("two-weightings", "GV-12", "the second alarms twice", public=two),
        _checks("inconsistent", "GV-4", "two reporters of agent 1 differ",
                changed={(2, 1): (-31, 32)}, agent=0),
        _checks("lowest-reporter-counts", "GV-4 GV-5", "the statistic uses reporter 0",
                changed={(0, 1): (-3200, 3200)}, agent=2),
        _checks("self-mismatch", "GV-4 P07", "reporter 0 is wrong about me",
                changed={(0, 1): (-32, 33)}),
        _checks("null-skipped", "GV-8", "no estimate of 1 by 0: that of 2 is used",
                lacking=[(0, 1)]),
        _checks("no-estimate", "GV-8", "nobody knows agent 2: no statistic",
                lacking=[(1, 2)]),
        _checks("wide", "GV-9", "squares beyond 64 bits",
                changed={(1, 0): (2**40, 2**40), (1, 2): (-(2**40), 2**40)}, agent=1),
    ]  # fmt: skip


def family() -> Family:
    """All cases of the global checks."""
    return Family(
        "global-checks",
        "Weights, thresholds, estimates and checks of GlobalValidate (spec/global-validate.md).",
        ("For each case, compute the operation named in `operation` from `input` and compare.",
         "Rational parameters are exact. Values of the kind `other` are of a type that is no "
         "integer; skip them where your wire format cannot carry such a thing."),
        OPERATIONS,
        (*_weights(), *_estimates(), *_check_cases()),
    )  # fmt: skip
