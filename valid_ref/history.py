"""The course of the learning phase: what everybody's models and gradients were, round by round."""

from collections.abc import Sequence
from types import NoneType
from typing import Any

import attrs
import numpy as np

from valid_ref.arguments import is_a
from valid_ref.errors import ValidRefError
from valid_ref.lattice import FloatVector
from valid_ref.losses import Problem
from valid_ref.losses.own import if_known
from valid_ref.machine import Round
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import ValidParameters

Array = np.ndarray[Any, Any]


class FrameError(ValidRefError):
    """A table that needs a package which is not installed."""


@attrs.frozen(eq=False)
class LearningHistory:
    """The learning rounds of a run; the first axis of every array is the round.

    `rounds` are their numbers. `models` are those of each agent's own code, [round, agent, entry],
    also where a Byzantine agent said something else; `gradients` those that its first neighbour
    read off. Not a number stands where there is none. `honest` are the agents that count in
    averages; `optimum` is theirs, or None where it is not known, and `goal` says so in words.
    """

    rounds: Array = attrs.field(validator=is_a(np.ndarray, "an array"))
    honest: tuple[int, ...] = attrs.field(validator=is_a(tuple, "a tuple of agents", each=int))
    models: Array = attrs.field(validator=is_a(np.ndarray, "an array"))
    gradients: Array = attrs.field(validator=is_a(np.ndarray, "an array"))
    goal: str = attrs.field(validator=is_a(str, "a text"))
    optimum: FloatVector | None = attrs.field(
        validator=is_a((np.ndarray, NoneType), "an array or None")
    )

    @property
    def squared_distances(self) -> Array | None:
        """|x_v(t) - optimum|^2, [round, agent]; None where the optimum is not known."""
        return None if self.optimum is None else np.sum((self.models - self.optimum) ** 2, axis=2)

    @property
    def consensus_errors(self) -> Array:
        """The mean squared distance of honest models from their mean, [round]."""
        models = self.models[:, list(self.honest)]
        mean = mean_of_known(models)[:, np.newaxis]
        return mean_of_known(np.sum((models - mean) ** 2, axis=2))

    def frame(self) -> Any:
        """A pandas frame: a row for every round and agent. Needs pandas."""
        pandas = require_pandas()
        count, agents = self.models.shape[:2]
        distances = self.squared_distances
        return pandas.DataFrame(
            {
                "round": np.repeat(self.rounds, agents),
                "agent": np.tile(np.arange(agents), count),
                "honest": np.tile([agent in self.honest for agent in range(agents)], count),
                "squared_distance": np.nan if distances is None else distances.ravel(),
                "gradient_length": np.linalg.norm(self.gradients, axis=2).ravel(),
                "consensus_error": np.repeat(self.consensus_errors, agents),
            }
        )


def history_of(
    rounds: Sequence[Round],
    parameters: ValidParameters,
    honest: Sequence[int],
    problem: Problem | None,
) -> LearningHistory:
    """The history of these rounds, of which the learning rounds alone count."""
    learning = [spoken for spoken in rounds if spoken.phase == LEARNING]
    goal, optimum = _goal(problem, honest)
    return LearningHistory(
        rounds=np.array([spoken.number for spoken in learning], dtype=np.int64),
        honest=tuple(honest),
        models=_vectors(learning, parameters, scaled=False),
        gradients=_vectors(learning, parameters, scaled=True),
        goal=goal,
        optimum=optimum,
    )


def mean_of_known(values: Array) -> Array:
    """The mean over the agents (axis 1) that said something; not a number if nobody did."""
    known = ~np.isnan(values)
    counts = known.sum(axis=1)
    sums = np.where(known, values, 0.0).sum(axis=1)
    means: Array = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def _goal(problem: Problem | None, honest: Sequence[int]) -> tuple[str, FloatVector | None]:
    """What the models are compared with; its name, and the point if it is known."""
    if problem is None:
        return "the losses are not known", None
    everybody = len(honest) == len(problem.losses)
    optimum, unknown = if_known(lambda: problem.minimiser(None if everybody else honest))
    if optimum is None:
        return unknown, None
    return "optimum" if everybody else "optimum of the honest agents", optimum


def _vectors(learning: Sequence[Round], parameters: ValidParameters, *, scaled: bool) -> Array:
    """Models, or scaled gradients read as gradients, by round and agent; not a number if unsaid."""
    lattice, agents = parameters.lattice, parameters.graph.agents
    unit = 2.0**lattice.precision.fraction_bits
    found = np.full((len(learning), agents, lattice.dimension), np.nan)
    for row, spoken in enumerate(learning):
        for agent in range(agents):
            message = spoken.said.get(agent)
            if scaled:
                message = spoken.on_edge(agent, parameters.graph.neighbours(agent)[0])
            if not isinstance(message, LearningMessage):
                continue
            vector = message.scaled_gradient if scaled else message.model
            if (
                isinstance(vector, np.ndarray)
                and vector.shape == (lattice.dimension,)
                and vector.dtype == np.int64
            ):
                whole = vector // lattice.schedule.A(spoken.number) if scaled else vector
                found[row, agent] = whole / unit
    return found


def require_pandas() -> Any:
    """The package pandas; refused in words where it is not installed."""
    try:
        import pandas  # an extra: loaded only where it is used
    except ModuleNotFoundError:
        raise FrameError("frames need pandas: pip install pandas") from None
    return pandas
