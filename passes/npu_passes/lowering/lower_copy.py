"""Lower copies of rows of maps to loops over words.

    "memref.copy"(%from, %to)         // views of 64 bytes without gaps
->
    scf.for %i = %c0 to %c64 step %c16 {
      %0 = dsp.load_word %bytes[%i]   // and three more
      dsp.store_word %0, %out[%i]     // and three more
    }

Axes that lie side by side in both maps are one run, which is copied by words, its end by elements.
Words are loaded and stored at any address. On a core without instructions for that, integers are
copied one by one. Four elements of 32 bits take a turn of the loop too, and more float32 if the
core has registers for them. A run may overwrite its own source at a lower address: what is stored
behind a turn of the loop has been loaded before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layers.pairwise import NUMBERS
from npu_dialect.npu.maps import element_bytes
from npu_dialect.npu.quantization import QUANTISED
from npu_passes.support.common import for_each
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type

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


def lower_copy(b: LoopBuilder, op: memref.CopyOp, *, words: bool, registers: int) -> None:
    """Build the loops of a copy; `words`: the core loads and stores words at any address.

    `registers`: the registers for floats that it has.
    """
    if 0 in memref_type(op.source).get_shape():
        return
    *outer, last = runs_of(op.source, op.destination) or [Run(1, 1, 1)]
    if (last.source, last.target) != (1, 1):
        outer, last = [*outer, last], Run(1, 1, 1)
    ends = b.span(op.source), b.span(op.destination)

    def run(at: tuple[Index, ...]) -> None:
        starts: list[Index] = [0, 0]
        for index, axis in zip(at, outer, strict=True):
            starts = [
                b.add(start, b.mul(index, step))
                for start, step in zip(starts, (axis.source, axis.target), strict=True)
            ]
        copy_run(b, ends, starts, last.extent, words=words, registers=registers)

    for_each(b, [axis.extent for axis in outer], run)


def copy_run(
    b: LoopBuilder,
    ends: tuple[SSAValue, SSAValue],
    starts: Sequence[Index],
    extent: int,
    *,
    words: bool,
    registers: int,
) -> None:
    """Copy neighbouring elements of one vector to another, from two elements on."""
    element = memref_type(ends[0]).element_type
    words = words and element in QUANTISED
    size = element_bytes(memref_type(ends[0]))
    each = dsp.WORD_BYTES // size if words else 1
    count = WORDS if words or size >= dsp.WORD_BYTES else 1
    if element == f32:
        count = max(count, registers // 2)
    whole = extent // (count * each) * count * each
    (source, target), (first, start) = ends, starts

    def some(at: Index, count: int) -> None:
        places = [b.add(at, each * k) for k in range(count)]
        loaded = [load(b, source, b.add(first, place), words=words) for place in places]
        for value, place in zip(loaded, places, strict=True):
            save(b, value, target, b.add(start, place), words=words)

    def turn(at: Index, _: Sequence[SSAValue]) -> tuple[()]:
        some(at, count)
        return ()

    b.loop(0, whole, turn, step=count * each)
    some(whole, (extent - whole) // each)
    for place in range(extent - (extent - whole) % each, extent):
        b.store(b.load(source, [b.add(first, place)]), target, [b.add(start, place)])


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
