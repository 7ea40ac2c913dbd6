"""From the JSON of a vector to objects of the reference; nothing here knows the generator."""

import json
import struct
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from valid_ref.alarms import Raised
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import LatticeParameters
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import Bounds, CheckedKeys, ValidParameters, Weighting
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule

VECTORS = Path(__file__).resolve().parents[3] / "spec" / "vectors"
Json = Any


def files() -> list[str]:
    return sorted(p.name.removesuffix(".schema.json") for p in VECTORS.glob("*.schema.json"))


def load(family: str) -> Json:
    return json.loads((VECTORS / f"{family}.json").read_text(encoding="utf-8"))


def ints(values: Iterable[str]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def vector(values: Iterable[str]) -> np.ndarray:
    return np.array(ints(values), dtype=np.int64)


def texts(values: Iterable[int]) -> list[str]:
    return [str(int(value)) for value in values]


def ratio_text(value: Fraction | float) -> str:
    return "/".join(map(str, Fraction(value).as_integer_ratio()))


def real(text: str) -> float:
    """A rational that is a double."""
    value = Fraction(text)
    assert Fraction(float(value)) == value, "not a double"
    return float(value)


def from_bits(text: str) -> float:
    return struct.unpack(">d", bytes.fromhex(text))[0]


def to_bits(value: float) -> str:
    return struct.pack(">d", value).hex()


def schedule(given: Json) -> Schedule:
    precision = Precision(given.get("fraction_bits", 0), given["step_bits"])
    return Schedule(precision, ints(given["mixing"]), ints(given["gradient"]))


def parameters(given: Json) -> ValidParameters:
    reading = Reading.without(*given["without"])
    bounds = given["bounds"]
    return ValidParameters(
        AgentGraph.from_edges(given["agents"], given["edges"]),
        LatticeParameters(
            given["dimension"],
            schedule(given),
            given["max_degree"],
            int(given["prime"]),
            model_limit=int(given["model_limit"]),
            gradient_limit=int(given["gradient_limit"]),
            enforce_field_range=reading.P20,
        ),
        vector(given["start_model"]),
        PrimeField(int(given["prime"])),
        bounds and Bounds(ints(bounds["model_squared"]), ints(bounds["gradient_squared"])),
        tuple(
            Weighting(
                each["name"],
                ints(each["weights"]),
                Fraction(sum(ints(each["weights"]))),
                int(each["optimality"]),
                int(each["heterogeneity"]),
            )
            for each in given["weightings"]
        ),
        CheckedKeys(given["keys_checked"]),
        reading,
    )


def transcript(given: Json) -> list[LearningMessage]:
    return [LearningMessage(vector(m["model"]), vector(m["scaled_gradient"])) for m in given]


def candidate(given: Json) -> object:
    """A broadcast value: an integer, a tuple of integers, or something of another type."""
    if given["kind"] == "integer":
        return int(given["value"])
    return ints(given["entries"]) if given["kind"] == "integers" else given["text"]


def alarms(raised: Iterable[Raised]) -> Json:
    def about(value: object) -> str | None:
        if value is None:
            return None
        return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)

    return [
        {
            "reason": r.alarm.name, "clause": r.alarm.clause, "phase": r.phase, "round": r.round,
            "sender": r.sender, "about": about(r.about),
        }
        for r in raised
    ]  # fmt: skip
