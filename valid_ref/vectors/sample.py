"""The worked example of local-validate.md and global-validate.md, as parameters and transcripts."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from valid_ref.graph import AgentGraph
from valid_ref.graph_families import path
from valid_ref.hashing import PrimeField
from valid_ref.lattice import default_limits
from valid_ref.protocols import global_validate, local_validate
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import Bounds, ValidParameters, Weighting
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
from valid_ref.vectors.schema import integer_vector

KEYS = (5, 17, 42)
WEIGHTING = Weighting("halves", (1, 2), Fraction(3), optimality=108, heterogeneity=6336)
"""gamma = 1/2, m = 1, eps_opt = 3/4, delta + eps_het = 2/3 + 1/4."""


def transcript(*rounds: tuple[int, int]) -> tuple[LearningMessage, ...]:
    """Learning messages of dimension 1 from pairs (x, Gamma)."""
    return tuple(LearningMessage(integer_vector([x]), integer_vector([g])) for x, g in rounds)


TRANSCRIPTS = (
    transcript((0, 0), (1, 4)),
    transcript((8, -32), (12, -16)),
    transcript((16, -64), (23, -36)),
)
"""What agents 0, 1 and 2 send on the path 0-1-2."""


def parameters_for(
    graph: AgentGraph,
    steps: Schedule,
    prime: int,
    weightings: Sequence[Weighting] = (),
    *,
    bounds: Bounds | None = None,
    dimension: int = 1,
    reading: Reading | None = None,
) -> ValidParameters:
    """Parameters with default limits and x_0 = 0."""
    return ValidParameters(
        graph,
        default_limits(dimension, steps, graph.max_degree, prime),
        integer_vector([0] * dimension),
        PrimeField(prime),
        bounds=bounds,
        weightings=tuple(weightings),
        reading=Reading() if reading is None else reading,
    )


def parameters(
    weightings: Sequence[Weighting] = (WEIGHTING,), reading: Reading | None = None
) -> ValidParameters:
    """Path 0-1-2, d = 1, T = 2, f = 4, k = 2, a = 1, A = 2, p = 10007."""
    steps = Schedule(Precision(4, 2), (1, 1), (2, 2))
    squares = Bounds((17**2, 26**2), (35**2, 52**2))
    return parameters_for(path(3), steps, 10007, weightings, bounds=squares, reading=reading)


def reports(
    changed: Mapping[Tag, Sequence[LearningMessage]] | None = None,
) -> dict[Tag, tuple[int, ...]]:
    """Every (reporter, agent) to the hashes of what that reporter received; `changed` first."""
    return {
        (reporter, agent): local_validate.transcript_report(
            parameters(), KEYS, (changed or {}).get((reporter, agent), TRANSCRIPTS[agent])
        )
        for agent in range(3)
        for reporter in path(3).neighbours(agent)
    }


def estimates(public: ValidParameters | None = None) -> dict[Tag, global_validate.Estimate]:
    """Every (reporter, agent) to the estimate of what the agent sent."""
    known = parameters() if public is None else public
    return {
        (reporter, agent): global_validate.estimate(known, TRANSCRIPTS[agent])
        for agent in range(3)
        for reporter in path(3).neighbours(agent)
    }
