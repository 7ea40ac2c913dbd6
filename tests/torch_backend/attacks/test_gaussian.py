"""The Gaussian attack in its variants: what is said, what is kept, and where the noise is from."""

import attrs
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.torch_backend.attacks.views import told, view_of, views
from torch_backend.attacks import Gaussian, LearningDeviation, LearningView, Replacement
from torch_backend.errors import ConfigError
from valid_ref.graph_families import parse_family

GRAPH = parse_family("complete:4")


def quiet_view(
    d: int = 5, t: int = 1, seed: int = 0, byzantine: tuple[int, ...] = (1, 3)
) -> LearningView:
    return view_of(GRAPH, byzantine, [[agent] * d for agent in range(4)], t=t, seed=seed)


@pytest.mark.checks("EX-8")
@given(view=views(), sigma=st.floats(0, 100))
def test_consistent_noise_becomes_the_own_model_and_obeys_the_relation(
    view: LearningView, sigma: float
) -> None:
    view = attrs.evolve(view, previous_edges={})  # who keeps what it said never said two things
    deviation = Gaussian(sigma=sigma, keeps=True).deviate(view)
    assert not deviation.edges
    for b in view.byzantine:
        model, gamma = deviation.said[b]
        assert torch.equal(deviation.keeps[b], model)
        bits = view.parameters.precision.step_bits
        assert torch.equal((model << bits) + gamma, view.mixed[b])
        assert int(model.abs().max()) < view.parameters.model_limit


@pytest.mark.checks("EX-8")
def test_the_true_gradient_goes_with_a_noisy_model_and_a_clean_one_is_kept() -> None:
    view = quiet_view()
    deviation = Gaussian(sigma=1.0, gradient="honest").deviate(view)
    assert not deviation.keeps
    for b in view.byzantine:
        model, gamma = deviation.said[b]
        assert torch.equal(gamma, view.gammas[b])
        assert not torch.equal(model, view.models[b])
    same = Gaussian(sigma=1.0).deviate(view).said
    assert all(torch.equal(deviation.said[b][0], same[b][0]) for b in view.byzantine)


@pytest.mark.checks("EX-8")
def test_per_edge_every_neighbour_gets_noise_of_its_own() -> None:
    view = quiet_view()
    deviation = Gaussian(sigma=1.0, per_edge=True, gradient="honest").deviate(view)
    assert not deviation.keeps
    assert not deviation.said
    assert set(deviation.edges) == {(b, u) for b in (1, 3) for u in GRAPH.neighbours(b)}
    models = [tuple(model.tolist()) for model, _ in deviation.edges.values()]
    assert len(set(models)) == len(models)
    assert all(torch.equal(gamma, view.gammas[b]) for (b, _), (_, gamma) in deviation.edges.items())


@pytest.mark.checks("EX-8", "EX-11")
def test_the_noise_is_a_function_of_seed_agent_and_round() -> None:
    def noise(view: LearningView, agent: int) -> list[int]:
        found = Gaussian(sigma=1.0).deviate(view)
        return (found.said[agent][0] - view.models[agent]).tolist()

    first = noise(quiet_view(), 1)
    assert first == noise(quiet_view(), 1)
    assert first == noise(quiet_view(byzantine=(1,)), 1)
    others = [noise(quiet_view(), 3), noise(quiet_view(t=2), 1), noise(quiet_view(seed=1), 1)]
    assert first not in others


@pytest.mark.checks("EX-8")
def test_the_noise_has_the_deviation_asked_for() -> None:
    """40000 draws: the sample deviation is within 2 % of sigma but for one case in 10^7."""
    view = view_of(GRAPH, (1,), [[0] * 40000] * 4)
    for attack in (Gaussian(sigma=30.0), Replacement(sigma=30.0)):
        noise = attack.deviate(view).said[1][0].double() / 2**6
        assert float(noise.std()) == pytest.approx(30.0, rel=0.02)
        assert abs(float(noise.mean())) < 1.0
    nothing = Gaussian(sigma=0.0, keeps=True).deviate(view)
    assert torch.equal(nothing.said[1][0], view.models[1])
    assert torch.equal(nothing.said[1][1], view.gammas[1])


@pytest.mark.checks("EX-8")
@given(first=st.integers(1, 5), length=st.integers(0, 4), t=st.integers(1, 5))
def test_first_and_last_round_bound_the_attack(first: int, length: int, t: int) -> None:
    attack = Gaussian(sigma=1.0, first=first, last=first + length)
    active = bool(attack.deviate(quiet_view(t=t)).said)
    assert active == (first <= t <= first + length)
    assert bool(Gaussian(sigma=1.0, first=first).deviate(quiet_view(t=t)).said) == (t >= first)


def test_replacement_forgets_the_model() -> None:
    view = quiet_view()
    moved = view_of(GRAPH, (1, 3), [[agent + 1000] * 5 for agent in range(4)])
    one, other = (told(v, Replacement(sigma=1.0).deviate(v)) for v in (view, moved))
    assert all(np.array_equal(one[edge][0], other[edge][0]) for edge in one)


def test_noise_beyond_the_range_is_clipped() -> None:
    view = quiet_view()
    deviation: LearningDeviation = Gaussian(sigma=1e300).deviate(view)
    limit = view.parameters.model_limit
    # The range ends beyond 2^53, where float64 has every other integer.
    assert all(limit - 4 <= abs(entry) < limit for entry in deviation.said[1][0].tolist())


def test_options_outside_their_range_are_refused() -> None:
    for options in (
        {"sigma": -1},
        {"sigma": float("nan")},
        {"gradient": "other"},
        {"per_edge": True, "keeps": True},
        {"keeps": 1},
        {"first": 0},
        {"first": 3, "last": 2},
        {"last": 0},
    ):
        with pytest.raises(ConfigError):
            Gaussian(**options)
