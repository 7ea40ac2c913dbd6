"""How the training images are dealt to the agents: disjoint, complete, seeded."""

from typing import Annotated, ClassVar, Literal, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from torch_backend.data.dataset import Dataset, Flags, Indices
from torch_backend.errors import DataError
from torch_backend.options import declared, real, whole
from torch_backend.randomness import Stream, generator
from valid_ref.named_parts import NamedParts

QUARTER_TURNS = {"counter_clockwise": 1, "clockwise": 3}


@attrs.frozen(eq=False)
class Split:
    """Who has which training images, and which images are turned by 90 degrees.

    `parts` are disjoint, not empty, and together all of 0..N-1; `quarter_turns` says how often
    counter-clockwise.
    """

    parts: tuple[Indices, ...]
    rotated: Flags
    test_rotated: Flags
    quarter_turns: int = 1

    def __attrs_post_init__(self) -> None:
        together = np.sort(np.concatenate(self.parts))
        if not np.array_equal(together, np.arange(len(self.rotated))):
            raise DataError("the parts of a split are not disjoint or not complete")
        if min(map(len, self.parts)) == 0:
            raise DataError("an agent has no image")


class Partition(Protocol):
    """A way to deal a data set to agents; the fields are the options."""

    def split(self, dataset: Dataset, agents: int, seed: int) -> Split:
        """The split: a pure function of the labels, the number of agents and the seed."""


def _require_agents(dataset: Dataset, agents: int) -> int:
    count = len(dataset.train_labels)
    if not 1 <= agents <= count:
        raise DataError(f"{count} images cannot be dealt to {agents} agents")
    return count


def _upright(parts: list[Indices], dataset: Dataset) -> Split:
    none, test = np.zeros(len(dataset.train_labels), bool), np.zeros(len(dataset.test_labels), bool)
    return Split(tuple(parts), none, test)


def equal_parts(count: int, agents: int, seed: int) -> list[Indices]:
    """A shuffle of 0..count-1 cut into parts whose sizes differ by at most one."""
    order = generator(seed, Stream.PARTITION).permutation(count)
    return [np.asarray(part, dtype=np.int64) for part in np.array_split(order, agents)]


@attrs.frozen
class Iid:
    """The shuffled training set in parts of equal size (the first ones larger by one image).

    Implements: EX-3.
    """

    kind: ClassVar[str] = "iid"

    def split(self, dataset: Dataset, agents: int, seed: int) -> Split:
        """The split."""
        return _upright(equal_parts(_require_agents(dataset, agents), agents, seed), dataset)


@attrs.frozen
class Rotated:
    """Equal parts; every agent turns its images of all labels of its group but `upright` drawn.

    Agents and labels are cut into `groups` consecutive parts each: with 20 agents, 10 labels and
    two groups an agent of 0..9 draws four of the labels 0..4, one of 10..19 four of 5..9. Each
    test image is turned with probability `test_probability`.

    Implements: EX-4, EX-5.
    """

    kind: ClassVar[str] = "rotated"
    groups: int = attrs.field(default=2, validator=whole(1))
    upright: int = attrs.field(default=1, validator=whole(0))
    direction: Literal["counter_clockwise", "clockwise"] = attrs.field(
        default="counter_clockwise", validator=declared
    )
    test_probability: float = attrs.field(default=0.4, validator=real(0, 1))

    def split(self, dataset: Dataset, agents: int, seed: int) -> Split:
        """The split."""
        parts = equal_parts(_require_agents(dataset, agents), agents, seed)
        rotated = np.zeros(len(dataset.train_labels), bool)
        for agent, part in enumerate(parts):
            turned = self.turned_labels(agent, agents, dataset.classes, seed)
            rotated[part] = np.isin(dataset.train_labels[part], turned)
        draws = generator(seed, Stream.TEST_ROTATION).random(len(dataset.test_labels))
        turns = QUARTER_TURNS[self.direction]
        return Split(tuple(parts), rotated, draws < self.test_probability, turns)

    def turned_labels(self, agent: int, agents: int, classes: int, seed: int) -> Indices:
        """The labels whose images an agent turns, drawn independently for every agent."""
        group = _group_of(agent, agents, self.groups)
        labels = np.array_split(np.arange(classes), self.groups)[group]
        count = max(0, len(labels) - self.upright)
        drawn = generator(seed, Stream.ROTATION, agent).permutation(labels)[:count]
        return np.sort(drawn).astype(np.int64)


