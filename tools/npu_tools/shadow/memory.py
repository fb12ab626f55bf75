"""Memories whose bytes know who wrote them last, the buffers in them, and views of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.dsp import OpaqueOp
from npu_dialect.interpreters.values import dtype_of, storage_size
from npu_dialect.sram import SpanOp
from npu_tools.shadow.faults import NotFollowed
from npu_tools.shadow.numbers import Number, Read, added

Bytes = NDArray[np.int64]
"""Positions of bytes, in ascending order."""


MOST_BYTES = 1 << 30
"""The largest memory that is followed; each byte takes 16 bytes here."""


@dataclass(eq=False)
class Memory:
    """A block of bytes. `owner`: the number of the buffer for which a byte was written last.

    `owner` is 0 for bytes that nobody wrote. `writer` is the number of the statement that did it.
    `target` is the number of the running transfer into a byte, or 0; `sources` counts the running
    transfers that read it.
    """

    name: str
    size: int
    owner: NDArray[np.int32] = field(init=False)
    writer: NDArray[np.int32] = field(init=False)
    target: NDArray[np.int32] = field(init=False)
    sources: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        """Nobody has written a byte. Raises: NotFollowed if there are too many."""
        if not 0 <= self.size <= MOST_BYTES:
            raise NotFollowed(f"expected at most {MOST_BYTES} bytes in {self.name}: {self.size}")
        self.owner, self.writer, self.target, self.sources = (
            np.zeros(self.size, np.int32) for _ in range(4)
        )


@dataclass(eq=False)
class Buffer:
    """`size` bytes of a memory from byte `base` on; constants lie in no memory.

    `number` is unique. `data` are the elements of a constant of integers.
    """

    name: str
    number: int
    memory: Memory | None
    base: int
    size: int
    data: NDArray[Any] | None = None


@dataclass(frozen=True)
class Layout:
    """Where the elements of a view lie: `start` and `strides` in bytes, from a base."""

    start: Number
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @staticmethod
    def of(type_: Attribute) -> Layout:
        """The layout of a whole buffer. Raises: NotFollowed if it is not static."""
        assert isa(type_, MemRefType)
        itemsize = dtype_of(type_.get_element_type()).itemsize
        strides = static_strides(type_)
        start = (type_.get_offset() or 0) * itemsize
        return Layout(start, tuple(type_.get_shape()), scaled(strides, itemsize), itemsize)

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one behind the other, without gaps, in the order of indices."""
        step = self.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True

    def bytes(self) -> Bytes:
        """The bytes of all elements. The start must be a number without axes."""
        assert isinstance(self.start, int)
        return element_bytes(self.shape, self.strides, self.itemsize) + self.start


