"""What lean validation costs: time beside plain mixing, bytes on the wire, growth.

    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/lean.py PART [--threads N] [--clock cpu] ...

round     20 agents on the paper's graph, 784-128-64-10, batches of 300: learning with estimates and
          transcripts in memory, and validation, against mixing without either. Rounds take turns;
          of validation a part for each round and a fixed part are told apart by runs of two
          lengths; then both are run whole, --rounds rounds each.
agents    --agents agents of degree 6, 10 rounds of the digits: lean validation against the paper's
traffic   bytes counted in the messages of a run against the formula of LE-14 and against learning
growth    how the time of validation grows in d, T, |V| and |E|
table     docs/tables/lean.md: both validations side by side, with one weighting

The memory for transcripts is written to once before the clock runs: a virtual machine may ask its
host for it then, which is no cost of the protocol.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch

from benchmarks.timing import exponent
from benchmarks.torch_round import Case, make_program
from torch_backend.config.build import (
    build_program,
    load_data,
    measuring_weightings,
    within_lean_range,
)
from torch_backend.config.experiment import jobs
from torch_backend.config.load import load
from torch_backend.engine import Program
from torch_backend.transcripts import TranscriptWriter
from torch_backend.validation import Validated, fresh_secrets, validate
from valid_ref.graph import AgentGraph
from valid_ref.graph_families import paper_graph, parse_family
from valid_ref.guarantees.lean import bytes_of, measured_traffic, traffic
from valid_ref.protocols.parameters import (
    Bounds,
    LeanParameters,
    exponential_weights,
    make_weighting,
    polynomial_weights,
)
from valid_ref.protocols.valid import Valid

Clock = Callable[[], float]

TARGET_RATIO, TARGET_SECONDS = 1.1, 20.0
TARGET_SHARES = {"the paper's": 0.04, "complete:20": 0.02, "regular:1000,8": 0.1}
"""Bytes of validation, in per cent of those of learning."""

LEARNED = 109386, 300
"""Dimension and rounds of the paper's runs."""


def lean_program(rounds: int, graph: AgentGraph | None = None, **others: Any) -> Program:
    """A run on made-up images that ends with lean validation under two keys."""
    one = make_program(rounds, graph, **others)
    weightings = tuple(
        make_weighting(
            f"gamma={gamma}",
            exponential_weights(rounds, gamma, 16),
            one.graph.agents,
            28,
            optimality=1e6,
            heterogeneity=1e6,
        )
        for gamma in (0.9, 0.99)
    )
    parameters = within_lean_range(attrs.evolve(one.parameters, weightings=weightings))
    parameters = attrs.evolve(parameters, lean=LeanParameters(2, "5a" * 32))
    return attrs.evolve(one, parameters=parameters, estimate="agents")


def bytes_for_models(program: Program) -> int:
    """The memory for all transcripts, if nobody is Byzantine."""
    return 4 * program.rounds * program.graph.agents * program.lattice.dimension


class Whole:
    """Runs of one program from the first round to the verdict, in memory that is kept."""

    def __init__(self, program: Program, clock: Clock) -> None:
        self.program, self.clock = program, clock

    def run(self) -> tuple[float, float, Validated]:
        """Seconds of learning and of validation, and how it ended."""
        with tempfile.TemporaryDirectory() as name:
            program = self.program
            writer = TranscriptWriter(Path(name), program, bytes_for_models(program))
            writer.touch()
            case = Case(program, writer)
            begin = self.clock()
            for _ in range(program.rounds):
                case()
            learned = self.clock()
            found = validate(program, case.flushed(), writer.transcripts(), fresh_secrets(program))
            ended = self.clock()
            writer.close()
        if not all(found.valid):
            raise SystemExit(f"an honest run ended invalid: {found.alarms[0][:3]}")
        return learned - begin, ended - learned, found


def validation_seconds(program: Program, clock: Clock) -> float:
    """Validation of a run of all rounds of this program."""
    return Whole(program, clock).run()[1]


