"""What the validation phase says of a run, in short: who ends valid, and which checks alarmed."""

from collections import Counter
from pathlib import Path
from typing import Any

from torch_backend.engine import State
from torch_backend.program import Program
from torch_backend.recording import record
from torch_backend.transcripts import open_transcripts
from torch_backend.validation import fresh_keys, validate

TRANSCRIPTS, RECORDING = "transcripts", "recording.zip"


def verdict(
    program: Program, state: State, transcripts: Path, recording: Path | None
) -> dict[str, Any]:
    """Run the validation phase; count the honest agents that alarm, by phase and reason.

    Implements: EX-17.
    """
    words = open_transcripts(transcripts, program)
    found = validate(program, state, words, fresh_keys(program))
    if recording is not None:
        record(recording, words, found)
    counts: Counter[tuple[str, str]] = Counter()
    for agent in program.honest:
        counts.update({(raised.phase, raised.alarm.name) for raised in found.alarms[agent]})
    return {
        "honest": len(program.honest),
        "valid": sum(found.valid[agent] for agent in program.honest),
        "alarms": [
            {"phase": phase, "reason": reason, "agents": agents}
            for (phase, reason), agents in sorted(counts.items())
        ],
    }
