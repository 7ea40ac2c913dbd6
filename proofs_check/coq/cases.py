"""Cases for `answers.py` and `Oracle.v`: at random, and every strategy in a triangle."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from proofs_check.coq.answers import (
    AGREEMENT,
    BROADCAST,
    CHECKS,
    HASH,
    LATTICE,
    TRANSCRIPT,
)
from valid_ref.graph import AgentGraph


def _items(items: Sequence[Sequence[int]]) -> list[int]:
    return [len(items), *(number for item in items for number in item)]


def _numbers(numbers: Sequence[int]) -> list[int]:
    return [len(numbers), *numbers]


def _random_graph(random: Random, most: int = 5) -> AgentGraph:
    n = random.randint(2, most)
    edges = {(random.randrange(v), v) for v in range(1, n)}
    edges |= {(u, v) for v in range(n) for u in range(v) if random.random() < 0.3}
    return AgentGraph.from_edges(n, sorted(edges))


def _graph_row(graph: AgentGraph) -> list[int]:
    return _items([_numbers(graph.neighbours(v)) for v in range(graph.agents)])


def _random_honest(random: Random, n: int) -> list[int]:
    honest = [int(random.random() < 0.6) for _ in range(n)]
    honest[random.randrange(n)] = 1
    return honest


def _edges_said(
    graph: AgentGraph, honest: Sequence[int], rounds: int, message: Callable[[], list[int]]
) -> list[int]:
    return _items(
        [
            [r, u, v, *message()]
            for r in range(1, rounds + 1)
            for u in range(graph.agents)
            if not honest[u]
            for v in graph.neighbours(u)
        ]
    )


def broadcast_case(random: Random) -> list[int]:
    """A graph, tags, values, and any message on any Byzantine edge."""
    graph = _random_graph(random)
    n = graph.agents
    honest = _random_honest(random, n)
    tags = random.randint(1, 3)
    sources = sorted(random.randrange(n) for _ in range(tags))
    once, repaired = int(random.random() < 0.8), int(random.random() < 0.8)
    rounds = n if repaired else min(n, graph.edge_count)
    wildness = random.choice((0.0, 0.0, 0.1))

    def packet() -> list[int]:
        if random.random() < wildness:
            return [random.randrange(2)]
        lowest = -1 if random.random() < wildness else 0
        entries = [
            [1, random.randint(lowest, 2)] if random.random() < 0.5 else [0] for _ in range(tags)
        ]
        return [2, int(random.random() < wildness), *_items(entries)]

    values = [random.randint(0, 2) for _ in range(tags)]
    return [
        BROADCAST,
        *_graph_row(graph),
        *_numbers(honest),
        *_numbers(sources),
        *_numbers(values),
        once,
        repaired,
        rounds,
        *_edges_said(graph, honest, rounds, packet),
    ]


def agreement_case(random: Random) -> list[int]:
    """A graph, alarms at the start, and any word on any Byzantine edge."""
    graph = _random_graph(random, 6)
    n = graph.agents
    honest = _random_honest(random, n)
    already = [int(random.random() < 0.15) for _ in range(n)]
    persist = int(random.random() < 0.8)
    rounds = random.choice((n - 1, graph.edge_count))
    lies = random.choice((0.0, 0.05, 0.5))

    def word() -> list[int]:
        return [random.choice((0, 1, 3)) if random.random() < lies else 2]

    return [
        AGREEMENT,
        *_graph_row(graph),
        *_numbers(honest),
        *_numbers(already),
        persist,
        rounds,
        *_edges_said(graph, honest, rounds, word),
    ]


PRIMES = (2, 3, 5, 13, 101, 10007, 2**31 - 1, 2**31 + 11, 2**61 - 1)


def _entries(random: Random, count: int, limit: int) -> list[int]:
    return [random.randint(-limit, limit) for _ in range(count)]


def hash_case(random: Random) -> list[int]:
    """A prime, a key and a vector."""
    prime = random.choice(PRIMES)
    key = random.choice((0, 1, prime - 1, random.randrange(prime)))
    limit = random.choice((1, 100, 2**62))
    return [HASH, prime, key, *_numbers(_entries(random, random.randint(1, 9), limit))]


def transcript_case(random: Random) -> list[int]:
    """A prime, keys, steps and the messages of T rounds."""
    d, T = random.randint(1, 3), random.randint(1, 4)
    prime = random.choice([p for p in PRIMES if p > d * T])
    keys = [random.choice((0, random.randrange(prime))) for _ in range(random.randint(1, 3))]
    limit = random.choice((3, 2**61))
    messages = [
        [*_numbers(_entries(random, d, limit)), *_numbers(_entries(random, d, limit))]
        for _ in range(T)
    ]
    steps = [random.randint(1, 2**20) for _ in range(T)]
    return [
        TRANSCRIPT,
        prime,
        *_numbers(keys),
        d,
        *_numbers(_entries(random, d, limit)),
        *_numbers(steps),
        *_items(messages),
    ]


def lattice_case(random: Random) -> list[int]:
    """Steps, limits, models of an agent and its neighbours, a gradient; and any message."""
    d, bits, degree = random.randint(1, 4), random.choice((0, 1, 2, 5, 20)), random.randint(0, 4)
    a, A = random.randint(1, 2**bits + 1), random.randint(1, 2**bits + 1)
    xmax, gmax = random.choice(((8, 50), (100, 1000), (2**30, 2**58)))
    models = [_numbers(_entries(random, d, xmax - 1)) for _ in range(degree)]
    gradient = _entries(random, d, random.choice((3, 2 * gmax // A + 1, 2**20)))
    return [
        LATTICE,
        bits,
        a,
        A,
        xmax,
        gmax,
        *_numbers(_entries(random, d, xmax - 1)),
        *_items(models),
        *_numbers(gradient),
        *_numbers(_entries(random, d, xmax - 1)),
        *_numbers(_entries(random, d, gmax - 1)),
    ]


def checks_case(random: Random) -> list[int]:
    """Reports of all reporters, mostly equal and mostly there, and the own report of an agent."""
    graph = _random_graph(random, 4)
    n, prime = graph.agents, random.choice((2, 2, 3, 13, 10007))
    bits = random.choice((0, 1, 20))
    true = [[random.randrange(prime) for _ in range(4 * n)] for _ in range(n)]
    noise = random.choice((0.0, 0.02, 0.2))
    if random.random() < 0.6:
        _balance(graph, prime, bits, true)
    agent = random.randrange(n)

    def told(v: int) -> list[int]:
        return [random.randrange(prime) if random.random() < noise else h for h in true[v]]

    missing = random.choice((0.0, 0.0, 0.2))
    reports = [
        [u, v, *_numbers(told(v))]
        for v in range(n)
        for u in graph.neighbours(v)
        if random.random() >= missing
    ]
    return [
        CHECKS,
        prime,
        bits,
        *_graph_row(graph),
        agent,
        *_numbers(true[agent]),
        *_items(reports),
    ]


def _balance(graph: AgentGraph, prime: int, bits: int, true: list[list[int]]) -> None:
    """Choose every H_Gamma so that every relation holds."""
    for v in range(graph.agents):
        for w in range(0, 4 * graph.agents, 4):
            mixing = sum(true[u][w + 2] - true[v][w + 2] for u in graph.neighbours(v))
            true[v][w + 3] = (mixing - 2**bits * (true[v][w] - true[v][w + 1])) % prime


WRITERS = (
    (broadcast_case, 10),
    (agreement_case, 8),
    (hash_case, 4),
    (transcript_case, 4),
    (lattice_case, 5),
    (checks_case, 4),
)


def random_cases(seed: int, count: int) -> Iterator[list[int]]:
    """So many cases of all kinds; equal seeds give equal cases."""
    random = Random(seed)
    writers, shares = zip(*WRITERS, strict=True)
    for _ in range(count):
        yield random.choices(writers, shares)[0](random)


def triangle_strategies() -> Iterator[list[int]]:
    """Every strategy over null and two values of a Byzantine source in a triangle."""
    graph = AgentGraph.from_edges(3, [(0, 1), (0, 2), (1, 2)])
    for index in range(3**6):
        digits = iter([index // 3**i % 3 for i in range(6)])

        def packet(digits: Iterator[int] = digits) -> list[int]:
            digit = next(digits)
            return [2, 0, 1, *([1, digit] if digit else [0])]

        honest = [0, 1, 1]
        yield [
            BROADCAST,
            *_graph_row(graph),
            *_numbers(honest),
            1,
            0,
            1,
            0,
            1,
            1,
            3,
            *_edges_said(graph, honest, 3, packet),
        ]
