"""Krum's choice among models: distances in float64, decided by exact integers when close."""

import itertools
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from torch_backend.rules.exact import ascending, exact_squared_distance, squared_distance

Pair = tuple[int, int]


def krum_choice(rows: Sequence[Tensor], b: int) -> int:
    """The position of the model that Krum chooses."""
    return krum_order(rows, b, 1)[0]


def krum_order(rows: Sequence[Tensor], b: int, count: int) -> list[int]:
    """The positions that Krum chooses one after the other, each among those that are left.

    Among m models the score is the sum of the squared distances to the max(1, m - b - 2) nearest
    others; the smallest wins, of equals the earliest.
    """
    pairs = list(itertools.combinations(range(len(rows)), 2))
    near = {(i, j): squared_distance(rows[i], rows[j]) for i, j in pairs}
    exact: dict[Pair, int] = {}

    def exactly(left: Sequence[int], i: int) -> int:
        if not exact:
            exact.update({(i, j): exact_squared_distance(rows[i], rows[j]) for i, j in pairs})
        return int(_score(exact, left, i, b))

    chosen: list[int] = []
    for _ in range(count):
        left = [i for i in range(len(rows)) if i not in chosen]
        scores = [_score(near, left, i, b) for i in left]
        chosen.append(left[_least(scores, left, exactly)])
    return chosen


def _least(
    scores: Sequence[float], left: Sequence[int], exactly: Callable[[Sequence[int], int], int]
) -> int:
    return ascending(scores, lambda position: exactly(left, left[position]))[0]


def _score(distances: Mapping[Pair, float], left: Sequence[int], i: int, b: int) -> float:
    others = sorted(distances[min(i, j), max(i, j)] for j in left if j != i)
    return sum(others[: max(1, len(left) - b - 2)])
