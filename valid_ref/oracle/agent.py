"""One agent's walk through a recording, up to its first divergence."""

import shlex

import attrs

from valid_ref.machine import Message, Round
from valid_ref.oracle.divergence import (
    SAME_TO_ALL,
    Difference,
    Divergence,
    alarm_difference,
    message_difference,
)
from valid_ref.oracle.log import AlarmLine
from valid_ref.oracle.messages import alarm_line
from valid_ref.oracle.read import Recording
from valid_ref.oracle.replay import ReplayedValid
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.broadcast import BroadcastState
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import Private, ValidState
from valid_ref.protocols.validation import no_gradient

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

    def _to_all(self, spoken: Round) -> Message:
        """What the agent says to all; also if that is recorded edge by edge."""
        if not spoken.deviations:
            return spoken.said[self.agent]
        receivers = self.parameters.graph.neighbours(self.agent)
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
        expected = self._said_by_the_machine(self.state)
        found = self._to_all(spoken)
        difference = message_difference(self.parameters, phase, self.agent, expected, found)
        if difference is not None:
            self._diverge(difference)
            return
        receivers = self.parameters.graph.neighbours(self.agent) if spoken.deviations else ()
        for receiver in receivers:
            if (self.agent, receiver) in spoken.deviations:
                heard = spoken.deviations[self.agent, receiver]
                difference = message_difference(self.parameters, phase, self.agent, expected, heard)
                if difference is not None:
                    clause = SAME_TO_ALL.get(phase, "VB-4")
                    self._diverge(attrs.evolve(difference, clause=clause), (self.agent, receiver))
                    return
        self._agreed = f"the message of {phase} round {spoken.number}"

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
        senders = self.parameters.graph.neighbours(self.agent)
        if spoken.deviations:
            heard = {sender: spoken.on_edge(sender, self.agent) for sender in senders}
        else:
            heard = {sender: spoken.said[sender] for sender in senders}
        inbox = {sender: message for sender, message in heard.items() if message is not None}
        before = self.state
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
        self.divergence = Divergence(
            self.agent, *self._place, edge, self._agreed, difference, command
        )
