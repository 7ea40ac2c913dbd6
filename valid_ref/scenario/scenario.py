"""A scenario: everything that determines a run, as one JSON document."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from valid_ref.arguments import require_type
from valid_ref.coins import Coins, check_hexadecimal, fresh
from valid_ref.document import (
    DocumentError,
    read_json,
    require_read_back,
    schema,
    shown,
    structure,
    unstructure,
)
from valid_ref.foreign import refusing
from valid_ref.graph import GraphError, honest_among, require_integer
from valid_ref.hashing import FieldError, PrimeField
from valid_ref.inputs import read_text
from valid_ref.lattice import MERSENNE_61
from valid_ref.named_parts import NamedParts, name_of
from valid_ref.outputs import place_of
from valid_ref.protocols.parameters import CheckedKeys, ParameterError, check_lean_reading
from valid_ref.reading import Reading
from valid_ref.scenario import convert
from valid_ref.scenario.numbers import require_whole
from valid_ref.scenario.parts import (
    ATTACK_PARTS,
    GRAPH_PARTS,
    LOSS_PARTS,
    AnyAttack,
    AnyGraph,
    AnyLoss,
    BoundsPart,
    Check,
    DerivedBounds,
    Diminishing,
    ExplicitSteps,
    Family,
    Lean,
    PaperValidation,
    RandomQuadratics,
    SchedulePart,
    ValidationPart,
    size_of,
)
from valid_ref.schedule import MOST_ROUNDS, Precision

FORMAT = "valid-ref/scenario/1"


@attrs.frozen
class Scenario:
    """Graph, parameters, gradient source, keys, Byzantine agents and their attack.

    Every part may be given as itself, as the text by which the command line names it, or as its
    document: `Scenario(graph="complete:5", loss="random-ridge", byzantine=4,
    attack="gaussian:sigma=0.3")`. A graph may be an AgentGraph or one of networkx; losses may be a
    list, one for every agent; graph, loss and attack may be objects of your own (`OwnGraph`,
    `OwnLoss`, `Attack`).

    `start` is x_0 as real numbers (zero if not given). Everything random is made of `coins`, 64
    hexadecimal digits that are drawn when nothing is given (`settled`), or of `seed` in their
    place, for simulations; so are `keys`, if not given. The data of random losses, which are no
    secret, come from the seed alone (0 if not given). `delta` is the heterogeneity of the losses
    if not given; `eps_success` a tenth of the squared distance from x_0 to the optimum;
    `without` lists the errata whose repairs are turned off.

    Implements: VA-6, VA-7, VA-10, MO-11.
    """

    format: str = FORMAT
    graph: AnyGraph = attrs.field(default=Family("paper"), converter=convert.as_graph)
    loss: AnyLoss = attrs.field(default=RandomQuadratics(), converter=convert.as_loss)
    rounds: int = attrs.field(default=200, converter=convert.as_number)
    schedule: SchedulePart = attrs.field(default=Diminishing(), converter=convert.as_schedule)
    precision: Precision = attrs.field(default=Precision(), converter=convert.as_precision)
    prime: int = attrs.field(default=MERSENNE_61, converter=convert.as_number)
    start: tuple[float, ...] | None = attrs.field(default=None, converter=convert.as_start)
    batch: int = attrs.field(default=1, converter=convert.as_number)
    seed: int | None = attrs.field(default=None, converter=convert.as_number)
    coins: str | None = None
    keys: tuple[int, ...] | None = attrs.field(default=None, converter=convert.as_keys)
    bounds: BoundsPart = attrs.field(default=DerivedBounds(), converter=convert.as_bounds)
    checks: tuple[Check, ...] = attrs.field(default=(Check(),), converter=convert.as_checks)
    delta: float | None = attrs.field(default=None, converter=convert.as_real)
    eps_success: float | None = attrs.field(default=None, converter=convert.as_real)
    keys_checked: CheckedKeys = attrs.field(
        default=CheckedKeys.ALL, converter=convert.as_keys_checked
    )
    without: tuple[str, ...] = attrs.field(default=(), converter=convert.as_without)
    byzantine: tuple[int, ...] = attrs.field(default=(), converter=convert.as_agents)
    attack: AnyAttack | None = attrs.field(default=None, converter=convert.as_attack)
    validation: ValidationPart = attrs.field(
        default=PaperValidation(), converter=convert.as_validation
    )

    def __attrs_post_init__(self) -> None:
        if type(self.format) is not str or self.format != FORMAT:
            raise DocumentError(f"format {shown(self.format)} is not {FORMAT!r}", clause="VA-6")
        self._check_numbers()
        self._check_field()
        if self.coins is not None:
            check_hexadecimal(self.coins)
            if self.seed is not None:
                raise DocumentError(
                    "seed: there are coins already; give one of the two", clause="VA-6"
                )
        if self.attack is not None and not self.byzantine:
            raise DocumentError("an attack needs Byzantine agents", clause="AD-1")
        known = size_of(self.graph)
        if known is not None:  # a graph of somebody's own must be built first (`prepare`)
            self.require_agents(known)
        self._check_parts()

    def _check_numbers(self) -> None:
        for name, least, most, clause in (
            ("rounds", 1, MOST_ROUNDS, "LM-1"),
            ("batch", 1, None, "MO-9"),
            ("prime", 2, None, "HA-1"),
            ("seed", 0, None, "VA-6"),
        ):
            if name != "seed" or self.seed is not None:
                require_whole(getattr(self, name), least, most, name=name, clause=clause)
        for name in ("delta", "eps_success"):
            value = getattr(self, name)
            if value is not None:
                structure(float, value, name)
            if value is not None and not 0 <= value < math.inf:
                raise DocumentError(f"{name} = {value} is no number from 0 on", clause="MO-11")

    def _check_parts(self) -> None:
        """Refuse parts that do not go with one another."""
        if isinstance(self.schedule, ExplicitSteps):
            self.schedule.of(self.rounds, self.precision)
        if len({check.name for check in self.checks}) < len(self.checks):
            raise ParameterError("two checks have the same name", clause="GV-12")
        if isinstance(self.validation, Lean):
            check_lean_reading(self.reading, self.keys_checked)
        if self.keys is not None and not isinstance(self.validation, PaperValidation):
            raise DocumentError("lean validation has no keys of single agents", clause="LE-4")

    def _check_field(self) -> None:
        """Refuse a p that is no prime, and keys that are not below it."""
        name = "prime"
        try:
            field = PrimeField(self.prime)
            name = "keys"
            for key in self.keys or ():
                field.check_key(key)
        except FieldError as error:
            raise FieldError(f"{name}: {error.message}", clause=error.clause) from None

    def require_agents(self, agents: int) -> None:
        """Refuse Byzantine agents that a graph of so many has not, all of them, and other keys.

        Implements: AD-1, LV-3.
        """
        require_integer(agents, "agents", 1, "AD-1")
        if not honest_among(agents, self.byzantine):
            raise GraphError(
                f"byzantine: all {agents} agents; at least one must be honest", clause="AD-1"
            )
        if self.keys is not None and len(self.keys) != agents:
            raise ParameterError(f"{len(self.keys)} keys for {agents} agents", clause="LV-3")

    @property
    def reading(self) -> Reading:
        """The switches of the errata."""
        return Reading.without(*self.without)

    @property
    def data_seed(self) -> int:
        """The seed of the data of random losses, which everybody may know."""
        return 0 if self.seed is None else self.seed


LEARNING = (
    "graph",
    "loss",
    "rounds",
    "schedule",
    "precision",
    "prime",
    "start",
    "batch",
    "seed",
    "coins",
)
"""What mini-batches depend on: all but attack and validation, so that attacked and honest runs
of one scenario see the same data."""


def settled(scenario: Scenario) -> Scenario:
    """The scenario with coins of its own, if it has neither coins nor a seed: now it is fixed.

    Implements: VA-6, VA-8, LV-3.
    """
    if scenario.seed is not None or scenario.coins is not None:
        return scenario
    return attrs.evolve(scenario, coins=fresh())


def run_coins(scenario: Scenario) -> Coins:
    """The coins of keys and of attacks: of the whole scenario, so that no two share them.

    Implements: LV-3.
    """
    return Coins.of_text("scenario", _settled_text(scenario, None))


def opening_coins(scenario: Scenario) -> Coins:
    """The coins of openings and of the name of a run of lean validation: its own, if it has any.

    Implements: VA-6, LE-4.
    """
    part = scenario.validation
    own = part.coins if isinstance(part, Lean) else None
    return run_coins(scenario) if own is None else Coins(bytes.fromhex(own))


def sample_coins(scenario: Scenario) -> Coins:
    """The coins of mini-batches and rehearsals, which attack and validation leave as they are.

    Implements: LV-3.
    """
    return Coins.of_text("samples", _settled_text(scenario, LEARNING))


def _settled_text(scenario: Scenario, names: tuple[str, ...] | None) -> str:
    """The whole scenario or some of its fields in one form, with every default written out."""
    if scenario.seed is None and scenario.coins is None:
        raise DocumentError("a scenario without seed and coins is not settled", clause="LV-3")
    document = described(scenario)
    if isinstance(scenario.validation, PaperValidation):
        del document["validation"]  # as before there was another validation
    elif document["validation"]["coins"] is None:
        del document["validation"]["coins"]  # as before there were such coins
    kept = document if names is None else {name: document[name] for name in names}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"))


def described(scenario: Scenario) -> dict[str, Any]:
    """The document of a scenario; or, with an object that no document can hold, almost one.

    Such an object stands there by the name of its class and, if that is an attrs class, by its
    fields; arrays by a digest.

    Implements: VA-10.
    """
    with refusing(DocumentError, "a part of this scenario cannot be described: it raises"):
        text = json.dumps(unstructure(scenario), default=_by_content)
    document: dict[str, Any] = json.loads(text)
    return document


def _by_content(value: object) -> Any:
    """What stands for a value that JSON does not have."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ["array", str(value.dtype), list(value.shape), content]
    return ["object", name_of(value)]


