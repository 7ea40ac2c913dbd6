"""What a round of the batched program costs, against what it could cost and against others.

All cases do the same work (20 agents on the paper's graph, 784-128-64-10, batches of 300 of
made-up images) in one process on the same cores; they take turns, and medians are compared. The
clock is that of the wall, or with `--clock cpu` the processor time of all threads, which other
processes disturb less.

    OMP_NUM_THREADS=1 python benchmarks/torch_round.py [--threads N] [--turns N] [--clock cpu]

bare       the matrix products of a round alone
loop       every agent by itself: autograd and mixing in float32, no lattice
round      engine.advance
valid      engine.advance with estimates and transcripts; validation is measured apart and its
           share of a round of a run of --rounds rounds is added
ubar, bridge-m   engine.advance with these rules
"""

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import attrs
import numpy as np
import torch
from torch import Tensor

from torch_backend import engine
from torch_backend.data.batches import device_data
from torch_backend.data.dataset import Dataset
from torch_backend.data.partition import Iid
from torch_backend.engine import Program, State
from torch_backend.models.mlp import Mlp, MlpModel
from torch_backend.rules.bridge import BridgeMedian
from torch_backend.rules.gossip import ValidRule
from torch_backend.rules.ubar import Ubar
from torch_backend.transcripts import TranscriptWriter, open_transcripts
from torch_backend.validation import fresh_keys, validate
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import paper_graph
from valid_ref.hashing import PrimeField
from valid_ref.lattice import default_limits, to_lattice
from valid_ref.protocols.parameters import ValidParameters, exponential_weights, make_weighting
from valid_ref.schedule import constant, experiment, make_schedule

TARGETS = {
    "round / bare": ("<=", 1.2),
    "loop / round": (">=", 1.34),
    "valid / round": ("<=", 1.5),
    "ubar / valid without validation": ("<=", 3.5),
    "bridge-m / valid without validation": ("<=", 1.3),
}


def make_program(
    rounds: int,
    graph: AgentGraph | None = None,
    hidden: tuple[int, ...] = (128, 64),
    images: int = 3000,
    batch: int = 300,
    shades: int = 256,
    **others: Any,
) -> Program:
    """A run on made-up images of the size of MNIST; dark ones keep small models in the range."""
    graph = paper_graph() if graph is None else graph
    generator, count = np.random.default_rng(0), images * graph.agents
    pixels = generator.integers(0, shades, (count + 10, 28, 28)).astype(np.uint8)
    labels = generator.integers(0, 10, count + 10)
    data = Dataset(
        name="made up",
        train_images=pixels[10:],
        train_labels=labels[10:],
        test_images=pixels[:10],
        test_labels=labels[:10],
        classes=10,
    )
    model = Mlp(hidden).build(784, 10)
    schedule = make_schedule(rounds, experiment(), constant(1 / (graph.max_degree + 1)))
    start = to_lattice(model.initial(0), schedule.precision)
    weightings = tuple(
        make_weighting(
            f"gamma={gamma}",
            exponential_weights(rounds, gamma),
            graph.agents,
            28,
            optimality=1e6,
            heterogeneity=1e6,
        )
        for gamma in (0.9, 0.99)
    )
    limits = default_limits(model.dimension, schedule, graph.max_degree)
    parameters = ValidParameters(
        graph=graph,
        lattice=limits,
        start_model=start,
        field=PrimeField(),
        bounds=None,
        weightings=weightings,
    )
    split = Iid().split(data, graph.agents, 0)
    there = device_data(data, split, "unit", torch.device("cpu"))
    rule = others.pop("rule", ValidRule())
    return Program(parameters, model, there, split, batch=batch, rule=rule, **others)


def bare(program: Program) -> Callable[[], None]:
    """The products of one round: forwards, and backwards to weights and activations."""
    sizes = cast("MlpModel", program.model).sizes
    values = [torch.randn(program.graph.agents, program.batch, size) for size in sizes]
    pairs = itertools.pairwise(sizes)
    weights = [torch.randn(program.graph.agents, outer, inner) for inner, outer in pairs]

    def products() -> None:
        for value, weight in zip(values, weights, strict=False):
            torch.bmm(value, weight.transpose(1, 2))
        for below, above, weight in zip(values, values[1:], weights, strict=False):
            torch.bmm(above.transpose(1, 2), below)
            if below is not values[0]:
                torch.bmm(above, weight)

    return products


