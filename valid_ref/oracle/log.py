"""The lines of `log.jsonl`: one per round, and one at the end."""

import json
from typing import Any, ClassVar

import attrs

from valid_ref.document import schema, unstructure
from valid_ref.oracle.files import RecordingError
from valid_ref.wire import (
    AlarmLine,
    Spoken,
)


@attrs.frozen
class EdgeLine:
    """What went over one directed edge instead of what the sender said to all."""

    sender: int
    receiver: int
    message: Spoken


@attrs.frozen
class Rows:
    """How many rows the growing arrays have after this line."""

    reports: int = 0
    estimates: int = 0
    deviations: int = 0


@attrs.frozen
class RoundLine:
    """One round: what each agent said to all its neighbours, and the edges that got another.

    Implements: RE-4.
    """

    kind: ClassVar[str] = "round"
    phase: str
    round: int
    said: tuple[Spoken, ...]
    deviations: tuple[EdgeLine, ...]
    rows: Rows
    sha256: str = ""


@attrs.frozen
class AgentLine:
    """How one agent ended; its model, if valid, stands in `outputs.npy`."""

    valid: bool
    alarms: tuple[AlarmLine, ...]


@attrs.frozen
class EndLine:
    """The last line of a run that was not cut off.

    Implements: RE-5.
    """

    kind: ClassVar[str] = "end"
    agents: tuple[AgentLine, ...]
    rows: Rows
    sha256: str = ""


Line = RoundLine | EndLine


def check_line(document: Any, agents: int, directed_edges: int) -> None:
    """Refuse a line with more messages, entries or ends than the network has, before it is read.

    What is of another type is left to the reader of the document.

    Implements: RE-16.
    """
    if not isinstance(document, dict):
        return
    lists = {name: found for name, found in document.items() if isinstance(found, list)}
    for name, most in (("said", agents), ("agents", agents), ("deviations", directed_edges)):
        if len(lists.get(name, ())) > most:
            raise RecordingError(
                f"{name} has {len(lists[name])} entries, not {most}", clause="RE-16"
            )
    edges = [line.get("message") for line in lists.get("deviations", ()) if isinstance(line, dict)]
    for message in (*lists.get("said", ()), *edges):
        entries = message.items() if isinstance(message, dict) else ()
        for name, found in entries:
            if isinstance(found, list) and len(found) > max(2 * agents, directed_edges):
                raise RecordingError(f"{name} has {len(found)} entries", clause="RE-16")


def line_text(line: Line) -> str:
    """The canonical text of a line, without the newline."""
    return json.dumps(unstructure(line), sort_keys=True, separators=(",", ":"))


def log_schema() -> dict[str, Any]:
    """The JSON schema of one line of `log.jsonl`.

    Implements: RE-4.
    """
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema(Line)
