"""Lower the pruning of zero blocks to loops over the blocks of a map.

Blocks at the right and bottom edges have loops of their own, so that the sizes of all are known. A
block is tested in two steps, its first row and then the others, as most blocks that stay have a
large element in the first row. For a core with the `dsp` extension, bytes that are pruned in place
are tested four at a time:

    %x = dsp.load_word %bytes[%i]     // at least the bound in some byte?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu import PruneZeroBlocksOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import BYTE_TYPES, limits_of
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.integers import add, load, store
from npu_passes.support.loop_builder import Index, LoopBuilder, is_dense, memref_type

i1 = IntegerType(1)

STRAIGHT = 8
"""Most elements of a row of a block that become straight code."""
ALL = 0xFFFFFFFF
"""All bits of a word."""


@dataclass(frozen=True)
class Block:
    """A block, or some of its rows: channel, first row and column, number of rows and columns."""

    channel: tuple[Index, ...]
    top: Index
    left: Index
    rows: int
    columns: int


class Pruning(Protocol):
    """How blocks are read and written."""

    def below(self, block: Block) -> SSAValue:
        """Whether all elements are below the threshold."""
        ...

    def drop(self, block: Block) -> None:
        """Set all elements to zero."""
        ...

    def keep(self, block: Block) -> None:
        """Copy all elements; called only if the layer does not run in place."""
        ...


def lower_prune_zero_blocks(
    b: LoopBuilder, op: PruneZeroBlocksOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops: a block whose elements are all below the threshold becomes zero.

    Other blocks are copied; in place, they are left unchanged.
    """
    words = "dsp" in options.features and in_words(op, out)
    pruning: Pruning = Words.of(b, op) if words else Elements.of(b, op, out)
    images, channels = shape_of(op.input)[:2]

    def prune(block: Block) -> None:
        first, *rest = halves(b, block)
        flag = pruning.below(first)
        if rest:
            false = b.integer(0, i1)
            (flag,) = b.choose(flag, lambda: [pruning.below(rest[0])], lambda: [false], [i1])
        copy = None if op.input is out else lambda: build(pruning.keep, block)
        b.choose(flag, lambda: build(pruning.drop, block), copy)

    def channel(at: tuple[Index, ...]) -> None:
        for rows, columns in product(*(bands(axis.size, op.size) for axis in op.axes())):
            grid(b, at, rows, columns, prune)

    for_each(b, (images, channels), channel, ("n", "c"))


def build(act: Callable[[Block], None], block: Block) -> tuple[()]:
    """A branch that does something to a block and has no results."""
    act(block)
    return ()


def halves(b: LoopBuilder, block: Block) -> Iterator[Block]:
    """The first row of a block, and the others if there are any."""
    yield Block(block.channel, block.top, block.left, 1, block.columns)
    if block.rows > 1:
        below = b.add(block.top, 1)
        yield Block(block.channel, below, block.left, block.rows - 1, block.columns)


@dataclass(frozen=True)
class Band:
    """`count` blocks of `size` elements along an axis, from element `first` on."""

    first: int
    count: int
    size: int


def bands(extent: int, size: int) -> Iterator[Band]:
    """The whole blocks along an axis, and the partial one."""
    whole = extent // size
    if whole > 0:
        yield Band(0, whole, size)
    if extent % size > 0:
        yield Band(whole * size, 1, extent % size)


def grid(
    b: LoopBuilder,
    channel: tuple[Index, ...],
    rows: Band,
    columns: Band,
    body: Callable[[Block], None],
) -> None:
    """The loops over the blocks of a channel that lie in two bands."""

    def at(place: tuple[Index, ...]) -> None:
        top, left = (
            b.add(b.mul(index, band.size), band.first)
            for index, band in zip(place, (rows, columns), strict=True)
        )
        body(Block(channel, top, left, rows.size, columns.size))

    for_each(b, (rows.count, columns.count), at, ("by", "bx"))


