"""Krum's choice among models: distances in float64, decided by exact integers when close."""

import functools
from collections.abc import Callable, Sequence

from torch import Tensor

from torch_backend.rules.exact import DOUBTFUL, exact_squared_distance, squared_distance


def krum_choice(rows: Sequence[Tensor], b: int) -> int:
    """The position of the model that Krum chooses."""
    return krum_order(rows, b, 1)[0]


def krum_order(rows: Sequence[Tensor], b: int, count: int) -> list[int]:
    """The positions that Krum chooses one after the other, each among those that are left.

    Among m models the score is the sum of the squared distances to the max(1, m - b - 2) nearest
    others; the smallest wins, of equals the earliest.
    """

    @functools.cache
    def near(i: int, j: int) -> float:
        return squared_distance(rows[i], rows[j])

    @functools.cache
    def exact(i: int, j: int) -> int:
        return exact_squared_distance(rows[i], rows[j])

    left = list(range(len(rows)))
    chosen: list[int] = []
    for _ in range(count):
        scores = {i: _score(near, left, i, b) for i in left}
        bound = min(scores.values()) * (1 + DOUBTFUL)
        closest = [i for i in left if scores[i] <= bound]
        # Where floats cannot tell the best ones apart, integers do.
        best = min(closest, key=lambda i: _score(exact, left, i, b)) if closest[1:] else closest[0]
        chosen.append(best)
        left.remove(best)
    return chosen


def _score(distance: Callable[[int, int], float], left: Sequence[int], i: int, b: int) -> float:
    others = sorted(distance(min(i, j), max(i, j)) for j in left if j != i)
    return sum(others[: max(1, len(left) - b - 2)])
