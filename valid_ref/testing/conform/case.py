"""A case, and what the reference does in it round by round.

A case is a scenario and the agent in it that is replaced by the one under test.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from valid_ref.alarms import Alarm, Raised
from valid_ref.document import read_json, schema, structure, unstructure
from valid_ref.execution import execute
from valid_ref.inputs import read_text
from valid_ref.lattice import (
    FloatVector,
    GradientSource,
    IntVector,
    LatticeError,
    evaluation_point,
    mix,
    to_lattice,
)
from valid_ref.machine import Message
from valid_ref.protocols.broadcast import BroadcastState
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.learn import LearnState
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.valid import Private, Valid, ValidState
from valid_ref.scenario import Scenario
from valid_ref.scenario.build import build_graph, prepare
from valid_ref.scenario.parts import Lean
from valid_ref.testing.conform.peer import ConformError
from valid_ref.wire import AlarmLine, alarm_line

FORMAT = "valid-ref/conformance-case/2"


@attrs.frozen
class ConformCase:
    """Everything that determines one run of an agent under test, as one JSON document.

    `gradients` are the private gradients of the agent in rounds 1..T, entries as text ("0.5",
    "nan"); those of the scenario's losses if not given. `limits` are X_max and G_max; the default
    of AR-10 if not given. `lower` are the lower thresholds of each check, of optimality and of
    heterogeneity; those of the scenario if not given.

    Implements: CF-15.
    """

    name: str
    agent: int
    scenario: Scenario
    gradients: tuple[tuple[str, ...], ...] | None = None
    limits: tuple[int, int] | None = None
    lower: tuple[tuple[int, int], ...] | None = None
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
        if isinstance(self.scenario.validation, Lean) and self.scenario.validation.without:
            raise ConformError("the kit knows the whole lean validation only", clause="CF-15")
        if self.gradients is not None:
            self._check_gradients(self.gradients)
        checks = len(self.scenario.checks)
        if self.lower is not None and len(self.lower) != checks:
            raise ConformError(
                f"{len(self.lower)} pairs of lower thresholds for {checks} checks", clause="CF-15"
            )

    @property
    def validation(self) -> str:
        """The validation in which the agent is driven, as agents name it.

        Implements: CF-2.
        """
        return self.scenario.validation.kind

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


def case_text(case: ConformCase) -> str:
    """The canonical text of a case."""
    return json.dumps(unstructure(case), indent=1) + "\n"


def case_from_json(text: str) -> ConformCase:
    """Read a case; a wrong one is refused with the JSON path.

    Implements: CF-15.
    """
    found: ConformCase = structure(ConformCase, read_json(text))
    return found


def save_case(case: ConformCase, path: Path) -> None:
    """Write a case to a file."""
    try:
        path.write_text(case_text(case), encoding="utf-8")
    except OSError as error:
        raise ConformError(f"cannot write {path}: {error}", clause="CF-15") from None


def load_case(path: Path) -> ConformCase:
    """Read a case from a file."""
    return case_from_json(read_text(path, ConformError, "CF-15"))


def case_schema() -> dict[str, Any]:
    """The JSON schema of cases.

    Implements: CF-15.
    """
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema(ConformCase)


@attrs.frozen
class Update:
    """The learning step of one round: Y, the point Y / 2^(f+k), the gradient there, and Ghat.

    `lattice` is None where the gradient is not on the lattice or leaves the range.

    Implements: CF-5.
    """

    Y: tuple[int, ...]
    point: tuple[float, ...]
    gradient: tuple[float, ...]
    lattice: tuple[int, ...] | None


@attrs.frozen(eq=False)
class Turn:
    """One round of the agent under test: what it must say, what it hears, what it must object to.

    `update` is there in learning rounds until the agent falls silent. `state` is that of the
    reference before the round. `alarms` are the new ones, in the order of MO-12.
    """

    number: int
    phase: str
    round: int
    state: ValidState
    update: Update | None
    message: Message
    inbox: Mapping[int, Message]
    alarms: tuple[AlarmLine, ...]

    @property
    def everything_held(self) -> Message:
        """In a broadcast all values held, which may be sent in every flood round (VB-11)."""
        inner = self.state.inner
        return inner.held if isinstance(inner, BroadcastState) else self.message


@attrs.frozen(eq=False)
class ExpectedRun:
    """A whole case as the reference plays it.

    Implements: CF-11.
    """

    case: ConformCase
    parameters: ValidParameters
    key: int | Opening
    turns: tuple[Turn, ...]
    valid: bool
    model: tuple[int, ...] | None

    @property
    def agent(self) -> int:
        """The agent under test."""
        return self.case.agent


def expected_run(case: ConformCase) -> ExpectedRun:
    """Run the network of a case, all agents by the reference, and follow the one under test.

    Implements: CF-11.
    """
    prepared = prepare(case.scenario)
    parameters, agent = _bounded(_limited(prepared.parameters, case.limits), case), case.agent
    private = dict(prepared.private)
    asked: dict[int, tuple[FloatVector, FloatVector]] = {}
    source = _noted(_source(case, parameters, private[agent].gradient), asked)
    private[agent] = Private(source, private[agent].key)
    execution = execute(
        parameters, private, byzantine=prepared.byzantine, adversary=prepared.adversary
    )
    machine = Valid(parameters)
    state = machine.start(agent, private[agent])
    turns, carried = [], _alarms(state)
    for number, spoken in enumerate(execution.rounds, start=1):
        inbox = spoken.inbox(parameters.graph, agent)
        after = machine.receive(state, number, inbox)
        last = number == machine.rounds
        new = (after.memory.alarms if last else _alarms(after))[len(_alarms(state)) :]
        early = tuple(r for r in new if r.alarm is Alarm.OWN_UPDATE_OUT_OF_RANGE)
        due = carried + tuple(raised for raised in new if raised not in early)
        message = machine.send(state, number)
        turns.append(
            Turn(
                number=number,
                phase=spoken.phase,
                round=spoken.number,
                state=state,
                update=_update(parameters, state, spoken.number, asked, spoke=message is not None),
                message=message,
                inbox=inbox,
                alarms=tuple(alarm_line(raised) for raised in due),
            )
        )
        state, carried = after, early
    model = machine.output(state)
    return ExpectedRun(
        case,
        parameters,
        key=private[agent].key,
        turns=tuple(turns),
        valid=not state.memory.invalid,
        model=None if model is None else tuple(model.tolist()),
    )


def _limited(parameters: ValidParameters, limits: tuple[int, int] | None) -> ValidParameters:
    """The parameters with these X_max and G_max."""
    if limits is None:
        return parameters
    X, G = limits
    lattice = attrs.evolve(parameters.lattice, model_limit=X, gradient_limit=G)
    return attrs.evolve(parameters, lattice=lattice)


def _bounded(parameters: ValidParameters, case: ConformCase) -> ValidParameters:
    """The parameters with the lower thresholds of the case (GV-13)."""
    if case.lower is None:
        return parameters
    weightings = tuple(
        attrs.evolve(weighting, optimality_low=optimality, heterogeneity_low=heterogeneity)
        for weighting, (optimality, heterogeneity) in zip(
            parameters.weightings, case.lower, strict=True
        )
    )
    return attrs.evolve(parameters, weightings=weightings)


def _alarms(state: ValidState) -> tuple[Raised, ...]:
    """All alarms so far, those of the phase under way included."""
    inner: tuple[Raised, ...] = state.inner.alarms
    return state.memory.alarms + inner


def _source(case: ConformCase, parameters: ValidParameters, own: GradientSource) -> GradientSource:
    """The gradients of the case, or those of the losses."""
    if case.gradients is None:
        return own
    d = parameters.lattice.dimension
    rows = [np.array([float(entry) for entry in row]) for row in case.gradients]
    if any(row.shape != (d,) for row in rows):
        raise ConformError(f"a gradient does not have {d} entries", clause="CF-15")
    return lambda t, _point: rows[t - 1]


def _noted(
    source: GradientSource, asked: dict[int, tuple[FloatVector, FloatVector]]
) -> GradientSource:
    """The same source; where it was asked and what it said is kept."""

    def noting(t: int, point: FloatVector) -> FloatVector:
        gradient = source(t, point)
        asked[t] = point, gradient
        return gradient

    return noting


def _update(
    parameters: ValidParameters,
    state: ValidState,
    t: int,
    asked: Mapping[int, tuple[FloatVector, FloatVector]],
    *,
    spoke: bool,
) -> Update | None:
    """The learning step of round t; None outside of learning and after the agent fell silent."""
    inner, lattice = state.inner, parameters.lattice
    if not isinstance(inner, LearnState) or t not in asked:
        return None
    Y = mix(lattice, t, *_models(parameters, inner))
    point, gradient = evaluation_point(lattice, Y), asked[t][1]
    exact: tuple[int, ...] | None = None
    if spoke:
        try:
            exact = tuple(to_lattice(gradient, lattice.precision).tolist())
        except LatticeError:  # pragma: no cover - then the agent is silent
            exact = None
    return Update(tuple(Y.tolist()), tuple(point.tolist()), tuple(gradient.tolist()), exact)


def _models(parameters: ValidParameters, state: LearnState) -> tuple[IntVector, list[IntVector]]:
    """x_v(t-1) and the x_uv(t-1) that the agent holds; zero where nothing usable came (LM-4)."""
    neighbours = parameters.graph.neighbours(state.agent)
    if state.heard is None:
        return parameters.start_model, [parameters.start_model] * len(neighbours)
    zero, received = np.zeros_like(parameters.start_model), state.heard.received
    models = [received[u].model if u in received else zero for u in neighbours]
    return state.heard.own.model, models
