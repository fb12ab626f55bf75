"""A limit for the time that some work may take."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(BaseException):
    """The time of `at_most` is over. It is no `Exception`, so that passes do not catch it."""


@contextmanager
def at_most(seconds: float) -> Generator[None]:
    """Interrupt the block after some seconds.

    Only the main thread can be interrupted, where the system has timers; elsewhere the block runs
    to its end.

    Raises: OutOfTime in the block.
    """
    if seconds <= 0:
        raise OutOfTime
    if not has_timer():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def has_timer() -> bool:
    """Whether this thread can be interrupted by a timer."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


class Clock:
    """The time that is left of a number of seconds."""

    def __init__(self, seconds: float) -> None:
        """Start the clock."""
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until the end; below 0 behind it."""
        return self.end - time.monotonic()
