"""Replays checks, broadcasts, agreements and whole runs from JSON with the protocol's machines."""

import math
from collections.abc import Mapping

import numpy as np

from tests.valid_ref.vectors.reading import (
    Json,
    alarms,
    candidate,
    ints,
    parameters,
    real,
    texts,
    transcript,
    vector,
)
from valid_ref.graph import AgentGraph
from valid_ref.lattice import GradientSource
from valid_ref.machine import CausalView, Edge, Machine, Message, Round, run_machine
from valid_ref.protocols import global_validate, local_validate
from valid_ref.protocols.agreement import ValidationStateAgreement
from valid_ref.protocols.broadcast import ValidatedBroadcast
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.parameters import (
    ValidParameters,
    exponential_weights,
    make_weighting,
    polynomial_weights,
)
from valid_ref.protocols.valid import ESTIMATES, Private, Valid
from valid_ref.reading import Reading


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
        "kind": "entries", "keys": keys, "rows": rows, "nulls": [], "malformed": [],
        "unknown_tags": False,
    }  # fmt: skip


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
        return {
            "phase": spoken.phase, "round": spoken.number, "agent": agent, "message": message,
        }  # fmt: skip

    return result.states, [line(r, agent) for r in result.rounds for agent in honest], honest


def keys(given: Json) -> Json:
    graph, prime = AgentGraph.from_edges(given["agents"], given["edges"]), int(given["prime"])
    own = {agent: {"key": int(key)} for agent, key in given["keys"]}
    machine = ValidatedBroadcast(
        graph, "LocalValidate.keys", dict.fromkeys(range(graph.agents), ("key",)),
        lambda _tag, value: type(value) is int and 0 <= value < prime,
        Reading.without(*given["without"]),
    )  # fmt: skip
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
        ends.append({
            "agent": agent,
            "valid": not found[agent].memory.invalid,
            "model": None if model is None else texts(model),
            "alarms": alarms(found[agent].memory.alarms),
        })  # fmt: skip
    return {"said": said, "ends": ends}


def norms(given: Json) -> Json:
    received = Transcripts((), {given["sender"]: tuple(transcript(given["transcript"]))})
    return {"alarms": alarms(local_validate.norm_alarms(parameters(given["parameters"]), received))}


def report(given: Json) -> Json:
    public, sent = parameters(given["parameters"]), transcript(given["transcript"])
    return {"hashes": texts(local_validate.transcript_report(public, ints(given["keys"]), sent))}


def hashes(given: Json) -> Json:
    held = {(r["reporter"], r["agent"]): ints(r["hashes"]) for r in given["reports"]}
    public, own = parameters(given["parameters"]), ints(given["own"])
    return {"alarms": alarms(local_validate.hash_alarms(public, given["agent"], held, own))}


def small_parameters(given: Json) -> ValidParameters:
    """Parameters of which only the prime and the number of agents matter."""
    n = given.get("agents", 2)
    return parameters({
        "agents": n, "edges": [[v, v + 1] for v in range(n - 1)], "dimension": 1,
        "fraction_bits": 0, "step_bits": 0, "mixing": ["1"], "gradient": ["1"], "max_degree": 2,
        "prime": given["prime"], "model_limit": "1", "gradient_limit": "1", "start_model": ["0"],
        "bounds": None, "weightings": [], "keys_checked": "all", "without": [],
    })  # fmt: skip


def key_form(given: Json) -> Json:
    public = small_parameters(given)
    return {"well_formed": local_validate.is_key(public, candidate(given["value"]))}


def report_form(given: Json) -> Json:
    public = small_parameters(given)
    return {"well_formed": local_validate.is_report(public, candidate(given["value"]))}


def exponential(given: Json) -> Json:
    found = exponential_weights(given["rounds"], real(given["gamma"]), given["bits"])
    return {"weights": texts(found)}


def thresholds(given: Json) -> Json:
    found = make_weighting(
        "w", ints(given["weights"]), given["agents"], given["fraction_bits"],
        optimality=real(given["eps_opt"]), heterogeneity=real(given["delta_plus_eps_het"]),
    )  # fmt: skip
    return {"optimality": str(found.optimality), "heterogeneity": str(found.heterogeneity)}


def estimate(given: Json) -> Json:
    public, sent = parameters(given["parameters"]), transcript(given["transcript"])
    return {"estimate": texts(global_validate.estimate(public, sent))}


def estimate_form(given: Json) -> Json:
    public = parameters(given["parameters"])
    return {"well_formed": global_validate.is_estimate(public, candidate(given["value"]))}


def estimates(given: Json) -> Json:
    public = parameters(given["parameters"])
    held = {(r["reporter"], r["agent"]): ints(r["entries"]) for r in given["estimates"]}
    raised = global_validate.estimate_alarms(public, given["agent"], held, ints(given["own"]))
    lowest = [
        [held[v, u] for v in public.graph.neighbours(u) if (v, u) in held][:1]
        for u in range(public.graph.agents)
    ]
    found = None
    if all(lowest):
        agreed = [each for [each] in lowest]
        pairs = [
            global_validate.statistics(public, i, agreed) for i in range(len(public.weightings))
        ]
        found = [{"optimality": str(one), "heterogeneity": str(two)} for one, two in pairs]
    return {"alarms": alarms(raised), "statistics": found}


def public_parameters(given: Json) -> Json:
    public = parameters(given["parameters"])
    sums = [sum(weighting.weights) for weighting in public.weightings]
    return {"rounds": Valid(public).rounds, "weight_sums": texts(sums)}


PROTOCOLS = {
    "parameters": {"parameters": public_parameters},
    "broadcast": {"keys": keys},
    "agreement": {"states": states},
    "local-checks": {
        "key-form": key_form, "report-form": report_form, "norms": norms, "report": report,
        "hashes": hashes,
    },
    "global-checks": {
        "exponential-weights": exponential,
        "polynomial-weights": lambda given: {
            "weights": texts(polynomial_weights(given["rounds"], given["power"]))
        },
        "thresholds": thresholds,
        "square-root": lambda given: {"root": str(math.isqrt(int(given["value"])))},
        "estimate": estimate, "estimate-form": estimate_form, "estimates": estimates,
    },
    "runs-honest": {"run": run},
    "runs-attacks": {"run": run},
    "runs-errata": {"run": run},
}  # fmt: skip
