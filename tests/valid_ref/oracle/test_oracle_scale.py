"""Recordings of the form of real training runs: streamed, in bounded memory, named to the entry."""

import tracemalloc

import attrs
import numpy as np
import pytest

from benchmarks.big_recording import Deviation, learning, parameters_for, write
from tests import support
from valid_ref.graph_families import cycle
from valid_ref.oracle import (
    RecordingError,
    RecordingWriter,
    Status,
    check,
    diff,
    header_of,
    open_recording,
    read,
    write_recording,
)
from valid_ref.oracle.replay import confirm
from valid_ref.protocols.learn import LearningMessage

GRAPH = cycle(4)


@pytest.mark.checks("RE-3", "RE-4", "RE-9")
@pytest.mark.parametrize("checksums", [False, True])
def test_an_honest_big_run_conforms(tmp_path, checksums) -> None:
    write(tmp_path / "run", parameters_for(GRAPH, 700, 3), checksums=checksums)
    verdict = check(open_recording(tmp_path / "run"))
    assert verdict.conforms, verdict


@pytest.mark.checks("RE-9", "RE-10")
def test_one_entry_of_a_big_run_is_named(tmp_path) -> None:
    deviation = Deviation(2, 3, 471)
    write(tmp_path / "run", parameters_for(GRAPH, 700, 5), deviation=deviation)
    verdict = check(open_recording(tmp_path / "run"))
    assert (verdict.status, verdict.need_freedom) == (Status.CANNOT_TELL, (2,))
    [found] = verdict.divergences
    assert (found.phase, found.round) == ("LearnModel", deviation.round)
    assert (found.difference.index, found.difference.clause) == (deviation.entry, "AR-6")
    assert int(found.difference.found) == int(found.difference.expected) + 1


def peak(path, T):
    tracemalloc.start()
    write(path, parameters_for(GRAPH, 20_000, T))
    _now, writing = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    assert check(open_recording(path)).conforms
    _now, checking = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return writing, checking, sum(file.stat().st_size for file in path.iterdir())


@pytest.mark.deep
@pytest.mark.checks("RE-7", "RE-15")
def test_memory_does_not_grow_with_the_rounds(tmp_path) -> None:
    short, long = (peak(tmp_path / str(T), T) for T in (260, 520))
    assert long[2] - short[2] > 300_000_000
    for before, after in zip(short[:2], long[:2], strict=True):
        assert after - before < (long[2] - short[2]) / 50


@pytest.mark.checks("RE-15")
def test_a_value_is_decoded_once_though_it_is_sent_on_and_on(tmp_path, monkeypatch) -> None:
    decoded = []
    plain = read.FORMS["estimates"]
    form = lambda *given: decoded.append(1) or plain(*given)  # noqa: E731
    monkeypatch.setitem(read.FORMS, "estimates", form)
    write(tmp_path / "run", parameters_for(GRAPH, 100, 2))
    assert check(open_recording(tmp_path / "run")).conforms
    assert len(decoded) == GRAPH.agents


@pytest.mark.checks("RE-4")
def test_values_that_stand_in_many_rows_are_read_once(tmp_path, monkeypatch) -> None:
    """A writer need not look for equal values; the verdict is the same, and so is the work."""
    monkeypatch.setattr(RecordingWriter, "known", lambda *_arguments: None)
    plain = RecordingWriter.put

    def put(self, table, value):
        self._values.clear()
        return plain(self, table, value)

    monkeypatch.setattr(RecordingWriter, "put", put)
    execution = support.run(support.network(GRAPH))
    write_recording(tmp_path / "run", execution, "test", checksums=False)
    opened = open_recording(tmp_path / "run")
    assert len(opened.arrays["estimates"]) > 50
    decoded = []
    form_of = read.FORMS["estimates"]
    form = lambda *given: decoded.append(1) or form_of(*given)  # noqa: E731
    monkeypatch.setitem(read.FORMS, "estimates", form)
    assert check(opened).conforms
    assert len(decoded) == GRAPH.agents


@pytest.mark.checks("RE-7", "RE-15")
def test_few_values_are_remembered(tmp_path, monkeypatch) -> None:
    write_recording(tmp_path / "run", support.run(support.network(GRAPH)), "test")
    monkeypatch.setattr(read, "most_numbers", lambda _parameters: 1)
    opened = open_recording(tmp_path / "run")
    assert check(opened).conforms
    reader = read.RowReader(opened.parameters, opened.arrays)
    for row in range(3):
        reader.value("estimates", row)
        assert len(reader._by_content) == len(reader._by_row) == 1


