"""Lower copies of rows of maps to loops over words.

    "memref.copy"(%from, %to)         // views of 128 floats without gaps
->
    scf.for %i = %c0 to %c128 step %c16 {
      dsp.copy_words 16 from %numbers[%i] to %out[%i]
    }

Axes that lie side by side in both maps are one run, which is copied by words, its end by elements.
A run may overwrite its own source at a lower address: what is stored behind a turn of the loop has
been loaded before. There are four ways, of which each run takes the first one that it can:

- Blocks of 16 words, on a core with dual multiply-accumulates, where both runs begin at multiples
  of 4 bytes (`is_aligned`): elements of 32 bits, and others by their places in the arena.
- Vectors of 16 bytes, on a core that has them, at any address.
- Four words in a turn of the loop, which such cores load and store at any address.
- Elements one by one. Four of 32 bits take a turn of the loop, and more float32 if the core has
  registers for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.mve.types import I8X16, VECTOR_BYTES
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layers.pairwise import NUMBERS
from npu_dialect.npu.maps import element_bytes
from npu_dialect.npu.quantization import QUANTISED
from npu_passes.analysis.alignment import is_aligned
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type

LEAST = 3
"""The fewest words that are worth a block, whose two addresses cost an instruction each."""
WORDS = 4
"""The words that one turn of a loop copies: as many as a core has registers for. It copies half as
many float32 as there are registers for floats, if that is more."""


@dataclass(frozen=True)
class Run:
    """An axis of a copy: its extent, and the elements between neighbours in source and target."""

    extent: int
    source: int
    target: int


def moves_rows(op: memref.CopyOp) -> bool:
    """Whether a copy is one of elements on the chip between views of maps, or to or from one."""
    ends = (op.source, op.destination)
    types = [memref_type(end) for end in ends]
    return (
        any(isinstance(end.owner, memref.SubviewOp) for end in ends)
        and types[0].element_type == types[1].element_type
        and types[0].element_type in NUMBERS
        and types[0].get_shape() == types[1].get_shape()
        and all(-1 not in type_.get_shape() for type_ in types)
        and all(None not in (type_.get_strides() or (None,)) for type_ in types)
        and not any(type_.memory_space == DramSpace() for type_ in types)
    )


def runs_of(source: SSAValue, target: SSAValue) -> list[Run]:
    """The axes of a copy in the order of the source's memory; neighbours without gaps are one."""
    types = [memref_type(source), memref_type(target)]
    steps = [[step or 0 for step in type_.get_strides() or ()] for type_ in types]
    axes = [Run(*each) for each in zip(types[0].get_shape(), *steps, strict=True) if each[0] != 1]
    found: list[Run] = []
    for inner in sorted(axes, key=lambda axis: -axis.source):
        outer = found[-1] if found else None
        reach = inner.extent * inner.source, inner.extent * inner.target
        if outer is not None and (outer.source, outer.target) == reach:
            found[-1] = Run(outer.extent * inner.extent, inner.source, inner.target)
        else:
            found.append(inner)
    return found


def lower_copy(b: LoopBuilder, op: memref.CopyOp, options: LoopOptions) -> None:
    """Build the loops of a copy."""
    if 0 in memref_type(op.source).get_shape():
        return
    *outer, last = runs_of(op.source, op.destination) or [Run(1, 1, 1)]
    if (last.source, last.target) != (1, 1):
        outer, last = [*outer, last], Run(1, 1, 1)
    ends = b.span(op.source), b.span(op.destination)
    copier = Copier(b, *ends, options, blocks=begin_at_words(op, outer))

    def run(at: tuple[Index, ...]) -> None:
        starts: list[Index] = [0, 0]
        for index, axis in zip(at, outer, strict=True):
            starts = [
                b.add(start, b.mul(index, step))
                for start, step in zip(starts, (axis.source, axis.target), strict=True)
            ]
        copier.run(starts, last.extent)

    for_each(b, [axis.extent for axis in outer], run)


def begin_at_words(op: memref.CopyOp, outer: Sequence[Run]) -> bool:
    """Whether all runs of a copy begin at multiples of 4 bytes, in both maps."""
    size = element_bytes(memref_type(op.source))
    steps = (step for axis in outer for step in (axis.source, axis.target))
    return all(step * size % dsp.WORD_BYTES == 0 for step in steps) and all(
        is_aligned(end, dsp.WORD_BYTES) for end in (op.source, op.destination)
    )


