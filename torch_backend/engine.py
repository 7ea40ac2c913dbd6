"""The learning phase of all agents as one batched program: a fold over rounds.

`advance` is what `valid_ref.protocols.learn` does at every agent, for any rule of mixing: the
same models, scaled gradients and alarms, given the same private gradients.
"""

from collections.abc import Mapping, Sequence
from typing import NoReturn

import attrs
import numpy as np
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.attacks.attack import (
    Edge,
    LearningDeviation,
    LearningView,
    deviation_in,
    labels_of,
    require_labels,
)
from torch_backend.data.batches import batch_indices
from torch_backend.delivery import (
    Said,
    alarms_after,
    deliver,
    require_deviation,
    without,
    words_beyond,
)
from torch_backend.devices import repeatable
from torch_backend.errors import ConfigError, ScreeningError
from torch_backend.estimates import Estimates, Row, no_estimates
from torch_backend.kernels import empty_tensor, places, read_together, rows_of
from torch_backend.program import Program
from torch_backend.rules import RULES
from torch_backend.rules.gossip import ValidRule, mix
from torch_backend.rules.rule import Losses, Received, asks_for_losses
from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.coins import Coins
from valid_ref.named_parts import asking, name_of
from valid_ref.protocols.learn import PHASE

__all__ = ["Program", "Said", "State", "advance", "diverged", "start"]


@attrs.frozen(eq=False)
class State:
    """The network after round t; a value, which `advance` leaves as it is.

    `models` [n, d] are the models with which everybody's own code goes on, `said` [n, d] those
    that were said to all and `edges` those that single receivers got instead, zero where nothing
    usable came (LM-4). `lying` are the Byzantine agents that said another model than they keep,
    `silent` the agents whose update has left the range (AR-14); `losses` [A] are those of the
    last round, at the point of evaluation, of the agents of this process.
    """

    t: int
    models: Tensor
    said: Tensor
    edges: Mapping[Edge, Tensor]
    lying: frozenset[int]
    silent: frozenset[int]
    losses: Tensor
    alarms: tuple[Alarms, ...]
    estimates: Estimates | None


def start(program: Program) -> State:
    """Before round 1: everybody has x_0.

    Implements: LM-1, EX-7.
    """
    n, d = program.graph.agents, program.lattice.dimension
    x_0 = torch.from_numpy(np.array(program.parameters.start_model)).to(program.device)
    models = x_0.expand(n, d).contiguous()
    losses = torch.full(
        (len(program.agents),), torch.nan, dtype=program.dtype, device=program.device
    )
    estimates = None if program.estimate == "none" else no_estimates(program)
    return State(
        t=0,
        models=models,
        said=models,
        edges={},
        lying=frozenset(),
        silent=frozenset(),
        losses=losses,
        alarms=((),) * n,
        estimates=estimates,
    )


def diverged(program: Program, state: State) -> tuple[int, ...]:
    """The honest agents whose update has left the lattice: they are silent for good.

    Implements: AR-14.
    """
    return tuple(agent for agent in program.honest if agent in state.silent)


def advance(program: Program, state: State) -> tuple[State, Said]:
    """One round: mix, take private gradients, step, let the attack speak, deliver.

    Implements: LM-2, LM-3, LM-4.
    """
    t = state.t + 1
    if t > program.rounds:
        raise ConfigError(f"the run has {program.rounds} rounds and all are done", clause="LM-1")
    batches = Batches(program, t)
    own = program.shard.own(state.models)
    received = Received(program.agents, own, state.said, state.edges, apart=state.lying)
    Y, points, strange = _mixed(program, t, received, batches)
    losses, gradients = batches.gradients(points)
    consume = program.attack is None
    step = lattice.step(program.lattice, t, Y, gradients, consume=consume)
    models, lost = program.shard.gather(step.models), program.shard.gather(step.lost)
    # Who falls silent now has zeros already.
    models, gammas = without(models, state.silent), _silenced(program, step.gammas, state.silent)
    deviation = LearningDeviation()
    if program.attack is not None:
        everybody = program.shard.gather(gammas)
        deviation = deviation_in(program.attack, _view(program, state, Y, models, everybody))
        gammas = (
            everybody if len(program.heard) == len(everybody) else rows_of(everybody, program.heard)
        )
    require_deviation(program, deviation)
    kept = _replaced(models, deviation.keeps)
    found = _answers(program, (lost, strange, batches.no_labels), models, kept, deviation)
    silent = state.silent.union(agent for agent, gone in enumerate(found.lost) if gone)
    said = deliver(
        program=program,
        t=t,
        models=models,
        gammas=gammas,
        silent=silent,
        deviation=deviation,
        losses=losses,
        beyond=found.beyond,
    )
    usable, edges = said.usable_models()
    unusable = (b for b in deviation.said if b in said.problems)
    lying = frozenset((*found.lying, *unusable))
    newly = {
        agent: Raised(Alarm.OWN_UPDATE_OUT_OF_RANGE, PHASE, t, about=agent)
        for agent in silent - state.silent
    }
    alarms = alarms_after(program.graph, said, state.alarms, newly)
    estimates = None if state.estimates is None else state.estimates.add(said)
    return State(
        t=t,
        models=kept,
        said=usable,
        edges=edges,
        lying=lying,
        silent=silent,
        losses=losses,
        alarms=alarms,
        estimates=estimates,
    ), said


