"""The reader trusts nothing: containers, arrays, lines, cut-off runs."""

import json
import shutil
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.graph import AgentGraph
from valid_ref.oracle import (
    ReadingLimits,
    RecordingError,
    RecordingWriter,
    Status,
    check,
    header_of,
    header_schema,
    log_schema,
    open_recording,
    pack,
    write_recording,
)
from valid_ref.oracle.files import LOCAL_HEADER, NAMES, Layout, npy_header
from valid_ref.oracle.read import RowReader
from valid_ref.wide import WideIntegers, from_limbs

PAIR = AgentGraph.from_edges(2, [(0, 1)])
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A run of three agents with an attack on one edge."""
    graph = AgentGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)])
    parameters = support.network(graph, d=1, T=2)
    adversary = support.edited("LearnModel", support.shifted(model=1), rounds=[1], edges=[(0, 2)])
    path = tmp_path_factory.mktemp("original") / "run"
    write_recording(path, support.run(parameters, adversary, byzantine=[0]), "test")
    pack(path, path.parent / "run.zip")
    return path


def copied(original, tmp_path_factory):
    target = tmp_path_factory.mktemp("copy") / "run"
    shutil.copytree(original, target)
    return target


def judged(path):
    """The verdict, or None for a typed refusal; anything else is a failure of the reader."""
    try:
        return check(open_recording(path)).status
    except RecordingError as error:
        assert error.message
        return None


@pytest.mark.checks("RE-5", "RE-8")
def test_a_run_that_was_cut_off_is_read_to_its_last_complete_round(
    original, tmp_path_factory
) -> None:
    log = (original / "log.jsonl").read_bytes()
    ends = [position + 1 for position, byte in enumerate(log) if byte == 10]
    for complete, cut in [(0, 0), *((i, end) for i, end in enumerate(ends[:-1], start=1))]:
        for extra in (0, 7):
            path = copied(original, tmp_path_factory)
            (path / "log.jsonl").write_bytes(log[: cut + extra])
            verdict = check(open_recording(path))
            assert (verdict.status, verdict.rounds) == (Status.CANNOT_TELL, complete)
            assert verdict.divergences == ()


@pytest.mark.checks("RE-5")
def test_arrays_of_a_run_that_was_cut_off_may_be_short(original, tmp_path_factory) -> None:
    log = (original / "log.jsonl").read_bytes()
    unfinished = log[: log[:-1].rfind(b"\n") + 1]
    for name, rounds in (("models", 1), ("gradients", 1), ("reports", 5), ("deviations", 0)):
        path = copied(original, tmp_path_factory)
        (path / "log.jsonl").write_bytes(unfinished)
        raw = (path / f"{name}.npy").read_bytes()
        (path / f"{name}.npy").write_bytes(raw[:-1])
        verdict = check(open_recording(path))
        assert (verdict.status, verdict.rounds) == (Status.CANNOT_TELL, rounds), name


def test_keys_may_be_missing_when_the_run_was_cut_off(original, tmp_path_factory) -> None:
    path = copied(original, tmp_path_factory)
    header = json.loads((path / "header.json").read_text()) | {"checksums": False}
    (path / "header.json").write_text(json.dumps(header))
    log = (path / "log.jsonl").read_bytes().splitlines(keepends=True)[:4]
    plain = [json.dumps(json.loads(line) | {"sha256": ""}).encode() + b"\n" for line in log]
    (path / "log.jsonl").write_bytes(b"".join(plain))
    (path / "keys.npy").unlink()
    verdict = check(open_recording(path))
    assert (verdict.status, verdict.rounds, verdict.divergences) == (Status.CANNOT_TELL, 4, ())


@pytest.mark.checks("RE-4", "RE-5")
def test_the_writer_streams(tmp_path) -> None:
    execution = support.run(support.network(PAIR))
    header = header_of(execution.parameters, "test", frozenset())
    with RecordingWriter(tmp_path / "run", header, [1, 2]) as writer:
        writer.append(execution.rounds[0])
        assert check(open_recording(tmp_path / "run")).rounds == 1
    with pytest.raises(RecordingError, match="not empty"):
        RecordingWriter(tmp_path / "run", header, [1, 2])


@pytest.mark.checks("RE-2", "RE-4")
def test_files_follow_the_schemas(original) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads((original / "header.json").read_text()), header_schema())
    for line in (original / "log.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), log_schema())
    assert header_schema()["additionalProperties"] is False


@pytest.mark.checks("RE-3")
def test_arrays_are_what_numpy_reads(original) -> None:
    for name in NAMES[2:]:
        array = np.load(original / name, allow_pickle=False)
        assert array.dtype in {np.dtype("<i8"), np.dtype("<u8")}
        np.save(original.parent / name, array)
        assert open_recording(original).arrays[name[:-4]].shape == array.shape


def rezipped(original, target, change=None, **options):
    with zipfile.ZipFile(target, "w", **options) as archive:
        for name in NAMES:
            archive.writestr(name, (original / name).read_bytes())
        if change is not None:
            change(archive)
    return target


@pytest.mark.checks("RE-1", "RE-7")
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_zips(original, tmp_path) -> None:
    assert check(open_recording(rezipped(original, tmp_path / "good"))).conforms
    bomb = rezipped(original, tmp_path / "bomb", compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(RecordingError, match="compressed"):
        open_recording(bomb)
    for name in ("../header.json", "/etc/passwd", "a/models.npy", "header.json", "log.jsonl\0x"):
        bad = rezipped(original, tmp_path / "bad", lambda z, name=name: z.writestr(name, "{}"))
        with pytest.raises(RecordingError, match=r"does not belong here|members"):
            open_recording(bad)
    raw = bytearray((original.parent / "run.zip").read_bytes())
    with pytest.raises(RecordingError):
        open_recording(_written(tmp_path / "cut.zip", raw[: len(raw) // 2]))
    for path in (tmp_path / "none", tmp_path / "no\0ne"):
        with pytest.raises(RecordingError):
            open_recording(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordingError, match=r"no header\.json"):
        open_recording(tmp_path / "empty")


def _written(path, raw):
    path.write_bytes(raw)
    return path


@pytest.mark.checks("RE-1", "RE-7")
def test_members_that_share_bytes_are_refused(original, tmp_path) -> None:
    path = rezipped(original, tmp_path / "run.zip")
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo("models.npy").header_offset
    place = raw.rfind(b"gradients.npy") - 4
    raw[place : place + 4] = offset.to_bytes(4, "little")
    with pytest.raises(RecordingError, match=r"local header|overlaps"):
        open_recording(_written(path, raw))


@pytest.mark.checks("RE-1")
def test_a_member_inside_another_one_is_refused(original, tmp_path) -> None:
    """Its own local header stands among the data of the other one, with the right name."""
    name, data = b"gradients.npy", (original / "gradients.npy").read_bytes()
    header = LOCAL_HEADER.pack(b"PK\3\4", 20, 0, 0, 0, 0, 0, len(data), len(data), len(name), 0)
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
        for member in NAMES:
            inner = header + name + data if member == "models.npy" else None
            archive.writestr(member, inner or (original / member).read_bytes())
        offset = archive.getinfo("models.npy").header_offset + LOCAL_HEADER.size + 10
    raw = bytearray((tmp_path / "run.zip").read_bytes())
    place = raw.rfind(name) - 4
    raw[place : place + 4] = offset.to_bytes(4, "little")
    with pytest.raises(RecordingError, match="overlaps"):
        open_recording(_written(tmp_path / "run.zip", raw))


@pytest.mark.checks("RE-1", "RE-7")
def test_local_headers_and_flags_and_directories(original, tmp_path) -> None:
    good = rezipped(original, tmp_path / "good").read_bytes()
    renamed = good.replace(b"keys.npy", b"kEys.npy", 1)  # in the local header alone
    with pytest.raises(RecordingError, match="false local header"):
        open_recording(_written(tmp_path / "renamed", renamed))
    locked = bytearray(good)
    locked[locked.rfind(b"PK\1\2") + 8] |= 1
    with pytest.raises(RecordingError, match="encrypted"):
        open_recording(_written(tmp_path / "locked", locked))
    with zipfile.ZipFile(tmp_path / "long", "w") as archive:
        for number in range(2000):
            archive.writestr(f"{number:090}", b"")
    with pytest.raises(RecordingError, match="a directory of"):
        open_recording(tmp_path / "long")


@pytest.mark.checks("RE-2", "RE-3")
def test_x_0_stands_in_one_place_and_arrays_have_their_rows(original, tmp_path_factory) -> None:
    path = copied(original, tmp_path_factory)
    start = npy_header(Layout("<i8", 1, ()), 1) + bytes(8)
    (path / "start.npy").write_bytes(start)
    with pytest.raises(RecordingError, match="x_0 stands here or in"):
        open_recording(path)
    for name, row in (("keys", ()), ("outputs", (1,)), ("models", (3, 1))):
        path = copied(original, tmp_path_factory)
        count = {"keys": 3, "outputs": 3, "models": 2}[name]
        layout = Layout("<u8" if name == "keys" else "<i8", None, row)
        for rows in (count - 1, count + 1):
            raw = npy_header(layout, rows) + bytes(rows * layout.row_bytes)
            (path / f"{name}.npy").write_bytes(raw)
            with pytest.raises(RecordingError, match=f"{rows} rows; expected {count}"):
                open_recording(path)


def test_links_and_strangers_in_a_directory(original, tmp_path_factory) -> None:
    path = copied(original, tmp_path_factory)
    (path / "keys.npy").unlink()
    (path / "keys.npy").symlink_to(original / "keys.npy")
    with pytest.raises(RecordingError, match=r"does not belong here"):
        open_recording(path)


@pytest.mark.checks("RE-7")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"agents": 3', '"agents": 1000000000'),
        ('"agents": 3', '"agents": 3, "agents": 3'),
        ('"agents": 3', '"agents": 3.0'),
        ('"agents": 3', '"agents": NaN'),
        ('"agents": 3', '"agents": 3, "color": 1'),
        ('"agents": 3', '"agents": ' + "9" * 5000),
        ('"dimension": 1', '"dimension": 4611686018427387904'),
        ('"prime": 2305843009213693951', '"prime": 2305843009213693953'),
        ('"prime": 2305843009213693951', '"prime": 1000036000099'),
        ('"prime": 2305843009213693951', '"prime": 340282366920938463463374607431768211507'),
        ('"prime": 2305843009213693951', '"prime": 7'),
        ('"step_bits": 4', '"step_bits": 61'),
        ('"bounds": null', '"bounds": {"kind": "bounds"}'),
        ('"without": []', '"without": ["P99"]'),
        ("recording/2", "recording/1"),
    ],
)
def test_bad_headers(original, tmp_path_factory, old, new) -> None:
    path = copied(original, tmp_path_factory)
    text = (path / "header.json").read_text()
    assert old in text
    (path / "header.json").write_text(text.replace(old, new, 1))
    with pytest.raises(RecordingError, match=r"header\.json"):
        open_recording(path)


@pytest.mark.checks("RE-2", "RE-7")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("byzantine", [0, 0]),
        ("byzantine", [0, 1, 2]),
        ("byzantine", [3]),
        ("byzantine", [-1]),
        ("start_model", []),
        ("start_model", [0, 0]),
        ("start_model", [2**64]),
        ("mixing", [2**70, 1]),
        ("gradient", [1, 2**64]),
        ("total", [3, 0]),
        ("total", [-3, -1]),
    ],
)
def test_headers_of_no_run(original, tmp_path_factory, field, value) -> None:
    path = copied(original, tmp_path_factory)
    header = json.loads((path / "header.json").read_text())
    (header["weightings"][0] if field == "total" else header)[field] = value
    (path / "header.json").write_text(json.dumps(header))
    with pytest.raises(RecordingError, match=r"header\.json"):
        open_recording(path)


@pytest.mark.checks("RE-7")
def test_limits(original) -> None:
    for limits in (
        ReadingLimits(header_bytes=10),
        ReadingLimits(agents=2),
        ReadingLimits(line_bytes=100),
    ):
        with pytest.raises(RecordingError):
            check(open_recording(original, limits))


@pytest.mark.checks("RE-3", "RE-7")
@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3, 1), }",
        "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 3, 1), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (999999999999, 3, 1), }",
        "__import__('os').system('true')",
    ],
)
def test_bad_arrays(original, tmp_path_factory, header) -> None:
    path = copied(original, tmp_path_factory)
    raw = (path / "models.npy").read_bytes()
    text = header.encode().ljust(181) + b"\n"
    (path / "models.npy").write_bytes(raw[:8] + len(text).to_bytes(2, "little") + text + raw[192:])
    with pytest.raises(RecordingError, match=r"models\.npy"):
        open_recording(path)


@pytest.mark.checks("RE-4", "RE-7")
@pytest.mark.parametrize("table", ["reports", "estimates", "deviations"])
def test_rows_that_do_not_exist_or_are_out_of_range(tmp_path, table) -> None:
    execution = support.run(support.network(PAIR))
    write_recording(tmp_path / "run", execution, "test", checksums=False)
    opened = open_recording(tmp_path / "run")
    reader = RowReader(opened.parameters, opened.arrays)
    read = reader.pair if table == "deviations" else lambda row: reader.value(table, row)
    for row in (-1, len(opened.arrays[table]), 10**30):
        with pytest.raises(RecordingError, match="there is no row"):
            read(row)
    if len(opened.arrays[table]) > 1:  # a row of the file that no line has announced yet
        reader.begin_line(dict.fromkeys(opened.arrays, 0), dict.fromkeys(opened.arrays, 1))
        with pytest.raises(RecordingError, match="there is no row 1"):
            read(1)
    if table == "deviations":
        return
    raw = (tmp_path / "run" / f"{table}.npy").read_bytes()
    (tmp_path / "run" / f"{table}.npy").write_bytes(raw[:-1] + b"\x80")
    with pytest.raises(RecordingError, match="out of range"):
        check(open_recording(tmp_path / "run"))


def _edge(sender, receiver):
    return {"sender": sender, "receiver": receiver, "message": None}


def put(where, place, value):
    where[place] = value


P = 2**61 - 1
FLAG, NAMED = {"kind": "flag", "value": True}, {"kind": "entries", "rows": [[0, -1, 0]]}
LINES = {
    "an array in the agreement": (11, lambda line: put(line["said"], 0, {"kind": "array"})),
    "a flag in a broadcast": (2, lambda line: put(line["said"], 0, FLAG)),
    "entries in the agreement": (11, lambda line: put(line["said"], 0, {"kind": "entries"})),
    "a row of reports as a key": (
        2,
        lambda line: (put(line["said"], 0, NAMED), put(line["rows"], "reports", 1)),
    ),
    "a tag twice": (2, lambda line: put(line["said"][0], "keys", [[0, 5], [0, 5]])),
    "a tag with a value and null": (2, lambda line: put(line["said"][0], "nulls", [[0, -1]])),
    "a tag that does not exist": (2, lambda line: put(line["said"][0], "keys", [[3, 5]])),
    "a key of p": (2, lambda line: put(line["said"][0], "keys", [[0, P]])),
    "a key of -1": (2, lambda line: put(line["said"][0], "keys", [[0, -1]])),
    "a row that does not exist": (5, lambda line: put(line["said"][0]["rows"][0], 2, 99)),
    "an edge twice": (0, lambda line: line["deviations"].append(line["deviations"][0])),
    "an edge to oneself": (0, lambda line: line["deviations"].append(_edge(0, 0))),
    "an edge to nobody": (0, lambda line: line["deviations"].append(_edge(0, 3))),
    "an edge from nobody": (0, lambda line: line["deviations"].append(_edge(-1, 1))),
    "silence with a row in the arrays": (1, lambda line: put(line["said"], 0, None)),
    "fewer messages than agents": (3, lambda line: line["said"].pop()),
    "a round of another number": (3, lambda line: put(line, "round", 3)),
}
"""Lines that stand for no round, each with its number; agent 0 is Byzantine."""


def with_lines(original, tmp_path_factory, change):
    """The recording without checksums, its lines changed."""
    path = copied(original, tmp_path_factory)
    header = json.loads((path / "header.json").read_text()) | {"checksums": False}
    (path / "header.json").write_text(json.dumps(header))
    raw = (path / "log.jsonl").read_text().splitlines()
    lines = [json.loads(line) | {"sha256": ""} for line in raw]
    change(lines)
    (path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.checks("RE-4")
@pytest.mark.parametrize("name", LINES)
def test_lines_that_stand_for_no_round_are_refused(original, tmp_path_factory, name) -> None:
    number, change = LINES[name]
    assert check(
        open_recording(with_lines(original, tmp_path_factory, lambda _lines: None))
    ).conforms
    path = with_lines(original, tmp_path_factory, lambda lines: change(lines[number]))
    with pytest.raises(RecordingError, match=f"line {number + 1}|no row") as refused:
        check(open_recording(path))
    assert refused.value.clause == "RE-4"


@pytest.mark.checks("RE-5", "RE-6")
def test_ends_that_no_run_has_are_refused(original, tmp_path_factory) -> None:
    for change, clause in (
        (lambda lines: lines[-1]["agents"].pop(), "RE-5"),
        (lambda lines: put(lines[-1]["rows"], "reports", 0), "RE-4"),
        (lambda lines: lines.pop(-2), "RE-5"),
        (lambda lines: lines.append(lines[-1]), "RE-5"),
        (lambda lines: put(lines[-1], "sha256", "00"), "RE-6"),
        (lambda lines: put(lines[4], "sha256", "00"), "RE-6"),
    ):
        path = with_lines(original, tmp_path_factory, change)
        with pytest.raises(RecordingError) as refused:
            check(open_recording(path))
        assert refused.value.clause == clause


@pytest.mark.checks("RE-3")
@pytest.mark.parametrize("name", ["keys", "models", "outputs", "reports"])
def test_arrays_have_just_the_rows_they_announce(original, tmp_path_factory, name) -> None:
    for change in (
        lambda raw: raw + bytes(8),
        lambda raw: raw[:-8],
        lambda raw: raw + raw[192:],
    ):
        path = with_lines(original, tmp_path_factory, lambda _lines: None)
        raw = (path / f"{name}.npy").read_bytes()
        (path / f"{name}.npy").write_bytes(change(raw))
        with pytest.raises(RecordingError, match=f"{name}.npy"):
            open_recording(path)
    path = with_lines(original, tmp_path_factory, lambda _lines: None)
    (path / "keys.npy").write_bytes((path / "keys.npy").read_bytes()[:-8] + P.to_bytes(8, "little"))
    with pytest.raises(RecordingError, match="not below p"):
        open_recording(path)


@pytest.mark.checks("RE-7")
@SETTINGS
@given(raw=st.binary(max_size=400))
def test_random_bytes_are_refused(tmp_path_factory, raw) -> None:
    assert judged(_written(tmp_path_factory.mktemp("fuzz") / "run.zip", raw)) is None


@pytest.mark.checks("RE-7")
@SETTINGS
@given(data=st.data())
def test_mutated_files_never_crash_the_reader(original, tmp_path_factory, data) -> None:
    source = data.draw(st.sampled_from(["run.zip", *NAMES]))
    zipped = source == "run.zip"
    raw = bytearray((original.parent / source if zipped else original / source).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(raw)))
        length = data.draw(st.sampled_from([0, 1, 2, 8, len(raw)]))
        raw[begin : begin + length] = data.draw(st.binary(max_size=9))
    if zipped:
        judged(_written(tmp_path_factory.mktemp("fuzz") / "run.zip", raw))
        return
    path = copied(original, tmp_path_factory)
    judged(_written(path / source, raw).parent)


@pytest.mark.checks("RE-7")
@SETTINGS
@given(data=st.data())
def test_mutated_documents_never_crash_the_reader(original, tmp_path_factory, data) -> None:
    """JSON that is well-formed, with one value replaced; no checksums, so that it gets far."""
    path = copied(original, tmp_path_factory)
    header = json.loads((path / "header.json").read_text()) | {"checksums": False}
    lines = [
        json.loads(line) | {"sha256": ""} for line in (path / "log.jsonl").read_text().splitlines()
    ]
    target = data.draw(st.sampled_from([header, *lines]))
    while True:
        key = data.draw(
            st.sampled_from([*(target if isinstance(target, dict) else range(len(target)))])
        )
        child = target[key]
        if not isinstance(child, dict | list) or not child or data.draw(st.booleans()):
            break
        target = child
    target[key] = data.draw(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.integers(-(2**70), 2**70),
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(max_size=5),
            st.just([]),
            st.just({}),
            st.just([child, child]),
        )
    )
    (path / "header.json").write_text(json.dumps(header))
    (path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    judged(path)


@pytest.mark.checks("RE-3")
@given(
    values=st.lists(st.integers(-(2**127), 2**127 - 1) | st.integers(-(2**64), 2**64)),
    limbs=st.integers(2, 3),
)
def test_wide_integers_come_back(values, limbs) -> None:
    assert from_limbs(WideIntegers.of(values).in_limbs(limbs)) == tuple(values)
