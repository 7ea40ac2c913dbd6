"""Models as pure functions of a flat vector of parameters, for many agents at once.

A model of your own is a class with the methods of `Model`, or a `ModuleModel` around any
torch.nn.Module; a class of options that builds it; and the name of that class in the union below.
"""

from torch_backend.models.mlp import Mlp, MlpModel, Softmax, SoftmaxRegression
from torch_backend.models.model import Model
from torch_backend.models.module import Cnn, ModuleModel

ModelPart = Mlp | Softmax | Cnn
"""The options of any named model; told apart by their kind."""

__all__ = [
    "Cnn",
    "Mlp",
    "MlpModel",
    "Model",
    "ModelPart",
    "ModuleModel",
    "Softmax",
    "SoftmaxRegression",
]
