"""Markers are read from docstrings without importing anything."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.trace import (
    CombinedTraceError,
    MalformedMarkerError,
    Marker,
    Role,
    SourceSyntaxError,
    scan_sources,
)
from valid_ref.trace.markers import marker_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Build = Callable[[Mapping[str, str]], Path]


def test_modules_classes_methods_and_nested_functions_are_read(project: Build) -> None:
    root = project(
        {
            "valid_ref/deep/part.py": '''
                """A module.

                Implements: LV-1.
                """

                import something_that_does_not_exist

                class Outer:
                    """Implements: LV-2"""

                    class Inner:
                        @property
                        @staticmethod
                        def method(self):
                            """One line.

                            Implements: LV-3, V2,
                                LV-4,
                                P04.
                            Explores: V1
                            """

                if True:
                    try:
                        async def coroutine():
                            def local():
                                "Implements: LV-5"
                    except ValueError:
                        def fallback():
                            """Implements: LV-6"""
                '''
        }
    )
    file = "valid_ref/deep/part.py"
    expected = [
        ("LV-1", Role.IMPLEMENTED, 3, "valid_ref.deep.part"),
        ("LV-2", Role.IMPLEMENTED, 8, "Outer"),
        ("LV-3", Role.IMPLEMENTED, 14, "Outer.Inner.method"),
        ("LV-4", Role.IMPLEMENTED, 14, "Outer.Inner.method"),
        ("P04", Role.IMPLEMENTED, 14, "Outer.Inner.method"),
        ("V1", Role.EXPLORED, 14, "Outer.Inner.method"),
        ("V2", Role.IMPLEMENTED, 14, "Outer.Inner.method"),
        ("LV-5", Role.IMPLEMENTED, 26, "coroutine.local"),
        ("LV-6", Role.IMPLEMENTED, 29, "fallback"),
    ]
    assert scan_sources(root) == tuple(
        Marker(name, role, file, line, symbol) for name, role, line, symbol in expected
    )


def test_every_source_directory_is_read_and_nothing_else(project: Build) -> None:
    text = '"""Proves: AN-1"""'
    read = ["valid_ref", "proofs_check", "torch_backend", "benchmarks"]
    root = project({f"{name}/a.py": text for name in (*read, "tests", "docs", "valid_ref/.cache")})
    markers = scan_sources(root)
    assert {marker.file for marker in markers} == {f"{name}/a.py" for name in read}
    assert {marker.role for marker in markers} == {Role.PROVED}


def test_a_package_is_named_after_its_directory(project: Build) -> None:
    root = project({"valid_ref/part/__init__.py": '"""Implements: LV-1"""'})
    assert [marker.symbol for marker in scan_sources(root)] == ["valid_ref.part"]


def test_nothing_is_imported_or_run(project: Build) -> None:
    text = '"""Implements: LV-1"""\nraise RuntimeError("imported")\n'
    root = project({"valid_ref/explosive_module.py": text})
    assert [marker.identifier for marker in scan_sources(root)] == ["LV-1"]
    assert not any("explosive_module" in name for name in sys.modules)


def test_only_docstrings_count(project: Build) -> None:
    text = 'x = """\nImplements: LV-1\n"""\n# Implements: LV-2\ndef f():\n    1\n'
    text += '    "Implements: V1"\n'
    assert scan_sources(project({"valid_ref/a.py": text})) == ()


@pytest.mark.parametrize(
    "source", ["print()", "1", "b'Implements: LV-1'", "f'Implements: LV-1'", ""]
)
def test_a_source_without_a_docstring_has_no_markers(project: Build, source: str) -> None:
    assert scan_sources(project({"valid_ref/a.py": f"{source}\n"})) == ()


def test_long_expressions_and_odd_directories_are_passed(project: Build) -> None:
    root = project({"valid_ref/a.py": f'"""Implements: LV-1"""\nx = {" + ".join(["1"] * 1500)}\n'})
    (root / "valid_ref" / "directory.py").mkdir()
    assert len(scan_sources(root)) == 1


def test_prose_about_markers_is_no_marker(project: Build) -> None:
    text = '"""The line `Implements: LV-1` is a marker; it Implements: nothing."""'
    assert scan_sources(project({"valid_ref/a.py": text})) == ()


@pytest.mark.parametrize("source", ["def broken(:\n", "x = 1\n\ty = 2\n", "a = 'open\n"])
def test_a_syntax_error_is_typed_and_placed(project: Build, source: str) -> None:
    root = project({"valid_ref/bad.py": f"# a comment\n{source}"})
    with pytest.raises(SourceSyntaxError, match=r"^valid_ref/bad\.py:[23]: not legal Python"):
        scan_sources(root)


@pytest.mark.parametrize("source", [b"x = 1\0\n", b'"""\xff\xfe"""\n', b"# coding: no-such\n"])
def test_undecodable_source_is_typed_and_placed(project: Build, source: bytes) -> None:
    root = project({"valid_ref/good.py": ""})
    (root / "valid_ref" / "bad.py").write_bytes(source)
    with pytest.raises(SourceSyntaxError, match=r"^valid_ref/bad\.py:1: not legal Python"):
        scan_sources(root)


def test_a_warning_of_the_compiler_is_no_error(project: Build) -> None:
    root = project({"valid_ref/a.py": '"""Implements: LV-1"""\nx = "\\d"\ny = 1 is 1\n'})
    assert len(scan_sources(root)) == 1


@pytest.mark.parametrize(
    "listed", ["", "LV-1 and LV-2", "lv-1", "LV-1 (half)", "LV-1,", "LV-1, , LV-2", "the rule", "."]
)
def test_a_malformed_list_is_refused_at_the_marker(project: Build, listed: str) -> None:
    root = project(
        {"valid_ref/a.py": f'def f():\n    """F.\n\n    Implements: {listed}\n    """\n'}
    )
    with pytest.raises(MalformedMarkerError, match=r"^valid_ref/a\.py:4: Implements: expects ids"):
        scan_sources(root)


def test_the_errors_of_all_files_are_reported_together(project: Build) -> None:
    root = project(
        {"valid_ref/a.py": "(", "valid_ref/b.py": '"""Implements: x"""', "tests/c.py": ")"}
    )
    with pytest.raises(CombinedTraceError) as caught:
        scan_sources(root)
    files = [error.file for error in caught.value.errors]
    assert files == ["valid_ref/a.py", "valid_ref/b.py", "tests/c.py"]


def test_missing_directories_are_empty(project: Build) -> None:
    assert scan_sources(project({})) == ()


NAMES = st.from_regex(r"([A-Z]{2}-[1-9][0-9]?|[VLS][1-9]|[PA][0-9]{2})", fullmatch=True)


@given(
    st.sampled_from(["Implements", "Explores", "Proves"]),
    st.lists(NAMES.filter(str.isascii), min_size=1, max_size=8, unique=True),
    st.data(),
)
def test_a_list_may_wrap_after_any_comma(
    keyword: str, names: list[str], data: st.DataObject
) -> None:
    gaps = [data.draw(st.sampled_from([", ", ",", ",\n", ",\n        "])) for _ in names[1:]]
    listed = names[0] + "".join(gap + name for gap, name in zip(gaps, names[1:], strict=True))
    end = data.draw(st.sampled_from(["", ".", "\n", ".\nMore text."]))
    found = list(marker_lines(f"Title.\n\n  {keyword}: {listed}{end}", "a.py", 10))
    assert [name for _, name, _ in found] == names
    assert {line for _, _, line in found} == {12}
