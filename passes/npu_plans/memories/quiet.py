"""A block in which nothing that C code prints reaches standard output.

Some releases of HiGHS print a line of their own for some programs, whatever their options say.
Standard output is for the text of a module.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

STDOUT = 1
"""The number of the file to which C code prints."""


@contextmanager
def silent() -> Generator[None]:
    """Drop what is printed in the block; on systems without POSIX, do nothing."""
    if os.name != "posix":
        yield
        return
    sys.stdout.flush()
    flush()
    kept = os.dup(STDOUT)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), STDOUT)
        yield
    finally:
        flush()
        os.dup2(kept, STDOUT)
        os.close(kept)


def flush() -> None:
    """Write what C code has printed and its library has kept back."""
    ctypes.CDLL(None).fflush(None)
