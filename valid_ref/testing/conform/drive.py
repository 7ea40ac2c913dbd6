"""Ask an agent, and drive it through one case up to its first divergence."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from valid_ref import wire
from valid_ref.machine import Addressed, Edge, Message
from valid_ref.oracle.divergence import Difference, Divergence, alarm_difference, message_difference
from valid_ref.printable import printable
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.testing.conform import blame
from valid_ref.testing.conform.case import ConformCase, ExpectedRun, Turn
from valid_ref.testing.conform.peer import (
    AgentFault,
    FindingKind,
    OtherProtocolError,
    Peer,
    Reply,
    found_as_fault,
    wrong_form,
)
from valid_ref.wire import AlarmLine, shown

CLAUSES: Mapping[str, str] = {
    "start": "CF-4",
    "mix": "CF-5",
    "send": "CF-6",
    "receive": "CF-8",
    "end": "CF-10",
}
"""The clause that says what each request and its reply hold."""

PROTOCOL = "valid-ref/conformance/2"
LONGEST_NAME = 80
"""Characters of the name that an agent gives itself; it is text of a stranger."""
FLOODS, INTEGERS = ("fresh", "held"), ("number", "string")
PAPER, LEAN = "paper", "lean"
VALIDATIONS = (PAPER, LEAN)
START, END = "the start", "the end"


@attrs.frozen
class Conversation:
    """An agent that has said hello, with a method for each further request.

    `floods_all` says that it sends everything held in every flood round (VB-4, VB-11); `strings`
    that integers from 2^53 on go to it as decimal strings; `validations` which it has.

    Implements: CF-2.
    """

    peer: Peer
    name: str = ""
    floods_all: bool = False
    strings: bool = False
    validations: tuple[str, ...] = (PAPER,)

    def _ask(self, operation: str, names: tuple[str, ...], **fields: Any) -> list[Any]:
        """The named fields of the reply; no other field may be in it."""
        reply = self._reply(operation, **fields)
        return wire.fields(reply, names, f"reply to {operation}", CLAUSES[operation])

    def _reply(self, operation: str, **fields: Any) -> Reply:
        """The reply to a request.

        Implements: CF-1, CF-12.
        """
        request = {"op": operation} | fields
        reply = self.peer.ask(wire.with_strings(request) if self.strings else request)
        if "error" in reply:
            found = f"the agent says: {reply['error']}"[:200]
            raise AgentFault(
                FindingKind.CRASH, "CF-12", f"reply to {operation}", "an answer", found
            )
        return reply

    @found_as_fault
    def start(self, parameters: ValidParameters, agent: int, key: int | Opening) -> None:
        """Parameters, the agent's number, its key or its opening.

        Implements: CF-4.
        """
        document = wire.parameters_for_agent(parameters)
        secret: dict[str, Any] = (
            {"opening": [*key.value]} if isinstance(key, Opening) else {"key": key}
        )
        self._ask("start", (), parameters=document, agent=agent, **secret)

    @found_as_fault
    def mix(self, number: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Y and the point.

        Implements: CF-5.
        """
        Y, point = self._ask("mix", ("Y", "point"), round=number)
        return wire.integers(Y, "Y", "CF-5"), wire.reals(point, "point", "CF-5")

    @found_as_fault
    def send(
        self,
        number: int,
        gradient: Sequence[float] | None,
        dimension: int,
        neighbours: tuple[int, ...],
    ) -> tuple[Message, tuple[int, ...] | None]:
        """The agent's message, and the lattice gradient it used; None without a gradient.

        Implements: CF-5, CF-6.
        """
        if gradient is None:
            reply = self._reply("send", round=number)
            names = ("message", *(name for name in ("addressed",) if name in reply))
            message, *apart = wire.fields(reply, names, "reply to send", CLAUSES["send"])
            usual = wire.message_from_json(message, dimension)
            to = wire.addressed_from_json(apart[0], dimension) if apart else {}
            if not {*to} <= {*neighbours}:
                raise wrong_form("CF-6", "addressed", "neighbours as receivers", [*to])
            to = {u: word for u, word in to.items() if word != usual}
            return Addressed(usual, to) if to else usual, None
        entries = [wire.real_as_json(entry) for entry in gradient]
        names = ("message", "gradient")
        message, lattice = self._ask("send", names, round=number, gradient=entries)
        exact = None if lattice is None else wire.integers(lattice, "gradient", "CF-5")
        return wire.message_from_json(message, dimension), exact

    @found_as_fault
    def receive(self, number: int, messages: Mapping[int, Message]) -> tuple[AlarmLine, ...]:
        """Deliver the messages of the neighbours, the last one first; the new alarms.

        Implements: CF-8, CF-9.
        """
        inbox = [
            {
                "sender": sender,
                "message": wire.message_as_json(messages[sender], digests=LEAN in self.validations),
            }
            for sender in sorted(messages, reverse=True)
        ]
        [alarms] = self._ask("receive", ("alarms",), round=number, inbox=inbox)
        return wire.alarms_from_json(alarms)

    @found_as_fault
    def end(self) -> tuple[bool, tuple[int, ...] | None, tuple[AlarmLine, ...]]:
        """Verdict, model and all alarms.

        Implements: CF-10.
        """
        valid, model, alarms = self._ask("end", ("valid", "model", "alarms"))
        if not isinstance(valid, bool):
            raise wrong_form("CF-10", "valid", "true or false", valid)
        entries = None if model is None else wire.integers(model, "model", "CF-10")
        return valid, entries, wire.alarms_from_json(alarms)


