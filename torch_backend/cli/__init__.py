"""The command line: `valid-torch COMMAND`; its commands are in `commands`."""

from valid_ref.cli.program import carry_out


def main() -> None:
    """Run a command."""
    carry_out("valid-torch", "torch_backend.cli.commands", at_once=True)
