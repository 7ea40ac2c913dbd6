"""Cases for `answers.py` and `Oracle.v`: random ones, whole runs, every strategy in a triangle."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from proofs_check.coq.answers import (
    AGREEMENT,
    BROADCAST,
    CHECKS,
    ESTIMATES,
    HASH,
    LATTICE,
    LEARN,
    TRANSCRIPT,
    VALID,
)
from proofs_check.coq.case_rows import (
    PRIMES,
    entries,
    graph_row,
    items,
    numbers,
    random_graph,
    random_honest,
)
from proofs_check.coq.run_cases import estimates_case, learn_case, valid_case
from valid_ref.graph import AgentGraph


def _edges_said(
    graph: AgentGraph, honest: Sequence[int], rounds: int, message: Callable[[], list[int]]
) -> list[int]:
    return items(
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
    graph = random_graph(random)
    n = graph.agents
    honest = random_honest(random, n)
    tags = random.randint(1, 3)
    sources = sorted(random.randrange(n) for _ in range(tags))
    once, repaired = int(random.random() < 0.8), int(random.random() < 0.8)
    rounds = n if repaired else min(n, graph.edge_count)
    wildness = random.choice((0.0, 0.0, 0.1))

    def packet() -> list[int]:
        if random.random() < wildness:
            return [random.randrange(2)]
        lowest = -1 if random.random() < wildness else 0
        told = [
            [1, random.randint(lowest, 2)] if random.random() < 0.5 else [0] for _ in range(tags)
        ]
        return [2, int(random.random() < wildness), *items(told)]

    values = [random.randint(0, 2) for _ in range(tags)]
    return [
        BROADCAST,
        *graph_row(graph),
        *numbers(honest),
        *numbers(sources),
        *numbers(values),
        once,
        repaired,
        rounds,
        *_edges_said(graph, honest, rounds, packet),
    ]


def agreement_case(random: Random) -> list[int]:
    """A graph, alarms at the start, and any word on any Byzantine edge."""
    graph = random_graph(random, 6)
    n = graph.agents
    honest = random_honest(random, n)
    already = [int(random.random() < 0.15) for _ in range(n)]
    persist = int(random.random() < 0.8)
    rounds = random.choice((n - 1, graph.edge_count))
    lies = random.choice((0.0, 0.05, 0.5))

    def word() -> list[int]:
        return [random.choice((0, 1, 3)) if random.random() < lies else 2]

    return [
        AGREEMENT,
        *graph_row(graph),
        *numbers(honest),
        *numbers(already),
        persist,
        rounds,
        *_edges_said(graph, honest, rounds, word),
    ]


def hash_case(random: Random) -> list[int]:
    """A prime, a key and a vector."""
    prime = random.choice(PRIMES)
    key = random.choice((0, 1, prime - 1, random.randrange(prime)))
    limit = random.choice((1, 100, 2**62))
    return [HASH, prime, key, *numbers(entries(random, random.randint(1, 9), limit))]


def transcript_case(random: Random) -> list[int]:
    """A prime, keys, steps and the messages of T rounds."""
    d, T = random.randint(1, 3), random.randint(1, 4)
    prime = random.choice([p for p in PRIMES if p > d * T])
    keys = [random.choice((0, random.randrange(prime))) for _ in range(random.randint(1, 3))]
    limit = random.choice((3, 2**61))
    messages = [
        [*numbers(entries(random, d, limit)), *numbers(entries(random, d, limit))] for _ in range(T)
    ]
    steps = [random.randint(1, 2**20) for _ in range(T)]
    return [
        TRANSCRIPT,
        prime,
        *numbers(keys),
        d,
        *numbers(entries(random, d, limit)),
        *numbers(steps),
        *items(messages),
    ]


def lattice_case(random: Random) -> list[int]:
    """Steps, limits, models of an agent and its neighbours, a gradient; and any message."""
    d, bits, degree = random.randint(1, 4), random.choice((0, 1, 2, 5, 20)), random.randint(0, 4)
    a, A = random.randint(1, 2**bits + 1), random.randint(1, 2**bits + 1)
    xmax, gmax = random.choice(((8, 50), (100, 1000), (2**30, 2**58)))
    models = [numbers(entries(random, d, xmax - 1)) for _ in range(degree)]
    gradient = entries(random, d, random.choice((3, 2 * gmax // A + 1, 2**20)))
    return [
        LATTICE,
        bits,
        a,
        A,
        xmax,
        gmax,
        *numbers(entries(random, d, xmax - 1)),
        *items(models),
        *numbers(gradient),
        *numbers(entries(random, d, xmax - 1)),
        *numbers(entries(random, d, gmax - 1)),
    ]


def checks_case(random: Random) -> list[int]:
    """Reports of all reporters, mostly equal and mostly there, and the own report of an agent."""
    graph = random_graph(random, 4)
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
        [u, v, *numbers(told(v))]
        for v in range(n)
        for u in graph.neighbours(v)
        if random.random() >= missing
    ]
    return [
        CHECKS,
        prime,
        bits,
        *graph_row(graph),
        agent,
        *numbers(true[agent]),
        *items(reports),
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
    (lambda random: learn_case(random, LEARN), 4),
    (lambda random: estimates_case(random, ESTIMATES), 4),
)


def random_cases(seed: int, count: int) -> Iterator[list[int]]:
    """So many cases of all kinds; equal seeds give equal cases."""
    random = Random(seed)
    writers, shares = zip(*WRITERS, strict=True)
    for _ in range(count):
        yield random.choices(writers, shares)[0](random)


def random_runs(seed: int, count: int) -> Iterator[list[int]]:
    """So many whole runs; equal seeds give equal cases."""
    random = Random(seed)
    for _ in range(count):
        yield valid_case(random, VALID)


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
            *graph_row(graph),
            *numbers(honest),
            1,
            0,
            1,
            0,
            1,
            1,
            3,
            *_edges_said(graph, honest, 3, packet),
        ]
