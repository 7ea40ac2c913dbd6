"""Work in chunks over processes, written down as it is done, so that it can be stopped and resumed.

The state file has one JSON document a line: first what is being done, then one line a chunk. A
last line that was cut off is dropped.
"""

import json
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

from valid_ref.explore.variants import ExploreError

ChunkT = TypeVar("ChunkT")
Numbers = list[list[int]]
"""The result of a chunk: a list of integers for each of its items."""

FORMAT = "valid-ref explore 1"


def run_chunks(
    header: Mapping[str, object],
    chunks: Sequence[ChunkT],
    work: Callable[[ChunkT], Numbers],
    *,
    jobs: int = 1,
    state_file: Path | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> list[Numbers]:
    """The results of all chunks in their order; `watch` is told how many of how many are done."""
    expected = {"format": FORMAT, **header, "chunks": len(chunks)}
    done = {} if state_file is None else read_state(state_file, expected)
    missing = [index for index in range(len(chunks)) if index not in done]
    with _appending(state_file, expected) as log:
        results = _results(work, [chunks[index] for index in missing], jobs)
        with closing(results):
            for index, result in zip(missing, results, strict=True):
                done[index] = result
                if log is not None:
                    log.write(json.dumps({"chunk": index, "results": result}) + "\n")
                    log.flush()
                if watch is not None:
                    watch(len(done), len(chunks))
    return [done[index] for index in range(len(chunks))]


def read_state(state_file: Path, expected: Mapping[str, object]) -> dict[int, Numbers]:
    """The chunks that a state file has; refused if it is about something else."""
    if not state_file.exists() or not state_file.stat().st_size:
        return {}
    lines = state_file.read_text(encoding="utf-8").splitlines(keepends=True)
    documents = [_document(line) for line in lines]
    if documents[0] != expected:
        raise ExploreError(
            f"{state_file} is the state of another exploration: {documents[0]}, not {expected}"
        )
    return {
        int(line["chunk"]): line["results"]
        for line in documents[1:]
        if line is not None and set(line) == {"chunk", "results"}
    }


def _document(line: str) -> dict[str, Any] | None:
    """One line of a state file; None for one that was cut off."""
    try:
        value = json.loads(line) if line.endswith("\n") else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


@contextmanager
def _appending(state_file: Path | None, header: Mapping[str, object]) -> Iterator[TextIO | None]:
    """The state file, opened behind its last whole line; with a header if it is new."""
    if state_file is None:
        yield None
        return
    text = state_file.read_text(encoding="utf-8") if state_file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    with state_file.open("w", encoding="utf-8") as log:
        log.write(whole or json.dumps(header) + "\n")
        log.flush()
        yield log


def _results(
    work: Callable[[ChunkT], Numbers], chunks: Sequence[ChunkT], jobs: int
) -> Generator[Numbers, None, None]:
    """The results in order, as they come; a stop ends the processes when their chunk is done."""
    if jobs <= 1:
        yield from map(work, chunks)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _leave_the_keyboard_to_the_parent)
    try:
        yield from pool.map(work, chunks)
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_the_keyboard_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
