"""How long a loop nest over tiles takes, with what of its transfers nothing hides. No IR in here.

load | load    load    load              The transfers of the innermost loop run while it
     | tile 0  tile 1  tile 2  tile 3    computes, but for the first load and the last store
                                 | store each time that the loop begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Moved:
    """Some transfers, and the bytes and contiguous runs of bytes that they move, all together."""

    transfers: int
    bytes: int
    runs: int


@dataclass(frozen=True)
class Rates:
    """Cycles of the start of a transfer and of a jump to its next run, and bytes in a cycle."""

    setup: int
    jump: int
    bytes: Fraction

    def cycles(self, moved: Moved) -> Fraction:
        """How long some transfers take, one after the other."""
        jumps = (moved.runs - moved.transfers) * self.jump
        return moved.transfers * self.setup + jumps + moved.bytes / self.bytes


def exposed(moved: Moved, tile: Moved, copies: int, entries: int) -> Moved:
    """What nothing hides of the transfers through a tile buffer; `tile` is one of them.

    `copies`: of the buffer; with one copy, nothing is hidden. `entries`: how often a loop over
    innermost tiles begins.
    """
    if copies == 1:
        return moved
    return Moved(
        min(entries, moved.transfers),
        min(entries * tile.bytes, moved.bytes),
        min(entries * tile.runs, moved.runs),
    )


def nest_cycles(
    compute: Fraction, steps: int, parts: Iterable[tuple[Moved, Moved]], rates: Rates
) -> Fraction:
    """The cycles of a nest whose layers compute for `compute` cycles in all, in `steps` steps.

    `parts`: for each tile buffer all that is moved through it, and what is exposed of that. All
    buffers share one bus. Nothing is loaded while the last step computes.
    """
    hidden, waited = Fraction(), Fraction()
    for moved, bare in parts:
        waited += rates.cycles(bare)
        hidden += rates.cycles(moved) - rates.cycles(bare)
    last = compute / steps
    return max(compute - last, hidden) + waited + last
