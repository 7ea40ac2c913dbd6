"""From a scenario to a run: every part is built as it says, and refused where it does not fit."""

from fractions import Fraction
from typing import NoReturn

import attrs
import numpy as np
import pytest

from valid_ref.adversary.attack import AttackError, Setting
from valid_ref.adversary.data import Benign
from valid_ref.coins import Coins
from valid_ref.errors import ValidRefError
from valid_ref.guarantees.bounds import BoundsError
from valid_ref.guarantees.certificate import CertificateError
from valid_ref.losses import LogisticRegression, Noise, Quadratic, RidgeLeastSquares
from valid_ref.protocols.parameters import ParameterError, estimate_limit
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.build import without_checks
from valid_ref.scenario.weightings import with_weights

ONE = parts.QuadraticAgent(((2.0,),), (1.0,))
SMALL = {
    "graph": parts.Family("path:3"),
    "loss": parts.Quadratics((ONE, ONE, parts.QuadraticAgent(((1.0,),), (0.0,)))),
    "rounds": 4,
}


@pytest.mark.checks("LM-9", "VA-6")
def test_schedules_are_their_formulas() -> None:
    def steps(part: parts.SchedulePart) -> tuple[list[float], list[float]]:
        schedule = prepare(Scenario(**SMALL, schedule=part, seed=0)).parameters.lattice.schedule
        return (
            [float(schedule.alpha(t)) for t in range(1, 5)],
            [float(schedule.eta(t)) for t in range(1, 5)],
        )

    near = {"rel": 1e-4}
    assert steps(parts.ConstantSteps(0.25, 0.125)) == ([0.25] * 4, [0.125] * 4)
    alpha, eta = steps(parts.Paper(0.5, 0.4))
    assert alpha == pytest.approx([0.5 / (t + 1) for t in range(1, 5)], **near)
    assert eta == pytest.approx([0.4 / (t + 1) ** 0.5 for t in range(1, 5)], **near)
    alpha, eta = steps(parts.ExperimentSteps(5, 0.1))
    assert alpha == pytest.approx([5 / (5 + t) for t in range(1, 5)], **near)
    alpha, eta = steps(parts.Diminishing())  # mu 1, beta 2, path of 3: l2 = 1, lM = 3
    assert alpha == pytest.approx([2 / (t + 4) for t in range(1, 5)], **near)
    assert eta == pytest.approx([5**0.5 / 3 / (t + 4) ** 0.5 for t in range(1, 5)], **near)
    assert steps(parts.ExplicitSteps((1,) * 4, (2,) * 4))[0] == [2 / 2**20] * 4


@pytest.mark.checks("GV-1", "GV-7", "GV-12")
def test_weightings_thresholds_and_their_origin() -> None:
    checks = (
        parts.Check("c", parts.Polynomial(2), parts.ConfiguredThresholds(0.5, 2.0)),
        parts.Check("d", parts.Exponential(0.5, 4), parts.CertifiedThresholds()),
        parts.Check("e", parts.Polynomial(0), parts.CalibratedThresholds()),
    )
    prepared = prepare(Scenario(**SMALL, checks=checks, delta=1.0, seed=0))
    c, d, e = prepared.parameters.weightings
    assert c.weights == (1, 4, 9, 16)
    assert c.optimality == 3 * 30 * 2**28 // 2
    assert c.heterogeneity == 3 * 30**2 * 4**28 * 2
    assert d.weights == (2, 4, 8, 16)
    assert [w.origin for w in (c, d, e)] == ["configured", "certificate", "calibrated"]
    assert prepared.notes[0] == "check c: configured thresholds, not certified"
    assert not any("certificate" in note for note in prepared.notes[1:] if " d: " in note)


