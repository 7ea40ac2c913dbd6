"""Your move: a game in which a person is the adversary, and the page on which it is played.

    from valid_ref import Scenario
    from valid_ref.adversary.actions import Add
    from valid_ref.play import Move, Session
    session = Session.of_scenario(Scenario(graph="complete:5", rounds=6, byzantine=4, seed=0))
    session = session.step([Move(4, 0, Add((1,), "model"))])

Nothing of the reference imports this package but the command line. The server needs the extra
`serve`; all else works without it.
"""

from valid_ref.play.game import Course, Move, PlayError, ScenarioGame, ScriptGame
from valid_ref.play.session import Session, Step

__all__ = ["Course", "Move", "PlayError", "ScenarioGame", "ScriptGame", "Session", "Step"]
