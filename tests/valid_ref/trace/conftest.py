"""Small projects on disk, for the tests of the traceability tool."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Build = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def project(tmp_path: Path) -> Build:
    """Write files below a fresh root, their common indentation removed, and return the root."""

    def build(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return tmp_path

    return build


@pytest.fixture
def sound(project: Build) -> Path:
    """A project in which everything is tied and nothing is wrong."""
    return project(
        {
            "spec/README.md": """
                # Spec

                | label | what | clauses |
                |---|---|---|
                | `eq:cc4` | the \\|V\\| relations | [LV-1](local.md#lv-1), [V2](local.md#v2) |
                | `alg:local` | the listing | [LV-2](local.md#lv-2) |
                """,
            "spec/local.md": """
                # Local

                <a id="lv-1"></a>**LV-1** *rule.* Every agent checks its
                neighbours. *(Paper: `eq:cc4`, `eq:cc3`. Repairs:
                [P04](errata.md#p04).)*

                <a id="lv-2"></a>**LV-2** *term.* A key.

                <a id="v2"></a>**V2** *claim.* All hold one value.
                """,
            "spec/errata.md": """
                # Errata

                <a id="p04"></a>
                ### P04 — an alarm is lost

                *Severity:* bug. *Content:* executable. *Clauses:* [V2](local.md#v2).
                *Paper:* `alg:local`.

                Printed text.

                <a id="a01"></a>
                ### A01 — a slip

                *Severity:* typo. *Content:* textual. *Clauses:* none.
                """,
            "valid_ref/local.py": '''
                """The local check."""


                def check() -> None:
                    """Check.

                    Implements: LV-1, LV-2.
                    """
                ''',
            "tests/test_local.py": """
                import pytest


                @pytest.mark.checks("LV-1", "V2")
                @pytest.mark.witness("P04")
                def test_check() -> None:
                    pass
                """,
        }
    )
