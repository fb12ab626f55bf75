"""A block of ops as plain data: what each touches, how long it computes, which buffers live.

0  alloc  b0                     step 0: light, no work
1  start  transfer 0 to b0       step 1: touches map 7, writes b0
2  wait   transfer 0
3  conv   b0 -> b1               step 3: work
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

Box: TypeAlias = tuple[tuple[int, int], ...] | None
"""The part of a buffer: for each axis the first index and the end (excluded). None: all of it."""


Span: TypeAlias = tuple[int, int]
"""Bytes on chip: the first one and the end (excluded)."""


@dataclass(frozen=True)
class Touch:
    """A part of a buffer that a step reads or writes; `buffer` is the identity of the buffer."""

    buffer: Hashable
    box: Box
    writes: bool

    def meets(self, other: Touch) -> bool:
        """Whether the order of the two matters: they share elements, and one of them writes."""
        return (
            self.buffer == other.buffer
            and (self.writes or other.writes)
            and boxes_meet(self.box, other.box)
        )


def boxes_meet(one: Box, other: Box) -> bool:
    """Whether two parts of a buffer may share an element."""
    if one is None or other is None or len(one) != len(other):
        return True
    return all(a < d and c < b for (a, b), (c, d) in zip(one, other, strict=True))


@dataclass(frozen=True)
class Transfer:
    """A transfer: the steps that start it and wait for it, and whether it is a load.

    `cycles`: how long it takes, in the unit of `Step.work`. `data`: how long its data have the bus,
    in the end of these.
    """

    start: int
    wait: int
    load: bool
    cycles: int = 1
    data: int = 0


@dataclass(frozen=True)
class Step:
    """An op of the block, with all ops inside it.

    `touches`: of a start and of a wait they are those of the transfer. `needs`: the steps whose
    results it uses. `work`: how long it computes; 0 for steps that compute no layer. `light`: it
    only computes an address or allocates a buffer, and can be moved with the step that needs it.
    `fixed`: no step may be moved across it. `inside`: the memory on chip, as first byte and end
    (excluded), of the buffers that live meanwhile and that this block does not allocate. `moving`:
    how long transfers in it take, if it is a loop with transfers, and `data`: how long their data
    have the bus.
    """

    touches: tuple[Touch, ...] = ()
    needs: tuple[int, ...] = ()
    work: int = 0
    light: bool = False
    fixed: bool = False
    inside: tuple[Span, ...] = ()
    moving: int = 0
    data: int = 0

    @property
    def spare(self) -> int:
        """How long it computes while no transfer of its own runs."""
        return max(0, self.work - self.moving)

    def meets(self, touches: Sequence[Touch]) -> bool:
        """Whether the order of this step and of others with these touches matters."""
        return any(one.meets(other) for one, other in product(self.touches, touches))


@dataclass(frozen=True)
class Lived:
    """A buffer that the block allocates: where it lies on chip, and the steps that use it.

    `offset`, `size` and `alignment` are in bytes. `room`: the memory in which it may lie, where
    there are several, one behind the other; None: all bytes on chip. `parts`: if it is not in use
    as a whole, its parts, in bytes from the start of the buffer, and the steps that use each of
    them. A part is in use from the first to the last of these.
    """

    offset: int
    size: int
    uses: tuple[int, ...]
    alignment: int = 1
    room: Span | None = None
    parts: tuple[tuple[Span, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class Block:
    """The steps of a block in their order, its transfers, and the buffers that it allocates.

    `channels`: those of the DMA engine, if the block runs once and all cycles are known; else 0.
    """

    steps: tuple[Step, ...]
    transfers: tuple[Transfer, ...]
    buffers: tuple[Lived, ...] = ()
    channels: int = 0
