"""BRIDGE: models are screened, their own among them, and the step is taken at the result."""

import abc
import itertools
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import attrs
import torch
from torch import Tensor

from torch_backend.options import declared, whole
from torch_backend.rules.rule import (
    Losses,
    Received,
    Rule,
    for_each_receiver,
    for_each_set,
    models_of,
    require,
    sets_of,
)
from torch_backend.rules.screening import (
    DOUBTFUL,
    Distances,
    check_scale,
    distances_of,
    in_blocks,
    ranked,
    ranked_sum,
    scaled_mean,
)
from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters

Own = Literal["included", "excluded"]


@attrs.frozen
class _Bridge(Rule):
    """What the four rules share: Y is the screened model, and the gradient is taken there."""

    kind: ClassVar[str]
    own: Own = attrs.field(default="included", validator=declared, kw_only=True)

    def least(self) -> int:
        """How many models an agent must have to screen."""
        return 1

    @abc.abstractmethod
    def screened(self, graph: AgentGraph, received: Received, step_bits: int) -> Tensor:
        """The screened models of all receivers, in units 2^-(f+k)."""

    def check(self, graph: AgentGraph) -> None:
        """Refuse a graph in which an agent has too few models to screen."""
        require(graph, self.least(), self.kind, own=self.own == "included")

    def mix(
        self,
        t: int,  # noqa: ARG002 - the protocol of rules
        parameters: LatticeParameters,
        graph: AgentGraph,
        received: Received,
        losses: Losses | None,  # noqa: ARG002 - the protocol of rules
    ) -> tuple[Tensor, Tensor]:
        """The screened models twice: the base is the point of evaluation."""
        self.check(graph)
        check_scale(parameters, graph.max_degree + 1)
        Y = self.screened(graph, received, parameters.precision.step_bits)
        return Y, Y


@attrs.frozen
class _ByEntry(_Bridge):
    """Screening entry by entry."""

    @abc.abstractmethod
    def screen(self, rows: Sequence[Tensor], step_bits: int) -> Tensor:
        """The screened model of the rows [d], in units 2^-(f+k)."""

    def screened(self, graph: AgentGraph, received: Received, step_bits: int) -> Tensor:
        """Y."""
        own = self.own == "included"
        return for_each_receiver(
            graph, received, lambda rows: self.screen(rows, step_bits), own=own
        )


@attrs.frozen
class BridgeMedian(_ByEntry):
    """The coordinate-wise median; for even counts the mean, the lower or the upper of the middle.

    Exact: the mean of two models is a multiple of half a unit.

    Implements: EX-9.
    """

    kind: ClassVar[str] = "bridge-m"
    median: Literal["mean_of_middle", "lower", "upper"] = attrs.field(
        default="mean_of_middle", validator=declared
    )

    def screen(self, rows: Sequence[Tensor], step_bits: int) -> Tensor:
        """The median."""
        low, high = (len(rows) - 1) // 2, len(rows) // 2
        chosen = {"lower": (low,), "upper": (high,), "mean_of_middle": (low, high)}[self.median]
        wanted = tuple(sorted(set(chosen)))
        return scaled_mean(ranked_sum(rows, wanted), len(wanted), 1 << step_bits)


@attrs.frozen
class BridgeTrimmed(_ByEntry):
    """The mean, entry by entry, of what is left without the b smallest and the b largest.

    The mean is an exact fraction, rounded half to even in units 2^-(f+k).
    """

    kind: ClassVar[str] = "bridge-t"
    b: int = attrs.field(default=1, validator=whole(0))

    def least(self) -> int:
        """One more than is dropped."""
        return 2 * self.b + 1

    def screen(self, rows: Sequence[Tensor], step_bits: int) -> Tensor:
        """The trimmed mean."""
        kept = range(self.b, len(rows) - self.b)
        return scaled_mean(ranked_sum(rows, kept), len(kept), 1 << step_bits)


@attrs.frozen
class _Chosen(_Bridge):
    """Screening by distances: those between all models are made at once."""

    b: int = attrs.field(default=1, validator=whole(0))

    @abc.abstractmethod
    def choices(self, count: int) -> int:
        """How many of so many models Krum picks."""

    @abc.abstractmethod
    def screen(self, rows: Sequence[Tensor], chosen: Sequence[int], step_bits: int) -> Tensor:
        """The screened model from the rows that were picked, in units 2^-(f+k)."""

    def screened(self, graph: AgentGraph, received: Received, step_bits: int) -> Tensor:
        """Y."""
        models = models_of(graph, received)
        sets = sets_of(graph, received, models, own=self.own == "included")
        pairs = (pair for one in dict.fromkeys(sets) for pair in itertools.combinations(one, 2))
        distances = distances_of(models.rows, pairs)

        def rule(numbers: tuple[int, ...]) -> Tensor:
            chosen = chosen_of(distances, numbers, self.b, self.choices(len(numbers)))
            return self.screen(models.rows, chosen, step_bits)

        return for_each_set(received, sets, rule)