@pytest.mark.checks("GU-9")
def test_averaged_lengths_of_unbounded_data_need_a_kurtosis() -> None:
    gaussian = parts.RandomQuadratics(2, noise=Noise.GAUSSIAN, spread=0.1)

    def made(without: tuple[str, ...], kurtosis: float | None) -> int:
        thresholds = parts.CertifiedThresholds(start_radius=5.0, kurtosis=kurtosis)
        scenario = Scenario(
            graph=parts.Family("path:3"),
            loss=gaussian,
            rounds=3,
            checks=(parts.Check("w", parts.Polynomial(), thresholds),),
            bounds=parts.NoBounds(),
            without=without,
            seed=1,
        )
        return prepare(scenario).parameters.weightings[0].heterogeneity

    assert made((), None) == made((), 3.0)
    with pytest.raises(CertificateError, match=r"without a kurtosis .* gradient_bound"):
        made(("P27",), None)
    assert made(("P27",), 3.0) < made(("P27",), 9.0)


@pytest.mark.checks("GV-7", "GU-9")
def test_a_certificate_that_excludes_nothing_says_how_many_rounds_it_needs() -> None:
    check = parts.Check("w", parts.Polynomial(), parts.CertifiedThresholds())
    noisy = parts.RandomQuadratics(2, noise=Noise.SIGNS, spread=0.5)
    scenario = Scenario(graph=parts.Family("path:4"), loss=noisy, rounds=2, checks=(check,))

    def said(rounds: int) -> tuple[str, ...]:
        notes = prepare(attrs.evolve(scenario, rounds=rounds)).notes
        return tuple(note for note in notes if "too small for its certificate" in note)

    both = said(2)
    assert len(both) == 2
    needed = [int(note.split("T = ")[1].split(" ")[0]) for note in both]
    assert all(note.endswith(" would do") for note in both)
    assert max(needed) > 2
    assert said(max(needed)) == ()
    assert len(said(max(needed) - 1)) == 1 + (needed[0] == needed[1])
    steps = parts.ExplicitSteps((1 << 18,) * 2, (1 << 18,) * 2)
    explicit = prepare(attrs.evolve(scenario, schedule=steps)).notes
    assert any(note.endswith("certificate, and more rounds have no steps") for note in explicit)


@pytest.mark.checks("GV-7")
def test_configured_thresholds_below_the_certificate_name_what_is_needed() -> None:
    def notes(optimality: float, heterogeneity: float) -> tuple[str, ...]:
        thresholds = parts.ConfiguredThresholds(optimality, heterogeneity)
        check = parts.Check("c", parts.Polynomial(), thresholds)
        said = prepare(Scenario(**SMALL, checks=(check,), seed=0)).notes[1:]
        return tuple(note for note in said if note.startswith("check c"))

    both = notes(1e-3, 1e-3)
    assert [note.split(" threshold ")[0] for note in both] == [
        "check c: optimality",
        "check c: heterogeneity",
    ]
    assert all(" is below " in note for note in both)
    assert len(notes(1e-3, 1e9)) == 1
    assert notes(1e6, 1e9) == ()
    noisy = parts.RandomQuadratics(2, noise=Noise.GAUSSIAN, spread=0.1)
    check = parts.Check("c", parts.Polynomial(), parts.ConfiguredThresholds(1.0, 1.0))
    unbounded = Scenario(
        graph=parts.Family("path:3"),
        loss=noisy,
        rounds=3,
        checks=(check,),
        bounds=parts.NoBounds(),
        seed=0,
    )
    assert any("there is no certificate" in note for note in prepare(unbounded).notes)


@pytest.mark.checks("MO-9")
def test_losses_are_built_as_named() -> None:
    data = parts.DataAgent(((1.0, 0.0), (0.0, 1.0)), (1.0, -1.0))
    graph = parts.Family("path:3")

    def first_loss(part: parts.LossPart):
        return prepare(Scenario(graph=graph, loss=part, rounds=2, seed=0)).problem.losses[0]

    assert isinstance(first_loss(SMALL["loss"]), Quadratic)
    assert isinstance(first_loss(parts.Ridge((data,) * 3, 0.5)), RidgeLeastSquares)
    assert isinstance(first_loss(parts.Logistic((data,) * 3, 0.5)), LogisticRegression)
    assert first_loss(parts.RandomRidge(4, 7)).features.shape == (7, 4)
    targets = first_loss(parts.RandomLogistic(4, 30)).targets
    assert set(targets.tolist()) == {-1.0, 1.0}


