"""Small runs of the backend on made-up images, and the same runs by the reference."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np
import torch
from torch import Tensor

from torch_backend import engine
from torch_backend.attacks.attack import LearningAttack, LearningDeviation, LearningView
from torch_backend.config.build import within_lean_range
from torch_backend.data.batches import device_data
from torch_backend.data.dataset import Dataset
from torch_backend.data.partition import Iid
from torch_backend.engine import Program, Said, State
from torch_backend.models.mlp import Softmax
from torch_backend.models.model import ModelOptions
from torch_backend.rules.gossip import ValidRule
from torch_backend.validation import fresh_openings
from valid_ref.adversary.scripted import Scripted
from valid_ref.coins import Coins
from valid_ref.execution import Execution, execute
from valid_ref.graph import AgentGraph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import FloatVector, default_limits, to_lattice
from valid_ref.machine import Adversary, CausalView, Edge, Message
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage
from valid_ref.protocols.parameters import (
    Bounds,
    LeanParameters,
    ValidParameters,
    Weighting,
    exponential_weights,
    make_weighting,
)
from valid_ref.protocols.valid import Private
from valid_ref.schedule import constant, experiment, make_schedule

CPU = torch.device("cpu")


def images(seed: int = 0, count: int = 120, size: int = 3, classes: int = 3) -> Dataset:
    """Random images whose label shows in one row of pixels."""
    generator = np.random.default_rng(seed)

    def some(number: int) -> tuple[Any, Any]:
        labels = generator.integers(0, classes, number)
        pixels = generator.integers(0, 128, (number, size, size))
        pixels[np.arange(number), labels % size] += 100
        return pixels.astype(np.uint8), labels.astype(np.int64)

    return Dataset("made up", *some(count), *some(30), classes)


def weightings(
    rounds: int, agents: int, limit: float = 1e6, bits: int = 30
) -> tuple[Weighting, ...]:
    return tuple(
        make_weighting(
            f"gamma={gamma}",
            exponential_weights(rounds, gamma, bits),
            agents,
            28,
            optimality=limit,
            heterogeneity=limit,
        )
        for gamma in (0.9, 0.99)
    )


def program(
    graph: AgentGraph,
    *,
    rounds: int = 4,
    options: ModelOptions | None = None,
    attack: LearningAttack | None = None,
    byzantine: tuple[int, ...] = (),
    limit: float = 1e6,
    bounds: Bounds | None = None,
    alpha: float | None = None,
    kappa: int | None = None,
    **others: Any,
) -> Program:
    """A run on made-up images; with kappa keys for lean validation."""
    data = images(count=max(120, 2 * graph.agents))
    model = (Softmax() if options is None else options).build(data.features, data.classes)
    step = experiment() if alpha is None else constant(alpha)
    schedule = make_schedule(rounds, step, constant(1 / (graph.max_degree + 1)))
    lattice = default_limits(model.dimension, schedule, graph.max_degree)
    start = to_lattice(model.initial(1), schedule.precision)
    parameters = ValidParameters(
        graph=graph,
        lattice=lattice,
        start_model=start,
        field=PrimeField(),
        bounds=bounds,
        weightings=weightings(rounds, graph.agents, limit, 30 if kappa is None else 16),
    )
    if kappa is not None:
        lean = LeanParameters(kappa, "5a" * 32)
        parameters = attrs.evolve(within_lean_range(parameters), lean=lean)
    split = Iid().split(data, graph.agents, 5)
    there = device_data(data, split, "unit", CPU)
    return Program(
        parameters=parameters,
        model=model,
        data=there,
        split=split,
        batch=8,
        rule=others.pop("rule", ValidRule()),
        attack=attack,
        byzantine=byzantine,
        **others,
    )


def learn(program: Program) -> tuple[list[State], list[Said]]:
    """All states from the first on, and what was said between them."""
    states, said = [engine.start(program)], []
    while states[-1].t < program.rounds:
        state, spoken = engine.advance(program, states[-1])
        states.append(state)
        said.append(spoken)
    return states, said


def message(pair: tuple[Tensor, Tensor] | None) -> LearningMessage | None:
    return None if pair is None else LearningMessage(pair[0].numpy().copy(), pair[1].numpy().copy())


def secrets_of(program: Program) -> tuple[int | Opening, ...]:
    """Keys, or openings for lean validation."""
    if program.parameters.lean is None:
        return keys_of(program)
    return fresh_openings(attrs.evolve(program, coins=Coins.of_seed(77)))


def keys_of(program: Program) -> tuple[int, ...]:
    generator = np.random.default_rng(77)
    return tuple(generator.integers(0, 2**61 - 1, program.graph.agents).tolist())


def reference(program: Program, said: list[Said], liar: Adversary = lambda _view: {}) -> Execution:
    """The whole of Valid by the reference, with the same model, batches and Byzantine words."""

    batches = {t: engine.Batches(program, t) for t in range(1, program.rounds + 1)}

    def source(agent: int) -> Callable[[int, FloatVector], FloatVector]:
        def gradient(t: int, point: FloatVector) -> FloatVector:
            batch = batches[t]([agent])
            points = torch.from_numpy(point)[None].to(program.dtype)
            return program.model.gradients(points, *batch)[1][0].double().numpy()

        return gradient

    script = Scripted(
        {
            (LEARNING, t, b, u): on_edge(spoken, b, u)
            for t, spoken in enumerate(said, start=1)
            for b in program.byzantine
            for u in program.graph.neighbours(b)
        },
        otherwise={AGREEMENT: False},
    )

    def everything(view: CausalView) -> Mapping[Edge, Message]:
        return {**script(view), **(liar(view) if view.phase != LEARNING else {})}

    keys = secrets_of(program)
    private = {agent: Private(source(agent), keys[agent]) for agent in range(program.graph.agents)}
    return execute(
        program.parameters, private, byzantine=frozenset(program.byzantine), adversary=everything
    )


def on_edge(said: Said, sender: int, receiver: int) -> LearningMessage | None:
    """What the backend says went over an edge."""
    if (sender, receiver) in said.edges:
        return message(said.edges[sender, receiver])
    if said.problems.get(sender) is not None and said.problems[sender].slug == "missing-message":
        return None
    return message((said.models[sender], said.gammas[said.agents.index(sender)]))


@attrs.frozen
class AttackByFunction:
    """An attack for tests: any function of the view of the backend."""

    kind: ClassVar[str] = "scripted"
    script: Callable[[LearningView], LearningDeviation]

    def check(self, graph: AgentGraph, byzantine: tuple[int, ...]) -> None:
        """Anything goes."""

    def deviate(self, view: LearningView) -> LearningDeviation:
        return self.script(view)

    def labels(self, labels: Tensor, classes: int) -> Tensor:
        return classes - 1 - labels


def quiet(view: LearningView) -> LearningDeviation:
    """Honest words after training on false labels."""
    return LearningDeviation()


def noisy(view: LearningView) -> LearningDeviation:
    """The true gradient with a false model, to all."""
    return LearningDeviation(
        {b: (view.models[b] + 1000 * view.t, view.gammas[b]) for b in view.byzantine}
    )


def consistent(view: LearningView) -> LearningDeviation:
    """A false model that is kept, with the scaled gradient that fits it; only in even rounds."""
    if view.t % 2:
        return LearningDeviation()
    bits = view.parameters.precision.step_bits
    false = {b: view.models[b] + 12345 for b in view.byzantine}
    pairs = {b: (model, view.mixed[b] - (model << bits)) for b, model in false.items()}
    return LearningDeviation(pairs, keeps=false)


def per_edge(view: LearningView) -> LearningDeviation:
    """Something else to every neighbour from round 2 on."""
    pairs = {
        (b, u): (view.models[b] + u * view.t, view.gammas[b] - u)
        for b in view.byzantine
        for u in view.graph.neighbours(b)
    }
    return LearningDeviation(edges=pairs if view.t > 1 else {})


def rude(view: LearningView) -> LearningDeviation:
    """Silence on one edge, words out of range on another and, in round 3, to all."""
    b = view.byzantine[0]
    first, second, *_ = view.graph.neighbours(b)
    beyond = torch.full_like(view.models[b], view.parameters.model_limit)
    said = {b: (view.models[b], beyond << 22)} if view.t == 3 else {}
    return LearningDeviation(
        said, {(b, second): (beyond, view.gammas[b])}, silent=frozenset({(b, first)})
    )
