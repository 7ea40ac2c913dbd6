"""ValidationStateAgreement: one alarm becomes everybody's (alg:validateconsensus)."""

from collections.abc import Mapping

import attrs

from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.graph import AgentGraph
from valid_ref.machine import Message
from valid_ref.reading import Reading

# Inputs.

PHASE = "ValidationStateAgreement"


# State.


@attrs.frozen
class AgreementState:
    """Whether the agent is alarmed, and the alarms that the agreement itself brought it."""

    agent: int
    alarmed: bool
    alarms: Alarms = ()


# The machine.


@attrs.frozen
class ValidationStateAgreement:
    """The machine of ValidationStateAgreement; the private input is "I have an alarm".

    Implements: SA-1.
    """

    # Inputs.

    graph: AgentGraph
    reading: Reading = attrs.field(factory=Reading)

    @property
    def rounds(self) -> int:
        """|V|-1; as printed |E|.

        Implements: SA-1.
        """
        return self.graph.agents - 1 if self.reading.P05 else self.graph.edge_count

    def place(self, round_number: int) -> tuple[str, int]:
        """The phase and the round in it."""
        return PHASE, round_number

    # Start.

    def start(self, agent: int, private: bool) -> AgreementState:
        """Begin with the alarm state of the phases before."""
        return AgreementState(agent, alarmed=private)

    # Send.

    def send(self, state: AgreementState, round_number: int) -> Message:  # noqa: ARG002
        """True iff the agent is alarmed.

        Implements: SA-2.
        """
        return state.alarmed

    # Receive.

    def receive(
        self, state: AgreementState, round_number: int, inbox: Mapping[int, Message]
    ) -> AgreementState:
        """A neighbour's alarm, or its silence, is an alarm; one's own persists.

        Implements: SA-3, SA-4, MO-8.
        """
        raised = []
        for sender in self.graph.neighbours(state.agent):
            alarm = _objection(inbox.get(sender))
            if alarm is not None:
                raised.append(Raised(alarm, PHASE, round_number, sender))
        if not raised and (self.reading.P04 or not state.alarmed):
            return state
        known = {(earlier.alarm, earlier.sender) for earlier in state.alarms}
        new = tuple(r for r in raised if (r.alarm, r.sender) not in known)
        return AgreementState(state.agent, bool(raised), state.alarms + new)


# Finish: the last alarm state is the verdict (`AgreementStage` in `valid`).


# Alarms.


def _objection(message: Message) -> Alarm | None:
    """What is wrong with a neighbour's alarm state; None for a plain "no alarm"."""
    if message is None:
        return Alarm.MISSING_MESSAGE
    if type(message) is not bool:
        return Alarm.MALFORMED_MESSAGE
    return Alarm.NEIGHBOUR_ALARM if message else None
