"""Parts of somebody's own that fail where they are told to, copied to where a command is run.

`theirs:Loss:fails=gradient,error=SystemExit` raises SystemExit where its gradient is asked for.
"""

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from valid_ref import AgentGraph, Deviation, Scenario, Setting
from valid_ref.adversary.attack import Account

if TYPE_CHECKING:
    from fractions import Fraction as Strength


class StrangeError(BaseException):
    """Neither an Exception nor one with a text."""

    def __str__(self) -> str:
        raise SystemExit(0)


ERRORS: dict[str, type[BaseException]] = {
    kind.__name__: kind
    for kind in (
        ValueError,
        KeyError,
        AttributeError,
        StopIteration,
        ModuleNotFoundError,
        BrokenPipeError,
        RecursionError,
        MemoryError,
        GeneratorExit,
        SystemExit,
        StrangeError,
    )
}


@attrs.frozen
class Part:
    """What all of them have: where they fail, and how."""

    fails: str = ""
    error: str = "ValueError"

    def __attrs_post_init__(self) -> None:
        self.at("making")

    def at(self, hook: str) -> None:
        """Fail, if it is here."""
        if self.fails == hook:
            raise ERRORS[self.error](0)


@attrs.frozen
class Graph(Part):
    """Three agents, all joined."""

    def build(self) -> AgentGraph:
        self.at("build")
        return AgentGraph(3, [(0, 1), (0, 2), (1, 2)])


@attrs.frozen
class Loss(Part):
    """Towards the model 1, with noise."""

    sigma: float = 1.0
    F0: float = 10.0

    @property
    def dimension(self) -> int:
        self.at("dimension")
        return 2

    @property
    def mu(self) -> float:
        self.at("mu")
        return 1.0

    @property
    def beta(self) -> float:
        self.at("beta")
        return 1.0

    def gradient(self, agent: int, t: int, point: Any) -> Any:
        self.at("gradient")
        return point - 1

    def sample(self, agent: int, t: int, point: Any, generator: np.random.Generator) -> Any:
        self.at("sample")
        return point - 1 + 0.01 * generator.standard_normal(2)

    def minimiser(self, agents: tuple[int, ...]) -> Any:
        self.at("minimiser")
        return np.ones(2)


@attrs.frozen
class Attack(Part):
    """Nothing, by all ways that there are."""

    def build(self, setting: Setting) -> Deviation:
        self.at("build")

        def adversary(_view: Any) -> Any:
            self.at("adversary")
            return {}

        def gradient(_t: int, point: Any) -> Any:
            self.at("source")
            return point - 1

        def tell(_view: Any, _agent: int) -> Account:
            self.at("tell")
            return Account((), (), ())

        sources = dict.fromkeys(setting.byzantine, gradient)
        return Deviation(adversary, sources, tell if self.fails == "tell" else None)


HOOKS = {
    "graph": ("making", "build"),
    "loss": ("making", "dimension", "mu", "beta", "gradient", "sample", "minimiser"),
    "attack": ("making", "build", "adversary", "source", "tell"),
}


@attrs.frozen
class Untyped:
    """An attack with fields whose types are not known when it runs."""

    strength: "Strength" = attrs.field(default=1)
    loud = attrs.field(default=False)
    size: float = attrs.field(default=1.0)

    def build(self, setting: Setting) -> Deviation:
        return Deviation()


def scenario(**parts: Any) -> Scenario:
    """A run that asks everything of its parts."""
    usual: dict[str, Any] = {"graph": "path:3", "rounds": 2, "seed": 0, "byzantine": 1}
    return Scenario(**usual | {"attack": "silent-source"} | parts)
