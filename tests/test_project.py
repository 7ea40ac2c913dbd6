"""The project's own rules: direction of imports, traceability, packaging without extras."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    program = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", "--config", "pyproject.toml"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in ("valid_ref", "proofs_check", "torch_backend"):
        shutil.copytree(ROOT / package, tmp_path / package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_imports_go_one_way(copy: Path) -> None:
    result = lint_imports(copy)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("valid_ref/lattice.py", "import torch"),
        ("valid_ref/protocols/learn.py", "import hypothesis"),
        ("valid_ref/hashing.py", "import typer"),
        ("valid_ref/machine.py", "import torch_backend"),
        ("valid_ref/graph.py", "import valid_ref.machine"),
        ("valid_ref/lattice.py", "import valid_ref.protocols.learn"),
    ],
)
def test_the_import_lint_is_red_when_the_direction_is_broken(
    copy: Path, module: str, line: str
) -> None:
    path = copy / module
    path.write_text(path.read_text() + f"\n{line}\n")
    result = lint_imports(copy)
    assert result.returncode == 1
    assert "BROKEN" in result.stdout


def test_every_clause_is_tied_and_the_errata_name_their_witnesses_as_the_markers_say() -> None:
    """Tied, or listed as not yet. Regenerate the errata with `valid-ref trace --write`."""
    from valid_ref.trace import load
    from valid_ref.trace.show import errata_with_places, render_problems

    trace = load(ROOT)
    assert render_problems(trace.problems) == ""
    text = (ROOT / "spec" / "errata.md").read_text(encoding="utf-8")
    assert errata_with_places(text, trace) == text
    assert text.count("*Witness:* ") == text.count("*Check:* ") == 55


def test_the_core_works_without_the_optional_packages() -> None:
    """The extras are hidden; importing the core and learning on a graph still works."""
    program = """
import sys
for name in ("torch", "matplotlib", "hypothesis", "pytest", "sympy"):
    sys.modules[name] = None
import valid_ref
from valid_ref.cli.run import learn
learn(graph="path:3", rounds=3, dimension=2, seed=0, every=1, as_json=True)
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["alarms"] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import valid_ref, sys; print({'galois', 'numba', 'networkx'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.stdout.strip() == "set()"
