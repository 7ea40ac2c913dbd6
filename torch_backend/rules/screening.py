"""Order statistics, means and distances of a few long vectors, the same on every device.

Ranks are found entry by entry by a network of minima and maxima. It has no branch that depends on
the data, so every comparison is one vectorised pass over the entries; sorting ten rows of 10^5
entries this way takes a sixth of the time of a sort. Means are integers; distances are compared in
float64, and in exact integers where that cannot decide.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from torch_backend.errors import ScreeningError
from torch_backend.kernels import compiled_loops, in_threads
from torch_backend.squares import sums_of_squares
from valid_ref.kernels import squared_norms as host_norms
from valid_ref.lattice import WORD_LIMIT, LatticeParameters

Step = tuple[int, int, bool, bool]
"""Two lines of the network, and whether the smaller is needed on the first, the larger on the
second."""

BLOCK = 1 << 14
"""Entries that are ordered at once, so that all rows stay in the cache of a processor."""


def exchanges(count: int) -> Iterator[tuple[int, int]]:
    """The comparisons of Batcher's merge exchange sort for any number of lines (TAOCP 5.2.2 M)."""
    top = 1 << max(0, (count - 1).bit_length() - 1)
    width = top if count > 1 else 0
    while width:
        step, remainder, distance = top, 0, width
        while True:
            for line in range(count - distance):
                if line & width == remainder:
                    yield line, line + distance
            if step == width:
                break
            distance, step, remainder = step - width, step // 2, width
        width //= 2


@functools.lru_cache(maxsize=256)
def plan(count: int, wanted: tuple[int, ...]) -> tuple[Step, ...]:
    """The part of the network on which the wanted ranks (0 the smallest) depend."""
    needed, kept = set(wanted), []
    for low, high in reversed(list(exchanges(count))):
        if low in needed or high in needed:
            kept.append((low, high, low in needed, high in needed))
            needed |= {low, high}
    return tuple(reversed(kept))


def ranked(rows: Sequence[Tensor], wanted: Sequence[int]) -> list[Tensor]:
    """The vectors of the wanted ranks of rows of equal shape; the rows are not changed."""
    lines = list(rows)
    for low, high, smaller, larger in plan(len(rows), tuple(wanted)):
        first, second = lines[low], lines[high]
        if smaller:
            lines[low] = torch.minimum(first, second)
        if larger:
            lines[high] = torch.maximum(first, second)
    return [lines[rank] for rank in wanted]


def ranked_sum(rows: Sequence[Tensor], wanted: Sequence[int]) -> Tensor:
    """The sum of the vectors of the wanted ranks; the rows are not changed."""
    words, starts = together(rows) if rows[0].device.type == "cpu" else (None, None)
    loops = None if words is None else compiled_loops(words)
    if words is None or loops is None:

        def combine(piece: list[Tensor]) -> Tensor:
            found = ranked(piece, wanted)
            return sum(found[1:], start=found[0])

        return in_blocks(rows, combine)
    total = torch.empty_like(rows[0], memory_format=torch.contiguous_format)
    network = [(low, high) for low, high, *_ in plan(len(rows), tuple(wanted))]
    lists = (
        starts,
        np.array(network, dtype=np.int64).reshape(-1, 2),
        np.array(wanted, dtype=np.int64),
    )
    arrays = words.numpy(), *lists, total.numpy()
    in_threads(len(total), lambda begin, end: loops.ranked_sum(*arrays, begin, end))
    return total


def together(rows: Sequence[Tensor]) -> tuple[Tensor, npt.NDArray[np.int64]]:
    """Memory in which all rows lie, and where in it each begins; a copy if they lie apart."""
    memory = {row.untyped_storage().data_ptr() for row in rows}
    if len(memory) > 1 or not all(row.is_contiguous() for row in rows):
        known = {row.data_ptr(): i for i, row in enumerate(rows)}
        stacked = torch.stack([rows[i] for i in known.values()])
        place = {where: i for i, where in enumerate(known)}
        rows = [stacked[place[row.data_ptr()]] for row in rows]
    words = torch.empty(0, dtype=rows[0].dtype, device=rows[0].device)
    words.set_(rows[0].untyped_storage())
    return words, np.array([row.storage_offset() for row in rows], dtype=np.int64)


def in_blocks(rows: Sequence[Tensor], combine: Callable[[list[Tensor]], Tensor]) -> Tensor:
    """`combine` of the rows, a function of each entry apart, a block of entries at a time.

    Only processors have a cache that matters here: other devices take all entries at once.
    """
    length = len(rows[0])
    block = BLOCK if rows[0].device.type == "cpu" else max(1, length)
    bounds = itertools.pairwise([*range(0, length, block), length])
    return torch.cat([combine([row[start:end] for row in rows]) for start, end in bounds])


DOUBTFUL = 1e-9
"""Floats whose relative difference is below this decide nothing: sums of up to 10^6 squares in
float64 err by less."""


def check_scale(parameters: LatticeParameters, count: int) -> None:
    """Refuse step bits with which 2^k times a count of models does not fit a word."""
    bits = parameters.precision.step_bits
    if count << bits >= WORD_LIMIT or count * parameters.model_limit >= WORD_LIMIT:
        raise ScreeningError(
            f"the sum of {count} models below {parameters.model_limit}, or {count} times 2^{bits}, "
            "does not fit 62 bits",
            clause="AR-10",
        )


