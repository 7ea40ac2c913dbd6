"""Asking many processes at the same time, and ending them all."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from valid_ref.testing.arena.network import AnswerT, Together
from valid_ref.testing.conform.process import ProcessPeer

PAUSE = 0.02
"""Seconds between two looks at threads that are to end."""


@contextmanager
def processes(
    commands: Mapping[int, Sequence[str]], timeout: float
) -> Iterator[tuple[dict[int, ProcessPeer], Together]]:
    """One process for every agent, and how they are asked; all are ended in every case.

    Every process has a thread that writes its request and waits for its answer, so that all
    work at the same time, however many processors there are.

    Implements: CF-21, CF-22.
    """
    peers = {agent: ProcessPeer(command, timeout) for agent, command in commands.items()}
    pool = ThreadPoolExecutor(max(1, len(peers)), thread_name_prefix="arena")
    pending: set[Future[Any]] = set()

    def together(questions: Mapping[int, Callable[[], AnswerT]]) -> dict[int, AnswerT]:
        futures = {agent: pool.submit(question) for agent, question in questions.items()}
        pending.update(futures.values())
        wait(futures.values(), return_when=FIRST_EXCEPTION)
        answers = {agent: future.result() for agent, future in futures.items()}
        pending.clear()
        return answers

    try:
        yield peers, together
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in pending):
            for peer in peers.values():
                peer.kill()
            time.sleep(PAUSE)
        pool.shutdown()
        with ThreadPoolExecutor(max(1, len(peers))) as closing:
            list(closing.map(ProcessPeer.close, peers.values()))