@lru_cache(maxsize=64)
def element_bytes(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Bytes:
    """The bytes of all elements of a view that starts at byte 0."""
    if not prod(shape):
        return np.zeros(0, np.int64)
    found = np.zeros(1, np.int64)
    for extent, stride in zip(shape, strides, strict=True):
        found = (found[:, None] + np.arange(extent) * stride).reshape(-1)
    return unique((found[:, None] + np.arange(itemsize)).reshape(-1))


def unique(positions: NDArray[np.int64]) -> Bytes:
    """Positions in ascending order, each once."""
    if not positions.size:
        return positions
    low = positions.min()
    seen = np.zeros(positions.max() - low + 1, np.bool_)
    seen[positions - low] = True
    return np.flatnonzero(seen) + low


def buffer_bytes(type_: Attribute) -> int:
    """Bytes of a whole buffer."""
    assert isa(type_, MemRefType)
    return storage_size(type_) * dtype_of(type_.get_element_type()).itemsize


def static_strides(type_: MemRefType[Any]) -> tuple[int, ...]:
    """The strides of a type in elements. Raises: NotFollowed if one is unknown."""
    strides = type_.get_strides()
    found = tuple(each for each in strides or () if each is not None)
    if strides is None or len(found) != len(strides):
        raise NotFollowed(f"expected static strides, got {type_}")
    return found


def scaled(numbers: Sequence[int], factor: int) -> tuple[int, ...]:
    """Each number times a factor."""
    return tuple(each * factor for each in numbers)


VIEWS = (
    memref.CastOp,
    memref.MemorySpaceCastOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.ViewOp,
    SpanOp,
    OpaqueOp,
)


@dataclass(frozen=True)
class Part:
    """What a subview takes of each axis of its source: first index, length and step."""

    offsets: tuple[Number, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]

    @staticmethod
    def of(op: memref.SubviewOp, number: Read) -> Part:
        """The part; sizes and steps must not depend on loops.

        Raises: NotFollowed if an entry depends on data.
        """
        sizes = entries(unpacked(op.static_sizes), op.sizes, number)
        steps = entries(unpacked(op.static_strides), op.strides, number)
        if not all(isinstance(each, int) for each in (*sizes, *steps)):
            raise NotFollowed("expected a view whose size is the same in each iteration")
        offsets = entries(unpacked(op.static_offsets), op.offsets, number)
        return Part(offsets, tuple(map(int, sizes)), tuple(map(int, steps)))


@lru_cache(maxsize=1024)
def unpacked(numbers: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The numbers of a list; those of a view of a tile are asked for in each iteration."""
    return numbers.get_values()


def entries(static: Sequence[int], dynamic: Sequence[SSAValue], number: Read) -> tuple[Number, ...]:
    """A list of static numbers with the dynamic ones filled in.

    Raises: NotFollowed if one depends on data.
    """
    if not dynamic:
        return tuple(static)
    rest = iter(dynamic)
    found: list[Number] = []
    for each in static:
        value = number(next(rest)) if each == DYNAMIC_INDEX else each
        if value is None:
            raise NotFollowed("expected a view whose place does not depend on data")
        found.append(value)
    return tuple(found)


def viewed(op: Operation, source: Layout, number: Read) -> Layout:
    """The layout of a view of a buffer or view. Raises: NotFollowed if it depends on data."""
    type_ = op.results[0].type
    assert isa(type_, MemRefType)
    shape = tuple(type_.get_shape())
    match op:
        case memref.CastOp() | memref.MemorySpaceCastOp() | OpaqueOp():
            return source
        case memref.SubviewOp():
            return subview(op, Part.of(op, number), source)
        case memref.ViewOp():
            shift = number(op.byte_shift)
            if shift is None:
                raise NotFollowed("expected a view whose place does not depend on data")
            return replace(Layout.of(type_), start=added(source.start, shift))
        case memref.ReinterpretCastOp():
            before = memref_offset(op.source.type) * source.itemsize
            (offset,) = entries(unpacked(op.static_offsets), op.offsets, number)
            start = added(source.start, offset * source.itemsize - before)
        case _:
            start = source.start
    return Layout(start, shape, scaled(static_strides(type_), source.itemsize), source.itemsize)


def memref_offset(type_: Attribute) -> int:
    """The static offset of a layout in elements; 0 if it is unknown."""
    assert isa(type_, MemRefType)
    return type_.get_offset() or 0


def subview(op: memref.SubviewOp, part: Part, source: Layout) -> Layout:
    """The layout of a part, without axes of length 1 that the result type drops."""
    assert isa(op.result.type, MemRefType)
    start, rank = source.start, op.result.type.get_num_dims()
    for offset, stride in zip(part.offsets, source.strides, strict=True):
        start = added(start, offset * stride)
    strides = [a * b for a, b in zip(source.strides, part.steps, strict=True)]
    ones = [axis for axis, size in enumerate(part.sizes) if size == 1]
    dropped = ones[: len(part.sizes) - rank]
    kept = [axis for axis in range(len(part.sizes)) if axis not in dropped]
    return Layout(
        start,
        tuple(part.sizes[axis] for axis in kept),
        tuple(strides[axis] for axis in kept),
        source.itemsize,
    )
