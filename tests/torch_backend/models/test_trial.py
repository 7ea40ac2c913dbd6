"""Models that somebody brings are tried before a run; each way to be none has its own refusal."""

from typing import Any

import attrs
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from torch_backend.errors import ModelError
from torch_backend.models import MODELS, ModuleModel
from torch_backend.models.trial import require_model

FEATURES, CLASSES = 6, 3


def module(*layers: nn.Module) -> ModuleModel:
    return ModuleModel(nn.Sequential(*layers, nn.Linear(FEATURES, CLASSES)), FEATURES)


@pytest.mark.checks("EX-20")
def test_models_that_are_good_pass() -> None:
    for part in MODELS.known[:2]:
        require_model(part().build(FEATURES, CLASSES), FEATURES, CLASSES, "good")
    for layers in ((), (nn.LayerNorm(FEATURES),), (nn.GELU(), nn.Dropout(0.0))):
        require_model(module(*layers), FEATURES, CLASSES, "good")


class Cube(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x**3


class Centred(nn.Module):
    """Statistics of a batch that no layer is known for."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0, keepdim=True)


class Choosing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class Noisy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.randn_like(x)


@attrs.frozen(eq=False)
class Wrapped:
    """A good model, one answer of which is changed."""

    model: ModuleModel
    change: str

    dimension = property(lambda self: self.model.dimension)

    def initial(self, seed: int) -> np.ndarray:
        found = self.model.initial(seed)
        return {
            "short start": found[:-1],
            "random start": found + np.random.default_rng().random(),
            "start not finite": found * np.inf,
        }.get(self.change, found)

    def gradients(self, points: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        losses, found = self.model.gradients(points, images, labels)
        return {
            "sums": (losses.sum(), found),
            "short": (losses, found[:, :-1]),
            "doubles": (losses, found.double()),
            "random": (losses, found + torch.randn(1)),
            "shared": (losses, found + found.mean(0)),
        }.get(self.change, (losses, found))

    def losses(self, points: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        found = self.model.losses(points, images, labels)
        return found * images.shape[1] if self.change == "loss adds up" else found

    def predictions(self, points: Tensor, images: Tensor) -> Tensor:
        found = self.model.predictions(points, images)
        return {"scores": found.float(), "beyond": found + CLASSES}.get(self.change, found)


@pytest.mark.checks("EX-20")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("short start", "initial gave shape"),
        ("start not finite", "not finite"),
        ("random start", "two starts for one seed"),
        ("sums", r"gradients: losses gave torch.float32 of shape \(\)"),
        ("short", r"gradients gave torch.float32 of shape \(2, 20\)"),
        ("doubles", "gradients gave torch.float64"),
        ("random", "draws at random, or remembers"),
        ("shared", "depends on the batch of another"),
        ("loss adds up", "has statistics of the batch"),
        ("scores", "predictions gave torch.float32"),
        ("beyond", "predictions gave a label that is not in 0..2"),
    ],
)
def test_each_way_to_be_no_model_is_refused(change: str, words: str) -> None:
    require_model(Wrapped(module(), "none"), FEATURES, CLASSES, "mine")
    with pytest.raises(ModelError, match=f"mine: .*{words}"):
        require_model(Wrapped(module(), change), FEATURES, CLASSES, "mine")


@pytest.mark.checks("EX-20")
@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Centred(), "statistics of the batch"),
        (Choosing(), "data-dependent control flow"),
        (Noisy(), "randomness"),
        (nn.Linear(FEATURES, 5), "mine cannot be trained on 6 values and 3 classes: RuntimeError"),
    ],
)
def test_modules_that_cannot_be_trained_are_refused_with_the_reason(
    layer: nn.Module, words: str
) -> None:
    require_model(module(Cube()), FEATURES, CLASSES, "mine")
    with pytest.raises(ModelError, match=words):
        require_model(module(layer), FEATURES, CLASSES, "mine")


@pytest.mark.checks("EX-20")
def test_a_module_with_too_few_scores_is_refused() -> None:
    with pytest.raises(ModelError, match="mine cannot be trained on 6 values and 4 classes"):
        require_model(module(), FEATURES, CLASSES + 1, "mine")


class Constant(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(1))


@pytest.mark.checks("EX-20")
@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.BatchNorm1d(2), r"the module 0 \(BatchNorm1d\) has statistics of batches"),
        (nn.BatchNorm1d(2, track_running_stats=False), "has statistics of batches"),
        (nn.Dropout(0.1), r"the module 0 \(Dropout\) draws at random"),
        (nn.AlphaDropout(0.1), "draws at random"),
        (nn.LSTM(6, 6, 2, dropout=0.1), "draws at random"),
        (nn.TransformerEncoderLayer(6, 2), "draws at random"),
        (Constant(), "the module has buffers, 0.scale"),
        (nn.LazyLinear(3), "has no shape yet"),
        (nn.Linear(6, 6, dtype=torch.complex64), "is torch.complex64: real numbers"),
    ],
)
def test_what_a_module_must_not_have_is_refused_by_name(layer: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        module(layer)