def _group_of(agent: int, agents: int, groups: int) -> int:
    ends = np.cumsum([len(part) for part in np.array_split(np.arange(agents), groups)])
    return int(np.searchsorted(ends, agent, side="right"))


@attrs.frozen
class Dirichlet:
    """Every label is dealt in shares drawn from Dirichlet(alpha, .., alpha), one per agent.

    Small alpha: few agents have nearly all of a label. An agent left with nothing takes one image
    of the largest part.
    """

    kind: ClassVar[str] = "dirichlet"
    alpha: float = attrs.field(default=0.5, validator=real(0, above=True))

    def split(self, dataset: Dataset, agents: int, seed: int) -> Split:
        """The split."""
        _require_agents(dataset, agents)
        stream = generator(seed, Stream.PARTITION)
        owned: list[list[Indices]] = [[] for _ in range(agents)]
        for label in range(dataset.classes):
            images = stream.permutation(np.flatnonzero(dataset.train_labels == label))
            cuts = np.rint(np.cumsum(self._shares(stream, agents))[:-1] * len(images))
            for agent, piece in enumerate(np.split(images, cuts.astype(np.int64))):
                owned[agent].append(piece)
        parts = [np.concatenate(pieces).astype(np.int64) for pieces in owned]
        return _upright(_none_empty(parts), dataset)

    def _shares(self, stream: np.random.Generator, agents: int) -> npt.NDArray[np.float64]:
        """Shares that add up to one; with a tiny alpha, where they underflow, one takes all."""
        shares = stream.dirichlet(np.full(agents, float(self.alpha)))
        if not np.isfinite(shares).all() or not np.isclose(shares.sum(), 1):
            shares = np.zeros(agents)
            shares[stream.integers(agents)] = 1
        return shares


def _none_empty(parts: list[Indices]) -> list[Indices]:
    filled = list(parts)
    for agent in range(len(filled)):
        if len(filled[agent]) == 0:
            richest = max(range(len(filled)), key=lambda other: len(filled[other]))
            filled[agent], filled[richest] = filled[richest][-1:], filled[richest][:-1]
    return filled


@attrs.frozen
class ByLabel:
    """The images sorted by label, cut into `shards` per agent, and the shards dealt at random.

    With two shards an agent sees few labels: the pathological split of federated learning.
    """

    kind: ClassVar[str] = "by_label"
    shards: int = attrs.field(default=2, validator=whole(1))

    def split(self, dataset: Dataset, agents: int, seed: int) -> Split:
        """The split."""
        count = _require_agents(dataset, agents)
        # No more shards than images, and as many for every agent as for every other.
        each = min(self.shards, count // agents)
        stream = generator(seed, Stream.PARTITION)
        shuffled = stream.permutation(count)
        by_label = shuffled[np.argsort(dataset.train_labels[shuffled], kind="stable")]
        pieces = np.array_split(by_label.astype(np.int64), agents * each)
        dealt = stream.permutation(agents * each).reshape(agents, each)
        return _upright([np.concatenate([pieces[i] for i in row]) for row in dealt], dataset)


PARTITIONS = NamedParts(
    what="partition",
    known=(Iid, Rotated, Dirichlet, ByLabel),
    group="valid_torch.partitions",
    methods=("split",),
)
"""The partitions that an experiment can name, beside those that anybody brings."""

PartitionPart = Annotated[Partition, PARTITIONS]
"""Any partition of an experiment."""
