"""The root of every typed error: what was wrong, and the clause that says so."""

import functools
from typing import Any


class ValidRefError(Exception):
    """Bad input. The message names the value; `clause` names the rule it breaks."""

    def __init__(self, message: str, *, clause: str) -> None:
        super().__init__(message)
        self.message = message
        self.clause = clause

    def __str__(self) -> str:
        return f"{self.message} [{self.clause}]"

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the error cross a process boundary with its clause."""
        return functools.partial(type(self), clause=self.clause), (self.message,)
