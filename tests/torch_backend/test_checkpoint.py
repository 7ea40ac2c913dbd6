"""A run that goes on from a checkpoint ends with the same bytes; other files are refused."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings

from tests.torch_backend.runs import AttackByFunction, learn, per_edge, program, rude
from torch_backend import checkpoint, engine
from torch_backend.checkpoint import CheckpointError
from valid_ref.graph_families import parse_family


def a_program(script: object, **others: object) -> engine.Program:
    graph = parse_family("complete:4")
    return program(graph, rounds=5, attack=AttackByFunction(script), byzantine=(1,), **others)


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize("script", [per_edge, rude])
@pytest.mark.parametrize("estimate", ["agents", "counted", "none"])
def test_a_run_goes_on_as_if_it_had_not_stopped(tmp_path: Path, script, estimate: str) -> None:
    run = a_program(script, estimate=estimate)
    states, _said = learn(run)
    checkpoint.save(tmp_path / "end", states[-1])
    for state in states:
        checkpoint.save(tmp_path / "there", state)
        again = checkpoint.load(tmp_path / "there", run)
        assert again.alarms == state.alarms
        while again.t < run.rounds:
            again, _words = engine.advance(run, again)
        checkpoint.save(tmp_path / "again", again)
        assert (tmp_path / "again").read_bytes() == (tmp_path / "end").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "end", "there"]


@pytest.mark.checks("EX-11")
def test_files_that_are_no_checkpoint_of_the_run_are_refused(tmp_path: Path) -> None:
    run = a_program(per_edge)
    state = learn(run)[0][2]
    path = tmp_path / "file"
    checkpoint.save(path, state)
    good = path.read_bytes()
    for change in (
        program(parse_family("cycle:5")),
        attrs.evolve(run, estimate="none"),
        attrs.evolve(run, estimate="counted"),
        a_program(per_edge, dtype=torch.float64),
    ):
        with pytest.raises(CheckpointError, match="remove it to begin anew"):
            checkpoint.load(path, change)
    for bad in (b"", b"garbage", good[: len(good) // 2], good[:-1]):
        path.write_bytes(bad)
        with pytest.raises(CheckpointError):
            checkpoint.load(path, run)
    beside = torch.zeros_like(state.models[:, :-1])
    for changed in (
        {"t": run.rounds + 1},
        {"t": -1},
        {"t": True},
        {"alarms": state.alarms[1:]},
        {"models": beside},
        {"said": beside},
        {"models": state.models.double()},
    ):
        checkpoint.save(path, attrs.evolve(state, **changed))
        with pytest.raises(CheckpointError, match="no checkpoint of this run"):
            checkpoint.load(path, run)
    with mock.patch.object(checkpoint, "FORMAT", "valid-torch/checkpoint/2"):
        checkpoint.save(path, state)
    with pytest.raises(CheckpointError, match="checkpoint/2', where 'valid-torch/checkpoint/4' is"):
        checkpoint.load(path, run)
    np.savez(tmp_path / "other.npz", a=np.array(1))
    with pytest.raises(CheckpointError):
        checkpoint.load(tmp_path / "other.npz", run)
    with pytest.raises(CheckpointError):
        checkpoint.load(tmp_path / "none", run)


RUN = a_program(per_edge)
STATE = learn(RUN)[0][3]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "file"
    checkpoint.save(path, STATE)
    return path.read_bytes()


IN_A_LOOP = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.checks("EX-11")
@IN_A_LOOP
@given(data=st.data())
def test_no_damaged_file_is_believed(tmp_path: Path, good: bytes, data: st.DataObject) -> None:
    """Any other bytes are refused, and by the one typed error."""
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(good) - 1))
        changed[place] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.none() | st.integers(0, len(good) - 1))
    damaged = bytes(changed[:cut])
    (tmp_path / "file").write_bytes(damaged)
    if damaged == good:
        return
    with pytest.raises(CheckpointError, match="it is damaged"):
        checkpoint.load(tmp_path / "file", RUN)


def signed(content: bytes) -> bytes:
    """The same with the digest that goes with it, as somebody who means harm would write it."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


