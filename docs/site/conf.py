"""The documentation site, built by `make docs`: which pages it has, in which order, its looks.

Pages stay plain Markdown that reads well without the site: what is of the site alone is here.
"""

import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from valid_ref import __version__  # noqa: E402

project = "valid-ref"
author = "The valid-ref developers"
project_copyright = author
version = release = __version__

extensions = ["sphinx.ext.autodoc", "myst_nb", "pages", "clauses"]
root_doc = "docs/README"
include_patterns = [
    "*.md",
    "spec/*.md",
    "docs/**.md",
    "docs/**.ipynb",
    "proofs_check/README.md",
    "proofs_check/coq/*.md",
    "benchmarks/results.md",
    "tests/README.md",
    "tests/foreign/**.md",
]
exclude_patterns = [".*", "build", "dist", "runs", "**/__pycache__", "**/node_modules"]

navigation = {
    "docs/README": {
        "Start": [
            "What valid-ref is </README>",
            "docs/guides/first-steps",
            "docs/glossary",
            "ARCHITECTURE",
        ],
        "How to": ["docs/guides/README", "docs/notebooks/README"],
        "Look up": ["docs/reference/README", "spec/README", "spec/errata"],
        "What came out": [
            "Experiments </docs/experiments/README>",
            "Proofs </proofs_check/README>",
            "docs/tables/README",
            "benchmarks/results",
        ],
        "The project": ["CONTRIBUTING", "Tests </tests/README>", "CHANGELOG"],
    },
    "docs/guides/README": ["docs/guides/*"],
    "docs/notebooks/README": ["docs/notebooks/*"],
    "docs/reference/README": [
        "docs/reference/valid_ref",
        "docs/reference/scenario",
        "docs/reference/losses",
        "docs/reference/adversary",
        "docs/reference/network",
        "docs/reference/guarantees",
        "docs/reference/oracle",
        "docs/reference/explore",
        "docs/reference/testing",
        "docs/reference/torch_backend",
        "docs/reference/foundations",
        "docs/reference/protocols",
        "docs/reference/promises",
        "docs/reference/report",
        "docs/reference/play",
        "docs/reference/trace",
    ],
    "docs/tables/README": ["docs/tables/*"],
    "proofs_check/README": ["proofs_check/coq/*"],
    "tests/README": ["tests/foreign/*/README"],
    "spec/README": [
        "spec/model",
        "spec/adversary",
        "spec/arithmetic",
        "spec/hashing",
        "spec/learn-model",
        "spec/validated-broadcast",
        "spec/local-validate",
        "spec/global-validate",
        "spec/validation-state-agreement",
        "spec/lean-validation",
        "spec/valid",
        "spec/guarantees",
        "spec/experiments",
        "spec/recording",
        "spec/vectors",
        "spec/conformance",
    ],
}
"""The menu: the pages below each page, in groups or without; `*` is what no other line names."""

html_theme = "furo"
html_title = f"valid-ref {version}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_favicon = str(HERE / "static" / "icon.svg")
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
nb_render_markdown_format = "gfm"

autodoc_member_order = "groupwise"
autodoc_typehints_format = "short"
lazy_packages = ["valid_ref", "valid_ref.explore"]
"""They load their public names when these are first used."""
autodoc_default_options = {"members": True}
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88


def setup(app: Any) -> None:
    """Show diagrams in Mermaid as their text, a line for each arrow; repository hosts draw them."""
    app.add_lexer("mermaid", TextLexer)
