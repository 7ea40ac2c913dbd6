"""The operations on the lattice: what is asked, and in which form."""

from valid_ref.vectors.document import Operation
from valid_ref.vectors.schema import (
    DOUBLE,
    FLAG,
    INTEGER,
    RATIO,
    SMALL,
    VECTOR,
    either,
    fields,
    many,
)

OPERATIONS = {
    "step-size": Operation(
        "The integer step a_t or A_t of a real step size, as a multiple of 2^-step_bits.",
        fields(step_bits=SMALL, size=RATIO),
        fields(step=INTEGER),
    ),
    "limits": Operation(
        "The default X_max and G_max of the range rule.",
        fields(step_bits=SMALL, mixing=VECTOR, max_degree=SMALL, prime=INTEGER),
        fields(model_limit=INTEGER, gradient_limit=INTEGER),
    ),
    "range-rule": Operation(
        "Whether X_max and G_max fit: the largest intermediate, which must be below "
        "min(2^62, prime).",
        fields(
            step_bits=SMALL, mixing=VECTOR, max_degree=SMALL, prime=INTEGER,
            model_limit=INTEGER, gradient_limit=INTEGER,
        ),
        fields(largest_intermediate=INTEGER),
    ),
    "to-lattice": Operation(
        "The lattice point of doubles: nearest integers to value * 2^fraction_bits, ties to even, "
        "magnitudes below 2^62.",
        fields(fraction_bits=SMALL, values=many(DOUBLE)),
        fields(entries=VECTOR),
    ),
    "point": Operation(
        "The doubles at which the private gradient is asked: Y / 2^(fraction_bits + step_bits).",
        fields(fraction_bits=SMALL, step_bits=SMALL, Y=VECTOR),
        fields(values=many(DOUBLE)),
    ),
    "shift": Operation(
        "Entries / 2^bits, rounded to the nearest integer, ties to even.",
        fields(bits=SMALL, entries=VECTOR),
        fields(entries=VECTOR),
    ),
    "mix": Operation(
        "Y of the own model and the models of the neighbours, with the mixing step a.",
        fields(step_bits=SMALL, a=INTEGER, own=VECTOR, neighbours=many(VECTOR)),
        fields(Y=VECTOR),
    ),
    "update": Operation(
        "Model and scaled gradient from Y and the lattice gradient Ghat with the gradient step A; "
        "`silent` if the update leaves the range and the agent must alarm and fall silent.",
        fields(
            step_bits=SMALL, A=INTEGER, model_limit=INTEGER, gradient_limit=INTEGER,
            Y=VECTOR, Ghat=VECTOR,
        ),
        either(fields(model=VECTOR, scaled_gradient=VECTOR), fields(silent={"const": True})),
    ),
    "residual": Operation(
        "2^step_bits x - Y + Gamma, where Y mixes the previous models: zero iff the relation "
        "holds.",
        fields(
            step_bits=SMALL, a=INTEGER, previous=VECTOR, neighbours=many(VECTOR), x=VECTOR,
            Gamma=VECTOR,
        ),
        fields(residual=VECTOR),
    ),
    "read-gradient": Operation(
        "The gradient read off a message: Gamma / A, rounded towards minus infinity.",
        fields(A=INTEGER, Gamma=VECTOR),
        fields(gradient=VECTOR),
    ),
    "squared-norm": Operation(
        "The exact sum of squares.", fields(entries=VECTOR), fields(square=INTEGER)
    ),
    "in-range": Operation(
        "Whether every entry is below the limit in magnitude.",
        fields(entries=VECTOR, limit=INTEGER),
        fields(in_range=FLAG),
    ),
}  # fmt: skip
