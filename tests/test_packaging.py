"""A wheel and a source archive, installed where no checkout is, work and carry all their data."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.test_documents import PAGES
from valid_ref.cli import app
from valid_ref.cli.program import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.deep
READ_FILES = (
    "tests/test_project.py",
    "tests/test_documents.py",
    "tests/valid_ref/trace",
    "tests/valid_ref/report",
    "tests/valid_ref/witness",
    "tests/valid_ref/test_cli.py",
    "tests/proofs_check/test_table.py",
    "tests/proofs_check/test_coq_vectors.py",
)
"""The tests that read files of the project: those that an archive can break."""


def command(*words: object, cwd: Path, status: int = 0, **more: str) -> str:
    """Run a program away from the checkout; its output, if it ends as it must."""
    clean = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    result = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=clean | more,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert result.returncode == status, f"{words}\n{result.stdout[-3000:]}"
    return result.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The wheel and the source archive of the checkout."""
    pytest.importorskip("build", reason="the package build is not installed")
    home = tmp_path_factory.mktemp("built")
    command(sys.executable, "-m", "build", "--outdir", home, ROOT, cwd=home)
    return home


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory) -> Path:
    """The `bin` of a fresh environment with nothing but the wheel and what it needs."""
    return environment(tmp_path_factory.mktemp("installed"), built)


def environment(home: Path, built: Path, *packages: str) -> Path:
    """The `bin` of a fresh environment with the wheel and these packages."""
    command(sys.executable, "-m", "venv", home, cwd=home)
    [wheel] = built.glob("*.whl")
    pip = (home / "bin" / "python", "-m", "pip", "install", "--quiet")
    command(*pip, "--disable-pip-version-check", wheel, *packages, cwd=home)
    return home / "bin"


def test_the_wheel_carries_the_specification_and_the_page(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for tree, prefix in (("spec", "valid_ref/_spec"), ("valid_ref", "valid_ref")):
        for path in (ROOT / tree).rglob("*"):
            inside = path.relative_to(ROOT / tree)
            if path.is_file() and "__pycache__" not in inside.parts and path.suffix != ".nbi":
                hidden = path.suffix in {".nbc", ".pyc"}
                assert hidden or f"{prefix}/{inside.as_posix()}" in names
    assert not any(name.startswith("tests/") for name in names)


def test_every_command_works_without_a_checkout(installed: Path, tmp_path: Path) -> None:
    program = installed / "valid-ref"

    def run(*words: object, status: int = 0) -> str:
        return command(program, *words, cwd=tmp_path, status=status)

    where = "import valid_ref; print(valid_ref.__file__)"
    assert str(installed.parent) in command(installed / "python", "-c", where, cwd=tmp_path)
    assert run("--version").startswith("valid-ref ")
    run("run", "--graph", "path:3", "--rounds", 3, "--seed", 0, "--save", "s.json", "--quiet")
    assert run("errata").splitlines()[-1].startswith("55 errata")
    assert "no promise is broken" in run("errata", "P14", "--report", "p14.html")
    assert "valid_ref/protocols/local_validate.py:" in run("trace", "eq:cc4")
    assert "need a checkout" in run("trace", "--check", status=2)
    run("report", "s.json", "-o", "s.html")
    assert "BROKEN_RELATION" in (tmp_path / "p14.html").read_text(encoding="utf-8")
    run("record", "s.json", "-o", "run.zip")
    assert run("check", "run.zip").startswith("conforms")
    assert run("vectors", "--check").endswith("as generated\n")
    packed = run("vectors", "--bundle", "vectors.zip")
    assert run("vectors", "--check", "vectors.zip") == "vectors.zip: as packed\n"
    here = CliRunner().invoke(app, ["vectors", "--bundle", str(tmp_path / "here.zip")])
    assert here.output.splitlines()[1:] == packed.splitlines()[1:]
    run("explore", "--max-agents", 3, "--jobs", 1, "--quiet")
    assert json.loads(run("learn", "--graph", "path:3", "--rounds", 3, "--json"))["alarms"] == []
    refused = run("run", "--graph", "path:3", "--plot", "run.png", status=2)
    assert "pip install matplotlib" in refused
    assert "pip install sympy z3-solver" in run("prove", "mixing", status=2)


def test_every_page_does_what_it_says_from_a_wheel(built: Path, tmp_path: Path) -> None:
    """README and guides, each in an empty directory, with what messages say is to be installed."""
    wanted = shlex.split(" ".join(PACKAGES.values()))
    programs = environment(tmp_path / "environment", built, *wanted)
    tests = tmp_path / "pages" / "tests"
    tests.mkdir(parents=True)
    for name in ("__init__.py", "documents.py", "pages.py"):
        if (ROOT / "tests" / name).is_file():
            shutil.copy(ROOT / "tests" / name, tests)
    paths = {"PYTHONPATH": str(tests.parent), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    where = "import valid_ref; print(valid_ref.__file__)"
    assert str(programs.parent) in command(programs / "python", "-c", where, cwd=tmp_path, **paths)
    command(programs / "python", "-m", "tests.pages", "--deep", *PAGES, cwd=tmp_path, **paths)


def test_the_source_archive_passes_its_own_tests(
    built: Path, installed: Path, tmp_path: Path
) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    python = installed / "python"
    command(python, "-m", "pip", "install", "--quiet", "-e", f"{source}[dev]", cwd=tmp_path)
    command(python, "-m", "pytest", "-q", "-n", "2", *READ_FILES, cwd=source)
