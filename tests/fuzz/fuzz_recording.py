"""A coverage-guided fuzzer of the reader of recordings and of the oracle behind it.

    python -m tests.fuzz.fuzz_recording --runs 20000 [--seconds S] [--corpus DIRECTORY]

Whatever the bytes, the answer is a verdict or a RecordingError, within seconds and within a
gigabyte. An input that gives anything else is written as `crash-*` beside the corpus directory;
it belongs into `tests/fuzz/kept`, which the fast suite replays beside inputs that reached far.
Needs the extra `fuzz`.
"""

import argparse
import random
import resource
import sys
import tempfile
from pathlib import Path

import atheris

MEMORY = 1 << 30
"""Beyond what the process has after it is set up."""
SECONDS = 20
"""For one input."""

with atheris.instrument_imports(include=["valid_ref.oracle", "valid_ref.document"]):
    from tests.fuzz.recordings import BASES, build, judged, write_bases
    from valid_ref.oracle.files import KNOWN


def seeds(target: Path) -> None:
    """Inputs of every form: whole zips, single files, and random structural changes."""
    home, drawn = target.parent / "bases", random.Random(1)
    for number, base in enumerate(BASES):
        (target / f"zip-{base}").write_bytes(
            bytes([number, 0]) + home.joinpath(f"{base}.zip").read_bytes()
        )
        for file in sorted((home / base).iterdir()):
            name = bytes([number, 2, KNOWN.index(file.name)])
            (target / f"{base}-{file.name}").write_bytes(name + file.read_bytes())
        for form in (1, 3, 4):
            for index in range(40):
                raw = bytes([number, form]) + drawn.randbytes(drawn.randrange(1, 24))
                (target / f"{base}-{form}-{index}").write_bytes(raw)


def main() -> None:
    """Set up, limit the memory, fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=0, help="0: no limit but the runs")
    parser.add_argument("--corpus", type=Path, help="kept between runs; else made anew")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        corpus = Path(scratch) / "corpus" if options.corpus is None else options.corpus
        corpus.mkdir(parents=True, exist_ok=True)
        home = corpus.parent / "bases"
        if not home.exists():
            write_bases(home)
        seeds(corpus)

        def one_input(data: bytes) -> None:
            judged(build(data, home, Path(scratch) / "target"))

        arguments = [
            sys.argv[0],
            f"-runs={options.runs}",
            f"-timeout={SECONDS}",
            "-max_len=16384",
            "-len_control=0",
            "-rss_limit_mb=0",
            "-print_final_stats=1",
            f"-artifact_prefix={corpus.parent}/",
            *([f"-max_total_time={options.seconds}"] if options.seconds else []),
            str(corpus),
        ]
        atheris.Setup(arguments, one_input)
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = used * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
