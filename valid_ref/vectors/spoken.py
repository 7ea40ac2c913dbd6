"""What was said in a run, as the vectors have it, and what stands beside it: tables, graphs.

Implements: VE-3, VE-7.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from valid_ref.document import Json
from valid_ref.graph import AgentGraph
from valid_ref.machine import Round
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.vectors.schema import AGENT, SMALL, TEXT, fields, many, ref, rows
from valid_ref.wire import TABLES, Codec, TableValue, pair_in_digits

WORDS = many(
    fields(phase=TEXT, round=SMALL, sender=AGENT, receivers=many(AGENT), message=ref("message"))
)
SAID = many(fields(phase=TEXT, round=SMALL, agent=AGENT, message=ref("message")))
LEAN_WORDS = many(
    fields(
        phase=TEXT, round=SMALL, sender=AGENT, receivers=many(AGENT), message=ref("lean-message")
    )
)
LEAN_SAID = many(fields(phase=TEXT, round=SMALL, agent=AGENT, message=ref("lean-message")))


class Scribe:
    """Writes down messages of one run; values of broadcasts go into tables, each once."""

    def __init__(self, parameters: ValidParameters) -> None:
        self._codec = Codec(parameters)
        self._tables: dict[str, list[TableValue]] = {"reports": [], "estimates": []}

    def known(self, _form: str, _value: object) -> int | None:
        """No value is known by its identity: tables are small and compare what they hold."""
        return None

    def put(self, form: str, value: TableValue | LearningMessage) -> int:
        """The row of a value in its table, a new one if there is none."""
        if isinstance(value, LearningMessage):
            raise TypeError(f"a learning message among the {form}")
        held = self._tables[TABLES[form]]
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
                    message = self._codec.encode_in_digits(
                        spoken.phase, spoken.on_edge(sender, receiver), self
                    )
                    same = [group for group in groups if group[0] == message]
                    (same[0][1] if same else _new(groups, message)).append(receiver)
                found += [
                    {"phase": spoken.phase, "round": spoken.number, "sender": sender,
                     "receivers": receivers, "message": message}
                    for message, receivers in groups if message is not None
                ]  # fmt: skip
        return found

    def addressed(self, rounds: Iterable[Round], honest: Collection[int]) -> Json:
        """What honest agents said to single neighbours instead."""
        return [
            {"phase": spoken.phase, "round": spoken.number, "sender": sender,
             "receivers": [receiver],
             "message": self._codec.encode_in_digits(spoken.phase, message, self)}
            for spoken in rounds
            for (sender, receiver), message in sorted(spoken.addressed.items())
            if sender in honest
        ]  # fmt: skip

    def said(self, rounds: Iterable[Round], honest: Sequence[int]) -> Json:
        """What every honest agent said to all its neighbours, silence too."""
        return [
            {"phase": spoken.phase, "round": spoken.number, "agent": agent,
             "message": self._codec.encode_in_digits(spoken.phase, spoken.said[agent], self)}
            for spoken in rounds for agent in honest
        ]  # fmt: skip


def _new(groups: list[tuple[Json, list[int]]], message: Json) -> list[int]:
    groups.append((message, []))
    return groups[-1][1]


def transcript_json(transcript: Iterable[LearningMessage]) -> Json:
    """The learning messages of rounds 1..T."""
    return [pair_in_digits(message) for message in transcript]


def graph_json(graph: AgentGraph) -> Mapping[str, Json]:
    """The number of agents and the edges."""
    return {"agents": graph.agents, "edges": [list(edge) for edge in graph.edges]}
