"""How often honest runs alarm: each is judged by thresholds from honest runs of its own.

The pilots are common to all, and fixed before anything is judged; given them the verdicts are
independent, and each is an alarm at most with the level of the thresholds (GU-12).
"""

import concurrent.futures
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import attrs

from torch_backend import results
from torch_backend.attacks import NoAttack
from torch_backend.calibrate import alarmed, calibrated
from torch_backend.config.build import (
    build_program,
    calibration_setting,
    load_data,
    measuring_weightings,
)
from torch_backend.config.experiment import Experiment, Job
from torch_backend.data.dataset import Dataset
from torch_backend.engine import advance, diverged, start
from torch_backend.errors import BackendError, ConfigError
from torch_backend.estimates import statistics
from torch_backend.experiments import header, require_program
from torch_backend.process import Options, Stop, StoppedError, locked, prepare_process
from torch_backend.program import Program, require_device
from torch_backend.rules import ValidRule
from torch_backend.segments import segment_groups, segment_setting
from valid_ref.guarantees.calibration import Statistics
from valid_ref.guarantees.proportion import clopper_pearson
from valid_ref.protocols.parameters import Weighting
from valid_ref.workers import Workers

LINES, FOUND = "statistics.jsonl", "false-alarms.json"
FORMAT = "valid-torch/false-alarms/1"
PIECE = 64
"""So many runs a process is given at a time; what they share is made once."""

Known = dict[int, Statistics | None]
"""The statistics of honest runs by seed; None if a run left the range (AR-14)."""

Watch = Callable[[int, int], None]
"""Told how many runs are done, and of how many."""


class StudyError(BackendError):
    """A study of false alarms that cannot be made."""

    default_clause: ClassVar[str] = "EX-19"


@attrs.frozen
class Study:
    """So many honest runs to be judged, each with the calibration runs of its own.

    Seeds are counted from `detection.first_seed` on: the pilots, then for each judged run those
    among which it is ranked and its own. No seed is used twice.

    Implements: EX-19.
    """

    experiment: Experiment
    judged: int

    def __attrs_post_init__(self) -> None:
        if self.judged < 1 or not self.experiment.detection.gammas:
            raise StudyError(
                f"{self.judged} runs to be judged and {len(self.experiment.detection.gammas)} "
                "gammas: both start at 1"
            )

    @property
    def pilots(self) -> tuple[int, ...]:
        """The seeds of the pilots."""
        return self.experiment.detection.pilot_seeds

    def sets(self) -> Iterator[tuple[range, int]]:
        """For every judged run the seeds that it is ranked among, and its own.

        Implements: EX-19.
        """
        part = self.experiment.detection
        first, size = part.first_seed + part.pilots, part.rehearsals + 1
        for begin in range(first, first + self.judged * size, size):
            yield range(begin, begin + size - 1), begin + size - 1

    @property
    def seeds(self) -> list[int]:
        """All seeds in the order in which they are needed."""
        return [*self.pilots, *(seed for ranked, own in self.sets() for seed in (*ranked, own))]


