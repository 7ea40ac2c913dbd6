"""Parts of the rows of random cases: lists, graphs, honest agents, entries."""

from collections.abc import Sequence
from random import Random

from valid_ref.graph import AgentGraph

PRIMES = (2, 3, 5, 13, 101, 10007, 2**31 - 1, 2**31 + 11, 2**61 - 1)
"""Small and large ones; the hash works modulo any."""


def items(rows: Sequence[Sequence[int]]) -> list[int]:
    """A list of rows."""
    return [len(rows), *(number for row in rows for number in row)]


def numbers(values: Sequence[int]) -> list[int]:
    """A list of numbers."""
    return [len(values), *values]


def random_graph(random: Random, most: int = 5) -> AgentGraph:
    """A connected graph of 2 to `most` agents."""
    n = random.randint(2, most)
    edges = {(random.randrange(v), v) for v in range(1, n)}
    edges |= {(u, v) for v in range(n) for u in range(v) if random.random() < 0.3}
    return AgentGraph.from_edges(n, sorted(edges))


def graph_row(graph: AgentGraph) -> list[int]:
    """A graph as the lists of its neighbours."""
    return items([numbers(graph.neighbours(v)) for v in range(graph.agents)])


def random_honest(random: Random, n: int) -> list[int]:
    """Who is honest: one agent at least."""
    honest = [int(random.random() < 0.6) for _ in range(n)]
    honest[random.randrange(n)] = 1
    return honest


def entries(random: Random, count: int, limit: int) -> list[int]:
    """So many entries between -limit and limit."""
    return [random.randint(-limit, limit) for _ in range(count)]
