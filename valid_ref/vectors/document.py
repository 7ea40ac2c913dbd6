"""Cases, families of cases, their files and the schemas of these."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from valid_ref.document import Json
from valid_ref.errors import ValidRefError
from valid_ref.vectors.schema import (
    CANDIDATE,
    COMMON,
    NULL,
    TEXT,
    candidate,
    double,
    either,
    fields,
    many,
    ratio,
    ref,
    whole,
    wholes,
)
from valid_ref.vectors.spoken import transcript_json
from valid_ref.wire import alarm_as_json, parameters_in_digits

FORMAT = "valid-ref/vectors/2"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
WIDTH = 110
"""A value that fits into a line of this width is written into one."""

COMPARE = "For each case, compute the operation named in `operation` from `input` and compare."
"""The harness of most families."""

NUMBERS = (
    "Integers of the protocol (entries of vectors, steps, keys, primes, hashes, limits, weights, "
    "thresholds, squares) are JSON strings of decimal digits, of any size and either sign: read "
    "them into an integer type that holds them.",
    "Agents, rounds, counts of bits, lengths and rows are JSON numbers in 0..2^31-1; -1 is the "
    "slot of a key.",
    "Rationals are strings NUMERATOR/DENOMINATOR in lowest terms, the denominator positive. "
    "Doubles are strings of 16 hex digits: the 64 bits of an IEEE 754 binary64, highest first.",
)

REFUSALS = (
    "A case with `expected` passes if the result equals it, field by field. A case with `refused` "
    "passes if the input is refused with a typed error; the value is the clause that demands it. "
    "An input that breaks several clauses may be refused by any of them; the cases here break one. "
    "An error of the harness itself is neither: it must stop the test.",
)

_ALARMS = (
    "An alarm is reason, clause, phase, round, sender (null for a check over many reports) and "
    "what it is about as text (`2` an agent, `2/0` a pair or a tag, `2/key` a key, else the name "
    "of a weighting). Phase, round and order are those of MO-12 of spec/model.md.",
)

_PARAMETERS = (
    "Parameters have the names of VA-9 of spec/valid.md: `mixing` "
    "are a_1..a_T and `gradient` A_1..A_T, `model_limit` is X_max and `gradient_limit` G_max, "
    "`start_model` is x_0; `bounds` are the squares of B_t and C_t, null if there is no norm "
    "check; `optimality` and `heterogeneity` of a weighting are Theta_opt and Theta_het, and with "
    "`_low` they are the lower thresholds, 0 if there is none; "
    "`without` are the errata whose repairs are turned off.",
)

_LEAN = (
    "`lean` has kappa, the name of the run in hexadecimal digits (LE-1 of spec/lean-validation.md) "
    "and the parts that are left out, which are none here. The kind `digest` is a message of the "
    "compare round, an integer.",
)

_MESSAGES = (
    "A message is null (silence) or has a kind, as in RE-4 of spec/recording.md: `learning` "
    "(with its two vectors in place, of a wrong length too), `flag` (an alarm state), `entries` "
    "(a broadcast message: `keys` has [source, key], `rows` [source, slot, row of the case's "
    "table], `nulls` and `malformed` the tags [source, slot] whose value is null or of no "
    "admitted form, `unknown_tags` whether there is an entry with a tag that does not exist; a tag "
    "that stands twice in these lists stands twice in the message, VB-9), "
    "`other` (of no form that the phase admits; the text is for people). For what is malformed "
    "or other feed anything that your receiver must call so.",
)

FURTHER = {
    "parameters": _PARAMETERS,
    "broadcast": (*_MESSAGES, *_ALARMS),
    "agreement": (*_MESSAGES, *_ALARMS),
    "local-checks": (*_PARAMETERS, *_ALARMS),
    "global-checks": (*_PARAMETERS, *_ALARMS),
    "runs-honest": (*_PARAMETERS, *_MESSAGES, *_ALARMS),
    "runs-attacks": (*_PARAMETERS, *_MESSAGES, *_ALARMS),
    "runs-errata": (*_PARAMETERS, *_MESSAGES, *_ALARMS),
    "lean": (*_PARAMETERS, *_LEAN),
    "runs-lean": (*_PARAMETERS, *_LEAN, *_MESSAGES, *_ALARMS),
}
"""Further words of the families that need them."""


class VectorError(ValidRefError):
    """A case that is not what its author says, or files that break a promise about vectors."""


@attrs.frozen
class VectorCase:
    """One vector: `expected` is what must come out, or `refused` the clause that refuses it.

    Implements: VE-2, VE-4.
    """

    id: str
    source: tuple[str, ...]
    comment: str
    input: Json
    expected: Json = None
    refused: str | None = None

    @property
    def operation(self) -> str:
        """What is to be computed: the second part of the id."""
        return self.id.split("/")[1]

    @property
    def meaning(self) -> Json:
        """What an id stands for and never changes: the operation, its input, what comes out."""
        ends = {"expected": self.expected} if self.refused is None else {"refused": self.refused}
        return {"operation": self.operation, "input": self.input} | ends

    def digest(self) -> str:
        """The SHA-256 of the meaning, keys sorted, without spaces.

        Implements: VE-5.
        """
        text = json.dumps(self.meaning, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def as_json(self) -> Json:
        """The case as the file has it."""
        head = {"id": self.id, "operation": self.operation, "source": list(self.source)}
        return head | {"comment": self.comment} | self.meaning


@attrs.frozen
class Operation:
    """What a harness computes, in words, and the schemas of input and result.

    `name` is the family and the operation, `source` the clauses that most cases show. `compute` is
    how the reference gets the result; where it is given, a call makes a case.
    """

    name: str
    text: str
    input: Json
    expected: Json
    source: str = ""
    compute: Callable[..., Json] | None = None

    @property
    def short_name(self) -> str:
        """The name without the family."""
        return self.name.partition("/")[2]

    def case(self, name: str, source: str, comment: str, given: Json, expected: Json) -> VectorCase:
        """A case whose input and result are written already."""
        return VectorCase(f"{self.name}/{name}", tuple(source.split()), comment, given, expected)

    def __call__(
        self,
        name: str,
        comment: str,
        *values: Any,
        source: str = "",
        refused: str | None = None,
        **named: Any,
    ) -> VectorCase:
        """A case whose result the reference computes.

        The values are the fields of the input, in their order or by name; the schemas say how
        they are written.
        """
        compute, identifier = self.compute, f"{self.name}/{name}"
        if compute is None:
            raise VectorError(f"{identifier}: nothing computes this", clause="VE-4")
        given = dict(zip(self.input["properties"], values, strict=False)) | named
        return make(
            identifier,
            source or self.source,
            comment,
            encode(self.input, given),
            lambda: encode(self.expected, compute(**given)),
            refused=refused,
        )


def operation(
    name: str, given: Json, expected: Json, source: str = ""
) -> Callable[[Callable[..., Json]], Operation]:
    """Make an operation of a function; its docstring is what the file says of it."""

    def made(compute: Callable[..., Json]) -> Operation:
        text = " ".join((compute.__doc__ or "").split())
        return Operation(name, text, given, expected, source=source, compute=compute)

    return made


@attrs.frozen
class VectorFamily:
    """The cases of one file.

    Implements: VE-1, VE-3.
    """

    name: str
    about: str
    harness: tuple[str, ...]
    operations: tuple[Operation, ...]
    cases: tuple[VectorCase, ...]

    def as_json(self) -> Json:
        """The file: what it is, how to feed it, the cases."""
        return {
            "format": FORMAT,
            "family": self.name,
            "about": self.about,
            "numbers": list(NUMBERS),
            "harness": [*self.harness, *FURTHER.get(self.name, ()), *REFUSALS],
            "operations": {each.short_name: each.text for each in self.operations},
            "cases": [case.as_json() for case in self.cases],
        }


def make(
    identifier: str,
    source: str,
    comment: str,
    given: Json,
    compute: Callable[[], Json],
    *,
    refused: str | None = None,
) -> VectorCase:
    """A case whose result the reference computes; its author says whether it is a refusal.

    Implements: VE-4.
    """
    sources = tuple(source.split())
    try:
        result = compute()
    except ValidRefError as error:
        if error.clause != refused:
            raise VectorError(f"{identifier}: unexpected refusal: {error}", clause="VE-4") from None
        return VectorCase(identifier, sources, comment, given, refused=refused)
    if refused is not None:
        raise VectorError(f"{identifier}: not refused, but {result}", clause="VE-4")
    return VectorCase(identifier, sources, comment, given, expected=result)


_WRITERS: Mapping[str, Callable[[Any], Json]] = {
    "integer": whole,
    "vector": wholes,
    "ratio": ratio,
    "double": double,
    "parameters": parameters_in_digits,
    "lean-parameters": parameters_in_digits,
    "transcript": transcript_json,
    "alarm": alarm_as_json,
}


def encode(form: Json, value: Any) -> Json:
    """A value as its schema wants it written."""
    if "$ref" in form:
        return _WRITERS[_name(form)](value)
    if form == CANDIDATE:
        return candidate(value)
    if "anyOf" in form:
        return encode(_alternative(form["anyOf"], value), value)
    if "prefixItems" in form or "items" in form:
        items = form.get("prefixItems") or [form["items"]] * len(value)
        return [encode(item, one) for item, one in zip(items, value, strict=True)]
    if "properties" in form:
        return {name: encode(form["properties"][name], one) for name, one in value.items()}
    return value


def _alternative(forms: list[Json], value: Any) -> Json:
    """The form of several that a value has: null, an object with the same fields, or the other."""
    if value is None:
        return NULL
    names = value.keys() if isinstance(value, dict) else ()
    [found] = [form for form in forms if form != NULL and {*form.get("properties", ())} == {*names}]
    return found


def _name(reference: Json) -> str:
    """The name of a common form that is referred to."""
    name: str = reference["$ref"].rpartition("/")[2]
    return name


def schema_of(family: VectorFamily) -> Json:
    """The schema of a family's file; it names only the common forms that it uses.

    Implements: VE-1.
    """
    operations = {each.short_name: each for each in family.operations}
    cases = [_case(name, each.input, each.expected) for name, each in sorted(operations.items())]
    body = fields(
        format={"const": FORMAT},
        family={"const": family.name},
        about=TEXT,
        numbers=many(TEXT),
        harness=many(TEXT),
        operations=fields(**dict.fromkeys(operations, TEXT)),
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
        return [_name(value)]
    return [name for item in value.values() for name in _references(item)]


def text_of(document: Json) -> str:
    """The canonical text: short values in a line, long ones one item in a line."""
    return _lines(document, "") + "\n"


def _lines(value: Json, indent: str) -> str:
    compact = json.dumps(value)
    if len(indent) + len(compact) <= WIDTH or not isinstance(value, dict | list) or not value:
        return compact
    deeper = indent + " "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_lines(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(deeper + item for item in items) + "\n" + indent + "}"
    if all(isinstance(item, str | int | None) for item in value):
        return _wrapped(value, indent)
    return "[\n" + ",\n".join(deeper + _lines(item, deeper) for item in value) + f"\n{indent}]"


def _wrapped(scalars: list[Json], indent: str) -> str:
    """Numbers and texts in as many lines as they need."""
    lines, line = [], ""
    for item in scalars:
        text = json.dumps(item)
        if line and len(indent) + len(line) + len(text) + 3 > WIDTH:
            lines.append(line)
            line = ""
        line += (", " if line else "") + text
    return "[\n" + ",\n".join(f"{indent} {each}" for each in [*lines, line]) + f"\n{indent}]"
