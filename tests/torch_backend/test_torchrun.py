"""An experiment under torchrun ends with the bytes of one process, killed or not."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.torch_backend.killing import EXPERIMENT, contents
from tests.torch_backend.test_distributed import free_port
from torch_backend.config.load import load
from torch_backend.distributed import (
    Alone,
    Group,
    RefusedElsewhereError,
    TeamError,
    assemble,
    local_device,
)
from torch_backend.errors import BackendError, ConfigError, DeviceError
from torch_backend.experiments import run_experiment
from torch_backend.models.mlp import SoftmaxRegression
from torch_backend.process import Options, StoppedError

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
"""More than any of these runs may take; one that hangs fails."""


def started(scratch: Path, *others: str, processes: int = 2) -> "subprocess.Popen[str]":
    """The experiment under torchrun, in the directory `run`."""
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
        "-m",
        "torch_backend",
        "run",
        "tiny.toml",
        "-o",
        "run",
        "--no-cache",
        *others,
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command,
        cwd=scratch,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def stopped_at(turns: int) -> Callable[[], bool]:
    asked = iter(range(turns + 1))
    return lambda: next(asked) == turns


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(EXPERIMENT.replace("bridge-m", "ubar"))
    return str(path)


@pytest.mark.checks("EX-11", "EX-18")
def test_what_one_process_began_two_end_with_the_same_bytes(tmp_path: Path, tiny: str) -> None:
    """All files, among them a recording; the first job goes on in its seventh round."""
    fewer = ("detection.level=0.5", "detection.pilots=1")
    experiment = load(tiny, changes=["validate=true", *fewer])
    options = Options(record=True)
    run_experiment(experiment, tmp_path / "whole", options)
    with pytest.raises(StoppedError, match="stopped after round 6"):
        run_experiment(experiment, tmp_path / "run", options, stop=stopped_at(6))
    run = started(tmp_path, "--record", *(word for one in fewer for word in ("--set", one)))
    printed, errors = run.communicate(timeout=SECONDS)
    assert run.returncode == 0, errors
    assert printed.count("6 jobs of 12 rounds") == 1  # said by one process
    assert "Warning" not in errors
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
    timing = (tmp_path / "run" / "timing.jsonl").read_text().splitlines()
    done = [(line["rounds"], line["processes"]) for line in map(json.loads, timing)]
    assert done == [(6, 2)] + 5 * [(12, 2)]


def children(pid: int) -> list[int]:
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def alive(pid: int) -> bool:
    """Whether it runs; one that has ended may wait to be noticed."""
    path = Path(f"/proc/{pid}/stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for processes in /proc")
@pytest.mark.checks("EX-14", "EX-18")
@pytest.mark.parametrize(
    ("victim", "number"),
    [
        ("torchrun", signal.SIGKILL),
        ("torchrun", signal.SIGTERM),
        ("torchrun", signal.SIGINT),
        ("first", signal.SIGKILL),
        ("second", signal.SIGKILL),
        ("second", signal.SIGINT),
    ],
)
def test_a_killed_process_ends_all_and_the_next_call_goes_on(
    tmp_path: Path, tiny: str, victim: str, number: signal.Signals
) -> None:
    longer = load(tiny, changes=["rounds=100"])
    run_experiment(longer, tmp_path / "whole", Options())
    begun = 1 + random.Random(f"{victim} {number}").randrange(8)
    arguments = ("--set", "rounds=100", "-q", "--checkpoint-every", "10")
    run = started(tmp_path, *arguments)
    while run.poll() is None and len([*(tmp_path / "run").glob("jobs/*/curve.csv")]) < begun:
        time.sleep(0.01)
    workers = children(run.pid)
    os.kill({"torchrun": run.pid, "first": workers[0], "second": workers[1]}[victim], number)
    _printed, errors = run.communicate(timeout=SECONDS)
    assert run.returncode != 0
    deadline = time.monotonic() + SECONDS
    while any(map(alive, workers)):
        assert time.monotonic() < deadline, errors
        time.sleep(0.01)
    assert contents(tmp_path / "run") != contents(tmp_path / "whole")
    again = started(tmp_path, *arguments)
    _printed, errors = again.communicate(timeout=SECONDS)
    assert again.returncode == 0, errors
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


@pytest.mark.deep
@pytest.mark.checks("EX-18")
def test_processes_without_torchrun_end_when_one_of_them_dies() -> None:
    program = (
        "import os; from torch_backend.distributed import assemble\n"
        "team = assemble('cpu'); team.any(False)\n"
        "if team.rank: os._exit(9)\n"
        "team.any(False)"
    )
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    both = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment | {"RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    _printed, errors = both[0].communicate(timeout=SECONDS)
    both[1].communicate(timeout=SECONDS)
    assert both[1].returncode == 9
    assert "TeamError: a process of the group has ended" in errors


class Line:
    """Two processes in one: what the first hands out is kept for the second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[bytes] = []
        monkeypatch.setattr(Group, "hand_out", self._hand_out)
        monkeypatch.setattr(Group, "any", lambda _team, flag: flag)
        self.first, self.second = (Group(rank, 2, rank, None) for rank in range(2))

    def _hand_out(self, data: bytes) -> bytes:
        if data:
            self.sent.append(data)
            return data
        return self.sent.pop(0)


