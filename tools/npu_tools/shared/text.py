"""Text of a user's files as a person may safely see it."""

from __future__ import annotations

import sys
from typing import TextIO


def printable(text: str, kept: str = "") -> str:
    """A text whose control characters, but for those in `kept`, are escapes such as `\\x1b`.

    A terminal obeys some of them: names in a model could move its cursor or change its title.
    """
    return "".join(
        each if each.isprintable() or each in kept else each.encode("unicode_escape").decode()
        for each in text
    )


def say(text: str, file: TextIO | None = None) -> None:
    """Print a text, which may name parts of a user's model, to `file` or standard output."""
    print(printable(text, kept="\n"), file=sys.stdout if file is None else file)
