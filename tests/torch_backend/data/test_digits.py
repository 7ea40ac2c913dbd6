"""The embedded digits: complete, split from the seed, with pixels from 0 to 16."""

import numpy as np
import pytest

from torch_backend.data.dataset import Dataset, load_digits
from torch_backend.errors import DataError


def test_training_and_test_images_are_all_of_them() -> None:
    from sklearn.datasets import load_digits as embedded

    found = load_digits(seed=3)
    assert found.train_images.shape == (1437, 8, 8)
    assert found.test_images.shape == (360, 8, 8)
    images = np.concatenate([found.train_images, found.test_images]).reshape(1797, -1)
    labels = np.concatenate([found.train_labels, found.test_labels])
    together = np.column_stack([images, labels])
    original = np.column_stack([embedded().data.astype(np.uint8), embedded().target])
    assert np.array_equal(np.sort(together, axis=0), np.sort(original, axis=0))
    assert sorted(map(bytes, together.astype(np.uint8))) == sorted(
        map(bytes, original.astype(np.uint8))
    )


def test_the_seed_decides_the_split() -> None:
    assert np.array_equal(load_digits(1).test_images, load_digits(1).test_images)
    assert not np.array_equal(load_digits(1).test_images, load_digits(2).test_images)


@pytest.mark.parametrize("test", [0, 1797, -1])
def test_a_split_needs_images_on_both_sides(test: int) -> None:
    with pytest.raises(DataError):
        load_digits(test=test)


IMAGES = np.zeros((2, 3, 3), np.uint8)
LABELS = np.array([0, 1])


@pytest.mark.parametrize(
    "change",
    [
        {"train_images": IMAGES.astype(np.int16)},
        {"train_images": IMAGES[0]},
        {"train_labels": LABELS[:1]},
        {"train_labels": LABELS.astype(np.int32)},
        {"train_labels": np.array([0, 2])},
        {"test_labels": np.array([0, -1])},
        {"test_images": np.zeros((2, 3, 4), np.uint8)},
        {"test_images": np.full((2, 3, 3), 17, np.uint8)},
        {"test_images": IMAGES[:0], "test_labels": LABELS[:0]},
        {"classes": 1},
        {"brightest": 0},
        {"brightest": 256},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_data_set_that_does_not_fit_together_is_refused(change: dict[str, object]) -> None:
    good: dict[str, object] = {
        "name": "small",
        "train_images": IMAGES,
        "train_labels": LABELS,
        "test_images": IMAGES,
        "test_labels": LABELS,
        "classes": 2,
        "brightest": 16,
    }
    Dataset(**good)
    with pytest.raises(DataError):
        Dataset(**{**good, **change})
