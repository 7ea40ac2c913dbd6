"""Whether a model that somebody brought is what the engine takes it for, tried on a few images."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torch_backend.errors import ModelError
from torch_backend.models.model import Model
from valid_ref.foreign import refusing

AGENTS, IMAGES, SEED = 2, 3, 0
CLOSE = 1e-3
"""How far losses may be apart that are the same but for rounding, relative to the larger."""


def require_model(model: Model, features: int, classes: int, name: str) -> None:
    """Refuse a model that fails, gives tensors of other shapes, or is no function of its arguments.

    The same arguments give the same bytes; what an agent gets depends on its own point and batch
    alone; and the loss of a batch is the mean of the losses of its images.

    Implements: EX-20.
    """
    tried = f"{name} cannot be trained on {features} values and {classes} classes:"
    with refusing(ModelError, tried, clause="EX-20", typed=True):
        wrong = _found_wrong(model, features, classes)
    if wrong is not None:
        raise ModelError(f"{name}: {wrong}")


def _found_wrong(model: Model, features: int, classes: int) -> str | None:
    start, again = model.initial(SEED), model.initial(SEED)
    d = model.dimension
    if start.shape != (d,) or not np.isfinite(start).all():
        return f"initial gave shape {start.shape}, or what is not finite; {d} numbers are needed"
    if not np.array_equal(start, again):
        return "initial gave two starts for one seed: draw from the seed alone"
    stream = np.random.Generator(np.random.Philox(SEED))
    spread = start + 0.01 * stream.standard_normal((AGENTS, d))
    points = torch.from_numpy(spread.astype(np.float32))
    images = torch.from_numpy(stream.random((AGENTS, IMAGES, features), dtype=np.float32))
    labels = torch.tensor([[classes - 1, 0, 1]] * AGENTS)
    losses, gradients = model.gradients(points, images, labels)
    batches = model.losses(points.unsqueeze(1), images, labels)
    guessed = model.predictions(points, images[0])
    shapes = {
        "gradients: losses": (losses, (AGENTS,), torch.float32),
        "gradients": (gradients, (AGENTS, d), torch.float32),
        "losses": (batches, (AGENTS, 1), torch.float32),
        "predictions": (guessed, (AGENTS, IMAGES), torch.int64),
    }
    for what, (tensor, shape, dtype) in shapes.items():
        if tuple(tensor.shape) != shape or tensor.dtype != dtype:
            found = f"{tensor.dtype} of shape {tuple(tensor.shape)}"
            return f"{what} gave {found} where {dtype} of shape {shape} is needed"
    if not 0 <= int(guessed.min()) <= int(guessed.max()) < classes:
        return f"predictions gave a label that is not in 0..{classes - 1}"
    return _dependence(model, (points, images, labels), (losses, gradients))


def _dependence(
    model: Model, arguments: tuple[Tensor, Tensor, Tensor], found: tuple[Tensor, Tensor]
) -> str | None:
    """What a result depends on beside its own arguments, if there is something."""
    points, images, labels = arguments
    for first, second in zip(found, model.gradients(*arguments), strict=True):
        if not torch.equal(first, second):
            return "the same arguments gave two results: it draws at random, or remembers a call"
    changed = images.clone()
    changed[1] = 1 - changed[1]
    if not _close(found[1][0], model.gradients(points, changed, labels)[1][0]):
        return "the gradient of one agent depends on the batch of another"
    candidates = points.unsqueeze(1)
    single = torch.stack(
        [model.losses(candidates, images[:, [k]], labels[:, [k]]) for k in range(IMAGES)]
    )
    if not _close(model.losses(candidates, images, labels), single.mean(0)):
        return "the loss of a batch is not the mean over its images: it has statistics of the batch"
    return None


def _close(first: Any, second: Any) -> bool:
    return bool(torch.allclose(first, second, rtol=CLOSE, atol=CLOSE * float(second.abs().max())))
