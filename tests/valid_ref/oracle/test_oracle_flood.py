"""How an agent floods stands in the header: what is new, or all that it holds (VB-4, VB-11)."""

import json

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.execution import Execution
from valid_ref.graph import AgentGraph
from valid_ref.machine import honest, run_machine
from valid_ref.oracle import (
    RecordingError,
    Status,
    check,
    diff,
    header_of,
    header_schema,
    open_recording,
    write_recording,
)
from valid_ref.oracle.header import header_text
from valid_ref.protocols.broadcast import BroadcastState
from valid_ref.protocols.valid import Valid

PATH = AgentGraph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
RING = AgentGraph.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])


@attrs.frozen
class Flooding(Valid):
    """Valid, of which some agents send all that they hold in every round of a broadcast."""

    flood_held: frozenset = attrs.field(kw_only=True)

    def send(self, state, round_number):
        if state.memory.agent in self.flood_held and isinstance(state.inner, BroadcastState):
            return state.inner.held
        return super().send(state, round_number)


def run(parameters, flood_held, adversary=honest, byzantine=()):
    machine = Flooding(parameters, flood_held=frozenset(flood_held))
    private = support.privates(parameters)
    chosen = frozenset(byzantine)
    result = run_machine(parameters.graph, machine, private, byzantine=chosen, adversary=adversary)
    return Execution(parameters, chosen, result.rounds, result.states)


@pytest.mark.checks("RE-2", "RE-9", "VB-11")
@settings(max_examples=15, deadline=None)
@given(flood_held=st.sets(st.integers(0, 4)), announced=st.sets(st.integers(0, 4)), data=st.data())
def test_an_agent_floods_as_the_header_says(tmp_path_factory, flood_held, announced, data) -> None:
    """It conforms exactly if every honest agent floods as announced; on a ring this shows."""
    home = tmp_path_factory.mktemp("flood")
    lie = support.edited("GlobalValidate", support.silence, rounds=[3], edges=[(4, 0)])
    liars = data.draw(st.sampled_from([(), (4,)]))
    execution = run(support.network(RING), flood_held, lie, liars)
    write_recording(home / "run", execution, "test", flood_held=announced)
    verdict = check(open_recording(home / "run"))
    wrong = sorted((flood_held ^ announced) - {*liars})
    assert verdict.need_freedom == tuple(wrong)
    assert {found.difference.clause for found in verdict.divergences} <= {"VB-4"}
    assert verdict.status is (Status.DIVERGES if wrong else Status.CONFORMS)


@pytest.mark.checks("RE-2")
def test_a_recording_without_such_agents_has_the_bytes_that_it_had_before(tmp_path) -> None:
    execution = support.run(support.network(PATH))
    write_recording(tmp_path / "plain", execution, "test")
    write_recording(tmp_path / "named", execution, "test", flood_held=())
    assert "flood_held" not in json.loads((tmp_path / "plain" / "header.json").read_bytes())
    for name in ("header.json", "log.jsonl"):
        plain, named = ((tmp_path / run / name).read_bytes() for run in ("plain", "named"))
        assert plain == named
    text = (tmp_path / "plain" / "header.json").read_text()
    spelled = text.replace('"checksums": true', '"checksums": true,\n "flood_held": []')
    (tmp_path / "plain" / "header.json").write_text(spelled)
    with pytest.raises(RecordingError, match="checksum"):  # the bytes of the header are hashed
        check(open_recording(tmp_path / "plain"))


@pytest.mark.checks("RE-2", "RE-13")
def test_header_schema_and_diff_know_the_field(tmp_path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    parameters = support.network(PATH)
    header = header_of(parameters, "test", None, flood_held=[3, 1])
    assert header.flood_held == (1, 3)
    document = json.loads(header_text(header))
    assert document["flood_held"] == [1, 3]
    jsonschema.validate(document, header_schema())
    for name, flood_held in (("one", (1,)), ("other", ())):
        write_recording(tmp_path / name, run(parameters, flood_held), "t", flood_held=flood_held)
    gap = diff(open_recording(tmp_path / "one"), open_recording(tmp_path / "other"))
    assert gap is not None
    assert (gap.place, gap.left, gap.right) == ("header.json, flood_held", "(1,)", "()")


@pytest.mark.checks("RE-2", "RE-7")
@pytest.mark.parametrize("flood_held", [[4], [-1], [2, 1], [1, 1], [True], "1", None, [10**30]])
def test_what_is_no_increasing_list_of_agents_is_refused(tmp_path, flood_held) -> None:
    write_recording(tmp_path / "run", support.run(support.network(PATH)), "test", checksums=False)
    header = json.loads((tmp_path / "run" / "header.json").read_text())
    (tmp_path / "run" / "header.json").write_text(json.dumps(header | {"flood_held": flood_held}))
    with pytest.raises(RecordingError, match=r"header\.json: .*flood_held"):
        open_recording(tmp_path / "run")
