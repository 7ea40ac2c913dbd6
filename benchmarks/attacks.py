"""How every named attack ends: all attacks x graphs x losses x seeds, as a table.

    python -m benchmarks.attacks [--seeds 3] [--jobs 2] [--write docs/tables/attacks.md]

Exit status 1 if a run ends `failed`: honest agents valid, and away from every admissible model.
"""

import argparse
import concurrent.futures
import multiprocessing
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import attrs

from valid_ref import run
from valid_ref.adversary.attack import AttackError
from valid_ref.adversary.catalogue import ATTACKS
from valid_ref.guarantees.calibration import Statistics
from valid_ref.losses import Noise, Problem
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.scenario import Scenario, parts
from valid_ref.scenario.rehearse import rehearse

ROUNDS = 40

GRAPHS = {
    "complete:5": (4,),
    "cycle:5": (2,),
    "complete:4": (3,),
    "torus:3x3": (4,),
    "complete:6": (1, 5),
}
"""With Byzantine agents for which Assumption 1+ holds."""

LOSSES: dict[str, parts.LossPart] = {
    "ridge": parts.RandomRidge(dimension=2, samples=10),
    "logistic": parts.RandomLogistic(dimension=2, samples=10),
    "quadratic": parts.RandomQuadratics(dimension=2),
    "noisy quadratic": parts.RandomQuadratics(dimension=2, noise=Noise.SIGNS, spread=0.3),
}

ENDS = ("b", "c", "unknown", "failed", "cannot be built")

HEAD = """# How named attacks end

{attacks} attacks x {graphs} graphs x {losses} losses x {seeds} seeds, T = {rounds}, thresholds
calibrated at level .05.
`cannot be built`: the attack needs a repair turned off, another loss or other agents, and says so.
`python -m benchmarks.attacks --seeds {seeds}` repeats it.

| attack | {columns} |
|---|{rule}|
"""


class Shared:
    """Rehearsals of one problem, run once for all attacks: they do not depend on the attack."""

    def __init__(self) -> None:
        self.known: dict[int, Statistics] = {}

    def __call__(
        self, parameters: ValidParameters, problem: Problem, indices: Sequence[int]
    ) -> list[Statistics]:
        """The statistics of these rehearsals."""
        missing = [index for index in indices if index not in self.known]
        self.known.update(zip(missing, rehearse(parameters, problem, missing), strict=True))
        return [self.known[index] for index in indices]


def ends(graph: str, loss: str, seed: int) -> list[tuple[str, str, str]]:
    """(attack, end, where) of every attack on one problem."""
    shared, found = Shared(), []
    honest = Scenario(
        graph=parts.Family(graph),
        loss=LOSSES[loss],
        rounds=ROUNDS,
        seed=seed,
        byzantine=GRAPHS[graph],
    )
    for name, attack in ATTACKS.items():
        where = f"{graph}, {loss}, seed {seed}"
        try:
            finished = run(attrs.evolve(honest, attack=attack()), rehearsals=shared)
        except (AttackError, TypeError) as error:
            found.append((name, "cannot be built", f"{where}: {error}"))
            continue
        found.append((name, finished.outcome, f"{where}: {finished.judgement.reason}"))
    return found


def main() -> int:
    """Run all, print and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attacks", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    tasks = [(g, loss, seed) for g in GRAPHS for loss in LOSSES for seed in range(options.seeds)]
    counts: dict[str, Counter[str]] = {name: Counter() for name in ATTACKS}
    failed = []
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        waiting = [pool.submit(ends, *task) for task in tasks]
        for done, one in enumerate(concurrent.futures.as_completed(waiting), start=1):
            for attack, end, where in one.result():
                counts[attack][end] += 1
                if end == "failed":
                    failed.append(f"{attack}, {where}")
            sys.stderr.write(f"\r{done} of {len(tasks)} problems")
    text = HEAD.format(
        attacks=len(counts),
        graphs=len(GRAPHS),
        losses=len(LOSSES),
        seeds=options.seeds,
        rounds=ROUNDS,
        columns=" | ".join(ENDS),
        rule="---|" * (len(ENDS) - 1) + "---",
    )
    for attack, ended in counts.items():
        text += f"| {attack} | {' | '.join(str(ended[end]) for end in ENDS)} |\n"
    print(text)
    for line in failed:
        print(f"failed: {line}")
    if options.write is not None:
        options.write.write_text(text)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
