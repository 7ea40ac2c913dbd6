"""A round confirmed at once is a round in which every agent's own machine says the same."""

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.graph import AgentGraph
from valid_ref.kernels import Backend
from valid_ref.lattice import default_limits, mix, shift_half_even
from valid_ref.oracle import check, open_recording, replay, write_recording
from valid_ref.oracle.replay import Confirmed, confirm, explained, same
from valid_ref.protocols.learn import LearningMessage, LearnModel
from valid_ref.reading import Reading
from valid_ref.schedule import Precision

PATH = AgentGraph.from_edges(3, [(0, 1), (1, 2)])


def plain(parameters, t, earlier, models, gradients):
    """The same by the machine's functions, agent by agent."""
    graph, lattice = parameters.graph, parameters.lattice
    machine = LearnModel(graph, lattice, parameters.start_model, parameters.reading)
    fit, follow = [], []
    for v in range(graph.agents):
        said = LearningMessage(models[v], gradients[v])
        fit.append(machine.problem(said) is None)
        before = [parameters.start_model] * graph.agents if earlier is None else earlier
        Y = mix(lattice, t, before[v], [before[u] for u in graph.neighbours(v)])
        wanted = explained(lattice, t, Y, said.scaled_gradient, parameters.reading.P17)
        follow.append(same(wanted, said))
    return fit, follow


@st.composite
def rounds(draw):
    graph = draw(support.graphs(5))
    k, d = draw(st.integers(0, 5)), draw(st.integers(1, 4))
    steps = st.tuples(*[st.integers(1, 40)] * 2)
    parameters = support.network(
        graph,
        d=d,
        T=2,
        precision=Precision(6, k),
        mixing=draw(steps),
        gradient=draw(steps),
        start=tuple(draw(st.lists(st.integers(-50, 50), min_size=d, max_size=d))),
        reading=draw(st.sampled_from([Reading(), Reading.without("P17")])),
    )
    lattice, t = parameters.lattice, draw(st.integers(1, 2))
    entries = st.integers(-90, 90)
    matrix = st.lists(
        st.lists(entries, min_size=d, max_size=d), min_size=graph.agents, max_size=graph.agents
    )
    earlier = None if t == 1 else np.array(draw(matrix), dtype=np.int64)
    before = np.tile(parameters.start_model, (graph.agents, 1)) if earlier is None else earlier
    Y = np.stack(
        [
            mix(lattice, t, before[v], [before[u] for u in graph.neighbours(v)])
            for v in range(graph.agents)
        ]
    )
    models = shift_half_even(Y - lattice.schedule.A(t) * np.array(draw(matrix)), k)
    gradients = Y - (models << k)
    if draw(st.booleans()):  # the relation still holds, but perhaps no integer gradient gives it
        models += 1
        gradients -= 1 << k
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, graph.agents - 1)), draw(st.integers(0, d - 1))
        array = draw(st.sampled_from([models, gradients]))
        limit = lattice.model_limit if array is models else lattice.gradient_limit
        new = int(array[place]) + draw(st.sampled_from([-1, 1, 1 << k]))
        array[place] = draw(st.sampled_from([new, limit, -limit, limit - 1]))
    return parameters, t, earlier, models, gradients


@pytest.mark.checks("RE-9", "AR-6")
@pytest.mark.parametrize("backend", [Backend.NUMPY, Backend.NUMBA])
@given(case=rounds(), columns=st.integers(1, 5))
def test_confirmed_is_what_the_machines_say(backend, case, columns) -> None:
    parameters, t, _earlier, models, _gradients = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "COLUMNS", columns)
        fit, follow = confirm(*case, backend=backend)
    wanted_fit, wanted_follow = plain(*case)
    assert fit.tolist() == wanted_fit
    decides = parameters.reading.P17 and (
        parameters.lattice.schedule.A(t) < 1 << parameters.lattice.precision.step_bits
    )
    for v in range(len(models)):
        assert not (follow[v] and fit[v]) or wanted_follow[v]
        assert not decides or not wanted_fit[v] or bool(follow[v]) == wanted_follow[v]


@pytest.mark.checks("RE-9", "AR-5")
@pytest.mark.parametrize("backend", [Backend.NUMPY, Backend.NUMBA])
def test_a_model_that_no_gradient_gives_is_not_confirmed_where_steps_are_long(backend) -> None:
    """With A_t = 20 and 2^k = 16 no integer gradient moves an entry by -3; the relation holds."""
    parameters = support.network(PATH, gradient=(20, 1, 16))
    assert parameters.lattice.precision.step_bits == 4
    models = np.tile(parameters.start_model, (3, 1))
    gradients = np.zeros_like(models)
    models[1, 0] -= 3
    gradients[1, 0] = 48
    case = (parameters, 1, None, models, gradients)
    assert plain(*case)[1] == [True, False, True]
    _fit, follow = confirm(*case, backend=backend)
    assert not follow.any()  # nothing is confirmed at once there, the machines decide