@pytest.mark.checks("EX-18")
def test_what_the_first_finds_or_refuses_is_told_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch)
    for value in ({"a": [1, 2.5, None]}, None, 7):
        assert line.first.tell(lambda value=value: value) == value
        assert line.second.tell(lambda: pytest.fail("asked the second")) == value

    def refuse() -> None:
        raise ConfigError("no such thing", clause="EX-14")

    with pytest.raises(ConfigError, match="no such thing"):
        line.first.tell(refuse)
    with pytest.raises(RefusedElsewhereError, match=r"no such thing \[EX-14\]"):
        line.second.tell(refuse)


@pytest.mark.checks("EX-18")
def test_processes_that_would_compute_otherwise_are_refused(
    tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line(monkeypatch)
    document: dict[str, Any] = {"environment": {"torch": "1.0"}}
    line.first.tell(lambda: None)  # it fits
    line.first.tell(lambda: None)  # it can be built
    line.first.tell(lambda: document)
    with pytest.raises(TeamError, match=r"process 1 differs from the first in environment\.torch"):
        run_experiment(load(tiny), tmp_path / "run", Options(), team=line.second)
    assert not (tmp_path / "run").exists()


@pytest.mark.checks("EX-18")
@pytest.mark.parametrize(
    ("processes", "chunk", "words"),
    [
        (2, None, "2 jobs at once under torchrun.*leave out --jobs"),
        (1, 4, "4 agents in chunks of 4 leave some of 2 processes without work"),
    ],
)
def test_processes_that_cannot_share_are_refused_once_and_before_anything_is_written(
    tmp_path: Path,
    tiny: str,
    monkeypatch: pytest.MonkeyPatch,
    processes: int,
    chunk: int | None,
    words: str,
) -> None:
    line, options = Line(monkeypatch), Options(chunk=chunk)
    for team, kind in ((line.first, BackendError), (line.second, RefusedElsewhereError)):
        with pytest.raises(kind, match=words) as caught:
            run_experiment(load(tiny), tmp_path / "run", options, processes=processes, team=team)
        assert caught.value.clause == "EX-18"
    assert not (tmp_path / "run").exists()


@pytest.mark.checks("EX-18")
def test_every_process_has_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [local_device("cuda", local) for local in (0, 3)] == ["cuda:0", "cuda:3"]
    assert local_device("cpu", 3) == "cpu"
    for name in ("cuda:1", "mps", "nonsense"):
        with pytest.raises(DeviceError, match="under torchrun: give cpu, or cuda"):
            local_device(name, 0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    with pytest.raises(DeviceError, match="'cuda:3' cannot be used: there are 3 GPUs"):
        assemble("cuda")
    monkeypatch.delenv("WORLD_SIZE")
    alone = assemble("mps")
    assert alone == Alone()
    assert alone.device("cuda:1") == "cuda:1"


@pytest.mark.checks("EX-18")
def test_chunks_do_not_depend_on_the_number_of_processes() -> None:
    assert [Options().chunk_of(agents) for agents in (1, 4, 5, 20)] == [1, 1, 2, 5]
    assert Options(chunk=3).chunk_of(20) == 3
    with pytest.raises(ConfigError, match="chunk = 0"):
        Options(chunk=0)


@pytest.mark.checks("EX-18")
def test_every_call_of_the_model_has_a_shape_that_any_process_would_give_it(
    tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradients of a chunk, and losses of the candidates of one agent."""
    taken, looked = set(), set()
    gradients, losses = SoftmaxRegression.gradients, SoftmaxRegression.losses

    def noted_gradients(model: Any, points: Tensor, *batch: Tensor) -> tuple[Tensor, Tensor]:
        taken.add(len(points))
        return gradients(model, points, *batch)

    def noted_losses(model: Any, points: Tensor, *batch: Tensor) -> Tensor:
        looked.add(points.shape[:2])
        return losses(model, points, *batch)

    monkeypatch.setattr(SoftmaxRegression, "gradients", noted_gradients)
    monkeypatch.setattr(SoftmaxRegression, "losses", noted_losses)
    changes = ["rounds=2", "graph.name=complete:5", "validate=false"]
    run_experiment(load(tiny, changes=changes), tmp_path / "run", Options())
    assert taken == {2}
    assert looked == {(2, 1)}  # itself and floor(.4 * 4) neighbours
