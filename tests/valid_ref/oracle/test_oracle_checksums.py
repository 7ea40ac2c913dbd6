"""The checksums of RE-6 from the text alone: nothing of the reference but what it has written."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests import support
from valid_ref.graph import AgentGraph
from valid_ref.oracle import check, open_recording, write_recording
from valid_ref.oracle.log import Line, line_text
from valid_ref.oracle.read import read_document

SPECIFICATION = Path(__file__).parents[3] / "spec" / "recording.md"
ENTRIES = {"keys": [], "rows": [], "nulls": [], "malformed": [], "unknown_tags": False}
GROWING = ("reports", "estimates", "deviations")
TRIANGLE = AgentGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)])


def filled(message):
    """A message with every field that it may leave out."""
    kind = None if message is None else message["kind"]
    return {"entries": ENTRIES, "other": {"text": ""}}.get(kind, {}) | message if kind else None


def hashed_text(line) -> bytes:
    rows = dict.fromkeys(GROWING, 0) | line["rows"]
    line = line | {"rows": rows, "sha256": ""}
    if line["kind"] == "end":
        plain = {"sender": None, "about": None}
        agents = [a | {"alarms": [plain | alarm for alarm in a["alarms"]]} for a in line["agents"]]
        line |= {"agents": agents}
    else:
        line |= {"said": [filled(message) for message in line["said"]]}
        edges = [edge | {"message": filled(edge["message"])} for edge in line["deviations"]]
        line |= {"deviations": edges}
    return json.dumps(line, sort_keys=True, separators=(",", ":")).encode("ascii")


def data(file: Path) -> bytes:
    """The bytes after the NPY header."""
    raw = file.read_bytes()
    return raw[10 + int.from_bytes(raw[8:10], "little") :]


def digests(run: Path) -> list[str]:
    """The checksum of every line, as the text says it."""
    header = json.loads((run / "header.json").read_bytes())
    n, d, T = header["agents"], header["dimension"], len(header["mixing"])
    running = hashlib.sha256((run / "header.json").read_bytes())
    running.update(data(run / "start.npy") if (run / "start.npy").exists() else b"")
    running.update(data(run / "keys.npy"))
    arrays = {file.stem: data(file) for file in run.glob("*.npy")}
    lines = [json.loads(line) for line in (run / "log.jsonl").read_bytes().splitlines()]
    total = lines[-1]["rows"]
    size = {name: len(arrays[name]) // max(1, total[name]) for name in GROWING}
    before, found = dict.fromkeys(GROWING, 0), []
    for line in lines:
        if line["kind"] == "end":
            running.update(arrays["outputs"])
        else:
            if line["phase"] == "LearnModel":
                assert line["round"] <= T
                span = slice(8 * n * d * (line["round"] - 1), 8 * n * d * line["round"])
                running.update(arrays["models"][span] + arrays["gradients"][span])
            for name in GROWING:
                rows = arrays[name][size[name] * before[name] : size[name] * line["rows"][name]]
                running.update(rows)
            before = line["rows"]
        running.update(hashed_text(line))
        found.append(running.hexdigest())
    return found


@pytest.mark.checks("RE-6")
def test_the_worked_digest() -> None:
    text = SPECIFICATION.read_text(encoding="utf-8")
    written = re.search(r"```json\n(.*)\n```", text)
    assert written is not None
    hashed, digest = re.findall(r"```text\n(.*)\n```", text)
    assert hashed_text(json.loads(written[1])) == hashed.encode()
    keys = b"".join(key.to_bytes(8, "little") for key in (1, 2))
    assert hashlib.sha256(b"{}" + keys + hashed.encode()).hexdigest() == digest
    assert f"2 + 16 + {len(hashed)} bytes" in text
    assert line_text(read_document(Line, written[1].encode(), "the example")) == hashed


@pytest.mark.checks("RE-6")
@pytest.mark.parametrize("longest_start", [0, 1 << 12])
def test_every_digest_of_a_recording(tmp_path, monkeypatch, longest_start) -> None:
    monkeypatch.setattr("valid_ref.oracle.header.LONGEST_START", longest_start)
    lie = support.both(
        support.edited("LearnModel", support.shifted(model=1), rounds=[1], edges=[(0, 2)]),
        support.edited("LocalValidate.keys", lambda _m: 'é\u2028\x7f\x1b𝕍"\\/', rounds=[2]),
        support.edited("GlobalValidate", lambda m: {**m, "what": None}, rounds=[2]),
    )
    execution = support.run(support.network(TRIANGLE), lie, byzantine=[0])
    write_recording(tmp_path / "run", execution, "é\u2028\x7f")
    assert (tmp_path / "run" / "start.npy").exists() == (longest_start == 0)
    log = (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["sha256"] for line in lines] == digests(tmp_path / "run")


@pytest.mark.checks("RE-6")
def test_the_form_of_a_line_does_not_matter_to_its_digest(tmp_path) -> None:
    """Spaces, order, escapes and fields that may be left out; a foreign writer has its own form."""
    lie = support.edited("LocalValidate.keys", lambda _m: "word", rounds=[2])
    execution = support.run(support.network(TRIANGLE), lie, byzantine=[0])
    write_recording(tmp_path / "run", execution, "test")
    log = tmp_path / "run" / "log.jsonl"
    lines = []
    for line in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
        for message in line.get("said", []):
            for name in [*(message or {})]:
                if message[name] in ([], False) and message["kind"] == "entries":
                    del message[name]
        spelled = json.dumps(dict(reversed([*line.items()])), indent=None, ensure_ascii=False)
        lines.append(spelled.replace("LocalValidate", "\\u004cocalValidate") + " \n")
    log.write_text("".join(lines), encoding="utf-8")
    assert check(open_recording(tmp_path / "run")).conforms
