"""Drive one agent through one case, up to its first divergence."""

import contextlib
from collections.abc import Iterator

import attrs

from valid_ref.oracle.divergence import Difference, Divergence, alarm_difference, message_difference
from valid_ref.testing.conform import blame, replies
from valid_ref.testing.conform.case import Case
from valid_ref.testing.conform.errors import AgentFault, Kind
from valid_ref.testing.conform.replies import Conversation
from valid_ref.testing.conform.script import Script, Turn
from valid_ref.wire import AlarmLine, shown

START, END = "the start", "the end"


@attrs.frozen
class Finding:
    """The first thing in a case that an agent may not do, and of which sort it is.

    `stderr` are the last lines that it had written to its standard error.

    Implements: CF-11, CF-19.
    """

    case: Case
    kind: Kind
    divergence: Divergence
    stderr: str = ""

    @property
    def clause(self) -> str:
        """The clause that is broken."""
        return self.divergence.difference.clause


class _Diverges(Exception):  # noqa: N818 - ends a walk
    def __init__(
        self, difference: Difference, kind: Kind = Kind.BEHAVIOUR, sender: int | None = None
    ) -> None:
        super().__init__(difference.what)
        self.difference, self.kind, self.sender = difference, kind, sender


def drive(script: Script, talk: Conversation) -> Finding | None:
    """Play a case with the agent under test; None if every answer is the reference's.

    Implements: CF-11, CF-12, CF-13.
    """
    walk = _Walk(script, talk)
    try:
        walk.run()
    except (AgentFault, _Diverges) as problem:
        if isinstance(problem, AgentFault):
            difference = Difference(problem.clause, problem.what, problem.expected, problem.found)
            sender = None
        else:
            difference, sender = problem.difference, problem.sender
        edge = None if sender is None else (sender, script.agent)
        divergence = Divergence(script.agent, *walk.place, edge, walk.agreed, difference, "")
        return Finding(script.case, problem.kind, divergence)
    return None


class _Walk:
    """One case; `agreed` is the last answer that is as it must be."""

    def __init__(self, script: Script, talk: Conversation) -> None:
        self.script, self.talk = script, talk
        self.place: tuple[str, int] = (START, 0)
        self.agreed = "hello"
        self.said: list[object] = []

    def run(self) -> None:
        replies.start(self.talk, self.script.parameters, self.script.agent, self.script.key)
        self.agreed = START
        for turn in self.script.turns:
            if self.place[0] != turn.phase:
                self.said.clear()
            self.place = turn.phase, turn.round
            self.mix(turn)
            self.speak(turn)
            self.hear(turn)
        self.place = END, 0
        self.finish()

    def mix(self, turn: Turn) -> None:
        """Y and the point of a learning round."""
        if turn.update is None:
            return
        with _named_forms(turn):
            Y, point = replies.mix(self.talk, turn.number)
        clause = blame.mixing_clause(self.script, turn)
        _same_entries(clause, "Y", turn.update.Y, Y)
        _same_entries("AR-4", "evaluation point", turn.update.point, point)
        self.agreed = f"Y of {turn.phase} round {turn.round}"

    def speak(self, turn: Turn) -> None:
        """The lattice gradient and the message."""
        parameters = self.script.parameters
        gradient = None if turn.update is None else turn.update.gradient
        dimension = parameters.lattice.dimension
        with _named_forms(turn, self.script.agent):
            found, lattice = replies.send(self.talk, turn.number, gradient, dimension)
        wanted = None if turn.update is None else turn.update.lattice
        if wanted is not None and lattice is not None:
            _same_entries("AR-3", "lattice gradient", wanted, lattice)
        expected = turn.everything_held if self.talk.floods_all else turn.message
        agent = self.script.agent
        difference = message_difference(parameters, turn.phase, agent, expected, found)
        if difference is not None:
            clause = blame.message_clause(
                self.script, turn, difference.clause, expected, found, self.said
            )
            raise _Diverges(attrs.evolve(difference, clause=clause))
        if wanted is not None and lattice is None:
            raise _Diverges(Difference("AR-3", "lattice gradient", shown(wanted), "nothing"))
        self.said.append(found)
        self.agreed = f"the message of {turn.phase} round {turn.round}"

    def hear(self, turn: Turn) -> None:
        """The alarms over what was received."""
        found = replies.receive(self.talk, turn.number, turn.inbox)
        if found != turn.alarms:
            raise self._alarm_divergence(turn, found)
        self.agreed = f"the alarms of {turn.phase} round {turn.round}"

    def _alarm_divergence(self, turn: Turn, found: tuple[AlarmLine, ...]) -> _Diverges:
        """The first alarm that is missing or superfluous; if there is none, the order is wrong.

        Implements: CF-9.
        """
        missing, others = _without(turn.alarms, found), _without(found, turn.alarms)
        difference = alarm_difference(missing[:1], others[:1])
        if difference is None:
            pairs = zip(turn.alarms, found, strict=True)
            wanted, seen = next((one, other) for one, other in pairs if one != other)
            return _Diverges(Difference("MO-12", "order of alarms", shown(wanted), shown(seen)))
        clause = blame.alarm_clause(self.script, turn, difference.clause, missing, others)
        decisive = (missing or others)[0]
        place = f"{len(turn.alarms)} alarms expected, {len(found)} found"
        difference = attrs.evolve(difference, clause=clause, what=f"alarm ({place})")
        return _Diverges(difference, sender=decisive.sender)

    def finish(self) -> None:
        """All alarms, the verdict, the model."""
        valid, model, alarms = replies.end(self.talk)
        expected = tuple(alarm for turn in self.script.turns for alarm in turn.alarms)
        difference = alarm_difference(expected, alarms)
        if difference is not None:
            raise _Diverges(attrs.evolve(difference, clause="MO-7"))
        self.agreed = "the alarms at the end"
        if valid != self.script.valid:
            names = {True: "valid", False: "invalid"}
            raise _Diverges(Difference("VA-2", "verdict", names[self.script.valid], names[valid]))
        self.agreed = "the verdict"
        if (model is None) != (self.script.model is None):
            raise _Diverges(
                Difference("VA-2", "final model", shown(self.script.model), shown(model))
            )
        if model is not None and self.script.model is not None:
            _same_entries("LM-6", "final model", self.script.model, model)


@contextlib.contextmanager
def _named_forms(turn: Turn, agent: int | None = None) -> Iterator[None]:
    """A number that is no integer is blamed on the clause that makes it one."""
    try:
        yield
    except AgentFault as fault:
        fault.clause = blame.form_clause(turn.phase, fault, agent)
        raise


def _without(alarms: tuple[AlarmLine, ...], others: tuple[AlarmLine, ...]) -> tuple[AlarmLine, ...]:
    """The alarms that are not among the others, counted."""
    rest, found = list(others), []
    for alarm in alarms:
        if alarm in rest:
            rest.remove(alarm)
        else:
            found.append(alarm)
    return tuple(found)


def _same_entries(
    clause: str, what: str, expected: tuple[float, ...], found: tuple[float, ...]
) -> None:
    """Demand two vectors to be equal, and name the first entry that is not."""
    if len(expected) != len(found):
        sizes = f"{len(expected)} entries", f"{len(found)} entries"
        raise _Diverges(Difference(clause, what, *sizes))
    for index, (wanted, seen) in enumerate(zip(expected, found, strict=True)):
        if wanted != seen:
            raise _Diverges(Difference(clause, what, str(wanted), str(seen), index))