def scaled_mean(total: Tensor, count: int, weight: int) -> Tensor:
    """weight * total / count, exactly, rounded to the nearest integer, ties to even.

    The quotient is taken first, so that nothing is larger than weight times the mean or weight
    times the count.
    """
    if weight % count == 0:
        return total * (weight // count)
    quotient = torch.div(total, count, rounding_mode="floor")
    scaled_rest = (total - quotient * count) * weight
    whole = torch.div(scaled_rest, count, rounding_mode="floor")
    twice = 2 * (scaled_rest - whole * count)
    below = quotient * weight + whole
    return below + ((twice > count) | ((twice == count) & (below & 1 == 1)))


ENTRIES = 1 << 24
"""So many entries of differences are looked at together on a device."""

Pairs = Sequence[tuple[int, int]]


@attrs.frozen(eq=False)
class Distances:
    """Squared distances between rows, by their numbers.

    On the processor they are floats, and integers where these cannot decide. A device makes the
    integers of all pairs at once, so that the host waits for it once.
    """

    rows: Sequence[Tensor]
    _near: dict[tuple[int, int], float]
    _exact: dict[tuple[int, int], int]

    def near(self, i: int, j: int) -> float:
        """The distance of two rows in float64; exactly 0 for equal vectors."""
        return 0.0 if i == j else self._near[min(i, j), max(i, j)]

    def exact(self, i: int, j: int) -> int:
        """The same as an integer."""
        pair = min(i, j), max(i, j)
        if i != j and pair not in self._exact:
            self._exact[pair] = exact_squared_distance(self.rows[pair[0]], self.rows[pair[1]])
        return 0 if i == j else self._exact[pair]


def distances_of(rows: Sequence[Tensor], pairs: Iterable[tuple[int, int]]) -> Distances:
    """The distances of these pairs.

    Implements: AR-12.
    """
    wanted = list(dict.fromkeys((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]))
    both = [(rows[i], rows[j]) for i, j in wanted]
    if not wanted or rows[0].device.type == "cpu":
        return Distances(rows, dict(zip(wanted, squared_distances(both), strict=True)), {})
    count = max(1, ENTRIES // max(1, len(rows[0])))
    groups = [both[begin : begin + count] for begin in range(0, len(both), count)]
    found = all_squared_norms(torch.stack([one - two for one, two in some]) for some in groups)
    exact = dict(zip(wanted, found, strict=True))
    return Distances(rows, {pair: float(value) for pair, value in exact.items()}, exact)


def all_squared_norms(groups: Iterable[Tensor]) -> list[int]:
    """The exact sums of squares of the rows of all groups; the host waits for a device once.

    Implements: AR-12.
    """
    sums = [sums_of_squares(rows) for rows in groups]
    table = torch.cat([parts for parts, _shifts in sums]).tolist()
    shifts = sums[0][1]
    return [sum(v << shift for v, shift in zip(row, shifts, strict=True)) for row in table]


def squared_distances(pairs: Sequence[tuple[Tensor, Tensor]]) -> list[float]:
    """|first - second|^2 of pairs of lattice vectors, in float64; exactly 0 for equal vectors."""
    if not pairs:
        return []
    words, starts = together([row for pair in pairs for row in pair])
    loops = compiled_loops(words)
    if loops is None:
        return [squared_distance(first, second) for first, second in pairs]
    places = starts.reshape(-1, 2)

    def work(begin: int, end: int) -> npt.NDArray[np.float64]:
        found = np.zeros(len(pairs))
        loops.squared_distances(words.numpy(), places, found, begin, end)
        return found

    parts = in_threads(len(pairs[0][0]), work)
    total: list[float] = sum(parts[1:], parts[0]).tolist()
    return total


def squared_distance(first: Tensor, second: Tensor) -> float:
    """|first - second|^2 of two lattice vectors, in float64; exactly 0 for equal vectors."""
    difference = (first - second).double()
    return float(torch.dot(difference, difference))


def exact_squared_distance(first: Tensor, second: Tensor) -> int:
    """|first - second|^2 as an integer.

    Implements: AR-12.
    """
    return host_norms((first - second).cpu().numpy()[np.newaxis])[0]


def ascending(values: Sequence[float], exactly: Callable[[int], int]) -> list[int]:
    """The positions in the order of their values, of equals the earlier first.

    The values are float64 approximations; where two neighbours in the order are too close for
    them to decide, the exact integers do. Zero is exact.
    """
    order = sorted(range(len(values)), key=lambda i: (values[i], i))
    for first, second in itertools.pairwise(order):
        if values[second] > 0 and values[second] - values[first] <= DOUBTFUL * values[second]:
            exact = [exactly(i) for i in range(len(values))]
            return sorted(range(len(values)), key=lambda i: (exact[i], i))
    return order


def share_of(share: float, count: int) -> Fraction:
    """share * count with the share as it is written in decimals: .29 of 100 is 29."""
    return Fraction(str(share)) * count
