"""The rounds of a run for a page: phases, messages, alarms, what everybody believes."""

from collections.abc import Mapping, Sequence

from valid_ref.alarms import Alarm
from valid_ref.machine import Round
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.local_validate import PHASE as LOCAL
from valid_ref.protocols.valid import HASHES
from valid_ref.report.messages import Table
from valid_ref.report.outcomes import belief
from valid_ref.report.view import AlarmView, EdgeWord, PhaseView, RoundView
from valid_ref.report.watched import Watched
from valid_ref.report.words import alarm_words, phase_words
from valid_ref.wire import AlarmLine

ABOUTS = 6
"""How many of the things that equal alarms are about are named."""
NORMS = {Alarm.MODEL_NORM.name, Alarm.GRADIENT_NORM.name}


def phases_of(rounds: Sequence[Round]) -> tuple[PhaseView, ...]:
    """The phases in order, with where each begins."""
    names = list(dict.fromkeys(spoken.phase for spoken in rounds))
    phases = []
    for name in names:
        places = [index for index, spoken in enumerate(rounds) if spoken.phase == name]
        phases.append(PhaseView(name, *phase_words(name), places[0], len(places)))
    return tuple(phases)


def rounds_of(watched: Watched, kept: Sequence[int], table: Table) -> tuple[RoundView, ...]:
    """The kept rounds; messages go into the table."""
    numbers = {phase.name: i for i, phase in enumerate(phases_of(watched.rounds))}
    views = []
    for index in kept:
        spoken = watched.rounds[index]
        said = tuple(
            table.index(spoken.phase, spoken.said.get(agent))
            for agent in range(watched.graph.agents)
        )
        edges = (
            EdgeWord(sender, receiver, table.index(spoken.phase, message))
            for (sender, receiver), message in sorted(spoken.deviations.items())
        )
        differ = tuple(edge for edge in edges if edge.message != said[edge.sender])
        beliefs = tuple(
            "" if watched.byzantine and agent in watched.byzantine else text
            for agent, text in enumerate(beliefs_after(watched, index))
        )
        views.append(
            RoundView(index, numbers[spoken.phase], spoken.number, said, differ, beliefs)
        )  # fmt: skip
    return tuple(views)


def beliefs_after(watched: Watched, index: int) -> tuple[str, ...]:
    """What every agent holds after a round, read off what it says next."""
    agents = range(watched.graph.agents)
    if watched.states:
        return tuple(belief(watched.states[index].get(agent)) for agent in agents)
    spoken = watched.rounds[index]
    if spoken.phase == LEARNING:
        return ()
    following = watched.rounds[index + 1] if index + 1 < len(watched.rounds) else None
    if following is None or following.phase != spoken.phase:
        following = spoken
    if spoken.phase == AGREEMENT:
        return tuple("alarmed" if following.said.get(v) is True else "no alarm" for v in agents)
    held = [_held(watched, spoken, following, agent) for agent in agents]
    return tuple(f"holds {count} values" for count in held)


def _held(watched: Watched, spoken: Round, following: Round, agent: int) -> int:
    """How many values an agent has sent up to the next round: all that it holds."""
    begin = next(i for i, other in enumerate(watched.rounds) if other.phase == spoken.phase)
    until = begin + following.number
    tags = set[object]()
    for other in watched.rounds[begin:until]:
        message = other.said.get(agent)
        tags |= set(message) if isinstance(message, Mapping) else set()
    return len(tags)


def alarms_of(watched: Watched) -> tuple[AlarmView, ...]:
    """The alarms of the honest agents; equal ones about several things are one entry."""
    places = {(r.phase, r.number): index for index, r in enumerate(watched.rounds)}
    groups: dict[tuple[object, ...], list[AlarmLine]] = {}
    for agent in watched.honest:
        for alarm in watched.ends[agent].alarms:
            index = _place(alarm, places, len(watched.rounds))
            head = (alarm.about or "").split("/")[0] if "/" in (alarm.about or "") else ""
            number = 0 if alarm.reason in NORMS else alarm.round
            groups.setdefault(
                (index, agent, alarm.reason, alarm.phase, number, alarm.sender, head), []
            ).append(alarm)
    views = []
    for (place, owner, *_rest), alarms in sorted(groups.items(), key=lambda item: item[0][:2]):
        first = alarms[0]
        meaning, clause = alarm_words(first.reason)
        views.append(AlarmView(
            int(str(owner)), first.reason, meaning, clause, first.phase, first.round,
            int(str(place)), first.sender, _about(alarms), len(alarms),
        ))  # fmt: skip
    return tuple(views)


def _about(alarms: Sequence[AlarmLine]) -> str:
    """What equal alarms are about, in words."""
    first = alarms[0]
    if first.reason in NORMS:
        return f"in learning rounds {_listed([str(alarm.round) for alarm in alarms])}"
    abouts = [alarm.about for alarm in alarms if alarm.about is not None]
    if first.phase == LOCAL and abouts and "/" in abouts[0]:
        owners = _listed([about.split("/")[1] for about in abouts])
        return f"about agent {abouts[0].split('/')[0]}, under the keys of {owners}"
    return f"about {_listed(abouts)}" if abouts else ""


def _listed(items: Sequence[str]) -> str:
    more = f" and {len(items) - ABOUTS} more" if len(items) > ABOUTS else ""
    return ", ".join(items[:ABOUTS]) + more


def _place(alarm: AlarmLine, places: Mapping[tuple[str, int], int], total: int) -> int:
    """The round after which an alarm was raised; checks of a phase are made at its end."""
    if (alarm.phase, alarm.round) in places:
        return places[alarm.phase, alarm.round]
    phase = alarm.phase
    if phase == LOCAL:
        phase = LEARNING if alarm.reason in NORMS else HASHES
    ends = [index for (name, _number), index in places.items() if name == phase]
    return max(ends) if ends else total - 1
