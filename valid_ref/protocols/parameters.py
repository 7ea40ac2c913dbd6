"""The public parameters of a whole run of Valid; nobody's private input is here."""

import enum
import math
from collections.abc import Iterator
from fractions import Fraction

import attrs
import numpy as np

from valid_ref.coins import HEXADECIMAL
from valid_ref.errors import ValidRefError
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import IntVector, LatticeParameters
from valid_ref.reading import Reading


class ParameterError(ValidRefError):
    """Parameters that do not fit each other."""


@attrs.frozen
class Bounds:
    """Squares of the integer bounds B_t and C_t, in lattice units, for t = 1..T.

    Implements: LV-2.
    """

    model_squared: tuple[int, ...]
    gradient_squared: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        if any(square < 0 for square in (*self.model_squared, *self.gradient_squared)):
            raise ParameterError("the square of a bound is negative", clause="LV-2")


@attrs.frozen
class Weighting:
    """Integer weights w_1..w_T, the W they are divided by, and the thresholds.

    `optimality` bounds |sum_u ghat_u|, `heterogeneity` bounds sum_u |ghat_u|^2; the same with
    `_low` are bounds from below, 0 for none. `origin` says where they come from: "configured",
    "certificate" or "calibrated".

    Implements: GV-1, GV-7, GV-13.
    """

    name: str
    weights: tuple[int, ...]
    total: Fraction
    optimality: int
    heterogeneity: int
    origin: str = "configured"
    optimality_low: int = 0
    heterogeneity_low: int = 0

    def __attrs_post_init__(self) -> None:
        if not any(self.weights) or not all(type(w) is int and w >= 0 for w in self.weights):
            raise ParameterError(
                f"weighting {self.name}: weights must be integers >= 0, not all zero", clause="GV-1"
            )
        if self.total <= 0 or min(self.optimality, self.heterogeneity) <= 0:
            raise ParameterError(
                f"weighting {self.name}: thresholds and W must be positive", clause="GV-7"
            )
        for test in ("optimality", "heterogeneity"):
            low, high = getattr(self, f"{test}_low"), getattr(self, test)
            if not 0 <= low <= high:
                raise ParameterError(
                    f"weighting {self.name}: the lower {test} threshold {low} is not in 0..{high}",
                    clause="GV-13",
                )


def exponential_weights(rounds: int, gamma: float, bits: int = 30) -> tuple[int, ...]:
    """w_t = round(2^m gamma^(T-t)), exactly, ties to even; gamma = 0 weighs the last round only.

    Implements: GV-1.
    """
    if not 0 <= gamma <= 1:
        raise ParameterError(f"gamma = {gamma} is outside 0..1", clause="GV-1")
    if not 0 <= bits <= 60:
        raise ParameterError(f"m = {bits} bits of a weight, outside 0..60", clause="GV-1")
    return tuple(reversed([*_rounded_powers(rounds, Fraction(gamma), bits)]))


def _rounded_powers(count: int, factor: Fraction, bits: int) -> Iterator[int]:
    """round(2^m factor^j) for j = 0, 1, ...: from below with 128 bits to spare, else exactly."""
    spare = 1 << 128
    low = spare << bits
    for j in range(count):
        nearest, other = (round(Fraction(end, spare)) for end in (low, low + j))
        yield nearest if nearest == other else round(factor**j * (1 << bits))
        low = low * factor.numerator // factor.denominator


def polynomial_weights(rounds: int, power: int) -> tuple[int, ...]:
    """w_t = t^c.

    Implements: GV-1.
    """
    if power < 0:
        raise ParameterError(f"the power c = {power} is negative", clause="GV-1")
    return tuple(t**power for t in range(1, rounds + 1))


def printed_weights(rounds: int, gamma: float, bits: int = 30) -> tuple[tuple[int, ...], Fraction]:
    """The weights as printed (erratum P24): T-1 rounds, and multiplied where one must divide.

    The printed estimate is S sum_i gamma^(T-i-1) g(i) with S = (1-gamma^(T-1))/(1-gamma), which
    is the weighted sum divided by 2^m / S.
    """
    scale = 1 << bits
    weights = tuple(round(scale * gamma ** (rounds - i - 1)) for i in range(1, rounds))
    total = Fraction(sum(weights), scale)
    if total <= 0:
        raise ParameterError("the printed weights need T >= 2 rounds", clause="GV-1")
    return (*weights, 0), scale / total


def make_weighting(
    name: str,
    weights: tuple[int, ...],
    agents: int,
    fraction_bits: int,
    *,
    optimality: float,
    heterogeneity: float,
    total: Fraction | None = None,
    origin: str = "configured",
) -> Weighting:
    """Thresholds from eps_opt and delta + eps_het, made once, rounded up.

    Implements: GV-5, GV-6, GV-7.
    """
    for label, value in (("eps_opt", optimality), ("delta + eps_het", heterogeneity)):
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(
                f"weighting {name}: {label} = {value} is not a positive number", clause="GV-7"
            )
    divisor = Fraction(sum(weights)) if total is None else total
    unit = divisor * 2**fraction_bits
    return Weighting(
        name,
        weights,
        divisor,
        optimality=math.ceil(agents * unit * Fraction(optimality)),
        heterogeneity=math.ceil(agents * unit**2 * Fraction(heterogeneity)),
        origin=origin,
    )


class CheckedKeys(enum.Enum):
    """Under which keys an agent checks the hashes; `own` is the least that is sound.

    Implements: LV-10.
    """

    ALL = "all"
    OWN = "own"


LARGEST_KAPPA = 64
"""More common keys than anybody needs."""

