"""The settings with which floats are made, the facts that a run is stored with, refused devices."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch

from tests.torch_backend.pretended import DEVICE, pretending
from torch_backend import devices, experiments
from torch_backend.config.load import load
from torch_backend.devices import facts_of, repeatable
from torch_backend.errors import ConfigError, DeviceError
from torch_backend.experiments import run_experiment
from torch_backend.models.mlp import MlpModel
from torch_backend.process import Options
from torch_backend.program import require_device

PINNED = ("highest", True, False, True, False)
CHANGES = (
    'rules=["ubar"]',
    'attacks=["none"]',
    "seeds=[1]",
    "rounds=2",
    "byzantine=[]",
    'graph={kind="family", name="complete:4"}',
)


def settings() -> tuple[Any, ...]:
    cudnn = torch.backends.cudnn
    return (
        torch.get_float32_matmul_precision(),
        torch.are_deterministic_algorithms_enabled(),
        cudnn.allow_tf32,
        cudnn.deterministic,
        cudnn.benchmark,
    )


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize("method", ["gradients", "losses", "predictions"])
def test_floats_are_made_with_pinned_settings_and_nothing_else_is(
    tmp_path: Path, method: str
) -> None:
    before, found, real = settings(), [], getattr(MlpModel, method)

    def watched(self: Any, *arguments: Any) -> Any:
        found.append(settings())
        return real(self, *arguments)

    outside: list[tuple[Any, ...]] = []
    with pretending(), mock.patch.object(MlpModel, method, watched):
        run_experiment(
            load("demo", quick=True, changes=CHANGES),
            tmp_path,
            Options(device=str(DEVICE)),
            watch=lambda _job, _t: outside.append(settings()),
        )
    assert set(found) == {PINNED} != {before}
    assert set(outside) == {before} == {settings()}


@pytest.mark.checks("EX-11")
def test_the_settings_are_put_back_after_an_error() -> None:
    before = settings()

    def fails() -> None:
        with repeatable(torch.device("cuda")):
            assert settings() == PINNED
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fails()
    assert settings() == before
    with repeatable(torch.device("cpu")):
        assert settings() == before


@pytest.mark.checks("EX-14")
def test_the_facts_of_a_gpu(tmp_path: Path) -> None:
    assert facts_of(torch.device("cpu")) == {}
    driver = tmp_path / "version"
    gpu = SimpleNamespace(name="A100", major=8, minor=0)
    with (
        mock.patch.object(torch.cuda, "get_device_properties", return_value=gpu),
        mock.patch.object(devices, "DRIVER", driver),
    ):
        assert facts_of(torch.device("cuda"))["driver"] is None
        driver.write_text("550.54\n")
        found = facts_of(torch.device("cuda:1"))
    assert {**found, "cuda": None, "cudnn": None} == {
        "gpu": "A100",
        "capability": "8.0",
        "driver": "550.54",
        "cuda": None,
        "cudnn": None,
    }


@pytest.mark.checks("EX-14")
def test_a_run_does_not_go_on_with_another_driver(tmp_path: Path) -> None:
    experiment = load("demo", quick=True, changes=CHANGES)
    for driver in ("550", "550", "560"):
        with mock.patch.object(experiments, "facts_of", return_value={"driver": driver}):
            if driver == "560":
                with pytest.raises(ConfigError, match=r'environment.driver: "550" there, "560"'):
                    run_experiment(experiment, tmp_path / "run", Options())
            else:
                run_experiment(experiment, tmp_path / "run", Options())


@pytest.mark.checks("EX-11")
def test_a_device_without_float64_is_refused() -> None:
    with pytest.raises(DeviceError, match="'mps' cannot be used: it has no float64"):
        require_device("mps")
