"""The root of every typed error: what was wrong, and the clause that says so."""

import functools
from typing import Any, ClassVar


class ValidRefError(Exception):
    """Bad input. The message names the value; `clause` names the rule it breaks, if there is one.

    A class of errors that mostly breaks one rule names it in `default_clause`.
    """

    default_clause: ClassVar[str] = ""
    told: ClassVar[bool] = False
    """Whether somebody else says it to the user already."""

    def __init__(self, message: str, *, clause: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.clause = self.default_clause if clause is None else clause

    def __str__(self) -> str:
        return f"{self.message} [{self.clause}]" if self.clause else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the error cross a process boundary with its clause."""
        return functools.partial(type(self), clause=self.clause), (self.message,)


class OutputError(ValidRefError):
    """A file or directory that cannot be written."""