LEAN_PARTS = ("commitment", "nonce", "agent", "total-first", "range", "record", "last-round")
"""The necessary parts of lean validation that can be left out, each alone."""


@attrs.frozen
class LeanParameters:
    """The public parameters of lean validation: kappa common keys, and a name of the run.

    `run` is 64 hexadecimal digits that no other run has. `without` leaves necessary parts out, to
    show what each is for.

    Implements: LE-1, LE-18.
    """

    kappa: int
    run: str
    without: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        check_lean(self.kappa, self.without)
        if type(self.run) is not str or HEXADECIMAL.fullmatch(self.run) is None:
            raise ParameterError(
                "the name of a run is not 64 of the digits 0-9 and a-f", clause="LE-1"
            )


def check_lean_reading(reading: Reading, checked_keys: "CheckedKeys") -> None:
    """Refuse readings that lean validation has not.

    Implements: LE-1.
    """
    printed = [name for name in reading.turned_off if name != "P06"]
    if printed or checked_keys is not CheckedKeys.ALL:
        raise ParameterError(
            f"lean validation has no reading without {', '.join(printed)}"
            if printed
            else "lean validation has common keys: keys_checked must be all",
            clause="LE-1",
        )


def check_lean(kappa: int, without: tuple[str, ...]) -> None:
    """Refuse a number of keys below 1 or beyond all use, and parts unknown or named twice.

    Implements: LE-1, LE-18.
    """
    if type(kappa) is not int or not 1 <= kappa <= LARGEST_KAPPA:
        raise ParameterError(f"kappa = {kappa} keys, not in 1..{LARGEST_KAPPA}", clause="LE-1")
    for index, part in enumerate(without):
        if part in without[:index]:
            raise ParameterError(f"without: {part} stands twice in the list", clause="LE-18")
        if part not in LEAN_PARTS:
            raise ParameterError(
                f"no part {part!r} of lean validation; there are {', '.join(LEAN_PARTS)}",
                clause="LE-18",
            )


def _unwritable(vector: IntVector) -> IntVector:
    """A copy that nobody can write to; what is no vector is left to the checks."""
    if type(vector) is not np.ndarray:
        return vector
    own = vector.copy()
    own.setflags(write=False)
    return own


@attrs.frozen
class ValidParameters:
    """Everything public about a run: graph, arithmetic, field, bounds, weightings, reading.

    With `lean` the run ends with lean validation, without with that of the paper.

    Implements: HA-1, GV-12, LM-1.
    """

    graph: AgentGraph
    lattice: LatticeParameters
    start_model: IntVector = attrs.field(converter=_unwritable, eq=attrs.cmp_using(np.array_equal))
    field: PrimeField
    bounds: Bounds | None
    weightings: tuple[Weighting, ...]
    checked_keys: CheckedKeys = CheckedKeys.ALL
    reading: Reading = attrs.field(factory=Reading)
    lean: LeanParameters | None = None

    def __attrs_post_init__(self) -> None:
        T, d = self.lattice.schedule.rounds, self.lattice.dimension
        if self.field.prime != self.lattice.prime:
            raise ParameterError(
                f"the range rule was made for p = {self.lattice.prime}, the hash for "
                f"{self.field.prime}",
                clause="AR-10",
            )
        self.field.check_length(d * T)
        if self.bounds is not None and {T} != {
            len(self.bounds.model_squared),
            len(self.bounds.gradient_squared),
        }:
            raise ParameterError(f"the bounds do not have one entry for {T} rounds", clause="LV-2")
        for weighting in self.weightings:
            if len(weighting.weights) != T:
                raise ParameterError(
                    f"weighting {weighting.name} has {len(weighting.weights)} weights for {T} "
                    "rounds",
                    clause="GV-1",
                )
        if self.lean is not None:
            self._check_lean(self.lean)

    def _check_lean(self, lean: LeanParameters) -> None:
        """Refuse readings that lean validation has not, and weights under which a sum could wrap.

        Implements: LE-1, LE-3.
        """
        check_lean_reading(self.reading, self.checked_keys)
        for weighting in self.weightings:
            objection = wrap_objection(self, weighting)
            if objection is not None and "range" not in lean.without:
                raise ParameterError(objection, clause="LE-3")


def wrap_objection(parameters: ValidParameters, weighting: Weighting) -> str | None:
    """That a sum with these weights could wrap, and what must get smaller; None if it cannot.

    Implements: LE-3.
    """
    reach = 2 * parameters.graph.agents * estimate_limit(parameters, weighting)
    p = parameters.field.prime
    if reach < p:
        return None
    factor = reach // p + 1
    none = "norm bounds, of which there are none"
    return (
        f"weighting {weighting.name}: 2 n sum_t w_t |g(t)| can be {reach}, not below p = {p}, so a "
        f"sum could wrap; it must be {factor} times smaller, by smaller weights, fewer rounds or "
        + (none if parameters.bounds is None else "tighter norm bounds")
    )


def estimate_limit(parameters: ValidParameters, weighting: Weighting) -> int:
    """L: no entry of ghat is larger where every message passed its norm and range checks.

    Implements: LE-3.
    """
    lattice, bounds = parameters.lattice, parameters.bounds
    limits = [-((1 - lattice.gradient_limit) // A) for A in lattice.schedule.gradient]
    if bounds is not None:
        lengths = map(math.isqrt, bounds.gradient_squared)
        limits = [min(pair) for pair in zip(limits, lengths, strict=True)]
    return sum(w * limit for w, limit in zip(weighting.weights, limits, strict=True))
