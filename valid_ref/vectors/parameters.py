"""Vectors of public parameters: which sets are admitted, and the clause that refuses another."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from valid_ref.graph import AgentGraph
from valid_ref.graph_families import path
from valid_ref.hashing import PrimeField
from valid_ref.lattice import MERSENNE_61, LatticeParameters
from valid_ref.protocols.parameters import Bounds, CheckedKeys, ValidParameters, Weighting
from valid_ref.protocols.valid import Valid
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors import sample
from valid_ref.vectors.document import Case, Family, Json, Operation, make
from valid_ref.vectors.numbers import integer_vector, whole, wholes
from valid_ref.vectors.schema import SMALL, VECTOR, fields, ref
from valid_ref.vectors.spoken import graph_json
from valid_ref.wire import parameters_in_digits

OPERATIONS = {
    "parameters": Operation(
        "Whether a run with these public parameters can be begun: the number of all its rounds, "
        "and the sum W of the weights of each weighting.",
        fields(parameters=ref("parameters")),
        fields(rounds=SMALL, weight_sums=VECTOR),
    )
}


def _integers(values: list[str]) -> tuple[int, ...]:
    return tuple(map(int, values))


def _begun(given: Mapping[str, Any]) -> ValidParameters:
    """The parameters that the JSON stands for, all clauses applied."""
    steps = Schedule(
        Precision(given["fraction_bits"], given["step_bits"]),
        _integers(given["mixing"]),
        _integers(given["gradient"]),
    )
    bounds = given["bounds"]
    return ValidParameters(
        AgentGraph.from_edges(given["agents"], given["edges"]),
        LatticeParameters(
            given["dimension"],
            steps,
            given["max_degree"],
            int(given["prime"]),
            model_limit=int(given["model_limit"]),
            gradient_limit=int(given["gradient_limit"]),
        ),
        integer_vector(_integers(given["start_model"])),
        PrimeField(int(given["prime"])),
        None
        if bounds is None
        else Bounds(_integers(bounds["model_squared"]), _integers(bounds["gradient_squared"])),
        tuple(
            Weighting(
                each["name"],
                weights := _integers(each["weights"]),
                Fraction(sum(weights)),
                int(each["optimality"]),
                int(each["heterogeneity"]),
            )
            for each in given["weightings"]
        ),
        CheckedKeys(given["keys_checked"]),
    )


def _case(
    name: str, source: str, comment: str, refused: str | None = None, **changed: Json
) -> Case:
    """The worked example of local-validate.md with some fields changed."""
    given = parameters_in_digits(sample.parameters()) | changed

    def compute() -> Json:
        public = _begun(given)
        sums = (sum(weighting.weights) for weighting in public.weightings)
        return {"rounds": Valid(public).rounds, "weight_sums": wholes(sums)}

    return make(
        f"parameters/parameters/{name}", source, comment, {"parameters": given}, compute,
        refused=refused,
    )  # fmt: skip


def _weighting(weights: list[int], optimality: int = 1, heterogeneity: int = 1) -> Json:
    return {
        "name": "w", "weights": wholes(weights), "optimality": whole(optimality),
        "heterogeneity": whole(heterogeneity),
    }  # fmt: skip


def _squares(models: list[int], gradients: list[int]) -> Json:
    return {"model_squared": wholes(models), "gradient_squared": wholes(gradients)}


def _cases() -> tuple[Case, ...]:
    tight: Json = {
        **graph_json(path(2)), "dimension": 6, "fraction_bits": 0, "step_bits": 0,
        "max_degree": 1, "model_limit": "1", "gradient_limit": "4", "start_model": ["0"] * 6,
        "bounds": None,
    }  # fmt: skip
    return (
        _case("worked-example", "VA-3 GV-1", "the worked example of local-validate.md"),
        _case("no-bounds", "LV-2", "`bounds` is null: there is no norm check", bounds=None),
        _case("zero-bounds", "LV-2", "a bound may be 0", bounds=_squares([0, 0], [0, 0])),
        _case("no-weighting", "GV-12", "there need not be a test", weightings=[]),
        _case("sixty-bits", "AR-1", "f = 60", fraction_bits=60),
        _case("larger-degree", "AR-10", "made for degrees up to 5", max_degree=5,
              model_limit="100"),
        _case("own-keys", "LV-10", "only the own key is checked", keys_checked="own"),
        _case("short-field", "HA-1", "dT = 12 is below 13", prime="13", **tight),
        _case("length-refused", "HA-1", "dT = 12 is not below 11", "HA-1", prime="11", **tight),
        _case("composite-refused", "HA-1", "10001 = 73 * 137", "HA-1", prime="10001"),
        _case("prime-power-refused", "HA-2", "16807 = 7^5", "HA-2", prime="16807"),
        _case("duplicate-edge-refused", "MO-2", "the edge 0-1 twice", "MO-2",
              edges=[[0, 1], [1, 2], [1, 0]]),
        _case("fraction-bits-refused", "AR-1", "f = 61", "AR-1", fraction_bits=61),
        _case("step-bits-refused", "AR-1", "k = 61", "AR-1", step_bits=61,
              prime=whole(MERSENNE_61)),
        _case("no-rounds-refused", "AR-2", "T = 0", "AR-2", mixing=[], gradient=[], bounds=None,
              weightings=[]),
        _case("step-missing-refused", "AR-2", "two a_t and one A_t", "AR-2", gradient=["2"]),
        _case("zero-mixing-refused", "AR-2", "a_2 = 0", "AR-2", mixing=["1", "0"]),
        _case("negative-gradient-step-refused", "AR-2", "A_1 = -2", "AR-2", gradient=["-2", "2"]),
        _case("largest-step", "AR-2", "A_t = 2^62 - 1", gradient=wholes([2**62 - 1] * 2)),
        _case("too-large-step-refused", "AR-2", "A_2 = 2^62", "AR-2", gradient=["2", whole(2**62)]),
        _case("no-dimension-refused", "AR-10", "d = 0", "AR-10", dimension=0, start_model=[]),
        _case("degree-refused", "AR-10", "the graph has degree 2", "AR-10", max_degree=1),
        _case("range-refused", "AR-10", "X_max one too large", "AR-10", model_limit="417"),
        _case("start-on-limit-refused", "AR-10", "|x_0| = X_max = 416", "AR-10",
              start_model=["-416"]),
        _case("start", "LM-1", "|x_0| = X_max - 1", start_model=["-415"]),
        _case("start-length-refused", "LM-1", "x_0 has two entries, d = 1", "LM-1",
              start_model=["0", "0"]),
        _case("bound-missing-refused", "LV-2", "one C_t for two rounds", "LV-2",
              bounds=_squares([289, 676], [1225])),
        _case("negative-bound-refused", "LV-2", "no square is negative", "LV-2",
              bounds=_squares([289, -1], [1225, 2704])),
        _case("weight-missing-refused", "GV-1", "one weight for two rounds", "GV-1",
              weightings=[_weighting([1])]),
        _case("no-weight-refused", "GV-1", "the weights are all 0", "GV-1",
              weightings=[_weighting([0, 0])]),
        _case("negative-weight-refused", "GV-1", "a weight is negative", "GV-1",
              weightings=[_weighting([-1, 3])]),
        _case("zero-optimality-refused", "GV-7", "Theta_opt = 0", "GV-7",
              weightings=[_weighting([1, 2], optimality=0)]),
        _case("zero-heterogeneity-refused", "GV-7", "Theta_het = 0", "GV-7",
              weightings=[_weighting([1, 2], heterogeneity=0)]),
    )  # fmt: skip


def family() -> Family:
    """All cases of public parameters."""
    return Family(
        "parameters",
        "Public parameters of a run: those that are admitted, and the clauses that refuse others.",
        ("For each case, make the parameters as for a run and compare.",),
        OPERATIONS,
        _cases(),
    )