def scenario_from_json(text: str) -> Scenario:
    """Read a scenario; a wrong one is refused with the JSON path.

    Implements: VA-6.
    """
    found: Scenario = structure(Scenario, read_json(text))
    return found


def load_scenario(path: Path | str) -> Scenario:
    """Read a scenario from a file."""
    return scenario_from_json(read_text(place_of(path, "path"), DocumentError, "VA-6"))


def scenario_as_json(scenario: Scenario) -> dict[str, Any]:
    """The document of a scenario, with every default written out.

    Refused where an object of somebody's stands in it that no document can hold.

    Implements: VA-6, VA-10.
    """
    for field, parts in OPEN.items():
        check_document(field, parts, getattr(scenario, field))
    document: dict[str, Any] = unstructure(scenario)
    return document


OPEN = {"graph": GRAPH_PARTS, "loss": LOSS_PARTS, "attack": ATTACK_PARTS}
"""The fields of a scenario that take classes of anybody's."""


def check_document(field: str, parts: NamedParts, value: object) -> None:
    """Refuse an object that a document could not give back.

    Implements: VA-10.
    """
    if value is None or type(value) in parts.known:
        return
    try:
        parts.require(type(value), field)
        require_read_back(value, field)
    except DocumentError as error:
        raise DocumentError(
            f"this scenario is no document: {error.message}. It can be run from Python; to write "
            "it down, name a frozen attrs class of a module with numbers, texts, lists and the "
            f'like as its fields: {field}="module:Name:option=value"',
            clause="VA-10",
        ) from None


def scenario_text(scenario: Scenario) -> str:
    """The canonical text of a scenario."""
    require_type(scenario, Scenario, "scenario", "a Scenario")
    return json.dumps(scenario_as_json(scenario), indent=1) + "\n"


def scenario_schema() -> dict[str, Any]:
    """The JSON schema of scenarios.

    Implements: VA-6.
    """
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema(Scenario)
