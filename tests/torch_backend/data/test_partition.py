"""Every partition is disjoint, complete and a function of the seed, whatever the numbers."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torch_backend.data.dataset import Dataset, load_digits
from torch_backend.data.partition import (
    ByLabel,
    Dirichlet,
    Iid,
    Partition,
    Rotated,
    Split,
    equal_parts,
)
from torch_backend.errors import ConfigError, DataError


def labelled(labels: list[int], classes: int, test: int = 3) -> Dataset:
    train = np.array(labels, dtype=np.int64)
    images = np.zeros((len(train), 2, 2), np.uint8)
    return Dataset(
        name="made",
        train_images=images,
        train_labels=train,
        test_images=images[:1].repeat(test, 0),
        test_labels=train[:1].repeat(test),
        classes=classes,
    )


@st.composite
def datasets(draw: st.DrawFn) -> tuple[Dataset, int]:
    classes = draw(st.integers(2, 12))
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=1, max_size=60))
    return labelled(labels, classes), draw(st.integers(1, len(labels)))


PARTITIONS: st.SearchStrategy[Partition] = st.one_of(
    st.just(Iid()),
    st.builds(
        Rotated,
        groups=st.integers(1, 4),
        upright=st.integers(0, 3),
        direction=st.sampled_from(["counter_clockwise", "clockwise"]),
        test_probability=st.floats(0, 1),
    ),
    st.builds(Dirichlet, alpha=st.floats(1e-3, 1e3)),
    st.builds(ByLabel, shards=st.integers(1, 4)),
)


@pytest.mark.checks("EX-3")
@given(given_data=datasets(), partition=PARTITIONS, seed=st.integers(0, 2**40))
@example(given_data=(labelled([0], 2), 1), partition=Dirichlet(1e-3), seed=0)
@example(given_data=(labelled([0] * 9, 2), 9), partition=Dirichlet(1e-3), seed=0)
@example(given_data=(labelled([1] * 5, 2), 4), partition=ByLabel(4), seed=0)
def test_every_image_has_one_owner_and_every_agent_an_image(
    given_data: tuple[Dataset, int], partition: Partition, seed: int
) -> None:
    dataset, agents = given_data
    split = partition.split(dataset, agents, seed)
    owned = np.concatenate(split.parts)
    assert sorted(owned.tolist()) == list(range(len(dataset.train_labels)))
    assert len(split.parts) == agents
    assert all(len(part) > 0 and part.dtype == np.int64 for part in split.parts)
    assert split.test_rotated.shape == dataset.test_labels.shape
    again = partition.split(dataset, agents, seed)
    assert all(np.array_equal(a, b) for a, b in zip(split.parts, again.parts, strict=True))
    assert np.array_equal(split.rotated, again.rotated)
    assert np.array_equal(split.test_rotated, again.test_rotated)


@pytest.mark.checks("EX-3")
@given(count=st.integers(1, 300), data=st.data(), seed=st.integers(0, 2**32))
def test_equal_parts_differ_by_one_image_at_most(
    count: int, data: st.DataObject, seed: int
) -> None:
    agents = data.draw(st.integers(1, count))
    sizes = [len(part) for part in equal_parts(count, agents, seed)]
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


def test_another_seed_is_another_split() -> None:
    digits = load_digits()
    for partition in (Iid(), Rotated(), Dirichlet(), ByLabel()):
        first, second = (partition.split(digits, 7, seed).parts[0] for seed in (0, 1))
        assert not np.array_equal(first, second)


def test_more_agents_than_images_are_refused() -> None:
    for partition in (Iid(), Rotated(), Dirichlet(), ByLabel()):
        for agents in (4, 0):
            with pytest.raises(DataError, match="cannot be dealt"):
                partition.split(labelled([0, 1, 1], 2), agents, 0)


@pytest.mark.checks("EX-4")
@pytest.mark.parametrize("seed", range(5))
def test_in_the_paper_every_agent_turns_four_labels_of_its_half(seed: int) -> None:
    labels = np.tile(np.arange(10), 200)
    dataset = labelled(labels.tolist(), 10)
    split = Rotated().split(dataset, 20, seed)
    drawn = []
    for agent, part in enumerate(split.parts):
        own = dataset.train_labels[part]
        turned = set(own[split.rotated[part]].tolist())
        half = set(range(5)) if agent < 10 else set(range(5, 10))
        assert turned < half
        assert len(turned) == 4
        # All images of these labels, and none of another.
        assert np.array_equal(split.rotated[part], np.isin(own, sorted(turned)))
        drawn.append(frozenset(turned))
    assert len(set(drawn[:10])) > 1
    assert len(set(drawn[10:])) > 1
    iid = Iid().split(dataset, 20, seed)
    assert all(np.array_equal(a, b) for a, b in zip(split.parts, iid.parts, strict=True))
    assert not iid.rotated.any()
    assert not iid.test_rotated.any()


@pytest.mark.checks("EX-4")
def test_the_labels_that_stay_upright_are_drawn_evenly() -> None:
    """Chi-squared over 2000 independent draws of one of five; 18.47 is passed by chance in .1 %."""
    counts = np.zeros(10)
    for seed in range(100):
        for agent in range(20):
            turned = Rotated().turned_labels(agent, 20, 10, seed)
            half = set(range(5)) if agent < 10 else set(range(5, 10))
            counts[(half - set(turned.tolist())).pop()] += 1
    expected = np.full(5, 200)
    for group in (counts[:5], counts[5:]):
        assert ((group - expected) ** 2 / expected).sum() < 18.47


@pytest.mark.checks("EX-5")
def test_test_images_are_turned_with_the_given_probability() -> None:
    dataset = labelled([0, 1], 2, test=20000)
    split = Rotated().split(dataset, 2, 0)
    # Five deviations of a binomial: missed by chance in 6e-7.
    assert abs(split.test_rotated.mean() - 0.4) < 5 * np.sqrt(0.24 / 20000)
    for probability in (0.0, 1.0):
        rotated = Rotated(test_probability=probability).split(dataset, 2, 0).test_rotated
        assert rotated.all() == rotated.any() == bool(probability)


@pytest.mark.checks("EX-4")
def test_the_direction_is_an_option() -> None:
    dataset = labelled([0, 1], 2)
    assert Rotated().split(dataset, 2, 0).quarter_turns == 1
    assert Rotated(direction="clockwise").split(dataset, 2, 0).quarter_turns == 3


def test_a_small_alpha_concentrates_labels_and_a_large_one_spreads_them() -> None:
    dataset = labelled(np.tile(np.arange(10), 100).tolist(), 10)

    def largest_share(alpha: float) -> float:
        parts = Dirichlet(alpha).split(dataset, 10, 0).parts
        counts = np.array([np.bincount(dataset.train_labels[p], minlength=10) for p in parts])
        return float((counts.max(axis=0) / counts.sum(axis=0)).mean())

    assert largest_share(0.05) > 0.6
    assert largest_share(1000) < 0.15


def test_shards_by_label_show_an_agent_few_labels() -> None:
    dataset = labelled(np.tile(np.arange(10), 100).tolist(), 10)
    for shards in (1, 2):
        for part in ByLabel(shards).split(dataset, 10, 0).parts:
            assert len(set(dataset.train_labels[part].tolist())) <= 2 * shards


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rotated(groups=0),
        lambda: Rotated(upright=-1),
        lambda: Rotated(direction="up"),
        lambda: Rotated(test_probability=1.5),
        lambda: Dirichlet(0),
        lambda: Dirichlet(float("nan")),
        lambda: ByLabel(0),
        lambda: ByLabel(True),
        lambda: Iid().split(labelled([0, 1], 2), 1, -1),
    ],
)
def test_options_that_make_no_sense_are_refused(make: object) -> None:
    with pytest.raises(ConfigError):
        make()


def test_a_split_that_is_no_partition_is_refused() -> None:
    none = np.zeros(2, bool)
    for parts in ([[0], [0, 1]], [[0], []], [[0], [2]], [[0, 1], []]):
        arrays = tuple(np.array(part, dtype=np.int64) for part in parts)
        with pytest.raises(DataError):
            Split(arrays, none, none)
