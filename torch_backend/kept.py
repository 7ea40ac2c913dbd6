"""Honest runs that are kept by their content, so that another experiment finds them again.

A calibration run depends on neither the attacks nor the level of its experiment. It is kept in a
file named by the SHA-256 of all that it does depend on.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from torch_backend.config.experiment import Job
from torch_backend.results import CurveRow

UNUSED = (
    "about",
    "figures",
    "rules",
    "attacks",
    "byzantine",
    "seeds",
    "validate",
    "bounds",
)
"""Choices of an experiment that an honest run of VALID that is not validated does not see."""

OWN = ("job", "purpose")
"""What a summary says of the experiment that it was made in."""


def cache_directory() -> Path:
    """Where honest runs are kept: $XDG_CACHE_HOME/valid-ref/honest-runs, by default in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "valid-ref" / "honest-runs"


def content(header: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """All that a calibration run depends on, from the header of its experiment.

    Implements: EX-14.
    """
    experiment = {k: v for k, v in header["experiment"].items() if k not in UNUSED}
    weights = {k: experiment["detection"][k] for k in ("gammas", "bits")}
    environment = {k: v for k, v in header["environment"].items() if k != "recorded"}
    found = {
        "format": header["format"],
        "data": header["data"],
        "environment": environment,
        "experiment": experiment | {"detection": weights},
        "seed": job.seed,
    }
    chosen = (experiment[place]["kind"] for place in ("data", "partition", "model"))
    if own := {kind: header["own"][kind] for kind in chosen if kind in header.get("own", {})}:
        found["own"] = own
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


@attrs.frozen
class KeptRun:
    """The summary of an honest run, without what is of one experiment alone, and its curve."""

    summary: Mapping[str, Any]
    rows: tuple[CurveRow, ...]


@attrs.frozen
class KeptRuns:
    """A directory of honest runs.

    Implements: EX-14.
    """

    directory: Path

    def _path(self, wanted: Mapping[str, Any]) -> Path:
        text = json.dumps(wanted, sort_keys=True, separators=(",", ":"))
        return self.directory / f"{hashlib.sha256(text.encode()).hexdigest()}.json"

    def find(self, wanted: Mapping[str, Any], job: Job) -> KeptRun | None:
        """The run with this content, for this job; a file that is not whole counts as none."""
        try:
            found = json.loads(self._path(wanted).read_text(encoding="utf-8"))
            rows = tuple(CurveRow(**row) for row in found["rows"])
            summary = {"job": job.name, "purpose": job.purpose, **found["summary"]}
            return KeptRun(summary, rows) if found["content"] == wanted else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, wanted: Mapping[str, Any], run: KeptRun) -> None:
        """Write a run; a directory that cannot be written costs time, nothing else."""
        summary = {key: value for key, value in run.summary.items() if key not in OWN}
        rows = [attrs.asdict(row) for row in run.rows]
        text = json.dumps({"content": wanted, "summary": summary, "rows": rows})
        path = self._path(wanted)
        fresh = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with contextlib.suppress(OSError):
            self.directory.mkdir(parents=True, exist_ok=True)
            fresh.write_text(text + "\n", encoding="utf-8")
            fresh.replace(path)
