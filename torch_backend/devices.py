"""What results depend on in a GPU: its settings while floats are made, its model, its drivers."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch

DRIVER = Path("/sys/module/nvidia/version")
"""Where Linux says which driver is at work."""


@contextlib.contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """Within the block a GPU makes the same floats every time, and products in full float32.

    These settings are those of the whole library, so that they are put back behind it: no TF32 in
    products and convolutions, no algorithm that is chosen by its speed, none that adds in another
    order every time. What is made outside, integers and exact sums, does not need them.

    Implements: EX-11.
    """
    if device.type == "cpu":
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    warning = torch.is_deterministic_algorithms_warn_only_enabled()
    precision = torch.get_float32_matmul_precision()
    cudnn = torch.backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=True, allow_tf32=False
    )
    try:
        torch.use_deterministic_algorithms(mode=True)
        torch.set_float32_matmul_precision("highest")
        with cudnn:
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.use_deterministic_algorithms(mode=before, warn_only=warning)


def facts_of(device: torch.device) -> dict[str, str | None]:
    """Model and capability of a GPU, and the versions of its driver and libraries; {} for others.

    Implements: EX-14.
    """
    if device.type != "cuda":
        return {}
    found = torch.cuda.get_device_properties(device)
    cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return {
        "gpu": found.name,
        "capability": f"{found.major}.{found.minor}",
        "driver": DRIVER.read_text().strip() if DRIVER.is_file() else None,
        "cuda": torch.version.cuda or torch.version.hip,
        "cudnn": None if cudnn is None else str(cudnn),
    }
