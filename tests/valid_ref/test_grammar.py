"""Counts and lists of agents are in the grammar of a sentence, wherever they are told."""

import pytest

from valid_ref.grammar import agents_named, counted
from valid_ref.witness import WITNESSES


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        ((), "nobody"),
        ((4,), "agent 4"),
        ((1, 2), "agents 1 and 2"),
        ((0, 3, 5), "agents 0, 3 and 5"),
    ],
)
def test_agents_are_named(agents: tuple[int, ...], words: str) -> None:
    assert agents_named(agents) == words


def test_counts_agree_with_their_words() -> None:
    assert [counted(count, "round") for count in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]
    assert WITNESSES["P04"].printed().lines[0].startswith("2 agents, 1 round;")