@attrs.frozen
class _Answers:
    """What the host must know of a round: who is lost, which words are out of range, who lies."""

    lost: Sequence[bool]
    beyond: Sequence[bool]
    lying: Sequence[int]


def _answers(
    program: Program,
    asked: tuple[Tensor, Tensor | None, Sequence[Tensor]],
    models: Tensor,
    kept: Tensor,
    deviation: LearningDeviation,
) -> _Answers:
    """Everything about the round that the host asks its device; it waits for it once.

    `asked` are who is lost, whether the rule gave what is out of range, and whether the attack gave
    what is no label.

    Implements: AR-11, EX-20.
    """
    lost, strange, no_labels = asked
    beyond = words_beyond(program, deviation)
    speakers = sorted({*deviation.said, *deviation.keeps})
    lies = [
        (deviation.said[b][0] if b in deviation.said else models[b]).ne(kept[b]).any()
        for b in speakers
    ]
    questions = [
        [lost],
        [] if strange is None else [strange],
        no_labels,
        [] if beyond is None else [beyond],
        lies,
    ]
    flat = iter(read_together([flags for some in questions for flags in some]))
    answers = [[flag for _ in some for flag in next(flat)] for some in questions]
    if any(answers[1]):
        _refuse_range(program, base=any(answers[1][: len(answers[1]) // 2]))
    if program.attack is not None:
        require_labels(program.attack, program.data.classes, answers[2])
    lying = [b for b, differs in zip(speakers, answers[4], strict=True) if differs]
    return _Answers(answers[0], answers[3], lying)


def gathered(program: Program, state: State) -> State:
    """The state with the losses and estimates of all agents; every process must call it."""
    estimates = None if state.estimates is None else state.estimates.gathered(program.shard)
    losses = program.shard.gather(state.losses)
    return attrs.evolve(state, losses=losses, estimates=estimates)


def divided(program: Program, state: State) -> State:
    """Of a state with the losses and estimates of all agents the share of this process.

    The opposite of `gathered`.

    Implements: EX-18.
    """
    losses = program.shard.own(state.losses)
    whole = None if state.estimates is None else state.estimates.flushed()
    if whole is None or len(program.agents) == program.graph.agents:
        return attrs.evolve(state, losses=losses, estimates=whole)
    everybody = range(program.graph.agents)
    rows: tuple[Row, ...] = (*program.heard, *(row for row in whole.rows if row not in everybody))
    numbers = places(tuple(whole.rows.index(row) for row in rows), program.device)
    sums, own = whole.sums.index_select(3, numbers), len(program.agents)
    estimates = attrs.evolve(whole, own=own, rows=rows, sums=sums)
    return attrs.evolve(state, losses=losses, estimates=estimates)


def _mixed(
    program: Program, t: int, received: Received, batches: "Batches"
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Y, the points of the private gradients, and for an own rule whether it is out of range.

    Implements: AR-4.
    """
    if isinstance(program.rule, ValidRule):
        points = empty_tensor(received.own.shape, program.dtype, program.device)
        return mix(program.lattice, t, program.graph, received, points), points, None
    rule = program.rule
    evaluate = batches.losses if asks_for_losses(rule) else None
    with asking(rule, f"mix in round {t}", ScreeningError, clause="EX-20"):
        mixed: object = rule.mix(t, program.lattice, program.graph, received, evaluate)
    tensors = isinstance(mixed, tuple) and all(isinstance(one, Tensor) for one in mixed)
    if not isinstance(mixed, tuple) or not tensors or len(mixed) != 2:
        raise ScreeningError(f"{name_of(rule)}: mix gives no pair of tensors", clause="EX-20")
    Y, E = mixed
    strange = None
    if type(rule) not in RULES.known:
        strange = _out_of_range(program, received, {"base": Y, "point of evaluation": E})
    return Y, lattice.evaluation_points(program.lattice, E, program.dtype), strange


def _out_of_range(program: Program, received: Received, mixed: Mapping[str, Tensor]) -> Tensor:
    """Refuse what a rule that somebody brought gives, where it is not of the form of `mix`.

    Whether its entries are in range is left to be read with all else that is asked about the round.

    Implements: EX-20.
    """
    limit = program.lattice.model_limit << program.lattice.precision.step_bits
    for what, tensor in mixed.items():
        if tensor.dtype != torch.int64 or tensor.shape != received.own.shape:
            raise ScreeningError(
                f"{name_of(program.rule)}: its {what} has {tensor.dtype} of shape "
                f"{tuple(tensor.shape)}; needed are torch.int64 of shape "
                f"{tuple(received.own.shape)}",
                clause="EX-20",
            )
    return torch.stack([lattice.outside(tensor, limit) for tensor in mixed.values()])


def _refuse_range(program: Program, *, base: bool) -> NoReturn:
    limit = program.lattice.model_limit << program.lattice.precision.step_bits
    what = "base" if base else "point of evaluation"
    raise ScreeningError(
        f"{name_of(program.rule)}: its {what} has an entry out of range; needed are entries below "
        f"{limit} in size",
        clause="EX-20",
    )


def _silenced(program: Program, gammas: Tensor, silent: frozenset[int]) -> Tensor:
    """The scaled gradients of this process with zeros for agents that say nothing."""
    return without(gammas, (i for i, agent in enumerate(program.agents) if agent in silent))


def _replaced(rows: Tensor, by: Mapping[int, Tensor]) -> Tensor:
    if not by:
        return rows
    rows = rows.clone()
    for agent, row in by.items():
        rows[agent] = row
    return rows


def _view(
    program: Program, state: State, Y: Tensor, models: Tensor, gammas: Tensor
) -> LearningView:
    """What the adversary sees: everybody's words of this round, before they are delivered.

    Implements: AD-2, AD-3.
    """
    graph = program.graph
    told = {
        (b, u): state.edges.get((b, u), state.said[b])
        for b in program.byzantine
        for u in graph.neighbours(b)
        if b in state.lying or (b, u) in state.edges
    }
    return LearningView(
        t=state.t + 1,
        graph=graph,
        byzantine=program.byzantine,
        parameters=program.lattice,
        coins=Coins.of_seed(program.seed).child("attack"),  # the same against every rule
        previous=state.models,
        mixed=program.shard.gather(Y),
        models=models,
        gammas=gammas,
        previous_edges=told,
    )


@attrs.frozen(eq=False)
class Batches:
    """The mini-batches of a round, and what the model makes of them.

    Those of the whole shard are kept for the round once they were made.
    """

    program: Program
    t: int
    _whole: list[tuple[Tensor, Tensor]] = attrs.field(init=False, factory=list, repr=False)
    no_labels: list[Tensor] = attrs.field(init=False, factory=list, repr=False)
    """Flags: whether an attack gave what is no label."""

    def __call__(self, positions: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Images [C, K, F] and labels [C, K] of the agents at these positions of the shard."""
        everybody = range(len(self.program.agents))
        if self.program.chunk is not None and len(positions) < len(everybody):
            return self._made(positions)
        if not self._whole:
            self._whole.append(self._made(everybody))
        images, labels = self._whole[0]
        run = range(positions[0], positions[0] + len(positions)) if len(positions) else range(0)
        if list(positions) == list(run):
            return images[run.start : run.stop], labels[run.start : run.stop]
        return rows_of(images, positions), rows_of(labels, positions)

    def _made(self, positions: Sequence[int]) -> tuple[Tensor, Tensor]:
        program = self.program
        agents = [program.agents[position] for position in positions]
        indices = [
            batch_indices(program.split, program.seed, agent, self.t, program.batch)
            for agent in agents
        ]
        images, labels = program.data.batch(torch.from_numpy(np.stack(indices)))
        lied = tuple(i for i, agent in enumerate(agents) if agent in program.byzantine)
        if program.attack is not None and lied:
            theirs, wrong = labels_of(program.attack, rows_of(labels, lied), program.data.classes)
            labels = labels.index_copy(0, places(lied, labels.device), theirs)
            self.no_labels.append(wrong)
        return images.to(program.dtype), labels

    def gradients(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Losses [A] and gradients [A, d] of all agents of the shard, a chunk at a time.

        Every call of the model has the same shape; a last chunk that is short is filled up.
        """
        count = len(self.program.agents)
        chunk = count if self.program.chunk is None else self.program.chunk
        if chunk == count:
            images, labels = self(range(count))
            with repeatable(self.program.device):
                return self.program.model.gradients(points, images, labels)
        losses, gradients = points.new_empty(count), torch.empty_like(points)
        for begin in range(0, count, chunk):
            positions = [min(i, count - 1) for i in range(begin, begin + chunk)]
            images, labels = self(positions)
            with repeatable(self.program.device):
                some, steep = self.program.model.gradients(
                    rows_of(points, positions), images, labels
                )
            held = min(chunk, count - begin)
            losses[begin : begin + held] = some[:held]
            gradients[begin : begin + held] = steep[:held]
        return losses, gradients

    @property
    def losses(self) -> Losses:
        """The losses of candidates on the batches of their receivers, for rules that ask."""

        def losses(positions: Sequence[int], candidates: Tensor) -> Tensor:
            images, labels = self(positions)
            with repeatable(self.program.device):
                return self.program.model.losses(candidates.to(self.program.dtype), images, labels)

        return losses
