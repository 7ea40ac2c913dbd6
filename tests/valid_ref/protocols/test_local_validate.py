"""LocalValidate as functions: norms, forms, hashes by definition, every check by itself."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import (
    Pretender,
    bumped,
    graphs,
    network,
    own_report,
    run,
    transcripts,
    true_reports,
)
from valid_ref.alarms import Alarm, Raised
from valid_ref.graph_families import complete, cycle, path, star
from valid_ref.hashing import hash_integers, hash_vector
from valid_ref.kernels import ROUNDS_AT_ONCE
from valid_ref.lattice import residual
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.local_validate import (
    Reports,
    hash_alarms,
    is_key,
    is_report,
    norm_alarms,
    transcript_report,
)
from valid_ref.protocols.parameters import Bounds, CheckedKeys, ValidParameters

PHASE = "LocalValidate"
SMALL = 101


@pytest.mark.checks("LV-2", "AR-12", "MO-7")
@given(st.data())
def test_norm_alarms_are_those_of_the_definition(data: st.DataObject) -> None:
    """Entries are small, so that norms are often exactly on a bound or one beside it."""
    squares = st.lists(st.integers(0, 10), min_size=3, max_size=3).map(tuple)
    bounds = Bounds(data.draw(squares), data.draw(squares))
    parameters = network(star(3), gradient=(1, 2, 3), bounds=bounds)
    received = {u: tuple(data.draw(transcripts(2, 3, size=3))) for u in (1, 2)}
    expected = []
    for u, t in product((1, 2), (1, 2, 3)):
        message = received[u][t - 1]
        if sum(x * x for x in message.model.tolist()) > bounds.model_squared[t - 1]:
            expected.append(Raised(Alarm.MODEL_NORM, PHASE, t, u))
        gradient = [entry // (1, 2, 3)[t - 1] for entry in message.scaled_gradient.tolist()]
        if sum(g * g for g in gradient) > bounds.gradient_squared[t - 1]:
            expected.append(Raised(Alarm.GRADIENT_NORM, PHASE, t, u))
    assert norm_alarms(parameters, Transcripts((), received)) == expected
    assert norm_alarms(network(star(3)), Transcripts((), received)) == []


@pytest.mark.checks("LV-2", "AR-12")
@pytest.mark.parametrize(("below", "alarms"), [(0, 0), (1, 2)])
def test_norms_beyond_a_machine_word_are_compared_exactly(below: int, alarms: int) -> None:
    large = np.array([2**50 + 1, -(2**40)], dtype=np.int64)
    square = (2**50 + 1) ** 2 + 2**80 - below
    bounds = Bounds((square,), (square,))
    parameters = network(path(2), T=1, gradient=(1,), bounds=bounds)
    transcript = (LearningMessage(large, large.copy()),)
    assert len(norm_alarms(parameters, Transcripts((), {0: transcript}))) == alarms


def kind(value: object) -> str:
    return type(value).__name__


def not_a_residue() -> Iterator[object]:
    yield from (None, True, False, 1.0, 0.0, float("nan"), "1", b"1", 1j, object(), -1, SMALL)
    yield from (10**30, np.int64(1), np.uint8(0), np.bool_(1), np.float64(1), np.array(1))
    yield from ((1,), [1], {1}, {1: 1}, np.array([1]), range(2), lambda: 1, int)


@pytest.mark.checks("LV-4", "LV-6", "VB-9")
@pytest.mark.parametrize("bad", list(not_a_residue()), ids=kind)
def test_what_is_no_residue_is_no_key_and_in_no_report(bad: object) -> None:
    parameters = network(path(3), prime=SMALL, field_range=False)
    assert not is_key(parameters, bad)
    for position in (0, 5, 11):
        assert not is_report(parameters, (0,) * position + (bad,) + (0,) * (11 - position))


@pytest.mark.checks("LV-4", "LV-6")
def test_residues_are_keys_and_4n_of_them_are_a_report() -> None:
    parameters = network(path(3), prime=SMALL, field_range=False)
    assert is_key(parameters, 0)
    assert is_key(parameters, SMALL - 1)
    good = (0, SMALL - 1) * 6
    assert is_report(parameters, good)

    wrong = (
        good[1:],
        (*good, 0),
        list(good),
        iter(good),
        set(good),
        (good,),
        (),
        None,
        7,
        "x" * 12,
    )
    for bad in (*wrong, Pretender(good), np.array(good), dict.fromkeys(good), bytes(12)):
        assert not is_report(parameters, bad)


def by_definition(
    parameters: ValidParameters, keys: list[int], transcript: list[LearningMessage], hasher: Any
) -> tuple[int, ...]:
    """The four vectors of HA-9, written out, under each key."""
    schedule, T = parameters.lattice.schedule, len(transcript)
    models = [parameters.start_model, *(message.model for message in transcript)]
    vectors = (
        np.concatenate(models[1:]),
        np.concatenate(models[:-1]),
        np.concatenate([schedule.a(t + 1) * models[t] for t in range(T)]),
        np.concatenate([message.scaled_gradient for message in transcript]),
    )
    return tuple(hasher(parameters.field, key, vector) for key in keys for vector in vectors)


@pytest.mark.checks("LV-5", "LV-6", "HA-10")
@given(st.data(), st.sampled_from((SMALL, 2**31 - 1, 2**32 + 15, 2**61 - 1)))
def test_a_report_is_the_four_hashes_under_each_key_in_order(
    data: st.DataObject, prime: int
) -> None:
    d, T = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    start = tuple(data.draw(st.lists(st.integers(-9, 9), min_size=d, max_size=d)))
    parameters = network(path(3), d=d, T=T, prime=prime, start=start, field_range=False)
    keys = data.draw(st.lists(st.integers(0, prime - 1), min_size=3, max_size=3))
    transcript = data.draw(transcripts(d, T))
    report = transcript_report(parameters, keys, transcript)
    assert report == by_definition(parameters, keys, transcript, hash_vector)
    assert is_report(parameters, report)


@pytest.mark.checks("LV-2", "AR-8")
@pytest.mark.parametrize("T", [ROUNDS_AT_ONCE, 2 * ROUNDS_AT_ONCE + 1])
@pytest.mark.parametrize("below", [0, 1])
def test_every_round_of_a_long_transcript_is_held_to_its_own_bound(T: int, below: int) -> None:
    """Each bound is what is attained in its round, or one less."""
    steps = tuple(1 + t % 5 for t in range(T))
    models = np.arange(1, T + 1, dtype=np.int64)
    gammas = -1000 - 7 * models
    squares = tuple(int(x) ** 2 - below for x in models)
    gradients = tuple((int(g) // A) ** 2 - below for g, A in zip(gammas, steps, strict=True))
    parameters = network(path(2), d=1, T=T, gradient=steps, bounds=Bounds(squares, gradients))
    transcript = tuple(map(LearningMessage, models.reshape(-1, 1), gammas.reshape(-1, 1)))
    raised = norm_alarms(parameters, Transcripts((), {1: transcript}))
    both = [
        (t, alarm) for t in range(1, T + 1) for alarm in (Alarm.MODEL_NORM, Alarm.GRADIENT_NORM)
    ]
    assert [(r.round, r.alarm) for r in raised] == (both if below else [])


@pytest.mark.checks("LV-5")
@pytest.mark.parametrize("T", [ROUNDS_AT_ONCE - 1, ROUNDS_AT_ONCE, 2 * ROUNDS_AT_ONCE + 1])
def test_a_long_transcript_is_hashed_in_pieces_to_the_same_report(T: int) -> None:
    parameters = network(path(2), d=1, T=T, prime=7919, field_range=False)
    entries = np.random.default_rng(T).integers(-1000, 1000, size=(T, 2, 1))
    transcript = [LearningMessage(model, gamma) for model, gamma in entries]
    keys = [5, 7918]
    expected = by_definition(parameters, keys, transcript, hash_integers)
    assert transcript_report(parameters, keys, transcript) == tuple(h % 7919 for h in expected)


@pytest.mark.checks("HA-11", "LV-8")
@given(graphs(4), st.data())
def test_the_relation_between_hashes_is_the_hash_of_the_residual(graph, data) -> None:
    """For any transcripts at all; LV-8 alarms exactly where that hash is not zero."""
    parameters = network(graph, d=2, T=2, prime=SMALL, start=(3, -4), field_range=False)
    n, lattice = graph.agents, parameters.lattice
    said = [data.draw(transcripts(2, 2, size=20)) for _ in range(n)]
    keys = data.draw(st.lists(st.integers(0, SMALL - 1), min_size=n, max_size=n))
    reports = {
        (v, u): transcript_report(parameters, keys, said[u]) for v, u in graph.directed_edges
    }
    expected = set()
    for v in range(n):
        before, residuals = [parameters.start_model] * n, []
        for t in (1, 2):
            own, heard = said[v][t - 1], [before[u] for u in graph.neighbours(v)]
            residuals.append(residual(lattice, t, before[v], heard, own.model, own.scaled_gradient))
            before = [said[u][t - 1].model for u in range(n)]
        for owner, key in enumerate(keys):
            if hash_vector(parameters.field, key, np.concatenate(residuals)):
                expected.add(Raised(Alarm.BROKEN_RELATION, PHASE, n, None, (v, owner)))
    own = transcript_report(parameters, keys, said[0])
    assert set(hash_alarms(parameters, 0, reports, own)) == expected


def checks_in_words(
    parameters: ValidParameters, agent: int, reports: Reports, own: tuple[int, ...]
) -> set[Raised]:
    """LV-7 to LV-11, sentence by sentence."""
    graph, n, p = parameters.graph, parameters.graph.agents, parameters.field.prime
    found = set()
    used = {
        v: next((reports[r, v] for r in graph.neighbours(v) if (r, v) in reports), None)
        for v in range(n)
    }
    for w in [agent] if parameters.checked_keys is CheckedKeys.OWN else range(n):
        out, inp, eta, gamma = range(4 * w, 4 * w + 4)
        for v in range(n):
            about = [reports[r, v] for r in graph.neighbours(v) if (r, v) in reports]
            if any(a[i] != b[i] for a in about for b in about for i in (out, inp, eta, gamma)):
                found.add(Raised(Alarm.INCONSISTENT_HASHES, PHASE, n, None, (v, w)))
            if None in [used[u] for u in (v, *graph.neighbours(v))]:
                continue
            right = 16 * used[v][inp] - used[v][gamma]
            right += sum(used[u][eta] - used[v][eta] for u in graph.neighbours(v))
            if (16 * used[v][out] - right) % p:
                found.add(Raised(Alarm.BROKEN_RELATION, PHASE, n, None, (v, w)))
        for r in graph.neighbours(agent):
            if (r, agent) in reports and any(
                reports[r, agent][i] != own[i] for i in (out, inp, eta, gamma)
            ):
                found.add(Raised(Alarm.SELF_MISMATCH, PHASE, n, r, (agent, w)))
    return found


@pytest.mark.checks("LV-7", "LV-8", "LV-9", "LV-10", "LV-11", "MO-7")
@given(graphs(5), st.data())
def test_the_checks_are_those_of_the_specification(graph, data) -> None:
    """True reports of an honest run, some then changed in one entry or removed."""
    n = graph.agents
    checked = data.draw(st.sampled_from(CheckedKeys))
    parameters = network(graph, d=1, T=2, checked_keys=checked)
    execution = run(parameters)
    keys = execution.states[0].memory.keys
    reports = dict(true_reports(execution, keys))
    tags = st.sampled_from(sorted(reports))
    for tag in data.draw(st.sets(tags, max_size=3)):
        reports[tag] = bumped(reports[tag], data.draw(st.integers(0, 4 * n - 1)))
    for tag in data.draw(st.sets(tags, max_size=3)):
        del reports[tag]
    for agent in range(n):
        own = own_report(execution, keys, agent)
        raised = hash_alarms(parameters, agent, reports, own)
        assert len(raised) == len(set(raised))
        assert set(raised) == checks_in_words(parameters, agent, reports, own)


Case = tuple[ValidParameters, dict, Callable[[int], tuple[int, ...]]]


def honest_case(graph, **options: Any) -> Case:
    execution = run(network(graph, **options))
    keys = execution.states[0].memory.keys
    return (
        execution.parameters,
        dict(true_reports(execution, keys)),
        lambda agent: own_report(execution, keys, agent),
    )


@pytest.mark.checks("LV-11")
def test_a_null_report_is_skipped_and_the_next_reporter_counts() -> None:
    """Cycle 0-1-2-3: the reporters of 0 are 1 and 3, and 1 lies about it in H_Gamma."""
    parameters, reports, own = honest_case(cycle(4))
    reports[1, 0] = bumped(reports[1, 0], 3)
    about = (0, 0)
    assert {(r.alarm, r.about) for r in hash_alarms(parameters, 2, reports, own(2))} == {
        (Alarm.INCONSISTENT_HASHES, about),
        (Alarm.BROKEN_RELATION, about),
    }
    del reports[1, 0]
    for agent in range(4):
        assert hash_alarms(parameters, agent, reports, own(agent)) == []
    del reports[3, 0]  # nobody reports on 0: the relations of 0, 1 and 3 cannot be tested
    for v in (1, 2, 3):
        lie = {
            **reports,
            **{(r, v): bumped(reports[r, v], 3) for r in range(4) if (r, v) in reports},
        }
        raised = hash_alarms(parameters, 0, lie, own(0))
        assert [r.about for r in raised] == ([(2, 0)] if v == 2 else [])


@pytest.mark.checks("LV-10")
def test_own_checks_under_the_own_key_only() -> None:
    """A lie about 0 under the key of 2 is seen by 2 alone; with all keys, by everybody."""
    for checked, seeing in ((CheckedKeys.OWN, {2}), (CheckedKeys.ALL, {0, 1, 2, 3})):
        parameters, reports, own = honest_case(complete(4), checked_keys=checked)
        reports[3, 0] = bumped(reports[3, 0], 4 * 2)
        seen = {v for v in range(4) if hash_alarms(parameters, v, reports, own(v))}
        assert seen == seeing


@pytest.mark.checks("LV-5", "LV-6", "LV-8", "LV-2", "GV-2")
def test_the_worked_example_number_by_number() -> None:
    """Path 0-1-2, f = 4, k = 2, keys 5, 17, 42, p = 10007; B = (17, 26), C = (35, 52)."""
    from valid_ref.protocols.valid import Private
    from valid_ref.schedule import Precision

    bounds = Bounds((17**2, 26**2), (35**2, 52**2))
    parameters = network(
        path(3),
        d=1,
        T=2,
        precision=Precision(4, 2),
        mixing=(1, 1),
        gradient=(2, 2),
        prime=10007,
        bounds=bounds,
    )
    private = {
        v: Private(lambda _t, point, c=c: point - c, key)
        for v, (c, key) in enumerate(zip((0.0, 1.0, 2.0), (5, 17, 42), strict=True))
    }
    execution = run(parameters, private=private)
    table = {0: (0, 0, 1, 4), 1: (8, -32, 12, -16), 2: (16, -64, 23, -36)}
    hashes = {0: (5, 0, 0, 20), 1: (68, 40, 40, 9895), 2: (131, 80, 80, 9763)}
    sides = {0: (20, 20), 1: (272, -9735), 2: (524, -9483)}
    for v in range(3):
        memory = execution.states[v].memory
        assert memory.alarms == ()
        assert memory.keys == (5, 17, 42)
        own = memory.fixed_transcripts.own
        assert tuple(int(x[0]) for m in own for x in (m.model, m.scaled_gradient)) == table[v]
        assert own_report(execution, memory.keys, v)[:4] == hashes[v]
        out, inp, eta, gamma = hashes[v]
        right = 4 * inp + sum(hashes[u][2] - eta for u in path(3).neighbours(v)) - gamma
        assert (4 * out, right) == sides[v]
        assert (4 * out - right) % 10007 == 0
