"""Parameters, messages and alarms as the vectors have them: those of recordings, with exact text.

Messages are encoded by the recorder (RE-4); only learning messages stand in place, and integers
are strings.

Implements: VE-3, VE-7.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from valid_ref.document import unstructure
from valid_ref.graph import AgentGraph
from valid_ref.machine import Message, Round
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.vectors.schema import (
    AGENT,
    SMALL,
    TEXT,
    Json,
    fields,
    many,
    ref,
    rows,
    whole,
)
from valid_ref.wire import Codec, LearningRow, TableValue, decimal, pair_in_place
from valid_ref.words import Listed

WORDS = many(
    fields(phase=TEXT, round=SMALL, sender=AGENT, receivers=many(AGENT), message=ref("message"))
)
SAID = many(fields(phase=TEXT, round=SMALL, agent=AGENT, message=ref("message")))


class Scribe:
    """Writes down messages of one run; values of broadcasts go into tables, each once."""

    def __init__(self, parameters: ValidParameters) -> None:
        self._codec = Codec(parameters)
        self._tables: dict[str, list[TableValue]] = {"reports": [], "estimates": []}

    def message(self, phase: str, message: Message) -> Json:
        """A message as RE-4 has it; vectors of a wrong length stand in place too."""
        if phase == LEARNING and isinstance(message, LearningMessage):
            vectors = message.model, message.scaled_gradient
            if all(part.dtype == np.int64 and part.ndim == 1 for part in vectors):
                return _learning(message)
        if isinstance(message, Listed):
            one, *others = (self.message(phase, part) for part in message.parts)
            for other in others:
                for name in ("keys", "rows", "nulls", "malformed"):
                    one[name] += other[name]
                one["unknown_tags"] |= other["unknown_tags"]
            return one
        found = unstructure(self._codec.encode(phase, message, self))
        if found is not None and found["kind"] == "entries":
            found["keys"] = [[source, whole(key)] for source, key in found["keys"]]
        return found

    def known(self, _table: str, _value: object) -> int | None:
        """No value is known by its identity: tables are small and compare what they hold."""
        return None

    def put(self, table: str, value: TableValue | LearningMessage) -> int:
        """The row of a value in its table, a new one if there is none."""
        held = self._tables[table]
        if isinstance(value, LearningMessage):
            raise TypeError(f"a learning message in {table}")
        if value not in held:
            held.append(value)
        return held.index(value)

    def tables(self) -> Json:
        """The reports and estimates that occur, each once."""
        return {name: rows(values) for name, values in self._tables.items()}

    def words(self, rounds: Iterable[Round], graph: AgentGraph, byzantine: Collection[int]) -> Json:
        """What went over the edges of Byzantine agents; silence is left out."""
        found = []
        for spoken in rounds:
            for sender in sorted(byzantine):
                groups: list[tuple[Json, list[int]]] = []
                for receiver in graph.neighbours(sender):
                    message = self.message(spoken.phase, spoken.on_edge(sender, receiver))
                    same = [group for group in groups if group[0] == message]
                    (same[0][1] if same else _new(groups, message)).append(receiver)
                found += [
                    {"phase": spoken.phase, "round": spoken.number, "sender": sender,
                     "receivers": receivers, "message": message}
                    for message, receivers in groups if message is not None
                ]  # fmt: skip
        return found

    def said(self, rounds: Iterable[Round], honest: Sequence[int]) -> Json:
        """What every honest agent said to all its neighbours, silence too."""
        return [
            {"phase": spoken.phase, "round": spoken.number, "agent": agent,
             "message": self.message(spoken.phase, spoken.said[agent])}
            for spoken in rounds for agent in honest
        ]  # fmt: skip


def _new(groups: list[tuple[Json, list[int]]], message: Json) -> list[int]:
    groups.append((message, []))
    return groups[-1][1]


def _learning(message: LearningMessage) -> Json:
    return {"kind": LearningRow.kind} | pair_in_place(message, decimal)


def transcript_json(transcript: Iterable[LearningMessage]) -> Json:
    """The learning messages of rounds 1..T."""
    return [pair_in_place(message, decimal) for message in transcript]


def graph_json(graph: AgentGraph) -> Mapping[str, Json]:
    """The number of agents and the edges."""
    return {"agents": graph.agents, "edges": [list(edge) for edge in graph.edges]}
