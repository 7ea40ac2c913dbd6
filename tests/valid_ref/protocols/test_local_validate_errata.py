"""The printed LocalValidate, one slip at a time: honest runs alarm, or attacks pass unseen."""

from typing import Any

import numpy as np
import pytest

from tests.support import (
    alarms,
    all_alarms,
    bumped,
    edited,
    learned,
    network,
    own_report,
    privates,
    quietly,
    revalued,
    run,
    same_message,
    shifted,
    true_reports,
)
from valid_ref.alarms import Alarm
from valid_ref.graph_families import complete, connected_graphs, cycle, path, star
from valid_ref.guarantees.local import broken_relations, undetected
from valid_ref.hashing import hash_integers, hash_vector
from valid_ref.machine import CausalView, Edge, Message
from valid_ref.protocols.global_validate import estimate
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import hash_alarms, transcript_report
from valid_ref.protocols.parameters import CheckedKeys, exponential_weights, make_weighting
from valid_ref.protocols.valid import COMMITMENTS, ESTIMATES, HASHES, KEYS, Private
from valid_ref.reading import Reading
from valid_ref.schedule import Precision

LEARN, P61 = "LearnModel", 2**61 - 1


@pytest.mark.witness("P13", "P14", "P15", "P17")
@pytest.mark.checks("LV-8", "LV-5", "VA-7")
@pytest.mark.parametrize("erratum", ["P13", "P14", "P15", "P17"])
def test_each_slip_alone_alarms_at_every_honest_agent(erratum: str) -> None:
    for graph in (g for n in (2, 3, 4) for g in connected_graphs(n)):
        execution = run(network(graph, d=1, reading=Reading.without(erratum)))
        for agent in range(graph.agents):
            assert {r.alarm for r in alarms(execution, agent)} == {Alarm.BROKEN_RELATION}
        assert execution.honest_valid == ()


@pytest.mark.witness("P14")
def test_a_constant_schedule_hides_the_wrong_index() -> None:
    for mixing, hidden in (((2, 2, 2), True), ((2, 2, 3), False), ((2, 3, 3), False)):
        execution = run(network(cycle(4), mixing=mixing, reading=Reading.without("P14")))
        assert (all_alarms(execution) == set()) == hidden


@pytest.mark.witness("P15")
def test_either_half_of_the_swap_alone_alarms() -> None:
    """X^in hashed for Gamma; or m_(u,v) read where m_(v,u) is meant."""
    execution = run(network(cycle(4)))
    keys = execution.states[0].memory.keys
    true = true_reports(execution, keys)
    hashed = {
        tag: tuple(report[i - 2] if i % 4 == 3 else e for i, e in enumerate(report))
        for tag, report in true.items()
    }
    swapped = {(v, u): report for (u, v), report in true.items()}
    for reports in (hashed, swapped):
        raised = hash_alarms(execution.parameters, 0, reports, own_report(execution, keys, 0))
        assert Alarm.BROKEN_RELATION in {r.alarm for r in raised}


@pytest.mark.witness("P16")
@pytest.mark.checks("LM-2", "AR-6")
def test_the_relation_of_the_caption_lacks_alpha() -> None:
    """In real numbers: x(t) - [mixed - alpha g] vanishes up to rounding, without alpha not."""
    steps = {"mixing": (2**18,) * 3, "gradient": (2**17,) * 3}
    parameters = network(path(3), precision=Precision(28, 20), **steps)
    execution = run(parameters)
    before = [np.zeros(2)] * 3
    for spoken in execution.rounds[:3]:
        now = [learned(spoken, v).model / 2.0**28 for v in range(3)]
        for v in range(3):
            mixed = before[v] + sum(before[u] - before[v] for u in path(3).neighbours(v)) / 4
            gradient = learned(spoken, v).scaled_gradient // 2**17 / 2.0**28
            assert np.abs(now[v] - (mixed - gradient / 8)).max() < 2.0**-24
            assert np.abs(now[v] - (mixed - gradient)).max() > 0.01
        before = now


