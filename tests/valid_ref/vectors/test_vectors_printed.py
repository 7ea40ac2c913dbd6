"""The cases that show the text as printed: no other implementation has the switches for them all.

The reference replays them from the files; nothing here imports the generator.
"""

import math
import subprocess
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.valid_ref.vectors.reading import Json, files, load, printed
from valid_ref.alarms import Raised
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import GradientSource, LatticeParameters
from valid_ref.machine import CausalView, Edge, Machine, Message, Round, run_machine
from valid_ref.protocols import global_validate, local_validate
from valid_ref.protocols.agreement import ValidationStateAgreement
from valid_ref.protocols.broadcast import ValidatedBroadcast
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import Bounds, CheckedKeys, ValidParameters, Weighting
from valid_ref.protocols.valid import ESTIMATES, Private, Valid
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule

ROOT = Path(__file__).resolve().parents[3]


def ints(values: Iterable[str]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def vector(values: Iterable[str]) -> np.ndarray:
    return np.array(ints(values), dtype=np.int64)


def texts(values: Iterable[int]) -> list[str]:
    return [str(int(value)) for value in values]


def parameters(given: Json) -> ValidParameters:
    reading = Reading.without(*given["without"])
    bounds = given["bounds"]
    return ValidParameters(
        AgentGraph.from_edges(given["agents"], given["edges"]),
        LatticeParameters(
            given["dimension"],
            Schedule(
                Precision(given["fraction_bits"], given["step_bits"]),
                ints(given["mixing"]),
                ints(given["gradient"]),
            ),
            given["max_degree"],
            int(given["prime"]),
            model_limit=int(given["model_limit"]),
            gradient_limit=int(given["gradient_limit"]),
            enforce_field_range=reading.P20,
        ),
        vector(given["start_model"]),
        PrimeField(int(given["prime"])),
        bounds=bounds and Bounds(ints(bounds["model_squared"]), ints(bounds["gradient_squared"])),
        weightings=tuple(
            Weighting(
                each["name"],
                ints(each["weights"]),
                Fraction(sum(ints(each["weights"]))),
                int(each["optimality"]),
                int(each["heterogeneity"]),
                optimality_low=int(each["optimality_low"]),
                heterogeneity_low=int(each["heterogeneity_low"]),
            )
            for each in given["weightings"]
        ),
        checked_keys=CheckedKeys(given["keys_checked"]),
        reading=reading,
    )


def alarms(raised: Iterable[Raised]) -> Json:
    def about(value: object) -> str | None:
        if value is None:
            return None
        return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)

    return [
        {
            "reason": r.alarm.name,
            "clause": r.alarm.clause,
            "phase": r.phase,
            "round": r.round,
            "sender": r.sender,
            "about": about(r.about),
        }
        for r in raised
    ]


class Malformed:
    """What no receiver accepts."""


def message_of(phase: str, spoken: Json, tables: Json) -> Message:
    """The message that JSON stands for."""
    if spoken is None:
        return None
    match spoken["kind"]:
        case "learning":
            return LearningMessage(vector(spoken["model"]), vector(spoken["scaled_gradient"]))
        case "flag":
            return spoken["value"]
        case "other":
            return Malformed()
    table = tables.get("estimates" if phase == ESTIMATES else "reports", [])
    entries = [
        *(((source, "key"), int(key)) for source, key in spoken["keys"]),
        *(((source, slot), ints(table[row])) for source, slot, row in spoken["rows"]),
        *((tag(pair), None) for pair in spoken["nulls"]),
        *((tag(pair), Malformed()) for pair in spoken["malformed"]),
        *([(("no", "tag"), 1)] if spoken["unknown_tags"] else []),
    ]
    return dict(entries) if len(dict(entries)) == len(entries) else Malformed()


def tag(pair: tuple[int, int]) -> tuple[int, int | str]:
    return pair[0], "key" if pair[1] == -1 else pair[1]


def message_json(phase: str, message: Message, tables: Json) -> Json:
    """What an honest agent said, as JSON; a value that is in no table is a finding."""
    if message is None:
        return None
    if isinstance(message, LearningMessage):
        model, gamma = texts(message.model), texts(message.scaled_gradient)
        return {"kind": "learning", "model": model, "scaled_gradient": gamma}
    if isinstance(message, bool):
        return {"kind": "flag", "value": message}
    assert isinstance(message, Mapping)
    table = tables.get("estimates" if phase == ESTIMATES else "reports", [])
    entries = sorted(message.items())
    keys = [[source, str(key)] for (source, slot), key in entries if slot == "key"]
    rows = [
        [source, slot, table.index(texts(value)) if texts(value) in table else texts(value)]
        for (source, slot), value in entries
        if slot != "key"
    ]
    return {
        "kind": "entries",
        "keys": keys,
        "rows": rows,
        "nulls": [],
        "malformed": [],
        "unknown_tags": False,
    }


