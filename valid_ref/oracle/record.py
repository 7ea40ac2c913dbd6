"""Recording a run of the reference."""

from pathlib import Path

from valid_ref._version import __version__
from valid_ref.front import Run
from valid_ref.oracle.header import Losses
from valid_ref.oracle.write import write_recording
from valid_ref.scenario.build import Prepared
from valid_ref.scenario.scenario import Scenario

PRODUCER = f"valid-ref {__version__}"
"""What recordings of the reference say of their producer."""


def losses_of(scenario: Scenario, prepared: Prepared) -> Losses:
    """The losses and tolerances of a scenario, as a header has them.

    Implements: RE-2.
    """
    return Losses(
        scenario.loss, scenario.seed, scenario.batch, prepared.delta, prepared.eps_success
    )


def record_run(
    finished: Run, path: Path, *, byzantine_known: bool = True, checksums: bool = True
) -> None:
    """Write a finished run, with its losses, to a directory or a zip.

    Implements: RE-1, RE-12.
    """
    write_recording(
        path,
        finished.execution,
        PRODUCER,
        losses=losses_of(finished.scenario, finished.prepared),
        byzantine_known=byzantine_known,
        checksums=checksums,
    )
