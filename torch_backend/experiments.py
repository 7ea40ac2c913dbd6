"""All jobs of an experiment, one after the other or several at once; the results do not differ."""

import contextlib
import multiprocessing
import platform
import queue
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import torch

from torch_backend import results
from torch_backend.attacks import NoAttack
from torch_backend.attacks.attack import check_attack
from torch_backend.config.build import (
    build_graph,
    build_program,
    data_digest,
    load_data,
    own_sources,
    tried_model,
)
from torch_backend.config.experiment import Experiment, Job, experiment_document, jobs
from torch_backend.data.dataset import Dataset
from torch_backend.devices import facts_of
from torch_backend.distributed import RefusedElsewhereError, Team, TeamError, share
from torch_backend.errors import BackendError, ConfigError
from torch_backend.job import Work
from torch_backend.process import ALONE, Options, Stop, StoppedError, Watch, locked
from torch_backend.program import require_device
from torch_backend.respond import require_alone, run_any
from torch_backend.rules.rule import check_rule
from valid_ref import __version__
from valid_ref.errors import ValidRefError
from valid_ref.graph import honest_agents
from valid_ref.printable import refusal_of_file
from valid_ref.workers import Spawn

POLL_SECONDS = 0.5
"""How long the first process waits before it looks whether the others are still there."""


class WorkerError(BackendError):
    """A process that ended without saying why."""

    default_clause: ClassVar[str] = "EX-14"


def header(
    experiment: Experiment, dataset: Dataset, options: Options, device: torch.device | None = None
) -> dict[str, Any]:
    """What results are made with: all that could change them.

    The number of processes could not: each gets whole chunks of agents. `device` is that of this
    process, where it is another than the options say.

    Implements: EX-12, EX-14, EX-18.
    """
    model, own = tried_model(experiment, dataset), own_sources(experiment)
    agents = build_graph(experiment).agents
    return {
        "format": results.FORMAT,
        "experiment": experiment_document(experiment),
        "agents": agents,
        "dimension": model.dimension,
        "data": {"name": dataset.name, "sha256": data_digest(dataset)},
        "environment": {
            "device": options.device,
            "threads": options.threads,
            "chunk": options.chunk_of(agents),
            "recorded": options.record,
            "processor": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
            "valid-ref": __version__,
            **facts_of(torch.device(options.device) if device is None else device),
        },
        "jobs": [job.name for job in jobs(experiment)],
    } | ({"own": own} if own else {})


def run_experiment(
    experiment: Experiment,
    directory: Path,
    options: Options,
    *,
    data: Path | None = None,
    processes: int = 1,
    watch: Watch = lambda _job, _round: None,
    stop: Stop = lambda: False,
    team: Team = ALONE,
) -> results.Results:
    """Run every job that is not finished, and gather the results of all.

    `processes` run jobs side by side, each a job of its own; those of the `team` run every job
    together, and the first of them alone touches the directory.

    Implements: EX-14, EX-18.
    """
    team.tell(lambda: _require_fit(team, experiment, options, processes))
    dataset = load_data(experiment, data)
    own = header(experiment, dataset, options, torch.device(team.device(options.device)))
    team.tell(lambda: require_program(experiment, dataset))
    _require_alike(team, own)
    with contextlib.ExitStack() as held:
        team.tell(lambda: _open(directory, own, held))
        todo = jobs(experiment)
        names = [job.name for job in todo]
        # A run that is validated needs the thresholds of all calibration runs.
        judged = experiment.validate or experiment.response is not None
        parts = _by_purpose(todo) if judged else [todo]
        if processes == 1:
            work = Work(
                directory=directory,
                experiment=experiment,
                dataset=dataset,
                options=options,
                team=team,
                header=own,
            )
            for job in todo:
                run_any(work, job, watch, stop)
                team.tell(lambda: results.gather(directory, names))
        else:
            _Several(directory, experiment, data, options, own).run(parts, processes, watch, stop)
        found = team.tell(lambda: _gathered(directory, names))
    return results.Results.of(found)


def _require_fit(team: Team, experiment: Experiment, options: Options, processes: int) -> None:
    """Refuse what cannot be run before anything is: device, parts that do not fit, processes.

    In a team every process must have work, and there are no several jobs at once beside it.

    Implements: EX-8, EX-9, EX-11, EX-18.
    """
    require_device(team.device(options.device))
    if processes > 1 and team.processes > 1:
        raise ConfigError(
            f"{processes} jobs at once under torchrun: its {team.processes} processes share every "
            "job; leave out --jobs, or start without torchrun",
            clause="EX-18",
        )
    require_alone(team, experiment.rules)
    graph = build_graph(experiment)
    honest_agents(graph, experiment.byzantine)  # refuses an agent that the graph has not
    for rule in experiment.rules:
        check_rule(rule, graph)
    for attack in experiment.attacks:
        if not isinstance(attack, NoAttack):
            check_attack(attack, graph, experiment.byzantine)
    share(team, graph.agents, options.chunk_of(graph.agents))