@found_as_fault
def say_hello(peer: Peer) -> Conversation:
    """Say hello; an agent that speaks another version of the protocol cannot be judged.

    Implements: CF-2.
    """
    reply: Reply = peer.ask({"op": "hello", "protocol": PROTOCOL})
    spoken = reply.get("protocol")
    if isinstance(spoken, str) and spoken != PROTOCOL:
        raise OtherProtocolError(
            f"the agent speaks {spoken[:60]!r}, this kit {PROTOCOL!r}", clause="CF-2"
        )
    names = ("protocol", "name", "flood", "integers", "validations")
    reply = {"validations": [PAPER]} | reply
    ordered = wire.fields(reply, names, "reply to hello", "CF-2")
    _protocol, name, flood, form, validations = ordered
    if spoken is None or not isinstance(name, str) or flood not in FLOODS or form not in INTEGERS:
        expected = "protocol and name as texts, flood fresh or held, integers number or string"
        raise wrong_form("CF-2", "reply to hello", expected, reply)
    known = isinstance(validations, list) and all(one in VALIDATIONS for one in validations)
    if not known or not validations:
        raise wrong_form("CF-2", "validations", "some of paper and lean", validations)
    return Conversation(
        peer,
        printable(name, LONGEST_NAME),
        floods_all=flood == "held",
        strings=form == "string",
        validations=tuple(one for one in VALIDATIONS if one in validations),
    )


@attrs.frozen
class AgentFinding:
    """The first thing in a case that an agent may not do, and of which sort it is.

    `stderr` are the last lines that it had written to its standard error.

    Implements: CF-11, CF-19.
    """

    case: ConformCase
    kind: FindingKind
    divergence: Divergence
    stderr: str = ""

    @property
    def clause(self) -> str:
        """The clause that is broken."""
        return self.divergence.difference.clause


class _Diverges(Exception):  # noqa: N818 - ends a walk
    def __init__(
        self,
        difference: Difference,
        kind: FindingKind = FindingKind.BEHAVIOUR,
        edge: Edge | None = None,
    ) -> None:
        super().__init__(difference.what)
        self.difference, self.kind, self.edge = difference, kind, edge


def drive(run: ExpectedRun, talk: Conversation) -> AgentFinding | None:
    """Play a case with the agent under test; None if every answer is the reference's.

    Implements: CF-11, CF-12, CF-13.
    """
    walk = _Walk(run, talk)
    try:
        walk.play()
    except (AgentFault, _Diverges) as problem:
        phase, number = walk.place
        divergence = Divergence(
            agent=run.agent,
            phase=phase,
            round=number,
            edge=problem.edge if isinstance(problem, _Diverges) else None,
            agreed=walk.agreed,
            difference=problem.difference,
            replay="",
        )
        return AgentFinding(run.case, problem.kind, divergence)
    return None


