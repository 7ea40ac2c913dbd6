"""The validation phase of a run: the machines of the reference on the transcripts of the backend.

Hashes and estimates are computed by the backend; every broadcast, every check and every verdict is
that of `valid_ref`, in the validation of the paper and in lean validation alike. Byzantine agents
can lie in it by the attacks of the reference.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_args

import attrs
import numpy as np
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.delivery import Said
from torch_backend.engine import State
from torch_backend.errors import BackendAttackError, ConfigError
from torch_backend.estimates import Row
from torch_backend.program import Program
from torch_backend.reports import Keys, Reports, reports, rows_of
from torch_backend.squares import squared_norms
from torch_backend.transcripts import StoredTranscripts
from valid_ref.adversary.attack import Attack, Setting, quiet, together
from valid_ref.adversary.broadcasts import (
    LastRoundEquivocator,
    LateFalseAlarm,
    RelayTamperer,
    SilentSource,
)
from valid_ref.adversary.reports import EstimateLiar, FalseReport, HashLiar
from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.execution import Execution
from valid_ref.machine import Adversary, honest, run_machine
from valid_ref.protocols.global_validate import Estimate
from valid_ref.protocols.lean import Opening, check_openings
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.local_validate import PHASE, Transcript
from valid_ref.protocols.measures import Numbers
from valid_ref.protocols.remembered import Remembered
from valid_ref.protocols.valid import Learned, Valid
from valid_ref.protocols.validation import Validation, ValidationInput
from valid_ref.wide import content

ValueT = TypeVar("ValueT", Numbers, Estimate)

Secrets = Sequence[int | Opening]
"""What every agent brings: its key, or in lean validation its opening."""

Excess = tuple[Alarm, int]
"""A norm that exceeds its bound, and the round."""


@attrs.frozen
class StoredMeasures(Remembered):
    """The measures of transcripts that lie in files.

    A transcript is stood for by its last message, one object for everybody who received it.

    Implements: LV-5, GV-2.
    """

    row_of: Mapping[int, Row] = attrs.field(kw_only=True, eq=False, repr=False)
    hashed: Callable[[Keys], Reports] = attrs.field(kw_only=True, eq=False, repr=False)
    estimates: Mapping[Row, Estimate] = attrs.field(kw_only=True, eq=False, repr=False)
    excesses: Mapping[Row, tuple[Excess, ...]] = attrs.field(kw_only=True, eq=False, repr=False)

    def _row(self, transcript: Transcript) -> Row:
        return self.row_of[id(transcript[-1])]

    def norms(self, sender: int, transcript: Transcript) -> Alarms:
        """The norm checks of what one neighbour sent.

        Implements: LV-2.
        """
        found = self.excesses.get(self._row(transcript), ())
        return tuple(Raised(alarm, PHASE, t, sender) for alarm, t in found)

    def report(self, keys: Numbers, transcript: Transcript) -> Numbers:
        """The hashes of a transcript; those of all are made when the first is asked for."""
        return self.hashed(keys)[self._row(transcript)]

    def estimate(self, transcript: Transcript) -> Estimate:
        """The estimates that were kept up while learning."""
        return self.estimates[self._row(transcript)]

    def is_estimate(self, value: object) -> bool:
        """What was summed up from gradients in range is within the bounds of the form.

        Implements: GV-3.
        """
        return any(value is own for own in self.estimates.values()) or super().is_estimate(value)


@attrs.frozen(eq=False)
class Validated:
    """How a run ended: the rounds of the validation phase, every agent's alarms and verdict."""

    execution: Execution

    @property
    def alarms(self) -> tuple[Alarms, ...]:
        """Everybody's alarms, those of learning first."""
        states = self.execution.states
        return tuple(states[agent].memory.alarms for agent in sorted(states))

    @property
    def valid(self) -> tuple[bool, ...]:
        """Everybody's verdict."""
        states = self.execution.states
        return tuple(not states[agent].memory.invalid for agent in sorted(states))


def fresh_keys(program: Program) -> Keys:
    """Keys from the coins of the run, one for each agent, uniform on the field.

    Implements: LV-3.
    """
    prime, agents = program.parameters.field.prime, range(program.graph.agents)
    return tuple(program.coins.integer_below(prime, "key", v) for v in agents)


def fresh_openings(program: Program) -> tuple[Opening, ...]:
    """For lean validation nonces and shares from the coins of the run.

    Implements: LE-4.
    """
    agents, coins = range(program.graph.agents), program.coins
    openings = (Opening.of_coins(coins.child("opening", v), program.parameters) for v in agents)
    return tuple(openings)


def fresh_secrets(program: Program) -> Secrets:
    """What every agent brings to the validation of this run: a key, or an opening.

    Implements: LV-3, LE-4.
    """
    return fresh_keys(program) if program.parameters.lean is None else fresh_openings(program)


