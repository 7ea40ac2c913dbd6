"""One thread a process: the tests run side by side, and small products only lose by threads."""

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What commands keep for later stays out of the cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
