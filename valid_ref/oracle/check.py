"""The verdict on a recording: conforms, diverges, or cannot tell."""

import enum
from collections.abc import Callable, Collection
from typing import Any

import attrs

from valid_ref.document import unstructure
from valid_ref.oracle.agent import AgentReplay
from valid_ref.oracle.divergence import Divergence
from valid_ref.oracle.outcome import Findings, evaluate
from valid_ref.oracle.read import Recording
from valid_ref.oracle.relation import Confirmed
from valid_ref.oracle.replay import replayed
from valid_ref.oracle.store import release
from valid_ref.protocols.measures import Replayed


class Status(enum.Enum):
    """Three values; what the oracle cannot decide is never called wrong.

    Implements: RE-8.
    """

    CONFORMS = "conforms"
    DIVERGES = "diverges"
    CANNOT_TELL = "cannot tell"


@attrs.frozen
class Verdict:
    """What a recording shows.

    `judged` are the agents that were replayed, `divergences` the first one of each that has one;
    `rounds` is how many complete rounds there are. `deviations` are the first ones of agents that
    are known to be Byzantine, which count for nothing.

    Implements: RE-8, RE-10.
    """

    status: Status
    reason: str
    judged: tuple[int, ...]
    divergences: tuple[Divergence, ...]
    rounds: int
    findings: Findings | None = None
    deviations: tuple[Divergence, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether everything is as the specification says."""
        return self.status is Status.CONFORMS

    @property
    def need_freedom(self) -> tuple[int, ...]:
        """The agents whose behaviour no honest agent can show.

        Implements: RE-10.
        """
        return tuple(divergence.agent for divergence in self.divergences)

    @property
    def limits(self) -> tuple[str, ...]:
        """What this verdict does not prove.

        Implements: RE-10.
        """
        return (
            "an agent that diverges, or its recorder, or the links that it was recorded on, does "
            "not follow the specification: the recording cannot tell these apart",
            "an agent that does not diverge may still have chosen its gradients or its key "
            "freely: only its words are judged, after the private gradient",
        )

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "verdict": self.status.value,
            "reason": self.reason,
            "judged": list(self.judged),
            "rounds": self.rounds,
            "need_byzantine_freedom": list(self.need_freedom),
            "divergences": [unstructure(divergence) for divergence in self.divergences],
            "findings": None if self.findings is None else unstructure(self.findings),
            "byzantine_deviations": [unstructure(deviation) for deviation in self.deviations],
            "limits": list(self.limits),
        }


def check(
    recording: Recording,
    *,
    agents: Collection[int] | None = None,
    watch: Callable[[int], None] | None = None,
) -> Verdict:
    """Replay every honest agent, or these agents, and compare word by word.

    Agents not known to be Byzantine are taken for honest. `watch` is told each finished round.

    Implements: RE-8, RE-9, RE-10, RE-11.
    """
    known = recording.header.byzantine
    n = recording.header.agents
    chosen = range(n) if agents is None else sorted({*agents})
    judged = tuple(agent for agent in chosen if 0 <= agent < n and agent not in (known or ()))
    measures = Replayed(recording.parameters, limbs=recording.arrays["estimates"].shape[2])
    confirmed = Confirmed(recording.parameters)
    coming: dict[int, object] = {}
    machine = replayed(recording.parameters, coming.__getitem__, measures, confirmed)
    replays = [AgentReplay(recording, agent, machine, coming) for agent in judged]
    liars = [AgentReplay(recording, v, machine, coming) for v in chosen if v in (known or ())]
    finished, rounds = _walk(recording, [*replays, *liars], measures, confirmed, watch)
    divergences = tuple(r.divergence for r in replays if r.divergence is not None)
    whole = agents is None
    status, reason = _status(recording, divergences, judged, rounds, whole=whole)
    findings = None
    if whole and finished and not divergences and known is not None:
        states = {r.agent: r.state for r in replays if r.state is not None}
        findings = evaluate(recording, frozenset(known), states)
    deviations = tuple(r.divergence for r in liars if r.divergence is not None)
    return Verdict(status, reason, judged, divergences, rounds, findings, deviations)


def _walk(
    recording: Recording,
    replays: list[AgentReplay],
    measures: Replayed,
    confirmed: Confirmed,
    watch: Callable[[int], None] | None,
) -> tuple[bool, int]:
    """Feed the rounds to all replays, one ahead: what is said next tells the gradient."""
    number, current = 0, None
    for following in recording.rounds(measures.one):
        confirmed.observe(following, *recording.learned(following))
        for replay in replays:
            if current is None:
                replay.begin(following)
            else:
                replay.hear(current, following)
            replay.judge(following)
        current = following
        number += 1
        release(recording.arrays)
        if watch is not None:
            watch(number)
    if recording.finished and current is not None:
        for replay in replays:
            replay.hear(current, None)
            replay.judge_end()
    return recording.finished, number


def _status(
    recording: Recording,
    divergences: tuple[Divergence, ...],
    judged: tuple[int, ...],
    rounds: int,
    *,
    whole: bool,
) -> tuple[Status, str]:
    """The verdict of what was found.

    Implements: RE-8.
    """
    diverging = ", ".join(str(divergence.agent) for divergence in divergences)
    known = recording.header.byzantine is not None
    if divergences and (known or len(divergences) == recording.header.agents):
        return Status.DIVERGES, f"agents {diverging} do not follow the specification"
    if divergences:
        return Status.CANNOT_TELL, (
            f"agents {diverging} do not follow the specification; whether they are Byzantine "
            "is not recorded"
        )
    if not recording.finished:
        return Status.CANNOT_TELL, f"the run is cut off; its {rounds} complete rounds conform"
    if not whole:
        return Status.CANNOT_TELL, f"only agents {', '.join(map(str, judged))} were replayed"
    return Status.CONFORMS, "every word and every verdict of the honest agents is as specified"
