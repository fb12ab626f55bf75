"""The meaning of transfers in blocks: which elements move, and how many bytes that is.

The position of a part in its map is computed from the addresses of the two, as in the emitted C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.interpreters.values import Array
from npu_dialect.interpreters.zero_blocks import in_blocks, spread


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a transfer: their edge length, the zero element, the map and its index."""

    size: int
    zero: int
    map: Array
    index: Array

    def corner(self, part: Array) -> tuple[int, ...]:
        """The indices in the map [N, C, H, W] of the first element of a part.

        Raises: InterpretationError if the buffer is no part of the map.
        """
        rest = address(part) - address(self.map)
        corner: list[int] = []
        for step in self.map.strides:
            corner.append(rest // step)
            rest %= step
        ends = zip(corner, part.shape, self.map.shape, strict=True)
        if rest or any(not 0 <= at <= at + size <= whole for at, size, whole in ends):
            raise InterpretationError("dma.start: blocks of a buffer that is no part of the map")
        return tuple(corner)

    def bits(self, part: Array) -> Array:
        """Bit positions in the index of the blocks that a part overlaps, [N, C, rows, columns]."""
        grid = [-(-extent // self.size) for extent in self.map.shape[2:]]
        counts = (*self.map.shape[:2], *grid)
        corner, size = self.corner(part), self.size
        places: Array = np.zeros((1, 1, 1, 1), np.int64)
        for axis, (at, extent, count) in enumerate(zip(corner, part.shape, counts, strict=True)):
            unit = size if axis >= 2 else 1
            met = np.array(range(at // unit, (at + extent - 1) // unit + 1), np.int64)
            places = places * count + met.reshape([-1 if each == axis else 1 for each in range(4)])
        return places

    def spread(self, blocks: Array, part: Array) -> Array:
        """For each element of a part the flag of its block; `blocks` are those that it overlaps."""
        top, left = (at % self.size for at in self.corner(part)[2:])
        height, width = part.shape[2:]
        shape = (*part.shape[:2], top + height, left + width)
        return spread(blocks, self.size, shape)[:, :, top:, left:]

    def kept(self, source: Array) -> Array:
        """For each block that leaves the chip whether an element differs from zero in any bit."""
        raw = np.ascontiguousarray(source).view(f"u{source.itemsize}")
        return ~in_blocks(raw == self.zero % 256, self.size)

    def known(self, part: Array) -> Array:
        """For each block that a part overlaps whether it is not zero, according to the index."""
        places = self.bits(part)
        return (self.index.view(np.uint8)[places >> 3] >> (places & 7) & 1).astype(np.bool_)

    def moved(self, part: Array, source: Array, *, writes: bool) -> int:
        """Bytes of a transfer: the bytes of the index that it uses, and the nonzero blocks.

        `part` is the side in the map. `writes`: whether the transfer writes to off-chip memory.
        """
        if writes:
            self.expect_whole(part)
        blocks = self.kept(source) if writes else self.known(part)
        elements = np.count_nonzero(self.spread(blocks, part))
        return len(np.unique(self.bits(part) >> 3)) + int(elements) * part.itemsize

    def expect_whole(self, part: Array) -> None:
        """Check that a part that is written consists of whole blocks.

        Raises: InterpretationError if it does not.
        """
        corner = self.corner(part)
        for at, size, whole in list(zip(corner, part.shape, self.map.shape, strict=True))[2:]:
            if at % self.size or (size % self.size and at + size != whole):
                raise InterpretationError("dma.start: writes a part of a block")

    def move(self, source: Array, target: Array, *, writes: bool) -> None:
        """Move the nonzero blocks.

        A write to off-chip memory sets the bits of all blocks in the index. A read fills the zero
        blocks of the target with `zero`.
        """
        if not writes:
            flags = self.spread(self.known(source), source)
            target[...] = np.where(flags, source, source.dtype.type(self.zero))
            return
        blocks, places = self.kept(source), self.bits(target)
        index = self.index.view(np.uint8)
        for place, flag in zip(places.flat, blocks.flat, strict=True):
            mask = 1 << (place & 7)
            byte = int(index[place >> 3])
            index[place >> 3] = byte | mask if flag else byte & ~mask & 255
        flags = self.spread(blocks, target)
        target[flags] = source[flags]


def address(array: Array) -> int:
    """The address of the first element of an array."""
    return array.__array_interface__["data"][0]
