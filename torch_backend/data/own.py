"""Data of one's own: arrays in memory, and arrays in an NPZ file."""

from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np

from torch_backend.arrays import Array, read_file, read_npz
from torch_backend.data.dataset import Dataset, Images, Indices
from torch_backend.errors import DataError

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")
LARGEST = 1 << 34
"""The most bytes of a file, and of an array in it."""


def dataset_of(
    name: str,
    train_images: Array,
    train_labels: Array,
    test_images: Array,
    test_labels: Array,
) -> Dataset:
    """A data set from arrays as people have them: labels of any whole type, images of any float.

    There are as many classes as the largest label says, which begin at 0.

    Implements: EX-20.
    """
    training, test = (
        _labels(f"{name}, {part}", values)
        for part, values in (("train", train_labels), ("test", test_labels))
    )
    largest = max((int(labels.max()) for labels in (training, test) if labels.size), default=0)
    return Dataset(
        name,
        _images(f"{name}, train", train_images),
        training,
        _images(f"{name}, test", test_images),
        test,
        classes=max(2, largest + 1),
    )


def _images(where: str, images: Array) -> Images:
    if images.dtype.kind == "f":
        with np.errstate(over="ignore"):  # what is infinite then is refused
            return np.ascontiguousarray(images, dtype=np.float32)
    if images.dtype != np.uint8:
        raise DataError(
            f"{where}: images of dtype {images.dtype}; save them as uint8 (0..255) or float32"
        )
    return np.ascontiguousarray(images)


def _labels(where: str, labels: Array) -> Indices:
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise DataError(
            f"{where}: labels of dtype {labels.dtype} and shape {labels.shape}; one whole number "
            "for each image is needed"
        )
    return labels.astype(np.int64)  # a copy, as those in a file are read-only


@attrs.frozen
class Npz:
    """The arrays train_images, train_labels, test_images and test_labels of an NPZ file.

    The file is looked for in --data DIR, or else from where the command is run.

    Implements: EX-20.
    """

    kind: ClassVar[str] = "npz"
    file: str

    def load(self, folder: Path | None) -> Dataset:
        """The data set in the file."""
        path = Path(self.file) if folder is None else folder / self.file
        found = read_npz(read_file(path, LARGEST), str(path), LARGEST)
        if set(found) != set(ARRAYS):
            raise DataError(
                f"{path} has the arrays {', '.join(sorted(found)) or 'none'}; needed are "
                f"{', '.join(ARRAYS)}, no more"
            )
        return dataset_of(path.stem, **found)
