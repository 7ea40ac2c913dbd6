"""What can go wrong while the specification and the sources are read: one class per way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valid_ref.errors import ValidRefError

if TYPE_CHECKING:
    from collections.abc import Sequence


class TraceError(ValidRefError):
    """The specification cannot be tied to the code; no clause rules the tool itself."""


class LocatedError(TraceError):
    """An error at one line of one file; the file is named relative to the project root."""

    def __init__(self, file: str, line: int, identifier: str, message: str) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.identifier = identifier

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class DuplicateIdentifierError(LocatedError):
    """A clause, an erratum or a paper label is defined twice."""


class MalformedClauseError(LocatedError):
    """A line looks like the start of a clause but is not one."""


class MalformedErratumError(LocatedError):
    """A section of the errata lacks a field or has an illegal one."""


class MalformedLabelError(LocatedError):
    """A row of the table of paper labels lacks a column."""


class UnknownReferenceError(LocatedError):
    """The specification refers to a clause or an erratum that does not exist."""


class MisdirectedLinkError(LocatedError):
    """A link to a clause does not lead to the place where the clause is."""


class SourceSyntaxError(LocatedError):
    """A source file cannot be parsed."""


class MalformedMarkerError(LocatedError):
    """A marker in a source does not list literal identifiers."""


class MalformedNotYetError(LocatedError):
    """A line of the list of accepted gaps is neither an entry nor a comment."""


class CombinedTraceError(TraceError):
    """Several errors, found in one reading."""

    def __init__(self, errors: Sequence[LocatedError]) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = tuple(errors)


class UnknownIdentifierError(TraceError):
    """The user asked for a clause, erratum or paper label that does not exist."""

    def __init__(self, identifier: str, matches: Sequence[str]) -> None:
        hint = f"; did you mean {', '.join(matches)}?" if matches else ""
        super().__init__(f"no clause, erratum or paper label is called {identifier!r}{hint}")
        self.identifier = identifier
        self.matches = tuple(matches)


class NoProjectError(TraceError):
    """No directory with the specification and the package was found."""


def raise_all(errors: Sequence[LocatedError]) -> None:
    """Raise one error as itself, several as one, none not at all."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise CombinedTraceError(errors)
