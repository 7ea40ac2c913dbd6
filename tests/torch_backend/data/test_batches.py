"""Batches are a function of seed, agent and round; images are turned and scaled once."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torch_backend.data.batches import (
    batch_indices,
    device_data,
    pixel_statistics,
    quarter_turned,
)
from torch_backend.data.dataset import Dataset, load_digits
from torch_backend.data.partition import Iid, Rotated, Split, equal_parts
from torch_backend.errors import DataError

CPU = torch.device("cpu")


def split_of(count: int, agents: int) -> Split:
    none = np.zeros(count, bool)
    return Split(tuple(equal_parts(count, agents, 0)), none, none)


@pytest.mark.checks("EX-3")
@given(
    count=st.integers(1, 40),
    size=st.integers(1, 25),
    rounds=st.integers(1, 12),
    seed=st.integers(0, 2**32),
)
def test_the_batches_in_a_row_go_through_the_part_epoch_by_epoch(
    count: int, size: int, rounds: int, seed: int
) -> None:
    split = split_of(count, 1)
    batches = [batch_indices(split, seed, 0, t, size) for t in range(1, rounds + 1)]
    assert all(batch.shape == (size,) and batch.dtype == np.int64 for batch in batches)
    sequence = np.concatenate(batches)
    for start in range(0, len(sequence) - count + 1, count):
        assert sorted(sequence[start : start + count]) == list(range(count))
    rest = sequence[len(sequence) // count * count :]
    assert len(set(rest.tolist())) == len(rest)


@pytest.mark.checks("EX-3", "EX-11")
def test_in_the_paper_an_epoch_is_ten_rounds_and_is_shuffled_anew() -> None:
    split = split_of(60000, 20)
    epochs = [
        np.concatenate([batch_indices(split, 5, 7, t, 300) for t in range(e * 10 + 1, e * 10 + 11)])
        for e in range(2)
    ]
    for epoch in epochs:
        assert np.array_equal(np.sort(epoch), np.sort(split.parts[7]))
    assert not np.array_equal(*epochs)


@pytest.mark.checks("EX-11")
def test_seed_agent_and_round_each_matter_and_nothing_else_does() -> None:
    split = split_of(100, 2)
    first = batch_indices(split, 1, 0, 1, 20)
    assert np.array_equal(first, batch_indices(split, 1, 0, 1, 20))
    order = np.argsort(split.parts[0])[np.searchsorted(np.sort(split.parts[0]), first)]
    other = batch_indices(split, 1, 1, 1, 20)
    other_order = np.argsort(split.parts[1])[np.searchsorted(np.sort(split.parts[1]), other)]
    assert not np.array_equal(order, other_order)
    assert not np.array_equal(first, batch_indices(split, 2, 0, 1, 20))
    assert not np.array_equal(first, batch_indices(split, 1, 0, 2, 20))


@pytest.mark.parametrize(("t", "size"), [(0, 1), (1, 0)])
def test_rounds_and_sizes_start_at_one(t: int, size: int) -> None:
    with pytest.raises(DataError):
        batch_indices(split_of(3, 1), 0, 0, t, size)


@pytest.mark.checks("EX-4")
def test_a_quarter_turn_is_counter_clockwise() -> None:
    image = np.array([[[1, 2], [3, 4]]], np.uint8)
    marks = np.array([True])
    assert quarter_turned(image, marks, 1).tolist() == [[[2, 4], [1, 3]]]
    assert quarter_turned(image, marks, 3).tolist() == [[[3, 1], [4, 2]]]
    assert quarter_turned(image, ~marks, 1).tolist() == image.tolist()
    with pytest.raises(DataError, match="not square"):
        quarter_turned(np.zeros((1, 2, 3), np.uint8), marks, 1)
    with pytest.raises(DataError, match="marks"):
        quarter_turned(image, np.array([True, False]), 1)


@given(pixels=st.lists(st.integers(0, 255), min_size=1, max_size=50))
def test_the_statistics_are_those_of_numpy(pixels: list[int]) -> None:
    images = np.array(pixels, np.uint8).reshape(-1, 1, 1)
    mean, deviation = pixel_statistics(images)
    assert mean == pytest.approx(images.mean(), rel=1e-12)
    assert deviation == pytest.approx(images.astype(float).std(), rel=1e-9, abs=1e-12)


@pytest.mark.checks("EX-3", "EX-4", "EX-5")
@pytest.mark.parametrize("pixels", ["unit", "standardised"])
def test_what_lies_on_the_device_is_turned_and_scaled(pixels: str) -> None:
    digits = load_digits()
    split = Rotated().split(digits, 20, 3)
    found = device_data(digits, split, pixels, CPU)
    offset, scale = (0, 16) if pixels == "unit" else pixel_statistics(digits.train_images)
    for images, turned, rows in (
        (digits.train_images, split.rotated, found.images),
        (digits.test_images, split.test_rotated, found.test_images),
    ):
        assert turned.any()
        assert not turned.all()
        for index in (np.flatnonzero(turned)[0], np.flatnonzero(~turned)[0]):
            image = np.rot90(images[index]) if turned[index] else images[index]
            expected = (image.reshape(-1) - offset) / scale
            assert np.allclose(rows[index].numpy(), expected, atol=1e-6)
    assert found.images.dtype == torch.float32
    assert found.labels.tolist() == digits.train_labels.tolist()
    if pixels == "standardised":
        assert abs(float(found.images.double().mean())) < 1e-6
        assert float(found.images.double().std(unbiased=False)) == pytest.approx(1, abs=1e-6)
    else:
        assert (float(found.images.min()), float(found.images.max())) == (0, 1)


def test_a_batch_gathers_images_and_labels() -> None:
    digits = load_digits()
    found = device_data(digits, Iid().split(digits, 3, 0), "unit", CPU)
    indices = torch.tensor([[5, 0], [7, 7]])
    images, labels = found.batch(indices)
    assert images.shape == (2, 2, found.features)
    assert torch.equal(images[1, 0], found.images[7])
    assert torch.equal(images[0, 0], found.images[5])
    assert labels.tolist() == digits.train_labels[indices.numpy()].tolist()


def test_pixels_that_are_all_equal_cannot_be_standardised() -> None:
    images, labels = np.full((2, 2, 2), 7, np.uint8), np.array([0, 1])
    flat = Dataset(
        name="flat",
        train_images=images,
        train_labels=labels,
        test_images=images,
        test_labels=labels,
        classes=2,
    )
    with pytest.raises(DataError, match="cannot be standardised"):
        device_data(flat, split_of(2, 1), "standardised", CPU)
    with pytest.raises(DataError, match="neither"):
        device_data(flat, split_of(2, 1), "other", CPU)