def validate(
    program: Program,
    state: State,
    transcripts: StoredTranscripts,
    secrets: Secrets,
    *,
    adversary: Adversary = honest,
    derive: bool = True,
) -> Validated:
    """Run the validation phase, of the paper or lean as the parameters say, to everybody's verdict.

    `secrets` are the keys, or the openings. Byzantine agents report honestly and claim to have no
    alarm unless `adversary` says otherwise; it sees the rounds of this phase. `derive`: see
    `torch_backend.reports`.

    Implements: VA-1, VA-2, LE-5.
    """
    _check(program, state, transcripts, secrets)
    estimates = _interned({} if state.estimates is None else state.estimates.values())
    last = _messages(transcripts.spoken(program.rounds), rows_of(transcripts))
    made: dict[Keys, Reports] = {}

    def hashed(wanted: Keys) -> Reports:
        if wanted not in made:
            made[wanted] = _interned(reports(transcripts, wanted, derive=derive))
        return made[wanted]

    measures = StoredMeasures(
        program.parameters,
        # Sound: the machines hand on the messages that `last` holds, and `last` outlives them, so
        # that no id is given to another object; a message from elsewhere would be a KeyError.
        row_of={id(message): row for row, message in last.items()},
        hashed=hashed,
        estimates={row: estimates.get(row, estimates[_sender(row)]) for row in last},
        excesses=_excesses(program, transcripts),
    )
    graph = program.graph
    fixed = {
        agent: ValidationInput(
            secret, Learned(_transcripts(program, agent, last), state.alarms[agent])
        )
        for agent, secret in enumerate(secrets)
    }
    result = run_machine(
        graph,
        Validation(Valid(program.parameters, measures)),
        fixed,
        byzantine=frozenset(program.byzantine),
        adversary=together(quiet, adversary),
    )
    byzantine = frozenset(program.byzantine)
    return Validated(Execution(program.parameters, byzantine, result.rounds, result.states))


def _check(
    program: Program, state: State, transcripts: StoredTranscripts, secrets: Secrets
) -> None:
    if state.t != program.rounds or transcripts.rounds != program.rounds:
        raise ConfigError(
            f"the state is of round {state.t} and there are transcripts of {transcripts.rounds} "
            f"rounds; validation begins after all {program.rounds}",
            clause="LV-1",
        )
    if len(secrets) != program.graph.agents:
        raise ConfigError(
            f"keys or openings of {len(secrets)} agents, where there are {program.graph.agents}",
            clause="LV-3",
        )
    check_openings(secret for secret in secrets if isinstance(secret, Opening))
    whole = state.estimates is not None and not state.estimates.counted
    if not whole or state.estimates is None or state.estimates.own != program.graph.agents:
        raise ConfigError(
            'validation needs the estimates of every agent: train with estimate = "agents" and '
            "gather the estimates of all processes",
            clause="GV-2",
        )


def _interned(values: Mapping[Row, ValueT]) -> Mapping[Row, ValueT]:
    """The same values, equal ones interned as one object, so that they compare at once."""
    known: dict[object, ValueT] = {}
    return {row: known.setdefault(content(value), value) for row, value in values.items()}


def _sender(row: Row) -> int:
    return row[0] if isinstance(row, tuple) else row


def _messages(said: Said, rows: Sequence[Row]) -> dict[Row, LearningMessage]:
    """The last message of every transcript, zero where nothing usable came."""
    models, _edges = said.usable_models()
    gammas, edges = said.usable_gammas(), said.usable_edges()

    def message(row: Row) -> LearningMessage:
        pair = (models[_sender(row)], gammas[_sender(row)])
        if isinstance(row, tuple):
            pair = edges.get(row, pair)
        return LearningMessage(*(vector.numpy() for vector in pair))

    return {row: message(row) for row in rows}


def _transcripts(program: Program, agent: int, last: Mapping[Row, LearningMessage]) -> Transcripts:
    received = {
        sender: (last.get((sender, agent), last[sender]),)
        for sender in program.graph.neighbours(agent)
    }
    return Transcripts((last[agent],), received)


def _excesses(program: Program, transcripts: StoredTranscripts) -> Mapping[Row, tuple[Excess, ...]]:
    """Where models exceed B_t or gradients C_t; a pass over the files if there are bounds.

    Implements: LV-2.
    """
    bounds = program.parameters.bounds
    if bounds is None:
        return {}
    rows = rows_of(transcripts)
    found: dict[Row, list[Excess]] = {row: [] for row in rows}
    for said in transcripts.said():
        messages = _messages(said, rows).values()
        models = _stacked([message.model for message in messages])
        gammas = _stacked([message.scaled_gradient for message in messages])
        gradients = lattice.read_gradients(program.lattice, said.t, gammas)
        squares = zip(rows, squared_norms(models), squared_norms(gradients), strict=True)
        for row, model, gradient in squares:
            if model > bounds.model_squared[said.t - 1]:
                found[row].append((Alarm.MODEL_NORM, said.t))
            if gradient > bounds.gradient_squared[said.t - 1]:
                found[row].append((Alarm.GRADIENT_NORM, said.t))
    return {row: tuple(excesses) for row, excesses in found.items()}


def _stacked(vectors: Sequence[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.stack(vectors))


Liar = (
    HashLiar
    | FalseReport
    | EstimateLiar
    | SilentSource
    | LastRoundEquivocator
    | RelayTamperer
    | LateFalseAlarm
)
"""Attacks that need nothing of the learning phase but its parameters."""

LIARS: Mapping[str, type[Liar]] = MappingProxyType({liar.kind: liar for liar in get_args(Liar)})
"""Every such attack by its kind."""


def liar(program: Program, attack: Liar) -> Adversary:
    """The adversary for `validate` that makes the Byzantine agents of a run lie like this.

    Implements: AD-9.
    """
    if not program.byzantine:
        raise BackendAttackError(f"{attack.kind}: nobody in this run is Byzantine")
    no_problem = cast("Any", None)  # losses with known constants, which a network does not have
    setting = Setting(
        parameters=program.parameters,
        problem=no_problem,
        byzantine=frozenset(program.byzantine),
        delta=0.0,
        coins=program.coins.child("attack"),
    )
    return cast("Attack", attack).build(setting).adversary
