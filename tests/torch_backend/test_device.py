"""Whole jobs on a pretended device: the same bytes, few waits, and red when somebody adds one."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import pytest
import torch
from torch import Tensor

from tests.torch_backend.pretended import (
    DEVICE,
    LackingError,
    MixedError,
    Pretended,
    PretendedDevice,
    pretending,
)
from torch_backend import lattice
from torch_backend.config.load import load
from torch_backend.experiments import run_experiment
from torch_backend.process import Options
from torch_backend.results import Results
from torch_backend.rules import RULES

ROUNDS, LAST = 5, 4
WAITS = {
    "valid": 1,
    "ubar": 3,
    "bridge-m": 1,
    "bridge-t": 1,
    "bridge-k": 2,
    "bridge-b": 2,
    "clipped-gossip": 2,
}
"""How often the host waits in a round of each rule: once for what it must know of any round, once
for distances, once for losses. Transcripts that are kept for validation take one more."""

ATTACKS = (
    "none",
    "gaussian:sigma=0.1,per_edge=true",
    "gaussian:sigma=0.1,keeps=true",
    "sign-flip:of=mean",
    "alie:z=1.5,per_edge=true",
    "dissensus",
    "isolation",
    "spectral",
    "push",
    "label-flip",
    "silence",
)


@attrs.frozen(eq=False)
class Watched:
    """How often the host had waited when each round of a job ended."""

    device: PretendedDevice
    ends: list[Counter[str]] = attrs.field(factory=list)

    def __call__(self, _job: str, _t: int) -> None:
        self.ends.append(self.device.waits.copy())

    def of(self, t: int) -> Counter[str]:
        """What it waited for in a round from the second on."""
        return self.ends[t - 1] - self.ends[t - 2]


def run(directory: Path, rule: str, attack: str, device: str, watch: Any, **more: Any) -> Results:
    changes = {
        "rules": f'["{rule}"]',
        "attacks": f'["{attack}"]',
        "graph": '{kind="family", name="complete:8"}',
        "byzantine": "[2]",
        "seeds": "[1]",
        "rounds": ROUNDS,
        "batch": 8,
        "evaluation": f"{{every={ROUNDS}}}",
        "detection": "{gammas=[]}",
        "model": '{kind="softmax"}',
        **more,
    }
    experiment = load("demo", changes=[f"{key}={value}" for key, value in changes.items()])
    return run_experiment(experiment, directory, Options(device=device), watch=watch)


def same_on_a_device(directory: Path, rule: str, attack: str, **more: Any) -> Watched:
    """Run a job on the processor and on the pretended device, and hold the models equal."""
    plain = run(directory / "host", rule, attack, "cpu", lambda _job, _t: None, **more)
    with pretending() as device:
        watched = Watched(device)
        there = run(directory / "device", rule, attack, str(DEVICE), watched, **more)
    for one, other in zip(plain.summaries, there.summaries, strict=True):
        assert {**one, "final": None} == {**other, "final": None}
    return watched


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize("rule", sorted({*RULES.kinds} - {"respond"}))
def test_the_host_waits_so_often_in_a_round_of_each_rule(tmp_path: Path, rule: str) -> None:
    watched = same_on_a_device(tmp_path, rule, "gaussian:sigma=0.1,per_edge=true")
    for t in range(2, LAST + 1):
        assert sum(watched.of(t).values()) == WAITS[rule] <= 3, watched.of(t)


def test_a_run_that_responds_has_rounds_of_other_rules_alone() -> None:
    assert {*RULES.kinds} == {*WAITS, "respond"}


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_makes_the_host_wait(tmp_path: Path, attack: str) -> None:
    watched = same_on_a_device(tmp_path, "valid", attack)
    for t in range(2, LAST + 1):
        assert sum(watched.of(t).values()) == WAITS["valid"], watched.of(t)


@pytest.mark.checks("EX-11", "EX-17")
def test_transcripts_take_one_more_wait(tmp_path: Path) -> None:
    calibrated = "{gammas=[0.9], level=0.5, pilots=1}"
    watched = same_on_a_device(
        tmp_path,
        "valid",
        "gaussian:sigma=0.1,per_edge=true",
        validate="true",
        detection=calibrated,
    )
    for t in range(2, LAST + 1):
        of_the_last = watched.ends[-ROUNDS + t - 1] - watched.ends[-ROUNDS + t - 2]
        assert sum(of_the_last.values()) == 2, of_the_last


@pytest.mark.checks("EX-11", "EX-20")
@pytest.mark.parametrize("model", ['{kind="mlp", hidden=[5]}', '{kind="cnn", channels=[2]}'])
def test_own_parts_and_other_models_wait_no_more(tmp_path: Path, model: str) -> None:
    own = "tests.torch_backend.theirs"
    watched = same_on_a_device(tmp_path, f"{own}:Average", f"{own}:Attack", model=model)
    for t in range(2, LAST + 1):
        assert sum(watched.of(t).values()) == 1, watched.of(t)


def with_an_item(function: Callable[..., Any]) -> Callable[..., Any]:
    def careless(parameters: Any, t: int, Y: Tensor, *others: Any, **more: Any) -> Any:
        assert isinstance(Y[0, 0].item(), int)
        return function(parameters, t, Y, *others, **more)

    return careless


@pytest.mark.checks("EX-11")
def test_one_more_look_at_a_number_is_noticed(tmp_path: Path) -> None:
    with (
        mock.patch.object(lattice, "step", with_an_item(lattice.step)),
        pytest.raises(AssertionError, match="_local_scalar_dense"),
    ):
        test_the_host_waits_so_often_in_a_round_of_each_rule(tmp_path, "valid")


def sums_of_integers(_parameters: Any, graph: Any, agents: Any, models: Tensor) -> Tensor:
    return lattice.adjacency(graph, agents, models.device).long() @ models


def sums_on_the_host(_parameters: Any, graph: Any, agents: Any, models: Tensor) -> Tensor:
    return models + lattice.adjacency(graph, agents, torch.device("cpu")).long().sum(1)[:, None]


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize(
    ("sums", "error"), [(sums_of_integers, LackingError), (sums_on_the_host, MixedError)]
)
def test_what_a_device_cannot_do_is_noticed(
    tmp_path: Path, sums: Callable[..., Tensor], error: type[Exception]
) -> None:
    with (
        pretending() as device,
        mock.patch.object(lattice, "neighbour_sums", sums),
        pytest.raises(error),
    ):
        run(tmp_path, "valid", "none", str(DEVICE), Watched(device))


@pytest.fixture
def device() -> Iterator[PretendedDevice]:
    with pretending() as found:
        yield found


WAITING: dict[str, Callable[[Tensor], Any]] = {
    "a number": lambda x: x[0, 0].item(),
    "whether": lambda x: bool((x > 0).any()),
    "a list": lambda x: x.tolist(),
    "a copy on the host": lambda x: x.cpu(),
    "equality": lambda x: torch.equal(x, x + 1),
    "where something is": torch.nonzero,
    "what is chosen by a mask": lambda x: x[x > 0],
    "rows by numbers of the host": lambda x: x[torch.tensor([0, 1])],
    "numbers of the host": lambda x: x + torch.arange(4).to(x.device),
    "different numbers": torch.unique,
    "a copy into": lambda x: x.copy_(torch.zeros(3, 4, dtype=torch.int64)),
}


@pytest.mark.parametrize("what", WAITING)
def test_the_check_counts_what_the_host_waits_for(device: PretendedDevice, what: str) -> None:
    x = torch.zeros((3, 4), dtype=torch.int64, device=DEVICE)
    assert isinstance(x, Pretended)
    WAITING[what](x)
    assert device.waits.total() == 1


def test_the_check_does_not_count_what_goes_on_by_itself(device: PretendedDevice) -> None:
    x = torch.arange(12).pin_memory().to(DEVICE, non_blocking=True).reshape(3, 4)
    x[1] += 5
    x.index_select(0, x[0, :2]).masked_fill_(x[:2] > 3, 0)
    assert not device.waits
    assert x.tolist() == [[0, 1, 2, 3], [9, 10, 11, 12], [8, 9, 10, 11]]
    with pytest.raises(TypeError, match="no array of numpy"):
        x.numpy()
    for product in (torch.mm, torch.matmul):
        with pytest.raises(LackingError):
            product(x, x.t())
    with pytest.raises(MixedError, match="numbers of a list"):
        x[[0, 1]]
    for other in (torch.ones(4, dtype=torch.int64), torch.tensor([1, 2, 3, 4], device=DEVICE)):
        with pytest.raises(MixedError):
            torch.add(x, other)
