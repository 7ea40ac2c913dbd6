"""Every attack is its formula, entry by entry, on every edge, and stays in range."""

import math
from collections.abc import Callable

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torch_backend.attacks.views import fitting_gamma, rounded, told, view_of, views
from torch_backend.attacks import (
    Alie,
    Dissensus,
    Equivocation,
    GradientLie,
    InnerProduct,
    Isolation,
    LearningView,
    Mimic,
    SignFlip,
    Spectral,
)
from torch_backend.attacks.attack import FalseModel
from valid_ref.adversary.models import alie_z, fiedler_vector
from valid_ref.graph_families import parse_family

EACH = settings.default.max_examples // 3
"""Examples for each of the formulas, of which there are many."""

Formula = Callable[[LearningView, int, int], np.ndarray]
"""The real model, in lattice units, that a sender should send to a receiver."""


def rows(view: LearningView, agents: object) -> np.ndarray:
    return view.models[list(agents)].numpy().astype(np.float64)  # type: ignore[call-overload]


def near(view: LearningView, receiver: int) -> list[int]:
    around = {receiver, *view.graph.neighbours(receiver)} - set(view.byzantine)
    return sorted(around) or list(view.honest)


def honest_around(view: LearningView, i: int) -> list[int]:
    return [u for u in view.graph.neighbours(i) if u not in view.byzantine]


def gang_of(view: LearningView, i: int) -> list[int]:
    return [u for u in view.graph.neighbours(i) if u in view.byzantine]


def dissensus(view: LearningView, _sender: int, i: int) -> np.ndarray:
    own = rows(view, [i])[0]
    pull = sum((row - own for row in rows(view, honest_around(view, i))), start=0 * own)
    return own - 2 * pull / max(1, len(gang_of(view, i)))


def spectral(view: LearningView, _sender: int, i: int) -> np.ndarray:
    mode = fiedler_vector(view.graph, view.honest)
    along = mode @ rows(view, view.honest)
    weight = mode[view.honest.index(i)] if i in view.honest else 0
    return rows(view, [i])[0] + 0.5 * weight * along


def equivocation(view: LearningView, sender: int, receiver: int) -> np.ndarray:
    sign = 1 if view.graph.neighbours(sender).index(receiver) % 2 == 0 else -1
    return rows(view, [sender])[0] + sign * 0.25 * 2**view.parameters.precision.fraction_bits


FORMULAS: dict[str, tuple[FalseModel, Formula]] = {
    "sign flip, own": (SignFlip(), lambda v, b, _u: -rows(v, [b])[0]),
    "sign flip, mean": (SignFlip(of="mean"), lambda v, _b, _u: -rows(v, v.honest).mean(0)),
    "sign flip, per edge": (
        SignFlip(of="mean", per_edge=True),
        lambda v, _b, u: -rows(v, near(v, u)).mean(0),
    ),
    "alie": (
        Alie(z=1.5),
        lambda v, _b, _u: rows(v, v.honest).mean(0) - 1.5 * rows(v, v.honest).std(0),
    ),
    "alie, per edge": (
        Alie(z=0.5, per_edge=True),
        lambda v, _b, u: rows(v, near(v, u)).mean(0) - 0.5 * rows(v, near(v, u)).std(0),
    ),
    "ipm": (InnerProduct(epsilon=0.7), lambda v, _b, _u: -0.7 * rows(v, v.honest).mean(0)),
    "ipm, per edge": (
        InnerProduct(epsilon=3.0, per_edge=True),
        lambda v, _b, u: -3 * rows(v, near(v, u)).mean(0),
    ),
    "mimic": (Mimic(), lambda v, _b, _u: rows(v, [v.honest[0]])[0]),
    "dissensus": (Dissensus(epsilon=2.0), dissensus),
    "spectral": (Spectral(c=0.5), spectral),
    "equivocation": (Equivocation(size=0.25), equivocation),
    "gradient lie": (
        GradientLie(target=-0.75),
        lambda v, _b, _u: np.full(
            v.models.shape[1], -0.75 * 2**v.parameters.precision.fraction_bits
        ),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=EACH)
@given(view=views(extreme=False))
def test_the_model_on_every_edge_is_the_formula(name: str, view: LearningView) -> None:
    attack, formula = FORMULAS[name]
    for (b, u), (model, _) in told(view, attack.deviate(view)).items():
        # Half a unit of rounding, and the last bits of float64.
        exact = formula(view, b, u)
        assert np.abs(model - exact).max() <= 0.5 + 1e-9 * (1 + np.abs(exact).max())


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=EACH)
@given(view=views(), honest=st.booleans())
def test_models_stay_in_range_and_gradients_fit_or_are_the_honest_ones(
    name: str, view: LearningView, honest: bool
) -> None:
    attack = FORMULAS[name][0]
    honest = honest and not isinstance(attack, GradientLie)  # which has the one gradient alone
    if honest:
        attack = attrs.evolve(attack, gradient="honest")
    deviation = attack.deviate(view)
    assert not deviation.keeps
    # Earlier lies of the view differ from edge to edge, which one word to all cannot explain.
    explained = not view.previous_edges or deviation.edges
    for edge, (model, gamma) in told(view, deviation).items():
        assert np.abs(model).max() < view.parameters.model_limit
        if honest:
            assert np.array_equal(gamma, view.gammas[edge[0]].numpy())
        elif explained:
            assert np.array_equal(gamma, fitting_gamma(view, edge, model))


@given(view=views(extreme=False))
def test_isolation_leaves_its_receiver_where_it_is(view: LearningView) -> None:
    found = told(view, Isolation().deviate(view))
    for i in view.honest:
        gang = gang_of(view, i)
        if gang:
            lies = sum(found[b, i][0] for b in gang)
            rest = sum((view.models[u].numpy() for u in honest_around(view, i)), start=0 * lies)
            assert np.array_equal(lies + rest, view.graph.degree(i) * view.models[i].numpy())
            shares = np.stack([found[b, i][0] for b in gang])
            assert (shares.max(0) - shares.min(0)).max() <= 1


@pytest.mark.parametrize(
    ("make", "index"),
    [
        (lambda victim: Dissensus(victim=victim), 1),
        (lambda victim: Isolation(victim=victim), 1),
        (lambda victim: Spectral(victim=victim), 1),
        (lambda victim: Mimic(victim=victim), 1),
    ],
)
@settings(max_examples=EACH)
@given(view=views(extreme=False))
def test_with_a_victim_all_are_told_what_is_meant_for_it(
    make: Callable[[int | None], FalseModel], index: int, view: LearningView
) -> None:
    victim = view.honest[min(index, len(view.honest) - 1)]
    deviation = make(victim).deviate(view)
    assert not deviation.edges
    if isinstance(make(None), Mimic):
        for b in view.byzantine:
            assert np.array_equal(deviation.said[b][0], view.models[victim])
        return
    apart = told(view, make(None).deviate(view))
    for b in view.byzantine:
        if victim in view.graph.neighbours(b):
            assert np.array_equal(deviation.said[b][0].numpy(), apart[b, victim][0])


def test_alie_takes_its_z_from_the_numbers_of_agents() -> None:
    view = view_of(parse_family("complete:4"), (3,), [[0], [40], [80], [7]])
    ((model, _), *_) = told(view, Alie().deviate(view)).values()
    z = alie_z(4, 1)
    assert z == pytest.approx(-0.4307, abs=1e-4)
    expected = 40 - z * math.sqrt((40**2 + 40**2) / 3)
    assert np.array_equal(model, rounded(view, np.array([expected])))
