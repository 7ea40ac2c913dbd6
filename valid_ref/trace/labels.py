"""Read the table of `spec/README.md` that leads from the paper's labels to the clauses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from valid_ref.trace.errors import LocatedError, MalformedLabelError
from valid_ref.trace.identifiers import LABEL, identifiers_in, labels_in
from valid_ref.trace.model import PaperLabel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from valid_ref.trace.markdown import Page

_ROW = re.compile(rf"^\|\s*`{LABEL}`")
_BAR = re.compile(r"(?<!\\)\|")


def labels_of(page: Page) -> Iterator[PaperLabel | LocatedError]:
    """The labels of a page's table rows `label | what it is | clauses`, in order."""
    for number, line in page.numbered():
        if not _ROW.match(line):
            continue
        cells = [cell.strip() for cell in _BAR.split(line.strip().strip("|"))]
        labels = labels_in(cells[0])
        if len(cells) != 3:
            message = f"the row of {labels[0]} has {len(cells)} columns, not 3 (write a bar as \\|)"
            yield MalformedLabelError(page.file, number, labels[0], message)
            continue
        for label in labels:
            yield PaperLabel(
                label=label,
                what=cells[1].replace("\\|", "|"),
                clauses=identifiers_in(cells[2]),
                file=page.file,
                line=number,
            )
