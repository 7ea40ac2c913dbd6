"""The screening rules against other people's code: scipy, and byzfl where it is installed."""

import importlib
import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.torch_backend.rules.screened import parameters_of, received
from torch_backend.rules import BridgeKrum, BridgeMedian, BridgeTrimmed
from torch_backend.rules.bridge import _around_median
from valid_ref.graph_families import complete
from valid_ref.schedule import Precision

BITS = 10
SCALE = 2.0**BITS


def mixed(rule: BridgeKrum | BridgeMedian | BridgeTrimmed, models: np.ndarray) -> np.ndarray:
    graph = complete(len(models))
    parameters = parameters_of(graph, models.shape[1], Precision(8, BITS))
    Y, _ = rule.mix(1, parameters, graph, received(models.tolist()), None)
    assert all(torch.equal(row, Y[0]) for row in Y)
    return Y[0].numpy() / SCALE


def some_models(agents: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1000, 1000, (agents, 30))


@pytest.mark.parametrize("agents", range(3, 12))
def test_trimmed_means_are_those_of_scipy(agents: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    models = some_models(agents, agents)
    for b in range((agents - 1) // 2 + 1):
        # The proportion that trim_mean cuts down to b of n.
        expected = stats.trim_mean(models, (b + 0.5) / agents, axis=0)
        assert np.abs(mixed(BridgeTrimmed(b=b), models) - expected).max() <= 0.5 / SCALE + 1e-9


@pytest.fixture(scope="module")
def aggregators() -> types.ModuleType:
    """byzfl.aggregators alone: the package itself imports torchvision."""
    found = importlib.util.find_spec("byzfl")
    if found is None or not found.submodule_search_locations:
        pytest.skip("byzfl is not installed")
    pytest.importorskip("scipy")
    root = Path(next(iter(found.submodule_search_locations)))
    before = set(sys.modules)
    for name, folder in (("byzfl", root), ("byzfl.utils", root / "utils")):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    try:
        return importlib.import_module("byzfl.aggregators.aggregators")
    finally:
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "byzfl":
                del sys.modules[name]


@pytest.mark.parametrize("agents", [5, 6, 9, 10])
def test_medians_trimmed_means_and_krum_are_those_of_byzfl(
    aggregators: types.ModuleType, agents: int
) -> None:
    for seed in range(5):
        models = some_models(agents, seed)
        reals = models.astype(np.float64)
        assert np.array_equal(mixed(BridgeMedian(), models), aggregators.Median()(reals))
        trimmed = mixed(BridgeTrimmed(b=1), models)
        assert np.abs(trimmed - aggregators.TrMean(f=1)(reals)).max() <= 0.5 / SCALE + 1e-9
        # byzfl counts one neighbour more than Krum's definition, n - f - 1 instead of n - f - 2.
        krum = mixed(BridgeKrum(b=1), models)
        assert np.array_equal(krum, aggregators.Krum(f=2)(reals))


def test_the_mean_around_the_median_is_that_of_byzfl(aggregators: types.ModuleType) -> None:
    for seed in range(5):
        models = some_models(9, seed)
        found = _around_median(list(torch.from_numpy(models)), 6, 1 << BITS).numpy() / SCALE
        expected = aggregators.Meamed(f=3)(models.astype(np.float64))
        assert np.abs(found - expected).max() <= 0.5 / SCALE + 1e-9
