"""Images and labels as they are read, before any agent has them: of any source, and the digits."""

import math
from pathlib import Path
from typing import ClassVar, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from torch_backend.errors import DataError
from torch_backend.randomness import Stream, generator

Images = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@attrs.frozen(eq=False)
class Dataset:
    """Training and test images [count, ..] with their labels 0..classes-1.

    An image is [height, width], [channels, height, width] or a row of features. It has whole
    pixels 0..255, of which `brightest` is the largest there can be (pixels in [0, 1] are divided
    by it), or float32 values, which are taken as they are.

    Implements: EX-20.
    """

    name: str
    train_images: Images
    train_labels: Indices
    test_images: Images
    test_labels: Indices
    classes: int
    brightest: int = 255

    def __attrs_post_init__(self) -> None:
        if self.classes < 2:
            raise DataError(f"{self.name}: {self.classes} classes, at least 2 are needed")
        if not 1 <= self.brightest <= 255:
            raise DataError(f"{self.name}: the brightest pixel {self.brightest} is not in 1..255")
        for part in ("train", "test"):
            images, labels = getattr(self, f"{part}_images"), getattr(self, f"{part}_labels")
            _check_part(f"{self.name}, {part}", images, labels, self.classes)
            if images.dtype == np.uint8 and int(images.max()) > self.brightest:
                raise DataError(f"{self.name}, {part}: a pixel is above {self.brightest}")
        training, test = self.train_images, self.test_images
        if (training.shape[1:], training.dtype) != (test.shape[1:], test.dtype):
            raise DataError(
                f"{self.name}: training images are {training.dtype} of shape {training.shape[1:]}, "
                f"test images {test.dtype} of shape {test.shape[1:]}"
            )

    @property
    def features(self) -> int:
        """F: the number of values of an image."""
        return math.prod(self.train_images.shape[1:])


class DataSource(Protocol):
    """Where a data set comes from; the fields are the options."""

    def load(self, folder: Path | None) -> Dataset:
        """The data set, the same every time; `folder` is what --data names, if it does."""


def _check_part(where: str, images: Images, labels: Indices, classes: int) -> None:
    if images.dtype not in (np.uint8, np.float32) or not 2 <= images.ndim <= 4:
        raise DataError(
            f"{where}: images of dtype {images.dtype} and shape {images.shape}; uint8 or float32 "
            "[count, height, width], [count, channels, height, width] or [count, features]"
        )
    if labels.dtype != np.int64 or labels.shape != images.shape[:1]:
        raise DataError(
            f"{where}: labels of dtype {labels.dtype} and shape {labels.shape} do not go with "
            f"{len(images)} images"
        )
    if images.size == 0:
        raise DataError(f"{where}: there are no images")
    if images.dtype == np.float32 and not np.isfinite(images).all():
        raise DataError(f"{where}: a value of an image is not finite")
    if int(labels.min()) < 0 or int(labels.max()) >= classes:
        raise DataError(f"{where}: a label is not in 0..{classes - 1}")


@attrs.frozen
class Digits:
    """The 1797 digits of 8 x 8 pixels that come with scikit-learn; nothing is downloaded."""

    kind: ClassVar[str] = "digits"

    def load(self, folder: Path | None) -> Dataset:  # noqa: ARG002 - the protocol of data sources
        """The digits, split in the one way that experiments use."""
        return load_digits()


TEST_IMAGES = 360
"""A fifth of the images."""


def load_digits(seed: int = 0, test: int = TEST_IMAGES) -> Dataset:
    """The digits, shuffled from the seed and cut into training and test images."""
    try:
        from sklearn.datasets import load_digits as embedded
    except ImportError:
        raise DataError("the data set digits needs scikit-learn: install the extra torch") from None
    found = embedded()
    images, labels = found.images.astype(np.uint8), found.target.astype(np.int64)
    if not 0 < test < len(labels):
        raise DataError(f"{test} test images: there are {len(labels)} images in all")
    order = generator(seed, Stream.TEST_SPLIT).permutation(len(labels))
    training, testing = order[test:], order[:test]
    return Dataset(
        "digits",
        images[training],
        labels[training],
        images[testing],
        labels[testing],
        classes=10,
        brightest=16,
    )
