"""Leaves out indices that no statement reads any more.

An address is one sum of indices. Terms that cancel out are not in it: of a map with 8 columns,
element [k / 8][k % 8] is at k. Then no line reads k / 8, and C compilers warn about that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

INDENT = 4
"""Spaces of a level of blocks."""
CONSTANT = re.compile(r" +const \w+ (?P<name>\w+) = [^;]*;")
"""A line that defines a constant, and does nothing else."""
WORD = re.compile(r"\w+")


def without_unread(lines: Sequence[str], names: AbstractSet[str]) -> list[str]:
    """The lines of a function without definitions of some names that no line behind them reads.

    The definition of a name is read by lines of its block only.
    """
    kept: list[str] = []
    read: list[set[str]] = [set()]
    """The words of the lines behind, of each block that is open there."""
    for line in reversed(lines):
        if line.startswith(" "):
            depth = (len(line) - len(line.lstrip(" "))) // INDENT
            while len(read) > depth + 1:
                inner = read.pop()
                read[-1] |= inner
            read += [set() for _ in range(depth + 1 - len(read))]
        found = CONSTANT.fullmatch(line)
        if found and found["name"] in names and found["name"] not in read[-1]:
            continue
        read[-1].update(WORD.findall(line))
        kept.append(line)
    return kept[::-1]
