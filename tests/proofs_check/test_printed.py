"""What the paper prints and what shows it to be false: one test per erratum."""

from pathlib import Path

import pytest

from proofs_check.framework import Reach, Result, Role
from proofs_check.registry import find_step, load_all, steps_of
from proofs_check.runner import run_step
from valid_ref.trace import Erratum, load

ROOT = Path(__file__).resolve().parents[2]


def refuted(*names: str) -> None:
    for name in names:
        outcome = run_step(find_step(name))
        assert outcome.result is Result.REFUTED, f"{name}: {outcome.detail}"


def passed(*names: str) -> None:
    for name in names:
        outcome = run_step(find_step(name))
        assert outcome.result is Result.PASSED, f"{name}: {outcome.detail}"


@pytest.mark.witness("A03")
def test_steps_that_expand() -> None:
    refuted("contraction.printed_factor_expands", "contraction.printed_range_expands")
    refuted("perturbation.printed_steps_expand")


@pytest.mark.witness("A04")
def test_a_loose_factor() -> None:
    passed("contraction.printed_factor_is_valid", "contraction.sharp_factor_is_smaller")


@pytest.mark.witness("A05")
def test_decay_that_is_not_exponential() -> None:
    refuted("perturbation.printed_exponential_decay", "perturbation.printed_uniform_factor")


@pytest.mark.witness("A06")
def test_mixing_without_conditions() -> None:
    refuted("mixing.printed_stochastic", "mixing.printed_consensus")


@pytest.mark.witness("A07")
def test_steps_that_exclude_each_other() -> None:
    passed("theorem3.printed_steps_exclude")
    refuted("theorem3.printed_without_offset")


@pytest.mark.witness("A08")
def test_the_unsquared_rate() -> None:
    refuted("theorem3.printed_unsquared")


@pytest.mark.witness("A09")
def test_constants_without_conditions() -> None:
    refuted("theorem3.printed_any_constants")


@pytest.mark.witness("A10")
def test_the_rate_without_noise() -> None:
    refuted("theorem1.printed_rate")


@pytest.mark.witness("A11")
def test_the_probability_of_success() -> None:
    refuted("theorem1.printed_success")


@pytest.mark.witness("A12")
def test_the_fixed_window() -> None:
    refuted("weights.fixed_window")


@pytest.mark.witness("A13")
def test_the_threshold_without_noise() -> None:
    refuted("heterogeneity.printed_threshold")


@pytest.mark.witness("A14")
def test_the_level_that_is_certified() -> None:
    refuted("theorem1.printed_level")


@pytest.mark.witness("A15")
def test_perturbations_that_last() -> None:
    refuted("consensus.printed_decay")


@pytest.mark.witness("A17")
def test_the_missing_square() -> None:
    refuted("theorem1.printed_square")


@pytest.mark.witness("A18")
def test_bounds_that_depend_on_more() -> None:
    refuted("bounded.printed_dependence", "bounded.printed_gradient_at_x")


@pytest.mark.witness("A19")
def test_the_upper_bound_that_is_none() -> None:
    refuted("remarks.printed_upper_bound")


@pytest.mark.witness("A20")
def test_convexity_is_not_enough() -> None:
    refuted("remarks.printed_convexity")


@pytest.mark.witness("A21")
def test_assumptions_that_exclude_each_other() -> None:
    refuted("theorem2.printed_assumptions")


@pytest.mark.witness("A23")
def test_a_conclusion_that_does_not_follow() -> None:
    refuted("theorem2.printed_conclusion", "theorem2.printed_premise")


@pytest.mark.witness("A24")
def test_a_lone_validator() -> None:
    refuted("admissible.printed_valid_agents")


@pytest.mark.witness("A25")
def test_a_push_that_the_optimality_check_misses() -> None:
    refuted("drift.printed_optimality")


@pytest.mark.witness("A28")
def test_sensitivity_and_gamma() -> None:
    refuted("weights.printed_sensitivity")


@pytest.mark.witness("P01", "P02", "P04", "P05")
def test_broadcast_and_agreement() -> None:
    refuted("broadcast.printed_last_round", "broadcast.printed_every_agent")
    refuted("agreement.printed_reset", "agreement.diameter_is_too_short")


@pytest.mark.witness("P18", "P19", "P20")
def test_the_hash() -> None:
    refuted("hash.printed_probability", "hash.longer_than_the_field")
    refuted("hash.extension_fields", "hash.wrap_around")


@pytest.mark.witness("P22", "P23")
def test_the_cost() -> None:
    refuted("cost.printed_communication", "cost.printed_rounds")


@pytest.mark.witness("P24")
def test_the_weights() -> None:
    refuted("weights.printed_weights")


def test_every_false_theorem_of_the_analysis_is_refuted_and_its_repair_proved() -> None:
    """Each analysis erratum of severity theorem has a counterexample and a proved clause."""
    steps = steps_of(load_all(), deep=True)
    trace = load(ROOT)
    known = trace.specification.clauses.values()
    errata = [item for item in known if isinstance(item, Erratum) and item.severity == "theorem"]
    analysis = [item for item in errata if item.identifier.startswith("A")]
    assert len(analysis) == 10
    for erratum in analysis:
        refuting = [s for s in steps if s.role is Role.PRINTED and erratum.identifier in s.clauses]
        carrying = [s for s in steps if s.role is Role.PROOF and {*erratum.clauses} & {*s.clauses}]
        assert refuting, erratum.identifier
        in_coq = [clause for clause in erratum.clauses if trace.rows[clause].proved_coq]
        wide = [s for s in carrying if s.reach in (Reach.ALL_VALUES, Reach.SCALARS)]
        assert wide or in_coq, erratum.identifier


def test_every_refutation_names_an_erratum() -> None:
    steps = steps_of(load_all(), deep=True)
    printed = [step for step in steps if step.role is Role.PRINTED]
    assert all(any(clause[0] in "AP" for clause in step.clauses) for step in printed)
