"""Text of a user's files as a person may safely see it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

LEFT = 3
"""How many columns are text and flush left. The others are numbers and flush right."""


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


def columns(rows: Sequence[Sequence[str]], left: int = LEFT) -> Iterator[str]:
    """The lines of a table with aligned columns; the first `left` columns are flush left.

    Cells may hold names of the model; control characters in them become escapes.
    """
    rows = [[printable(text) for text in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (
            text.ljust(width) if i < left else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
