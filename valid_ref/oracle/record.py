"""Recording a run of the reference."""

from pathlib import Path

from valid_ref._version import __version__
from valid_ref.front import Run
from valid_ref.oracle.header import Losses
from valid_ref.oracle.write import write_recording


def record_run(
    finished: Run, path: Path, *, byzantine_known: bool = True, checksums: bool = True
) -> None:
    """Write a finished run, with its losses, to a directory or a zip.

    Implements: RE-1, RE-12.
    """
    scenario, prepared = finished.scenario, finished.prepared
    losses = Losses(
        scenario.loss, scenario.seed, scenario.batch, prepared.delta, prepared.eps_success
    )
    write_recording(
        path,
        finished.execution,
        f"valid-ref {__version__}",
        losses=losses,
        byzantine_known=byzantine_known,
        checksums=checksums,
    )
