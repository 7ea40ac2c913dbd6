"""One archive of all vectors: its bytes to the last one, what is noticed, and the version in it."""

import hashlib
import io
import re
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.valid_ref.vectors.reading import VECTORS
from valid_ref.cli import app
from valid_ref.errors import ValidRefError
from valid_ref.trace import TraceError, specification_version
from valid_ref.vectors import parameters
from valid_ref.vectors.document import VectorError
from valid_ref.vectors.publish import bundle, bundle_differences, generate, read_bundle

TEXTS = {"b.json": "{}\n", "a.json": '{"é": 1}\n', "ids.txt": ""}
SMALL = bundle(TEXTS, "1.2.3")


def by_hand(files: dict[str, bytes], directory: str) -> bytes:
    """A zip as its format says it: local headers with their data, the directory, its end."""
    local, central = b"", b""
    for name, content in sorted(files.items()):
        path = f"{directory}/{name}".encode()
        common = struct.pack(
            "<HHHHHIIIHH",
            20,
            0,
            0,
            0,
            33,
            zlib.crc32(content),
            len(content),
            len(content),
            len(path),
            0,
        )
        place = struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, len(local))
        local += b"PK\3\4" + common + path + content
        central += b"PK\1\2" + struct.pack("<BB", 20, 3) + common + place + path
    count = len(files)
    ends = struct.pack("<HHHHIIH", 0, 0, count, count, len(central), len(local), 0)
    return local + central + b"PK\5\6" + ends


@pytest.mark.checks("VE-11")
def test_every_byte_of_the_archive_is_determined() -> None:
    files = {name: text.encode() for name, text in TEXTS.items()} | {"VERSION": b"1.2.3\n"}
    sums = "".join(f"{hashlib.sha256(files[n]).hexdigest()}  {n}\n" for n in sorted(files))
    files["SHA256SUMS"] = sums.encode()
    assert by_hand(files, "valid-ref-vectors-1.2.3") == SMALL
    assert bundle(dict(reversed(TEXTS.items())), "1.2.3") == SMALL


@pytest.mark.checks("VE-11")
@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
def test_sha256sum_accepts_the_list(tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(SMALL)).extractall(tmp_path)
    [home] = tmp_path.iterdir()
    command = ["sha256sum", "--strict", "-c", "SHA256SUMS"]
    assert subprocess.run(command, cwd=home, check=False, capture_output=True).returncode == 0
    (home / "b.json").write_text("[]\n")
    assert subprocess.run(command, cwd=home, check=False, capture_output=True).returncode == 1


@pytest.mark.checks("VE-11")
def test_the_archive_as_it_was_packed_has_no_difference() -> None:
    assert bundle_differences(SMALL, TEXTS, "1.2.3") == ()
    assert read_bundle(SMALL).version == "1.2.3"
    assert read_bundle(SMALL).wrong == ()


@pytest.mark.checks("VE-11")
@given(st.integers(0, len(SMALL) - 1), st.integers(1, 255))
@example(10, 1)  # the time of a member: the contents are the same, the archive is not
def test_any_changed_byte_is_noticed(place: int, change: int) -> None:
    changed = bytearray(SMALL)
    changed[place] ^= change
    try:
        assert bundle_differences(bytes(changed), TEXTS, "1.2.3") != ()
    except VectorError as error:
        assert error.clause == "VE-11"


@pytest.mark.checks("VE-11")
def test_a_stored_file_that_calls_itself_compressed_is_refused() -> None:
    """The method of every member is changed, in both places of the archive, and no byte of it."""
    local, central = (b"PK\3\4\x14\0\0\0\0\0", b"PK\1\2\x14\3\x14\0\0\0\0\0")
    assert SMALL.count(local) == SMALL.count(central) > 0
    changed = SMALL.replace(local, local[:-2] + b"\x08\0").replace(
        central, central[:-2] + b"\x08\0"
    )
    with pytest.raises(VectorError, match="VE-11"):
        read_bundle(changed)


@pytest.mark.checks("VE-11")
@given(st.binary(max_size=200) | st.integers(0, len(SMALL) - 1).map(lambda end: SMALL[:end]))
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(VectorError, match="VE-11"):
        read_bundle(content)


