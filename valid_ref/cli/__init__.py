"""The command line: `valid-ref COMMAND`. The commands are joined in `commands`.

They are loaded when they are first used, so that Ctrl-C is heeded from the start.
"""

from typing import TYPE_CHECKING, Any

from valid_ref.cli.program import carry_out

if TYPE_CHECKING:
    from valid_ref.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run a command."""
    carry_out("valid-ref", "valid_ref.cli.commands")


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'valid_ref.cli' has no attribute {name!r}")
    from valid_ref.cli.commands import app

    return app
