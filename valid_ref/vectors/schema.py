"""JSON schemas of the files: nothing but the named fields, everywhere.

Implements: VE-1.
"""

from valid_ref.vectors.document import FORMAT, Family, Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"


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
TAG = exactly(AGENT, {"type": "integer", "minimum": -1})

WEIGHTING = fields(
    name=TEXT, weights=ref("vector"), optimality=ref("integer"), heterogeneity=ref("integer")
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


def schema_of(family: Family) -> Json:
    """The schema of a family's file; it names only the common forms that it uses.

    Implements: VE-1.
    """
    cases = [
        _case(name, each.input, each.expected) for name, each in sorted(family.operations.items())
    ]
    body = fields(
        format={"const": FORMAT},
        family={"const": family.name},
        about=TEXT,
        numbers=many(TEXT),
        harness=many(TEXT),
        operations=fields(**dict.fromkeys(family.operations, TEXT)),
        cases=many(either(*cases)),
    )
    return {"$schema": DIALECT} | body | {"$defs": _used(body)}


def _case(operation: str, given: Json, expected: Json) -> Json:
    form = fields(
        id={"type": "string", "pattern": f"^[a-z0-9-]+/{operation}/[a-z0-9.-]+$"},
        operation={"const": operation},
        source=many(ref("source")) | {"minItems": 1},
        comment={"type": "string", "minLength": 1},
        input=given,
    )
    form["properties"] |= {"expected": expected, "refused": ref("clause")}
    return form | {"oneOf": [{"required": ["expected"]}, {"required": ["refused"]}]}


def _used(body: Json) -> dict[str, Json]:
    found: dict[str, Json] = {}
    left = [body]
    while left:
        for name in _references(left.pop()):
            if name not in found:
                found[name] = COMMON[name]
                left.append(COMMON[name])
    return {name: found[name] for name in COMMON if name in found}


def _references(value: Json) -> list[str]:
    if isinstance(value, list):
        return [name for item in value for name in _references(item)]
    if not isinstance(value, dict):
        return []
    if "$ref" in value:
        return [value["$ref"].rpartition("/")[2]]
    return [name for item in value.values() for name in _references(item)]
