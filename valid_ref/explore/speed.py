"""How fast the compiled core is, against the plain twin on the same cases in the same run."""

import time

import attrs

from valid_ref.explore.cases import SymmetryClass, broadcast_classes
from valid_ref.explore.plain import PlainBroadcast, reachable
from valid_ref.explore.run import Chunk, explore_chunk
from valid_ref.explore.settings import Settings
from valid_ref.explore.variants import ExploreError


@attrs.frozen
class Speed:
    """Processor time of both on the same cases, one of each class, and the states they counted."""

    cases: int
    states: int
    compiled_seconds: float
    plain_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as fast the compiled core is."""
        return self.plain_seconds / self.compiled_seconds


def measure_plain(settings: Settings, every: int = 1) -> Speed:
    """Explore every so many classes of a broadcast by both, and compare what they count."""
    sample = broadcast_classes(settings)[::every]
    explore_chunk(_chunk(settings, sample[:1]))
    start = time.process_time()
    numbers = explore_chunk(_chunk(settings, sample))
    between = time.process_time()
    plain = [
        reachable(PlainBroadcast(one.first, settings.broadcast, len(settings.values)))[1]
        for one in sample
    ]
    end = time.process_time()
    if plain != [states for _, states in numbers]:
        raise ExploreError("the compiled core and the plain twin count different states")
    return Speed(len(sample), sum(plain), between - start, end - between)


def _chunk(settings: Settings, classes: tuple[SymmetryClass, ...]) -> Chunk:
    return Chunk(settings, tuple((one.rows, one.source, one.rounds) for one in classes))