@dataclass(frozen=True)
class Elements:
    """Elements one by one, of any type and in any order in memory."""

    b: LoopBuilder
    source: SSAValue
    out: SSAValue
    bound: SSAValue
    zero: SSAValue

    @staticmethod
    def of(b: LoopBuilder, op: PruneZeroBlocksOp, out: SSAValue) -> Elements:
        """The elements of a layer."""
        if map_type(op.input).get_element_type() in BYTE_TYPES:
            return Elements(b, op.input, out, b.integer(int(op.bound)), b.integer(op.zero))
        return Elements(b, op.input, out, b.real(op.bound), b.real(0.0))

    def below(self, block: Block) -> SSAValue:
        """The conjunction of all comparisons."""

        def less(y: Index, x: Index, flags: Sequence[SSAValue]) -> list[SSAValue]:
            value = load(self.b, self.source, (*block.channel, y, x))
            less = self.b.compared(value, self.bound, "olt", "slt")
            return [self.b.insert(arith.AndIOp(flag, less), "below").result for flag in flags]

        return self.walk(block, less, [self.b.integer(1, i1)])[0]

    def drop(self, block: Block) -> None:
        """Store zero everywhere."""

        def clear(y: Index, x: Index, _: Sequence[SSAValue]) -> tuple[()]:
            store(self.b, self.zero, self.out, (*block.channel, y, x))
            return ()

        self.walk(block, clear)

    def keep(self, block: Block) -> None:
        """Copy element by element."""

        def copy(y: Index, x: Index, _: Sequence[SSAValue]) -> tuple[()]:
            at = (*block.channel, y, x)
            self.b.store(self.b.load(self.source, at), self.out, at)
            return ()

        self.walk(block, copy)

    def walk(
        self,
        block: Block,
        body: Callable[[Index, Index, Sequence[SSAValue]], Sequence[SSAValue]],
        carried: Sequence[SSAValue] = (),
    ) -> Sequence[SSAValue]:
        """The elements of a block, row by row; short rows are straight code."""
        b = self.b

        def row(y: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if block.columns > STRAIGHT:
                right = b.add(block.left, block.columns)
                return b.loop(block.left, right, lambda x, each: body(y, x, each), values, hint="x")
            for x in range(block.columns):
                values = body(y, b.add(block.left, x), values)
            return values

        if block.rows == 1:
            return row(block.top, carried)
        return b.loop(block.top, b.add(block.top, block.rows), row, carried, hint="y")


def in_words(op: PruneZeroBlocksOp, out: SSAValue) -> bool:
    """Whether a layer can test and clear four bytes at a time.

    Its map has rows of at least a word, in the order of their elements, and is pruned in place.
    Whole blocks are whole words. The threshold keeps some integers and drops others.
    """
    type_ = memref_type(op.input)
    if type_.element_type not in BYTE_TYPES or op.input is not out or not is_dense(type_):
        return False
    low, high = limits_of(type_.element_type)
    words = op.size % dsp.WORD_BYTES == 0 and type_.get_shape()[3] >= dsp.WORD_BYTES
    return words and low < op.bound <= high


@dataclass(frozen=True)
class Words:
    """Four bytes at a time, in place.

    With u the bytes as numbers from 0 on, and v their lower seven bits, a byte is at least a bound
    of at most 128 if v + (128 - bound) or u has the highest bit, and at least a greater bound if
    v + (256 - bound) and u have it. No sum of a byte reaches the next one.
    """

    b: LoopBuilder
    bytes: SSAValue
    shape: tuple[int, ...]
    bound: int
    signed: bool
    zeros: int

    @staticmethod
    def of(b: LoopBuilder, op: PruneZeroBlocksOp) -> Words:
        """The words of a layer for which `in_words` holds."""
        type_ = memref_type(op.input)
        low, _ = limits_of(type_.element_type)
        zeros = word(op.zero % 256)
        return Words(b, b.flat(op.input), type_.get_shape(), int(op.bound) - low, low < 0, zeros)

    def below(self, block: Block) -> SSAValue:
        """Whether no byte of the words is at least the bound."""
        b = self.b

        def row(y: Index, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for index, mask in self.row(block, y):
                large = self.large(b.insert(dsp.LoadWordOp(self.bytes, index), "x").result)
                if mask != ALL:
                    large = self.both(large, mask)
                found = [b.insert(arith.OrIOp(each, large), "large").result for each in found]
            return found

        found = self.walk(block, row, [b.integer(0)])[0]
        top = self.both(found, word(0x80))
        return b.compare(arith.CmpiOp, top, b.integer(0), "eq")

    def large(self, x: SSAValue) -> SSAValue:
        """A word whose bytes have the highest bit where those of x are at least the bound."""
        b = self.b
        lower = self.both(x, word(0x7F))
        upper = b.insert(arith.XOrIOp(x, b.integer(-1))).result if self.signed else x
        if self.bound <= 128:
            moved = add(b, lower, b.integer(as_signed(word(128 - self.bound))))
            return b.insert(arith.OrIOp(moved, upper)).result
        moved = add(b, lower, b.integer(as_signed(word(256 - self.bound))))
        return b.insert(arith.AndIOp(moved, upper)).result

    def drop(self, block: Block) -> None:
        """Store zeros; bytes of the block beside a narrow one stay."""
        b = self.b

        def row(y: Index, _: Sequence[SSAValue]) -> tuple[()]:
            for index, mask in self.row(block, y):
                zeros = b.integer(as_signed(self.zeros & mask))
                if mask != ALL:
                    old = b.insert(dsp.LoadWordOp(self.bytes, index), "x").result
                    zeros = b.insert(arith.OrIOp(self.both(old, ALL - mask), zeros)).result
                b.insert(dsp.StoreWordOp(zeros, self.bytes, index))
            return ()

        self.walk(block, row)

    def keep(self, block: Block) -> None:
        """Never called, as blocks stay where they are."""
        raise AssertionError(block)

    def both(self, x: SSAValue, mask: int) -> SSAValue:
        """The bits of x that are in a mask."""
        return self.b.insert(arith.AndIOp(x, self.b.integer(as_signed(mask)))).result

    def row(self, block: Block, y: Index) -> Iterator[tuple[SSAValue, int]]:
        """The words of a row of a block, each with a mask of the bytes that are in the block.

        The last word of a row ends with it, and may overlap the word before.
        """
        b, index = self.b, y
        for axis, place in enumerate((*block.channel, y, block.left)):
            index = place if axis == 0 else b.add(b.mul(index, self.shape[axis]), place)
        for offset in range(0, block.columns, dsp.WORD_BYTES):
            last = min(offset, block.columns - dsp.WORD_BYTES)
            mask = ALL if last >= 0 else ALL << -8 * last & ALL
            yield b.value(b.add(index, last)), mask

    def walk(
        self,
        block: Block,
        row: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
        carried: Sequence[SSAValue] = (),
    ) -> Sequence[SSAValue]:
        """The rows of a block; those of small blocks are straight code."""
        if block.rows * block.columns > 4 * dsp.WORD_BYTES**2:
            end = self.b.add(block.top, block.rows)
            return self.b.loop(block.top, end, row, carried, hint="y")
        for y in range(block.rows):
            carried = row(self.b.add(block.top, y), carried)
        return carried


def word(byte: int) -> int:
    """A word of four equal bytes."""
    return byte * 0x01010101


def as_signed(bits: int) -> int:
    """The i32 with these bits."""
    return bits - (1 << 32) if bits >> 31 else bits
