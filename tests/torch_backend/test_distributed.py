"""Two processes end with the bytes of one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
import torch

from tests.torch_backend import distributed_run
from tests.torch_backend.runs import learn
from torch_backend import checkpoint
from torch_backend.distributed import Part, Whole, join, require_work
from torch_backend.engine import divided
from torch_backend.errors import DeviceError

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.checks("EX-18")
@pytest.mark.parametrize("estimate", ["agents", "counted"])
@pytest.mark.parametrize("name", ["none", "per_edge", "consistent"])
def test_a_state_of_all_agents_is_divided_completely(name: str, estimate: str) -> None:
    """As the processes would have it: every row is that of the whole."""
    whole = distributed_run.a_program(name, estimate)
    state = learn(whole)[0][-1]
    kept = state.estimates.flushed()
    programs = [attrs.evolve(whole, shard=Part(5, rank, 2, 2)) for rank in range(2)]
    parts = [divided(program, state) for program in programs]
    assert torch.equal(torch.cat([part.losses for part in parts]), state.losses)
    for program, part in zip(programs, parts, strict=True):
        rows, edges = part.estimates.rows, [row for row in kept.rows if isinstance(row, tuple)]
        assert rows == (*program.heard, *edges)
        assert part.estimates.own == len(program.agents)
        assert torch.equal(part.models, state.models)
        assert part.estimates.values().items() <= kept.values().items()
    assert divided(whole, state).estimates.statistics() == kept.statistics()


@pytest.mark.checks("EX-11")
def test_two_processes_end_with_the_bytes_of_one(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    common = os.environ | {
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    started = [
        subprocess.Popen(
            [sys.executable, distributed_run.__file__, str(tmp_path / "two")],
            env=common | {"RANK": str(rank)},
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in started:
        _out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    distributed_run.main(tmp_path / "one")
    for name in ("none", "per_edge", "consistent"):
        for estimate in ("agents", "counted"):
            one, two = (tmp_path / where / f"{name}-{estimate}" for where in ("one", "two"))
            program = distributed_run.a_program(name, estimate)
            left, right = checkpoint.load(one, program), checkpoint.load(two, program)
            assert torch.equal(left.models, right.models)
            assert torch.equal(left.said, right.said)
            assert torch.equal(left.losses, right.losses)
            assert left.estimates.statistics() == right.estimates.statistics()
            assert left.estimates.values() == right.estimates.values()
            assert left.estimates.values() == learn(program)[0][-1].estimates.values()


def test_agents_are_divided_completely_and_without_overlap() -> None:
    for agents, processes, chunk in ((20, 3, 1), (7, 2, 2), (5, 5, 1), (6, 4, 1), (20, 2, 4)):
        parts = [Part(agents, rank, processes, chunk) for rank in range(processes)]
        assert [a for part in parts for a in part.agents] == list(range(agents))
        rows = torch.arange(agents)
        assert torch.equal(torch.cat([part.own(rows) for part in parts]), rows)


def test_alone_everything_is_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join(5, torch.device("cpu")) == Whole(5)


def test_a_process_without_work_is_refused() -> None:
    require_work(Part(6, 0, 3, 2))
    with pytest.raises(DeviceError, match="start fewer processes"):
        require_work(Part(6, 0, 4, 2))