@pytest.mark.checks("EX-11")
@IN_A_LOOP
@given(place=st.integers(0, 20000), value=st.integers(1, 255))
@example(place=6, value=1)  # an encrypted member, to the library
@example(place=150, value=40)
def test_a_signed_file_is_refused_or_read(
    tmp_path: Path, good: bytes, place: int, value: int
) -> None:
    changed = bytearray(good)
    changed[place % (len(good) - 64)] ^= value
    (tmp_path / "file").write_bytes(signed(bytes(changed)))
    try:
        state = checkpoint.load(tmp_path / "file", RUN)
    except CheckpointError:
        return
    engine.advance(RUN, state)


def rewritten(good: bytes, document: Any) -> bytes:
    """The file with another document."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(buffer, "w") as new:
        new.comment = old.comment
        for name in old.namelist():
            content = old.read(name)
            if name == "document.npy":
                inside = io.BytesIO()
                np.save(inside, np.frombuffer(document.encode(), np.uint8))
                content = inside.getvalue()
            new.writestr(name, content)
    return signed(buffer.getvalue())


def document_of(good: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(good)) as archive:
        found: dict[str, Any] = json.loads(archive["document"].tobytes())
        return found


SCALARS = st.sampled_from([None, True, -1, 0, 3, 10**30, 1.5, "", "x", [], {}, [[0, 9]], [[1, 2]]])


@pytest.mark.checks("EX-11")
@IN_A_LOOP
@given(data=st.data())
def test_a_document_that_does_not_fit_the_run_is_refused(
    tmp_path: Path, good: bytes, data: st.DataObject
) -> None:
    document = document_of(good)
    place: Any = document
    while True:
        key = data.draw(
            st.sampled_from(list(place) if isinstance(place, dict) else range(len(place)))
        )
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner and data.draw(st.booleans())):
            break
        place = inner
    place[key] = data.draw(SCALARS)
    (tmp_path / "file").write_bytes(rewritten(good, json.dumps(document)))
    try:
        state = checkpoint.load(tmp_path / "file", RUN)
    except CheckpointError:
        return
    engine.advance(RUN, attrs.evolve(state, t=min(state.t, RUN.rounds - 1)))


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edges": [[0, 1], [1, 2], [1, 3]]}, "edges"),
        ({"edges": [[1, 0], [1, 0], [1, 3]]}, "edges"),
        ({"lying": [0]}, "lying agents"),
        ({"silent": [9]}, "silent agents"),
        ({"t": 6}, "round 6 of 5"),
        ({"alarms": []}, "alarms of 0 agents"),
        ({"estimates": None}, "estimates were kept"),
        ({"estimates": {"agents": [0, 1, 2, 3], "edges": [[0, 1]], "used": 1}}, "estimates of"),
        ({"estimates": {"agents": [0, 1, 2], "edges": [], "used": 1}}, "estimates of"),
        ({"more": 1}, "unknown field"),
    ],
)
def test_what_is_no_state_of_the_run_is_refused_by_name(
    tmp_path: Path, good: bytes, change: dict[str, Any], words: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(rewritten(good, json.dumps(document_of(good))))
    assert checkpoint.load(path, RUN).t == 3
    path.write_bytes(rewritten(good, json.dumps(document_of(good) | change)))
    with pytest.raises(CheckpointError, match=words):
        checkpoint.load(path, RUN)


@pytest.mark.checks("EX-11", "AR-10")
@pytest.mark.parametrize("name", ["models", "said"])
def test_models_out_of_range_are_refused(tmp_path: Path, name: str) -> None:
    limit = RUN.lattice.model_limit
    beyond = torch.full_like(STATE.models, limit)
    checkpoint.save(tmp_path / "file", attrs.evolve(STATE, **{name: beyond}))
    with pytest.raises(CheckpointError, match=f"{name} are out of range"):
        checkpoint.load(tmp_path / "file", RUN)
    checkpoint.save(tmp_path / "file", attrs.evolve(STATE, **{name: beyond - 1}))
    assert checkpoint.load(tmp_path / "file", RUN).t == 3
