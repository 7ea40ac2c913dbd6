"""False gradients, false data, silence, the catalogue, and what an attack refuses."""

import math
from fractions import Fraction
from typing import Any

import attrs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.torch_backend.attacks.views import view_of, views
from torch_backend.attacks import (
    ATTACKS,
    Alie,
    Dissensus,
    Gaussian,
    InconsistentGradient,
    LabelFlip,
    LearningAttack,
    LearningView,
    Mimic,
    NoAttack,
    OneLabel,
    Push,
    Silence,
    Spectral,
)
from torch_backend.errors import BackendAttackError, ConfigError
from valid_ref.errors import ValidRefError
from valid_ref.graph_families import parse_family

OWN: list[Any] = [attack for attack in ATTACKS.known if attack is not NoAttack]


@given(view=views(), units=st.integers(1, 100))
def test_an_inconsistent_gradient_is_off_in_one_entry(view: LearningView, units: int) -> None:
    deviation = InconsistentGradient(units=units).deviate(view)
    for b in view.byzantine:
        model, gamma = deviation.said[b]
        assert torch.equal(model, view.models[b])
        difference = (gamma - view.gammas[b]).tolist()
        assert difference == [units] + [0] * (len(difference) - 1)


@given(view=views(extreme=False), size=st.floats(-50, 50))
def test_a_push_is_one_step_along_the_diagonal_and_is_kept(view: LearningView, size: float) -> None:
    deviation = Push(size=size).deviate(view)
    f, k = view.parameters.precision.fraction_bits, view.parameters.precision.step_bits
    A, d = view.parameters.schedule.A(view.t), view.parameters.dimension
    gradient = -round(size * 2**f / math.sqrt(d))
    for b in view.byzantine:
        model, gamma = deviation.said[b]
        expected = [round(Fraction(int(y) - A * gradient, 2**k)) for y in view.mixed[b]]
        assert model.tolist() == expected
        assert torch.equal((model << k) + gamma, view.mixed[b])
        assert torch.equal(deviation.keeps[b], model)


def test_a_push_beyond_all_bounds_is_cut_to_the_range() -> None:
    view = view_of(parse_family("complete:4"), (1,), [[0, 0]] * 4)
    model, _ = Push(size=1e200).deviate(view).said[1]
    assert 0 < int(model.min()) <= int(model.max()) < view.parameters.model_limit


def test_data_attacks_leave_messages_alone_and_change_labels() -> None:
    view = view_of(parse_family("complete:4"), (1,), [[5, 6]] * 4)
    labels = torch.tensor([[0, 3, 9]])
    for attack, expected in ((LabelFlip(), [9, 6, 0]), (OneLabel(label=4), [4, 4, 4])):
        deviation = attack.deviate(view)
        assert not any(attrs.astuple(deviation, recurse=False))
        assert attack.labels(labels, 10).tolist() == [expected]
    assert LabelFlip().labels(torch.tensor([0, 2]), 3).tolist() == [2, 0]
    assert Gaussian().labels(labels, 10).tolist() == labels.tolist()
    with pytest.raises(ConfigError):
        OneLabel(label=10).labels(labels, 10)
    with pytest.raises(ConfigError):
        OneLabel(label=-1)


def test_silence_begins_late_and_is_complete() -> None:
    graph = parse_family("star:5")
    models = [[1]] * 5
    assert not Silence(first=3).deviate(view_of(graph, (0, 2), models, t=2)).silent
    silent = Silence(first=3).deviate(view_of(graph, (0, 2), models, t=3)).silent
    assert silent == {(0, 1), (0, 2), (0, 3), (0, 4), (2, 0)}


@pytest.mark.checks("EX-12")
def test_every_attack_has_a_name_a_formula_and_options_with_defaults() -> None:
    kinds = [attack.kind for attack in OWN]
    assert len(set(kinds)) == len(kinds) == 16
    graph = parse_family("complete:5")
    view = view_of(graph, (2,), [[agent, -agent] for agent in range(5)])
    for attack in OWN:
        built = attack()
        assert attrs.has(attack)
        assert (attack.__doc__ or "").splitlines()[0].endswith((".", ":"))
        built.check(graph, (2,))
        deviation = built.deviate(view)
        assert set(deviation.said) | {b for b, _ in deviation.edges} <= {2}
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            built.first = 2


@pytest.mark.parametrize("attack", [a() for a in OWN], ids=lambda a: a.kind)
def test_a_network_without_honest_or_byzantine_agents_is_refused(attack: LearningAttack) -> None:
    graph = parse_family("complete:3")
    for byzantine in ((), (0, 1, 2)):
        with pytest.raises(ValidRefError):
            attack.check(graph, byzantine)


def test_victims_and_numbers_that_do_not_fit_are_refused() -> None:
    graph = parse_family("complete:4")
    for attack in (Mimic(victim=1), Mimic(victim=4), Dissensus(victim=1), Spectral(victim=9)):
        with pytest.raises(BackendAttackError, match="victim"):
            attack.check(graph, (1,))
    Mimic(victim=0).check(graph, (1,))
    with pytest.raises(ValidRefError, match="no z"):
        Alie().check(graph, (1, 2, 3))
    Alie(z=1.0).check(graph, (1, 2, 3))
    with pytest.raises(ValidRefError, match="Fiedler"):
        Spectral().check(graph, (1, 2, 3))