def replay(
    graph: AgentGraph, machine: Machine, private: Mapping, given: Json, tables: Json
) -> tuple[Mapping, Json, list[int]]:
    """Run a machine against the words; states, honest messages, honest agents."""
    words = {
        (each["phase"], each["round"], each["sender"], receiver): each["message"]
        for each in given["words"]
        for receiver in each["receivers"]
    }

    def adversary(view: CausalView) -> Mapping[Edge, Message]:
        return {
            (sender, receiver): message_of(
                view.phase, words.get((view.phase, view.round, sender, receiver)), tables
            )
            for sender in view.byzantine
            for receiver in graph.neighbours(sender)
        }

    byzantine = frozenset(given["byzantine"])
    result = run_machine(graph, machine, private, byzantine=byzantine, adversary=adversary)
    honest = [agent for agent in range(graph.agents) if agent not in byzantine]

    def line(spoken: Round, agent: int) -> Json:
        message = message_json(spoken.phase, spoken.said[agent], tables)
        return {"phase": spoken.phase, "round": spoken.number, "agent": agent, "message": message}

    return result.states, [line(r, agent) for r in result.rounds for agent in honest], honest


def keys(given: Json) -> Json:
    graph, prime = AgentGraph.from_edges(given["agents"], given["edges"]), int(given["prime"])
    own = {agent: {"key": int(key)} for agent, key in given["keys"]}
    machine = ValidatedBroadcast(
        graph,
        "LocalValidate.keys",
        dict.fromkeys(range(graph.agents), ("key",)),
        lambda _tag, value: type(value) is int and 0 <= value < prime,
        Reading.without(*given["without"]),
    )
    private = {agent: own.get(agent, {"key": 0}) for agent in range(graph.agents)}
    states, said, honest = replay(graph, machine, private, given, {})
    ends = [
        {
            "agent": agent,
            "held": [[s, str(value)] for (s, _slot), value in sorted(states[agent].held.items())],
            "alarms": alarms(states[agent].alarms),
        }
        for agent in honest
    ]
    return {"said": said, "ends": ends}


def states(given: Json) -> Json:
    graph = AgentGraph.from_edges(given["agents"], given["edges"])
    machine = ValidationStateAgreement(graph, Reading.without(*given["without"]))
    private = {agent: agent in given["alarmed"] for agent in range(graph.agents)}
    found, said, honest = replay(graph, machine, private, given, {})
    ends = [
        {"agent": v, "alarmed": found[v].alarmed, "alarms": alarms(found[v].alarms)} for v in honest
    ]
    return {"said": said, "ends": ends}


def source_of(public: ValidParameters, rows: list[Json]) -> GradientSource:
    """A private gradient that is the given lattice vector in every round."""

    def gradient(t: int, _point: np.ndarray) -> np.ndarray:
        if rows[t - 1] is None:
            return np.full(public.lattice.dimension, math.nan)
        entries = np.array([float(entry) for entry in ints(rows[t - 1])])
        return np.ldexp(entries, -public.lattice.precision.fraction_bits)

    return gradient


def run(given: Json) -> Json:
    public = parameters(given["parameters"])
    machine = Valid(public)
    private = {
        agent: Private(source_of(public, [row[agent] for row in given["gradients"]]), int(key or 0))
        for agent, key in enumerate(given["keys"])
    }
    found, said, honest = replay(public.graph, machine, private, given, given["tables"])
    ends = []
    for agent in honest:
        model = machine.output(found[agent])
        ends.append(
            {
                "agent": agent,
                "valid": not found[agent].memory.invalid,
                "model": None if model is None else texts(model),
                "alarms": alarms(found[agent].memory.alarms),
            }
        )
    return {"said": said, "ends": ends}


def hashes(given: Json) -> Json:
    held = {(r["reporter"], r["agent"]): ints(r["hashes"]) for r in given["reports"]}
    public, own = parameters(given["parameters"]), ints(given["own"])
    return {"alarms": alarms(local_validate.hash_alarms(public, given["agent"], held, own))}


def estimate(given: Json) -> Json:
    sent = [message_of("", {"kind": "learning", **row}, {}) for row in given["transcript"]]
    return {"estimate": texts(global_validate.estimate(parameters(given["parameters"]), sent))}


def estimate_form(given: Json) -> Json:
    assert given["value"]["kind"] == "integers"
    public, value = parameters(given["parameters"]), ints(given["value"]["entries"])
    return {"well_formed": global_validate.is_estimate(public, value)}


def estimates(given: Json) -> Json:
    held = {(r["reporter"], r["agent"]): ints(r["entries"]) for r in given["estimates"]}
    public, own = parameters(given["parameters"]), ints(given["own"])
    agreed = global_validate.agreed_estimates(public, held)
    assert agreed is not None
    pairs = [global_validate.statistics(public, i, agreed) for i in range(len(public.weightings))]
    return {
        "alarms": alarms(global_validate.estimate_alarms(public, given["agent"], held, own)),
        "statistics": [{"optimality": str(a), "heterogeneity": str(b)} for a, b in pairs],
    }


REPLAYS = {
    "keys": keys,
    "states": states,
    "hashes": hashes,
    "run": run,
    "estimate": estimate,
    "estimate-form": estimate_form,
    "estimates": estimates,
}


@pytest.mark.checks("VE-2", "VE-4", "VE-7")
def test_every_case_as_printed_comes_out_as_its_file_says() -> None:
    cases = [case for family in files() for case in load(family)["cases"] if printed(case)]
    assert {case["operation"] for case in cases} == REPLAYS.keys()
    for case in cases:
        assert REPLAYS[case["operation"]](case["input"]) == case["expected"], case["id"]


def test_the_replayer_knows_no_generator() -> None:
    program = (
        "import sys, tests.valid_ref.vectors.test_vectors_printed\n"
        "print([name for name in sys.modules if name.startswith('valid_ref.vectors')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