def require_program(experiment: Experiment, dataset: Dataset) -> None:
    """Refuse what the first job is not made of: numbers that do not go together, a wrong start."""
    build_program(experiment, jobs(experiment)[0], dataset, torch.device("cpu"))


def _require_alike(team: Team, own: dict[str, Any]) -> None:
    """Refuse processes that would not compute the same: other data, versions or processors.

    Implements: EX-18.
    """
    first = team.tell(lambda: own)
    differences = [] if team.first else results.header_differences(first, own)
    refused = team.any(bool(differences))
    if differences:
        raise TeamError(f"process {team.rank} differs from the first in {differences[0]}")
    if refused:
        raise RefusedElsewhereError("another process differs from the first")


def _open(directory: Path, own: dict[str, Any], held: contextlib.ExitStack) -> None:
    """Start or go on in a directory, and hold it alone."""
    results.open_results(directory, own)
    if not held.enter_context(locked(directory, wait=False)):
        raise ConfigError(f"another run is at work in {directory}", clause="EX-14")


def _gathered(directory: Path, names: Sequence[str]) -> dict[str, Any]:
    results.gather(directory, names)
    return results.read_results(directory).document()


def _by_purpose(todo: Sequence[Job]) -> list[Sequence[Job]]:
    calibration = [job for job in todo if job.purpose != "measure"]
    return [calibration, [job for job in todo if job.purpose == "measure"]]


@attrs.frozen
class _Several:
    """Several processes that take jobs from a common list."""

    directory: Path
    experiment: Experiment
    data: Path | None
    options: Options
    header: dict[str, Any]

    def run(self, parts: Sequence[Sequence[Job]], processes: int, watch: Watch, stop: Stop) -> None:
        """Hand out the jobs, part after part; stop everybody when one fails or when asked to."""
        context = Spawn()
        tasks: Any = context.Queue()
        reports: Any = context.Queue()
        halt = context.Event()
        count = min(processes, max(map(len, parts)))
        workers = [
            context.Process(target=_work, args=(self, tasks, reports, halt)) for _ in range(count)
        ]
        for worker in workers:
            worker.start()
        failures: list[ValidRefError] = []
        waiting, left = [*parts, [None] * count], 0
        try:
            while any(worker.is_alive() for worker in workers) or not reports.empty():
                while waiting and not left:
                    for task in waiting[0]:
                        tasks.put(task)
                    left = sum(task is not None for task in waiting.pop(0))
                if stop() or any(worker.exitcode for worker in workers):
                    halt.set()
                with contextlib.suppress(queue.Empty):
                    report = reports.get(timeout=POLL_SECONDS)
                    if isinstance(report, ValidRefError):
                        failures.append(report)
                        halt.set()
                    elif report is None:
                        left -= 1
                        results.gather(self.directory, [job.name for job in jobs(self.experiment)])
                    else:
                        watch(*report)
        except BaseException:  # a second Ctrl-C: nobody begins another round
            halt.set()
            raise
        tasks.cancel_join_thread()
        codes = [worker.exitcode for worker in workers if worker.exitcode]
        failures += [WorkerError(f"a process ended with code {code}") for code in codes]
        if failures:
            raise failures[0]
        if halt.is_set():
            raise StoppedError("stopped")


def _work(several: _Several, tasks: Any, reports: Any, halt: Any) -> None:
    """Take jobs until there are none; end soon after the first process has gone."""
    parent = multiprocessing.parent_process()

    def stop() -> bool:
        return halt.is_set() or parent is None or not parent.is_alive()

    def watch(job: str, t: int) -> None:
        reports.put((job, t))

    dataset = load_data(several.experiment, several.data)
    work = Work(
        several.directory, several.experiment, dataset, several.options, header=several.header
    )
    try:
        while not stop():
            with contextlib.suppress(queue.Empty):
                job = tasks.get(timeout=POLL_SECONDS)
                if job is None:
                    return
                run_any(work, job, watch, stop)
                reports.put(None)
    except ValidRefError as error:
        reports.put(error)
    except OSError as error:  # a full disk, most of all: what is there stays whole
        reports.put(WorkerError(refusal_of_file(error)))
