"""The command line: `valid-torch COMMAND`; its commands are in `commands`."""

from valid_ref.cli.leaving import leave_on_the_spot


def main() -> None:
    """Run a command."""
    leave_on_the_spot()
    from valid_ref.cli.program import carry_out

    carry_out("valid-torch", "torch_backend.cli.commands", at_once=True)
