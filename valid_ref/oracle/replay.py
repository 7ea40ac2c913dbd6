"""Every agent of a recording replayed through the reference."""

import itertools
import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from valid_ref.alarms import Alarm, Raised
from valid_ref.kernels import Backend, compiled, settle
from valid_ref.lattice import WORD_LIMIT, IntVector, LatticeParameters, mix, shift_half_even
from valid_ref.machine import Addressed, Message, Round
from valid_ref.oracle.divergence import (
    SAME_TO_ALL,
    Difference,
    Divergence,
    alarm_difference,
    message_difference,
)
from valid_ref.oracle.read import Recording
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import BroadcastState, ValidatedBroadcast
from valid_ref.protocols.flood import SUM, TOTAL, Flood, Flooded, FloodState
from valid_ref.protocols.lean_stages import FixStage, OpenStage, ReportStage
from valid_ref.protocols.learn import PHASE, LearningMessage, LearnModel, LearnState
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.protocols.remembered import Replayed
from valid_ref.protocols.valid import (
    EstimateStage,
    HashStage,
    LearnStage,
    Private,
    Stage,
    Valid,
    ValidState,
)
from valid_ref.protocols.validation import no_gradient
from valid_ref.wide import WideIntegers
from valid_ref.wire import AlarmLine, alarm_line
from valid_ref.words import Malformed

COLUMNS = 1 << 13
"""How many entries of all agents are looked at together, so that they stay in the cache."""

LOOPS_PAY_FROM = 1 << 15
"""From so many entries of a round on the compiled form is worth loading."""

Matrix = npt.NDArray[np.int64]


class ConfirmedMessages:
    """What is known of the current learning round: messages in range, agents that follow.

    Implements: RE-9.
    """

    def __init__(self, parameters: ValidParameters) -> None:
        self._parameters = parameters
        self._before: list[Message] = []
        self._said: list[Message] = []
        self._fit: tuple[frozenset[int], frozenset[int]] = frozenset(), frozenset()
        self._follow: frozenset[int] = frozenset()

    def observe(
        self,
        spoken: Round,
        models: Matrix | None,
        gradients: Matrix | None,
        earlier: Matrix | None,
    ) -> None:
        """Take in a round; of a learning round its rows [n, d], and the models of the last one."""
        agents = range(self._parameters.graph.agents)
        self._before, self._said = self._said, []
        fit, self._follow = frozenset[int](), frozenset()
        if models is not None and gradients is not None:
            self._said = [spoken.said[agent] for agent in agents]
            inside, relation = confirm(self._parameters, spoken.number, earlier, models, gradients)
            real = [v for v in agents if inside[v] and isinstance(self._said[v], LearningMessage)]
            # Sound: `_said` and `_before` keep the messages of both rounds whose ids are known.
            fit = frozenset(id(self._said[v]) for v in real)
            self._follow = frozenset(v for v in real if relation[v])
        self._fit = self._fit[1], fit

    def fits(self, message: Message) -> bool:
        """Whether this very message of this round or the last is known to be in range."""
        return id(message) in self._fit[0] or id(message) in self._fit[1]

    def follows(
        self, agent: int, found: Message, own: IntVector, neighbours: Sequence[IntVector]
    ) -> bool:
        """Whether what an agent says is known to follow from just these models."""
        if agent not in self._follow or found is not self._said[agent]:
            return False
        if not self._before:
            start = self._parameters.start_model
            return own is start and all(model is start for model in neighbours)
        senders = (agent, *self._parameters.graph.neighbours(agent))
        return all(
            isinstance(message := self._before[sender], LearningMessage) and message.model is model
            for sender, model in zip(senders, (own, *neighbours), strict=True)
        )


