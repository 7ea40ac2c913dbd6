"""A run that is killed, stopped or split into processes ends with the same bytes."""

import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.torch_backend.killing import EXPERIMENT, contents
from torch_backend import results
from torch_backend.config.experiment import experiment_document
from torch_backend.config.load import load
from torch_backend.errors import ConfigError
from torch_backend.experiments import run_experiment
from torch_backend.process import Options, StoppedError, locked
from torch_backend.results import read_results
from torch_backend.tables import cells, detection_of, judged

ROOT = Path(__file__).resolve().parents[2]


def killing(scratch: Path, seed: int, kills: int) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.torch_backend.killing", str(scratch), str(seed), str(kills)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.checks("EX-11", "EX-14")
def test_a_run_killed_at_random_moments_ends_with_the_same_bytes(tmp_path: Path) -> None:
    found = killing(tmp_path, seed=5, kills=2)
    assert found["same"]
    assert found["resumed"] == 2
    assert found["files"] == 3 + 9 * 2


@pytest.mark.deep
@pytest.mark.checks("EX-11", "EX-14")
@pytest.mark.parametrize("seed", range(5))
def test_a_run_killed_at_many_moments_ends_with_the_same_bytes(tmp_path: Path, seed: int) -> None:
    assert killing(tmp_path, seed, kills=40)["same"]


@pytest.mark.deep
@pytest.mark.checks("EX-14")
@pytest.mark.parametrize("begun", [1, 3, 6, 8])
def test_processes_whose_first_is_killed_end_by_themselves(
    tmp_path: Path, tiny: str, whole: Path, begun: int
) -> None:
    """The next call waits for whoever still writes, and ends with the same bytes."""
    program = "from torch_backend.cli import main; main()"
    command = [sys.executable, "-c", program, "run", tiny, "-q", "--jobs", "2", "-o", "run"]
    command.append("--no-cache")
    first = subprocess.Popen(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})
    while first.poll() is None and len([*(tmp_path / "run").glob("jobs/*")]) < begun:
        time.sleep(0.01)
    first.kill()
    assert first.wait() == -signal.SIGKILL
    run_experiment(load(tiny), tmp_path / "run", Options())
    assert contents(tmp_path / "run") == contents(whole)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tiny") / "tiny.toml"
    path.write_text(EXPERIMENT)
    return str(path)


@pytest.fixture(scope="module")
def whole(tiny: str) -> Path:
    directory = Path(tiny).parent / "whole"
    run_experiment(load(tiny), directory, Options())
    return directory


@pytest.mark.checks("EX-14")
@pytest.mark.parametrize("turns", [0, 7, 65])
def test_a_run_that_is_asked_to_stop_goes_on_later(
    tmp_path: Path, tiny: str, whole: Path, turns: int
) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > turns

    with pytest.raises(StoppedError, match="stopped after round"):
        run_experiment(load(tiny), tmp_path / "run", Options(), stop=stop)
    run_experiment(load(tiny), tmp_path / "run", Options(checkpoint_every=3))
    assert contents(tmp_path / "run") == contents(whole)


@pytest.mark.checks("EX-14")
def test_several_processes_change_no_byte(tmp_path: Path, tiny: str, whole: Path) -> None:
    reached: dict[str, int] = {}
    run_experiment(load(tiny), tmp_path / "run", Options(), processes=2, watch=reached.__setitem__)
    assert contents(tmp_path / "run") == contents(whole)
    assert set(reached.values()) == {12}
    assert len(reached) == 9


@pytest.mark.checks("EX-14")
def test_a_finished_job_is_not_computed_again(tiny: str, whole: Path) -> None:
    before = contents(whole)
    run_experiment(load(tiny), whole, Options(), watch=lambda *_: pytest.fail("computed"))
    assert contents(whole) == before