@pytest.mark.checks("RE-4")
def test_arrays_are_appended_like_rounds(tmp_path) -> None:
    """Also with silence and with another message on one edge."""
    parameters = support.network(GRAPH)
    lie = support.both(
        support.edited("LearnModel", support.shifted(model=1), rounds=[1], edges=[(0, 1)]),
        support.edited("LearnModel", support.silence, rounds=[2], edges=[(0, 3)]),
    )
    execution = support.run(parameters, lie, byzantine=[0])
    silent = attrs.evolve(execution.rounds[2], said=execution.rounds[2].said | {3: None})
    execution = attrs.evolve(
        execution, rounds=(*execution.rounds[:2], silent, *execution.rounds[3:])
    )
    write_recording(tmp_path / "rounds", execution, "test")
    header = header_of(parameters, "test", execution.byzantine)
    keys = [execution.states[v].memory.private.key for v in range(4)]
    with RecordingWriter(tmp_path / "arrays", header, keys) as writer:
        for spoken in execution.rounds[:3]:
            real = [isinstance(spoken.said[v], LearningMessage) for v in range(4)]
            models, gradients = (
                np.stack(
                    [
                        getattr(spoken.said[v], name) if real[v] else np.zeros(2, dtype=np.int64)
                        for v in range(4)
                    ]
                )
                for name in ("model", "scaled_gradient")
            )
            others = {v: spoken.said[v] for v in range(4) if not real[v]}
            writer.append_learning(models, gradients, spoken.deviations, others)
        writer.append_rest(execution)
    for file in (tmp_path / "rounds").iterdir():
        assert file.read_bytes() == (tmp_path / "arrays" / file.name).read_bytes(), file.name


@pytest.mark.checks("RE-3")
def test_arrays_of_another_form_are_refused(tmp_path) -> None:
    parameters = support.network(GRAPH)
    zero = np.zeros((4, 2), dtype=np.int64)
    with RecordingWriter(tmp_path / "run", header_of(parameters, "test", None), [1] * 4) as writer:
        for models, gradients in ((zero[:3], zero), (zero, zero.T), (zero, zero.astype(float))):
            with pytest.raises(RecordingError, match="not int64"):
                writer.append_learning(models, gradients)
        with pytest.raises(RecordingError, match="no such thing"):
            writer.append_learning(zero + 1, zero, others={1: None})


@pytest.mark.checks("RE-2", "RE-3", "RE-6", "RE-7")
def test_a_long_start_model_stands_in_a_file(tmp_path) -> None:
    parameters = parameters_for(GRAPH, 4100, 1)
    write(tmp_path / "run", parameters, checksums=True)
    opened = open_recording(tmp_path / "run")
    assert opened.header.start_model is None
    assert np.array_equal(opened.parameters.start_model, parameters.start_model)
    assert diff(opened, opened) is None
    raw = (tmp_path / "run" / "start.npy").read_bytes()
    for bad, words in (
        (raw[:-8], "bytes of data"),
        (raw[:-1] + b"\x7f", "2^62"),
        (raw.replace(b"4100", b"4101"), "4101 rows"),
    ):
        (tmp_path / "run" / "start.npy").write_bytes(bad)
        with pytest.raises(RecordingError, match=words.replace("^", r"\^")):
            open_recording(tmp_path / "run")
    (tmp_path / "run" / "start.npy").write_bytes(raw[:-8] + bytes(8))
    with pytest.raises(RecordingError, match="checksum"):
        check(open_recording(tmp_path / "run"))
    (tmp_path / "run" / "start.npy").unlink()
    with pytest.raises(RecordingError, match="x_0"):
        open_recording(tmp_path / "run")


@pytest.mark.checks("RE-2", "RE-13")
def test_start_models_differ_wherever_they_stand(tmp_path, monkeypatch) -> None:
    execution = support.run(support.network(GRAPH))
    write_recording(tmp_path / "inline", execution, "test")
    monkeypatch.setattr("valid_ref.oracle.header.LONGEST_START", 1)
    write_recording(tmp_path / "file", execution, "test")
    other = support.run(support.network(GRAPH, start=(0, 1)))
    write_recording(tmp_path / "other", other, "test")
    inline, file, third = (open_recording(tmp_path / name) for name in ("inline", "file", "other"))
    assert diff(inline, file) is None
    gap = diff(inline, third)
    assert gap is not None
    assert (gap.place, gap.index, gap.left, gap.right) == ("x_0", 1, "0", "1")
    (tmp_path / "inline" / "start.npy").write_bytes((tmp_path / "file" / "start.npy").read_bytes())
    with pytest.raises(RecordingError, match="x_0"):
        open_recording(tmp_path / "inline")


def test_the_generator_is_the_update_of_the_specification() -> None:
    parameters = parameters_for(GRAPH, 7, 3)
    rounds = list(learning(parameters, 3, None))
    for t, (models, gradients) in enumerate(rounds, start=1):
        before = None if t == 1 else rounds[t - 2][0]
        assert all(found.all() for found in confirm(parameters, t, before, models, gradients))
