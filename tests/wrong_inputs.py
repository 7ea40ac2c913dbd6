"""Wrong inputs, and what both command lines answer: the command, the one line, the exit status.

python -m tests.wrong_inputs --write docs/tables/wrong-inputs.md
"""

import argparse
import contextlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import attrs

from tests.pages import called

HEAD = """# Wrong inputs

What both command lines answer to wrong input: one line on standard error, exit status 2, and
nothing is written. `...` stands where a library goes on in words of its own. Made by
`python -m tests.wrong_inputs --write docs/tables/wrong-inputs.md`, compared by `make test`.

The commands are run in a directory with a scenario (`s.json`, three agents, three rounds), its
recording (`run.zip`), a counterexample (`v2.json`), an empty file (`file`), a directory that is not
empty (`full`) and JSON nested too deeply (`deep.json`); and with parts of somebody's own that fail
where they are told to (`theirs.py`, `theirs_torch.py`) or end the program (`ends.py`).

| command | message | status |
|---|---|---|
"""

TESTS = Path(__file__).parent
SMALL = "--graph path:3 --rounds 3"
COMMANDS = f"""
valid-ref rnu
valid-ref run --grpah complete:5
valid-ref run --rounds 0
valid-ref run --rounds 100000000000000
valid-ref run --rounds many
valid-ref run --graph complte:5
valid-ref run --graph path:1
valid-ref run --graph path:100000000
valid-ref run --graph ''
valid-ref run --graph cycle:2
valid-ref run --graph equivocation
valid-ref run --graph my_graphs:Ring
valid-ref run --byzantine a,b
valid-ref run --byzantine 77 --attack equivocation
valid-ref run --byzantine ''
valid-ref run --byzantine 3,,4
valid-ref run --byzantine 1,1
valid-ref run --byzantine -1
valid-ref run {SMALL} --byzantine 0,1,2
valid-ref run --attack equivocation
valid-ref run --byzantine 4 --attack equivocaton
valid-ref run --byzantine 4 --attack gaussian:sigma=nan
valid-ref run --byzantine 4 --attack gaussian:sigma=-1
valid-ref run --byzantine 4 --attack gaussian:simga=1
valid-ref run --byzantine 4 --attack gaussian:sigma=1,sigma=2
valid-ref run --byzantine 4 --attack 'gaussian sigma=1'
valid-ref run --byzantine 4 --attack complete:5
valid-ref run --byzantine 4 --attack silent-branch
valid-ref run --loss random-quadratic:dimension=0
valid-ref run --loss random-ridge:ridge=0
valid-ref run --loss random-ridge:ridge=inf
valid-ref run --loss ''
valid-ref run --loss paper
valid-ref run {SMALL} --loss random-quadratic:dimension=100000000000000
valid-ref run --schedule constant:alpha=nan,eta=0.1
valid-ref run --schedule constant:alpha=-.1,eta=.1
valid-ref run --schedule constant
valid-ref run --bounds configured:model=-1,gradient=1
valid-ref run --bounds certificate
valid-ref run --validation lean:kappa=0
valid-ref run --validation lean --without P07
valid-ref run --validation lean:
valid-ref run --validation lean:kappa=3,,without=[]
valid-ref run --validation lean:kappa=٣
valid-ref run --validation 'lean:without=["nonce","nonce"]'
valid-ref run {SMALL} --validation lean --weights polynomial:power=64
valid-ref run {SMALL} --validation lean --byzantine 1 --attack hash-liar
valid-ref run {SMALL} --byzantine 1 --attack early-value
valid-ref run --weights polynomial:power=x
valid-ref run --level nan
valid-ref run --level 1e-9
valid-ref run --thresholds calibrated:level=1e-9
valid-ref run --thresholds calibrated:level=0.01,runs=50
valid-ref run --level 0.1 --thresholds certificate
valid-ref run --thresholds certificate:theta=2
valid-ref run --thresholds ''
valid-ref run --eps-success nan
valid-ref run --eps-success -1
valid-ref run --seed -1
valid-ref run --graph theirs:Graph:fails=build,error=SystemExit
valid-ref run --graph theirs:Graph:fails=making
valid-ref run --graph ends:Graph
valid-ref run {SMALL} --loss theirs:Loss:fails=dimension
valid-ref run {SMALL} --loss theirs:Loss:fails=sample,error=SystemExit
valid-ref run {SMALL} --loss theirs:Loss:fails=minimiser,error=MemoryError
valid-ref run {SMALL} --byzantine 1 --attack theirs:Attack:fails=build,error=KeyError
valid-ref run {SMALL} --byzantine 1 --attack theirs:Attack:fails=adversary,error=StrangeError
valid-ref run {SMALL} --byzantine 1 --attack theirs:Attack:fails=source,error=BrokenPipeError
valid-ref run {SMALL} --byzantine 1 --attack theirs:Untyped:strength=1
valid-ref run --coins xyz
valid-ref run --without P99
valid-ref run --without all
valid-ref run --without ''
valid-ref run --without P07,P07
valid-ref run --jobs 0
valid-ref run nothing.json
valid-ref run deep.json
valid-ref run /dev/zero
valid-ref report /dev/zero
valid-ref record /dev/zero -o r.zip
valid-ref check /dev/zero
valid-ref conform --replay /dev/zero --example
valid-ref explore --max-agents 3 --resume /dev/zero
valid-ref vectors --check /dev/zero
valid-ref run run.zip
valid-ref run v2.json --rounds 5
valid-ref run --plot run.gif
valid-ref run --plot no/such/run.svg
valid-ref run --save full
valid-ref run --save /proc/x
valid-ref run {SMALL} --quiet --save /dev/full
valid-ref run {SMALL} --plot /proc/x.svg
valid-ref run {SMALL} --report /proc/x.html
valid-ref run --report file/run.html
valid-ref run --save x --report x
valid-ref run s.json --save full/../s.json
valid-ref run --schema --save x
valid-ref run --schema --attacks
valid-ref run --bounds none:model=3
valid-ref run --byzantine 77 --save x
valid-ref learn --graph ''
valid-ref learn --graph equivocation
valid-ref learn --graph theirs:Graph:fails=build
valid-ref learn --rounds 3 --dimension 100000000000000
valid-ref report nothing.json
valid-ref report run.zip --rounds 5
valid-ref report -o no/such/run.html
valid-ref report run.zip -o run.zip
valid-ref demo -o no/such/demo.html
valid-ref report s.json --quiet -o /dev/full
valid-ref record
valid-ref record -o no/such/run.zip
valid-ref record -o full
valid-ref record -o file
valid-ref record -o /proc/x
valid-ref record -o /proc/x.zip
valid-ref record s.json -o s.json
valid-ref check
valid-ref check nothing.zip
valid-ref check s.json
valid-ref check run.zip --agent 77
valid-ref check run.zip --agent a
valid-ref show file
valid-ref diff run.zip nothing.zip
valid-ref explore --max-agents 9
valid-ref explore --protocol gossip
valid-ref explore --reading without:P99
valid-ref explore --property V77
valid-ref explore --flood E+1
valid-ref explore --out file/out
valid-ref explore --out file
valid-ref explore --resume x --record ./x
valid-ref explore --protocol lean --out out
valid-ref explore --reading without:all
valid-ref explore --record no/such/counts.json
valid-ref explore --record /proc/x
valid-ref explore --out /proc/x
valid-ref power {SMALL} -o out
valid-ref power {SMALL} --byzantine 1 -o file/out
valid-ref power {SMALL} --byzantine 1 -o out --repeats 100000000000000
valid-ref prove pertubation
valid-ref prove perturbation --record
valid-ref conform
valid-ref conform --fault eta
valid-ref conform --example --timeout 0
valid-ref conform --replay nothing.json --example
valid-ref conform --example --save no/such/case.json
valid-ref conform --save file -- ./file
valid-ref conform -- ./no-such-agent
valid-ref arena {SMALL} --agent 77 example
valid-ref arena {SMALL} --agent a example
valid-ref arena {SMALL} --agent 0
valid-ref arena {SMALL} -o full
valid-ref vectors --check nothing
valid-ref vectors full
valid-ref vectors --bundle no/such/vectors.zip
valid-ref vectors --write file
valid-ref vectors full --bundle full/v2.zip
valid-ref vectors --write --check
valid-ref trace --root full
valid-ref errata P99
valid-ref errata A01 --report a01.html
valid-ref errata P06 --report no/such/p06.html
valid-torch rnu
valid-torch run
valid-torch run fig-nonid
valid-torch run s.json
valid-torch run demo -o file/out
valid-torch run demo -o full
valid-torch run demo -o file
valid-torch run demo -o /proc/x
valid-torch run demo -o out --cache file
valid-torch run demo -o out --cache out
valid-torch run demo --quick -o out --device nonsense
valid-torch run demo -o out --jobs 0
valid-torch run demo -o out --set rounds
valid-torch run demo -o out --set batchh=2
valid-torch run demo -o out --set batch=0
valid-torch run demo -o out --set batch=true
valid-torch run demo -o out --set prime=4
valid-torch run demo -o out --set graph=cycle:2
valid-torch run demo -o out --set graph=equivocation
valid-torch run demo -o out --set graph=
valid-torch run demo -o out --set graph=theirs:Graph:fails=build
valid-torch run demo -o out --set bounds=derived
valid-torch run demo -o out --set rounds=100000000000000
valid-torch run demo -o out --set byzantine=[77]
valid-torch run demo -o out --set byzantine=3,3
valid-torch run demo -o out --set 'byzantine="a,b"'
valid-torch run demo -o out --set 'attacks=[{{kind="gaussian", sigma=-1}}]'
valid-torch run demo -o out --set 'rules=[{{kind="bridge-m", screened=9}}]'
valid-torch run demo -o out --set detection.level=nan
valid-torch run demo -o out --set detection.runs=18
valid-torch run demo -o out --set seeds=[]
valid-torch run demo -o out --set rounds=3 --set rounds=4
valid-torch run demo -o out --set 'figures=["rounds","rounds"]'
valid-torch run demo -o out --set 'attacks=[{{kind="gaussian", first=100000}}]'
valid-torch run fig-iid -o out --data full
valid-torch run demo -o out --set data=theirs_torch:Data:fails=load,error=SystemExit
valid-torch run demo -o out --set model=theirs_torch:Model:fails=build,error=ValueError
valid-torch run demo -o out --rule theirs_torch:Average:fails=check,error=StrangeError
valid-torch run demo -o out --attack theirs_torch:Attack:fails=making
valid-torch run demo -o out --attack ends:Attack
valid-torch false-alarms demo --runs 0
valid-torch false-alarms demo --runs 2 -o file/out
valid-torch false-alarms demo --quick --runs 2 -o out --device nonsense
valid-torch run demo -o out --set data=npz:file=/dev/zero
valid-torch table full
valid-torch table full -o file
valid-torch plot full -o file
valid-torch plot nothing
""".strip().splitlines()
"""None of them may do anything."""