@pytest.mark.checks("EX-14")
def test_a_calibration_run_is_found_again_by_its_content(
    tmp_path: Path, tiny: str, whole: Path
) -> None:
    """By another level, attack or purpose; not where anything that it depends on differs."""
    options = Options(cache=tmp_path / "cache")
    run_experiment(load(tiny), tmp_path / "first", options)
    assert contents(tmp_path / "first") == contents(whole)

    def computed(name: str, *changes: str, cache: Options = options) -> set[str]:
        rounds: dict[str, list[int]] = {}
        run_experiment(
            load(tiny, changes=[*changes, 'rules=[{kind="valid"}]', 'attacks=[{kind="none"}]']),
            tmp_path / name,
            cache,
            watch=lambda job, t: rounds.setdefault(job, []).append(t),
        )
        return {job for job, seen in rounds.items() if len(seen) > 1}

    own = {"valid_none_seed=1"}
    assert computed("fewer", "detection.level=0.5", "detection.pilots=1") == own
    # the second pilot of before is ranked now, and has a name of its own
    summary = results.read_summary(tmp_path / "fewer", "calibrate_valid_none_seed=1001")
    before = results.read_summary(whole, "pilot_valid_none_seed=1001")
    assert summary is not None
    assert before is not None
    assert {key for key in before if before[key] != summary[key]} == {"job", "purpose"}
    assert computed("unvalidated", "validate=false") == own
    everything = set(results.read_header(tmp_path / "unvalidated")["jobs"])
    assert computed("batch", "batch=9") == everything
    assert computed("gammas", "detection.gammas=[0.5]") == everything
    assert computed("common", "common_seed=1") == everything
    assert computed("threads", cache=Options(threads=2, cache=options.cache)) == everything
    assert computed("none", cache=Options()) == everything


@pytest.mark.checks("EX-14")
def test_what_is_kept_is_not_trusted_if_it_is_not_whole(
    tmp_path: Path, tiny: str, whole: Path
) -> None:
    options = Options(cache=tmp_path / "cache")
    run_experiment(load(tiny), tmp_path / "first", options)
    kept = sorted((tmp_path / "cache").iterdir())
    assert len(kept) == 5
    kept[0].write_text(kept[0].read_text()[:100])
    kept[1].write_text(kept[2].read_text())
    kept[3].write_text("[]")
    run_experiment(load(tiny), tmp_path / "second", options)
    assert contents(tmp_path / "second") == contents(whole)
    blocked = tmp_path / "file"
    blocked.write_text("")
    run_experiment(load(tiny), tmp_path / "third", Options(cache=blocked / "cache"))
    assert contents(tmp_path / "third") == contents(whole)


@pytest.mark.checks("EX-14")
def test_a_curve_that_does_not_fit_its_checkpoint_begins_anew(
    tmp_path: Path, tiny: str, whole: Path
) -> None:
    asked = iter(range(1000))
    with pytest.raises(StoppedError):
        run_experiment(load(tiny), tmp_path / "run", Options(), stop=lambda: next(asked) >= 9)
    [curve] = (tmp_path / "run").rglob(results.CURVE)
    curve.write_text(curve.read_text().splitlines(keepends=True)[0])
    run_experiment(load(tiny), tmp_path / "run", Options())
    assert contents(tmp_path / "run") == contents(whole)


@pytest.mark.checks("EX-12", "EX-14")
def test_a_directory_of_something_else_is_refused(tiny: str, whole: Path) -> None:
    for change, options, words in (
        ("rounds=13", Options(), r"experiment\.rounds: 12 there, 13 asked for"),
        ("rounds=12", Options(threads=2), r"environment\.threads: 1 there, 2 asked for"),
        ("rounds=12", Options(record=True), r"environment\.recorded"),
        ("rounds=12", Options(chunk=2), r"environment\.chunk: 1 there, 2 asked for"),
    ):
        with pytest.raises(ConfigError, match=words):
            run_experiment(load(tiny, changes=[change]), whole, options)


@pytest.mark.checks("EX-14")
def test_two_runs_at_once_in_one_directory_are_refused(tiny: str, whole: Path) -> None:
    with locked(whole, wait=False) as alone:
        assert alone
        with pytest.raises(ConfigError, match="another run is at work"):
            run_experiment(load(tiny), whole, Options())


@pytest.mark.checks("EX-12")
def test_the_header_holds_every_choice_and_all_versions(tiny: str, whole: Path) -> None:
    header = results.read_header(whole)
    assert header["experiment"] == experiment_document(load(tiny))
    assert set(header["environment"]) >= {"device", "threads", "python", "numpy", "torch"}
    assert len(header["data"]["sha256"]) == 64
    assert (header["agents"], header["dimension"]) == (4, 650)