@pytest.mark.checks("LV-3", "VA-8")
def test_keys_come_from_the_seed_or_from_the_scenario() -> None:
    drawn = [prepare(Scenario(**SMALL, seed=seed)).private for seed in (0, 0, 1)]
    keys = [[private[v].key for v in range(3)] for private in drawn]
    assert keys[0] == keys[1]
    assert len({*keys[0], *keys[2]}) == 6
    named = prepare(Scenario(**SMALL, keys=(5, 6, 7), seed=0)).private
    assert [named[v].key for v in range(3)] == [5, 6, 7]


@pytest.mark.checks("LM-1", "LV-3", "AD-6", "HA-1", "GU-8", "MO-9", "GV-12")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"graph": {"kind": "edges", "agents": 3, "edges": [[0, 1]]}}, "disconnected"),
        ({"start": (1.0, 2.0)}, "start has 2 entries"),
        ({"start": (1e9,)}, "beyond"),
        ({"keys": (1, 2)}, "2 keys for 3 agents"),
        ({"keys": (1, 2, -3)}, "key -3 is not in"),
        ({"prime": 15}, "15 is not a prime"),
        ({"prime": 3}, "leave no room"),
        ({"prime": 3, "without": ("P20",)}, "not larger than the hashed length"),
        ({"loss": parts.Quadratics((ONE,))}, "1 losses for 3 agents"),
        ({"loss": {"kind": "random-ridge", "dimension": 0}}, "dimension = 0 is not an integer"),
        ({"batch": 0}, "batch = 0 is not an integer from 1 on"),
        ({"schedule": parts.ExplicitSteps((1,), (1,))}, "1 steps for 4 rounds"),
        ({"schedule": parts.ConstantSteps(0.1, 0.9)}, "above 1, so mixing is no convex"),
        ({"bounds": parts.DerivedBounds(0.001)}, "below the losses' F0"),
        ({"checks": (parts.Check(), parts.Check())}, "two checks have the same name"),
        ({"byzantine": (7,)}, "7"),
        ({"byzantine": (1,), "attack": Benign(), "delta": 0.0}, "more heterogeneous than delta"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict, words: str) -> None:
    with pytest.raises(ValidRefError) as caught:
        prepare(Scenario(**({"seed": 0} | SMALL | changes)))
    assert words in str(caught.value)


@pytest.mark.checks("GU-8")
def test_unbounded_data_needs_configured_bounds() -> None:
    gaussian = parts.RandomQuadratics(2, noise=Noise.GAUSSIAN, spread=0.1)
    scenario = {"graph": parts.Family("path:3"), "loss": gaussian, "rounds": 3}
    with pytest.raises(BoundsError, match="must be configured"):
        prepare(Scenario(**scenario, seed=0))
    bounds = parts.ConfiguredBounds(10.0, 50.0)
    found = prepare(Scenario(**scenario, bounds=bounds, seed=0)).parameters.bounds
    assert found is not None
    assert found.model_squared == ((10 * 2**28) ** 2,) * 3
    assert prepare(Scenario(**scenario, bounds=parts.NoBounds(), seed=0)).parameters.bounds is None


@pytest.mark.checks("AD-5", "AD-6", "AD-8")
def test_a_hidden_agent_is_noted_and_turns_no_guarantee_on() -> None:
    hidden = Scenario(
        **SMALL, byzantine=(0, 1), seed=0
    )  # 0 - 1 - 2: agent 0 has only a Byzantine neighbour
    assert any("no guarantee applies" in note for note in prepare(hidden).notes)
    printed = Scenario(**SMALL, byzantine=(0, 1), without=("P06",), seed=0)
    assert not any("no guarantee" in note for note in prepare(printed).notes)


def test_an_attack_that_cannot_be_built_says_so() -> None:
    assert issubclass(AttackError, ValidRefError)
    assert Fraction(1, 2) == Benign().fraction
    assert np.isfinite(prepare(Scenario(**SMALL, seed=0)).eps_success)


