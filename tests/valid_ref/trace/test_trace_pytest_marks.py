"""The marks of tests are read wherever pytest reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from valid_ref.trace import MalformedMarkerError, Role, scan_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Build = Callable[[Mapping[str, str]], Path]

FILE = "tests/sub/test_a.py"


def found(project: Build, text: str) -> list[tuple[str, Role, int, str]]:
    markers = scan_sources(project({FILE: text}))
    assert all(marker.file == FILE for marker in markers)
    return [(item.identifier, item.role, item.line, item.symbol) for item in markers]


def test_functions_methods_and_classes_may_carry_marks(project: Build) -> None:
    text = """
        import pytest
        from pytest import mark

        @pytest.mark.checks("LV-1",
                            "V2")
        @pytest.mark.slow
        def test_function(): ...

        @mark.checks("LV-2")
        class TestClass:
            pytestmark = [mark.checks("LV-3")]

            @pytest.mark.witness("P04", "A01")
            async def test_method(self): ...

            class TestInner:
                @pytest.mark.checks("LV-4")
                def test_inner(self): ...
        """
    assert found(project, text) == [
        ("LV-1", Role.TESTED, 7, "test_function"),
        ("V2", Role.TESTED, 7, "test_function"),
        ("LV-2", Role.TESTED, 10, "TestClass"),
        ("LV-3", Role.TESTED, 10, "TestClass"),
        ("A01", Role.WITNESSED, 14, "TestClass.test_method"),
        ("P04", Role.WITNESSED, 14, "TestClass.test_method"),
        ("LV-4", Role.TESTED, 18, "TestClass.TestInner.test_inner"),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        'pytestmark = pytest.mark.checks("LV-1")',
        'pytestmark = [pytest.mark.slow, pytest.mark.checks("LV-1")]',
        'pytestmark = (pytest.mark.checks("LV-1"),)',
        'pytestmark: list = [pytest.mark.checks("LV-1")]',
        'pytestmark += [pytest.mark.checks("LV-1")]',
        'other = pytestmark = pytest.mark.checks("LV-1")',
    ],
)
def test_a_module_may_carry_marks(project: Build, statement: str) -> None:
    expected = [("LV-1", Role.TESTED, 2, "tests.sub.test_a")]
    assert found(project, f"import pytest\n{statement}\n") == expected


def test_a_parameter_may_carry_marks(project: Build) -> None:
    text = """
        @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.witness("P04")), 2])
        def test_function(x): ...
        """
    assert found(project, text) == [("P04", Role.WITNESSED, 2, "test_function")]


@pytest.mark.parametrize(
    "text",
    [
        'checks("LV-1")',
        'other = pytest.mark.checks("LV-1")',
        '"""\nImplements: LV-1\n"""',
        '@pytest.mark.skip("LV-1")\ndef test_a(): ...',
        '@checks("LV-1")\ndef test_a(): ...',
        '@tool.checks("LV-1")\ndef test_a(): ...',
        '@pytest.tool.checks("LV-1")\ndef test_a(): ...',
        '@make().checks("LV-1")\ndef test_a(): ...',
        "pytestmark: list",
        'def test_a():\n    pytestmark = pytest.mark.checks("LV-1")',
        "text = '@pytest.mark.checks(\"LV-1\")'",
    ],
)
def test_other_text_is_no_mark(project: Build, text: str) -> None:
    assert found(project, text) == []


@pytest.mark.parametrize(
    "mark",
    [
        "checks(CLAUSE)",
        "checks(*CLAUSES)",
        'checks("LV-" + "1")',
        'checks(f"LV-{1}")',
        "checks(1)",
        'checks(["LV-1"])',
        'checks("lv-1")',
        'checks("LV-1, LV-2")',
        'checks(clause="LV-1")',
        'checks("LV-1", **more)',
        "checks()",
        "checks",
        "witness(ERRATUM)",
        "witness",
    ],
)
@pytest.mark.parametrize(
    "form", ["@pytest.mark.{}\ndef test_a(): ...", "pytestmark = pytest.mark.{}"]
)
def test_a_mark_without_literal_ids_is_refused(project: Build, form: str, mark: str) -> None:
    with pytest.raises(MalformedMarkerError, match=r"^tests/sub/test_a\.py:3: (a|the) mark"):
        found(project, f"import pytest\n# comment\n{form.format(mark)}\n")


def test_the_same_id_twice_counts_once(project: Build) -> None:
    text = '@pytest.mark.checks("LV-1", "LV-1")\ndef test_a(): ...'
    assert len(found(project, text)) == 1