@pytest.mark.checks("EX-10", "EX-17")
def test_the_validation_phase_judges_with_calibrated_thresholds(whole: Path) -> None:
    found = read_results(whole)
    quiet, loud = judged(found)
    assert (quiet.attack, quiet.runs, quiet.valid) == ("none", 1, 1)
    assert quiet.reasons == {}
    assert (loud.runs, loud.valid) == (1, 0)
    assert "INCONSISTENT_HASHES" in loud.reasons
    measured = detection_of(found)
    assert measured is not None
    [rate] = [r for r in measured.rates if r.attack == "none" and r.gamma == 0.9]
    assert (rate.runs, rate.optimality, rate.heterogeneity) == (1, 0, 0)
    assert {s["validation"] is None for s in found.summaries if s["rule"]["kind"] != "valid"} == {
        True
    }


@pytest.mark.checks("EX-16")
def test_a_job_that_diverges_is_reported_and_the_others_go_on(tmp_path: Path, tiny: str) -> None:
    changes = ["steps.mixing.eta=8", "steps.mixing.kind=constant", "validate=false"]
    found = run_experiment(load(tiny, changes=changes), tmp_path / "run", Options())
    lost = [s for s in found.summaries if s["rule"]["kind"] == "valid"]
    kept = [s for s in found.summaries if s["rule"]["kind"] == "bridge-m"]
    assert {s["outcome"] for s in lost} == {"diverged"}
    assert {s["outcome"] for s in kept} == {"finished"}
    for summary in lost:
        assert summary["lost"]
        assert 1 <= summary["rounds"] < 12
        assert (summary["final"], summary["statistics"]) == (None, [])
        assert "OWN_UPDATE_OUT_OF_RANGE" in summary["alarms"]
        assert all(row.round < summary["rounds"] for row in found.rows[summary["job"]])
    [cell] = [c for c in cells(found) if (c.rule, c.attack) == ("valid", "none")]
    assert (cell.runs, cell.diverged) == (1, 1)
    assert math.isnan(cell.accuracy)
    assert detection_of(found) is None


@pytest.mark.checks("EX-10", "EX-17")
def test_noise_that_fits_its_gradients_is_seen_by_the_calibrated_checks(
    tmp_path: Path, tiny: str
) -> None:
    changes = ['attacks=[{kind="gaussian", sigma=1}]', 'rules=[{kind="valid"}]']
    found = run_experiment(load(tiny, changes=changes), tmp_path / "run", Options())
    [loud] = judged(found)
    assert (loud.runs, loud.valid) == (1, 0)
    assert set(loud.reasons) <= {"TOO_HETEROGENEOUS", "NOT_OPTIMAL"}
    measured = detection_of(found)
    assert measured is not None
    assert [rate.heterogeneity for rate in measured.rates] == [1, 1]


@pytest.mark.checks("EX-14")
@pytest.mark.parametrize("written", [0, 1, 2, 5, 11, 20])
def test_a_full_disk_costs_no_result(tmp_path: Path, tiny: str, whole: Path, written: int) -> None:
    """Of so many files the last cannot be brought to the disk; the same call then goes on."""
    room, sync = iter(range(written)), os.fsync

    def fsync(handle: int) -> None:
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    options = Options(checkpoint_every=3)
    with mock.patch.object(os, "fsync", fsync), pytest.raises(OSError, match="No space left"):
        run_experiment(load(tiny), tmp_path / "run", options)
    run_experiment(load(tiny), tmp_path / "run", options)
    assert contents(tmp_path / "run") == contents(whole)


@pytest.mark.checks("EX-14")
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\x00", '{"job": 1}'])
def test_a_damaged_summary_is_refused_by_name(
    tmp_path: Path, tiny: str, whole: Path, text: str
) -> None:
    shutil.copytree(whole, tmp_path / "run")
    summary = next((tmp_path / "run").rglob(results.SUMMARY))
    summary.write_text(text)
    with pytest.raises(results.ResultsError, match=r"summary.json is damaged .*; remove it to run"):
        read_results(tmp_path / "run")


@pytest.mark.checks("EX-14")
@given(line=st.binary(max_size=80).map(lambda text: text.replace(b"\n", b"") + b"\n"))
def test_a_curve_with_any_other_line_does_not_fit(line: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "curve.csv"
        good = b"head\n" + b"".join(b"job,%d,1,1,1,1,1,1\n" % t for t in (1, 4, 8))
        path.write_bytes(good)
        assert results.cut_curve(path, 4, (1, 4, 8))
        assert path.read_bytes() == b"head\n" + b"".join(good.splitlines(True)[1:3])
        path.write_bytes(b"head\n" + line + good)
        assert not results.cut_curve(path, 4, (1, 4, 8))
