"""Single flips: with checksums every one is noticed, without them every one that matters."""

import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.valid_ref.oracle.flips import (
    CONTAINER,
    HARMLESS,
    VARIANTS,
    changed_fields,
    conforms,
    count,
    files,
    places,
    row,
    table,
    write_originals,
)
from valid_ref.oracle import check, open_recording
from valid_ref.oracle.files import KNOWN

ROOT = Path(__file__).parents[3]
SPECIFICATION = ROOT / "spec" / "recording.md"
TABLES = ROOT / "docs" / "tables" / "recordings.md"
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One honest run of two agents, with and without checksums, and as a zip."""
    home = tmp_path_factory.mktemp("flips")
    write_originals(home)
    for variant in VARIANTS:
        assert check(open_recording(home / variant)).conforms
    return home


@pytest.mark.checks("RE-6", "RE-9")
@pytest.mark.parametrize("variant", VARIANTS[:2])
@pytest.mark.parametrize("name", KNOWN[2:])
def test_a_flip_in_any_byte_of_an_array_is_noticed(originals, tmp_path, variant, name) -> None:
    """One bit of every byte; the arrays of an honest run have no byte that does not matter."""
    shutil.copytree(originals / variant, tmp_path / "run")
    raw = (originals / variant / name).read_bytes()
    for position in range(len(raw)):
        flipped = bytearray(raw)
        flipped[position] ^= 1 << (position * 5 % 8)
        (tmp_path / "run" / name).write_bytes(flipped)
        assert not conforms(tmp_path / "run"), position


@pytest.mark.deep
@pytest.mark.checks("RE-6", "RE-9", "RE-14")
@pytest.mark.parametrize(
    ("variant", "name"), [(variant, name) for variant in VARIANTS for name in files(variant)]
)
def test_every_bit_is_flipped_and_counted(originals, variant, name) -> None:
    """All bits of all files; what goes unnoticed is what the specification lists, to the bit."""
    total, unnoticed = count(originals, variant, name)
    allowed = {"header.json": {*HARMLESS}, CONTAINER: {CONTAINER}}.get(name, set())
    assert {*unnoticed} <= ({*()} if variant == "checksums" else allowed)
    assert row(variant, name, total, unnoticed) in table(TABLES.read_text(encoding="utf-8"))


@pytest.mark.checks("RE-14")
def test_the_table_has_every_file_and_only_fields_that_are_explained() -> None:
    measured = table(TABLES.read_text(encoding="utf-8"))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in measured]
    wanted = {(variant, f"`{name}`") for variant in VARIANTS for name in files(variant)}
    assert {(line[0], line[1]) for line in lines} == wanted
    for variant, name, _total, unnoticed, fields in lines:
        named = {part.rsplit(" ", 1)[0] for part in fields.split(", ")} - {"-"}
        assert named <= {*HARMLESS, CONTAINER}
        assert (unnoticed == "0") == (not named)
        assert variant != "checksums" or unnoticed == "0"
        assert unnoticed == "0" or name in {"`header.json`", f"`{CONTAINER}`"}
    text = SPECIFICATION.read_text(encoding="utf-8")
    for field, reason in HARMLESS.items():
        assert f"`{field}`" in text, reason


@pytest.mark.checks("RE-14")
@SETTINGS
@given(data=st.data())
def test_in_a_zip_only_what_is_no_part_of_the_run_may_change(
    originals, tmp_path_factory, data
) -> None:
    """Members as in a directory; of the zip itself names, places, sizes and methods matter."""
    name = data.draw(st.sampled_from(files("zip")))
    _inner, positions = places(originals, "zip", name)
    raw = bytearray((originals / "zip").read_bytes())
    raw[data.draw(st.sampled_from(positions))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.mktemp("flip") / "zip"
    path.write_bytes(raw)
    if conforms(path):
        assert name in {CONTAINER, "header.json"}
        assert name == CONTAINER or changed_fields(originals, path) <= {*HARMLESS}


@pytest.mark.checks("RE-6")
@pytest.mark.parametrize(
    ("name", "stride"),
    [("header.json", 7), ("log.jsonl", 31)],
)
def test_with_checksums_a_flip_in_a_document_is_noticed(originals, tmp_path, name, stride) -> None:
    shutil.copytree(originals / "checksums", tmp_path / "run")
    raw = (originals / "checksums" / name).read_bytes()
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
    shutil.copytree(originals / "plain", path)
    raw = bytearray((path / "header.json").read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    before = json.loads((path / "header.json").read_bytes())
    (path / "header.json").write_bytes(raw)
    if conforms(path):
        after = json.loads(raw)
        assert {key for key in before if before[key] != after.get(key)} <= {*HARMLESS}


@pytest.mark.checks("RE-4")
def test_without_checksums_no_count_of_rows_may_change(originals, tmp_path) -> None:
    """Rows announced a line early or a line late; these once went unnoticed."""
    shutil.copytree(originals / "plain", tmp_path / "run")
    raw = (originals / "plain" / "log.jsonl").read_bytes()
    counts = [found.end() - 1 for found in re.finditer(rb'"(?:estimates|reports)":\d', raw)]
    assert len(counts) == 2 * (raw.count(b"\n"))
    for position in counts:
        for digit in b"0123":
            if digit != raw[position]:
                changed = raw[:position] + bytes([digit]) + raw[position + 1 :]
                (tmp_path / "run" / "log.jsonl").write_bytes(changed)
                assert not conforms(tmp_path / "run"), position


@pytest.mark.checks("RE-9")
@SETTINGS
@given(data=st.data())
def test_without_checksums_no_line_may_change(originals, tmp_path_factory, data) -> None:
    path = tmp_path_factory.mktemp("flip") / "run"
    shutil.copytree(originals / "plain", path)
    raw = bytearray((path / "log.jsonl").read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    before = (path / "log.jsonl").read_bytes().splitlines()
    (path / "log.jsonl").write_bytes(raw)
    if conforms(path):
        lines = bytes(raw).splitlines()
        assert [json.loads(line) for line in lines] == [json.loads(line) for line in before]
