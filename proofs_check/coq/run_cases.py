"""Random cases of learning, of estimates and of whole runs of Valid."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import attrs

from proofs_check.coq.case_rows import (
    PRIMES,
    entries,
    graph_row,
    items,
    numbers,
    random_graph,
    random_honest,
)
from proofs_check.coq.rows import Row
from proofs_check.coq.run_answers import read_message, read_run, write_message
from valid_ref.graph import AgentGraph
from valid_ref.machine import CausalView, Edge, Message, run_machine

LIMITS = ((8, 40), (60, 1000), (2**20, 2**40))


@attrs.frozen
class Setting:
    """The shape of a run: graph, honest agents, dimension, rounds, limits."""

    graph: AgentGraph
    honest: Sequence[int]
    dimension: int
    rounds: int
    model_limit: int
    gradient_limit: int


def _setting(random: Random, agents: int, rounds: int) -> Setting:
    graph = random_graph(random, agents)
    honest = [1] * graph.agents if random.random() < 0.3 else random_honest(random, graph.agents)
    limits = random.choices(LIMITS, (1, 1, 10))[0]
    return Setting(graph, honest, random.randint(1, 3), random.randint(1, rounds), *limits)


def _learning_row(random: Random, setting: Setting) -> list[int]:
    d, T, bits = setting.dimension, setting.rounds, random.choice((0, 1, 3, 6))
    xmax, gmax = setting.model_limit, setting.gradient_limit
    steps = [random.randint(1, 2**bits + 1) for _ in range(T)]
    rates = [random.randint(1, 2**bits + 1) for _ in range(T)]
    start = entries(random, d, random.choice((0, 3, xmax - 1)))
    wrong = random.choice((0.0, 0.0, 0.0, 0.1))

    def gradient() -> list[int]:
        size = d - 1 if random.random() < wrong else d
        return [random.randint(-2, 2), *numbers(entries(random, size, random.choice((3, 3, 30))))]

    gradients = [items([gradient() for _ in range(T)]) for _ in range(setting.graph.agents)]
    largest = random.choice((100, 10**4, 10**6))
    bounds = [[random.randint(0, largest) for _ in range(T)] for _ in range(2)]
    return [
        *graph_row(setting.graph),
        *numbers(setting.honest),
        d,
        bits,
        *numbers(steps),
        *numbers(rates),
        xmax,
        gmax,
        *numbers(start),
        *items(gradients),
        *([1, *numbers(bounds[0]), *numbers(bounds[1])] if random.random() < 0.4 else [0]),
    ]


def _pair(random: Random, setting: Setting) -> list[int]:
    """A learning message, sometimes out of range or of the wrong length."""
    d = setting.dimension + random.choices((0, 1, -1), (20, 1, 1))[0]
    beyond = random.choices((0, 1), (20, 1))[0]
    limit = random.choice((3, 30))
    model = entries(random, d, min(limit, setting.model_limit - 1) + beyond * setting.model_limit)
    return [*numbers(model), *numbers(entries(random, d, min(limit, setting.gradient_limit - 1)))]


def _edges(setting: Setting) -> Iterator[list[int]]:
    """Round, sender and receiver wherever a Byzantine agent may speak while all learn."""
    for r in range(1, setting.rounds + 1):
        for u in range(setting.graph.agents):
            if not setting.honest[u]:
                for v in setting.graph.neighbours(u):
                    yield [r, u, v]


def _learning_said(random: Random, setting: Setting) -> list[list[int]]:
    """Learning messages: the same for all neighbours, or different ones, or none."""
    lies, silence = random.choice((0.0, 0.1, 1.0)), random.choice((0.0, 0.0, 0.1))
    common: dict[tuple[int, int], list[int]] = {}
    said = []
    for edge in _edges(setting):
        pair = common.setdefault((edge[0], edge[1]), _pair(random, setting))
        if random.random() < lies:
            pair = _pair(random, setting)
        said.append([*edge, *([random.randrange(2)] if random.random() < silence else [2, *pair])])
    return said


def learn_case(random: Random, kind: int) -> list[int]:
    """LearnModel against any learning messages."""
    setting = _setting(random, 5, 4)
    return [kind, *_learning_row(random, setting), *items(_learning_said(random, setting))]


def _weighting(random: Random, rounds: int) -> list[int]:
    weights = [random.choice((0, 1, 1, 2, 2**20)) for _ in range(rounds)]
    weights[random.randrange(rounds)] = 1
    high, spread = random.choices(((20, 200), (2**10, 2**14), (2**40, 2**80)), (1, 2, 4))[0]
    tails = random.random() < 0.2
    return [
        *numbers(weights),
        random.randint(1, high),
        int(tails),
        random.randint(1, spread),
        int(tails),
    ]


def estimates_case(random: Random, kind: int) -> list[int]:
    """A transcript, and values that an agent may hold after the broadcast of estimates."""
    graph = random_graph(random, 4)
    d, T = random.randint(1, 3), random.randint(1, 3)
    weightings = [_weighting(random, T) for _ in range(random.randint(1, 2))]
    gmax, limit = random.choice(((5, 5), (5, 6), (2**40, 2**50), (2**40, 20)))
    width = d * len(weightings)
    true = [entries(random, width, limit) for _ in range(graph.agents)]
    noise, missing = random.choice((0.0, 0.0, 0.1)), random.choice((0.0, 0.0, 0.2))
    agent = random.randrange(graph.agents)

    def told(v: int) -> list[int]:
        return [x + int(random.random() < noise) for x in true[v]]

    values = [
        [u, v, *numbers(told(v))]
        for v in range(graph.agents)
        for u in graph.neighbours(v)
        if random.random() >= missing
    ]
    transcript = [
        [*numbers(entries(random, d, 9)), *numbers(entries(random, d, limit))] for _ in range(T)
    ]
    return [
        kind,
        d,
        *numbers([random.randint(1, 9) for _ in range(T)]),
        gmax,
        *items(weightings),
        *items(transcript),
        *items([numbers(entries(random, size, limit)) for size in (width, width, width - 1)]),
        *graph_row(graph),
        agent,
        *numbers(true[agent]),
        *items(values),
    ]


def valid_case(random: Random, kind: int) -> list[int]:
    """A whole run: Byzantine agents follow the protocol, and lie seldom, often or always."""
    setting = _setting(random, 3 if random.random() < 0.8 else 4, 2)
    n, d, T = setting.graph.agents, setting.dimension, setting.rounds
    prime = random.choice([p for p in PRIMES if p > d * T])
    weightings = [_weighting(random, T) for _ in range(random.choices((1, 2, 0), (6, 3, 1))[0])]
    begin = [
        *_learning_row(random, setting),
        prime,
        *numbers([random.randrange(prime) for _ in range(n)]),
        *items(weightings),
        int(random.random() < 0.8),
        int(random.random() < 0.8),
    ]
    run = read_run(Row(begin))
    lies = random.choice(((0.0, 0.0), (0.4, 0.0), (0.0, 0.05), (0.1, 0.1), (1.0, 1.0)))
    lengths = {3: 4 * n, 4: d * len(weightings)}

    def values(count: int, value: Callable[[], list[int]]) -> list[int]:
        return items([[1, *value()] if random.random() < 0.7 else [0] for _ in range(count)])

    def lie(stage: int) -> list[int]:
        """Any message: silence, nonsense, or values of any length and size."""
        unknown = int(random.random() < 0.1)
        if random.random() < 0.1:
            return [random.randrange(2)]
        if stage == 0:
            return [2, *_pair(random, setting)]
        if stage == 1:
            return [3, unknown, *values(n, lambda: [random.randint(-1, prime)])]
        if stage == 4:
            return [5, int(random.random() < 0.3)]
        length = lengths[stage + 1]
        count = len(run.tags.slots)

        def value() -> list[int]:
            size = length if random.random() < 0.9 else length + 1
            return numbers([random.randrange(prime) for _ in range(size)])

        return [4, unknown, *values(count, value)]

    said: list[list[int]] = []

    def adversary(view: CausalView) -> dict[Edge, Message]:
        r = len(view.history) + 1
        stage = 0 if r <= T else 1 + (r - T - 1) // n
        told: dict[Edge, Message] = {}
        for edge in view.own_edges:
            row = write_message(run.tags, stage, view.said[edge[0]])
            if random.random() < lies[min(stage, 1)]:
                row = lie(stage)
            said.append([r, *edge, *row])
            told[edge] = read_message(Row(row), run.tags)
        return told

    byzantine = frozenset(v for v in range(n) if not setting.honest[v])
    run_machine(setting.graph, run.machine, run.private, byzantine=byzantine, adversary=adversary)
    return [kind, *begin, *items(said)]
