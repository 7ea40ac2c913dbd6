"""Scenarios: JSON documents that determine a run, and how they are made ready."""

from valid_ref.scenario.build import Prepared, prepare
from valid_ref.scenario.scenario import (
    Scenario,
    load_scenario,
    scenario_as_json,
    scenario_from_json,
    scenario_schema,
    scenario_text,
    settled,
)

__all__ = [
    "Prepared",
    "Scenario",
    "load_scenario",
    "prepare",
    "scenario_as_json",
    "scenario_from_json",
    "scenario_schema",
    "scenario_text",
    "settled",
]
