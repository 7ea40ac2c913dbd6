"""The rounds of a run for a page: phases, messages, beliefs, alarms, and the matrix of checks."""

import hashlib
import string
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from valid_ref.alarms import Alarm
from valid_ref.document import whole_number
from valid_ref.grammar import counted
from valid_ref.machine import Message, Round
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.local_validate import PHASE as LOCAL
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.remembered import Memo
from valid_ref.protocols.valid import HASHES
from valid_ref.report.causes import NORMS, Causes, Deviation, fits
from valid_ref.report.view import (
    AlarmView,
    CheckCell,
    ChecksView,
    DeviationView,
    EdgeWord,
    MessageRef,
    MessageView,
    PhaseView,
    ReportCell,
    RoundView,
)
from valid_ref.report.watched import Watched, belief, number, vector
from valid_ref.report.words import alarm_words, deviation_words, nothing_behind, phase_words
from valid_ref.schedule import Precision
from valid_ref.wire import AlarmLine, about_text, identity, is_mapping, safe_repr

TAGS = 8
"""How many entries of a broadcast message are named."""
LONGEST = 200
ALARMED, UNALARMED = MessageView("alarm", "I have an alarm"), MessageView("ok", "all is well")
ABOUTS = 6
"""How many of the things that equal alarms are about are named."""
LETTERS = {
    Alarm.INCONSISTENT_HASHES.name: "H",
    Alarm.BROKEN_RELATION.name: "R",
    Alarm.SELF_MISMATCH.name: "S",
}
"""Reports that differ, a relation that is broken, a report that is not what was sent."""


class MessageTable:
    """Collects messages while a view is built; equal messages get the same index."""

    def __init__(self, precision: Precision | None) -> None:
        self.precision = precision
        self.views: list[MessageView] = []
        self.places: dict[bytes, int] = {}
        self.memo = Memo()

    def index(self, phase: str, message: Message) -> int:
        """The place of a message in the table; a message object is looked at once."""
        return self.memo.once((phase,), (message,), lambda: self._add(phase, message))

    def _add(self, phase: str, message: Message) -> int:
        view = describe(phase, message, self.precision)
        key = hashlib.sha256(view.word.encode() + b"\0" + self._identity(message)).digest()
        place = self.places.setdefault(key, len(self.views))
        if place == len(self.views):
            self.views.append(view)
        return place

    def _identity(self, message: Message) -> bytes:
        """As `identity` tells messages apart; values that are sent on are looked at once."""
        if not isinstance(message, Mapping) or not is_mapping(message):
            return identity(message)
        values = (repr(tag).encode() + self._digest(value) for tag, value in message.items())
        return b"mapping" + b";".join(sorted(values))

    def _digest(self, value: object) -> bytes:
        return self.memo.once(
            ("value",), (value,), lambda: hashlib.sha256(identity(value)).digest()
        )


def describe(phase: str, message: Message, precision: Precision | None) -> MessageView:
    """A word and a sentence for a message of this phase."""
    if message is None:
        return MessageView("silent", "nothing")
    if isinstance(message, LearningMessage):
        return _learning(message, precision)
    if phase == AGREEMENT and isinstance(message, bool):
        return ALARMED if message else UNALARMED
    if isinstance(message, Mapping):
        return _broadcast(message)
    return MessageView("odd", f"something malformed: {short(message)}")


def _learning(message: LearningMessage, precision: Precision | None) -> MessageView:
    model, gamma = message.model, message.scaled_gradient
    if precision is None or not all(
        getattr(part, "dtype", None) == np.int64 and part.ndim == 1 and part.size
        for part in (model, gamma)
    ):
        return MessageView("odd", f"a learning message of another form: {short(model)}")
    values = model / 2.0**precision.fraction_bits
    steps = gamma / 2.0 ** (precision.fraction_bits + precision.step_bits)
    word = number(values[0]) if values.size == 1 else ""
    text = f"model {vector(values)}, scaled gradient {vector(steps)}"
    return MessageView(word, text)


def _broadcast(message: Mapping[object, object]) -> MessageView:
    if not message:
        return MessageView("nothing new", "nothing new")
    tags = [str(about_text(tag)) for tag in message]
    named = ", ".join(tags[:TAGS]) + (f", and {len(tags) - TAGS} more" if len(tags) > TAGS else "")
    values = list(message.values())
    if len(values) == 1 and isinstance(values[0], str):
        return MessageView(values[0], f"the value {values[0]!r}")
    many = counted(len(tags), "value")
    return MessageView("", f"{many}, tagged {named}")


