"""How often a run is validated while it learns, and how the level is shared among the segments."""

from fractions import Fraction
from math import nextafter
from typing import Literal

import attrs

from torch_backend.options import whole


@attrs.frozen
class ResponseOptions:
    """Validation after each of so many segments, as equal as rounds allow.

    `share` says how the level of the experiment covers all segments: "joint" calibrates them
    together, "split" gives each an equal part of the level.

    Implements: EX-21, EX-22.
    """

    segments: int = attrs.field(default=8, validator=whole(1))
    share: Literal["joint", "split"] = "joint"

    def ends(self, rounds: int) -> tuple[int, ...]:
        """The last round of every segment.

        Implements: EX-21.
        """
        return tuple(rounds * s // self.segments for s in range(1, self.segments + 1))

    def level_of_each(self, level: float) -> float:
        """The level of each group of tests that is calibrated together.

        Where it is a part, all parts together are at most the level, as exact fractions.

        Implements: EX-22.
        """
        if self.share == "joint":
            return level
        part, whole_level = level / self.segments, Fraction(repr(level))
        while Fraction(repr(part)) * self.segments > whole_level:
            part = nextafter(part, 0)
        return part