@pytest.mark.witness("P17")
@pytest.mark.checks("AR-6")
@pytest.mark.parametrize(("graph", "least"), [(path(3), 2), (cycle(10), 5)], ids=["path", "cycle"])
def test_in_floating_point_honest_relations_fail(graph, least: int) -> None:
    """d = 3, T = 5, eta = .1, alpha = .2, p = 101, key 7, quadratic losses; no lattice at all."""
    n, d, T, eta, alpha = graph.agents, 3, 5, 0.1, 0.2
    models, gradients = [[[0.0] * d for _ in range(n)]], []
    for _t in range(T):
        x, entries = models[-1], [(v, j) for v in range(n) for j in range(d)]
        y = {
            (v, j): x[v][j] + eta * sum(x[u][j] - x[v][j] for u in graph.neighbours(v))
            for v, j in entries
        }
        g = {(v, j): (1 + v) * (y[v, j] - (v + 1) / (j + 3)) for v, j in entries}
        gradients.append([[g[v, j] for j in range(d)] for v in range(n)])
        models.append([[y[v, j] - alpha * g[v, j] for j in range(d)] for v in range(n)])

    def hashed(rows: list[list[list[float]]], v: int, factor: float = 1.0) -> float:
        vector = [factor * entry for row in rows for entry in row[v]]
        return sum(entry * pow(7, i, 101) for i, entry in enumerate(vector))

    misses = []
    for v in range(n):
        before, own = models[:-1], hashed(models[:-1], v, eta)
        mixing = sum(hashed(before, u, eta) - own for u in graph.neighbours(v))
        right = hashed(before, v) + mixing - hashed(gradients, v, alpha)
        misses.append(abs(hashed(models[1:], v) - right))
    assert sum(miss > 0 for miss in misses) >= least
    assert max(misses) < 1e-6


def lone_honest_agent(T: int, reading: Reading):
    """K2: agent 1 sends 50 in every round, and reports of agent 0 that it did just the same."""
    weights = exponential_weights(T, 0.9)
    used = make_weighting("gamma", weights, 2, 28, optimality=0.05, heterogeneity=0.05)
    alpha, eta = round(0.009 * 2**20), 2**19
    parameters = network(
        path(2),
        d=1,
        T=T,
        precision=Precision(28, 20),
        mixing=(eta,) * T,
        gradient=(alpha,) * T,
        weightings=(used,),
        reading=reading,
    )
    fifty = np.array([50 * 2**28])
    jump = LearningMessage(fifty, -(fifty << 20))
    rest = LearningMessage(fifty, np.zeros(1, np.int64))
    script = [jump, *[rest] * (T - 1)]

    def adversary(view: CausalView) -> dict[Edge, Message]:
        if view.phase == LEARN:
            return {(1, 0): script[view.round - 1]}
        state: Any = view.byzantine_states[1]
        keys = state.memory.keys
        lies = {
            HASHES: lambda: transcript_report(parameters, keys, script),
            ESTIMATES: lambda: estimate(parameters, script),
        }
        if view.phase not in lies:
            return {}
        return {(1, 0): revalued((1, 0), lambda _value: lies[view.phase]())(view.said[1])}

    private = {v: Private(lambda _t, point: point, 1234567 + v) for v in (0, 1)}
    return run(parameters, quietly(adversary), byzantine=[1], private=private)


@pytest.mark.witness("P07")
def test_a_lone_honest_agent_is_drawn_away_and_ends_valid() -> None:
    """Its own minimiser is 0; it ends at 49.1, and both global tests pass at .05."""
    execution = lone_honest_agent(200, Reading.without("P07"))
    assert execution.honest_valid == (0,)
    assert abs(execution.output(0)[0] / 2**28 - 49.1) < 0.05
    assert undetected(execution) == (1,)


@pytest.mark.checks("LV-9", "GV-4", "L2")
@pytest.mark.parametrize("T", [1, 2, 5, 200])
def test_with_the_self_check_a_lone_honest_agent_ends_invalid(T: int) -> None:
    execution = lone_honest_agent(T, Reading())
    assert execution.honest_valid == ()
    assert {(r.alarm, r.sender) for r in alarms(execution, 0)} >= {
        (Alarm.SELF_MISMATCH, 1),
        (Alarm.SELF_ESTIMATE_MISMATCH, 1),
    }


