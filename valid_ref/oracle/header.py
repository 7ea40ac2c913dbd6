"""The header of a recording: everything public about the run, as one document."""

import json
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from valid_ref.coins import check_hexadecimal
from valid_ref.document import schema, unstructure
from valid_ref.errors import ValidRefError
from valid_ref.hashing import is_prime
from valid_ref.lattice import WORD_LIMIT, IntVector
from valid_ref.oracle.files import Layout, RecordingError
from valid_ref.oracle.flooded import FloodedRows
from valid_ref.protocols.global_validate import width
from valid_ref.protocols.learn import LearnModel
from valid_ref.protocols.measures import estimate_limbs
from valid_ref.protocols.parameters import (
    LARGEST_KAPPA,
    LEAN_PARTS,
    CheckedKeys,
    LeanParameters,
    ValidParameters,
    estimate_limit,
)
from valid_ref.reading import Reading
from valid_ref.scenario.parts import LossPart
from valid_ref.wide import limbs_for
from valid_ref.wire import (
    BoundsLine,
    PublicParameters,
    WeightingLine,
    public_parameters,
    valid_parameters,
)

FORMAT = "valid-ref/recording/2"
LONGEST_START = 1 << 12
"""A longer x_0 is written to `start.npy`; readers take either."""

MOST_WEIGHTINGS = 1000
COUNTS = {
    "agents": (2, 1 << 20),
    "dimension": (1, 1 << 40),
    "fraction_bits": (0, 60),
    "step_bits": (0, 60),
    "max_degree": (0, 1 << 20),
    "prime": (2, (1 << 64) - 1),
    "model_limit": (0, WORD_LIMIT),
    "gradient_limit": (0, WORD_LIMIT),
}
"""The least and the most of every single number of a header."""
COUNTS_OF_LOSSES = {"seed": (0, (1 << 64) - 1), "batch": (1, 1 << 40)}
COUNTS_OF_LEAN = {"kappa": (1, LARGEST_KAPPA)}


@attrs.frozen
class Losses:
    """The losses as scenarios have them, and the tolerances of the outcome, where known.

    `seed` is that of the data of random losses; `coins` are those that were drawn for the run, if
    any were.
    """

    kind: ClassVar[str] = "losses"
    loss: LossPart
    seed: int
    batch: int
    delta: float
    eps_success: float
    coins: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.coins is not None:
            check_hexadecimal(self.coins)


@attrs.frozen
class Header:
    """Graph, arithmetic, field, bounds, checks, reading, Byzantine agents if known, producer.

    `start_model` is null where x_0 stands in `start.npy`; `flood_held` are the agents that send
    everything they hold in every flood round; `lean` are the parameters of lean validation, if the
    run has it.

    Implements: RE-2.
    """

    format: str
    producer: str
    agents: int
    edges: tuple[tuple[int, int], ...]
    dimension: int
    fraction_bits: int
    step_bits: int
    mixing: tuple[int, ...]
    gradient: tuple[int, ...]
    max_degree: int
    prime: int
    model_limit: int
    gradient_limit: int
    start_model: tuple[int, ...] | None
    bounds: BoundsLine | None
    weightings: tuple[WeightingLine, ...]
    keys_checked: CheckedKeys
    without: tuple[str, ...]
    byzantine: tuple[int, ...] | None
    losses: Losses | None = None
    checksums: bool = False
    flood_held: tuple[int, ...] = ()
    lean: LeanParameters | None = None

    def __attrs_post_init__(self) -> None:
        _check_numbers(attrs.asdict(self, recurse=False))
        for name in ("mixing", "gradient", "start_model"):
            if any(abs(number) >= WORD_LIMIT for number in getattr(self, name) or ()):
                raise RecordingError(f"{name} has an entry not below 2^62", clause="RE-16")
        if self.format != FORMAT:
            raise RecordingError(f"format {self.format!r} is not {FORMAT!r}", clause="RE-2")
        if not is_prime(self.prime):
            raise RecordingError(f"p = {self.prime} is no prime below 2^64", clause="RE-2")
        start = self.start_model
        if start is not None and len(start) != self.dimension:
            raise RecordingError(
                f"x_0 has {len(start)} entries for d = {self.dimension}", clause="RE-2"
            )
        if len({*self.without}) < len(self.without):
            raise RecordingError("a repair is turned off twice", clause="RE-2")
        if any(weighting.total[1] < 1 for weighting in self.weightings):
            raise RecordingError("a weight sum has a denominator below 1", clause="RE-2")
        if self.byzantine is not None:
            inside = all(0 <= agent < self.agents for agent in self.byzantine)
            single = len({*self.byzantine}) == len(self.byzantine) < self.agents
            if not (inside and single):
                raise RecordingError(
                    "byzantine is no proper subset of the agents",
                    clause="RE-2",
                )
        flood = self.flood_held
        if list(flood) != sorted({*flood}) or any(not 0 <= v < self.agents for v in flood):
            raise RecordingError(
                "flood_held is no increasing list of agents",
                clause="RE-2",
            )
        if flood and self.lean is not None:
            raise RecordingError("flood_held is for the paper's validation", clause="RE-2")

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.mixing)