def confirm(
    parameters: ValidParameters,
    t: int,
    earlier: Matrix | None,
    models: Matrix,
    gradients: Matrix,
    backend: Backend = Backend.AUTO,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For every agent whether its rows are in range, and whether they are x(t) and Gamma(t).

    `earlier` are the models of round t-1, None for x_0. They are if 2^k x + Gamma = Y and
    A_t < 2^k: then some A_t G lies among the 2^k - 1 numbers or more that are rounded to x. Else,
    and without P17, nothing is confirmed. Numbers beyond the range may wrap; nobody is confirmed
    by them.

    Implements: RE-9, AR-4, AR-5, AR-6.
    """
    lattice, graph = parameters.lattice, parameters.graph
    bits, schedule = lattice.precision.step_bits, lattice.schedule
    fit = np.ones(graph.agents, dtype=np.bool_)
    follow = np.full(graph.agents, parameters.reading.P17 and schedule.A(t) < 1 << bits)
    settled = settle("loops", backend, models.size, pays_from=LOOPS_PAY_FROM)
    loops = compiled("loops", settled)
    if loops is not None and max(lattice.model_limit, lattice.gradient_limit) < WORD_LIMIT:
        before = parameters.start_model[np.newaxis, :] if earlier is None else earlier
        rows = (np.ascontiguousarray(array) for array in (models, gradients, before))
        limits = lattice.model_limit, lattice.gradient_limit
        loops.confirm(*rows, *_flat(parameters), schedule.a(t), bits, *limits, fit, follow)
        return fit, follow
    for begin in range(0, lattice.dimension, COLUMNS):
        columns = slice(begin, begin + COLUMNS)
        x, gamma = models[:, columns], gradients[:, columns]
        fit &= _within(x, lattice.model_limit) & _within(gamma, lattice.gradient_limit)
        if not follow.any():
            continue
        if earlier is None:  # everybody stands at x_0, where mixing changes nothing
            Y = parameters.start_model[np.newaxis, columns] << bits
        else:
            Y = _mixed(parameters, t, earlier[:, columns])
        found = x << bits
        found += gamma
        follow &= (found == Y).all(axis=1)
    return fit, follow


def _flat(parameters: ValidParameters) -> tuple[Matrix, Matrix]:
    """Where the neighbours of every agent end, and all neighbours one after the other."""
    near = [parameters.graph.neighbours(v) for v in range(parameters.graph.agents)]
    ends = np.cumsum([0, *map(len, near)], dtype=np.int64)
    return ends, np.fromiter(itertools.chain.from_iterable(near), np.int64, int(ends[-1]))


def _within(rows: Matrix, limit: int) -> npt.NDArray[np.bool_]:
    inside: Any = (rows.max(axis=1) < limit) & (rows.min(axis=1) > -limit)
    return np.asarray(inside, dtype=np.bool_)


def _mixed(parameters: ValidParameters, t: int, x: Matrix) -> Matrix:
    """Y = (2^k - a_t deg) x_v + a_t sum_u x_u of all agents.

    Implements: AR-4.
    """
    graph, lattice = parameters.graph, parameters.lattice
    a, scale = lattice.schedule.a(t), 1 << lattice.precision.step_bits
    rows = np.ascontiguousarray(x)
    mixed = np.zeros_like(rows)
    for v in range(graph.agents):
        near = graph.neighbours(v)
        for u in near:
            np.add(mixed[v], rows[u], out=mixed[v])
        mixed[v] *= a
        mixed[v] += (scale - a * len(near)) * rows[v]
    return mixed


Recorded = Callable[[int], Message]
"""What an agent says to all in the coming learning round, as recorded; None for silence."""


@attrs.frozen
class ReplayedLearnModel(LearnModel):
    """LearnModel with the recorded message in place of the private gradient.

    Implements: RE-9.
    """

    recorded: Recorded = attrs.field(kw_only=True, eq=False)
    confirmed: ConfirmedMessages = attrs.field(kw_only=True, eq=False)

    def _advance(
        self, state: LearnState, t: int, own: IntVector, neighbours: list[IntVector]
    ) -> LearnState:
        """The recorded message if some gradient explains it, else the nearest one that is.

        Silence is explained by a gradient that leaves the range (AR-14); it comes with an alarm.
        """
        found = self.recorded(state.agent)
        if found is None:
            raised = Raised(Alarm.OWN_UPDATE_OUT_OF_RANGE, PHASE, t, about=state.agent)
            return attrs.evolve(state, message=None, alarms=(*state.alarms, raised))
        confirmed = self.confirmed.follows(state.agent, found, own, neighbours)
        if isinstance(found, LearningMessage) and confirmed:
            return attrs.evolve(state, message=found)
        Y = mix(self.parameters, t, own, neighbours)
        if self.problem(found) is not None or not isinstance(found, LearningMessage):
            zero = np.zeros_like(Y)
            return attrs.evolve(state, message=explained(self.parameters, t, Y, zero, self.absorbs))
        expected = explained(self.parameters, t, Y, found.scaled_gradient, self.absorbs)
        return attrs.evolve(state, message=found if same(expected, found) else expected)

    def problem(self, message: Message) -> Alarm | None:
        """The same, known at once of what a whole round was confirmed for."""
        return None if self.confirmed.fits(message) else super().problem(message)

    @property
    def absorbs(self) -> bool:
        """Whether Gamma absorbs the rounding."""
        return self.reading.P17


def explained(
    parameters: LatticeParameters, t: int, Y: IntVector, gamma: IntVector, absorb: bool
) -> LearningMessage:
    """The message of an honest agent whose scaled gradient is, or is nearest to, this one.

    x must be the rounding of (Y - A_t G) / 2^k for some integer G, per entry.

    Implements: RE-9.
    """
    A, bits = parameters.schedule.A(t), parameters.precision.step_bits
    if not absorb:
        plain = A * _nearest(gamma, A)
        return LearningMessage(shift_half_even(Y - plain, bits), plain)
    x = shift_half_even(Y - gamma, bits)
    below = (Y - (x << bits)) // A
    lower, upper = (shift_half_even(Y - A * G, bits) for G in (below, below + 1))
    near = shift_half_even(Y - A * _nearest(Y - (x << bits), A), bits)
    possible = (lower == x) | (upper == x)
    reached: IntVector = np.where(possible, x, near)
    return LearningMessage(reached, Y - (reached << bits))


def _nearest(numerator: IntVector, divisor: int) -> IntVector:
    quotient = numerator // divisor
    rest = numerator - quotient * divisor
    rounded: IntVector = quotient + (rest > divisor - rest)
    return rounded


def same(left: LearningMessage, right: LearningMessage) -> bool:
    """Whether two well-formed learning messages are equal."""
    return np.array_equal(left.model, right.model) and np.array_equal(
        left.scaled_gradient, right.scaled_gradient
    )


@attrs.frozen
class ReplayedFlood(Flood):
    """A flood in which one's own value is the very object that the reader gives for it.

    What follows from the same objects is computed once for all agents.
    """

    measures: Replayed = attrs.field(kw_only=True, eq=False, repr=False)

    def start(self, agent: int, private: Flooded) -> FloodState:
        """Begin with the value that stands in the recording, if it is there."""
        value = self.measures.one(self.slot, private.value)
        return super().start(agent, attrs.evolve(private, value=value))


@attrs.frozen
class ReplayedValid(Valid):
    """The whole protocol, with its learning phase replayed.

    Implements: RE-9.
    """

    stages: tuple[Stage, ...] = attrs.field(kw_only=True, eq=False, repr=False)


def _trusting(machine: ValidatedBroadcast, form: type) -> ValidatedBroadcast:
    """The same broadcast; a recording delivers none of these but well-formed ones (RowReader)."""

    def has_type(_tag: object, value: object) -> bool:
        return type(value) is form

    return attrs.evolve(machine, well_formed=has_type)


def _replayed_flood(machine: Flood, measures: Replayed) -> ReplayedFlood:
    """The same flood."""
    fields = ("routes", "phase", "slot", "well_formed", "last", "adding")
    return ReplayedFlood(**{name: getattr(machine, name) for name in fields}, measures=measures)


def replayed(
    parameters: ValidParameters,
    recorded: Recorded,
    measures: Replayed,
    confirmed: ConfirmedMessages,
) -> ReplayedValid:
    """The machine of the agents whose learning messages are recorded."""

    def stage_of(stage: Stage) -> Stage:
        if isinstance(stage, LearnStage):
            machine = ReplayedLearnModel(
                parameters.graph,
                parameters.lattice,
                parameters.start_model,
                parameters.reading,
                recorded=recorded,
                confirmed=confirmed,
            )
            return attrs.evolve(stage, machine=machine)
        if isinstance(stage, HashStage):
            return attrs.evolve(stage, machine=_trusting(stage.machine, tuple))
        if isinstance(stage, EstimateStage):
            return attrs.evolve(stage, machine=_trusting(stage.machine, WideIntegers))
        if isinstance(stage, FixStage | OpenStage | ReportStage):
            return attrs.evolve(stage, machine=_replayed_flood(stage.machine, measures))
        return stage

    stages = tuple(stage_of(stage) for stage in Valid(parameters, measures).stages)
    return ReplayedValid(parameters, measures, stages=stages)


END = "the end"


class AgentReplay:
    """Replays one agent on the inboxes that the recording has for it.

    Rounds come one ahead: `judge` sees what is said, `hear` what is received and what follows.
    `coming` is where the machine looks up what an agent says next.

    Implements: RE-9.
    """

    def __init__(
        self, recording: Recording, agent: int, machine: ReplayedValid, coming: dict[int, object]
    ) -> None:
        self.recording, self.agent = recording, agent
        self.parameters = recording.parameters
        self.divergence: Divergence | None = None
        self.state: ValidState | None = None
        self._machine, self._coming = machine, coming
        self._number = 1
        self._agreed = "the start"
        self._place: tuple[str, int] = (END, 0)
        self._keys_missing = len(recording.keys) < recording.header.agents

    def begin(self, first: Round) -> None:
        """Enter the first phase."""
        key = 0 if self._keys_missing else self.recording.keys[self.agent]
        self._expect(first)
        if self._keys_missing and first.phase != LEARNING:
            return
        self.state = self._machine.start(self.agent, Private(no_gradient, key))

    def _expect(self, following: Round | None) -> None:
        learning = following is not None and following.phase == LEARNING
        said = self._to_all(following) if learning and following is not None else None
        self._coming[self.agent] = said

    def _to_all(self, spoken: Round, apart: Container[int] = ()) -> Message:
        """What all neighbours of the agent hear from it, else what it is recorded to say to all.

        Neighbours in `apart` must hear something else.
        """
        receivers = [r for r in self.parameters.graph.neighbours(self.agent) if r not in apart]
        if not spoken.deviations or not receivers:
            return spoken.said[self.agent]
        heard = [spoken.deviations.get((self.agent, r), spoken) for r in receivers]
        differs = any(
            message is spoken
            or message_difference(self.parameters, spoken.phase, self.agent, heard[0], message)
            for message in heard
        )
        return spoken.said[self.agent] if differs else heard[0]

    def judge(self, spoken: Round) -> None:
        """Compare what the agent says with what it must say, to all and on every edge.

        Implements: RE-9.
        """
        if self.divergence is not None or self.state is None:
            return
        phase, self._place = spoken.phase, (spoken.phase, spoken.number)
        word = self._said_by_the_machine(self.state)
        expected, apart = (word.usual, word.to) if isinstance(word, Addressed) else (word, {})
        said, heard_by_all = spoken.said[self.agent], self._to_all(spoken, apart)
        receivers = self.parameters.graph.neighbours(self.agent)
        on_edges = [r for r in receivers if (self.agent, r) in spoken.deviations]
        # A recorder that knows only edges records nothing to all; whatever it records is judged.
        found_to_all = [heard_by_all]
        if said is not None and said is not heard_by_all:
            found_to_all.append(said)
        if said is None and {*receivers} == {*on_edges} == {*apart}:
            found_to_all = []
        for found in found_to_all:
            kept = self._kept(expected)
            difference = message_difference(self.parameters, phase, self.agent, kept, found)
            if difference is not None:
                self._diverge(difference)
                return
        for receiver in (r for r in receivers if r in on_edges or r in apart):
            heard = spoken.on_edge(self.agent, receiver)
            wanted = self._kept(apart.get(receiver, expected))
            difference = message_difference(self.parameters, phase, self.agent, wanted, heard)
            if difference is not None:
                if receiver not in apart:
                    clause = SAME_TO_ALL.get(phase, "VB-4")
                    difference = attrs.evolve(difference, clause=clause)
                self._diverge(difference, (self.agent, receiver))
                return
        self._agreed = f"the message of {phase} round {spoken.number}"

    def _kept(self, expected: Message) -> Message:
        """What a log keeps of a message: of a value that has not its form, only that.

        In a flood an agent's own value and its sum may be such, where its own gradients are beyond
        the norm bounds.

        Implements: RE-4, RE-9.
        """
        machine = None if self.state is None else self._machine.stages[self.state.stage].machine
        if not isinstance(machine, Flood) or not isinstance(expected, Mapping):
            return expected
        own = (self.agent, machine.slot), (self.agent, SUM), (machine.routes.root, TOTAL)
        wrong = [t for t in own if t in expected and not machine.well_formed(t, expected[t])]
        return {**expected, **dict.fromkeys(wrong, Malformed())} if wrong else expected

    def _said_by_the_machine(self, state: ValidState) -> Message:
        """What the agent must say: in a flood what is new, or all that it holds (VB-4, VB-11).

        Implements: RE-9.
        """
        if self.agent in self.recording.header.flood_held and isinstance(
            state.inner, BroadcastState
        ):
            return state.inner.held
        return self._machine.send(state, self._number)

    def hear(self, spoken: Round, following: Round | None) -> None:
        """Receive what was recorded on the edges to the agent; after a phase compare alarms."""
        if self.divergence is not None or self.state is None:
            return
        if self._keys_missing and (following is None or following.phase != LEARNING):
            self.state = None
            return
        self._expect(following)
        inbox, before = spoken.inbox(self.parameters.graph, self.agent), self.state
        self.state = self._machine.receive(before, self._number, inbox)
        self._number += 1
        if self.state.stage != before.stage:
            self._compare_alarms(final_phase=self.state.stage + 1 == len(self._machine.stages))

    def _compare_alarms(self, *, final_phase: bool) -> None:
        """After a phase its alarms must be recorded; before the agreement no others may be.

        Implements: RE-9.
        """
        ends = self.recording.agents
        if ends is None or self.state is None:
            return
        expected = self._expected_alarms(self.state)
        recorded = ends[self.agent].alarms
        if final_phase:
            recorded = tuple(alarm for alarm in recorded if alarm.phase != AGREEMENT)
        difference = alarm_difference(expected, recorded, so_far=not final_phase)
        if difference is not None:
            self._diverge(difference)
        elif expected:
            self._agreed = f"alarm {len(expected) - 1} ({expected[-1].reason})"

    def _expected_alarms(self, state: ValidState) -> tuple[AlarmLine, ...]:
        return tuple(alarm_line(raised) for raised in state.memory.alarms)

    def judge_end(self) -> None:
        """All alarms, the verdict, the model.

        Implements: RE-9.
        """
        ends = self.recording.agents
        if self.divergence is not None or self.state is None or ends is None:
            return
        found, expected = ends[self.agent], self._expected_alarms(self.state)
        difference = alarm_difference(expected, found.alarms)
        if difference is not None:
            self._diverge(difference)
            return
        self._agreed, self._place = "the alarms", (END, 0)
        valid = not self.state.memory.invalid
        if found.valid != valid:
            names = {True: "valid", False: "invalid"}
            self._diverge(Difference("VA-2", "verdict", names[valid], names[found.valid]))
            return
        self._agreed = "the verdict"
        wanted = self._machine.output(self.state)
        seen = self.recording.arrays["outputs"][self.agent]
        wrong = seen != 0 if wanted is None else seen != wanted
        if wrong.any():
            index = int(wrong.argmax())
            entry = 0 if wanted is None else int(wanted[index])
            clause = "VA-2" if wanted is None else "LM-6"
            self._diverge(
                Difference(clause, "final model", str(entry), str(int(seen[index])), index)
            )

    def _diverge(self, difference: Difference, edge: tuple[int, int] | None = None) -> None:
        command = f"valid-ref check {shlex.quote(str(self.recording.path))} --agent {self.agent}"
        phase, number = self._place
        self.divergence = Divergence(
            agent=self.agent,
            phase=phase,
            round=number,
            edge=edge,
            agreed=self._agreed,
            difference=difference,
            replay=command,
        )