class _Walk:
    """One case; `agreed` is the last answer that is as it must be."""

    def __init__(self, run: ExpectedRun, talk: Conversation) -> None:
        self.run, self.talk = run, talk
        self.place: tuple[str, int] = (START, 0)
        self.agreed = "hello"
        self.said: list[object] = []

    def play(self) -> None:
        self.talk.start(self.run.parameters, self.run.agent, self.run.key)
        self.agreed = START
        for turn in self.run.turns:
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
            Y, point = self.talk.mix(turn.number)
        clause = blame.mixing_clause(self.run, turn)
        _same_entries(clause, "Y", turn.update.Y, Y)
        _same_entries("AR-4", "evaluation point", turn.update.point, point)
        self.agreed = f"Y of {turn.phase} round {turn.round}"

    def speak(self, turn: Turn) -> None:
        """The lattice gradient and the message."""
        parameters = self.run.parameters
        gradient = None if turn.update is None else turn.update.gradient
        dimension = parameters.lattice.dimension
        with _named_forms(turn, self.run.agent):
            near = parameters.graph.neighbours(self.run.agent)
            found, lattice = self.talk.send(turn.number, gradient, dimension, near)
        wanted = None if turn.update is None else turn.update.lattice
        if wanted is not None and lattice is not None:
            _same_entries("AR-3", "lattice gradient", wanted, lattice)
        expected = turn.everything_held if self.talk.floods_all else turn.message
        usual, to = _by_receiver(expected)
        said, addressed = _by_receiver(found)
        self.same_message(turn, usual, said)
        for u in sorted({*to, *addressed}):
            edge = self.run.agent, u
            self.same_message(turn, to.get(u, usual), addressed.get(u, said), edge)
        if wanted is not None and lattice is None:
            raise _Diverges(Difference("AR-3", "lattice gradient", shown(wanted), "nothing"))
        self.said.append(found)
        self.agreed = f"the message of {turn.phase} round {turn.round}"

    def same_message(
        self, turn: Turn, expected: Message, found: Message, edge: Edge | None = None
    ) -> None:
        """Demand one message, to all or on one edge, to be that of the reference."""
        parameters, agent = self.run.parameters, self.run.agent
        difference = message_difference(parameters, turn.phase, agent, expected, found)
        if difference is None:
            return
        clause = blame.message_clause(
            self.run,
            turn,
            usual=difference.clause,
            expected=expected,
            found=found,
            said=self.said,
        )
        raise _Diverges(attrs.evolve(difference, clause=clause), edge=edge)

    def hear(self, turn: Turn) -> None:
        """The alarms over what was received."""
        found = self.talk.receive(turn.number, turn.inbox)
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
        clause = blame.alarm_clause(self.run, turn, difference.clause, missing, others)
        decisive = (missing or others)[0]
        place = f"{len(turn.alarms)} alarms expected, {len(found)} found"
        difference = attrs.evolve(difference, clause=clause, what=f"alarm ({place})")
        sender = decisive.sender
        return _Diverges(difference, edge=None if sender is None else (sender, self.run.agent))

    def finish(self) -> None:
        """All alarms, the verdict, the model."""
        valid, model, alarms = self.talk.end()
        expected = tuple(alarm for turn in self.run.turns for alarm in turn.alarms)
        difference = alarm_difference(expected, alarms)
        if difference is not None:
            raise _Diverges(attrs.evolve(difference, clause="MO-7"))
        self.agreed = "the alarms at the end"
        if valid != self.run.valid:
            names = {True: "valid", False: "invalid"}
            raise _Diverges(Difference("VA-2", "verdict", names[self.run.valid], names[valid]))
        self.agreed = "the verdict"
        if (model is None) != (self.run.model is None):
            raise _Diverges(Difference("VA-2", "final model", shown(self.run.model), shown(model)))
        if model is not None and self.run.model is not None:
            _same_entries("LM-6", "final model", self.run.model, model)


@contextlib.contextmanager
def _named_forms(turn: Turn, agent: int | None = None) -> Iterator[None]:
    """A number that is no integer is blamed on the clause that makes it one."""
    try:
        yield
    except AgentFault as fault:
        fault.clause = blame.form_clause(turn.phase, fault, agent)
        raise


def _by_receiver(word: Message) -> tuple[Message, Mapping[int, Message]]:
    """What is said to all, and to single neighbours instead."""
    return (word.usual, word.to) if isinstance(word, Addressed) else (word, {})


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
