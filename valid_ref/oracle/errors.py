"""What is wrong with a recording, and where."""

from valid_ref.errors import ValidRefError


class RecordingError(ValidRefError):
    """A recording that cannot be read; the message begins with the place in it.

    Implements: RE-7.
    """

    def __init__(self, message: str, *, clause: str = "RE-7") -> None:
        super().__init__(message, clause=clause)