@pytest.mark.checks("AD-4", "LM-1")
def test_nobody_can_write_to_the_start_model_and_an_attack_has_parameters_of_its_own() -> None:
    prepared = prepare(Scenario(**SMALL, seed=0))
    with pytest.raises(ValueError, match="read-only"):
        prepared.parameters.start_model[:] = 7
    own = Setting.of(prepared.parameters, prepared.problem, frozenset({1}), 0.0, Coins.of_seed(0))
    assert own.parameters == prepared.parameters
    assert own.parameters is not prepared.parameters
    assert own.parameters.graph is not prepared.parameters.graph
    assert own.parameters.start_model is not prepared.parameters.start_model


@pytest.mark.checks("VA-6", "LE-4")
def test_coins_of_lean_validation_fix_openings_and_name_whatever_the_attack() -> None:
    coins = "0123456789abcdef" * 4

    def openings(own: str | None, attack: str | None) -> tuple[object, ...]:
        found = prepare(
            Scenario(
                graph="complete:4",
                rounds=2,
                loss="random-quadratic:dimension=1",
                byzantine=3,
                attack=attack,
                seed=0,
                validation=parts.Lean(coins=own),
            )
        )
        assert found.parameters.lean is not None
        return (found.parameters.lean.run, *(one.key for one in found.private.values()))

    assert openings(coins, None) == openings(coins, "sign-flip")
    assert not set(openings(None, None)) & set(openings(None, "sign-flip"))
    assert not set(openings(None, None)) & set(openings(coins, None))
    for wrong in (coins[1:], coins.upper()):
        with pytest.raises(ValidRefError, match="64 of the digits"):
            parts.Lean(coins=wrong)


@pytest.mark.checks("LE-3")
@pytest.mark.parametrize(
    ("weights", "bounds", "rounds"),
    [
        ("polynomial:power=12", "derived", 60),
        ("polynomial:power=64", "configured:model=9,gradient=9", 60),
        ("exponential:gamma=0.9,bits=40", "derived", 60),
        ("exponential:gamma=1,bits=60", "configured:model=9,gradient=1000", 60),
        ("exponential:gamma=0.9,bits=40", "none", 60),
        ("polynomial:power=12", "none", 60),
        ("polynomial:power=0", "none", 5000),
    ],
)
def test_weights_that_could_wrap_are_refused_before_rehearsals_and_what_is_advised_fits(
    weights: str, bounds: str, rounds: int
) -> None:
    """The next heavier weights than those advised are refused as well."""
    plain = {**SMALL, "rounds": rounds, "seed": 0, "bounds": bounds, "validation": "lean"}

    def refusal(text: str) -> str:
        scenario = Scenario(**plain, checks=text)
        with pytest.raises(ParameterError) as error:
            prepare(scenario, _no_rehearsal)
        assert error.value.clause == "LE-3"
        return error.value.message

    message = refusal(weights)
    assert ("norm bounds, of which there are none" in message) == (bounds == "none")
    advice = message.rpartition("; ")[2]
    kind = weights.partition(":")[0]
    if advice == "no weights of this kind fit":
        assert weights == "polynomial:power=0"
        return
    fitting = advice.removesuffix(" would fit")
    assert fitting.startswith(kind)
    head, equals, last = fitting.rpartition("=")
    prepare(Scenario(**plain, checks=fitting))
    refusal(f"{head}{equals}{int(last) + 1}")


@pytest.mark.checks("LE-3")
@pytest.mark.parametrize(
    ("graph", "rounds", "share"),
    [
        ("paper", 50, 0.84),
        ("paper", 100, 4.9),
        ("paper", 200, 32),
        ("path:3", 100, 0.54),
        ("path:3", 200, 4.1),
    ],
)
def test_the_sizes_of_the_chapter_at_which_sums_fit_without_norm_bounds(
    graph: str, rounds: int, share: float
) -> None:
    scenario = Scenario(graph=graph, rounds=rounds, bounds="none", seed=0)
    parameters, _problem, _notes = without_checks(scenario)
    found = with_weights(scenario, parameters)
    reach = 2 * found.graph.agents * estimate_limit(found, found.weightings[0])
    assert reach / found.field.prime == pytest.approx(share, rel=0.02)


def _no_rehearsal(*_arguments: object) -> NoReturn:
    raise AssertionError("a rehearsal of what is refused")
