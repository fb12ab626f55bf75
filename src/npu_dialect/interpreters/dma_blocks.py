"""The meaning of transfers in blocks: which elements move, and how many bytes that is.

The position of a part in its map is computed from the addresses of the two, as in the emitted C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.dma import BLOCK_BITS, RUN_BITS, StartOp
from npu_dialect.interpreters.planes import codes, run_bytes, run_lengths
from npu_dialect.interpreters.values import Array
from npu_dialect.interpreters.zero_blocks import in_blocks, spread


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a transfer: rows and columns, the zero element, the map and its index."""

    shape: tuple[int, int]
    zero: int
    map: Array
    index: Array

    @property
    def size(self) -> int:
        """The columns of a block."""
        return self.shape[1]

    @property
    def bits_each(self) -> int:
        """The bits of the index for a block."""
        return BLOCK_BITS

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
        units = (1, 1, *self.shape)
        counts = [-(-n // unit) for n, unit in zip(self.map.shape, units, strict=True)]
        corner = self.corner(part)
        places: Array = np.zeros((1, 1, 1, 1), np.int64)
        for axis, (at, extent, count) in enumerate(zip(corner, part.shape, counts, strict=True)):
            unit = units[axis]
            met = np.array(range(at // unit, (at + extent - 1) // unit + 1), np.int64)
            places = places * count + met.reshape([-1 if each == axis else 1 for each in range(4)])
        return places * self.bits_each

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
        corner, units = self.corner(part), (1, 1, *self.shape)
        for at, size, whole, unit in zip(corner, part.shape, self.map.shape, units, strict=True):
            if at % unit or (size % unit and at + size != whole):
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


@dataclass(frozen=True, eq=False)
class Planes(Blocks):
    """The runs of a transfer as bit planes. The map holds them as they are: only bytes differ."""

    @property
    def bits_each(self) -> int:
        """The bits of the index for a run."""
        return RUN_BITS

    def moved(self, part: Array, source: Array, *, writes: bool) -> int:
        """Bytes of a transfer: the bytes of the index that it uses, and the planes of its runs."""
        if writes:
            self.expect_whole(part)
        places = self.bits(part)
        found = codes(source, self.zero) if writes else self.found(places)
        first, count = self.corner(part)[3] // self.size, found.shape[3]
        lengths = run_lengths(self.map.shape[3])[first : first + count]
        return len(np.unique(places >> 3)) + int(run_bytes(found, lengths).sum())

    def found(self, places: Array) -> Array:
        """The codes in the index at some bit positions."""
        return self.index.view(np.uint8)[places >> 3] >> (places & 4) & 15

    def move(self, source: Array, target: Array, *, writes: bool) -> None:
        """Move the elements; a write to off-chip memory sets the codes of all runs."""
        target[...] = source
        if not writes:
            return
        index = self.index.view(np.uint8)
        found, places = codes(source, self.zero), self.bits(target)
        for place, code in zip(places.flat, found.flat, strict=True):
            byte = int(index[place >> 3]) & (240 if place & 4 == 0 else 15)
            index[place >> 3] = byte | int(code) << (place & 4)


def blocks_of(op: StartOp, operands: Sequence[Array]) -> Blocks | None:
    """The blocks of a transfer, with its map and index; None if it moves all elements."""
    if op.block_shape is None or op.zero is None:
        return None
    map, index = operands
    kind = Blocks if op.planes is None else Planes
    return kind(op.block_shape, op.zero.value.data, map, index)


def address(array: Array) -> int:
    """The address of the first element of an array."""
    return array.__array_interface__["data"][0]
