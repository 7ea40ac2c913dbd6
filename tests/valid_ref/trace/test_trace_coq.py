"""Comments in Coq sources tie clauses to finished proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from valid_ref.trace import MalformedMarkerError, Role, SourceSyntaxError, scan_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Build = Callable[[Mapping[str, str]], Path]

PROOF = "Proof. trivial. Qed."


def found(project: Build, text: str) -> list[tuple[str, int, str]]:
    markers = scan_sources(project({"proofs_check/coq/a.v": text}))
    assert all(marker.role is Role.PROVED_COQ for marker in markers)
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
    assert found(project, text) == [
        ("AN-1", 4, "contraction'"),
        ("V2", 4, "contraction'"),
        ("AN-2", 10, "second"),
        ("AN-3", 10, "second"),
    ]


def test_helpers_between_comment_and_statement_are_passed(project: Build) -> None:
    text = f"(* Proves: V2 *)\nDefinition two := 2.\nLemma l : True.\n{PROOF}"
    assert found(project, text) == [("V2", 3, "l")]


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
    with pytest.raises(MalformedMarkerError, match=r"^proofs_check/coq/a\.v:2: "):
        found(project, f"(* Title *)\n(* Proves: AN-1 *)\n{statement}\n")


def test_an_unfinished_proof_elsewhere_does_not_matter(project: Build) -> None:
    text = (
        f"Lemma a : True.\nAdmitted.\n(* Proves: V1 *)\nLemma b : True.\n{PROOF} (* Admitted *)\n"
    )
    assert found(project, f"{text}Lemma c : True.\nAdmitted.\n") == [("V1", 4, "b")]


@pytest.mark.parametrize("comment", ["Proves: nothing", "Implements: LV-1"])
def test_a_malformed_comment_is_refused(project: Build, comment: str) -> None:
    with pytest.raises(MalformedMarkerError, match=r"^proofs_check/coq/a\.v:1: "):
        found(project, f"(* {comment} *)\nLemma l : True.\n{PROOF}")


def test_quotes_in_comments_and_stray_brackets_are_passed(project: Build) -> None:
    text = f'(* a " quote *)\nNotation "*)" := 1. *)\n(* Proves: V2 *)\nLemma l : True.\n{PROOF}'
    assert found(project, text) == [("V2", 4, "l")]


def test_a_marker_may_stand_before_a_nested_comment(project: Build) -> None:
    text = f"(* Proves: V2\n (* Lemma a : True. *)\n Lemma b : True. *)\nLemma l : True.\n{PROOF}"
    assert found(project, text) == [("V2", 4, "l")]


@pytest.mark.parametrize("text", ["(* open (* closed *)", 'Definition a := "open.'])
def test_an_open_comment_or_string_is_a_syntax_error(project: Build, text: str) -> None:
    with pytest.raises(SourceSyntaxError, match=r"^proofs_check/coq/a\.v:2: open"):
        found(project, f"\n(* fine *)\n{text}\n".lstrip("\n"))


def test_other_directories_are_not_read(project: Build) -> None:
    text = f"(* Proves: V2 *)\nLemma l : True.\n{PROOF}"
    assert scan_sources(project({"valid_ref/a.v": text, "tests/a.v": text})) == ()
