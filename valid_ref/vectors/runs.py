"""Vectors of whole runs: everything that goes in as integers, everything that must come out."""

from collections.abc import Mapping

import attrs

from valid_ref.execution import Execution, execute
from valid_ref.lattice import FloatVector, GradientSource, LatticeError, to_lattice
from valid_ref.machine import Adversary, honest
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import Private
from valid_ref.scenario import Scenario, prepare
from valid_ref.vectors.document import Case, Family, Json, Operation, make
from valid_ref.vectors.numbers import whole, wholes
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    FLAG,
    INTEGER,
    NULL,
    VECTOR,
    either,
    fields,
    many,
    ref,
)
from valid_ref.vectors.spoken import SAID, WORDS, Scribe
from valid_ref.wire import alarms_as_json, parameters_in_digits

OPERATIONS = {
    "run": Operation(
        "A whole run of Valid: every honest message, and how every honest agent ends.",
        fields(
            parameters=ref("parameters"),
            byzantine=many(AGENT),
            keys=many(either(INTEGER, NULL)),
            gradients=many(many(either(VECTOR, NULL))),
            tables=fields(reports=many(VECTOR), estimates=many(VECTOR)),
            words=WORDS,
        ),
        fields(
            said=SAID,
            ends=many(fields(agent=AGENT, valid=FLAG, model=either(VECTOR, NULL), alarms=ALARMS)),
        ),
    )
}

HARNESS = (
    "Make the public parameters, then start every honest agent v with the key `keys[v]`. In round "
    "t its lattice gradient Ghat is `gradients[t-1][v]`, whatever the point is at which it is "
    "asked; null is a gradient that cannot be used (not finite), or one that is not asked for. No "
    "loss and no floating point is needed; an implementation that takes real gradients takes "
    "Ghat / 2^fraction_bits, which is a double.",
    "In every round deliver on each directed edge what the sender says: for an honest sender what "
    "your implementation sends, for a Byzantine one the message in `words` with this phase, round, "
    "sender and receiver, and silence where there is none.",
    "Compare every honest message with `said`, in the order of rounds, and in the end every "
    "honest agent with `ends`: verdict, model (null if invalid), alarms.",
    "Rows of `reports` and `estimates` in messages are rows of `tables`: each value "
    "stands there once, in no particular order. Do not read anything else off the tables.",
    "Cases whose `without` is not empty show a part of the text as printed (the errata of these "
    "numbers); skip them if you do not have these switches.",
)


@attrs.frozen
class Setup:
    """All that determines a run."""

    parameters: ValidParameters
    private: Mapping[int, Private]
    byzantine: frozenset[int] = frozenset()
    adversary: Adversary = honest


def setup_of(scenario: Scenario) -> Setup:
    """What a scenario prepares."""
    ready = prepare(scenario)
    return Setup(ready.parameters, ready.private, ready.byzantine, ready.adversary)


class _Gradients:
    """Listens to gradient sources and keeps the lattice form of what they give."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._heard: dict[tuple[int, int], list[int]] = {}

    def listening(self) -> Mapping[int, Private]:
        """The same private inputs, overheard."""
        return {
            agent: attrs.evolve(private, gradient=self._listen(agent, private.gradient))
            for agent, private in self._setup.private.items()
        }

    def _listen(self, agent: int, source: GradientSource) -> GradientSource:
        precision = self._setup.parameters.lattice.precision

        def gradient(t: int, point: FloatVector) -> FloatVector:
            found = source(t, point)
            try:
                self._heard[t, agent] = to_lattice(found, precision).tolist()
            except LatticeError:
                self._heard.pop((t, agent), None)
            return found

        return gradient

    def as_json(self) -> Json:
        """Ghat by round and agent; null for Byzantine agents."""
        parameters, byzantine = self._setup.parameters, self._setup.byzantine
        return [
            [
                None
                if agent in byzantine or (t, agent) not in self._heard
                else wholes(self._heard[t, agent])
                for agent in range(parameters.graph.agents)
            ]
            for t in range(1, parameters.lattice.schedule.rounds + 1)
        ]


def run_case(identifier: str, source: str, comment: str, setup: Setup | Scenario) -> Case:
    """A run, written down.

    Implements: VE-7.
    """
    made = setup_of(setup) if isinstance(setup, Scenario) else setup
    gradients = _Gradients(made)
    execution = execute(
        made.parameters, gradients.listening(), byzantine=made.byzantine, adversary=made.adversary
    )
    scribe = Scribe(made.parameters)
    words = scribe.words(execution.rounds, made.parameters.graph, made.byzantine)
    expected = {
        "said": scribe.said(execution.rounds, execution.honest),
        "ends": [_end(execution, agent) for agent in execution.honest],
    }
    given = {
        "parameters": parameters_in_digits(made.parameters),
        "byzantine": sorted(made.byzantine),
        "keys": [
            None if agent in made.byzantine else whole(made.private[agent].key)
            for agent in range(made.parameters.graph.agents)
        ],
        "gradients": gradients.as_json(),
        "tables": scribe.tables(),
        "words": words,
    }
    return make(identifier, source, comment, given, lambda: expected)


def _end(execution: Execution, agent: int) -> Json:
    memory, model = execution.states[agent].memory, execution.output(agent)
    return {
        "agent": agent,
        "valid": not memory.invalid,
        "model": None if model is None else wholes(model.tolist()),
        "alarms": alarms_as_json(memory.alarms),
    }


def run_family(name: str, about: str, cases: tuple[Case, ...]) -> Family:
    """A file of whole runs."""
    return Family(name, about, HARNESS, OPERATIONS, cases)
