"""Both validations on the same transcripts and thresholds: valid or invalid alike."""

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.adversary.attack import Account, Deviation
from valid_ref.adversary.catalogue import AttackPart
from valid_ref.adversary.own_words import in_own_words
from valid_ref.coins import Coins
from valid_ref.execution import Execution, validate
from valid_ref.explore.lean_plays import tiny_setting
from valid_ref.graph import AgentGraph, assumption_1_plus
from valid_ref.guarantees.local import THRESHOLDS
from valid_ref.named_parts import parse_part
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.lean_stages import numbers
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.measures import Fast
from valid_ref.protocols.parameters import LeanParameters, ValidParameters
from valid_ref.protocols.valid import Learned
from valid_ref.protocols.validation import ValidationInput
from valid_ref.runs import Run, run
from valid_ref.scenario import Scenario, parts
from valid_ref.testing.laws import broken_promises
from valid_ref.testing.strategies import LEAN, adversarial_scenarios, scenarios


@pytest.mark.checks("LE-16", "VA-2")
@given(scenarios(validations=LEAN))
@settings(max_examples=40)
def test_without_an_adversary_everybody_ends_valid(scenario: Scenario) -> None:
    finished = run(scenario)
    assert broken_promises(finished) == ()
    assert finished.outcome == "a"


@pytest.mark.checks("LE-15", "LE-17", "VA-5")
@given(adversarial_scenarios(validations=LEAN))
@settings(max_examples=80)
def test_with_an_adversary_a_model_that_the_checks_certify_or_an_alarm(scenario: Scenario) -> None:
    assert broken_promises(run(scenario)) == ()


@pytest.mark.deep
@pytest.mark.checks("LE-15", "LE-17", "VA-5")
@given(adversarial_scenarios(max_agents=7, max_rounds=4, max_dimension=3, validations=LEAN))
@settings(max_examples=5000)
def test_with_an_adversary_on_larger_networks(scenario: Scenario) -> None:
    assert broken_promises(run(scenario)) == ()


# The same learning, two validations.


@st.composite
def learned(draw: st.DrawFn) -> tuple[ValidParameters, frozenset[int], Mapping[int, Learned]]:
    """Honest transcripts of a real learning phase, and what Byzantine agents told instead.

    They lie to one neighbour, to all alike, or keep the relation; by one unit or by many.
    """
    graph: AgentGraph = draw(support.graphs(5))
    sets = st.sets(st.integers(0, graph.agents - 1), min_size=0, max_size=graph.agents - 1)
    byzantine = frozenset(draw(sets.filter(lambda s: bool(assumption_1_plus(graph, s)))))
    d, T = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    limits = st.sampled_from([support.LOOSE, 10**6, 10**3])
    weights = tuple(range(1, T + 1))
    thresholds = support.weighting(weights, optimality=draw(limits), heterogeneity=draw(limits))
    parameters = support.network(graph, d=d, T=T, weightings=(thresholds,))
    honest = support.run(parameters)
    records = {v: s.memory.fixed_transcripts for v, s in honest.states.items()}
    for liar in sorted(byzantine):
        edges = [(liar, u) for u in graph.neighbours(liar) if u not in byzantine]
        told = draw(st.sampled_from([[], edges, edges[:1], edges[-1:]]))
        t = draw(st.integers(1, T))
        vector = np.array([draw(st.sampled_from([0, 1, -3, 5000])) for _ in range(d)], np.int64)
        keeps = t == T and draw(st.booleans())
        scale = 1 << parameters.lattice.precision.step_bits
        for _liar, receiver in told:
            received = dict(records[receiver].received)
            script = list(received[liar])
            old = script[t - 1]
            model = old.model + vector if keeps else old.model
            gamma = old.scaled_gradient + (-scale * vector if keeps else vector)
            script[t - 1] = LearningMessage(model, gamma)
            received[liar] = tuple(script)
            records[receiver] = Transcripts(records[receiver].own, received)
        for friend in byzantine.intersection(graph.neighbours(liar) if edges else ()):
            received = dict(records[friend].received)  # Byzantine agents hear what honest ones do
            received[liar] = records[edges[0][1]].received[liar]
            records[friend] = Transcripts(records[friend].own, received)
    return parameters, byzantine, {v: Learned(one) for v, one in records.items()}


