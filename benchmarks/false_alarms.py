"""How often honest runs alarm under calibrated thresholds, each with a calibration of its own.

    python -m benchmarks.false_alarms [--runs 1000] [--jobs 2] [--keep FILE] [--write TABLE]

Every run has its own problem, its own rehearsals and its own mini-batches, all of its own seed,
so that the count of alarms is binomial. An interrupted study goes on where it stopped.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from valid_ref import run
from valid_ref.guarantees.proportion import clopper_pearson
from valid_ref.losses import Noise
from valid_ref.protocols.global_validate import statistic_alarms
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.rehearse import learn_together

AGENTS, ROUNDS = 5, 30

HEAD = """# False alarms of calibrated thresholds

Honest runs on a complete graph of {agents} agents, T = {rounds}, thresholds calibrated at level
{level} with {rehearsals} rehearsals and {pilots} pilots for every single run (GU-12).
`{command}` repeats it.

| problem | runs | alarms | share | 95 % upper end (Clopper-Pearson) |
|---|---|---|---|---|
"""


def heavy_tailed(seed: int) -> parts.Ridge:
    """Least squares on data with the tails of Student's t with two degrees of freedom."""
    generator = np.random.default_rng([seed, 2])
    agents = []
    for _agent in range(AGENTS):
        features = generator.standard_t(2, size=(15, 2))
        features /= np.maximum(1.0, np.abs(features).max() / 3)
        targets = features.sum(axis=1) + generator.standard_t(2, size=15)
        agents.append(
            parts.DataAgent(tuple(map(tuple, features.tolist())), tuple(targets.tolist()))
        )
    return parts.Ridge(tuple(agents), ridge=0.5)


PROBLEMS: dict[str, Callable[[int], parts.LossPart]] = {
    "ridge": lambda _seed: parts.RandomRidge(dimension=3, samples=15),
    "logistic": lambda _seed: parts.RandomLogistic(dimension=3, samples=15),
    "quadratic with noise": lambda _seed: parts.RandomQuadratics(
        dimension=3, noise=Noise.SIGNS, spread=0.5
    ),
    "heavy-tailed data": heavy_tailed,
}


def scenario(problem: str, seed: int) -> Scenario:
    """One honest run: everything about it comes from its seed."""
    return Scenario(
        graph=parts.Family(f"complete:{AGENTS}"),
        loss=PROBLEMS[problem](seed),
        rounds=ROUNDS,
        seed=seed,
        checks=(parts.Check("t^1"), parts.Check("late", parts.Exponential(0.9))),
    )


def alarms_of(problem: str, seed: int) -> list[str]:
    """The alarms of one honest run; every fiftieth by the whole protocol as well."""
    chosen = scenario(problem, seed)
    prepared = prepare(chosen)
    agents = range(AGENTS)
    sources = [prepared.problem.gradient_source(agent) for agent in agents]
    (learned,) = learn_together(prepared.parameters, [sources])
    if learned is None or not learned.within_bounds:
        return ["out of range or bounds"]
    pairs = zip(prepared.parameters.weightings, learned.statistics, strict=True)
    found = [
        raised.alarm.name
        for weighting, statistics in pairs
        for raised in statistic_alarms(prepared.parameters, weighting, *statistics)
    ]
    if seed % 50 == 0:
        states = run(chosen).execution.states.values()
        raised = [[one.alarm.name for one in state.memory.alarms] for state in states]
        expected = found and [*found, *["NEIGHBOUR_ALARM"] * (AGENTS - 1)]
        if any(one != expected for one in raised):
            raise RuntimeError(f"{problem}, seed {seed}: the protocol says {raised}, not {found}")
    return found


def piece(problem: str, seeds: list[int]) -> list[tuple[int, list[str]]]:
    """Some runs, in whatever process."""
    return [(seed, alarms_of(problem, seed)) for seed in seeds]


def study(runs: int, jobs: int, keep: Path) -> dict[str, dict[int, list[str]]]:
    """All runs; those that are in the file are not run again."""
    found: dict[str, dict[int, list[str]]] = {name: {} for name in PROBLEMS}
    if keep.exists():
        for line in keep.read_text().splitlines():
            one = json.loads(line)
            found[one["problem"]][one["seed"]] = one["alarms"]
    tasks = []
    for name in PROBLEMS:
        missing = [seed for seed in range(runs) if seed not in found[name]]
        tasks += [(name, missing[begin : begin + 20]) for begin in range(0, len(missing), 20)]
    context = multiprocessing.get_context("spawn")
    with (
        concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as pool,
        keep.open("a") as file,
    ):
        waiting = {pool.submit(piece, *task): task for task in tasks}
        for count, done in enumerate(concurrent.futures.as_completed(waiting), start=1):
            name = waiting[done][0]
            for seed, alarms in done.result():
                found[name][seed] = alarms
                record = {"problem": name, "seed": seed, "alarms": alarms}
                file.write(json.dumps(record) + "\n")
            file.flush()
            sys.stderr.write(f"\r{count} of {len(tasks)} pieces")
    return found


def main() -> int:
    """Exit status 1 if a share is above the level."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.false_alarms", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("false-alarms.jsonl"))
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    found = study(options.runs, options.jobs, options.keep)
    part = parts.CalibratedThresholds()
    text = HEAD.format(
        agents=AGENTS,
        rounds=ROUNDS,
        level=part.level,
        rehearsals=part.runs,
        pilots=part.pilots,
        command=f"python -m benchmarks.false_alarms --runs {options.runs}",
    )
    worst = 0.0
    for name, runs in found.items():
        chosen = [alarms for seed, alarms in runs.items() if seed < options.runs]
        count = sum(map(bool, chosen))
        worst = max(worst, count / len(chosen))
        upper = clopper_pearson(count, len(chosen), 0.95)[1]
        text += f"| {name} | {len(chosen)} | {count} | {count / len(chosen):.4f} | {upper:.4f} |\n"
    print(text)
    if options.write is not None:
        options.write.write_text(text)
    return int(worst > part.level)


if __name__ == "__main__":
    raise SystemExit(main())
