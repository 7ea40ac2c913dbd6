"""A witness: the smallest run in which the printed text goes wrong, beside the repaired one."""

from collections.abc import Callable, Mapping

import attrs

from valid_ref.grammar import counted
from valid_ref.graph import AgentGraph
from valid_ref.machine import Round
from valid_ref.runs import Run


@attrs.frozen(eq=False)
class Played:
    """A sub-protocol that was played alone: its rounds, and the states after each."""

    graph: AgentGraph
    byzantine: frozenset[int]
    rounds: tuple[Round, ...]
    after: tuple[Mapping[int, object], ...]


@attrs.frozen
class Story:
    """What happened, line by line, whether it is what must not happen, and a run that shows it.

    `refusals` are what is refused or no longer promised here, in a line each.
    """

    lines: tuple[str, ...]
    wrong: bool
    shown: Run | Played | None = attrs.field(default=None, eq=False, repr=False)
    refusals: tuple[str, ...] = ()


@attrs.frozen
class Witness:
    """An erratum shown twice: as printed (it goes wrong) and as repaired (it does not).

    `tell` makes the story of the printed text (True) or of the repair (False).
    """

    erratum: str
    about: str
    tell: Callable[[bool], Story]

    def printed(self) -> Story:
        """What happens by the text as printed."""
        return self.tell(True)

    def repaired(self) -> Story:
        """What happens with the repair."""
        return self.tell(False)


def tell_run(
    finished: Run,
    *,
    wrong: bool,
    before: tuple[str, ...] = (),
    extra: tuple[str, ...] = (),
    refusals: tuple[str, ...] = (),
) -> Story:
    """A run of Valid in a few lines."""
    execution = finished.execution
    lines = [f"outcome {finished.outcome}; honest agents valid: {list(execution.honest_valid)}"]
    for agent in execution.honest:
        alarms = execution.states[agent].memory.alarms
        said = f"{counted(len(alarms), 'alarm')}, first {alarms[0]}" if alarms else "no alarm"
        lines.append(f"  agent {agent}: {said}")
    return Story((*before, *lines, *extra), wrong, finished, refusals)
