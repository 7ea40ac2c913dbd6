"""Requests and the form of their replies."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from valid_ref import wire
from valid_ref.machine import Message
from valid_ref.printable import printable
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.testing.conform.errors import (
    AgentFault,
    Kind,
    OtherProtocolError,
    found_as_fault,
    wrong_form,
)
from valid_ref.testing.conform.peer import Peer, Reply
from valid_ref.wire import AlarmLine

CLAUSES: Mapping[str, str] = {
    "hello": "CF-2", "start": "CF-4", "mix": "CF-5", "send": "CF-6", "receive": "CF-8",
    "end": "CF-10",
}  # fmt: skip
"""The clause that says what each request and its reply hold."""

PROTOCOL = "valid-ref/conformance/1"
LONGEST_NAME = 80
"""Characters of the name that an agent gives itself; it is text of a stranger."""
FLOODS, INTEGERS = ("fresh", "held"), ("number", "string")


@attrs.frozen
class Conversation:
    """An agent that has said hello.

    `floods_all` says that it sends everything held in every flood round (VB-4, VB-11); `strings`
    that integers from 2^53 on go to it as decimal strings.

    Implements: CF-2.
    """

    peer: Peer
    name: str = ""
    floods_all: bool = False
    strings: bool = False

    def ask(self, operation: str, names: tuple[str, ...], **fields: Any) -> list[Any]:
        """The named fields of the reply; no other field may be in it.

        Implements: CF-1, CF-12.
        """
        request = {"op": operation} | fields
        reply = self.peer.ask(wire.with_strings(request) if self.strings else request)
        if "error" in reply:
            found = f"the agent says: {reply['error']}"[:200]
            raise AgentFault(Kind.CRASH, "CF-12", f"reply to {operation}", "an answer", found)
        return wire.fields(reply, names, f"reply to {operation}", CLAUSES[operation])


@found_as_fault
def greeted(peer: Peer) -> Conversation:
    """Say hello; another version of the protocol is no divergence.

    Implements: CF-2.
    """
    reply: Reply = peer.ask({"op": "hello", "protocol": PROTOCOL})
    spoken = reply.get("protocol")
    if isinstance(spoken, str) and spoken != PROTOCOL:
        raise OtherProtocolError(
            f"the agent speaks {spoken[:60]!r}, this kit {PROTOCOL!r}", clause="CF-2"
        )
    names = ("protocol", "name", "flood", "integers")
    _protocol, name, flood, form = wire.fields(reply, names, "reply to hello", "CF-2")
    if spoken is None or not isinstance(name, str) or flood not in FLOODS or form not in INTEGERS:
        expected = "protocol and name as texts, flood fresh or held, integers number or string"
        raise wrong_form("CF-2", "reply to hello", expected, reply)
    return Conversation(peer, printable(name, LONGEST_NAME), flood == "held", form == "string")


@found_as_fault
def start(talk: Conversation, parameters: ValidParameters, agent: int, key: int) -> None:
    """Parameters, the agent's number, its key.

    Implements: CF-4.
    """
    document = wire.parameters_for_agent(parameters)
    talk.ask("start", (), parameters=document, agent=agent, key=key)


@found_as_fault
def mix(talk: Conversation, number: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Y and the point.

    Implements: CF-5.
    """
    Y, point = talk.ask("mix", ("Y", "point"), round=number)
    return wire.integers(Y, "Y", "CF-5"), wire.reals(point, "point", "CF-5")


@found_as_fault
def send(
    talk: Conversation, number: int, gradient: Sequence[float] | None, dimension: int
) -> tuple[Message, tuple[int, ...] | None]:
    """What the agent says to all, and the lattice gradient that it used; None brings none.

    Implements: CF-5, CF-6.
    """
    if gradient is None:
        [message] = talk.ask("send", ("message",), round=number)
        return wire.message_from_json(message, dimension), None
    entries = [wire.real_as_json(entry) for entry in gradient]
    names = ("message", "gradient")
    message, lattice = talk.ask("send", names, round=number, gradient=entries)
    exact = None if lattice is None else wire.integers(lattice, "gradient", "CF-5")
    return wire.message_from_json(message, dimension), exact


@found_as_fault
def receive(
    talk: Conversation, number: int, messages: Mapping[int, Message]
) -> tuple[AlarmLine, ...]:
    """Deliver what the neighbours said, the last one first; the new alarms.

    Implements: CF-8, CF-9.
    """
    inbox = [
        {"sender": sender, "message": wire.message_as_json(messages[sender])}
        for sender in sorted(messages, reverse=True)
    ]
    [alarms] = talk.ask("receive", ("alarms",), round=number, inbox=inbox)
    return wire.alarms_from_json(alarms)


@found_as_fault
def end(talk: Conversation) -> tuple[bool, tuple[int, ...] | None, tuple[AlarmLine, ...]]:
    """Verdict, model and all alarms.

    Implements: CF-10.
    """
    valid, model, alarms = talk.ask("end", ("valid", "model", "alarms"))
    if not isinstance(valid, bool):
        raise wrong_form("CF-10", "valid", "true or false", valid)
    entries = None if model is None else wire.integers(model, "model", "CF-10")
    return valid, entries, wire.alarms_from_json(alarms)
