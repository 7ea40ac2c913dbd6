"""A case: a scenario and the agent in it that is replaced by the one under test."""

import json
from pathlib import Path
from typing import Any

import attrs

from valid_ref.document import read_json, schema, structure, unstructure
from valid_ref.scenario import Scenario
from valid_ref.scenario.build import build_graph
from valid_ref.testing.conform.errors import ConformError

FORMAT = "valid-ref/conformance-case/1"


@attrs.frozen
class Case:
    """Everything that determines one run of an agent under test, as one JSON document.

    `gradients` are the private gradients of the agent in rounds 1..T, entries as text ("0.5",
    "nan"); those of the scenario's losses if not given.

    Implements: CF-15.
    """

    name: str
    agent: int
    scenario: Scenario
    gradients: tuple[tuple[str, ...], ...] | None = None
    format: str = FORMAT

    def __attrs_post_init__(self) -> None:
        if self.format != FORMAT:
            raise ConformError(f"format {self.format!r} is not {FORMAT!r}", clause="CF-15")
        if not 0 <= self.agent < build_graph(self.scenario).agents:
            raise ConformError(f"agent {self.agent} is not in the network", clause="CF-15")
        if self.agent in self.scenario.byzantine:
            raise ConformError(
                f"agent {self.agent} is Byzantine in the scenario: nothing is demanded of it",
                clause="CF-15",
            )
        if self.scenario.without:
            raise ConformError("the kit knows the repaired reading only", clause="CF-15")
        if self.gradients is not None:
            self._check_gradients(self.gradients)

    def _check_gradients(self, gradients: tuple[tuple[str, ...], ...]) -> None:
        if len(gradients) != self.scenario.rounds:
            raise ConformError(
                f"{len(gradients)} gradients for {self.scenario.rounds} rounds", clause="CF-15"
            )
        for entry in (entry for gradient in gradients for entry in gradient):
            try:
                float(entry)
            except ValueError:
                raise ConformError(f"{entry!r} is not a number", clause="CF-15") from None


def case_text(case: Case) -> str:
    """The canonical text of a case."""
    return json.dumps(unstructure(case), indent=1) + "\n"


def case_from_json(text: str) -> Case:
    """Read a case; a wrong one is refused with the JSON path.

    Implements: CF-15.
    """
    found: Case = structure(Case, read_json(text))
    return found


def save_case(case: Case, path: Path) -> None:
    """Write a case to a file."""
    try:
        path.write_text(case_text(case), encoding="utf-8")
    except OSError as error:
        raise ConformError(f"cannot write {path}: {error}", clause="CF-15") from None


def load_case(path: Path) -> Case:
    """Read a case from a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConformError(f"cannot read {path}: {error}", clause="CF-15") from None
    return case_from_json(text)


def case_schema() -> dict[str, Any]:
    """The JSON schema of cases.

    Implements: CF-15.
    """
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema(Case)