def archive_of(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


def members_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


TOP = "valid-ref-vectors-1.2.3/"
SUMS = members_of(SMALL)[TOP + "SHA256SUMS"]


@pytest.mark.checks("VE-11")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"other/a.json": b""}, "other than those of one bundle"),
        ({"valid-ref-vectors-1.2.4/c.json": b""}, "other than those of one bundle"),
        ({TOP + "../c.json": b""}, "other than those of one bundle"),
        ({TOP + "deep/c.json": b""}, "other than those of one bundle"),
        ({TOP + "c.json": b""}, "does not name every other file"),
        ({TOP + "SHA256SUMS": b"garbage\n"}, "does not name every other file"),
        ({TOP + "SHA256SUMS": SUMS + b"garbage\n"}, "does not name every other file"),
        ({TOP + "SHA256SUMS": SUMS * 2}, "does not name every other file"),
        ({TOP + "VERSION": b"1.2.4\n"}, "VERSION is not 1.2.3"),
    ],
)
def test_an_archive_has_its_files_and_no_others(change: dict[str, bytes], message: str) -> None:
    with pytest.raises(VectorError, match=message):
        read_bundle(archive_of([*(members_of(SMALL) | change).items()]))
    lacking = {name: text for name, text in members_of(SMALL).items() if "SUMS" not in name}
    with pytest.raises(VectorError, match="does not name every other file"):
        read_bundle(archive_of([*lacking.items()]))


@pytest.mark.checks("VE-11")
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_stands_once_and_is_stored() -> None:
    members = [*members_of(SMALL).items()]
    with pytest.raises(VectorError, match="other than those of one bundle"):
        read_bundle(archive_of([*members, members[0]]))
    long = [(name, content + b" " * 10_000) for name, content in members]
    with pytest.raises(VectorError, match="compressed or overlap"):
        read_bundle(archive_of(long, zipfile.ZIP_DEFLATED))


@pytest.mark.checks("VE-10", "VE-11")
def test_another_version_is_held_against_its_own_sums() -> None:
    assert bundle_differences(SMALL, {"b.json": "another\n"}, "1.3.0") == ()
    wrong = archive_of([*(members_of(SMALL) | {TOP + "b.json": b"[]\n"}).items()])
    assert bundle_differences(wrong, {}, "1.3.0") == ("b.json",)
    assert bundle_differences(wrong, TEXTS, "1.2.3") == ("b.json",)
    assert bundle_differences(SMALL, TEXTS | {"c.json": ""}, "1.2.3") == ("c.json",)
    again = archive_of([*members_of(SMALL).items()])
    assert bundle_differences(again, TEXTS, "1.2.3") == ("the form of the archive",)


@pytest.mark.checks("VE-10")
def test_the_version_is_three_numbers_in_a_file(tmp_path: Path) -> None:
    version = (VECTORS.parent / "VERSION").read_bytes().decode("ascii")
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", version)
    assert specification_version(VECTORS.parents[1]) == version.strip()
    (tmp_path / "spec").mkdir()
    for text in ("", "1.0", "1.0.0.0", "01.0.0", "1.0.x", "v1.0.0"):
        (tmp_path / "spec" / "VERSION").write_text(text, encoding="ascii")
        with pytest.raises(TraceError, match="no version"):
            specification_version(tmp_path)
    (tmp_path / "spec" / "VERSION").unlink()
    with pytest.raises(TraceError, match="no version"):
        specification_version(tmp_path)


@pytest.mark.checks("VE-10", "VE-11")
def test_the_command_packs_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one family in place of all, in the directory and in the package alike."""
    made, module = (parameters.graph_family(),), sys.modules["valid_ref.cli.vectors"]
    monkeypatch.setattr(module, "families", lambda: made)
    monkeypatch.setattr(module, "published", lambda _home: "")
    version = specification_version(VECTORS.parents[1])

    def call(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["vectors", *map(str, arguments)])
        if isinstance(result.exception, ValidRefError):
            return 2, str(result.exception)
        return result.exit_code, result.output

    home, one, two = tmp_path / "home", tmp_path / "one.zip", tmp_path / "two.zip"
    assert call("--version") == (0, f"{version}\n")
    assert "there is no" in call(home, "--bundle", one)[1]
    assert call("--write", home)[0] == 0
    status, output = call(home, "--bundle", one)
    content = one.read_bytes()
    assert (status, content) == (0, bundle(generate(made), version))
    assert f"version {version}\nsha256 {hashlib.sha256(content).hexdigest()}" in output
    assert call("--check", one) == (0, f"{one}: as packed\n")
    two.write_bytes(bundle({"graph.json": "{}"}, version))
    assert call("--check", two)[0] == 1
    two.write_bytes(SMALL)
    assert "only its sums" in call("--check", two)[1]
    two.write_bytes(b"PK")
    assert call("--check", two)[0] == 2
    for place in (tmp_path / "no" / "one.zip", home):
        status, output = call(home, "--bundle", place)
        assert (status, output.count("\n"), "cannot write" in output) == (2, 0, True)
    assert call("--check", "--write", home)[0] == 2
    with two.open("wb") as file:
        file.truncate((1 << 26) + 1)
    assert "larger than" in call("--check", two)[1]
