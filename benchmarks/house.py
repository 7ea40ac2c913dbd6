"""The size and shape of the code, before and after: `python -m benchmarks.house [TREE ...]`.

Counted in each tree (default: this one), in valid_ref unless it says otherwise:

- files, lines, median lines of a file; calls with six or more positional arguments; `fmt: skip`;
- what one small run meets on its way from the gradient through recording, check and page:
  modules whose code runs, modules of which a function is handed or returns a learning message, and
  modules that encode it, that is, where a function is handed one and returns data for a document.

The last line is a SHA-256 over what must not change: recordings of four scenarios, the vectors, and
every request that the kit sends to an agent.
"""

import argparse
import ast
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PACKAGES = ("valid_ref", "torch_backend", "proofs_check", "tests", "benchmarks")
MOST_POSITIONAL = 5
VARIADIC = ("And", "add_row", "Table", "assume", "python", "one_of", "builds", "checks", "invoke")
"""Functions of z3, rich, hypothesis, pytest and the project that take any number of arguments."""

PROBE = """
import json, sys
from pathlib import Path
from typer.testing import CliRunner
from valid_ref.cli import app
from valid_ref.protocols.learn import LearningMessage

where = Path(sys.argv[1])
ran, met, encode = set(), set(), set()
ROOT = str(Path(sys.argv[2]) / "valid_ref")

def watch(frame, event, value):
    if event not in ("call", "return"):
        return
    code = frame.f_code
    if not code.co_filename.startswith(ROOT):
        return
    ran.add(code.co_filename)
    count = code.co_argcount + code.co_kwonlyargcount
    given = [frame.f_locals.get(name) for name in code.co_varnames[:count]]
    handed = any(isinstance(one, LearningMessage) for one in given)
    if handed or isinstance(value, LearningMessage):
        met.add(code.co_filename)
    data = isinstance(value, (dict, list, str, bytes)) or hasattr(type(value), "kind")
    if event == "return" and handed and data and "/protocols/" not in code.co_filename:
        encode.add(code.co_filename)

small = ["--graph", "path:3", "--rounds", "2", "--byzantine", "2", "--attack", "equivocation"]
scenario = {"graph": {"kind": "family", "name": "path:3"}, "rounds": 2, "byzantine": [2],
            "attack": {"kind": "equivocation"}}
(where / "s.json").write_text(json.dumps(scenario))
run = CliRunner().invoke
sys.setprofile(watch)
recording, page = str(where / "r.zip"), str(where / "r.html")
for words in (
    ["run", *small, "--json"],
    ["record", str(where / "s.json"), "-o", recording],
    ["check", recording],
    ["report", recording, "-o", page],
    ["conform", "--example", "--examples", "0"],
    ["vectors", "--check"],
):
    found = run(app, words)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
sys.setprofile(None)
encoders = sorted(Path(file).stem for file in encode)
print(json.dumps({"ran": len(ran), "met": len(met), "encode": encoders}))
"""

TEE = """
import subprocess, sys
log = open(sys.argv[1], "ab", buffering=0)
agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    log.write(line)
    agent.stdin.write(line)
    agent.stdin.flush()
agent.stdin.close()
sys.exit(agent.wait())
"""

SCENARIOS = (
    {"rounds": 3},
    {"graph": {"kind": "family", "name": "cycle:5"}, "rounds": 4, "seed": 7},
    {
        "graph": {"kind": "family", "name": "complete:4"},
        "rounds": 3,
        "byzantine": [3],
        "attack": {"kind": "equivocation"},
    },
    {
        "graph": {"kind": "family", "name": "path:4"},
        "rounds": 3,
        "byzantine": [1],
        "attack": {"kind": "estimate-liar"},
    },
)


def sources(tree: Path, *packages: str) -> Iterator[Path]:
    """The Python files of these packages."""
    for package in packages:
        yield from sorted(p for p in (tree / package).rglob("*.py") if "__pycache__" not in p.parts)


def long_calls(path: Path) -> int:
    """Calls with six or more positional arguments, but of what takes any number of them."""
    calls = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call))
    long = (call for call in calls if len(call.args) > MOST_POSITIONAL)
    return sum(ast.unparse(call.func).rsplit(".", 1)[-1] not in VARIADIC for call in long)


def python(tree: Path, *words: str) -> str:
    """What a Python process says in which this tree is imported."""
    environment = os.environ | {"PYTHONPATH": str(tree)}
    command = [sys.executable, *words]
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in {0, 1}:
        raise RuntimeError(done.stderr)
    return done.stdout


def identity(tree: Path) -> str:
    """A digest over recordings, vectors and requests to an agent."""
    command = ("-c", "import sys; from valid_ref.cli import main; sys.exit(main())")
    example = tree / "valid_ref" / "testing" / "conform" / "agent.py"
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        for number, scenario in enumerate(SCENARIOS):
            (where / "s.json").write_text(json.dumps(scenario))
            python(
                tree, *command, "record", str(where / "s.json"), "-o", str(where / f"{number}.zip")
            )
        vectors = sorted((tree / "spec" / "vectors").glob("*.json"))
        (where / "vectors").write_bytes(b"".join(path.read_bytes() for path in vectors))
        (where / "tee.py").write_text(TEE)
        agent = (sys.executable, str(where / "tee.py"), str(where / "requests"), sys.executable)
        python(tree, *command, "conform", "--examples", "20", "--", *agent, str(example))
        (where / "tee.py").unlink()
        (where / "s.json").unlink()
        files = sorted(where.iterdir())
        sums = "".join(f"{_sha256(path)}  {path.name}\n" for path in files)
    sys.stderr.write(sums)
    return _sha256_of(sums.encode())


def _sha256(path: Path) -> str:
    return _sha256_of(path.read_bytes())


def _sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def measured(tree: Path) -> dict[str, object]:
    """All figures of a tree."""
    own = [path.read_text().count("\n") for path in sources(tree, "valid_ref")]
    everything = list(sources(tree, *PACKAGES))
    shipped = [path for path in everything if "tests" not in path.relative_to(tree).parts]
    with tempfile.TemporaryDirectory() as name:
        probe = json.loads(python(tree, "-c", PROBE, name, str(tree)).splitlines()[-1])
    return {
        "files": len(own),
        "lines": sum(own),
        "median lines of a file": int(statistics.median(own)),
        "files of torch_backend": len(list(sources(tree, "torch_backend"))),
        "calls with six or more positional arguments, but in tests": sum(map(long_calls, shipped)),
        "`fmt: skip`, all packages": sum(p.read_text().count("# fmt: skip") for p in everything),
        "modules whose code runs from gradient to page": probe["ran"],
        "modules that are handed a learning message": probe["met"],
        "modules that encode one": f"{len(probe['encode'])} ({', '.join(probe['encode'])})",
        "digest": identity(tree),
    }


def main() -> None:
    """Print a table with a column for every tree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("trees", nargs="*", type=Path, default=[HERE])
    trees = [tree.resolve() for tree in parser.parse_args().trees]
    columns = [measured(tree) for tree in trees]
    print("| what |" + "".join(f" {tree.name} |" for tree in trees))
    print("|---|" + "---|" * len(trees))
    for row in columns[0]:
        print(f"| {row} |" + "".join(f" {column[row]} |" for column in columns))


if __name__ == "__main__":
    main()
