"""Headers and lines made to cost much or to move the cursor: refused at once, printed as data."""

import json
import sys
import time

import attrs
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests import support
from valid_ref import cli
from valid_ref.cli.recordings import check as check_command
from valid_ref.cli.recordings import diff as diff_command
from valid_ref.cli.recordings import show
from valid_ref.cli.report import report
from valid_ref.graph import AgentGraph
from valid_ref.oracle import RecordingError, check, open_recording, write_recording
from valid_ref.oracle.header import COUNTS, check_counts, header_of
from valid_ref.printable import printable

GRAPH = AgentGraph.from_edges(3, [(0, 1), (1, 2)])
MOST_SECONDS = 5
NASTY = (
    "\x1b[2J\x1b]0;t\x07\r\n\x7f\x85\x9b31m\u202e\u2028\u2029\u200b\u2066\ufeff\ud800 conforms: x"
)

app = typer.Typer()
for name, command in (
    ("check", check_command),
    ("diff", diff_command),
    ("show", show),
    ("report", report),
):
    app.command(name)(command)


@pytest.fixture
def run(tmp_path):
    """An attacked run without checksums, so that its documents may change."""
    lie = support.both(
        support.edited("LearnModel", support.silence, rounds=[2]),
        support.edited("GlobalValidate", lambda _m: "word", rounds=[2]),
    )
    execution = support.run(support.network(GRAPH), lie, byzantine=[0])
    write_recording(tmp_path / "run", execution, "test", checksums=False)
    return tmp_path / "run"


def changed_header(run, **changes):
    file = run / "header.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def refusal(run) -> RecordingError:
    begin = time.process_time()
    with pytest.raises(RecordingError) as caught:
        check(open_recording(run))
    assert time.process_time() - begin < MOST_SECONDS
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()
    return caught.value


def losses(**changes):
    loss = {"kind": "random-logistic", "dimension": 2, "samples": 3}
    plain = {"kind": "losses", "loss": loss, "seed": 0, "batch": 1, "delta": 1.0}
    return plain | {"eps_success": 1.0} | changes


MANY = 10**6


@pytest.mark.checks("RE-16")
@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({"edges": [[0, 1]] * MANY}, "RE-16"),
        ({"agents": 5000, "edges": [[0, 1]] * 10**5}, "MO-2"),
        ({"edges": [[0, 1], [1, 2], [1, 0]]}, "MO-2"),
        ({"byzantine": [*range(MANY)]}, "RE-16"),
        ({"flood_held": [*range(MANY)]}, "RE-16"),
        ({"without": ["P01"] * MANY}, "RE-16"),
        ({"without": ["P01", "P01"]}, "RE-2"),
        ({"start_model": [0] * MANY}, "RE-16"),
        ({"gradient": [1] * MANY}, "RE-16"),
        ({"mixing": [1] * MANY}, "AR-2"),
        ({"mixing": [1 << 62] * 3}, "RE-16"),
        ({"gradient": [-(1 << 62)] * 3}, "RE-16"),
        ({"start_model": [10**3000, 0]}, "RE-16"),
        ({"weightings": [{}] * 2000}, "RE-16"),
        (
            {"bounds": {"kind": "bounds", "model_squared": [1] * MANY, "gradient_squared": []}},
            "RE-16",
        ),
        ({"losses": losses(seed=1 << 64)}, "RE-16"),
        ({"losses": losses(seed=-1)}, "RE-16"),
        ({"losses": losses(batch=0)}, "RE-16"),
        ({"losses": losses(batch=10**3000)}, "RE-16"),
        ({"losses": losses(loss={"kind": "quadratic", "agents": [{}] * MANY})}, "RE-16"),
        ({"dimension": [1]}, "RE-7"),
        ({"agents": [0] * MANY}, "RE-7"),
        ({"x" * 10**7: 1}, "RE-7"),
        ({"format": "x" * 10**7}, "RE-2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value)[:20],
)
def test_what_is_too_long_is_refused_at_once(run, changes, clause) -> None:
    changed_header(run, **changes)
    assert refusal(run).clause == clause


@pytest.mark.checks("RE-16")
@pytest.mark.parametrize("field", COUNTS)
def test_every_number_of_a_header_has_bounds(run, field) -> None:
    least, most = COUNTS[field]
    for value in (least - 1, most + 1, -(10**4000), 10**4000):
        changed_header(run, **{field: value})
        assert field in refusal(run).message
    text = (run / "header.json").read_text().replace("1" + "0" * 4000, "9" * 20_000)
    (run / "header.json").write_text(text)
    assert "too many digits" in refusal(run).message


@pytest.mark.checks("RE-16")
def test_the_writer_and_the_reader_have_the_same_bounds() -> None:
    header = header_of(support.network(GRAPH), "test", None)
    with pytest.raises(RecordingError, match="dimension is not within"):
        attrs.evolve(header, dimension=0, start_model=())
    with pytest.raises(RecordingError, match="more than once"):
        check_counts({"agents": 5000, "edges": [[0, 1], [1, 0]]}, 10_000)


