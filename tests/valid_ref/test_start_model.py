"""The public starting model: zero is fine for convex losses and useless for a ReLU network."""

import itertools

import numpy as np
import pytest


def gradients(weights: list[np.ndarray], x: np.ndarray, label: int) -> list[np.ndarray]:
    """Back-propagation through ReLU, ReLU, softmax; weights carry the bias as a last column."""
    layers, value = [], x
    for index, matrix in enumerate(weights):
        layers.append(np.append(value, 1.0))
        value = matrix @ layers[-1]
        if index < len(weights) - 1:
            value = np.maximum(value, 0.0)
    chance = np.exp(value - value.max())
    delta = chance / chance.sum() - np.eye(len(value))[label]
    found: list[np.ndarray] = []
    for index in reversed(range(len(weights))):
        found.insert(0, np.outer(delta, layers[index]))
        delta = (weights[index].T @ delta)[:-1] * (layers[index][:-1] > 0)
    return found


@pytest.mark.witness("A27")
@pytest.mark.checks("LM-1")
def test_from_zero_a_relu_network_learns_nothing_but_the_frequencies_of_the_labels() -> None:
    """Only the last bias ever moves, so the prediction never depends on the input."""
    generator = np.random.default_rng(0)
    sizes = [6, 5, 4, 3]
    data = [(generator.uniform(size=6), int(generator.integers(3))) for _datum in range(20)]

    def train(scale: float) -> list[np.ndarray]:
        start = np.random.default_rng(1)
        weights = [
            scale * start.standard_normal((rows, columns + 1))
            for columns, rows in itertools.pairwise(sizes)
        ]
        for _round in range(50):
            for x, label in data:
                steps = gradients(weights, x, label)
                weights = [w - 0.1 * g for w, g in zip(weights, steps, strict=True)]
        return weights

    from_zero = train(0.0)
    assert not from_zero[0].any()
    assert not from_zero[1].any()
    assert not from_zero[2][:, :-1].any()
    assert from_zero[2][:, -1].any()
    assert all(matrix[:, :-1].any() for matrix in train(0.5))