@pytest.mark.checks("RE-9", "AR-6", "AR-10")
@pytest.mark.parametrize("backend", [Backend.NUMPY, Backend.NUMBA])
@pytest.mark.parametrize("place", [0, 5000, 20_000])
def test_one_entry_of_a_long_row_matters_wherever_it_stands(backend, place) -> None:
    """Rows of many blocks: what one block shows is not forgotten over the next."""
    parameters = support.network(PATH, d=20_001, T=1)
    models, gradients = np.zeros((2, 3, 20_001), dtype=np.int64)
    fit, follow = confirm(parameters, 1, None, models, gradients, backend)
    assert fit.all()
    assert follow.all()
    gradients[0, place], models[2, place] = 1, parameters.lattice.model_limit
    fit, follow = confirm(parameters, 1, None, models, gradients, backend)
    assert fit.tolist() == [True, True, False]
    assert follow.tolist() == [False, True, False]


@pytest.mark.checks("RE-9")
def test_only_the_very_models_confirm(tmp_path) -> None:
    """What follows from one neighbour's model need not follow from another message of it."""
    parameters = support.network(PATH)
    write_recording(tmp_path / "run", support.run(parameters), "test")
    opened = open_recording(tmp_path / "run")
    first, second, *_rest = opened.rounds()
    confirmed = Confirmed(opened.parameters)
    start = opened.parameters.start_model
    confirmed.observe(first, *opened.learned(first))
    assert confirmed.follows(1, first.said[1], start, [start, start])
    assert not confirmed.follows(1, first.said[1], start, [start, start + 0])
    assert not confirmed.follows(1, first.said[0], start, [start, start])
    confirmed.observe(second, *opened.learned(second))
    models = [support.learned(first, v).model for v in range(3)]
    assert confirmed.follows(1, second.said[1], models[1], [models[0], models[2]])
    assert not confirmed.follows(1, second.said[1], models[1], [models[2], models[0]])
    assert confirmed.fits(first.said[0])
    assert confirmed.fits(second.said[0])
    assert not confirmed.fits(LearningMessage(models[0], models[0]))


@pytest.mark.checks("RE-9")
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_verdicts_are_the_same_without_confirmation(tmp_path_factory, data) -> None:
    parameters = support.network(
        PATH, gradient=data.draw(st.sampled_from([(8, 7, 6), (20, 1, 16)]))
    )
    change = support.shifted(
        model=data.draw(st.integers(-1, 1)),
        gamma=data.draw(st.sampled_from([-16, -1, 0, 1, 2**61])),
        entry=data.draw(st.integers(0, 1)),
    )
    lie = support.edited(
        "LearnModel",
        change,
        rounds=data.draw(st.sets(st.integers(1, 3))),
        edges=data.draw(st.sampled_from([None, [(1, 0)]])),
    )
    execution = support.run(parameters, lie, byzantine=[1])
    path = tmp_path_factory.mktemp("same") / "run"
    write_recording(path, attrs.evolve(execution, byzantine=frozenset()), "test")
    quick = check(open_recording(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Confirmed, "observe", lambda *_arguments: None)
        slow = check(open_recording(path))
    assert quick == slow


@pytest.mark.checks("AR-4")
@pytest.mark.parametrize("model_bits", [20, 55])
def test_sums_are_exact_at_the_largest_models(model_bits) -> None:
    """No float would hold the sums."""
    parameters = support.network(
        PATH, d=3, T=2, precision=Precision(6, 1), mixing=(1, 1), gradient=(1, 1)
    )
    lattice = attrs.evolve(parameters.lattice, model_limit=1 << model_bits, gradient_limit=1 << 58)
    parameters = attrs.evolve(parameters, lattice=lattice)
    largest = (1 << model_bits) - 1
    earlier = np.array([[largest, 1 - largest, largest - 2], [1, 2, -3], [largest, -largest, 1]])
    Y = [mix(lattice, 2, earlier[v], [earlier[u] for u in PATH.neighbours(v)]) for v in range(3)]
    models = np.zeros((3, 3), dtype=np.int64)
    assert confirm(parameters, 2, earlier, models, np.stack(Y))[1].all()


def test_limits_of_the_lattice_are_those_of_the_definition() -> None:
    """The range of a row is strict on both sides."""
    parameters = support.network(PATH, d=1, T=1)
    limit = default_limits(1, parameters.lattice.schedule, 2).model_limit
    for value, inside in ((limit - 1, True), (limit, False), (-limit, False), (1 - limit, True)):
        models = np.full((3, 1), value, dtype=np.int64)
        assert confirm(parameters, 1, None, models, models * 0)[0].all() == inside
