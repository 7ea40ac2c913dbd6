"""Hypothesis plays the adversary round by round; laws after every round, promises at the end."""

import attrs
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from valid_ref.protocols.broadcast import ValidatedBroadcast
from valid_ref.scenario import parts, prepare
from valid_ref.testing import game
from valid_ref.testing.game import Game, GameError

QUICK = settings(max_examples=25, stateful_step_count=25, deadline=None)
LONG = settings(QUICK, max_examples=2000, stateful_step_count=60)
SEARCH = settings(QUICK, max_examples=500, database=None, derandomize=True, phases=[Phase.generate])
"""Only whether the game can be won; shrinking is tested with the strategies."""


@pytest.mark.checks(
    "V1", "V2", "V3", "V4", "S1", "S2", "S4", "MO-5", "MO-7", "AD-2", "AD-4", "VA-5"
)
def test_the_network_keeps_its_laws_and_promises() -> None:
    run_state_machine_as_test(Game, settings=QUICK)


@pytest.mark.deep
@pytest.mark.checks(
    "V1", "V2", "V3", "V4", "S1", "S2", "S4", "MO-5", "MO-7", "AD-2", "AD-4", "VA-5"
)
def test_the_network_keeps_its_laws_and_promises_in_long_games() -> None:
    run_state_machine_as_test(Game, settings=LONG)


def test_the_game_is_won_where_an_alarm_does_not_persist(monkeypatch) -> None:
    """Without P04, which only the paper's validation knows, an agent forgets its own alarm: S1."""
    paper = {"without": ("P04",), "validation": parts.PaperValidation()}
    monkeypatch.setattr(game, "prepare", lambda board: prepare(attrs.evolve(board, **paper)))
    with pytest.raises(GameError, match="S1"):
        run_state_machine_as_test(Game, settings=SEARCH)


def test_the_game_is_won_where_a_value_can_be_overwritten(monkeypatch) -> None:
    """A broadcast that adopts the latest value: V3."""
    receive = ValidatedBroadcast.receive

    def forgetful(self, state, round_number, inbox):
        after = receive(self, state, round_number, inbox)
        said = {k: v for m in inbox.values() if isinstance(m, dict) for k, v in m.items()}
        held = {tag: said.get(tag, value) for tag, value in after.held.items()}
        return attrs.evolve(after, held=held)

    monkeypatch.setattr(ValidatedBroadcast, "receive", forgetful)
    with pytest.raises(GameError, match="V3"):
        run_state_machine_as_test(Game, settings=SEARCH)


def test_the_game_is_won_where_an_agent_raises(monkeypatch) -> None:
    """An honest agent that trips over garbage."""

    def trusting(message):
        raise TypeError(type(message))

    monkeypatch.setattr("valid_ref.protocols.agreement._objection", trusting)
    with pytest.raises(TypeError):
        run_state_machine_as_test(Game, settings=SEARCH)
