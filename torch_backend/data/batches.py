"""The batches of every agent and round, and the images on a device."""

import functools
from typing import Literal

import attrs
import numpy as np
import torch
from torch import Tensor

from torch_backend.data.dataset import Dataset, Flags, Images, Indices
from torch_backend.data.partition import Split
from torch_backend.errors import DataError
from torch_backend.kernels import empty_tensor, sent
from torch_backend.randomness import Stream, generator

Pixels = Literal["standardised", "unit"]


def batch_indices(split: Split, seed: int, agent: int, t: int, size: int) -> Indices:
    """The `size` training images of an agent in round t = 1, 2, ..: a function of the arguments.

    The agent's part, shuffled anew for every epoch, forms one endless sequence, of which round t
    takes the entries from (t - 1) size on. With 3000 images and batches of 300 an epoch is ten
    rounds and every image is seen once in it; where the sizes do not divide, a batch reaches into
    the next epoch.

    Implements: EX-3.
    """
    if size < 1 or t < 1:
        raise DataError(f"a batch of {size} images in round {t}: both must be at least 1")
    part = split.parts[agent]
    first, last = (t - 1) * size, t * size
    pieces = []
    for epoch in range(first // len(part), (last - 1) // len(part) + 1):
        order = epoch_order(seed, agent, epoch, len(part))
        start = epoch * len(part)
        pieces.append(part[order[max(first - start, 0) : last - start]])
    return np.concatenate(pieces)


@functools.lru_cache(maxsize=512)
def epoch_order(seed: int, agent: int, epoch: int, count: int) -> Indices:
    """The order in which an agent goes through its `count` images in an epoch, read-only.

    The rounds of an epoch ask for the same order, so that it is remembered.
    """
    order = generator(seed, Stream.BATCHES, agent, epoch).permutation(count).astype(np.int64)
    order.setflags(write=False)
    return order


@attrs.frozen(eq=False)
class DeviceData:
    """All images on a device as float32 rows, rotated and scaled once; labels as int64."""

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    classes: int

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Images [A, K, F] and labels [A, K] of the training images [A, K]."""
        flat = sent(indices.reshape(-1), self.images.device)
        images = empty_tensor((len(flat), self.features), self.images.dtype, self.images.device)
        torch.index_select(self.images, 0, flat, out=images)
        labels = self.labels.index_select(0, flat)
        return images.reshape(*indices.shape, -1), labels.reshape(indices.shape)

    @property
    def features(self) -> int:
        """F: the number of pixels of an image."""
        return int(self.images.shape[1])


def device_data(dataset: Dataset, split: Split, pixels: Pixels, device: torch.device) -> DeviceData:
    """Rotate what the split turns, scale the pixels, and put everything on the device.

    `unit`: pixels in [0, 1]; floats as they are. `standardised`: minus the mean and over the
    deviation of all values of the training set, which rotating does not change.

    Implements: EX-3, EX-4, EX-5.
    """
    if pixels not in ("standardised", "unit"):
        raise DataError(f"pixels = {pixels!r} is neither standardised nor unit")
    mean, deviation = pixel_statistics(dataset.train_images)
    whole = dataset.train_images.dtype == np.uint8
    plain = 0.0, dataset.brightest if whole else 1
    offset, scale = (mean, deviation) if pixels == "standardised" else plain
    if scale == 0:
        raise DataError(f"{dataset.name}: all pixels are equal and cannot be standardised")

    def rows(images: Images, turned: Flags) -> Tensor:
        upright = quarter_turned(images, turned, split.quarter_turns).reshape(len(images), -1)
        values = np.arange(256) if whole else upright
        scaled = ((values - np.float64(offset)) / scale).astype(np.float32)
        return torch.from_numpy(scaled[upright] if whole else scaled).to(device)

    return DeviceData(
        rows(dataset.train_images, split.rotated),
        torch.from_numpy(dataset.train_labels).to(device),
        rows(dataset.test_images, split.test_rotated),
        torch.from_numpy(dataset.test_labels).to(device),
        dataset.classes,
    )


def pixel_statistics(images: Images) -> tuple[float, float]:
    """Mean and deviation of all values; of whole pixels from exact integer sums."""
    if images.dtype != np.uint8:
        return float(images.mean(dtype=np.float64)), float(images.std(dtype=np.float64))
    counts = np.bincount(images.reshape(-1), minlength=256).astype(object)
    values = np.arange(256).astype(object)
    total, first, second = int(counts.sum()), int(counts @ values), int(counts @ values**2)
    return first / total, float(np.sqrt((second * total - first * first) / total**2))


def quarter_turned(images: Images, turned: Flags, quarter_turns: int) -> Images:
    """A copy in which the marked images are turned by 90 degrees counter-clockwise, so often."""
    if turned.shape != images.shape[:1]:
        raise DataError(f"{len(turned)} marks for {len(images)} images", clause="EX-4")
    result = images.copy()
    if not turned.any():
        return result
    if images.ndim < 3 or images.shape[-2] != images.shape[-1]:
        raise DataError(
            f"images of shape {images.shape[1:]} are not square and cannot be turned; take another "
            'partition: partition = { kind = "iid" }',
            clause="EX-4",
        )
    result[turned] = np.rot90(images[turned], quarter_turns, axes=(-2, -1))
    return result
