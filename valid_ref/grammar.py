"""Counts and lists of agents in the grammar of a sentence."""

from collections.abc import Sequence


def counted(count: int, word: str) -> str:
    """A count and its word: "1 round", "2 rounds"."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def agents_named(agents: Sequence[int]) -> str:
    """Agents in words: "nobody", "agent 1", "agents 1 and 2", "agents 1, 2 and 3"."""
    words = [str(agent) for agent in agents]
    if not words:
        return "nobody"
    if len(words) == 1:
        return f"agent {words[0]}"
    return f"agents {', '.join(words[:-1])} and {words[-1]}"
