"""What an agent says to all is judged wherever a recording puts it."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.graph_families import path as path_graph
from valid_ref.oracle import (
    RecordingError,
    RecordingWriter,
    Status,
    check,
    header_of,
    open_recording,
    replay,
    write_recording,
)
from valid_ref.oracle.files import npy_header
from valid_ref.oracle.header import layouts
from valid_ref.protocols.learn import LearningMessage

GRAPH = path_graph(3)


class Draft:
    """A recording without checksums, taken apart so that a test can change it."""

    def __init__(self, home: Path) -> None:
        self.home = home / "run"
        self.parameters = support.network(GRAPH)
        self.execution = support.run(self.parameters)
        write_recording(self.home, self.execution, "test", checksums=False)
        self.layouts = layouts(self.parameters)
        text = (self.home / "log.jsonl").read_text().splitlines()
        self.lines = [json.loads(line) for line in text]
        opened = open_recording(self.home)
        self.arrays = {name: np.array(array) for name, array in opened.arrays.items()}

    def add_pair(self, line: int, model: np.ndarray, gradient: np.ndarray) -> int:
        """A row of deviations, known from this line on; its number."""
        pair = np.stack([model, gradient])[np.newaxis]
        self.arrays["deviations"] = np.concatenate([self.arrays["deviations"], pair])
        for later in self.lines[line:]:
            later["rows"]["deviations"] += 1
        return len(self.arrays["deviations"]) - 1

    def verdict(self):
        for name, array in self.arrays.items():
            layout = self.layouts[name]
            data = npy_header(layout, len(array)) + array.astype(layout.dtype).tobytes()
            (self.home / f"{name}.npy").write_bytes(data)
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        (self.home / "log.jsonl").write_text(text)
        return check(open_recording(self.home))


@pytest.mark.checks("RE-4", "RE-9")
@pytest.mark.parametrize("lie", [0, 777])
def test_a_learning_message_to_all_stands_in_the_arrays_only(tmp_path, lie: int) -> None:
    draft = Draft(tmp_path)
    model, gradient = draft.arrays["models"][0, 1] + lie, draft.arrays["gradients"][0, 1].copy()
    row = draft.add_pair(0, model, gradient)
    draft.lines[0]["said"][1] = {"kind": "learning", "row": row}
    draft.arrays["models"][0, 1] = draft.arrays["gradients"][0, 1] = 0
    with pytest.raises(RecordingError, match="words to all") as caught:
        draft.verdict()
    assert caught.value.clause == "RE-4"


@pytest.mark.checks("RE-3", "RE-4")
def test_the_writer_takes_no_learning_message_beside_the_arrays(tmp_path) -> None:
    parameters = support.network(GRAPH)
    zeros = np.zeros((GRAPH.agents, parameters.lattice.dimension), np.int64)
    header = header_of(parameters, "test", None, checksums=False)
    message = LearningMessage(zeros[1], zeros[1])
    with (
        RecordingWriter(tmp_path / "run", header, [1, 2, 3]) as writer,
        pytest.raises(RecordingError, match="words to all"),
    ):
        writer.append_learning(zeros, zeros, others={1: message})


def on_every_edge(draft: Draft, line: int, agent: int) -> None:
    """Record what an agent says in a round on each of its edges."""
    said = draft.lines[line]["said"][agent]
    if said is not None and said["kind"] == "array":
        model, gradient = (
            draft.arrays["models"][line, agent],
            draft.arrays["gradients"][line, agent],
        )
        said = {"kind": "learning", "row": draft.add_pair(line, model, gradient)}
    draft.lines[line]["deviations"] += [
        {"sender": agent, "receiver": receiver, "message": said}
        for receiver in GRAPH.neighbours(agent)
    ]


LINES = st.integers(0, support.network(GRAPH).lattice.schedule.rounds + 4 * GRAPH.agents - 2)


@pytest.mark.checks("RE-4", "RE-9")
@settings(max_examples=30)
@given(LINES, st.integers(0, 2), st.sampled_from(["nothing", "other", "numbers", "the same"]))
def test_what_is_said_to_all_is_judged_though_every_edge_has_the_right_message(
    tmp_path_factory, line: int, agent: int, instead: str
) -> None:
    """Only a recorder that knows edges alone may leave it out."""
    draft = Draft(tmp_path_factory.mktemp("edges"))
    on_every_edge(draft, line, agent)
    learning = draft.lines[line]["phase"] == "LearnModel"
    if instead == "nothing":
        draft.lines[line]["said"][agent] = None
    if instead == "other":
        draft.lines[line]["said"][agent] = {"kind": "other", "text": "?"}
    if learning and instead in {"nothing", "other"}:
        draft.arrays["models"][line, agent] = draft.arrays["gradients"][line, agent] = 0
    if instead == "numbers" and learning:
        draft.arrays["models"][line, agent] += 1
    lied = instead == "other" or (instead == "numbers" and learning)
    verdict = draft.verdict()
    assert verdict.status is (Status.DIVERGES if lied else Status.CONFORMS), verdict
    assert {divergence.agent for divergence in verdict.divergences} == ({agent} if lied else set())


@pytest.mark.checks("RE-9")
@settings(max_examples=30)
@given(st.integers(0, 2), st.integers(0, 2), st.integers(-2, 2), st.booleans())
def test_what_is_confirmed_at_once_is_what_the_replay_of_every_agent_finds(
    tmp_path_factory, t: int, agent: int, change: int, everywhere: bool
) -> None:
    draft = Draft(tmp_path_factory.mktemp("confirmed"))
    t = min(t, len(draft.arrays["models"]) - 1)
    draft.arrays["models"][t, agent] += change
    if everywhere:
        on_every_edge(draft, t, agent)
    fast = draft.verdict()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay.ConfirmedMessages, "fits", lambda *_given: False)
        patch.setattr(replay.ConfirmedMessages, "follows", lambda *_given: False)
        plain = check(open_recording(draft.home))
    assert (fast.status, fast.divergences) == (plain.status, plain.divergences)
    assert fast.conforms == (change == 0)
