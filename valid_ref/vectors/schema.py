"""How numbers and other values are written in the files, and the JSON schemas that say so.

Numbers are exact in every language; objects have nothing but the named fields.

Implements: VE-1, VE-3.
"""

import struct
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from valid_ref.document import Json

Vector = Sequence[int]


def whole(value: int) -> str:
    """An integer of any size, in decimal digits."""
    return str(int(value))


def wholes(values: Iterable[int]) -> list[str]:
    """A vector of integers."""
    return [whole(value) for value in values]


def rows(vectors: Iterable[Iterable[int]]) -> list[list[str]]:
    """Several vectors of integers."""
    return [wholes(vector) for vector in vectors]


def ratio(value: Fraction | float | int) -> str:
    """A rational in lowest terms; a float is its exact binary value."""
    numerator, denominator = Fraction(value).as_integer_ratio()
    return f"{numerator}/{denominator}"


def double(value: float) -> str:
    """The 64 bits of a double, in hex, highest first."""
    return struct.pack(">d", value).hex()


def integer_vector(entries: Iterable[int]) -> Any:
    """An int64 vector."""
    return np.array([*entries], dtype=np.int64)


def ref(name: str) -> Json:
    """One of the common forms below."""
    return {"$ref": f"#/$defs/{name}"}


def fields(**properties: Json) -> Json:
    """An object with exactly these fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def many(item: Json) -> Json:
    """An array of any length."""
    return {"type": "array", "items": item}


def exactly(*items: Json) -> Json:
    """An array of these items."""
    size = len(items)
    return {"type": "array", "prefixItems": list(items), "minItems": size, "maxItems": size}


def either(*forms: Json) -> Json:
    """One of several forms."""
    return {"anyOf": list(forms)}


INTEGER, VECTOR, RATIO, DOUBLE = ref("integer"), ref("vector"), ref("ratio"), ref("double")
SMALL: Json = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
AGENT = SMALL
FLAG: Json = {"type": "boolean"}
TEXT: Json = {"type": "string"}
NULL: Json = {"type": "null"}
YES = fields(accepted={"const": True})
ALARMS = many(ref("alarm"))
EDGES = many(exactly(AGENT, AGENT))
SLOT: Json = {"type": "integer", "minimum": -6, "maximum": -2}
"""A slot of lean validation."""
TAG = exactly(AGENT, {"type": "integer", "minimum": -1})
CANDIDATE = either(
    fields(kind={"const": "integer"}, value=INTEGER),
    fields(kind={"const": "integers"}, entries=VECTOR),
    fields(kind={"const": "other"}, text=TEXT),
)
"""A value that may or may not be of the form that a broadcast demands."""

WEIGHTING = fields(
    name=TEXT,
    weights=VECTOR,
    optimality=INTEGER,
    heterogeneity=INTEGER,
    optimality_low=INTEGER,
    heterogeneity_low=INTEGER,
)
COMMON: dict[str, Json] = {
    "integer": {"type": "string", "pattern": "^(0|-?[1-9][0-9]*)$"},
    "vector": many(ref("integer")),
    "ratio": {"type": "string", "pattern": "^(0|-?[1-9][0-9]*)/[1-9][0-9]*$"},
    "double": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "clause": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
    "source": {"type": "string", "pattern": "^([A-Z]{2}-[0-9]+|[A-Z]{1,2}[0-9]+)$"},
    "alarm": fields(
        reason={"type": "string", "pattern": "^[A-Z_]+$"},
        clause=ref("clause"),
        phase=TEXT,
        round=SMALL,
        sender=either(AGENT, NULL),
        about=either(TEXT, NULL),
    ),
    "learning": fields(kind={"const": "learning"}, model=VECTOR, scaled_gradient=VECTOR),
    "flag": fields(kind={"const": "flag"}, value=FLAG),
    "entries": fields(
        kind={"const": "entries"},
        keys=many(exactly(AGENT, INTEGER)),
        rows=many(exactly(AGENT, AGENT, SMALL)),
        nulls=many(TAG),
        malformed=many(TAG),
        unknown_tags=FLAG,
    ),
    "other": fields(kind={"const": "other"}, text=TEXT),
    "message": either(NULL, ref("learning"), ref("flag"), ref("entries"), ref("other")),
    "digest": fields(kind={"const": "digest"}, value=INTEGER),
    "lean-entries": fields(
        kind={"const": "entries"},
        keys=many(exactly(AGENT, INTEGER)),
        rows=many(exactly(AGENT, SLOT, SMALL)),
        nulls=many(exactly(AGENT, SLOT)),
        malformed=many(exactly(AGENT, SLOT)),
        unknown_tags=FLAG,
    ),
    "lean-message": either(
        NULL, ref("learning"), ref("flag"), ref("digest"), ref("lean-entries"), ref("other")
    ),
    "transcript": many(fields(model=VECTOR, scaled_gradient=VECTOR)),
    "parameters": fields(
        agents=SMALL,
        edges=EDGES,
        dimension=SMALL,
        fraction_bits=SMALL,
        step_bits=SMALL,
        mixing=VECTOR,
        gradient=VECTOR,
        max_degree=SMALL,
        prime=INTEGER,
        model_limit=INTEGER,
        gradient_limit=INTEGER,
        start_model=VECTOR,
        bounds=either(NULL, fields(model_squared=VECTOR, gradient_squared=VECTOR)),
        weightings=many(WEIGHTING),
        keys_checked={"enum": ["all", "own"]},
        without=many({"type": "string", "pattern": "^P[0-9]{2}$"}),
    ),
}
"""Forms that several families use."""

COMMON["lean-parameters"] = fields(
    **COMMON["parameters"]["properties"],
    lean=fields(
        kappa=SMALL,
        run={"type": "string", "pattern": "^[0-9a-f]{64}$"},
        without=many(TEXT),
    ),
)


def candidate(value: object) -> Json:
    """Such a value: an integer, a tuple of integers, or something else in words."""
    if type(value) is int:
        return {"kind": "integer", "value": whole(value)}
    if type(value) is tuple and all(type(entry) is int for entry in value):
        return {"kind": "integers", "entries": wholes(value)}
    return {"kind": "other", "text": f"{type(value).__name__} {value!r}"}
