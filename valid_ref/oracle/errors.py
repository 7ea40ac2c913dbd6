"""What is wrong with a recording, and where."""

from valid_ref.errors import ValidRefError
from valid_ref.printable import printable


class RecordingError(ValidRefError):
    """A recording that cannot be read; the message begins with the place in it, in one line.

    Implements: RE-7, RE-17.
    """

    def __init__(self, message: str, *, clause: str = "RE-7") -> None:
        super().__init__(printable(message), clause=clause)