@pytest.mark.witness("P08")
@pytest.mark.checks("LV-7", "LV-8")
def test_checking_only_neighbours_lets_a_false_report_balance_a_broken_relation() -> None:
    """The cycle 0-..-4: to agent 1 Byzantine 0 lies about 4, to 4 about 1, each under its key."""
    position = np.eye(6, dtype=np.int64)[2]  # one unit in the first entry of Gamma(2)

    def attack(parameters, keys):
        def balance(owner: int):
            residual = hash_vector(parameters.field, keys[owner], position)
            return lambda report: bumped(report, 4 * owner + 2, residual)

        def lie(said: Message) -> Message:
            return revalued((0, 1), balance(4))(revalued((0, 4), balance(1))(said))

        break_relation = edited(LEARN, shifted(gamma=1), rounds=[2])
        return quietly(break_relation, edited(HASHES, lie))

    for errata in (("P08",), ()):
        options = {"checked_keys": CheckedKeys.OWN, "reading": Reading.without(*errata)}
        parameters = network(cycle(5), **options)
        private = privates(parameters)
        keys = [private[v].key for v in range(5)]
        execution = run(parameters, attack(parameters, keys), byzantine=[0], private=private)
        assert broken_relations(execution) == (0,)
        assert undetected(execution) == ((0,) if errata else ())
        assert execution.honest_valid == ((1, 2, 3, 4) if errata else ())


@pytest.mark.witness("P09")
@pytest.mark.parametrize("seed", range(5))
def test_garbage_in_the_place_of_commitments_changes_nothing(seed: int) -> None:
    parameters = network(complete(4), reading=Reading.without("P09"))
    garbage = np.random.default_rng(seed).integers(P61, size=(4, 16)).tolist()
    attack = edited(
        COMMITMENTS,
        lambda said: {tag: tuple(garbage[tag[1]]) if tag[0] == 3 else v for tag, v in said.items()},
    )
    usual, attacked = run(parameters), run(parameters, quietly(attack), byzantine=[3])
    for agent in range(3):
        left, right = usual.states[agent].memory, attacked.states[agent].memory
        assert (left.alarms, left.keys, left.invalid) == (right.alarms, right.keys, right.invalid)
        assert left.alarms == ()
    for one, other in zip(usual.rounds, attacked.rounds, strict=True):
        if one.phase != COMMITMENTS:
            assert all(same_message(one.said[v], other.said[v]) for v in range(3))


def common_root(polynomials: list[list[int]], p: int) -> int | None:
    """Euclid's algorithm in GF(p); coefficients from low to high. None unless there is one root."""

    def remainder(a: list[int], b: list[int]) -> list[int]:
        a, lead = list(a), pow(b[-1], -1, p)
        while len(a) >= len(b):
            factor, offset = a[-1] * lead % p, len(a) - len(b)
            a = [(e - factor * b[i - offset]) % p if i >= offset else e for i, e in enumerate(a)]
            while a and a[-1] == 0:
                a.pop()
        return a

    gcd: list[int] = []
    for polynomial in polynomials:
        rest = polynomial
        while rest:
            gcd, rest = rest, remainder(gcd, rest)
    return -gcd[0] * pow(gcd[1], -1, p) % p if len(gcd) == 2 else None


@pytest.mark.witness("P10")
@pytest.mark.checks("LV-1", "LV-6")
def test_hashes_published_before_the_keys_give_the_keys_away() -> None:
    """The hub of a star knows what it sent; from each leaf's hashes of it, it finds the key."""
    parameters = network(star(7), d=2, T=12, reading=Reading.without("P09"))
    found: dict[int, int | None] = {}

    def spy(view: CausalView) -> dict[Edge, Message]:
        if view.phase == COMMITMENTS and view.round == 1:
            assert KEYS not in {spoken.phase for spoken in view.history}
            state: Any = view.byzantine_states[0]
            sent = state.memory.fixed_transcripts.own
            models = np.concatenate([np.zeros(2, np.int64), *(m.model for m in sent)]).tolist()
            gammas = np.concatenate([m.scaled_gradient for m in sent]).tolist()
            for leaf in range(1, 7):
                h_out, h_in, _eta, h_gamma = view.said[leaf][leaf, 0][:4]
                vectors = ((models[2:], h_out), (models[:-2], h_in), (gammas, h_gamma))
                polynomials = [[(v[0] - h) % P61, *(e % P61 for e in v[1:])] for v, h in vectors]
                found[leaf] = common_root(polynomials, P61)
        return {}

    private = privates(parameters)
    run(parameters, spy, byzantine=[0], private=private)
    assert found == {leaf: private[leaf].key for leaf in range(1, 7)}


