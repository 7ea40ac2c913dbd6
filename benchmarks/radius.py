"""How sharp the certified radius is: `python -m benchmarks.radius [--write docs/tables/radius.md]`.

For graphs, losses and attacks: the error of the honest estimates that was measured, what AN-9
allows before the run, what AN-18 certifies after it, and the level and radius of AN-19. Thresholds
are out of the way, so that attacks which the checks would notice are measured too. Exit status 1
if a certified error is below the measured one, or more than 20 times it.
"""

import argparse
import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np

from valid_ref.adversary.attack import (
    Deviation,
    Setting,
    honest_message,
    lying,
    models_said,
    on_lattice,
)
from valid_ref.adversary.catalogue import AttackPart
from valid_ref.execution import execute
from valid_ref.guarantees.bounds import root
from valid_ref.guarantees.outcome import Judgement, final_models, judge
from valid_ref.guarantees.radius import Radius, measured_errors, read_off_errors, shares_of
from valid_ref.lattice import IntVector
from valid_ref.losses import LossError, Problem
from valid_ref.machine import CausalView
from valid_ref.named_parts import name_of, parse_part
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.scenario import Prepared, Scenario, parts, prepare

MOST = 20.0
GRAPHS: Mapping[str, tuple[int, ...]] = {
    "complete:5": (4,),
    "complete:6": (3, 4, 5),
    "cycle:6": (5,),
    "star:6": (5,),
    "paper": (19,),
}
LOSSES = (
    "random-quadratic:dimension=3",
    "random-quadratic:dimension=3,noise=signs,spread=0.5",
    "random-ridge",
    "random-logistic",
)
NAMED = ("benign:fraction=0.5", "label-flip", "sign-flip", "ipm", "alie:z=1.5")


@attrs.frozen
class Chase:
    """Adaptive: always to the far side of the mean honest model, in the direction of its motion."""

    kind: ClassVar[str] = "chase"
    far: float = 1.0

    def build(self, setting: Setting) -> Deviation:
        """A model that is that far ahead of the honest agents, in a consistent message."""

        def lie(view: CausalView, _sender: int, _receiver: int) -> IntVector:
            now = models_said(setting, view, setting.honest)
            sent = [honest_message(setting, view, h).scaled_gradient for h in setting.honest]
            push = -np.mean(np.array(sent, dtype=np.float64), axis=0)
            length = float(np.linalg.norm(push)) or 1.0
            unit = 2.0**setting.parameters.lattice.precision.fraction_bits
            return on_lattice(setting, now.mean(axis=0) + self.far * unit * push / length)

        return Deviation(lying(setting, lie))


@attrs.frozen
class Swing:
    """Adaptive: from side to side of the mean honest model, so that paths are long."""

    kind: ClassVar[str] = "swing"
    far: float = 0.5

    def build(self, setting: Setting) -> Deviation:
        """A model beside the honest ones, on the other side in every round."""

        def lie(view: CausalView, _sender: int, _receiver: int) -> IntVector:
            now = models_said(setting, view, setting.honest).mean(axis=0)
            unit = 2.0**setting.parameters.lattice.precision.fraction_bits
            return on_lattice(setting, now + (-1) ** view.round * self.far * unit)

        return Deviation(lying(setting, lie))


ADAPTIVE: tuple[Chase | Swing, ...] = (Chase(), Swing())


@attrs.frozen
class Row:
    """One run."""

    graph: str
    loss: str
    attack: str
    judgement: Judgement
    delta: float
    measured: float
    before: float

    @property
    def radius(self) -> Radius:
        """What was certified."""
        assert self.judgement.radius is not None
        return self.judgement.radius

    @property
    def looseness(self) -> float:
        """Certified over measured."""
        return self.radius.nu / self.measured

    @property
    def distance(self) -> float:
        """From the mean of the valid models to the admissible set, as the oracle finds it."""
        squared, spread = self.judgement.squared_distance, self.judgement.consensus_error
        return math.sqrt(max(0.0, (squared or 0.0) - (spread or 0.0)))


def scenario(graph: str, loss: str, attack: str | None, rounds: int) -> Scenario:
    """Thresholds and norm bounds that stop nobody, so that every attack is measured."""
    wide = parts.Check("t^1", parts.Polynomial(1), parts.ConfiguredThresholds(1e6, 1e9))
    return Scenario(
        graph=parts.Family(graph),
        loss=parse_part(parts.LossPart, loss, "loss"),
        rounds=rounds,
        seed=0,
        byzantine=GRAPHS[graph],
        attack=None if attack is None else parse_part(AttackPart, attack, "attack"),
        bounds=parts.NoBounds(),
        checks=(wide,),
    )


def rows(rounds: int) -> Iterator[Row]:
    """Every graph, loss and attack."""
    for graph, loss in itertools.product(GRAPHS, LOSSES):
        for named in (None, *NAMED):
            yield measure(prepare(scenario(graph, loss, named, rounds)), named or "none")
        for attack in ADAPTIVE:
            prepared = prepare(scenario(graph, loss, None, rounds))
            setting = Setting.of(
                prepared.parameters,
                prepared.problem,
                prepared.byzantine,
                prepared.delta,
                prepared.problem.own_coins(0).child("attack"),
            )
            adversary = attack.build(setting).adversary
            yield measure(attrs.evolve(prepared, adversary=adversary), type(attack).kind)


