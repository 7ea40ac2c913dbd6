"""Vectors of heterogeneity and of admissible models, for quadratics with diagonal Hessians.

The results are exact rationals, computed here entry by entry from the formulas of the
specification; a case is made only if the reference agrees with them.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from valid_ref.guarantees import admissible as reference
from valid_ref.guarantees.admissible import heterogeneity
from valid_ref.losses import Problem, Quadratic
from valid_ref.vectors.document import Case, Family, Json, Operation, VectorError, make
from valid_ref.vectors.numbers import ratio
from valid_ref.vectors.schema import AGENT, FLAG, NULL, RATIO, either, fields, many

TOLERANCE = 2.0**-40
RATIOS = many(RATIO)
LOSSES = many(fields(hessian=RATIOS, centre=RATIOS))
OPERATIONS = {
    "heterogeneity": Operation(
        "The mean of |G_v(x*)|^2 over all agents, x* the minimiser of the sum of all losses.",
        fields(losses=LOSSES),
        fields(delta=RATIO),
    ),
    "phi": Operation(
        "phi_U(x), null for infinity, and the vectors of least norm that show it.",
        fields(losses=LOSSES, agents=many(AGENT), point=RATIOS),
        fields(phi=either(NULL, RATIO), vectors=many(RATIOS)),
    ),
    "member": Operation(
        "Whether x is in the relaxed set A_(e1,e2)(U, P); with e1 = 0 that is A(U, P, e2).",
        fields(losses=LOSSES, agents=many(AGENT), point=RATIOS, e1=RATIO, e2=RATIO),
        fields(member=FLAG),
    ),
    "ellipsoid": Operation(
        "The ellipsoid that A(U, P, delta) is: the diagonal of Q, the centre, and the level, "
        "which is negative if the set is empty.",
        fields(losses=LOSSES, agents=many(AGENT), delta=RATIO),
        fields(matrix=RATIOS, centre=RATIOS, level=RATIO),
    ),
    "distance": Operation(
        "The distance of x from A(U, P, delta), a ball here; null if the set is empty.",
        fields(losses=LOSSES, agents=many(AGENT), delta=RATIO, point=RATIOS),
        fields(distance=either(NULL, RATIO)),
    ),
}

Vector = tuple[Fraction, ...]
Loss = tuple[Vector, Vector]
"""The diagonal of the Hessian, and the centre."""


def loss(hessian: Sequence[float], centre: Sequence[float]) -> Loss:
    """G(x) = hessian * (x - centre), entry by entry."""
    return tuple(map(Fraction, hessian)), tuple(map(Fraction, centre))


def _ratios(values: Sequence[Fraction]) -> list[str]:
    return [ratio(value) for value in values]


def _losses_json(losses: Sequence[Loss]) -> Json:
    return [{"hessian": _ratios(h), "centre": _ratios(c)} for h, c in losses]


def _problem(losses: Sequence[Loss]) -> Problem:
    return Problem([Quadratic(np.diag([*map(float, h)]), [*map(float, c)]) for h, c in losses])


def _gradient(one: Loss, point: Vector) -> Vector:
    return tuple(h * (x - c) for h, c, x in zip(*one, point, strict=True))


def _square(vector: Sequence[Fraction]) -> Fraction:
    return sum((entry * entry for entry in vector), Fraction(0))


def _total(vectors: Sequence[Vector]) -> Vector:
    return tuple(sum(column, Fraction(0)) for column in zip(*vectors, strict=True))


def _agree(name: str, exact: Sequence[Fraction], found: Sequence[float]) -> None:
    """The reference must say the same, up to floating point."""
    for one, other in zip(exact, found, strict=True):
        if abs(float(one) - float(other)) > TOLERANCE * (1 + abs(float(one))):
            raise VectorError(f"{name}: {other} where {one} is right", clause="VE-4")


def _heterogeneity(name: str, comment: str, losses: Sequence[Loss]) -> Case:
    weights = _total([h for h, _c in losses])
    pulls = _total([tuple(a * b for a, b in zip(*one, strict=True)) for one in losses])
    optimum = tuple(pull / weight for pull, weight in zip(pulls, weights, strict=True))
    delta = sum((_square(_gradient(one, optimum)) for one in losses), Fraction(0)) / len(losses)
    _agree(name, [delta], [heterogeneity(_problem(losses))])
    return make(
        f"admissible/heterogeneity/{name}", "GU-1", comment, {"losses": _losses_json(losses)},
        lambda: {"delta": ratio(delta)},
    )  # fmt: skip


def _phi(name: str, comment: str, losses: Sequence[Loss], chosen: Sequence[int],
         point: Sequence[float], refused: str | None = None) -> Case:  # fmt: skip
    x, problem, b = tuple(map(Fraction, point)), _problem(losses), len(losses) - len(chosen)

    def compute() -> Json:
        found = reference.phi(problem, chosen, np.array(point))
        gradients = [_gradient(losses[u], x) for u in chosen]
        total = _total(gradients)
        if b == 0 and any(total):
            return {"phi": None if math.isinf(found) else "finite", "vectors": []}
        phi = sum(map(_square, gradients), Fraction(0)) + (_square(total) / b if b else 0)
        _agree(name, [phi], [found])
        return {"phi": ratio(phi), "vectors": [_ratios([-s / b for s in total]) for _v in range(b)]}

    given = {"losses": _losses_json(losses), "agents": list(chosen), "point": _ratios(x)}
    return make(f"admissible/phi/{name}", "GU-3", comment, given, compute, refused=refused)


def _member(
    name: str, source: str, comment: str, losses: Sequence[Loss], chosen: Sequence[int],
    point: Sequence[float], e: tuple[float, float],
) -> Case:  # fmt: skip
    given = {
        "losses": _losses_json(losses), "agents": list(chosen),
        "point": _ratios([*map(Fraction, point)]), "e1": ratio(e[0]), "e2": ratio(e[1]),
    }  # fmt: skip
    return make(
        f"admissible/member/{name}", source, comment, given,
        lambda: {
            "member": reference.in_relaxed_set(_problem(losses), chosen, *e, np.array(point))
        },
    )  # fmt: skip


def _parts(losses: Sequence[Loss], chosen: Sequence[int]) -> tuple[Vector, Vector, Fraction]:
    """Q, x_c and phi(x_c) of GU-5, entry by entry; b >= 1."""
    b, few = len(losses) - len(chosen), [losses[u] for u in chosen]
    slopes, pulls = _total([h for h, _c in few]), _total([_pull(one) for one in few])
    squares = _total([tuple(h * h for h in hessian) for hessian, _c in few])
    Q = tuple(q + s * s / b for q, s in zip(squares, slopes, strict=True))
    doubled = _total([tuple(h * p for h, p in zip(one[0], _pull(one), strict=True)) for one in few])
    rows = zip(doubled, slopes, pulls, Q, strict=True)
    centre = tuple((r + s * p / b) / q for r, s, p, q in rows)
    gradients = [_gradient(one, centre) for one in few]
    least = sum(map(_square, gradients), Fraction(0)) + _square(_total(gradients)) / b
    return Q, centre, least


def _pull(one: Loss) -> Vector:
    return tuple(h * c for h, c in zip(*one, strict=True))


def _ellipsoid(
    name: str, comment: str, losses: Sequence[Loss], chosen: Sequence[int], delta: float
) -> Case:
    Q, centre, least = _parts(losses, chosen)
    level = len(losses) * Fraction(delta) - least
    found = reference.admissible_ellipsoid(_problem(losses), chosen, delta)
    _agree(name, [*Q, *centre, level], [*np.diag(found.matrix), *found.centre, found.level])
    given = {"losses": _losses_json(losses), "agents": list(chosen), "delta": ratio(delta)}
    return make(
        f"admissible/ellipsoid/{name}", "GU-5 GU-6", comment, given,
        lambda: {"matrix": _ratios(Q), "centre": _ratios(centre), "level": ratio(level)},
    )  # fmt: skip


def _distance(
    name: str, comment: str, losses: Sequence[Loss], chosen: Sequence[int], delta: float,
    point: Sequence[float],
) -> Case:  # fmt: skip
    Q, centre, least = _parts(losses, chosen)
    x = tuple(map(Fraction, point))
    radius_squared = (len(losses) * Fraction(delta) - least) / Q[0]
    found = reference.distance_to_admissible(_problem(losses), chosen, delta, np.array(point))
    expected: str | None = None
    if radius_squared >= 0:
        away = _root(_square([a - c for a, c in zip(x, centre, strict=True)]))
        distance = max(Fraction(0), away - _root(radius_squared))
        _agree(name, [distance], [found.value])
        expected = ratio(distance)
    elif not math.isinf(found.value):
        raise VectorError(f"{name}: the set is empty", clause="VE-4")
    given = {
        "losses": _losses_json(losses), "agents": list(chosen), "delta": ratio(delta),
        "point": _ratios(x),
    }  # fmt: skip
    return make(
        f"admissible/distance/{name}", "GU-6", comment, given, lambda: {"distance": expected}
    )


def _root(value: Fraction) -> Fraction:
    """The exact square root; cases are chosen so that there is one."""
    found = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    if found * found != value:
        raise VectorError(f"{value} is no square", clause="VE-4")
    return found


def family() -> Family:
    """All cases of the admissible sets."""
    line = [loss([1], [c]) for c in (0, 2, 4)]
    plane = [
        loss([1, 2], [0, 1]),
        loss([3, 1], [2, -1]),
        loss([1, 1], [0, 0]),
        loss([2, 2], [1, 1]),
    ]
    round_ = [loss([2, 2], c) for c in ([0, 0], [2, 0], [1, 3], [5, 5])]
    return Family(
        "admissible",
        "Heterogeneity and admissible models (GU-1 to GU-6 of spec/guarantees.md) for losses "
        "(x - c)' H (x - c) / 2 with diagonal H.",
        ("For each case, compute the operation named in `operation` from `input` and compare.",
         "The results are exact rationals; an implementation in floating point passes within "
         "2^-40 (1 + |value|). Memberships are decided by more than that, or by numbers that "
         "doubles hold exactly."),
        OPERATIONS,
        (
            _heterogeneity("line", "centres 0, 2, 4: 8/3", line),
            _heterogeneity("same", "no difference", [line[1], line[1]]),
            _heterogeneity("plane", "different Hessians", plane),
            _phi("line", "two agents of three", line, (0, 1), [3]),
            _phi("plane", "two of four", plane, (0, 2), [1, -1]),
            _phi("everybody-at-minimum", "b = 0 and s(x) = 0", line, (0, 1, 2), [2]),
            _phi("everybody-elsewhere", "b = 0 and s(x) is not 0", line, (0, 1, 2), [3]),
            _phi("nobody-refused", "U is not empty", line, (), [3], "GU-2"),
            _phi("unknown-refused", "an agent that does not exist", line, (0, 3), [3], "GU-2"),
            _member("inside", "GU-2", "phi = 26 <= 3 * 9", line, (0, 1), [3], (0, 9)),
            _member("outside", "GU-2", "phi = 26 > 3 * 8", line, (0, 1), [3], (0, 8)),
            _member("on-the-edge", "GU-2", "phi = 13.5 = 3 * 4.5", line, (0,), [3], (0, 4.5)),
            _member("relaxed", "GU-4", "10 + (4 - 3)^2 <= 3 * 4", line, (0, 1), [3], (1, 4)),
            _member("relaxed-outside", "GU-4", "10 + 1 > 3 * 3", line, (0, 1), [3], (1, 3)),
            _member("everybody", "GU-4", "b = 0: |s| = 3 <= 3 * 1", line, (0, 1, 2), [3], (1, 4)),
            _member("everybody-outside", "GU-4", "b = 0: 3 > 3 / 2", line, (0, 1, 2), [3],
                    (0.5, 4)),
            _ellipsoid("line", "an interval", line, (0, 1), 4),
            _ellipsoid("empty", "the level is negative", line, (0, 1), 0.25),
            _ellipsoid("plane", "different Hessians", plane, (0, 1), 8),
            _ellipsoid("ball", "one h for all", round_, (0, 1), 6),
            _distance("inside", "0", round_, (0, 1), 6, [1, 0]),
            _distance("outside", "radius 1, distance 5 - 1", round_, (0, 1), 6, [1, 5]),
            _distance("beside", "a 3-4-5 triangle", round_, (0, 1), 6, [4, 4]),
            _distance("empty", "no member at all", round_, (0, 1), 0.5, [1, 0]),
        ),
    )  # fmt: skip