@dataclass(frozen=True)
class Copier:
    """Copies runs of one vector to another; `blocks`: all of them begin at multiples of 4 bytes."""

    b: LoopBuilder
    source: SSAValue
    target: SSAValue
    options: LoopOptions
    blocks: bool

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return element_bytes(memref_type(self.source))

    def run(self, starts: Sequence[Index], extent: int) -> None:
        """Copy neighbouring elements, from an element of each vector on."""
        element = memref_type(self.source).element_type
        dual = "dsp" in self.options.features
        words = dual and element in QUANTISED
        if dual and self.blocks and extent * self.size >= LEAST * dsp.WORD_BYTES:
            done = self.by_blocks(starts, extent)
        elif "mve" in self.options.features and element == i8 and extent >= VECTOR_BYTES:
            done = self.by_vectors(starts, extent)
        else:
            done = self.by_turns(starts, extent, words=words)
        each = dsp.WORD_BYTES // self.size if words else 1
        self.move(starts, done, (extent - done) // each, words=words)
        for place in range(extent - (extent - done) % each, extent):
            self.move(starts, place, 1, words=False)

    def by_blocks(self, starts: Sequence[Index], extent: int) -> int:
        """Copy blocks of words, the last one shorter; returns how many elements are copied."""
        each = dsp.WORD_BYTES // self.size
        block = dsp.MOST_COPIED * each
        whole, rest = extent // block * block, extent % block // each

        def copy(at: Index, words: int) -> None:
            first, start = (self.b.value(self.b.add(start, at)) for start in starts)
            self.b.insert(dsp.CopyWordsOp(words, self.source, first, self.target, start))

        self.b.loop(0, whole, lambda at, _: copy(at, dsp.MOST_COPIED) or (), step=block)
        if rest < LEAST:
            return whole
        copy(whole, rest)
        return whole + rest * each

    def by_vectors(self, starts: Sequence[Index], extent: int) -> int:
        """Copy vectors of bytes; returns how many elements are copied."""
        whole = extent // VECTOR_BYTES * VECTOR_BYTES

        def turn(at: Index, _: Sequence[SSAValue]) -> tuple[()]:
            first, start = (self.b.value(self.b.add(start, at)) for start in starts)
            loaded = self.b.insert(mve.LoadOp(self.source, first, I8X16), "x").result
            self.b.insert(mve.StoreOp(loaded, self.target, start))
            return ()

        self.b.loop(0, whole, turn, step=VECTOR_BYTES)
        return whole

    def by_turns(self, starts: Sequence[Index], extent: int, *, words: bool) -> int:
        """Copy some words or elements in each turn of a loop; returns how many elements."""
        each = dsp.WORD_BYTES // self.size if words else 1
        count = WORDS if words or self.size >= dsp.WORD_BYTES else 1
        if memref_type(self.source).element_type == f32:
            count = max(count, self.options.registers // 2)
        whole = extent // (count * each) * count * each

        def turn(at: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.move(starts, at, count, words=words)
            return ()

        self.b.loop(0, whole, turn, step=count * each)
        return whole

    def move(self, starts: Sequence[Index], at: Index, count: int, *, words: bool) -> None:
        """Load some words or elements, then store them."""
        b, each = self.b, dsp.WORD_BYTES // self.size if words else 1
        first, start = starts
        places = [b.add(at, each * k) for k in range(count)]
        loaded = [load(b, self.source, b.add(first, place), words=words) for place in places]
        for value, place in zip(loaded, places, strict=True):
            save(b, value, self.target, b.add(start, place), words=words)


def load(b: LoopBuilder, source: SSAValue, at: Index, *, words: bool) -> SSAValue:
    """Load a word, or an element."""
    if not words:
        return b.load(source, [at], "x")
    return b.insert(dsp.LoadWordOp(source, b.value(at)), "x").result


def save(b: LoopBuilder, value: SSAValue, target: SSAValue, at: Index, *, words: bool) -> None:
    """Store a word, or an element."""
    if words:
        b.insert(dsp.StoreWordOp(value, target, b.value(at)))
    else:
        b.store(value, target, [at])