def measure(prepared: Prepared, attack: str) -> Row:
    """Run it and compare."""
    execution = execute(
        prepared.parameters,
        prepared.private,
        byzantine=prepared.byzantine,
        adversary=prepared.adversary,
    )
    problem, delta = prepared.problem, prepared.delta
    found = judge(execution, problem, delta=delta, eps_success=prepared.eps_success)
    z = np.mean(final_models(execution, execution.honest_valid), axis=0)
    errors = float(np.linalg.norm(measured_errors(execution, problem, z, 0)))
    asked = prepared.scenario
    assert isinstance(asked.graph, parts.Family)
    assert delta is not None
    loss = name_of(asked.loss)
    noisy = getattr(asked.loss, "spread", 0.0) > 0
    before = before_the_run(prepared.parameters, problem, len(execution.honest), asked)
    name = f"{loss}, noise" if noisy else loss
    return Row(
        graph=asked.graph.name,
        loss=name,
        attack=attack,
        judgement=found,
        delta=delta,
        measured=errors,
        before=before,
    )


def before_the_run(
    parameters: ValidParameters, problem: Problem, honest: int, asked: Scenario
) -> float:
    """sqrt(|H|) times AN-9's nu, which bounds every honest agent's error, at theta = .05."""
    derived = prepare(attrs.evolve(asked, attack=None, bounds=parts.DerivedBounds())).parameters
    bounds, schedule = derived.bounds, parameters.lattice.schedule
    if bounds is None:
        return math.inf
    n, d, unit = parameters.graph.agents, problem.dimension, 2.0**schedule.precision.fraction_bits
    C = (root(max(bounds.gradient_squared)) + math.sqrt(d)) / unit
    ends = parameters.graph.laplacian_eigenvalues()[[1, -1]]
    shares = shares_of(parameters.weightings[0].weights)
    alphas = np.array([float(schedule.alpha(t)) for t in range(1, schedule.rounds + 1)])
    later = np.cumsum(alphas[::-1])[::-1]
    D, apart = 0.0, []
    for t, alpha in enumerate(alphas, start=1):
        apart.append(float(np.abs(1 - float(schedule.eta(t)) * ends).max()) * D)
        D = apart[-1] + alpha * math.sqrt(n) * C
    drift = problem.smoothness * float((shares * (np.array(apart) + C * later)).sum())
    try:
        sigma = problem.gradient_deviation(root(max(bounds.model_squared)) / unit)
    except LossError:
        return math.inf
    noise = sigma * math.sqrt(honest * float((shares**2).sum()) / (0.05 * problem.batch))
    slack = float((shares * np.array(read_off_errors(parameters))).sum())
    return math.sqrt(honest) * (drift + noise + slack)


def table(found: list[Row], rounds: int) -> str:
    """The page."""
    worst = max(found, key=lambda row: row.looseness)
    priors = [row.before / row.measured for row in found]
    head = f"""# How sharp the certified radius is

Made by `python -m benchmarks.radius --rounds {rounds} --write docs/tables/radius.md`. T = {rounds}, weights t, seed 0,
probability .05, thresholds and norm bounds out of the way. *measured*: the root of
the sum of |ghat_h - G_h(z)|^2 over honest agents, z the mean of their models. *before*: what
[AN-9](../../spec/guarantees.md#an-9) allows before the run (times the root of the number of honest agents, as it bounds each
of them). *certified*: nu of [AN-18](../../spec/guarantees.md#an-18). *level* and *radius*: those of
[AN-19](../../spec/guarantees.md#an-19), beside delta and the true distance to the models admissible at delta. `chase` and
`swing` are adaptive: they follow the honest models of the same round.

Certified over measured: at most {worst.looseness:.1f} ({worst.graph}, {worst.loss}, {worst.attack}), median
{float(np.median([row.looseness for row in found])):.1f}; before over measured: {min(priors):.0f} to {max(priors):.0f}. {len(found)} runs.

| graph | loss | attack | measured | before | certified | ratio | level | delta | radius | distance |
|---|---|---|---|---|---|---|---|---|---|---|
"""  # noqa: E501 - a page of Markdown
    lines = [
        f"| {row.graph} | {row.loss} | {row.attack} | {row.measured:.3g} | {row.before:.3g} "
        f"| {row.radius.nu:.3g} | {row.looseness:.1f} | {row.radius.level:.3g} | {row.delta:.3g} "
        f"| {'-' if row.radius.radius is None else f'{row.radius.radius:.3g}'} "
        f"| {row.distance:.3g} |"
        for row in found
    ]
    return head + "\n".join(lines) + "\n"


def main() -> int:
    """Measure all, print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.radius", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--write", type=Path, help="where the table goes (default: print it)")
    options = parser.parse_args()
    found = []
    for row in rows(options.rounds):
        found.append(row)
        print(f"{row.graph} {row.loss} {row.attack}: {row.looseness:.1f}", flush=True)
    text = table(found, options.rounds)
    if options.write is None:
        print(text)
    else:
        options.write.write_text(text, encoding="utf-8")
    return 0 if all(1 <= row.looseness <= MOST for row in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