LIBRARY = re.compile(
    r"Invalid value for '[^']*':|Missing (argument|option) '[^']*'"
    r"|No such (option|command):? '?[\w-]+|not enough memory|device '[^']*' cannot be used"
)
"""Where the words of a library begin, which change with its version."""


@attrs.frozen
class Answer:
    """What came of a command: its exit status, what it printed, and what it left behind."""

    status: int
    output: str
    error: str
    left: tuple[str, ...]

    @property
    def message(self) -> str:
        """The line that was said, without the words that change with a version of a library."""
        line = self.error.strip()
        found = LIBRARY.search(line)
        if found is None or any(text in line for text in OWN):
            return line
        return f"{line[: found.end()]} ..."


OWN = (" is none of ", " is not between 0 and 1", " is no number from 0 on")
"""Refusals of options that are ours, not the parser's."""


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """A directory of its own, with the files that the commands name."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            _prepare(f"valid-ref run {SMALL} --seed 0 --quiet --save s.json", 0)
            _prepare("valid-ref record s.json -o run.zip", 0)
            script = (
                "explore --max-agents 3 --jobs 1 --reading as-printed --property V2 --out found"
            )
            _prepare(f"valid-ref {script}", 1)
            next(Path("found").glob("V2*.json")).rename("v2.json")
            Path("found").rename("full")
            Path("file").touch()
            Path("deep.json").write_text("[" * 100_000)
            shutil.copy(TESTS / "theirs.py", "theirs.py")
            shutil.copy(TESTS / "torch_backend" / "theirs.py", "theirs_torch.py")
            Path("ends.py").write_text("raise SystemExit(0)\n")
            with mock.patch.object(sys, "path", [*sys.path]):
                yield
        finally:
            os.chdir(before)
            for module in ("theirs", "theirs_torch"):
                sys.modules.pop(module, None)


def _prepare(command: str, expected: int) -> None:
    status, _output, error = called(tuple(shlex.split(command)))
    assert status == expected, error


def answer(command: str) -> Answer:
    """What a command is answered, in a prepared directory."""
    before = _files()
    status, output, error = called(tuple(shlex.split(command)))
    return Answer(status, output, error, tuple(sorted(map(str, _files() - before))))


def _files() -> set[Path]:
    """What there is; compiled modules do not count."""
    return {path for path in Path().rglob("*") if "__pycache__" not in path.parts}


def row(command: str, found: Answer) -> str:
    """A row of the table."""
    cells = (f"`{command}`", f"`{found.message}`", str(found.status))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def table() -> str:
    """The whole page."""
    with prepared():
        return HEAD + "".join(row(command, answer(command)) for command in COMMANDS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    target = parser.parse_args().write
    text = table()
    if target is None:
        sys.stdout.write(text)
    else:
        target.write_text(text, encoding="utf-8")
