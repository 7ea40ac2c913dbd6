"""The options by which commands name a scenario, and the scenario that they name."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import attrs
import typer

from valid_ref.coins import CoinsError, check_hexadecimal
from valid_ref.document import DocumentError
from valid_ref.inputs import is_archive
from valid_ref.protocols.parameters import ParameterError
from valid_ref.scenario import Scenario, convert, load_scenario
from valid_ref.scenario.parts import CalibratedThresholds as Calibrated
from valid_ref.scenario.parts import Check, as_thresholds, as_weights, enough_runs
from valid_ref.schedule import MOST_ROUNDS


def _a_level(value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value} is not between 0 and 1")
    return value


def _from_zero(value: float | None) -> float | None:
    if value is not None and not 0 <= value < math.inf:
        raise typer.BadParameter(f"{value} is no number from 0 on")
    return value


Graph = Annotated[str | None, typer.Option(help="paper, complete:5, path:4, ...")]
Loss = Annotated[str | None, typer.Option(help="random-quadratic:dimension=5, random-ridge, ...")]
Rounds = Annotated[int | None, typer.Option(min=1, max=MOST_ROUNDS, help="Learning rounds T.")]
Steps = Annotated[
    str | None, typer.Option("--schedule", help="diminishing, constant:alpha=0.1,eta=0.1, ...")
]
Bounds = Annotated[str | None, typer.Option(help="derived, none, configured:model=9,gradient=9")]
Weights = Annotated[str | None, typer.Option(help="polynomial:power=2, exponential:gamma=0.9")]
Thresholds = Annotated[
    str | None, typer.Option(help="calibrated, certificate:theta=0.05, configured:...")
]
Level = Annotated[
    float | None,
    typer.Option(callback=_a_level, help="Chance of a false alarm, for calibration: .05"),
]
Byzantine = Annotated[str | None, typer.Option(help="Byzantine agents: 3,4")]
Attack = Annotated[str | None, typer.Option(help="equivocation, benign:fraction=0.5, ...")]
Without = Annotated[str | None, typer.Option(help="Turn repairs off: P07,P14; all: as-printed")]
Validation = Annotated[str | None, typer.Option(help="paper, lean, lean:kappa=3")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="A simulation: losses, batches, keys from this number.")
]
Coins = Annotated[
    str | None, typer.Option(help="Repeat a run: the 64 digits that were drawn for it.")
]
EpsSuccess = Annotated[
    float | None, typer.Option(callback=_from_zero, help="Tolerance of the outcome.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes for rehearsals.")]


@attrs.frozen
class Chosen:
    """What the options say; None where an option was not given."""

    graph: str | None = None
    loss: str | None = None
    rounds: int | None = None
    schedule: str | None = None
    bounds: str | None = None
    weights: str | None = None
    thresholds: str | None = None
    level: float | None = None
    byzantine: str | None = None
    attack: str | None = None
    without: str | None = None
    validation: str | None = None
    seed: int | None = None
    coins: str | None = None
    eps_success: float | None = None


def chosen_scenario(path: Path | None, chosen: Chosen) -> Scenario:
    """The scenario of a file, or the default one, with the options put in."""
    if path is not None and is_archive(path):
        raise DocumentError(f"{path} is no scenario; a recording is judged by valid-ref check")
    scenario = Scenario() if path is None else load_scenario(path)
    if chosen.seed is not None or chosen.coins is not None:
        scenario = attrs.evolve(scenario, seed=None, coins=None)
    changes: dict[str, Any] = {
        "graph": _converted(convert.as_graph, chosen.graph, "--graph"),
        "loss": _converted(convert.as_loss, chosen.loss, "--loss"),
        "rounds": chosen.rounds,
        "schedule": _converted(convert.as_schedule, chosen.schedule, "--schedule"),
        "bounds": _converted(convert.as_bounds, chosen.bounds, "--bounds"),
        "byzantine": _converted(convert.as_agents, chosen.byzantine, "--byzantine"),
        "attack": _converted(convert.as_attack, chosen.attack, "--attack"),
        "without": _converted(convert.as_without, chosen.without, "--without"),
        "validation": _converted(convert.as_validation, chosen.validation, "--validation"),
        "seed": chosen.seed,
        "coins": _converted(_coins, chosen.coins, "--coins"),
        "eps_success": chosen.eps_success,
    }
    if chosen.weights is not None or chosen.thresholds is not None:
        first = scenario.checks[0] if scenario.checks else Check()
        changes["checks"] = (
            Check(
                chosen.weights if chosen.weights is not None else first.name,
                _converted(as_weights, chosen.weights, "--weights") or first.weights,
                _converted(as_thresholds, chosen.thresholds, "--thresholds") or first.thresholds,
            ),
        )
    found = attrs.evolve(scenario, **{k: v for k, v in changes.items() if v is not None})
    return found if chosen.level is None else _with_level(found, chosen.level)


def _with_level(scenario: Scenario, level: float) -> Scenario:
    """Every calibrated check with this level, and more rehearsals where it needs them."""
    calibrated = [c.thresholds for c in scenario.checks if isinstance(c.thresholds, Calibrated)]
    if not calibrated:
        raise ParameterError("--level goes with calibrated thresholds alone", clause="GU-12")
    try:
        runs = max(calibrated[0].runs, enough_runs(level))
    except ParameterError as error:
        raise ParameterError(f"--level: {error.message}", clause=error.clause) from None
    checks = tuple(
        attrs.evolve(check, thresholds=attrs.evolve(check.thresholds, level=level, runs=runs))
        if isinstance(check.thresholds, Calibrated)
        else check
        for check in scenario.checks
    )
    return attrs.evolve(scenario, checks=checks)


def _coins(text: str, path: str) -> str:
    """The coins of a run, refused by the name of the option."""
    try:
        check_hexadecimal(text)
    except CoinsError as error:
        raise CoinsError(f"{path}: {error.message}", clause=error.clause) from None
    return text


def _converted(convert_text: Callable[[str, str], Any], text: str | None, path: str) -> Any:
    return None if text is None else convert_text(text, path)
