"""Images and labels as they are read, before any agent has them; the digits of scikit-learn."""

import attrs
import numpy as np
import numpy.typing as npt

from torch_backend.errors import DataError
from torch_backend.randomness import Stream, generator

Images = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@attrs.frozen(eq=False)
class Dataset:
    """Training and test images [count, height, width] with their labels 0..classes-1.

    `brightest` is the largest value a pixel can have: pixels in [0, 1] are divided by it.
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
            if int(images.max()) > self.brightest:
                raise DataError(f"{self.name}, {part}: a pixel is above {self.brightest}")
        if self.train_images.shape[1:] != self.test_images.shape[1:]:
            raise DataError(f"{self.name}: training and test images differ in size")

    @property
    def features(self) -> int:
        """F: the number of pixels of an image."""
        return int(self.train_images.shape[1] * self.train_images.shape[2])


def _check_part(where: str, images: Images, labels: Indices, classes: int) -> None:
    if images.dtype != np.uint8 or images.ndim != 3:
        raise DataError(f"{where}: images of dtype {images.dtype} and shape {images.shape}")
    if labels.dtype != np.int64 or labels.shape != images.shape[:1]:
        raise DataError(
            f"{where}: labels of dtype {labels.dtype} and shape {labels.shape} do not go with "
            f"{len(images)} images"
        )
    if images.size == 0:
        raise DataError(f"{where}: there are no images")
    if int(labels.min()) < 0 or int(labels.max()) >= classes:
        raise DataError(f"{where}: a label is not in 0..{classes - 1}")


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
