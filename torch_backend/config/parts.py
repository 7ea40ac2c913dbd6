"""The parts of an experiment that are not rules, attacks, models or partitions."""

from typing import ClassVar, Literal

import attrs

from torch_backend.errors import ConfigError
from torch_backend.options import real, whole
from valid_ref.scenario.parts import ConfiguredBounds, NoBounds

BoundsPart = ConfiguredBounds | NoBounds


@attrs.frozen
class Mnist:
    """The 60000 and 10000 digits of MNIST, from --data DIR, VALID_MNIST or the cache."""

    kind: ClassVar[str] = "mnist"


@attrs.frozen
class Digits:
    """The 1797 digits of 8 x 8 pixels that come with scikit-learn; nothing is downloaded."""

    kind: ClassVar[str] = "digits"


DataPart = Mnist | Digits


@attrs.frozen
class ConstantMixing:
    """The same mixing step eta in every round."""

    kind: ClassVar[str] = "constant"
    eta: float = attrs.field(default=1 / 11, validator=real(0, above=True))


@attrs.frozen
class RootMixing:
    """eta0 / sqrt(t + 1), the decaying mixing step of the theory."""

    kind: ClassVar[str] = "inverse-root"
    eta0: float = attrs.field(default=1 / 11, validator=real(0, above=True))


MixingPart = ConstantMixing | RootMixing


@attrs.frozen
class Steps:
    """alpha = initial / (initial + t), and the mixing step.

    `counts`: t is the round, from 1, or the number of passes over the data before the round.

    Implements: EX-6.
    """

    initial: int = attrs.field(default=5, validator=whole(1))
    counts: Literal["round", "epoch"] = "round"
    mixing: MixingPart = ConstantMixing()


@attrs.frozen
class RandomStart:
    """One random model for all agents, drawn from the seed by the model's own initialisation."""

    kind: ClassVar[str] = "random"


@attrs.frozen
class ZeroStart:
    """All parameters zero, as printed; a ReLU network does not train from there."""

    kind: ClassVar[str] = "zero"


@attrs.frozen
class GivenStart:
    """The vector of real numbers in an NPY file."""

    kind: ClassVar[str] = "given"
    file: str


StartPart = RandomStart | ZeroStart | GivenStart


@attrs.frozen
class NoAttack:
    """Nobody is Byzantine."""

    kind: ClassVar[str] = "none"


@attrs.frozen
class Evaluation:
    """When models are evaluated: in every `every`-th round, in the first and in the last.

    Implements: EX-5.
    """

    every: int = attrs.field(default=20, validator=whole(1))

    def rounds(self, rounds: int) -> tuple[int, ...]:
        """The rounds that are evaluated, of so many."""
        return tuple(sorted({1, rounds, *range(self.every, rounds, self.every)}))


@attrs.frozen
class Detection:
    """The weightings of GlobalValidate, and how their thresholds are calibrated.

    Calibration takes `runs` attack-free runs with the seeds from `first_seed` on, and multiplies
    the largest value of each statistic by `factor`. No gammas: nothing is measured.

    Implements: EX-10.
    """

    gammas: tuple[float, ...] = (0.9, 0.99)
    bits: int = attrs.field(default=30, validator=whole(1))
    runs: int = attrs.field(default=5, validator=whole(5))
    first_seed: int = attrs.field(default=1000, validator=whole(0))
    factor: float = attrs.field(default=1.1, validator=real(1))

    def __attrs_post_init__(self) -> None:
        for gamma in self.gammas:
            if not 0 <= gamma <= 1:
                raise ConfigError(f"gamma = {gamma} is outside 0..1", clause="GV-1")
        if len(set(self.gammas)) < len(self.gammas):
            raise ConfigError("a gamma stands twice in the list", clause="GV-12")

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the calibration runs; none where nothing is measured."""
        return tuple(range(self.first_seed, self.first_seed + self.runs)) if self.gammas else ()
