"""A scenario: everything that determines a run, as one JSON document."""

import json
import math
import re
from pathlib import Path
from typing import Any

import attrs

from valid_ref.adversary.catalogue import AttackPart
from valid_ref.coins import Coins, check_hexadecimal, fresh
from valid_ref.document import (
    DocumentError,
    read_json,
    schema,
    structure,
    unstructure,
)
from valid_ref.lattice import MERSENNE_61
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.reading import Reading
from valid_ref.scenario.parts import (
    BoundsPart,
    Check,
    DerivedBounds,
    Diminishing,
    Family,
    GraphPart,
    LossPart,
    PaperValidation,
    RandomQuadratics,
    SchedulePart,
    ValidationPart,
)
from valid_ref.schedule import Precision

FORMAT = "valid-ref/scenario/1"


@attrs.frozen
class Scenario:
    """Graph, parameters, gradient source, keys, Byzantine agents and their attack.

    `start` is x_0 as real numbers (zero if not given). Everything random is made of `coins`, 64
    hexadecimal digits that are drawn when nothing is given (`settled`), or of `seed` in their
    place, for simulations; so are `keys`, if not given. The data of random losses, which are no
    secret, come from the seed alone (0 if not given). `delta` is the heterogeneity of the losses
    if not given; `eps_success` a tenth of the squared distance from x_0 to the optimum;
    `without` lists the errata whose repairs are turned off.

    Implements: VA-6, VA-7, MO-11.
    """

    format: str = FORMAT
    graph: GraphPart = Family("paper")
    loss: LossPart = RandomQuadratics()
    rounds: int = 200
    schedule: SchedulePart = Diminishing()
    precision: Precision = Precision()
    prime: int = MERSENNE_61
    start: tuple[float, ...] | None = None
    batch: int = 1
    seed: int | None = None
    coins: str | None = None
    keys: tuple[int, ...] | None = None
    bounds: BoundsPart = DerivedBounds()
    checks: tuple[Check, ...] = (Check(),)
    delta: float | None = None
    eps_success: float | None = None
    keys_checked: CheckedKeys = CheckedKeys.ALL
    without: tuple[str, ...] = ()
    byzantine: tuple[int, ...] = ()
    attack: AttackPart | None = None
    validation: ValidationPart = PaperValidation()

    def __attrs_post_init__(self) -> None:
        if self.format != FORMAT:
            raise DocumentError(f"format {self.format!r} is not {FORMAT!r}", clause="VA-6")
        if self.seed is not None and (type(self.seed) is not int or self.seed < 0):
            raise DocumentError(f"seed {self.seed!r} is no integer from 0 on", clause="VA-6")
        if self.coins is not None:
            check_hexadecimal(self.coins)
            if self.seed is not None:
                raise DocumentError("there are coins already: no seed beside them", clause="VA-6")
        if self.attack is not None and not self.byzantine:
            raise DocumentError("an attack needs Byzantine agents", clause="AD-1")
        for name in ("delta", "eps_success"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise DocumentError(f"{name} = {value} is no number from 0 on", clause="MO-11")
        Reading.without(*self.without)
        if self.keys is not None and not isinstance(self.validation, PaperValidation):
            raise DocumentError("lean validation has no keys of single agents", clause="LE-4")

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


def sample_coins(scenario: Scenario) -> Coins:
    """The coins of mini-batches and rehearsals, which attack and validation leave as they are.

    Implements: LV-3.
    """
    return Coins.of_text("samples", _settled_text(scenario, LEARNING))


def _settled_text(scenario: Scenario, names: tuple[str, ...] | None) -> str:
    """The whole scenario or some of its fields in one form, with every default written out."""
    if scenario.seed is None and scenario.coins is None:
        raise DocumentError("a scenario without seed and coins is not settled", clause="LV-3")
    document = scenario_as_json(scenario)
    if isinstance(scenario.validation, PaperValidation):
        del document["validation"]  # as before there was another validation
    kept = document if names is None else {name: document[name] for name in names}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"))


def scenario_from_json(text: str) -> Scenario:
    """Read a scenario; a wrong one is refused with the JSON path.

    Implements: VA-6.
    """
    found: Scenario = structure(Scenario, read_json(text))
    return found


def load_scenario(path: Path) -> Scenario:
    """Read a scenario from a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"cannot read {path}: {error}", clause="VA-6") from None
    return scenario_from_json(text)


def scenario_as_json(scenario: Scenario) -> dict[str, Any]:
    """The document of a scenario, with every default written out.

    Implements: VA-6.
    """
    document: dict[str, Any] = unstructure(scenario)
    return document


def scenario_text(scenario: Scenario) -> str:
    """The canonical text of a scenario."""
    return json.dumps(scenario_as_json(scenario), indent=1) + "\n"


def scenario_schema() -> dict[str, Any]:
    """The JSON schema of scenarios.

    Implements: VA-6.
    """
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema(Scenario)


def parse_part(kind: Any, text: str, path: str) -> Any:
    """A part from `kind:name=value,name=value`; values are JSON, or else plain strings."""
    name, _colon, rest = text.partition(":")
    document: dict[str, Any] = {"kind": name}
    for item in filter(None, rest.split(",")):
        key, _equals, value = item.partition("=")
        try:
            document[key.strip()] = json.loads(value)
        except (ValueError, RecursionError):  # also an integer of too many digits
            document[key.strip()] = value
    return structure(kind, document, path)


def parse_integers(text: str) -> tuple[int, ...]:
    """Integers between commas."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    return tuple(
        structure(int, int(item) if re.fullmatch("-?[0-9]{1,18}", item) else item, f"[{index}]")
        for index, item in enumerate(items)
    )