def short(value: object) -> str:
    """A value in a bounded number of characters."""
    text = safe_repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + ".."


def phases_of(rounds: Sequence[Round]) -> tuple[PhaseView, ...]:
    """The phases in order, with where each begins."""
    names = list(dict.fromkeys(spoken.phase for spoken in rounds))
    phases = []
    for name in names:
        places = [index for index, spoken in enumerate(rounds) if spoken.phase == name]
        phases.append(PhaseView(name, *phase_words(name), places[0], len(places)))
    return tuple(phases)


def rounds_of(watched: Watched, kept: Sequence[int], table: MessageTable) -> tuple[RoundView, ...]:
    """The kept rounds; messages go into the table."""
    numbers = {phase.name: i for i, phase in enumerate(phases_of(watched.rounds))}
    held = {} if watched.states else values_held(watched)
    views = []
    for index in kept:
        spoken = watched.rounds[index]
        said = tuple(
            table.index(spoken.phase, spoken.said.get(agent))
            for agent in range(watched.graph.agents)
        )
        before = watched.rounds[index - 1] if index else None
        edges = (
            EdgeWord(
                sender,
                receiver,
                table.index(spoken.phase, message),
                _fits(watched, before, spoken, (sender, receiver)),
            )
            for (sender, receiver), message in sorted(spoken.deviations.items())
        )
        differ = tuple(edge for edge in edges if edge.message != said[edge.sender])
        beliefs = tuple(
            "" if watched.byzantine and agent in watched.byzantine else text
            for agent, text in enumerate(beliefs_after(watched, index, held))
        )
        views.append(
            RoundView(
                index=index,
                phase=numbers[spoken.phase],
                number=spoken.number,
                said=said,
                edges=differ,
                beliefs=beliefs,
            )
        )
    return tuple(views)


def _fits(
    watched: Watched, before: Round | None, spoken: Round, edge: tuple[int, int]
) -> bool | None:
    if watched.parameters is None or spoken.phase != LEARNING:
        return None
    return fits(watched.parameters, before, spoken, edge)


def beliefs_after(
    watched: Watched, index: int, held: Mapping[int, Sequence[int]]
) -> tuple[str, ...]:
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
    until = index if following is spoken else index + 1
    return tuple(f"holds {counted(count, 'value')}" for count in held[until])


def values_held(watched: Watched) -> dict[int, tuple[int, ...]]:
    """How many values every agent has sent up to a round of a broadcast: all that it holds."""
    held: dict[int, tuple[int, ...]] = {}
    tags: list[set[object]] = []
    phase = ""
    for index, spoken in enumerate(watched.rounds):
        if spoken.phase != phase:
            phase, tags = spoken.phase, [set() for _agent in range(watched.graph.agents)]
        if phase in {LEARNING, AGREEMENT}:
            continue
        for agent, known in enumerate(tags):
            message = spoken.said.get(agent)
            if isinstance(message, Mapping):
                known |= set(message)
        held[index] = tuple(map(len, tags))
    return held


def placed_alarms(watched: Watched) -> dict[int, tuple[tuple[int, AlarmLine], ...]]:
    """The alarms of every agent, each with the round after which it was raised."""
    places = {(r.phase, r.number): index for index, r in enumerate(watched.rounds)}
    total = len(watched.rounds)
    return {
        agent: tuple((_place(alarm, places, total), alarm) for alarm in end.alarms)
        for agent, end in enumerate(watched.ends)
    }


def alarms_of(watched: Watched, causes: Causes) -> tuple[AlarmView, ...]:
    """The alarms of the honest agents; equal ones about several things are one entry."""
    groups: dict[tuple[int, int, tuple[object, ...]], list[AlarmLine]] = {}
    for agent in watched.honest:
        for index, alarm in causes.alarms[agent]:
            head = (alarm.about or "").split("/")[0] if "/" in (alarm.about or "") else ""
            number = 0 if alarm.reason in NORMS else alarm.round
            what = (alarm.reason, alarm.phase, number, alarm.sender, head)
            groups.setdefault((index, agent, what), []).append(alarm)
    views = []
    for (place, owner, _what), alarms in sorted(groups.items(), key=lambda item: item[0][:2]):
        first = alarms[0]
        meaning, clause = alarm_words(first.reason)
        found = causes.of(owner, place, first)
        behind = {number for alarm in alarms for number in causes.behind(owner, place, alarm)}
        views.append(
            AlarmView(
                agent=owner,
                reason=first.reason,
                meaning=meaning,
                clause=clause,
                phase=first.phase,
                round=first.round,
                index=place,
                sender=first.sender,
                about=_about(alarms),
                count=len(alarms),
                cause=None if found.message is None else MessageRef(*found.message),
                deviations=tuple(sorted(behind)),
                why="" if behind else nothing_behind(first.reason),
            )
        )
    return tuple(views)