def loop(program: Program) -> Callable[[], None]:
    """Every agent by itself, as one would write it: mixing in float32, then autograd."""
    sizes, graph = cast("MlpModel", program.model).sizes, program.graph
    pairs = list(itertools.pairwise(sizes))
    networks = [[torch.randn(o, i) / i for i, o in pairs] for _ in range(graph.agents)]
    biases = [[torch.zeros(o) for _i, o in pairs] for _ in range(graph.agents)]
    batches = engine.Batches(attrs.evolve(program, chunk=1), 1)

    def one(agent: int, models: list[list[Tensor]]) -> list[Tensor]:
        images, labels = batches([agent])
        count = graph.degree(agent)
        mixed = [
            own + (sum(models[u][j] for u in graph.neighbours(agent)) - count * own) / 11
            for j, own in enumerate(models[agent])
        ]
        leaves = [layer.requires_grad_() for layer in mixed]
        value = images[0]
        for layer, (weight, bias) in enumerate(zip(leaves[::2], leaves[1::2], strict=True), 1):
            value = torch.nn.functional.linear(value, weight, bias)
            value = value.relu() if layer < len(pairs) else value
        loss = torch.nn.functional.cross_entropy(value, labels[0])
        slopes = torch.autograd.grad(loss, leaves)
        return [m.detach() - 0.1 * s for m, s in zip(mixed, slopes, strict=True)]

    def everybody() -> None:
        models = [
            [p for pair in zip(w, b, strict=True) for p in pair]
            for w, b in zip(networks, biases, strict=True)
        ]
        for agent in range(graph.agents):
            one(agent, models)

    return everybody


class Case:
    """Rounds of one program, one after the other; at the last it begins again."""

    def __init__(self, program: Program, writer: TranscriptWriter | None = None) -> None:
        self.program, self.writer = program, writer
        self.state: State = engine.start(program)

    def __call__(self) -> None:
        """One round."""
        if self.state.t == self.program.rounds:
            self.state = engine.start(self.program)
        self.state, said = engine.advance(self.program, self.state)
        if self.writer is not None:
            self.writer.append(said)

    def flushed(self) -> State:
        """The state with its estimates added up."""
        estimates = self.state.estimates
        if estimates is None:
            return self.state
        return attrs.evolve(self.state, estimates=estimates.flushed())


def validation_seconds(clock: Callable[[], float], rounds: int) -> float:
    """Validation of a run of so many rounds."""
    program = make_program(rounds)
    with tempfile.TemporaryDirectory() as name:
        writer = TranscriptWriter(Path(name), program)
        case = Case(program, writer)
        for _ in range(rounds):
            case()
        writer.close()
        state = case.flushed()
        begin = clock()
        validate(program, state, open_transcripts(Path(name), program), fresh_keys(program))
        return clock() - begin


def main() -> None:
    """Measure, print, compare with the targets."""
    plain = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=28)
    parser.add_argument("--warm", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    program = make_program(options.rounds, estimate="none")
    with tempfile.TemporaryDirectory() as folder:
        writer = TranscriptWriter(Path(folder), program)
        kept = Case(attrs.evolve(program, estimate="agents"), writer)
        cases: dict[str, Callable[[], None]] = {
            "bare": bare(program),
            "loop": loop(program),
            "round": Case(program),
            "kept": kept,
            "ubar": Case(attrs.evolve(program, rule=Ubar())),
            "bridge-m": Case(attrs.evolve(program, rule=BridgeMedian())),
        }
        for _ in range(options.warm):  # until estimates were added up and memory is used again
            kept()
        kept.flushed()  # compiled loops are loaded before the clock runs
        times: dict[str, list[float]] = {name: [] for name in cases}
        for turn in range(options.turns + 1):
            for name, run in cases.items():
                begin = clock()
                run()
                if turn:
                    times[name].append(clock() - begin)
        writer.close()
    few, many = 4, 16
    short = statistics.median(validation_seconds(clock, few) for _ in range(3))
    long = statistics.median(validation_seconds(clock, many) for _ in range(3))
    slope = (long - short) / (many - few)
    fixed = max(0.0, short - few * slope)
    medians = {name: statistics.median(values) for name, values in times.items()}
    # Estimates are added up every few rounds, so that the mean counts.
    medians["kept"] = statistics.fmean(times["kept"])
    medians["valid"] = medians["kept"] + slope + fixed / options.rounds
    ratios = {
        "round / bare": medians["round"] / medians["bare"],
        "loop / round": medians["loop"] / medians["round"],
        "valid / round": medians["valid"] / medians["round"],
        "ubar / valid without validation": medians["ubar"] / medians["round"],
        "bridge-m / valid without validation": medians["bridge-m"] / medians["round"],
    }
    print(f"{options.threads} threads, {options.clock} clock, {options.turns} turns")
    for name, value in medians.items():
        print(f"  {name:10} {1e3 * value:8.2f} ms")
    print(f"  validation {1e3 * slope:8.2f} ms a round and {fixed:.2f} s once")
    for name, value in ratios.items():
        sign, target = TARGETS[name]
        print(f"  {name:36} {value:6.2f}   target {sign} {target}")
    if options.output is not None:
        found = {"milliseconds": {k: 1e3 * v for k, v in medians.items()}, "ratios": ratios}
        options.output.write_text(json.dumps(vars(options) | found, default=str, indent=1) + "\n")


if __name__ == "__main__":
    main()