def rounds_of_learning(options: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """The part `round`."""
    plain = make_program(options.rounds, estimate="none")
    lean = lean_program(options.rounds)
    few, many = 8, 40
    validation_seconds(lean_program(few), clock)  # compiled loops are loaded before the clock runs
    with tempfile.TemporaryDirectory() as name:
        writer = TranscriptWriter(Path(name), lean, bytes_for_models(lean))
        writer.touch(options.turns + 1)
        cases = {"plain": Case(plain), "lean": Case(lean, writer)}
        times: dict[str, list[float]] = {kind: [] for kind in cases}
        for turn in range(options.turns + 1):
            for kind, case in cases.items():
                begin = clock()
                case()
                if turn:
                    times[kind].append(clock() - begin)
        writer.close()
    # Estimates are added up every few rounds, so that the mean counts.
    means = {kind: statistics.fmean(values) for kind, values in times.items()}
    lengths = [statistics.median(_times(lean_program(T), clock, 3)) for T in (few, many)]
    slope = (lengths[1] - lengths[0]) / (many - few)
    fixed = max(0.0, lengths[0] - few * slope)
    validation = slope + fixed / options.rounds
    found: dict[str, Any] = {
        "plain, ms a round": 1e3 * means["plain"],
        "lean learning, ms a round": 1e3 * means["lean"],
        "validation, ms a round": 1e3 * slope,
        "validation, s once": fixed,
        "ratio": (means["lean"] + validation) / means["plain"],
        "target": TARGET_RATIO,
    }
    if options.whole:
        begin = clock()
        case = Case(plain)
        for _ in range(options.rounds):
            case()
        without = clock() - begin
        learning, validating, _ended = Whole(lean, clock).run()
        found |= {
            "whole run, plain, s": without,
            "whole run, lean learning, s": learning,
            "whole run, lean validation, s": validating,
            "whole run, ratio": (learning + validating) / without,
        }
    return found


def _times(program: Program, clock: Clock, count: int) -> list[float]:
    return [validation_seconds(program, clock) for _ in range(count)]


def digits_program(agents: int, kind: str, *more: str) -> Program:
    """Ten rounds of so many agents of degree 6 on the digits, with this validation."""
    changes = (
        f'graph={{kind="family",name="regular:{agents},6,seed=1"}}',
        'partition={kind="iid"}',
        'rules=[{kind="valid"}]',
        "rounds=10",
        "batch=1",
        "validate=true",
        f"validation={kind}",
        "detection.bits=16",
        *more,
    )
    experiment = load("demo", changes=changes)
    data, weightings = load_data(experiment, None), measuring_weightings(experiment)
    job = jobs(experiment)[-1]
    one = build_program(experiment, job, data, torch.device("cpu"), weightings)
    return attrs.evolve(one, estimate="agents", attack=None, byzantine=())


def many_agents(options: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """The part `agents`."""
    found: dict[str, Any] = {"agents": options.agents, "target, s": TARGET_SECONDS}
    for kind in ("lean", "paper"):
        if kind == "paper" and not options.paper:
            continue
        one = digits_program(options.agents, kind)
        found["d"] = one.lattice.dimension
        found[f"{kind} validation, s"] = Whole(one, clock).run()[1]
    if options.paper:
        found["ratio"] = found["paper validation, s"] / found["lean validation, s"]
    return found


def traffic_on_the_wire(options: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """The part `traffic`: counted with a small model, then the formula for that of the paper."""
    graphs = {
        "the paper's": paper_graph(),
        "complete:20": parse_family("complete:20"),
        f"regular:{options.agents},8": parse_family(f"regular:{options.agents},8,seed=1"),
    }
    found: dict[str, Any] = {}
    d, T = LEARNED
    for name, graph in graphs.items():
        one = lean_program(2, graph, hidden=(2,), images=1, batch=1, shades=8)
        sent = measured_traffic(Whole(one, clock).run()[2].execution)
        equal = sent == tuple(agent.size for agent in traffic(one.parameters))
        small = attrs.evolve(one.parameters, weightings=one.parameters.weightings[:1])
        entry = bytes_of(small.field.prime - 1)
        # The sums alone grow with d: each agent but the root sends one up and receives the total.
        sums = 2 * (graph.agents - 1) * (d - one.lattice.dimension) * entry
        total = sum(agent.size for agent in traffic(small)) + sums
        found[name] = {
            "counted equals the formula": equal,
            "MB an agent": total / graph.agents / 1e6,
            "per cent of learning": 100 * total / (4 * graph.edge_count * d * entry * T),
            "target": TARGET_SHARES.get(name),
        }
    return found


@attrs.frozen
class Network:
    """A network of the table: its name there and for `parse_family`, and d and T of a run on it."""

    name: str
    family: str
    dimension: int = LEARNED[0]
    rounds: int = LEARNED[1]
    program: Callable[[], Program] | None = None
    """A run with lean validation; None if it is too large for one machine."""


def _of_size(family: str) -> Callable[[], Program]:
    """A run of the size of the paper's."""

    def program() -> Program:
        one = lean_program(LEARNED[1], parse_family(family), images=8, batch=8)
        parameters = attrs.evolve(one.parameters, weightings=one.parameters.weightings[:1])
        return attrs.evolve(one, parameters=parameters)

    return program


def networks(agents: int) -> tuple[Network, ...]:
    """The networks of the table, the last of so many agents."""
    name = f"regular:{agents},6,seed=1"
    return (
        Network("the paper's, 20 agents", "paper", program=_of_size("paper")),
        Network("complete, 20 agents", "complete:20", program=_of_size("complete:20")),
        Network("`regular:1000,8,seed=1`", "regular:1000,8,seed=1"),
        Network(
            f"`{name}`, digits, d = 1210, T = 10",
            name,
            1210,
            10,
            lambda: digits_program(agents, "lean", "detection.gammas=[0.9]"),
        ),
    )


TABLE = """# The paper's validation and lean validation

Both after the same learning, with one weighting, two common keys and honest agents; d = 109386 and
T = 300 where nothing else is said. Bytes and polynomials of d terms are means over the agents,
after [LE-14](../../spec/lean-validation.md#le-14); seconds are those of one core that validates for
all agents, in one run, and computes once what several agents compute alike. Made by

```text
OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/lean.py table --agents AGENTS --clock cpu \\
  --output docs/tables/lean.md
```

| network | validation | rounds | sent by an agent | of learning | polynomials | seconds |
|---|---|---|---|---|---|---|
"""


def both_validations(options: argparse.Namespace, clock: Clock) -> str:
    """The part `table`."""
    rows = []
    small = lean_program(2, parse_family("cycle:4"), hidden=(2,), images=1, batch=1, shades=8)
    _seconds_of_both(small, clock)  # compiled loops are loaded before the clock runs
    for network in networks(options.agents):
        seconds = {"paper's": "not run", "lean": "not run"}
        if network.program is not None:
            program = network.program()
            d, T = program.lattice.dimension, program.rounds
            if (d, T) != (network.dimension, network.rounds):
                raise SystemExit(f"{network.name}: it is d = {d}, T = {T}")
            seconds = _seconds_of_both(program, clock)
        for kind, costs in costs_of_both(network).items():
            rows.append(f"| {network.name} | {kind} | {costs} | {seconds[kind]} |")
            print(rows[-1], flush=True)
    return TABLE.replace("AGENTS", str(options.agents)) + "\n".join(rows) + "\n"


def _seconds_of_both(lean: Program, clock: Clock) -> dict[str, str]:
    """Both validations of one run, one after the other."""
    paper = attrs.evolve(lean, parameters=attrs.evolve(lean.parameters, lean=None))
    found = {}
    with tempfile.TemporaryDirectory() as name:
        writer = TranscriptWriter(Path(name), lean, bytes_for_models(lean))
        case = Case(lean, writer)
        for _ in range(lean.rounds):
            case()
        state = case.flushed()
        for kind, program in (("lean", lean), ("paper's", paper)):
            begin = clock()
            ended = validate(program, state, writer.transcripts(), fresh_secrets(program))
            found[kind] = f"{clock() - begin:.1f}"
            if not all(ended.valid):
                raise SystemExit(f"an honest run ended invalid: {ended.alarms[0][:3]}")
        writer.close()
    return found


def costs_of_both(network: Network) -> dict[str, str]:
    """Rounds, bytes, their share of those of learning, and polynomials, as cells of a table.

    The numbers q have the bytes that they need under norm bounds of 10.
    """
    d, T, graph = network.dimension, network.rounds, parse_family(network.family)
    small = make_program(T, graph, hidden=(1,), images=1, batch=1).parameters
    squared = ((10 * 2**28) ** 2,) * T
    weights = make_weighting(
        "t^1",
        polynomial_weights(T, 1),
        graph.agents,
        28,
        optimality=1e6,
        heterogeneity=1e6,
    )
    lean = attrs.evolve(
        small,
        lattice=attrs.evolve(small.lattice, dimension=d),
        start_model=np.zeros(d, np.int64),
        bounds=Bounds(squared, squared),
        weightings=(weights,),
        lean=LeanParameters(2, "5a" * 32),
    )
    n, edges, entry = graph.agents, graph.edge_count, 8
    degrees = [graph.degree(v) for v in range(n)]
    learning = sum(2 * entry * d * T * k for k in degrees)
    relayed = [2 * k * (8 * edges * n + n) + 4 * k * edges * d for k in degrees]
    sent = traffic(lean)
    found = {}
    for kind, parameters, size, polynomials in (
        (
            "paper's",
            attrs.evolve(lean, lean=None),
            sum(entry * more + (n - 1) * k for more, k in zip(relayed, degrees, strict=True)),
            sum(2 * T * (k + 1) * n for k in degrees),
        ),
        ("lean", lean, sum(one.size for one in sent), sum(one.evaluations for one in sent)),
    ):
        share = f"{100 * size / learning:.3f}".removeprefix("0")
        rounds = Valid(parameters).rounds - T
        found[kind] = f"{rounds} | {size / n / 1e6:.2f} MB | {share} % | {polynomials / n:.0f}"
    return found


def growth(options: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """The part `growth`: one quantity is doubled while the others stay."""
    small: dict[str, Any] = {"images": 4, "batch": 4, "shades": 8}
    base = parse_family("regular:20,4,seed=1")

    def sized(width: int) -> Program:
        return lean_program(8, base, hidden=(width,), **small)

    def on(name: str, T: int = 8, width: int = 8) -> Program:
        return lean_program(T, parse_family(name), hidden=(width,), **small)

    series: dict[str, list[tuple[float, Program]]] = {
        "d": [(one.lattice.dimension, one) for one in map(sized, (64, 128, 256, 512))],
        "T": [(T, on("regular:20,4,seed=1", T, 64)) for T in (16, 32, 64, 128)],
        "|V|": [(n, on(f"regular:{n},4,seed=1")) for n in (40, 80, 160)],
        "|E|": [(20 * k, on(f"regular:40,{k},seed=1")) for k in (4, 8, 16, 32)],
    }
    found = {}
    for name, sizes in series.items():
        times = {size: min(_times(one, clock, options.repeats)) for size, one in sizes}
        slope, error = exponent([*times], [*times.values()])
        found[name] = {"exponent": slope, "error": error, "seconds": times}
    return found


PARTS: dict[str, Callable[[argparse.Namespace, Clock], dict[str, Any] | str]] = {
    "round": rounds_of_learning,
    "agents": many_agents,
    "traffic": traffic_on_the_wire,
    "growth": growth,
    "table": both_validations,
}


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    plain = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("part", choices=tuple(PARTS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=LEARNED[1])
    parser.add_argument("--whole", action="store_true", help="also run all rounds once")
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--paper", action="store_true", help="also the paper's validation")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(words)
    torch.set_num_threads(options.threads)
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    found = PARTS[options.part](options, clock)
    text = json.dumps(vars(options) | {"found": found}, default=str, indent=1) + "\n"
    if isinstance(found, str):
        text = found
    print(text, end="")
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
