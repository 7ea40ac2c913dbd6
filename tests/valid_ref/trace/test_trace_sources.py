"""Markers are read from docstrings, marks of tests and comments of Coq, without importing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.trace import TraceError
from valid_ref.trace.sources import Marker, SourceRole, marker_lines, scan_sources

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
        ("LV-1", SourceRole.IMPLEMENTED, 3, "valid_ref.deep.part"),
        ("LV-2", SourceRole.IMPLEMENTED, 8, "Outer"),
        ("LV-3", SourceRole.IMPLEMENTED, 14, "Outer.Inner.method"),
        ("LV-4", SourceRole.IMPLEMENTED, 14, "Outer.Inner.method"),
        ("P04", SourceRole.IMPLEMENTED, 14, "Outer.Inner.method"),
        ("V1", SourceRole.EXPLORED, 14, "Outer.Inner.method"),
        ("V2", SourceRole.IMPLEMENTED, 14, "Outer.Inner.method"),
        ("LV-5", SourceRole.IMPLEMENTED, 26, "coroutine.local"),
        ("LV-6", SourceRole.IMPLEMENTED, 29, "fallback"),
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
    assert {marker.role for marker in markers} == {SourceRole.PROVED}


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
    with pytest.raises(TraceError, match=r"^valid_ref/bad\.py:[23]: not legal Python"):
        scan_sources(root)


@pytest.mark.parametrize("source", [b"x = 1\0\n", b'"""\xff\xfe"""\n', b"# coding: no-such\n"])
def test_undecodable_source_is_typed_and_placed(project: Build, source: bytes) -> None:
    root = project({"valid_ref/good.py": ""})
    (root / "valid_ref" / "bad.py").write_bytes(source)
    with pytest.raises(TraceError, match=r"^valid_ref/bad\.py:1: not legal Python"):
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
    with pytest.raises(TraceError, match=r"^valid_ref/a\.py:4: Implements: expects ids"):
        scan_sources(root)


def test_the_errors_of_all_files_are_reported_together(project: Build) -> None:
    root = project(
        {"valid_ref/a.py": "(", "valid_ref/b.py": '"""Implements: x"""', "tests/c.py": ")"}
    )
    with pytest.raises(TraceError) as caught:
        scan_sources(root)
    files = [line.split(":")[0] for line in str(caught.value).split("\n")]
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


FILE = "tests/sub/test_a.py"


def marks_found(project: Build, text: str) -> list[tuple[str, SourceRole, int, str]]:
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
    assert marks_found(project, text) == [
        ("LV-1", SourceRole.TESTED, 7, "test_function"),
        ("V2", SourceRole.TESTED, 7, "test_function"),
        ("LV-2", SourceRole.TESTED, 10, "TestClass"),
        ("LV-3", SourceRole.TESTED, 10, "TestClass"),
        ("A01", SourceRole.WITNESSED, 14, "TestClass.test_method"),
        ("P04", SourceRole.WITNESSED, 14, "TestClass.test_method"),
        ("LV-4", SourceRole.TESTED, 18, "TestClass.TestInner.test_inner"),
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
    expected = [("LV-1", SourceRole.TESTED, 2, "tests.sub.test_a")]
    assert marks_found(project, f"import pytest\n{statement}\n") == expected


def test_a_parameter_may_carry_marks(project: Build) -> None:
    text = """
        @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.witness("P04")), 2])
        def test_function(x): ...
        """
    assert marks_found(project, text) == [("P04", SourceRole.WITNESSED, 2, "test_function")]


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
    assert marks_found(project, text) == []


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
    with pytest.raises(TraceError, match=r"^tests/sub/test_a\.py:3: (a|the) mark"):
        marks_found(project, f"import pytest\n# comment\n{form.format(mark)}\n")


def test_the_same_id_twice_counts_once(project: Build) -> None:
    text = '@pytest.mark.checks("LV-1", "LV-1")\ndef test_a(): ...'
    assert len(marks_found(project, text)) == 1


PROOF = "Proof. trivial. Qed."


def coq_found(project: Build, text: str) -> list[tuple[str, int, str]]:
    markers = scan_sources(project({"proofs_check/coq/a.v": text}))
    assert all(marker.role is SourceRole.PROVED_COQ for marker in markers)
    return [(item.identifier, item.line, item.symbol) for item in markers]


def test_a_comment_belongs_to_the_statement_below_it(project: Build) -> None:
    text = f"""
        (* A file about things. *)
        (* Proves: AN-1, V2 *)
        (* More. *)
        Theorem contraction' : True.
        {PROOF}

        (** Written at length (* and nested *).
            Proves: AN-2,
              AN-3. *)
        #[local] Lemma second : "(* not a comment" = "Admitted".
        {PROOF}
        """
    assert coq_found(project, text) == [
        ("AN-1", 4, "contraction'"),
        ("V2", 4, "contraction'"),
        ("AN-2", 10, "second"),
        ("AN-3", 10, "second"),
    ]


def test_helpers_between_comment_and_statement_are_passed(project: Build) -> None:
    text = f"(* Proves: V2 *)\nDefinition two := 2.\nLemma l : True.\n{PROOF}"
    assert coq_found(project, text) == [("V2", 3, "l")]


@pytest.mark.parametrize(
    "statement",
    [
        "Lemma l : True.\nAdmitted.",
        "Lemma l : True.\nProof. admit. Admitted.",
        "Lemma l : True.\nAbort.",
        "Axiom l : True.",
        "Definition l := 2.",
        "",
    ],
)
def test_a_statement_without_a_finished_proof_proves_nothing(
    project: Build, statement: str
) -> None:
    with pytest.raises(TraceError, match=r"^proofs_check/coq/a\.v:2: "):
        coq_found(project, f"(* Title *)\n(* Proves: AN-1 *)\n{statement}\n")


def test_an_unfinished_proof_elsewhere_does_not_matter(project: Build) -> None:
    text = (
        f"Lemma a : True.\nAdmitted.\n(* Proves: V1 *)\nLemma b : True.\n{PROOF} (* Admitted *)\n"
    )
    assert coq_found(project, f"{text}Lemma c : True.\nAdmitted.\n") == [("V1", 4, "b")]


@pytest.mark.parametrize("comment", ["Proves: nothing", "Implements: LV-1"])
def test_a_malformed_comment_is_refused(project: Build, comment: str) -> None:
    with pytest.raises(TraceError, match=r"^proofs_check/coq/a\.v:1: "):
        coq_found(project, f"(* {comment} *)\nLemma l : True.\n{PROOF}")


def test_quotes_in_comments_and_stray_brackets_are_passed(project: Build) -> None:
    text = f'(* a " quote *)\nNotation "*)" := 1. *)\n(* Proves: V2 *)\nLemma l : True.\n{PROOF}'
    assert coq_found(project, text) == [("V2", 4, "l")]


def test_a_marker_may_stand_before_a_nested_comment(project: Build) -> None:
    text = f"(* Proves: V2\n (* Lemma a : True. *)\n Lemma b : True. *)\nLemma l : True.\n{PROOF}"
    assert coq_found(project, text) == [("V2", 4, "l")]


@pytest.mark.parametrize("text", ["(* open (* closed *)", 'Definition a := "open.'])
def test_an_open_comment_or_string_is_a_syntax_error(project: Build, text: str) -> None:
    with pytest.raises(TraceError, match=r"^proofs_check/coq/a\.v:2: open"):
        coq_found(project, f"\n(* fine *)\n{text}\n".lstrip("\n"))


def test_other_directories_are_not_read(project: Build) -> None:
    text = f"(* Proves: V2 *)\nLemma l : True.\n{PROOF}"
    assert scan_sources(project({"valid_ref/a.v": text, "tests/a.v": text})) == ()
