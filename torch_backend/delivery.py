"""What was said in a round, what of it can be used, and who alarms over it."""

from collections.abc import Iterable, Mapping, Sequence

import attrs
import torch
from torch import Tensor

from torch_backend import lattice
from torch_backend.attacks.attack import Edge, LearningDeviation
from torch_backend.errors import BackendAttackError
from torch_backend.kernels import places, read_together
from torch_backend.program import Program
from valid_ref.alarms import Alarm, Alarms, Raised
from valid_ref.foreign import refusing
from valid_ref.graph import AgentGraph
from valid_ref.lattice import LatticeParameters
from valid_ref.named_parts import name_of
from valid_ref.protocols.learn import PHASE

Pair = tuple[Tensor, Tensor]
"""A model and a scaled gradient, int64 [d]."""


@attrs.frozen(eq=False)
class Said:
    """The messages of round t.

    `models` [n, d] is what everybody says to all, zero for silence; `gammas` [A, d] the scaled
    gradients of `agents`, those of this process and the Byzantine ones. `edges` has what single
    edges carried instead, None for silence. `problems` and `edge_problems` say why a message
    cannot be used (LM-4).
    """

    t: int
    agents: tuple[int, ...]
    models: Tensor
    gammas: Tensor
    edges: Mapping[Edge, Pair | None]
    problems: Mapping[int, Alarm]
    edge_problems: Mapping[Edge, Alarm]
    losses: Tensor

    def usable_models(self) -> tuple[Tensor, Mapping[Edge, Tensor]]:
        """What receivers go on with: zero vectors in place of what cannot be used.

        Implements: LM-4.
        """
        models = self.models
        if self.problems:
            models = without(models, self.problems)
        return models, {edge: pair[0] for edge, pair in self.usable_edges().items()}

    def usable_edges(self) -> Mapping[Edge, Pair]:
        """What single receivers go on with where it is not what was said to all."""
        zero = torch.zeros_like(self.models[0])
        return {
            edge: (zero, zero) if pair is None or edge in self.edge_problems else pair
            for edge, pair in self.edges.items()
        }

    def usable_gammas(self) -> Tensor:
        """The scaled gradients of `agents` as receivers keep them."""
        bad = [i for i, agent in enumerate(self.agents) if agent in self.problems]
        return without(self.gammas, bad) if bad else self.gammas

    def problem(self, sender: int, receiver: int) -> Alarm | None:
        """Why the message on an edge cannot be used; None if it can."""
        if (sender, receiver) in self.edges:
            return self.edge_problems.get((sender, receiver))
        return self.problems.get(sender)


def without(rows: Tensor, silent: Iterable[int]) -> Tensor:
    """The rows with zeros for agents that say nothing."""
    numbers = tuple(sorted(silent))
    return rows.index_fill(0, places(numbers, rows.device), 0) if numbers else rows


def deliver(
    program: Program,
    *,
    t: int,
    models: Tensor,
    gammas: Tensor,
    silent: frozenset[int],
    deviation: LearningDeviation,
    losses: Tensor,
    beyond: Sequence[bool],
) -> Said:
    """Put the words of the adversary in the place of honest code's.

    `beyond` are the answers to `words_beyond`.

    Implements: AD-4.
    """
    if deviation.said:
        models, gammas = models.clone(), gammas.clone()
        row_of = {agent: row for row, agent in enumerate(program.heard)}
        for agent, (model, gamma) in deviation.said.items():
            models[agent], gammas[row_of[agent]] = model, gamma
    edges: dict[Edge, Pair | None] = dict(deviation.edges)
    edges.update(dict.fromkeys(sorted(deviation.silent)))
    missing = silent.difference(deviation.said)
    problems, edge_problems = _problems(missing, deviation.said, edges, beyond)
    return Said(
        t=t,
        agents=program.heard,
        models=models,
        gammas=gammas,
        edges=edges,
        problems=problems,
        edge_problems=edge_problems,
        losses=losses,
    )


def find_problems(
    parameters: LatticeParameters,
    missing: Iterable[int],
    said: Mapping[int, Pair],
    edges: Mapping[Edge, Pair | None],
) -> tuple[Mapping[int, Alarm], Mapping[Edge, Alarm]]:
    """Which words to all, and which on single edges, are missing or out of range.

    Implements: AR-11, LM-4.
    """
    pairs = [*said.values(), *(pair for pair in edges.values() if pair is not None)]
    (beyond,) = read_together([_beyond(parameters, pairs)]) if pairs else ([],)
    return _problems(missing, said, edges, beyond)