@attrs.frozen
class BridgeKrum(_Chosen):
    """The model with the smallest sum of squared distances to its m - b - 2 nearest others.

    m models are screened, of which b may be bad; of equals the lowest-numbered sender's is taken.
    """

    kind: ClassVar[str] = "bridge-k"

    def least(self) -> int:
        """2b + 3, as Krum is defined for."""
        return 2 * self.b + 3

    def screen(self, rows: Sequence[Tensor], chosen: Sequence[int], step_bits: int) -> Tensor:
        """The chosen model."""
        return rows[chosen[0]] << step_bits

    def choices(self, count: int) -> int:  # noqa: ARG002 - for the other rule
        """One."""
        return 1


@attrs.frozen
class BridgeBulyan(_Chosen):
    """Krum picks m - 2b models one after the other; of them the m - 4b entries nearest the median.

    Their mean is taken entry by entry, as an exact fraction rounded half to even in units
    2^-(f+k); of equally near entries the smaller ones count.
    """

    kind: ClassVar[str] = "bridge-b"

    def least(self) -> int:
        """4b + 3, as Bulyan is defined for."""
        return 4 * self.b + 3

    def screen(self, rows: Sequence[Tensor], chosen: Sequence[int], step_bits: int) -> Tensor:
        """The mean around the median of the chosen models."""
        count = len(chosen) - 2 * self.b
        models = [rows[i] for i in chosen]
        return in_blocks(models, lambda piece: _around_median(piece, count, 1 << step_bits))

    def choices(self, count: int) -> int:
        """All but 2b."""
        return count - 2 * self.b


def _around_median(rows: list[Tensor], count: int, weight: int) -> Tensor:
    """The mean of the `count` entries nearest the median: a window of the sorted rows."""
    ordered = ranked(rows, range(len(rows)))
    # Twice the median, so that the mean of the middle is an integer too.
    double = ordered[(len(rows) - 1) // 2] + ordered[len(rows) // 2]
    far = [(2 * row - double).abs() for row in ordered]
    distance = sum(far[1:count], start=far[0])
    total = sum(ordered[1:count], start=ordered[0])
    best, found = distance, total
    for leaving, entering in enumerate(range(count, len(rows))):
        distance = distance - far[leaving] + far[entering]
        total = total - ordered[leaving] + ordered[entering]
        found = torch.where(distance < best, total, found)
        best = torch.minimum(distance, best)
    return scaled_mean(found, count, weight)


def krum_choice(rows: Sequence[Tensor], b: int) -> int:
    """The position of the model that Krum chooses."""
    return krum_order(rows, b, 1)[0]


def krum_order(rows: Sequence[Tensor], b: int, count: int) -> list[int]:
    """The positions that Krum chooses one after the other, each among those that are left.

    Among m models the score is the sum of the squared distances to the max(1, m - b - 2) nearest
    others; the smallest wins, of equals the earliest.
    """
    numbers = range(len(rows))
    return chosen_of(distances_of(rows, itertools.combinations(numbers, 2)), numbers, b, count)


def chosen_of(distances: Distances, numbers: Sequence[int], b: int, count: int) -> list[int]:
    """The same among rows whose distances are known, by their numbers."""
    left = list(range(len(numbers)))

    def near(i: int, j: int) -> float:
        return distances.near(numbers[i], numbers[j])

    def exact(i: int, j: int) -> int:
        return distances.exact(numbers[i], numbers[j])

    chosen: list[int] = []
    for _ in range(count):
        scores = {i: _score(near, left, i, b) for i in left}
        bound = min(scores.values()) * (1 + DOUBTFUL)
        closest = [i for i in left if scores[i] <= bound]
        # Where floats cannot tell the best ones apart, integers do.
        best = min(closest, key=lambda i: _score(exact, left, i, b)) if closest[1:] else closest[0]
        chosen.append(best)
        left.remove(best)
    return [numbers[i] for i in chosen]


def _score(distance: Callable[[int, int], float], left: Sequence[int], i: int, b: int) -> float:
    others = sorted(distance(min(i, j), max(i, j)) for j in left if j != i)
    return sum(others[: max(1, len(left) - b - 2)])
