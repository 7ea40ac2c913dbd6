"""Computes the operations of graphs, lattice, hashes, bounds and admissible sets from JSON."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tests.valid_ref.vectors.reading import (
    Json,
    from_bits,
    ints,
    ratio_text,
    real,
    schedule,
    texts,
    to_bits,
    vector,
)
from valid_ref import lattice
from valid_ref.graph import AgentGraph, assumption_1, assumption_1_plus
from valid_ref.guarantees import admissible, bounds
from valid_ref.guarantees.heterogeneity import heterogeneity
from valid_ref.hashing import (
    PrimeField,
    colliding_keys,
    collision_bound,
    hash_integers,
    hash_vector,
)
from valid_ref.kernels.polyhash import combine_rounds, round_polynomials
from valid_ref.lattice import LatticeError, LatticeParameters
from valid_ref.losses import Problem, Quadratic
from valid_ref.protocols.parameters import Bounds
from valid_ref.schedule import Precision, Schedule, make_schedule

TOLERANCE = 2.0**-40


def one_round(k: int, a: int = 1, A: int = 1, f: int = 0, **limits: int) -> LatticeParameters:
    """Parameters of a single round; what a case does not say does not matter to it."""
    made = Schedule(Precision(f, k), (a,), (A,))
    if limits:
        return LatticeParameters(1, made, 1, **limits)
    return lattice.default_limits(1, made, 1)


def graph(given: Json) -> Json:
    made = AgentGraph.from_edges(given["agents"], given["edges"])
    return {"neighbours": [[*made.neighbours(v)] for v in range(made.agents)]}


def assumptions(given: Json) -> Json:
    made = AgentGraph.from_edges(given["agents"], given["edges"])
    plus = assumption_1_plus(made, given["byzantine"])
    one = assumption_1(made, given["byzantine"]).holds
    return {"assumption_1": one, "assumption_1_plus": plus.holds, "hidden": [*plus.hidden]}


def step_size(given: Json) -> Json:
    size = Fraction(given["size"])
    made = make_schedule(1, lambda t: 1, lambda t: size, Precision(0, given["step_bits"]))
    return {"step": str(made.a(1))}


def limits(given: Json) -> Json:
    made = schedule(given | {"gradient": ["1"] * len(given["mixing"])})
    found = lattice.default_limits(3, made, given["max_degree"], int(given["prime"]))
    return {"model_limit": str(found.model_limit), "gradient_limit": str(found.gradient_limit)}


def range_rule(given: Json) -> Json:
    found = LatticeParameters(
        1, schedule(given | {"gradient": ["1"] * len(given["mixing"])}), given["max_degree"],
        int(given["prime"]), model_limit=int(given["model_limit"]),
        gradient_limit=int(given["gradient_limit"]),
    )  # fmt: skip
    return {"largest_intermediate": str(found.largest_intermediate)}


def to_lattice(given: Json) -> Json:
    values = [from_bits(value) for value in given["values"]]
    precision = Precision(given["fraction_bits"], 0)
    return {"entries": texts(lattice.to_lattice(values, precision))}


def point(given: Json) -> Json:
    parameters = one_round(given["step_bits"], f=given["fraction_bits"])
    return {"values": [*map(to_bits, lattice.evaluation_point(parameters, vector(given["Y"])))]}


def shift(given: Json) -> Json:
    return {"entries": texts(lattice.shift_half_even(vector(given["entries"]), given["bits"]))}


def mix(given: Json) -> Json:
    parameters = one_round(given["step_bits"], a=int(given["a"]))
    neighbours = [vector(model) for model in given["neighbours"]]
    return {"Y": texts(lattice.mix(parameters, 1, vector(given["own"]), neighbours))}


def update(given: Json) -> Json:
    parameters = one_round(
        given["step_bits"], A=int(given["A"]), model_limit=int(given["model_limit"]),
        gradient_limit=int(given["gradient_limit"]),
    )  # fmt: skip
    gradient = np.array([float(entry) for entry in ints(given["Ghat"])])
    try:
        x, gamma = lattice.step(parameters, 1, vector(given["Y"]), gradient)
    except LatticeError:
        return {"silent": True}
    return {"model": texts(x), "scaled_gradient": texts(gamma)}


def residual(given: Json) -> Json:
    parameters = one_round(given["step_bits"], a=int(given["a"]))
    found = lattice.residual(
        parameters, 1, vector(given["previous"]), [vector(u) for u in given["neighbours"]],
        vector(given["x"]), vector(given["Gamma"]),
    )  # fmt: skip
    return {"residual": texts(found)}


def read_gradient(given: Json) -> Json:
    parameters = one_round(0, A=int(given["A"]))
    return {"gradient": texts(lattice.read_gradient(parameters, 1, vector(given["Gamma"])))}


def squared_norm(given: Json) -> Json:
    return {"square": str(lattice.squared_norm(vector(given["entries"])))}


def in_range(given: Json) -> Json:
    return {"in_range": lattice.within(vector(given["entries"]), int(given["limit"]))}


def field(given: Json) -> PrimeField:
    return PrimeField(int(given["prime"]))


def admitted_field(given: Json) -> Json:
    field(given)
    return {"accepted": True}


def length(given: Json) -> Json:
    field(given).check_length(given["length"])
    return {"accepted": True}


def key(given: Json) -> Json:
    field(given).check_key(int(given["key"]))
    return {"accepted": True}


def hash_both(given: Json) -> Json:
    arguments = field(given), int(given["key"]), vector(given["vector"])
    found = hash_vector(*arguments), hash_integers(*arguments)
    return {"hash": str(found[0]), "integer_form": str(found[1])}


def collisions(given: Json) -> Json:
    return {"keys": texts(colliding_keys(field(given), vector(given["vector"])))}


def bound(given: Json) -> Json:
    return {"bound": ratio_text(collision_bound(field(given), given["length"], given["keys"]))}


def polynomials(given: Json) -> Json:
    rows = np.stack([vector(row) for row in given["rows"]])
    return {"values": texts(round_polynomials(field(given), (int(given["key"]),), rows)[:, 0])}


def four_hashes(given: Json) -> Json:
    keys, models = ints(given["keys"]), [given["start"], *given["models"]]
    made = schedule(given | {"step_bits": 0, "gradient": ["1"] * len(given["mixing"])})
    values = [
        round_polynomials(field(given), keys, np.stack([vector(row) for row in part]))
        for part in (models, given["scaled_gradients"])
    ]
    found = combine_rounds(field(given), keys, len(models[0]), made, *values)
    names = ("key", "out", "into", "into_eta", "gamma")
    return {
        "hashes": [
            dict(zip(names, texts((k, *four)), strict=True))
            for k, four in zip(keys, found, strict=True)
        ]
    }


def squares(found: Bounds) -> Json:
    models, gradients = found.model_squared, found.gradient_squared
    return {"model_squared": texts(models), "gradient_squared": texts(gradients)}


def derive(given: Json) -> Json:
    F0 = math.inf if given["F0"] is None else real(given["F0"])
    constants = bounds.GivenConstants(
        given["dimension"], real(given["mu"]), real(given["beta"]), F0
    )
    start = int(given["start_squared"])
    return squares(
        bounds.derive_bounds(constants, schedule(given), given["max_degree"], start_squared=start)
    )


def configure(given: Json) -> Json:
    precision = Precision(given["fraction_bits"], 0)
    sizes = real(given["model"]), real(given["gradient"])
    return squares(bounds.configured_bounds(*sizes, given["rounds"], precision))


def conflicts(given: Json) -> Json:
    made = schedule(given | {"mixing": ["1"] * len(given["gradient"])})
    parameters = LatticeParameters(
        1, made, 1, 101, model_limit=int(given["model_limit"]),
        gradient_limit=int(given["gradient_limit"]),
    )  # fmt: skip
    found = Bounds(ints(given["model_squared"]), ints(given["gradient_squared"]))
    return {
        "conflicts": len(bounds.range_conflicts(found, parameters, int(given["start_squared"])))
    }


def problem(given: Json) -> Problem:
    return Problem(
        Quadratic(np.diag([real(h) for h in one["hessian"]]), [real(c) for c in one["centre"]])
        for one in given["losses"]
    )


def near(expected: str, found: float) -> str:
    """The expected text if the number found is that one, up to floating point."""
    exact = float(Fraction(expected))
    return expected if abs(found - exact) <= TOLERANCE * (1 + abs(exact)) else repr(found)


def nearly(expected: Json, found: Any) -> Json:
    """Field by field the expected rationals, where the reference is near enough."""
    if isinstance(expected, dict):
        return {name: nearly(expected[name], found[name]) for name in expected}
    if isinstance(expected, list) and len(expected) == len(found):
        return [nearly(one, other) for one, other in zip(expected, found, strict=True)]
    return near(expected, found) if isinstance(expected, str) else found


def real_point(given: Json) -> np.ndarray:
    return np.array([real(entry) for entry in given["point"]])


def phi(given: Json, expected: Json) -> Json:
    made, x = problem(given), real_point(given)
    value = admissible.phi(made, given["agents"], x)
    shown = admissible.best_byzantine_vectors(made, given["agents"], x)
    found = {"phi": None if math.isinf(value) else value, "vectors": [[*row] for row in shown]}
    return nearly(expected, found)


def member(given: Json, _expected: Json) -> Json:
    sizes = real(given["e1"]), real(given["e2"])
    made, x = problem(given), real_point(given)
    found = admissible.in_relaxed_set(made, given["agents"], *sizes, x)
    if sizes[0] == 0 and len(given["agents"]) < len(given["losses"]):
        assert admissible.is_admissible(made, given["agents"], sizes[1], x) is found
    return {"member": found}


def ellipsoid(given: Json, expected: Json) -> Json:
    made = admissible.admissible_ellipsoid(problem(given), given["agents"], real(given["delta"]))
    found = {"matrix": [*np.diag(made.matrix)], "centre": [*made.centre], "level": made.level}
    return nearly(expected, found)


def distance(given: Json, expected: Json) -> Json:
    found = admissible.distance_to_admissible(
        problem(given), given["agents"], real(given["delta"]), real_point(given)
    ).value
    return nearly(expected, {"distance": None if math.isinf(found) else found})


def spread(given: Json, expected: Json) -> Json:
    return nearly(expected, {"delta": heterogeneity(problem(given))})


UNITS = {
    "graph": {"graph": graph, "assumptions": assumptions},
    "lattice": {
        "step-size": step_size, "limits": limits, "range-rule": range_rule,
        "to-lattice": to_lattice, "point": point, "shift": shift, "mix": mix, "update": update,
        "residual": residual, "read-gradient": read_gradient, "squared-norm": squared_norm,
        "in-range": in_range,
    },
    "hash": {
        "field": admitted_field, "length": length, "key": key, "hash": hash_both,
        "colliding-keys": collisions, "collision-bound": bound,
    },
    "transcript-hashes": {"round-polynomials": polynomials, "four-hashes": four_hashes},
    "bounds": {
        "root": lambda given: {"root": str(bounds.root(Fraction(given["value"])))},
        "derive": derive, "configure": configure, "conflicts": conflicts,
    },
}  # fmt: skip
"""By family and operation: from the input to what must be equal to `expected`."""

NEARLY = {
    "admissible": {
        "heterogeneity": spread, "phi": phi, "member": member, "ellipsoid": ellipsoid,
        "distance": distance,
    }
}  # fmt: skip
"""Operations in floating point: they also see `expected`, and give it back where it is near."""