def deviation_views(
    watched: Watched, deviations: Sequence[Deviation], alarms: Sequence[AlarmView]
) -> tuple[DeviationView, ...]:
    """The deviations with the alarms they caused."""
    numbers = {phase.name: i for i, phase in enumerate(phases_of(watched.rounds))}
    views = []
    for place, one in enumerate(deviations):
        receiver = min(one.begins, key=lambda v: (one.begins[v], v))
        kind, about = deviation_words(
            one.phase, split=bool(one.split), misfit=bool(one.misfits), found=one.diverges
        )
        views.append(
            DeviationView(
                sender=one.sender,
                phase=numbers[one.phase],
                first=one.first,
                last=one.last,
                rounds=one.rounds,
                message=MessageRef(one.begins[receiver], one.sender, receiver),
                receivers=tuple(sorted(one.begins)),
                kind=kind,
                about=about,
                alarms=tuple(i for i, alarm in enumerate(alarms) if place in alarm.deviations),
                divergence=one.diverges,
            )
        )
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


def checks_of(
    watched: Watched, most_agents: int, causes: Causes
) -> tuple[ChecksView | None, tuple[str, ...]]:
    """The matrices, and what was left out of them; None where no hashes were exchanged."""
    spoken = [round_ for round_ in watched.rounds if round_.phase == HASHES]
    if watched.parameters is None or not spoken:
        return None, ()
    n = watched.graph.agents
    failures = _failures(watched, causes)
    agents = tuple(range(n))
    omitted: tuple[str, ...] = ()
    if n > most_agents:
        suspects = {cell.agent for cell in failures}
        agents = tuple(sorted(suspects | set(range(most_agents - len(suspects)))))[:most_agents]
        omitted = (f"the matrix of checks shows {len(agents)} of {n} agents",)
    own_only = watched.parameters.checked_keys is CheckedKeys.OWN
    return ChecksView(
        agents=agents,
        owners=tuple(range(n)) if n <= most_agents else agents,
        checkers=1 if own_only else len(watched.honest),
        failures=tuple(cell for cell in failures if cell.agent in agents),
        reports=tuple(cell for cell in _reports(watched, spoken[0]) if cell.agent in agents),
    ), omitted


def _failures(watched: Watched, causes: Causes) -> list[CheckCell]:
    """Which checks failed at how many honest agents, from their alarms, and whose lies they are."""
    failed: dict[tuple[int, int], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    lies: dict[tuple[int, int], set[int]] = defaultdict(set)
    for checker in watched.honest:
        for index, alarm in causes.alarms[checker]:
            match [*map(whole_number, (alarm.about or "").split("/"))]:
                case [int(agent), int(owner)] if alarm.reason in LETTERS:
                    failed[agent, owner][LETTERS[alarm.reason]].add(checker)
                    behind = causes.behind(checker, index, alarm)
                    lies[agent, owner] |= {causes.deviations[place].sender for place in behind}
    return [
        CheckCell(
            agent,
            owner,
            tuple(sorted(kinds)),
            len(set[int]().union(*kinds.values())),
            tuple(sorted(lies[agent, owner])),
        )
        for (agent, owner), kinds in sorted(failed.items())
    ]


def _reports(watched: Watched, first: Round) -> list[ReportCell]:
    """The reports as their sources send them in the first round; equal ones share a letter."""
    graph, cells = watched.graph, []
    for agent in range(graph.agents):
        letters: dict[object, str] = {}
        for reporter in graph.neighbours(agent):
            said = []
            for receiver in graph.neighbours(reporter):
                message = first.on_edge(reporter, receiver)
                value = message.get((reporter, agent)) if isinstance(message, Mapping) else None
                if isinstance(value, tuple):
                    letter = string.ascii_uppercase[min(len(letters), 25)]
                    said.append(letters.setdefault(value, letter))
                else:
                    said.append("-")
            cells.append(ReportCell(agent, reporter, "".join(dict.fromkeys(said))))
    return cells
