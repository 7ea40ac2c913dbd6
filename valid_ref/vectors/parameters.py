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
from valid_ref.vectors.document import Operation, VectorCase, VectorFamily, make
from valid_ref.vectors.schema import SMALL, VECTOR, Json, fields, integer_vector, ref, whole, wholes
from valid_ref.vectors.spoken import graph_json
from valid_ref.wire import parameters_in_digits

OPERATION = Operation(
    "parameters/parameters",
    "Whether a run with these public parameters can be begun: the number of all its rounds, "
    "and the sum W of the weights of each weighting.",
    fields(parameters=ref("parameters")),
    fields(rounds=SMALL, weight_sums=VECTOR),
)


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
        bounds=None
        if bounds is None
        else Bounds(_integers(bounds["model_squared"]), _integers(bounds["gradient_squared"])),
        weightings=tuple(
            Weighting(
                each["name"],
                weights := _integers(each["weights"]),
                Fraction(sum(weights)),
                int(each["optimality"]),
                int(each["heterogeneity"]),
                optimality_low=int(each["optimality_low"]),
                heterogeneity_low=int(each["heterogeneity_low"]),
            )
            for each in given["weightings"]
        ),
        checked_keys=CheckedKeys(given["keys_checked"]),
    )


def _parameters(
    name: str, source: str, comment: str, refused: str | None = None, **changed: Json
) -> VectorCase:
    """The worked example of local-validate.md with some fields changed."""
    given = parameters_in_digits(sample.parameters()) | changed

    def compute() -> Json:
        public = _begun(given)
        sums = (sum(weighting.weights) for weighting in public.weightings)
        return {"rounds": Valid(public).rounds, "weight_sums": wholes(sums)}

    identifier = f"parameters/parameters/{name}"
    return make(identifier, source, comment, {"parameters": given}, compute, refused=refused)


def _refused(name: str, clause: str, comment: str, **changed: Json) -> VectorCase:
    return _parameters(f"{name}-refused", clause, comment, clause, **changed)


def _weighting(weights: list[int], **thresholds: int) -> Json:
    """A weighting with these thresholds; others are 1 from above, and none from below."""
    known = {"optimality": 1, "heterogeneity": 1, "optimality_low": 0, "heterogeneity_low": 0}
    found = {name: whole(value) for name, value in (known | thresholds).items()}
    return {"name": "w", "weights": wholes(weights)} | found


def _squares(models: list[int], gradients: list[int]) -> Json:
    return {"model_squared": wholes(models), "gradient_squared": wholes(gradients)}


def _cases() -> tuple[VectorCase, ...]:
    tight: Json = {
        **graph_json(path(2)),
        "dimension": 6,
        "fraction_bits": 0,
        "step_bits": 0,
        "max_degree": 1,
        "model_limit": "1",
        "gradient_limit": "4",
        "start_model": ["0"] * 6,
        "bounds": None,
    }
    return (
        _parameters("worked-example", "VA-3 GV-1", "the worked example of local-validate.md"),
        _parameters("no-bounds", "LV-2", "`bounds` is null: there is no norm check", bounds=None),
        _parameters("zero-bounds", "LV-2", "a bound may be 0", bounds=_squares([0, 0], [0, 0])),
        _parameters("no-weighting", "GV-12", "there need not be a test", weightings=[]),
        _parameters("sixty-bits", "AR-1", "f = 60", fraction_bits=60),
        _parameters(
            "larger-degree", "AR-10", "made for degrees up to 5", max_degree=5, model_limit="100"
        ),
        _parameters("own-keys", "LV-10", "only the own key is checked", keys_checked="own"),
        _parameters("short-field", "HA-1", "dT = 12 is below 13", prime="13", **tight),
        _refused("length", "HA-1", "dT = 12 is not below 11", prime="11", **tight),
        _refused("composite", "HA-1", "10001 = 73 * 137", prime="10001"),
        _refused("prime-power", "HA-2", "16807 = 7^5", prime="16807"),
        _refused("duplicate-edge", "MO-2", "the edge 0-1 twice", edges=[[0, 1], [1, 2], [1, 0]]),
        _refused("fraction-bits", "AR-1", "f = 61", fraction_bits=61),
        _refused("step-bits", "AR-1", "k = 61", step_bits=61, prime=whole(MERSENNE_61)),
        _refused("no-rounds", "AR-2", "T = 0", mixing=[], gradient=[], bounds=None, weightings=[]),
        _refused("step-missing", "AR-2", "two a_t and one A_t", gradient=["2"]),
        _refused("zero-mixing", "AR-2", "a_2 = 0", mixing=["1", "0"]),
        _refused("negative-gradient-step", "AR-2", "A_1 = -2", gradient=["-2", "2"]),
        _parameters("largest-step", "AR-2", "A_t = 2^62 - 1", gradient=wholes([2**62 - 1] * 2)),
        _refused("too-large-step", "AR-2", "A_2 = 2^62", gradient=["2", whole(2**62)]),
        _refused("no-dimension", "AR-10", "d = 0", dimension=0, start_model=[]),
        _refused("degree", "AR-10", "the graph has degree 2", max_degree=1),
        _refused("range", "AR-10", "X_max one too large", model_limit="417"),
        _refused("start-on-limit", "AR-10", "|x_0| = X_max = 416", start_model=["-416"]),
        _parameters("start", "LM-1", "|x_0| = X_max - 1", start_model=["-415"]),
        _refused("start-length", "LM-1", "x_0 has two entries, d = 1", start_model=["0", "0"]),
        _refused(
            "bound-missing", "LV-2", "one C_t for two rounds", bounds=_squares([289, 676], [1225])
        ),
        _refused(
            "negative-bound",
            "LV-2",
            "no square is negative",
            bounds=_squares([289, -1], [1225, 2704]),
        ),
        _refused(
            "weight-missing", "GV-1", "one weight for two rounds", weightings=[_weighting([1])]
        ),
        _refused("no-weight", "GV-1", "the weights are all 0", weightings=[_weighting([0, 0])]),
        _refused(
            "negative-weight", "GV-1", "a weight is negative", weightings=[_weighting([-1, 3])]
        ),
        _refused(
            "zero-optimality",
            "GV-7",
            "Theta_opt = 0",
            weightings=[_weighting([1, 2], optimality=0)],
        ),
        _refused(
            "zero-heterogeneity",
            "GV-7",
            "Theta_het = 0",
            weightings=[_weighting([1, 2], heterogeneity=0)],
        ),
        _parameters(
            "lower-thresholds",
            "GV-13",
            "lower thresholds may be as large as the upper ones",
            weightings=[
                _weighting([1, 2], optimality_low=1),
                _weighting([2, 1], heterogeneity=2**70, heterogeneity_low=2**70)
                | {"name": "other"},
            ],
        ),
        *(
            _refused(
                f"{what}-lower-{test}",
                "GV-13",
                f"the lower threshold of {test} is {low}, the upper one {2**70}",
                weightings=[_weighting([1, 2], **{test: 2**70, f"{test}_low": low})],
            )
            for test in ("optimality", "heterogeneity")
            for what, low in (("negative", -1), ("too-large", 2**70 + 1))
        ),
    )


def family() -> VectorFamily:
    """All cases of public parameters."""
    return VectorFamily(
        "parameters",
        "Public parameters of a run: those that are admitted, and the clauses that refuse others.",
        ("For each case, make the parameters as for a run and compare.",),
        (OPERATION,),
        _cases(),
    )