def invisible_to(keys: list[int], length: int) -> np.ndarray:
    """The coefficients of prod (s - key) modulo p, centred: a difference no such key sees."""
    polynomial = [1]
    for key in keys:
        polynomial = [
            (low - key * high) % P61
            for low, high in zip([0, *polynomial], [*polynomial, 0], strict=True)
        ]
    centred = [c - P61 if c > P61 // 2 else c for c in polynomial]
    return np.array(centred + [0] * (length - len(centred)), dtype=np.int64)


@pytest.mark.witness("P11")
@pytest.mark.checks("LV-1", "LM-5")
@pytest.mark.parametrize(
    ("errata", "stale", "seen"), [(["P11"], False, False), ([], False, True), ([], True, False)]
)
def test_keys_known_while_learning_make_a_difference_that_no_key_sees(errata, stale, seen) -> None:
    """As printed keys may come first; repaired they come last; and last but used before."""
    parameters = network(complete(4), reading=Reading.without(*errata))
    earlier = run(parameters, private=privates(parameters, seed=7)).states[0].memory.keys
    private = privates(parameters, keys=earlier if stale else None)

    def adversary(view: CausalView) -> dict[Edge, Message]:
        if view.phase != LEARN:
            return {}
        known = [s.said[v][v, "key"] for s in view.history[:1] if s.phase == KEYS for v in range(4)]
        difference = invisible_to(known or list(earlier), 6).reshape(3, 2)[view.round - 1]
        honest: Any = view.said[3]
        lie = LearningMessage(honest.model, honest.scaled_gradient + difference)
        return {(3, v): lie for v in range(3)}

    execution = run(parameters, quietly(adversary), byzantine=[3], private=private)
    assert broken_relations(execution) == (3,)
    assert undetected(execution) == (() if seen else (3,))
    assert all_alarms(execution) == ({Alarm.BROKEN_RELATION} if seen else set())


@pytest.mark.witness("P20")
@pytest.mark.checks("AR-10", "AR-11", "HA-3")
def test_without_a_range_no_key_sees_a_multiple_of_p() -> None:
    """p = 101: Byzantine 1 adds p to Gamma(2); under no key at all does agent 0 see it."""
    attack = quietly(edited(LEARN, shifted(gamma=101), rounds=[2]))
    steps = {"precision": Precision(2, 1), "mixing": (1,) * 3, "gradient": (1,) * 3}
    for enforced in (False, True):
        parameters = network(path(2), d=1, prime=101, field_range=enforced, **steps)
        private = privates(parameters, keys=(7, 5), size=0.3)
        execution = run(parameters, attack, byzantine=[1], private=private)
        assert undetected(execution) == (() if enforced else (1,))
        for key in range(101):
            own = own_report(execution, (key, 5), 0)
            reports = true_reports(execution, (key, 5))
            assert enforced or not hash_alarms(parameters, 0, reports, own)
    assert Alarm.OUT_OF_RANGE in all_alarms(execution)


@pytest.mark.witness("P20")
@pytest.mark.checks("HA-3")
def test_the_key_zero_sees_the_first_entry_and_no_other() -> None:
    """In the integer form of the paper too, with 0^0 = 1."""
    parameters = network(path(2))
    vector = np.array([5, 7, 9])
    assert (
        hash_vector(parameters.field, 0, vector) == hash_integers(parameters.field, 0, vector) == 5
    )
    for entry, seen in ((0, True), (1, False)):
        attack = quietly(edited(LEARN, shifted(gamma=1, entry=entry), rounds=[1]))
        private = privates(parameters, keys=(0, 0))
        execution = run(parameters, attack, byzantine=[1], private=private)
        assert undetected(execution) == (() if seen else (1,))
