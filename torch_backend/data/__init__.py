"""Data sets, how they are dealt to the agents, and the batches that agents draw.

A data set of your own is an NPZ file, or a frozen attrs class with the method `load` of
`DataSource`, whose fields are its options; experiments name it `module:Name`.
"""

from typing import Annotated

from torch_backend.data.dataset import Dataset, DataSource, Digits
from torch_backend.data.mnist import Mnist
from torch_backend.data.own import Npz, dataset_of
from valid_ref.named_parts import NamedParts

DATA = NamedParts(
    what="data set", known=(Mnist, Digits, Npz), group="valid_torch.data", methods=("load",)
)
"""The data sets that an experiment can name, beside those that anybody brings."""

DataPart = Annotated[DataSource, DATA]
"""Any data set of an experiment."""

__all__ = ["DATA", "DataPart", "DataSource", "Dataset", "Digits", "Mnist", "Npz", "dataset_of"]
