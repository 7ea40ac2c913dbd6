"""What validation adds to learning: all of Valid against LearnModel alone."""

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.networks import network
from benchmarks.report import Section
from benchmarks.timing import interleaved, ratio
from valid_ref.execution import execute
from valid_ref.machine import run_machine
from valid_ref.protocols.learn import LearnModel

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = (("cycle:6", 64, 64), ("cycle:6", 1024, 64), ("complete:4", 20_000, 32))


def measure(quick: bool) -> Section:
    """Processor time of both on the same network, gradients that cost next to nothing."""
    rows = []
    for graph, d, T in CASES[: 2 if quick else 3]:
        parameters, private = network(graph, d, T)
        model = LearnModel(parameters.graph, parameters.lattice, parameters.start_model)
        sources = {agent: one.gradient for agent, one in private.items()}
        actions: dict[str, Callable[[], object]] = {
            "valid": partial(execute, parameters, private),
            "learn": partial(run_machine, parameters.graph, model, sources),
        }
        found = interleaved(actions, 3 if quick else 7)
        times = ratio(found["valid"], found["learn"])
        rows.append((graph, d, T, found["learn"], found["valid"], times))
    return Section(
        "Valid against LearnModel alone",
        ("graph", "d", "T", "LearnModel, s", "Valid, s", "times as long"),
        tuple(rows),
        remarks=("Gradients are almost free here; beside real training the ratio is smaller.",),
    )
