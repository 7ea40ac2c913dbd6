"""Small runs under torchrun: python distributed_run.py DIRECTORY."""

import sys
from pathlib import Path

import attrs
import torch

from tests.torch_backend import runs
from torch_backend import checkpoint, engine
from torch_backend.distributed import join, leave
from torch_backend.engine import gathered
from torch_backend.models.mlp import Mlp
from torch_backend.program import Program
from valid_ref.graph_families import parse_family


def a_program(name: str, estimate: str) -> Program:
    options = {"options": Mlp((6,)), "chunk": 2, "estimate": estimate, "rounds": 3}
    if name == "none":
        return runs.program(parse_family("cycle:5"), **options)
    attack = runs.AttackByFunction(getattr(runs, name))
    return runs.program(parse_family("complete:5"), attack=attack, byzantine=(3,), **options)


def main(directory: Path) -> None:
    torch.set_num_threads(1)
    for name in ("none", "per_edge", "consistent"):
        for estimate in ("agents", "counted"):
            program = a_program(name, estimate)
            shard = join(program.graph.agents, program.device, program.chunk)
            program = attrs.evolve(program, shard=shard)
            state = engine.start(program)
            while state.t < program.rounds:
                state, _said = engine.advance(program, state)
            state = gathered(program, state)
            if 0 in program.agents:
                checkpoint.save(directory / f"{name}-{estimate}", state)
    leave()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
