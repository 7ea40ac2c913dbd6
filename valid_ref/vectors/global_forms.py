"""The operations of GlobalValidate: what is asked, and in which form."""

from valid_ref.vectors.document import Operation
from valid_ref.vectors.forms import CANDIDATE
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    FLAG,
    INTEGER,
    NULL,
    RATIO,
    SMALL,
    VECTOR,
    either,
    fields,
    many,
    ref,
)

STATISTICS = many(fields(optimality=INTEGER, heterogeneity=INTEGER))
OPERATIONS = {
    "exponential-weights": Operation(
        "w_1..w_T = round(2^bits gamma^(T-t)), ties to even.",
        fields(rounds=SMALL, gamma=RATIO, bits=SMALL),
        fields(weights=VECTOR),
    ),
    "polynomial-weights": Operation(
        "w_t = t^power.", fields(rounds=SMALL, power=SMALL), fields(weights=VECTOR)
    ),
    "thresholds": Operation(
        "Theta_opt and Theta_het, rounded up.",
        fields(
            weights=VECTOR, agents=SMALL, fraction_bits=SMALL, eps_opt=RATIO,
            delta_plus_eps_het=RATIO,
        ),
        fields(optimality=INTEGER, heterogeneity=INTEGER),
    ),
    "square-root": Operation(
        "The integer square root, rounded down.", fields(value=INTEGER), fields(root=INTEGER)
    ),
    "estimate": Operation(
        "For each weighting the entries of ghat, then lhat.",
        fields(parameters=ref("parameters"), transcript=ref("transcript")),
        fields(estimate=VECTOR),
    ),
    "estimate-form": Operation(
        "Whether a value is a well-formed estimate.",
        fields(parameters=ref("parameters"), value=CANDIDATE),
        fields(well_formed=FLAG),
    ),
    "estimates": Operation(
        "The alarms of GV-4 to GV-6 of one agent, which holds these estimates (others are null) "
        "and whose own record gives `own`: consistency of every agent, the self-check, then per "
        "weighting optimality and heterogeneity; and for each weighting |sum_u ghat_u|^2 and "
        "sum_u lhat_u^2, null if some agent has no estimate.",
        fields(
            parameters=ref("parameters"), agent=AGENT, own=VECTOR,
            estimates=many(fields(reporter=AGENT, agent=AGENT, entries=VECTOR)),
        ),
        fields(alarms=ALARMS, statistics=either(NULL, STATISTICS)),
    ),
}  # fmt: skip