def by_paper(parameters: ValidParameters, byzantine: Any, told: Mapping[int, Learned]) -> Execution:
    fixed = {v: ValidationInput(7 + 1000 * v, one) for v, one in told.items()}
    return validate(parameters, fixed, byzantine=byzantine, adversary=support.quietly())


def by_lean(parameters: ValidParameters, byzantine: Any, told: Mapping[int, Learned]) -> Execution:
    lean = LeanParameters(2, "77" * 32, ("range",))
    parameters = attrs.evolve(parameters, lean=lean)
    measures = Fast(parameters)

    def tell(_view: object, agent: int) -> Account:
        near = parameters.graph.neighbours(agent)
        first = next((u for u in near if u not in byzantine), near[0])
        transcript = told[first].transcripts.received[agent]
        estimate = measures.estimate(transcript)
        return Account(transcript, tuple(estimate), numbers(measures, estimate))

    fixed = {
        v: ValidationInput(Opening.of_coins(Coins.of_seed(v), parameters), one)
        for v, one in told.items()
    }
    deviation = Deviation(support.quietly(), tell=tell)
    adversary = in_own_words(tiny_setting(parameters, byzantine), deviation)
    return validate(parameters, fixed, byzantine=byzantine, adversary=adversary)


def alarmed(execution: Execution) -> bool:
    """Whether an honest agent has an alarm before the agreement."""
    alarms = (r for v in execution.honest for r in execution.states[v].memory.alarms)
    return any(raised.phase != AGREEMENT for raised in alarms)


@pytest.mark.checks("LE-20")
@given(learned())
@settings(max_examples=100)
def test_both_find_the_same_transcripts_wrong(given_one: Any) -> None:
    """p = 2^61 - 1: neither misses a lie but with a chance below 10^-16."""
    paper, lean = by_paper(*given_one), by_lean(*given_one)
    assert alarmed(paper) == alarmed(lean)
    assert paper.honest_valid == lean.honest_valid
    assert alarmed(lean) == (not lean.honest_valid)


@pytest.mark.deep
@pytest.mark.checks("LE-20")
@given(learned())
@settings(max_examples=5000)
def test_both_find_the_same_transcripts_wrong_in_many_cases(given_one: Any) -> None:
    assert alarmed(by_paper(*given_one)) == alarmed(by_lean(*given_one))


RUNS: list[tuple[str, str]] = [
    ("sign-flip", "paper"),
    ("equivocation", "paper"),
    ("inconsistent-gradient", "paper"),
    ("benign:fraction=0.2", "complete:5"),
    ("consistent-gradient-lie:target=2", "complete:5"),
    ("alie", "cycle:6"),
]


def ended(attack: str, graph: str, validation: parts.ValidationPart) -> Run:
    return run(
        Scenario(
            graph=parts.Family(graph),
            loss=parts.RandomQuadratics(3),
            rounds=30,
            seed=5,
            byzantine=(1,),
            attack=parse_part(AttackPart, attack, "attack"),
            validation=validation,
        )
    )


@pytest.mark.checks("LE-20")
@pytest.mark.parametrize(("attack", "graph"), RUNS)
def test_whole_runs_end_alike(attack: str, graph: str) -> None:
    paper = ended(attack, graph, parts.PaperValidation())
    lean = ended(attack, graph, parts.Lean())
    assert paper.outcome == lean.outcome
    assert paper.execution.honest_valid == lean.execution.honest_valid
    thresholds = [
        {a.alarm for v in e.honest for a in e.states[v].memory.alarms if a.alarm in THRESHOLDS}
        for e in (paper.execution, lean.execution)
    ]
    assert thresholds[0] == thresholds[1]