@pytest.mark.checks("RE-16")
def test_nesting_is_refused_at_once(run) -> None:
    text = (run / "header.json").read_text()
    for begin, end in (("[", "]"), ('{"a":', "}")):
        for depth in (200, 900, 100_000):
            nested = begin * depth + "1" + end * depth
            (run / "header.json").write_text(text.replace('"test"', nested))
            refusal(run)


@pytest.mark.checks("RE-16")
@pytest.mark.parametrize(
    ("number", "changes", "clause"),
    [
        (0, {"said": [None] * MANY}, "RE-16"),
        (0, {"deviations": [{"sender": 0, "receiver": 1, "message": None}] * 10**5}, "RE-16"),
        (3, {"said": [{"kind": "entries", "keys": [[0, 1]] * 10**5}] * 3}, "RE-16"),
        (-1, {"agents": [{"valid": True, "alarms": []}] * 10**5}, "RE-16"),
        (0, {"round": 10**4000}, "RE-4"),
        (0, {"phase": "x" * 10**7}, "RE-4"),
        (0, {"rows": {"reports": 10**4000, "estimates": 0, "deviations": 0}}, "RE-4"),
    ],
)
def test_lines_that_are_too_long_are_refused_at_once(run, number, changes, clause) -> None:
    lines = (run / "log.jsonl").read_text().splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | changes)
    (run / "log.jsonl").write_text("\n".join(lines) + "\n")
    assert refusal(run).clause == clause


@pytest.mark.checks("RE-17")
@settings(deadline=None)
@given(text=st.text(st.characters(), max_size=60), longest=st.integers(3, 80))
def test_printable_text_is_on_one_line_and_shows_every_character(text, longest) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
    if text.isprintable():
        assert printable(text) == text
    assert printable(text, longest=longest).isprintable()


def printed(*arguments) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit | RecordingError)
    return done.output + ("" if done.exception is None else str(done.exception))


def check_output(output: str) -> None:
    """Printable but for the newlines of the program, none of which the text has brought."""
    assert output.replace("\n", "").isprintable()
    assert not any(line.lstrip().startswith("conforms: x") for line in output.splitlines())


@pytest.mark.checks("RE-17")
def test_no_text_of_a_recording_reaches_the_terminal_as_it_is(run, tmp_path) -> None:
    """Every text field in turn, and all of them, through every command that reads a recording."""
    header = json.loads((run / "header.json").read_text())
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    plain = tmp_path / "plain"
    run.rename(plain)
    named = tmp_path / "named \x1b[2J\u202e\x9b\u2028.d"
    named.mkdir()
    for file in plain.iterdir():
        (named / file.name).write_bytes(file.read_bytes())
    seen: set[tuple[str, object]] = set()
    for document, holder, key in [
        *((header, parent, key) for parent, key in texts(header)),
        *((line, parent, key) for line in lines for parent, key in texts(line)),
    ]:
        field = (str(key), holder.get("reason") if isinstance(holder, dict) else holder[key])
        field = field if document in (header, lines[-1]) else (str(key), document["phase"])
        if field in seen:
            continue
        seen.add(field)
        before = holder[key]
        holder[key] = NASTY
        (named / "header.json").write_text(json.dumps(header))
        (named / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        check_output(printed("check", named))
        if key in {"producer", "name", "origin", "reason", "phase", "about", "text"}:
            for flags in ([], ["--json"], ["--quiet"]):
                check_output(printed("show", named, *flags))
                check_output(printed("check", named, *flags))
                check_output(printed("diff", named, plain, *flags))
        holder[key] = before
    fields = {name for name, _where in seen}
    assert fields >= {
        "producer",
        "name",
        "origin",
        "reason",
        "phase",
        "about",
        "text",
        "kind",
        "sha256",
        "format",
        "keys_checked",
    }
    (named / "header.json").write_text(json.dumps(header | {"producer": NASTY, NASTY: 1}))
    check_output(printed("check", named))


def texts(value):
    """Where the texts of a document stand, keys of objects aside."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, str):
            yield value, key
        elif isinstance(item, dict | list):
            yield from texts(item)


@pytest.mark.checks("RE-17")
def test_a_report_shows_texts_as_data(run, tmp_path) -> None:
    header = json.loads((run / "header.json").read_text()) | {"producer": NASTY}
    header["weightings"][0]["name"] = NASTY
    (run / "header.json").write_text(json.dumps(header))
    named = tmp_path / "page \x1b]0;\x07\u202e"
    run.rename(named)
    output = printed("report", named, "-o", tmp_path / "page.html")
    check_output(output)
    assert "open it in a browser" in output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not {"\x1b", "\x07", "\u202e", "\x9b", "\u2028"} & {*page}
    check_output(printed("report", named, "--json"))


@pytest.mark.checks("RE-17")
def test_the_last_resort_prints_one_line(run, monkeypatch, capsys) -> None:
    """Whatever error reaches the command line, of a file with any name."""
    named = run.parent / "none \x1b[31m\r\n\u202e"
    for command in ("check", "run"):
        monkeypatch.setattr(sys, "argv", ["valid-ref", command, str(named)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 2
        output = capsys.readouterr().err
        assert output.count("\n") == 1
        check_output(output)