def _problems(
    missing: Iterable[int],
    said: Mapping[int, Pair],
    edges: Mapping[Edge, Pair | None],
    beyond: Sequence[bool],
) -> tuple[Mapping[int, Alarm], Mapping[Edge, Alarm]]:
    """The same from what is out of range: words to all, then words on edges, in their order."""
    problems = dict.fromkeys(missing, Alarm.MISSING_MESSAGE)
    found = iter(beyond)
    problems |= {agent: Alarm.OUT_OF_RANGE for agent in said if next(found)}
    edge_problems = {}
    for edge, pair in edges.items():
        if pair is None:
            edge_problems[edge] = Alarm.MISSING_MESSAGE
        elif next(found):
            edge_problems[edge] = Alarm.OUT_OF_RANGE
    return problems, edge_problems


def require_deviation(program: Program, deviation: LearningDeviation) -> None:
    """Refuse a deviation of another form, or one that Byzantine agents cannot make.

    Implements: AD-4, EX-20.
    """
    given = f"{name_of(program.attack)}: deviate gives what is no deviation:"
    with refusing(BackendAttackError, given, clause="EX-20"):
        _check(program, deviation)


def words_beyond(program: Program, deviation: LearningDeviation) -> Tensor | None:
    """For words to all, then for those on edges, a flag: whether they are out of range.

    Implements: AR-11.
    """
    pairs = [*deviation.said.values(), *deviation.edges.values()]
    return _beyond(program.lattice, pairs) if pairs else None


def _check(program: Program, deviation: LearningDeviation) -> None:
    """Refuse words on an edge that does not leave a Byzantine agent, and vectors of other form.

    Implements: AD-4.
    """
    speakers = {*deviation.said, *deviation.keeps}
    stray = sorted(speakers.difference(program.byzantine))
    edges = {*deviation.edges, *deviation.silent}
    stray += sorted(
        s for s, r in edges if s not in program.byzantine or r not in program.graph.neighbours(s)
    )
    if stray:
        raise BackendAttackError(
            f"the attack speaks for agents {stray}, or on edges that they do not have (Byzantine: "
            f"{list(program.byzantine)})",
            clause="AD-4",
        )
    shape = (program.lattice.dimension,)
    pairs = [*deviation.said.values(), *deviation.edges.values()]
    if any(len(pair) != 2 for pair in pairs):
        raise BackendAttackError("the attack sends what is no pair of vectors", clause="AR-11")
    for vector in (*(v for pair in pairs for v in pair), *deviation.keeps.values()):
        if vector.dtype != torch.int64 or vector.shape != shape:
            raise BackendAttackError(
                f"the attack sends a vector of {vector.dtype} and shape {tuple(vector.shape)}; "
                f"int64 and {shape} are needed",
                clause="AR-11",
            )


def _beyond(parameters: LatticeParameters, pairs: Sequence[Pair]) -> Tensor:
    """For each message whether it breaks the range rule.

    Implements: AR-11.
    """
    limits = parameters.model_limit, parameters.gradient_limit
    flags = [
        lattice.outside(vector[None], limit)
        for pair in pairs
        for vector, limit in zip(pair, limits, strict=True)
    ]
    return torch.cat(flags).reshape(-1, 2).any(dim=1)


def alarms_after(
    graph: AgentGraph, said: Said, before: tuple[Alarms, ...], newly: Mapping[int, Raised]
) -> tuple[Alarms, ...]:
    """Everybody's alarms after a round: first that of the own update, then those of receiving.

    Implements: AR-14, LM-4, MO-7, MO-8.
    """
    if not (newly or said.problems or said.edge_problems):
        return before
    after = []
    for receiver, alarms in enumerate(before):
        own = (newly[receiver],) if receiver in newly else ()
        problems = ((s, said.problem(s, receiver)) for s in graph.neighbours(receiver))
        raised = tuple(Raised(p, PHASE, said.t, s) for s, p in problems if p is not None)
        after.append(alarms + own + raised)
    return tuple(after)
