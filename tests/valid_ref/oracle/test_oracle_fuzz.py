"""Whatever the bytes, the reader answers or refuses, soon and in little memory."""

import json
import os
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.recordings import BASES, build, judged, write_bases
from valid_ref.oracle import RecordingError, Status, open_recording
from valid_ref.oracle import files as container

ROOT = Path(__file__).parents[3]
KEPT = sorted((ROOT / "tests" / "fuzz" / "kept").glob("*"))
MOST_BYTES = 64 << 20
MOST_SECONDS = 60
SETTINGS = settings(
    deadline=None,
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("fuzz") / "bases"
    write_bases(home)
    for name in BASES:
        assert judged(home / name) == judged(home / f"{name}.zip") == Status.CONFORMS.value
    return home


def answers(data: bytes, home: Path) -> str | None:
    begin = time.process_time()
    answer = judged(build(data, home, home.parent / "target"))
    assert time.process_time() - begin < MOST_SECONDS
    return answer


@pytest.mark.checks("RE-7")
@SETTINGS
@example(base=0, form=0, rest=b"")
@example(base=1, form=3, rest=bytes(12))
@given(base=st.integers(0, len(BASES) - 1), form=st.integers(0, 4), rest=st.binary(max_size=30))
def test_no_input_takes_much_memory(home, base, form, rest) -> None:
    path = build(bytes([base, form]) + rest, home, home.parent / "target")
    tracemalloc.start()
    judged(path)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES


@pytest.mark.checks("RE-7")
@SETTINGS
@given(base=st.integers(0, len(BASES) - 1), rest=st.binary(min_size=4, max_size=24))
def test_no_structural_change_breaks_the_reader(home, base, rest) -> None:
    """Documents, lines, NPY headers and arrays that are almost right."""
    answers(bytes([base, 3]) + rest, home)


@pytest.mark.checks("RE-1", "RE-7")
@SETTINGS
@given(base=st.integers(0, len(BASES) - 1), rest=st.binary(min_size=4, max_size=16))
def test_no_number_in_a_zip_breaks_the_reader(home, base, rest) -> None:
    answers(bytes([base, 4]) + rest, home)


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.name)
def test_inputs_that_reached_far_or_broke_the_reader(home, file) -> None:
    answers(file.read_bytes(), home)


@pytest.mark.deep
@pytest.mark.checks("RE-7")
def test_a_fuzzer_that_is_guided_by_coverage_finds_nothing(tmp_path) -> None:
    pytest.importorskip("atheris", reason="the extra fuzz is not installed")
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.fuzz_recording",
        "--runs",
        "20000",
        "--seconds",
        "240",
        "--corpus",
        str(tmp_path / "corpus"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "stat::number_of_executed_units" in done.stderr


@pytest.mark.checks("RE-7")
def test_a_long_directory_is_not_read(tmp_path, monkeypatch) -> None:
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(3000):
            archive.writestr(f"{number:060d}", b"")
    with pytest.raises(RecordingError, match="a directory of"):
        open_recording(tmp_path / "many.zip")
    monkeypatch.setattr(container, "DIRECTORY_BYTES", 1 << 30)
    with pytest.raises(RecordingError, match="3000 members"):
        open_recording(tmp_path / "many.zip")


@pytest.mark.checks("RE-1", "RE-7")
def test_what_is_no_plain_file_is_not_opened(tmp_path) -> None:
    """A pipe would wait for ever, and a device never end."""
    os.mkfifo(tmp_path / "pipe.zip")
    for path in (tmp_path / "pipe.zip", Path("/dev/zero"), tmp_path / "none"):
        with pytest.raises(RecordingError, match="plain file"):
            open_recording(path)


@pytest.mark.checks("RE-7", "RE-11")
def test_losses_that_need_much_memory_are_not_made(home, tmp_path) -> None:
    build(b"\x00\x03", home, tmp_path / "copy")
    run = tmp_path / "copy" / "run"
    header = json.loads((run / "header.json").read_bytes())
    header["losses"] = {
        "kind": "losses",
        "seed": 0,
        "batch": 1,
        "delta": 1.0,
        "eps_success": 1.0,
        "loss": {"kind": "random-logistic", "dimension": 1, "samples": 10**8},
    }
    (run / "header.json").write_text(json.dumps(header))
    tracemalloc.start()
    assert judged(run) == Status.CONFORMS.value
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES
