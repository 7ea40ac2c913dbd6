"""Every implementation in the vectors, the kit and the arena: docs/tables/implementations.md.

python -m tests.foreign.matrix [--write docs/tables/implementations.md] [--examples 50]
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import attrs

from tests.support import played
from valid_ref.adversary.lean_attacks import SplitOpening, WrongSum
from valid_ref.adversary.models import Equivocation
from valid_ref.adversary.reports import EstimateLiar
from valid_ref.scenario import Scenario
from valid_ref.scenario.build import build_graph, prepare
from valid_ref.scenario.parts import Family, Lean, RandomQuadratics
from valid_ref.testing.arena.judge import ArenaJudgement, judged, play
from valid_ref.testing.arena.network import processes
from valid_ref.testing.conform import kit
from valid_ref.testing.conform.cases import fixed_cases
from valid_ref.testing.conform.faults import AGENT
from valid_ref.testing.conform.generate import find_divergence
from valid_ref.testing.conform.process import ProcessPeer
from valid_ref.vectors.publish import differences, families

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VECTORS = ROOT / "spec" / "vectors"
TIMEOUT = 120.0
EXAMPLES = 50
"""Generated cases of the kit."""

HONEST = Scenario(graph=Family("paper"), loss=RandomQuadratics(dimension=2), rounds=5, seed=0)
LEAN = attrs.evolve(HONEST, validation=Lean())
TRIALS: Mapping[str, Scenario] = {
    "honest": HONEST,
    "equivocation": attrs.evolve(HONEST, byzantine=(4,), attack=Equivocation()),
    "estimate-liar": attrs.evolve(HONEST, byzantine=(4, 12), attack=EstimateLiar()),
    "lean, honest": LEAN,
    "lean, split-opening": attrs.evolve(LEAN, byzantine=(4, 12), attack=SplitOpening()),
    "lean, wrong-sum": attrs.evolve(LEAN, byzantine=(4,), attack=WrongSum()),
}
"""Networks on the graph of the paper, with each validation: an honest one, two under attack."""

HEAD = """# Implementations

Every implementation that comes with the reference, in the vectors
([vectors.md](../../spec/vectors.md)), in the kit and in the arena
([conformance.md](../../spec/conformance.md)). Made by
`python -m tests.foreign.matrix --write docs/tables/implementations.md`.

- *vectors*: cases that pass and that may be skipped, since they show the text as printed.
- *conform*: cases of `valid-ref conform`, fixed and generated, with the paper's and with lean
  validation, in which every answer is right.
- *arena*: all honest agents of the paper's graph of 20 agents are processes of this
  implementation, or of all of them in turn; the recording conforms and is the reference's, byte
  for byte.