def header_of(
    parameters: ValidParameters,
    producer: str,
    byzantine: frozenset[int] | None,
    losses: Losses | None = None,
    *,
    checksums: bool = True,
    flood_held: Collection[int] = (),
) -> Header:
    """The header of a run with these parameters; `flood_held` in any order.

    Implements: RE-2.
    """
    public = attrs.asdict(public_parameters(parameters), recurse=False)
    return Header(
        format=FORMAT,
        producer=producer,
        **public,
        byzantine=None if byzantine is None else tuple(sorted(byzantine)),
        losses=losses,
        checksums=checksums,
        flood_held=tuple(sorted(flood_held)),
    )


def check_counts(document: Any, most_agents: int) -> None:
    """Refuse a document with numbers or lists beyond their bounds, before it is read further.

    What is of another type is left to the reader of the document.

    Implements: RE-16.
    """
    if not isinstance(document, dict) or type(document.get("agents")) is not int:
        return
    _check_numbers(document)
    n, d = document["agents"], document.get("dimension")
    if n > most_agents:
        raise RecordingError(f"agents is not within 2..{most_agents}", clause="RE-16")
    losses = document.get("losses")
    lists: list[tuple[str, object, int]] = [
        ("edges", document, n * (n - 1) // 2),
        ("start_model", document if type(d) is int else None, d if type(d) is int else 0),
        ("weightings", document, MOST_WEIGHTINGS),
        ("without", document, len(Reading.switches())),
        ("byzantine", document, n),
        ("flood_held", document, n),
        ("agents", losses.get("loss") if isinstance(losses, dict) else None, n),
        ("without", document.get("lean"), len(LEAN_PARTS)),
    ]
    if isinstance(document.get("mixing"), list):
        rounds = len(document["mixing"])
        weightings = document.get("weightings")
        lines = weightings if isinstance(weightings, list) else []
        bounds = document.get("bounds")
        lists += [("gradient", document, rounds), ("model_squared", bounds, rounds)]
        lists += [("gradient_squared", bounds, rounds)]
        lists += [("weights", line, rounds) for line in lines[:MOST_WEIGHTINGS]]
    for name, parent, most in lists:
        found = parent.get(name) if isinstance(parent, dict) else None
        if isinstance(found, list) and len(found) > most:
            raise RecordingError(f"{name} has {len(found)} entries, not {most}", clause="RE-16")
    _check_edges(document.get("edges"))


def _check_numbers(document: Mapping[str, object]) -> None:
    """Every count and every limit is within its bounds.

    Implements: RE-16.
    """
    parents = (
        (document, COUNTS),
        (document.get("losses"), COUNTS_OF_LOSSES),
        (document.get("lean"), COUNTS_OF_LEAN),
    )
    for parent, counts in parents:
        for name, (least, most) in counts.items():
            found = parent.get(name) if isinstance(parent, dict) else None
            if isinstance(found, int) and not least <= found <= most:
                raise RecordingError(f"{name} is not within {least}..{most}", clause="RE-16")


def _check_edges(edges: object) -> None:
    """No edge stands twice; what is no list of pairs of integers is left to the reader."""
    if not isinstance(edges, list):
        return
    pairs = [tuple(edge) for edge in edges if type(edge) is list and len(edge) == 2]
    known = [pair for pair in pairs if type(pair[0]) is int and type(pair[1]) is int]
    if len({(u, v) if u < v else (v, u) for u, v in known}) < len(known):
        raise RecordingError("an edge is given more than once", clause="MO-2")


def in_array(header: Header) -> bool:
    """Whether x_0 is written to `start.npy` and not into the header.

    Implements: RE-2.
    """
    return header.start_model is None or header.dimension > LONGEST_START


def header_text(header: Header) -> str:
    """The canonical text of a header; what is empty is left out: `flood_held`, `coins`, `lean`.

    Implements: RE-2.
    """
    written = attrs.evolve(header, start_model=None) if in_array(header) else header
    document = unstructure(written)
    if not header.flood_held:
        del document["flood_held"]
    if header.lean is None:
        del document["lean"]
    if header.losses is not None and header.losses.coins is None:
        del document["losses"]["coins"]
    return json.dumps(document, indent=1) + "\n"


def header_schema() -> dict[str, Any]:
    """The JSON schema of `header.json`.

    Implements: RE-2.
    """
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema(Header)


def parameters_of(
    header: Header, place: str, start_model: IntVector | None = None
) -> ValidParameters:
    """The parameters that a header describes; what does not fit together is refused.

    `start_model` is x_0 where the header does not have it.

    Implements: RE-2, RE-7.
    """
    start = header.start_model if start_model is None else start_model
    if start is None:
        raise RecordingError(f"{place}: there is no x_0", clause="RE-2")
    named = {field.name: getattr(header, field.name) for field in attrs.fields(PublicParameters)}
    public = PublicParameters(**(named | {"start_model": ()}))
    try:
        parameters = valid_parameters(public, np.asarray(start, dtype=np.int64))
        LearnModel(parameters.graph, parameters.lattice, parameters.start_model, parameters.reading)
    except ValidRefError as error:
        raise RecordingError(f"{place}: {error.message}", clause=error.clause) from None
    return parameters


def start_layout(dimension: int) -> Layout:
    """The array of x_0.

    Implements: RE-3.
    """
    return Layout("<i8", dimension, ())


def layouts(parameters: ValidParameters) -> dict[str, Layout]:
    """The arrays of a recording and their shapes, all determined by the header.

    Implements: RE-3.
    """
    n, d = parameters.graph.agents, parameters.lattice.dimension
    T, m = parameters.lattice.schedule.rounds, len(parameters.weightings)
    if parameters.lean is None:
        private = Layout("<u8", n, ())
        report = Layout("<u8", None, (4 * n,))
        estimate = Layout("<u8", None, (m * width(parameters), estimate_limbs(parameters)))
    else:
        rows = FloodedRows.of(parameters)
        private = Layout("<u8", n, (rows.opening_width,))
        report = Layout("<u8", None, (rows.width,))
        estimate = Layout("<u8", None, (m * d, sum_limbs(parameters)))
    return {
        "models": Layout("<i8", T, (n, d)),
        "gradients": Layout("<i8", T, (n, d)),
        "keys": private,
        "reports": report,
        "estimates": estimate,
        "deviations": Layout("<i8", None, (2, d)),
        "outputs": Layout("<i8", n, (d,)),
    }


def sum_limbs(parameters: ValidParameters) -> int:
    """So many limbs hold every entry of a sum of lean validation.

    Implements: RE-3, LE-8.
    """
    n = parameters.graph.agents
    limits = [n * estimate_limit(parameters, weighting) for weighting in parameters.weightings]
    return limbs_for(max(limits, default=0))
