"""A run of the backend as a recording that `valid-ref check` judges."""

import shutil
import tempfile
from pathlib import Path

from torch_backend.delivery import Pair, Said
from torch_backend.transcripts import StoredTranscripts
from torch_backend.validation import Validated
from valid_ref._version import __version__
from valid_ref.alarms import Alarm
from valid_ref.oracle.header import header_of
from valid_ref.oracle.write import RecordingWriter, pack
from valid_ref.protocols.learn import LearningMessage


def record(
    path: Path,
    transcripts: StoredTranscripts,
    validated: Validated,
    *,
    byzantine_known: bool = True,
    checksums: bool = True,
) -> None:
    """Write all rounds and everybody's end to a directory, or to a zip if the name ends so.

    With `byzantine_known=False` the oracle is not told who is Byzantine and judges everybody.

    Implements: RE-1, RE-3, RE-4, RE-5.
    """
    if path.suffix == ".zip":
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".recording-") as name:
            inside = Path(name)
            record(
                inside / "run",
                transcripts,
                validated,
                byzantine_known=byzantine_known,
                checksums=checksums,
            )
            pack(inside / "run", inside / "run.zip")
            shutil.rmtree(inside / "run")
            (inside / "run.zip").replace(path)
        return
    execution = validated.execution
    known = execution.byzantine if byzantine_known else None
    producer = f"valid-torch {__version__}"
    header = header_of(execution.parameters, producer, known, None, checksums=checksums)
    states = execution.states
    keys = [states[agent].memory.private.own_key for agent in sorted(states)]
    with RecordingWriter(path, header, keys) as writer:
        for said in transcripts.said():
            _append(writer, said)
        writer.append_rest(execution)


def _append(writer: RecordingWriter, said: Said) -> None:
    """One round of learning; what was silence is recorded as such."""
    deviations = {
        edge: None if pair is None else _message(pair) for edge, pair in said.edges.items()
    }
    missing = [a for a, problem in said.problems.items() if problem is Alarm.MISSING_MESSAGE]
    silent = dict.fromkeys(missing)
    writer.append_learning(said.models.numpy(), said.gammas.numpy(), deviations, silent)


def _message(pair: Pair) -> LearningMessage:
    return LearningMessage(*(vector.numpy() for vector in pair))