"""


@attrs.frozen
class Implementation:
    """A program that is an agent, and one that runs the vectors, where there is one."""

    name: str
    agent: tuple[str, ...]
    vectors: tuple[str, ...] | None = None

    def flooding_held(self) -> "Implementation":
        """The same agent, which sends all values held in every flood round."""
        return Implementation(f"{self.name}, `--flood held`", (*self.agent, "--flood", "held"))


EXAMPLE = Implementation("example agent (Python)", (sys.executable, str(AGENT)))


def javascript() -> Implementation:
    """The implementation in JavaScript."""
    agent, vectors = (str(HERE / "javascript" / name) for name in ("agent.js", "vectors.js"))
    return Implementation("JavaScript", ("node", agent), ("node", vectors))


def cpp(out: Path, *flags: str) -> Implementation:
    """The implementation in C++, built into a directory."""
    command = ["make", "-j2", "-C", str(HERE / "cpp"), f"OUT={out}", *flags]
    subprocess.run(command, check=True, capture_output=True)
    return Implementation("C++", (str(out / "agent"),), (str(out / "vectors"),))


def missing(*tools: str) -> str | None:
    """Why an implementation cannot be run here; None if it can."""
    absent = [tool for tool in tools if shutil.which(tool) is None]
    return f"{', '.join(absent)} not installed" if absent else None


def run_vectors(implementation: Implementation) -> dict[str, list[str] | int]:
    """What a program that runs the vectors says of them."""
    assert implementation.vectors is not None
    done = subprocess.run(
        [*implementation.vectors, str(VECTORS), "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if not done.stdout.startswith("{"):
        raise RuntimeError(f"{implementation.name}: the vectors do not run: {done.stderr.strip()}")
    return json.loads(done.stdout)


def mixed(scenario: Scenario, implementations: list[Implementation]) -> dict[int, tuple[str, ...]]:
    """The honest agents, each the next of these implementations."""
    agents = [v for v in range(build_graph(scenario).agents) if v not in scenario.byzantine]
    return {v: implementations[i % len(implementations)].agent for i, v in enumerate(agents)}


def in_arena(scenario: Scenario, commands: Mapping[int, tuple[str, ...]]) -> ArenaJudgement:
    """The network of these processes, judged."""
    with processes(commands, TIMEOUT) as (peers, together):
        found = play(prepare(scenario), peers, together)
    return judged(found, scenario, None)


def _vectors_cell(implementation: Implementation) -> str:
    if implementation.vectors is None:
        return "-"
    found = run_vectors(implementation)
    wrong = f", {len(found['failed'])} FAILED" if found["failed"] else ""
    return f"{found['passed']} pass, {len(found['skipped'])} skipped{wrong}"


def _conform_cell(implementation: Implementation, examples: int) -> str:
    session = kit.Session(ProcessPeer(implementation.agent, TIMEOUT), played=played)
    report = kit.judge(
        session,
        lambda one: kit.first_finding(one, fixed_cases()),
        lambda one: find_divergence(one, examples, seed=0),
    )
    return f"{report.cases} cases" if report.conforms else f"{report.status.value.upper()}"


def _arena_cells(implementations: list[Implementation]) -> list[str]:
    cells = []
    for scenario in TRIALS.values():
        found = in_arena(scenario, mixed(scenario, implementations))
        cells.append("same bytes" if found.conforms else found.status.upper())
    return cells


def table(implementations: list[Implementation], examples: int) -> str:
    """The table."""
    names = [f"arena: {name}" for name in TRIALS]
    columns = ["implementation", "vectors", "conform", *names]
    lines = (VECTORS / "ids.txt").read_text().splitlines()
    number = sum(not line.endswith(" retired") for line in lines)
    own = "DIFFER" if differences(VECTORS, families()) else f"{number} pass, made by it"
    rows = [["reference", own, "what answers are compared with", *_arena_cells_of_none()]]
    for one in implementations:
        cells = [_vectors_cell(one), _conform_cell(one, examples), *_arena_cells([one])]
        rows.append([one.name, *cells])
        sys.stderr.write(f"{' | '.join(rows[-1])}\n")
    rows.append(["all in turn", "-", "-", *_arena_cells(implementations)])
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _arena_cells_of_none() -> list[str]:
    """The reference at every agent."""
    found = [in_arena(scenario, {}) for scenario in TRIALS.values()]
    return ["same bytes" if one.conforms else one.status.upper() for one in found]


def main() -> int:
    """Print or write the table; exit status 1 if anything in it is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    options = parser.parse_args()
    reason = missing("node", "g++", "make")
    if reason is not None:
        sys.stderr.write(f"matrix: {reason}\n")
        return 2
    with tempfile.TemporaryDirectory() as directory:
        foreign = [javascript(), cpp(Path(directory))]
        held = [one.flooding_held() for one in foreign]
        found = HEAD + table([EXAMPLE, *foreign, *held], options.examples)
    if options.write is None:
        sys.stdout.write(found)
    else:
        options.write.write_text(found, encoding="utf-8")
    return int(any(word in found for word in ("FAILED", "DIFFER", "DIVERGES", "CANNOT TELL")))


if __name__ == "__main__":
    sys.exit(main())
