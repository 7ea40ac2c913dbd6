"""Heterogeneity, against sums done by hand."""

import numpy as np
import pytest

from valid_ref.guarantees import heterogeneity, is_heterogeneous
from valid_ref.losses import LogisticRegression, Problem, Quadratic, random_quadratics


def scalars(centres: list[float], h: float = 1.0) -> Problem:
    matrix = np.array([[h]])
    return Problem(tuple(Quadratic(matrix, np.array([c])) for c in centres))


@pytest.mark.checks("GU-1")
def test_heterogeneity_by_hand() -> None:
    problem = scalars([0.0, 1.0, 2.0])  # x* = 1, gradients 1, 0, -1
    assert heterogeneity(problem) == pytest.approx(2 / 3, rel=1e-15)
    assert heterogeneity(scalars([0.0, 1.0, 2.0], h=3.0)) == pytest.approx(6, rel=1e-14)
    unequal = Problem((*scalars([0.0]).losses, *scalars([3.0], h=2.0).losses))
    assert heterogeneity(unequal) == pytest.approx(4, rel=1e-14)  # x* = 2, gradients 2, -2
    assert is_heterogeneous(problem, 0.67)
    assert not is_heterogeneous(problem, 0.66)
    assert is_heterogeneous(problem, 0.66, tolerance=0.01)


@pytest.mark.checks("GU-1")
def test_agents_with_one_distribution_are_not_heterogeneous() -> None:
    generator = np.random.default_rng(5)
    features, targets = generator.normal(size=(20, 3)), np.sign(generator.normal(size=20))
    loss = LogisticRegression(features, targets, 0.3)
    assert heterogeneity(Problem((loss, loss, loss))) < 1e-28
    assert heterogeneity(random_quadratics(4, 3, 0)) > 0.1
