"""Runs an experiment again and again in children that are killed, and compares the results.

A program of its own, so that it may fork: torch is loaded once, and a child costs a moment.
Arguments: a scratch directory, the seed of the moments, how many kills. Prints what it found.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from torch_backend import results
from torch_backend.config.load import load
from torch_backend.data.dataset import load_digits
from torch_backend.experiments import run_experiment
from torch_backend.process import Options

EXPERIMENT = """
about = "tiny"
data = { kind = "digits" }
graph = { kind = "family", name = "complete:4" }
model = { kind = "softmax" }
partition = { kind = "rotated" }
batch = 8
rounds = 12
seeds = [1]
rules = [{ kind = "valid" }, { kind = "bridge-m" }]
attacks = ["none", "gaussian:sigma=0.1,per_edge=true,gradient=honest"]
byzantine = [3]
validate = true
evaluation = { every = 3 }
detection = { gammas = [0.5, 0.9], level = 0.25, pilots = 2 }
"""


OPTIONS = Options(checkpoint_every=2)


def contents(directory: Path) -> dict[str, str]:
    """Every file but the one with times, by its digest."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != results.TIMING
    }


def child(directory: Path, prepare: Callable[[], None]) -> int:
    """Run the experiment in a child; its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        prepare()
        run_experiment(load(str(directory.parent / "tiny.toml")), directory, OPTIONS)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)  # noqa: T201
        os._exit(1)
    os._exit(0)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def finish(directory: Path) -> dict[str, str]:
    if ended(child(directory, lambda: None)):
        sys.exit("a run that nobody killed failed")
    return contents(directory)


def killed_after(seconds: float, directory: Path) -> None:
    pid = child(directory, lambda: None)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    ended(pid)


def killed_at(moment: int, directory: Path) -> int:
    """Kill at the given call of fsync or rename, before or after it; the exit status."""
    calls = 0

    def counting(inner: Callable[..., object]) -> Callable[..., object]:
        def outer(*arguments: object) -> object:
            nonlocal calls
            calls += 1
            if calls == moment and moment % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            found = inner(*arguments)
            if calls == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return outer

    def prepare() -> None:
        os.fsync = counting(os.fsync)
        Path.replace = counting(Path.replace)

    return ended(child(directory, prepare))


def main() -> None:
    scratch, seed, kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    (scratch / "tiny.toml").write_text(EXPERIMENT)
    load_digits()  # what it imports is then there in every child
    begun = time.monotonic()
    expected = finish(scratch / "whole")
    seconds = time.monotonic() - begun
    generator, resumed = random.Random(seed), 0
    for number in range(kills):
        killed_after(generator.uniform(0, seconds), scratch / "timed")
        directory = scratch / f"moment-{number}"
        resumed += killed_at(generator.randrange(1, 200), directory) == -signal.SIGKILL
        if finish(directory) != expected:
            sys.exit(f"{directory} differs")
    if finish(scratch / "timed") != expected:
        sys.exit("the run killed by the clock differs")
    again = finish(scratch / "whole")
    print(json.dumps({"files": len(expected), "same": again == expected, "resumed": resumed}))  # noqa: T201


if __name__ == "__main__":
    main()
