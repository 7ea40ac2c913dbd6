"""Processes beside this one: deaf to Ctrl-C from the start, and ended when this one is stopped."""

import signal
import time

import pytest

from valid_ref.workers import Workers


def waiting_signals() -> list[int]:
    return [int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])]


def test_a_worker_never_sees_ctrl_c_and_this_process_goes_on_seeing_it() -> None:
    with Workers(1) as pool:
        assert signal.SIGINT in pool.submit(waiting_signals).result()
    assert signal.SIGINT not in waiting_signals()


def test_what_is_under_way_ends_when_the_block_is_left_by_an_error() -> None:
    def interrupted() -> None:
        with Workers(1) as pool:
            pool.submit(time.sleep, 600)
            raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - begin < 60
