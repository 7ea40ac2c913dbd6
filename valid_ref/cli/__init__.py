"""The command line: `valid-ref COMMAND`. The commands are joined in `commands`.

They are loaded when they are first used, and nothing before Ctrl-C is heeded.
"""

from __future__ import annotations

from valid_ref.cli.leaving import leave_on_the_spot

TYPE_CHECKING = False  # as in `typing`, which takes a while to load: Ctrl-C may come meanwhile
if TYPE_CHECKING:
    from typing import Any

    from valid_ref.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run a command."""
    leave_on_the_spot()
    from valid_ref.cli.program import carry_out

    carry_out("valid-ref", "valid_ref.cli.commands")


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'valid_ref.cli' has no attribute {name!r}")
    from valid_ref.cli.commands import app

    return app
