"""What a run trains: everything that does not change from round to round, checked once."""

from collections.abc import Iterable
from typing import Literal

import attrs
import torch

from torch_backend.attacks.attack import LearningAttack, check_attack
from torch_backend.data.batches import DeviceData
from torch_backend.data.partition import Split
from torch_backend.distributed import Shard, Whole
from torch_backend.errors import BackendAttackError, ConfigError, DataError, DeviceError, ModelError
from torch_backend.models.model import Model
from torch_backend.rules.rule import Rule, check_rule
from valid_ref.coins import Coins
from valid_ref.graph import AgentGraph, assumption_1_plus, honest_agents
from valid_ref.lattice import LatticeParameters
from valid_ref.protocols.learn import LearnModel
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.reading import Reading


def require_device(name: str) -> torch.device:
    """The device of this name; one that is not there is refused.

    Implements: EX-11.
    """
    try:
        device = torch.device(name)
        if device.type == "mps":
            raise DeviceError(
                f"device {name!r} cannot be used: it has no float64, in which sums are exact here; "
                "use cpu"
            )
        torch.zeros(1, dtype=torch.int64, device=device).item()  # the device "meta" has no numbers
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise DeviceError(
            f"device {name!r} cannot be used ({reason}); use cpu, or a torch with that device"
        ) from None
    return device


def _sorted_agents(agents: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({*agents}))


@attrs.frozen(eq=False)
class Program:
    """A run as a value: `engine.start` and `engine.advance` are functions of it.

    `chunk` is how many agents' gradients are taken at a time (all, if None): less memory, and the
    same numbers however the agents are divided among processes. The seed gives the data, `coins`
    the keys; a job has coins of its whole configuration. `estimate` says whether the gradient
    estimates of GlobalValidate are kept up: of every transcript ("agents"), as validation needs
    them, of each agent as it counts in the statistics ("counted"), or none; `dtype` is that of the
    private gradients.
    """

    parameters: ValidParameters
    model: Model
    data: DeviceData
    split: Split
    batch: int
    rule: Rule
    attack: LearningAttack | None = None
    byzantine: tuple[int, ...] = attrs.field(default=(), converter=_sorted_agents)
    seed: int = 0
    coins: Coins = attrs.field(
        default=attrs.Factory(lambda self: Coins.of_seed(self.seed), takes_self=True)
    )
    device: torch.device = attrs.field(factory=lambda: torch.device("cpu"))
    chunk: int | None = None
    shard: Shard = attrs.field(
        default=attrs.Factory(lambda self: Whole(self.parameters.graph.agents), takes_self=True)
    )
    estimate: Literal["agents", "counted", "none"] = "agents"
    dtype: torch.dtype = torch.float32

    def __attrs_post_init__(self) -> None:
        parameters, n = self.parameters, self.graph.agents
        if parameters.reading != Reading():
            raise ConfigError("the backend runs the repaired protocol only; use valid-ref run")
        LearnModel(self.graph, self.lattice, parameters.start_model)  # refuses what does not fit
        if self.model.dimension != self.lattice.dimension:
            raise ModelError(
                f"the model has {self.model.dimension} parameters, the lattice was made for "
                f"{self.lattice.dimension}"
            )
        if len(self.split.parts) != n:
            raise DataError(f"the data are split among {len(self.split.parts)} agents, not {n}")
        if self.batch < 1 or (self.chunk is not None and self.chunk < 1):
            raise ConfigError(f"batch = {self.batch}, chunk = {self.chunk}: both start at 1")
        if self.data.images.device.type != self.device.type:
            raise DeviceError(
                f"the data are on {self.data.images.device}, the run on {self.device}: make them "
                "with device_data(.., device) of the same device"
            )
        if self.estimate not in ("agents", "counted", "none"):
            raise ConfigError(f"estimate = {self.estimate!r} is none of agents, counted, none")
        self._check_adversary()
        check_rule(self.rule, self.graph)

    def _check_adversary(self) -> None:
        """Refuse an adversary under which the protocol promises nothing.

        Implements: AD-6, AD-8.
        """
        if (self.attack is None) != (not self.byzantine):
            raise BackendAttackError(
                f"attack {getattr(self.attack, 'kind', None)} with Byzantine agents "
                f"{list(self.byzantine)}: give both or neither"
            )
        report = assumption_1_plus(self.graph, self.byzantine)
        if not report:
            raise BackendAttackError(
                f"Assumption 1+ fails for Byzantine agents {list(self.byzantine)}: "
                f"{report.reason}; choose other agents or add edges",
                clause="AD-6",
            )
        if self.attack is not None:
            check_attack(self.attack, self.graph, self.byzantine)

    @property
    def graph(self) -> AgentGraph:
        """The graph of the agents."""
        return self.parameters.graph

    @property
    def lattice(self) -> LatticeParameters:
        """The arithmetic."""
        return self.parameters.lattice

    @property
    def rounds(self) -> int:
        """T."""
        return self.lattice.schedule.rounds

    @property
    def agents(self) -> tuple[int, ...]:
        """The agents that this process computes."""
        return self.shard.agents

    @property
    def heard(self) -> tuple[int, ...]:
        """The agents whose scaled gradients this process has: its own, and the Byzantine ones."""
        own = self.agents
        return own + tuple(agent for agent in self.byzantine if agent not in own)

    @property
    def honest(self) -> tuple[int, ...]:
        """H, sorted."""
        return honest_agents(self.graph, self.byzantine)
