"""Ctrl-C while a command is being loaded: nothing has begun, so the process ends on the spot.

This loads next to nothing, since it stands before all that takes time to load.
"""

import os
import signal
import threading

INTERRUPTED = 130


def leave_on_the_spot() -> bool:
    """Let Ctrl-C end the process, without an exception, which not every library lets through.

    Only where Ctrl-C would raise one, and in the main thread; whether it is so now.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    return signal.getsignal(signal.SIGINT) is _leave


def heed() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: object) -> None:
    os._exit(INTERRUPTED)
