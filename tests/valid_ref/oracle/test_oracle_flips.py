"""Single flips: with checksums every one is noticed, without them every one that matters."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import support
from valid_ref.graph import AgentGraph
from valid_ref.oracle import RecordingError, check, open_recording, write_recording
from valid_ref.oracle.store import NAMES

SETTINGS = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # fmt: skip

HARMLESS = {
    "producer": "a name; it says nothing about the run",
    "losses": "only the outcome depends on it, which is evaluated beside the verdict",
    "fraction_bits": "f is the unit of a model; no integer of the protocol depends on it",
    "model_limit": "the run is as good under another limit that all its numbers keep",
    "gradient_limit": "the run is as good under another limit that all its numbers keep",
    "max_degree": "only the range rule reads it, and the run keeps that",
    "bounds": "the run is as good under other bounds that all its vectors keep",
    "weightings": "name, total, origin, and thresholds that the statistics still pass",
    "keys_checked": "nobody has an alarm under any key",
    "byzantine": "another set of judged agents, all of which conform",
}
"""Fields of the header of an honest run that may change while the recording still conforms."""


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One honest run of two agents, with and without checksums."""
    parameters = support.network(AgentGraph.from_edges(2, [(0, 1)]), d=1, T=1)
    execution = support.run(parameters)
    home = tmp_path_factory.mktemp("flips")
    for checksums in (True, False):
        write_recording(home / str(checksums), execution, "test", checksums=checksums)
        assert check(open_recording(home / str(checksums))).conforms
    return home


def conforms(path) -> bool:
    try:
        return check(open_recording(path)).conforms
    except RecordingError:
        return False


@pytest.mark.checks("RE-6", "RE-9")
@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("name", NAMES[2:])
def test_a_flip_in_any_byte_of_an_array_is_noticed(originals, tmp_path, checksums, name) -> None:
    """One bit of every byte; the arrays of an honest run have no byte that does not matter."""
    shutil.copytree(originals / str(checksums), tmp_path / "run")
    raw = (originals / str(checksums) / name).read_bytes()
    for position in range(len(raw)):
        flipped = bytearray(raw)
        flipped[position] ^= 1 << (position * 5 % 8)
        (tmp_path / "run" / name).write_bytes(flipped)
        assert not conforms(tmp_path / "run"), position


@pytest.mark.deep
@pytest.mark.checks("RE-6", "RE-9")
@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("name", NAMES[2:])
def test_every_flip_of_every_array_is_noticed(originals, tmp_path, checksums, name) -> None:
    shutil.copytree(originals / str(checksums), tmp_path / "run")
    raw = (originals / str(checksums) / name).read_bytes()
    for bit in range(8 * len(raw)):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        (tmp_path / "run" / name).write_bytes(flipped)
        assert not conforms(tmp_path / "run"), bit


@pytest.mark.checks("RE-6")
@pytest.mark.parametrize(
    ("name", "stride"),
    [("header.json", 3), ("log.jsonl", 19), pytest.param("header.json", 1, marks=pytest.mark.deep),
     pytest.param("log.jsonl", 1, marks=pytest.mark.deep)],
)  # fmt: skip
def test_with_checksums_a_flip_in_a_document_is_noticed(originals, tmp_path, name, stride) -> None:
    shutil.copytree(originals / "True", tmp_path / "run")
    raw = (originals / "True" / name).read_bytes()
    for position in range(0, len(raw), stride):
        flipped = bytearray(raw)
        flipped[position] ^= 1 << (position * 5 % 8)
        (tmp_path / "run" / name).write_bytes(flipped)
        assert not conforms(tmp_path / "run"), position


@pytest.mark.checks("RE-9")
@SETTINGS
@given(data=st.data())
def test_without_checksums_only_harmless_fields_may_change(
    originals, tmp_path_factory, data
) -> None:
    path = tmp_path_factory.mktemp("flip") / "run"
    shutil.copytree(originals / "False", path)
    raw = bytearray((path / "header.json").read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    before = json.loads((path / "header.json").read_bytes())
    (path / "header.json").write_bytes(raw)
    if conforms(path):
        after = json.loads(raw)
        assert {key for key in before if before[key] != after.get(key)} <= {*HARMLESS}


@pytest.mark.checks("RE-9")
@SETTINGS
@given(data=st.data())
def test_without_checksums_no_line_may_change(originals, tmp_path_factory, data) -> None:
    path = tmp_path_factory.mktemp("flip") / "run"
    shutil.copytree(originals / "False", path)
    raw = bytearray((path / "log.jsonl").read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    before = (path / "log.jsonl").read_bytes().splitlines()
    (path / "log.jsonl").write_bytes(raw)
    if conforms(path):
        lines = bytes(raw).splitlines()
        assert [json.loads(line) for line in lines] == [json.loads(line) for line in before]
