"""Documents are read whole, so none may be without end."""

from pathlib import Path

from valid_ref.errors import ValidRefError

LARGEST = 1 << 26
"""Bytes of the largest document that is read."""


def read_text(
    path: Path, error: type[ValidRefError], clause: str = "", *, largest: int = LARGEST
) -> str:
    """The text of a file in UTF-8; of a larger one, as /dev/zero is, no more than that is read."""
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
        text = content.decode() if len(content) <= largest else None
    except (OSError, ValueError) as cause:  # other encodings; a null character in the name
        raise error(f"cannot read {path}: {cause}", clause=clause) from None
    if text is None:
        raise error(f"cannot read {path}: it has more than {largest} bytes", clause=clause)
    return text


def is_archive(path: Path) -> bool:
    """Whether a file begins as zip archives do; no more of it is read."""
    try:
        with path.open("rb") as file:
            return file.read(2) == b"PK"
    except (OSError, ValueError):
        return False
