"""Text that came from a file, made fit for a terminal: nothing in it can move the cursor.

Implements: RE-17.
"""

LONGEST = 400
"""What is longer is cut where it stands in a message."""


def printable(text: object, longest: int = LONGEST) -> str:
    """The text on one line: what Unicode does not call printable is written as an escape.

    These are control characters, line and paragraph separators, marks that turn the direction of
    writing, other invisible marks, lone surrogates and spaces that are not the plain one.

    Implements: RE-17.
    """
    whole = str(text)
    cut = whole if len(whole) <= longest else whole[: longest - 3] + "..."
    return cut if cut.isprintable() else "".join(map(_escaped, cut))


def refusal_of_file(error: OSError) -> str:
    """A file that cannot be read or written, in one line."""
    place = "" if error.filename is None else f"{error.filename}: "
    return printable(f"{place}{error.strerror or error}")


def clause_words(clause: str) -> str:
    """What an id such as LV-3 is, for somebody who meets it in a message."""
    return f"clause {clause} of the specification; valid-ref trace {clause}"


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 1 << 8:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
