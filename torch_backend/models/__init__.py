"""Models as pure functions of a flat vector of parameters, for many agents at once.

A model of your own is a frozen attrs class of options with the method `build`, which makes a
`ModuleModel` around a torch.nn.Module, or anything else with the methods of `Model`; experiments
name the class of options `module:Name`.
"""

from typing import Annotated

from torch_backend.models.mlp import Mlp, MlpModel, Softmax, SoftmaxRegression
from torch_backend.models.model import Model, ModelOptions
from torch_backend.models.module import Cnn, ModuleModel
from valid_ref.named_parts import NamedParts

MODELS = NamedParts(
    what="model",
    known=(Mlp, Softmax, Cnn),
    group="valid_torch.models",
    methods=("build",),
)
"""The models that an experiment can name, beside those that anybody brings."""

ModelPart = Annotated[ModelOptions, MODELS]
"""The options of any model of an experiment."""

__all__ = [
    "MODELS",
    "Cnn",
    "Mlp",
    "MlpModel",
    "Model",
    "ModelOptions",
    "ModelPart",
    "ModuleModel",
    "Softmax",
    "SoftmaxRegression",
]