@attrs.frozen
class FalseAlarms:
    """How many of the judged honest runs alarmed; `level` is what was promised.

    Implements: EX-19.
    """

    judged: int
    alarms: int
    level: float

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson at 95 %."""
        return clopper_pearson(self.alarms, self.judged)

    def document(self) -> dict[str, Any]:
        """In a form fit for JSON."""
        low, high = self.interval
        return {
            "judged": self.judged,
            "alarms": self.alarms,
            "rate": self.alarms / self.judged,
            "low": low,
            "high": high,
            "level": self.level,
        }

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.alarms} of {self.judged} honest runs alarm: {self.alarms / self.judged:.4f}, "
            f"95 % interval {low:.4f} to {high:.4f} (Clopper-Pearson); promised is at most "
            f"{self.level:.4f}"
        )


def honest_program(
    experiment: Experiment, dataset: Dataset, options: Options, seed: int
) -> Program:
    """An honest run of VALID whose statistics are kept up."""
    device = prepare_process(options)
    job = Job("calibrate", ValidRule(), NoAttack(), seed)
    program = build_program(experiment, job, dataset, device, measuring_weightings(experiment))
    return attrs.evolve(program, chunk=options.chunk_of(program.graph.agents))


def honest_statistics(
    experiment: Experiment, dataset: Dataset, options: Options, seeds: Sequence[int]
) -> Iterator[tuple[int, Statistics | None]]:
    """The statistics of honest runs with these seeds, one after the other.

    With a common seed the runs share partition and start, which are then made once.

    Implements: EX-10, EX-19.
    """
    common: Program | None = None
    for seed in seeds:
        if common is None or experiment.common_seed is None:
            common = honest_program(experiment, dataset, options, seed)
        program = attrs.evolve(common, seed=seed)
        state = start(program)
        while state.t < program.rounds and not diverged(program, state):
            state, _said = advance(program, state)
        yield seed, None if diverged(program, state) else statistics(program, state)


def judge(study: Study, known: Mapping[int, Statistics | None]) -> FalseAlarms:
    """Count the judged runs that alarm; a run that left the range has alarmed.

    Implements: EX-19.
    """
    pilots, count = [_finished(known, seed) for seed in study.pilots], 0
    for ranked, own in study.sets():
        weightings = _checks(study, pilots, [_finished(known, seed) for seed in ranked])
        run = known[own]
        count += run is None or alarmed(weightings, run)
    return FalseAlarms(study.judged, count, float(_promised(study)))


def _checks(
    study: Study, pilots: Sequence[Statistics], runs: Sequence[Statistics]
) -> Mapping[float, Weighting]:
    """Calibrated checks in the order of the statistics, those of all segments where there are any.

    Implements: EX-19, EX-22.
    """
    if study.experiment.response is None:
        return calibrated(calibration_setting(study.experiment), pilots, runs)
    groups = segment_groups(segment_setting(study.experiment), pilots, runs)
    return dict(enumerate(weighting for group in groups for weighting in group))


def _promised(study: Study) -> Fraction:
    """With what probability an honest run alarms at most."""
    if study.experiment.response is None:
        return calibration_setting(study.experiment).achieved
    return segment_setting(study.experiment).achieved


def _finished(known: Mapping[int, Statistics | None], seed: int) -> Statistics:
    found = known[seed]
    if found is None:
        raise StudyError(
            f"the honest run with seed {seed} diverged: there are no thresholds with a level",
            clause="EX-10",
        )
    return found


def run_study(
    study: Study,
    directory: Path,
    options: Options,
    *,
    data: Path | None = None,
    processes: int = 1,
    watch: Watch = lambda _done, _all: None,
    stop: Stop = lambda: False,
) -> FalseAlarms:
    """Run what is missing, line after line, and judge; the same call goes on where it stopped.

    More runs may be judged in the same directory later: the first ones stay what they are.

    Implements: EX-14, EX-19.
    """
    require_device(options.device)
    dataset = load_data(study.experiment, data)
    require_program(study.experiment, dataset)
    own = header(study.experiment, dataset, options) | {"format": FORMAT}
    del own["jobs"]
    results.open_results(directory, own)
    with locked(directory, wait=False) as alone:
        if not alone:
            raise ConfigError(f"another run is at work in {directory}", clause="EX-14")
        path = directory / LINES
        known, seeds = _read(path), study.seeds
        missing = [seed for seed in seeds if seed not in known]
        runs = (
            honest_statistics(study.experiment, dataset, options, missing)
            if processes == 1
            else _several(study.experiment, data, options, missing, processes)
        )
        with path.open("a", encoding="utf-8") as file:
            for done, (seed, found) in enumerate(runs if missing else (), 1):
                known[seed] = found
                file.write(json.dumps({"seed": seed, "statistics": found}) + "\n")
                file.flush()
                watch(len(seeds) - len(missing) + done, len(seeds))
                if stop():
                    raise StoppedError(f"stopped after {len(known)} runs")
        counted = judge(study, known)
        results.replace_file(directory / FOUND, json.dumps(counted.document(), indent=1) + "\n")
    return counted


def _read(path: Path) -> Known:
    """The lines that are whole; one that a kill cut off is removed, and its run done again."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        results.replace_file(path, whole)
    known: Known = {}
    for line in whole.splitlines():
        entry = json.loads(line)
        pairs = entry["statistics"]
        known[entry["seed"]] = None if pairs is None else tuple((int(o), int(h)) for o, h in pairs)
    return known


def _several(
    experiment: Experiment,
    data: Path | None,
    options: Options,
    seeds: Sequence[int],
    processes: int,
) -> Iterator[tuple[int, Statistics | None]]:
    """The same from several processes, piece after piece as they are ready."""
    pieces = [seeds[begin : begin + PIECE] for begin in range(0, len(seeds), PIECE)]
    with Workers(processes) as pool:
        waiting = [pool.submit(_piece, experiment, data, options, piece) for piece in pieces]
        for one in concurrent.futures.as_completed(waiting):
            yield from one.result()


def _piece(
    experiment: Experiment, data: Path | None, options: Options, seeds: Sequence[int]
) -> list[tuple[int, Statistics | None]]:
    return list(honest_statistics(experiment, load_data(experiment, data), options, seeds))
