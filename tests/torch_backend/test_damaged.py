"""Files of a run with bytes or entries changed: read, or refused by a typed error."""

import collections
import csv
import io
import json
import random
import re
import zipfile
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.torch_backend.test_checkpoint import RUN, STATE, signed
from tests.torch_backend.test_plot import made_up
from torch_backend import checkpoint, engine, results
from torch_backend.checkpoint import CheckpointError
from torch_backend.plot import rounds_figure
from torch_backend.tables import accuracy_csv, cells, detection_csv, detection_of, judged
from valid_ref.errors import ValidRefError

TEXT = b'0123456789-[]{},"ent.eE'
PUBLISHED = Path(__file__).parents[2] / "docs" / "experiments"


def changed(content: bytes, draw: random.Random) -> bytes:
    """The bytes with one small change near the beginning, where headers are, or anywhere."""
    found = bytearray(content)
    at = draw.randrange(min(len(found), draw.choice([128, len(found)])))
    match draw.randrange(5):
        case 0:
            found[at] ^= draw.randrange(1, 256)
        case 1:
            del found[at : at + draw.randrange(1, 9)]
        case 2:
            found[at:at] = draw.randbytes(draw.randrange(1, 9))
        case 3:
            found[at] = draw.choice(TEXT)
        case _:
            begin, width = draw.randrange(len(found)), draw.randrange(1, 40)
            found[at : at + width] = found[begin : begin + width]
    return bytes(found)


def with_changed_members(good: bytes, draw: random.Random) -> bytes:
    """An archive whose sums are right, of members that were changed or left out."""
    with zipfile.ZipFile(io.BytesIO(good)) as old:
        members, comment = {name: old.read(name) for name in old.namelist()}, old.comment
    for name in draw.sample(sorted(members), draw.randrange(1, 3)):
        members[name] = changed(members[name], draw)
        if draw.random() < 0.05:
            del members[name]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as new:
        new.comment = comment
        for name, content in members.items():
            new.writestr(name, content)
    return signed(buffer.getvalue())


@pytest.mark.checks("EX-11")
@pytest.mark.parametrize("inside", [False, True], ids=["bytes", "members"])
def test_a_changed_checkpoint_is_read_or_refused_by_name(tmp_path: Path, inside: bool) -> None:
    """Its SHA-256 is right each time, as somebody who means harm would make it."""
    draw, path, refused = random.Random(5), tmp_path / "file", 0
    checkpoint.save(path, STATE)
    good = path.read_bytes()
    for _ in range(250):
        bad = with_changed_members(good, draw) if inside else signed(changed(good, draw))
        path.write_bytes(bad)
        try:
            state = checkpoint.load(path, RUN)
        except CheckpointError:
            refused += 1
        else:
            engine.advance(RUN, attrs.evolve(state, t=min(state.t, RUN.rounds - 1)))
    assert refused > 150


VALUES = (None, True, -1, 0, 3, 10**400, 1.5, float("nan"), "", "x", [], {})


def damage(document: Any, draw: random.Random) -> None:
    """Take one entry away, or put something else in its place."""
    place = document
    while True:
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner and draw.random() < 0.7):
            break
        place = inner
    if draw.random() < 0.4:
        del place[key]
    else:
        place[key] = draw.choice(VALUES)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    found = made_up("ubar")
    (tmp_path / results.RUN).write_text(json.dumps(found.header))
    for one in found.summaries:
        folder = results.job_directory(tmp_path, one["job"])
        folder.mkdir(parents=True)
        (folder / results.SUMMARY).write_text(json.dumps(one))
        for row in found.rows[one["job"]]:
            results.append_row(folder / results.CURVE, one["job"], row)
    return tmp_path


def shown(directory: Path) -> None:
    found = results.read_results(directory)
    accuracy_csv(cells(found))
    judged(found)
    rounds_figure(found)
    if (measured := detection_of(found)) is not None:
        detection_csv(measured)


@pytest.mark.checks("EX-14", "EX-15")
def test_changed_results_are_shown_or_refused_by_name(directory: Path) -> None:
    draw, refused = random.Random(3), 0
    shown(directory)
    files = [directory / results.RUN] * 12 + sorted(directory.rglob(results.SUMMARY))
    for _ in range(40):
        path = draw.choice(files)
        before = path.read_text()
        document = json.loads(before)
        damage(document, draw)
        path.write_text(json.dumps(document))
        try:
            shown(directory)
        except (ValidRefError, OSError):
            refused += 1
        path.write_text(before)
    assert refused > 10


@pytest.mark.checks("EX-15", "EX-20")
@pytest.mark.parametrize("sigma", ["loud", None, [1], True, 10**400, float("nan")])
def test_an_own_attack_may_call_anything_sigma(sigma: Any) -> None:
    found = made_up()
    for one in found.summaries:
        if one["attack"]["kind"] == "gaussian":
            one["attack"] |= {"kind": "mine:Loud", "sigma": sigma}
    assert {cell.sigma for cell in cells(found)} == {0.0, None}
    assert detection_of(found) is not None


@pytest.mark.checks("EX-15")
def test_figure_and_table_as_published_count_the_same_runs() -> None:
    """Runs that diverged count in both as runs that alarmed."""
    folder = PUBLISHED / "fig-noniid-attack"
    rows = csv.DictReader((folder / "detection.csv").read_text().splitlines())
    counts = collections.Counter(f"{row['either']}/{row['runs']}" for row in rows)
    text = (folder / "sigma.svg").read_text()
    assert counts == collections.Counter(re.findall(r">(\d+/\d+)</text>", text))
