"""What is read back is what was said; files are cut to a checkpoint and go on from there."""

from pathlib import Path
from unittest import mock

import attrs
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.torch_backend.runs import (
    AttackByFunction,
    consistent,
    keys_of,
    learn,
    noisy,
    per_edge,
    program,
    rude,
)
from torch_backend import engine, kernels
from torch_backend.delivery import Said
from torch_backend.reports import reports
from torch_backend.rules.bridge import BridgeMedian
from torch_backend.transcripts import (
    MODELS,
    ROUNDS,
    SAID,
    TranscriptError,
    TranscriptWriter,
    narrowed,
    open_transcripts,
    resume,
)
from valid_ref.graph_families import parse_family

FORMS = pytest.mark.parametrize("pays_from", [0, 2**62], ids=["compiled", "tensors"])
SCRIPTS = {
    "none": None,
    "noisy": noisy,
    "consistent": consistent,
    "per edge": per_edge,
    "rude": rude,
}


def a_program(script: str = "per edge", **others: object) -> engine.Program:
    if SCRIPTS[script] is None:
        return program(parse_family("cycle:5"), rounds=5, **others)
    attack = AttackByFunction(SCRIPTS[script])
    return program(parse_family("complete:4"), rounds=5, attack=attack, byzantine=(2,), **others)


def write(directory: Path, run: engine.Program, said: list[Said]) -> None:
    writer = TranscriptWriter(directory, run)
    for spoken in said:
        writer.append(spoken)
    writer.sync()
    writer.close()


def assert_same(one: Said, other: Said) -> None:
    assert one.t == other.t
    assert torch.equal(one.models, other.models)
    assert torch.equal(one.gammas, other.gammas)
    assert one.problems == other.problems
    assert one.edge_problems == other.edge_problems
    assert set(one.edges) == set(other.edges)
    for edge, pair in one.edges.items():
        again = other.edges[edge]
        assert (pair is None) == (again is None)
        if pair is not None and again is not None:
            assert torch.equal(torch.stack(pair), torch.stack(again))


@pytest.mark.checks("LM-3", "LM-5", "AR-6")
@pytest.mark.parametrize("script", SCRIPTS)
def test_scaled_gradients_come_back_by_the_relation(tmp_path: Path, script: str) -> None:
    run = a_program(script)
    _states, said = learn(run)
    write(tmp_path, run, said)
    found = open_transcripts(tmp_path, run)
    for one, other in zip(said, found.said(), strict=True):
        assert_same(one, other)
        assert_same(one, found.spoken(one.t))


def test_silent_agents_and_models_of_64_bits_come_back(tmp_path: Path) -> None:
    run = program(parse_family("path:3"), alpha=900.0, rounds=6)
    states, said = learn(run)
    assert states[-1].silent
    write(tmp_path, run, said)
    widths = {line.bits <= 32 for line in open_transcripts(tmp_path, run).lines}
    assert widths == {True, False}
    for one, other in zip(said, open_transcripts(tmp_path, run).said(), strict=True):
        assert_same(one, other)


@FORMS
@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-(2**33), 2**33), min_size=1))
@example([2**31 - 1, -(2**31)])
@example([2**31])
@example([-(2**31) - 1])
def test_models_are_stored_in_as_many_bits_as_they_need(pays_from: int, entries: list[int]) -> None:
    models = torch.tensor([entries])
    with mock.patch.object(kernels, "PAYS_FROM", pays_from):
        stored, bits = narrowed(models)
    assert torch.equal(stored.long(), models)
    exact = max(*entries, -min(entries) - 1, 0).bit_length() + 1
    assert bits == exact
    assert (stored.dtype is torch.int32) == (bits <= 32)


@pytest.mark.checks("EX-11")
def test_files_are_cut_to_a_round_and_go_on_to_the_same_bytes(tmp_path: Path) -> None:
    run = a_program("per edge")
    _states, said = learn(run)
    write(tmp_path / "whole", run, said)
    for t in range(run.rounds + 1):
        for torn in (b"", b'{"t":'):
            write(tmp_path / f"{t}{torn!r}", run, said[: min(t + 2, run.rounds)])
            for name in (MODELS, SAID, ROUNDS):
                with (tmp_path / f"{t}{torn!r}" / name).open("ab") as file:
                    file.write(torn)
            writer = resume(tmp_path / f"{t}{torn!r}", run, t)
            for spoken in said[t:]:
                writer.append(spoken)
            writer.close()
            for name in (MODELS, SAID, ROUNDS):
                same = (tmp_path / "whole" / name).read_bytes()
                assert (tmp_path / f"{t}{torn!r}" / name).read_bytes() == same


