"""The project root is found from below, or beside the installed package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import valid_ref.trace
from valid_ref.trace import TraceError, find_root, load
from valid_ref.trace.spec_text import is_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Build = Callable[[Mapping[str, str]], Path]

FILES = {"spec/README.md": "", "valid_ref/a.py": ""}


def test_the_nearest_project_above_is_the_root(project: Build) -> None:
    root = project({**FILES, **{f"sub/{name}": text for name, text in FILES.items()}})
    (root / "sub" / "deep").mkdir()
    assert find_root(root) == root.resolve()
    assert find_root(root / "spec") == root.resolve()
    assert find_root(root / "sub" / "deep") == (root / "sub").resolve()


@pytest.mark.parametrize("missing", FILES)
def test_both_the_spec_and_the_package_are_needed(project: Build, missing: str) -> None:
    root = project({name: text for name, text in FILES.items() if name != missing})
    with pytest.raises(TraceError):
        find_root(root, above_package=root / "nowhere")


def test_the_directory_above_the_package_is_the_fallback(project: Build) -> None:
    root = project({f"checkout/{name}": text for name, text in FILES.items()})
    (root / "elsewhere").mkdir()
    above = root / "checkout"
    assert find_root(root / "elsewhere", above_package=above) == above


def test_the_fallback_is_above_this_package() -> None:
    above = Path(valid_ref.trace.__file__).resolve().parents[2]
    assert find_root.__defaults__ == (above,)


def test_the_error_says_what_to_do(project: Build) -> None:
    root = project({"a.txt": ""})
    with pytest.raises(TraceError, match="run this inside a checkout of valid-ref") as caught:
        find_root(root, above_package=root / "nowhere")
    assert str(root.resolve()) in str(caught.value)


INSTALLED = {
    "valid_ref/_spec/README.md": "# Spec",
    "valid_ref/_spec/local.md": '<a id="lv-1"></a>**LV-1** *rule.* Something.',
    "valid_ref/_spec/not-yet.txt": "LV-1 check",
    "valid_ref/a.py": '"""Module.\n\nImplements: LV-1.\n"""',
    "tests/test_of_others.py": "import pytest\n\npytestmark = pytest.mark.checks(nonsense)\n",
}
"""Beside an installed package lie files of others."""


def test_an_installed_package_carries_its_specification(project: Build) -> None:
    root = project({**INSTALLED, "elsewhere/x.txt": ""})
    assert find_root(root / "elsewhere", above_package=root) == root
    assert is_installed(root)
    loaded = load(root)
    assert loaded.installed
    row = loaded.rows["LV-1"]
    assert row.clause.file == "spec/local.md"
    assert [marker.file for marker in row.implemented] == ["valid_ref/a.py"]
    assert row.tested == ()
    assert [entry.identifier for entry in loaded.not_yet] == ["LV-1"]


def test_a_checkout_is_no_installed_package(project: Build) -> None:
    root = project({**FILES, **INSTALLED, "tests/test_of_others.py": ""})
    assert find_root(root) == root.resolve()
    assert not is_installed(root)
    assert not load(root).installed
