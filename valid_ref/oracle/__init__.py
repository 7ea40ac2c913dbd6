"""The oracle: recordings of runs, and whether they are what the specification says."""

from valid_ref.oracle.check import Status, Verdict, check
from valid_ref.oracle.divergence import Difference, Divergence, FirstDifference, diff
from valid_ref.oracle.files import ReadingLimits, RecordingError
from valid_ref.oracle.header import Header, header_of, header_schema
from valid_ref.oracle.log import log_schema
from valid_ref.oracle.read import Recording, open_recording
from valid_ref.oracle.write import (
    RecordingWriter,
    pack,
    record_run,
    recording_digest,
    write_recording,
)

__all__ = [
    "Difference",
    "Divergence",
    "FirstDifference",
    "Header",
    "ReadingLimits",
    "Recording",
    "RecordingError",
    "RecordingWriter",
    "Status",
    "Verdict",
    "check",
    "diff",
    "header_of",
    "header_schema",
    "log_schema",
    "open_recording",
    "pack",
    "record_run",
    "recording_digest",
    "write_recording",
]
