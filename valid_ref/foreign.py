"""Where code of somebody else's is called: whatever it raises becomes a typed refusal.

Losses, attacks, graphs, models, rules and data sets may be anybody's. Every call of such code
stands in a `refusing` block, so that none of them ends a command by a traceback or by an exit
status of its own.
"""

from types import TracebackType

import attrs

from valid_ref.errors import ValidRefError

LONGEST = 400
"""Characters of the longest text of an exception that a refusal repeats."""


@attrs.frozen
class refusing:  # noqa: N801 - used like a function
    """A block that calls somebody's code; what it raises is raised as `error`, from the original.

    `doing` begins the message, such as "mine:Loud: build(setting) raises"; the type of the
    exception and its text follow. SystemExit and other exceptions that are no Exception are
    refused like all others; Ctrl-C goes on its way. A typed refusal goes on its way too: it says
    already who refuses what. With `typed` it is treated like all others.

    Implements: VA-10.
    """

    error: type[ValidRefError]
    doing: str
    clause: str = "VA-10"
    typed: bool = False

    def __enter__(self) -> None:
        """Begin to call."""

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Refuse what was raised."""
        if error is None or isinstance(error, KeyboardInterrupt):
            return
        if isinstance(error, ValidRefError) and not self.typed:
            return
        raise self.error(f"{self.doing} {in_words(error)}", clause=self.clause) from error


def in_words(error: BaseException) -> str:
    """The type of an exception and its text, in one line that is not too long."""
    try:
        # The validators of attrs give the sentence first, and then the objects that it is about.
        several = type(error) in {TypeError, ValueError} and len(error.args) > 1
        said: object = error.args[0] if several else error
        text = " ".join(str(said).split())
    except KeyboardInterrupt:
        raise
    except BaseException:  # somebody's own text may raise as well
        text = "(its text cannot be had)"
    cut = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    return f"{type(error).__name__}: {cut}".removesuffix(": ")


def place_of(part: type) -> str:
    """`module:Name` of a class."""
    return f"{part.__module__}:{part.__qualname__}"
