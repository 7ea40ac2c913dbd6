"""What LocalValidate promises, as predicates over the record of a whole run.

L2 and L3 bound a probability over the honest keys. What one run can show is whether something
went undetected in it; the bound says for how many keys that may be so.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from valid_ref.alarms import Alarm, Raised
from valid_ref.execution import Execution
from valid_ref.guarantees.broadcast import GuaranteeVerdict
from valid_ref.lattice import residual
from valid_ref.protocols import lean, learn, local_validate
from valid_ref.protocols.local_validate import Transcript

THRESHOLDS = frozenset(
    {Alarm.NOT_OPTIMAL, Alarm.TOO_OPTIMAL, Alarm.TOO_HETEROGENEOUS, Alarm.TOO_HOMOGENEOUS}
)
"""The alarms over the network as a whole, which honest agents may have."""


def equivocations(execution: Execution) -> tuple[int, ...]:
    """The agents from which two honest neighbours received different transcripts."""
    agents = range(execution.parameters.graph.agents)
    return tuple(v for v in agents if not _all_equal(list(_received_from(execution, v))))


def common_transcripts(execution: Execution) -> Mapping[int, Transcript]:
    """What each agent said: an honest one by its own record, a Byzantine one by its receivers.

    A Byzantine agent that equivocated, or that has no honest neighbour, has none.
    """
    common: dict[int, Transcript] = {
        v: execution.states[v].memory.fixed_transcripts.own for v in execution.honest
    }
    for v in sorted(execution.byzantine):
        received = list(_received_from(execution, v))
        if received and _all_equal(received):
            common[v] = received[0]
    return common


def broken_relations(execution: Execution) -> tuple[int, ...]:
    """The agents whose common transcript breaks AR-6; nobody if somebody equivocated."""
    if equivocations(execution):
        return ()
    graph, common = execution.parameters.graph, common_transcripts(execution)
    known = (v for v in range(graph.agents) if {v, *graph.neighbours(v)} <= common.keys())
    return tuple(v for v in known if _breaks_relation(execution, common, v))


def local_alarms(execution: Execution, agent: int) -> tuple[Raised, ...]:
    """The alarms of an agent up to the end of LocalValidate, those of the learning included.

    Of lean validation all but those of the thresholds.
    """
    phases = (learn.PHASE, local_validate.PHASE, lean.PHASE)
    alarms = execution.states[agent].memory.alarms
    early = (raised for raised in alarms if raised.phase.startswith(phases))
    return tuple(raised for raised in early if raised.alarm not in THRESHOLDS)


def quiet_if_all_honest(execution: Execution) -> GuaranteeVerdict:
    """With no Byzantine agent nobody alarms up to the end of LocalValidate.

    Nothing is promised where an agent's own update left the range (AR-14): the norm bounds of
    the premise lie inside the range.

    Implements: L1.
    """
    if execution.byzantine:
        return GuaranteeVerdict.vacuous("there are Byzantine agents")
    alarms = {v: local_alarms(execution, v) for v in execution.honest}
    if any(r.alarm is Alarm.OWN_UPDATE_OUT_OF_RANGE for own in alarms.values() for r in own):
        return GuaranteeVerdict.vacuous("the update of an honest agent left the range")
    alarmed = [v for v in execution.honest if alarms[v]]
    return GuaranteeVerdict.of(alarmed, "nobody alarms", "alarms although everybody is honest")


def undetected(execution: Execution) -> tuple[int, ...]:
    """The agents that equivocated or broke their relation without an alarm of an honest agent.

    Counted up to the end of LocalValidate. Under Assumption 1+ at most (dT-1)^|H| of the p^|H|
    tuples of honest keys make this nonempty, whatever Byzantine agents broadcast.

    Implements: L2, L3.
    """
    if any(local_alarms(execution, v) for v in execution.honest):
        return ()
    return equivocations(execution) or broken_relations(execution)


def _received_from(execution: Execution, sender: int) -> Iterator[Transcript]:
    """What each honest neighbour received from an agent, zeros where it was not usable."""
    for receiver in execution.parameters.graph.neighbours(sender):
        if receiver not in execution.byzantine:
            yield execution.states[receiver].memory.fixed_transcripts.received[sender]


def _all_equal(transcripts: Sequence[Transcript]) -> bool:
    return all(_equal(transcripts[0], other) for other in transcripts[1:])


def _equal(left: Transcript, right: Transcript) -> bool:
    return all(
        np.array_equal(one.model, other.model)
        and np.array_equal(one.scaled_gradient, other.scaled_gradient)
        for one, other in zip(left, right, strict=True)
    )


def _breaks_relation(execution: Execution, common: Mapping[int, Transcript], v: int) -> bool:
    parameters = execution.parameters
    neighbours = parameters.graph.neighbours(v)
    before = dict.fromkeys((v, *neighbours), parameters.start_model)
    for t, message in enumerate(common[v], start=1):
        heard = [before[u] for u in neighbours]
        left = residual(
            parameters.lattice,
            t,
            previous=before[v],
            neighbours=heard,
            x=message.model,
            gamma=message.scaled_gradient,
        )
        if left.any():
            return True
        before = {u: common[u][t - 1].model for u in before}
    return False
