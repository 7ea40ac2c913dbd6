"""The handwritten digits that come with scikit-learn: 1797 images of 8 x 8, no download."""

import numpy as np

from torch_backend.data.dataset import Dataset
from torch_backend.errors import DataError
from torch_backend.randomness import Stream, generator

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