@pytest.mark.checks("LM-3", "LM-5", "EX-11")
@settings(max_examples=20)
@given(
    script=st.sampled_from([*SCRIPTS]),
    memory=st.integers(0, 3000) | st.just(1 << 20),
    synced=st.sets(st.integers(1, 5)),
)
def test_what_stays_in_memory_is_read_and_written_as_if_in_files(
    tmp_path_factory: pytest.TempPathFactory, script: str, memory: int, synced: set[int]
) -> None:
    """Room for nothing, some or all; whenever it is written, the files are the same bytes."""
    folder, run = tmp_path_factory.mktemp("rounds"), a_program(script)
    _states, said = learn(run)
    write(folder / "files", run, said)
    writer = TranscriptWriter(folder / "memory", run, memory)
    for spoken in said:
        writer.append(spoken)
        if spoken.t in synced:
            writer.sync()
            assert len(open_transcripts(folder / "memory", run, spoken.t).lines) == spoken.t
    stored, found = open_transcripts(folder / "files", run), writer.transcripts()
    assert found.lines == stored.lines
    for one, other in zip(said, found.said(), strict=True):
        assert_same(one, other)
    assert reports(found, keys_of(run)) == reports(stored, keys_of(run))
    if memory == 1 << 20 and not synced:
        assert (folder / "memory" / MODELS).stat().st_size == 0
    writer.sync()
    writer.close()
    for name in (MODELS, SAID, ROUNDS):
        same = (folder / "files" / name).read_bytes()
        assert (folder / "memory" / name).read_bytes() == same


@pytest.mark.checks("EX-11")
def test_what_was_in_memory_alone_is_not_gone_on_with(tmp_path: Path) -> None:
    run = a_program("per edge")
    _states, said = learn(run)
    writer = TranscriptWriter(tmp_path, run, 1 << 20)
    for spoken in said:
        writer.append(spoken)
        if spoken.t == 2:
            writer.sync()
    writer.close()  # as if killed
    with pytest.raises(TranscriptError, match="holds 2 rounds"):
        resume(tmp_path, run, 3)
    again = resume(tmp_path, run, 2, 1 << 20)
    for spoken in said[2:]:
        again.append(spoken)
    for one, other in zip(said, again.transcripts().said(), strict=True):
        assert_same(one, other)
    again.close()


@pytest.mark.checks("LM-5")
def test_missing_rounds_and_other_rules_are_refused(tmp_path: Path) -> None:
    run = a_program("none")
    _states, said = learn(run)
    write(tmp_path, run, said[:2])
    with pytest.raises(TranscriptError, match="train on first"):
        open_transcripts(tmp_path, run)
    with pytest.raises(TranscriptError, match="remove both"):
        resume(tmp_path, run, 3)
    lines = (tmp_path / ROUNDS).read_text().splitlines(keepends=True)
    for others in (lines[::-1], [lines[0], lines[0]]):
        (tmp_path / ROUNDS).write_text("".join(others))
        with pytest.raises(TranscriptError, match="does not hold rounds 1 to 2"):
            open_transcripts(tmp_path, run, 2)
    (tmp_path / ROUNDS).write_text("".join(lines))
    (tmp_path / MODELS).write_bytes(b"")
    with pytest.raises(TranscriptError, match="shorter"):
        resume(tmp_path, run, 2)
    (tmp_path / ROUNDS).write_text('{"t":1}\n')
    with pytest.raises(TranscriptError, match="damaged"):
        open_transcripts(tmp_path, run, 1)

    other = attrs.evolve(run, rule=BridgeMedian())
    with pytest.raises(TranscriptError, match="no linear relation"):
        TranscriptWriter(tmp_path / "other", other)
