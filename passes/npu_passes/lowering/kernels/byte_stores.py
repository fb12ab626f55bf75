"""Stores two vectors of rounded words as up to eight bytes, wherever they lie.

%q = mve.narrow %first, %second : vector<4xi32> -> vector<8xi16>
%p = mve.add_saturated %q, %point : vector<8xi16>, i32
mve.scatter %p, %ofm[%at] at %targets reach 405 saturated : memref<2048xi8, #npu.sram>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.quantization import limits_of
from npu_passes.support.integers import constant_table, element_of
from npu_passes.support.loop_builder import Index, LoopBuilder


@dataclass(frozen=True)
class Memory:
    """A part of a map: a buffer of one axis, and the place there of its first element."""

    buffer: SSAValue
    start: Index


@dataclass(frozen=True)
class Ends:
    """What is added to rounded numbers, and the smallest and the largest byte that they become."""

    point: int
    bounds: tuple[int, int]


class ByteStores:
    """Stores bytes in a buffer of one axis, for an op. `splat` makes a vector of one number."""

    def __init__(
        self,
        b: LoopBuilder,
        op: LayerOp,
        memory: SSAValue,
        ends: Ends,
        splat: Callable[[int, mve.Vector], SSAValue],
    ) -> None:
        self.b, self.op, self.memory, self.ends, self.splat = b, op, memory, ends, splat
        self.known: dict[tuple[mve.Vector, tuple[int, ...]], SSAValue] = {}

    def vector(self, what: str, values: Sequence[int], type_: mve.Vector = mve.I16X8) -> SSAValue:
        """A vector of known integers with or without signs, loaded in front of all loops."""
        key = type_, tuple(values)
        if key not in self.known:
            kinds = (np.uint16, np.int16) if type_ == mve.I16X8 else (np.uint8, np.int8)
            numbers = np.array([value % (1 << 8 * kinds[0]().itemsize) for value in values])
            table = constant_table(self.b, self.op, what, numbers.astype(kinds[0]).view(kinds[1]))
            load = mve.LoadOp(table, self.b.value(0), type_)
            self.known[key] = self.b.hoist(load, what)
        return self.known[key]

    def store(
        self,
        fours: Sequence[SSAValue],
        place: Index,
        targets: Sequence[int],
        lanes: int = mve.ALL_LANES,
        step: int = 1,
        memory: Memory | None = None,
    ) -> None:
        """Store one or two vectors, by turns, at distances from a place; `lanes` is a mask.

        The distances are multiples of `step`. The place is one of the buffer, or of `memory`.
        """
        b = self.b
        values = b.insert(mve.NarrowOp(fours[0], fours[-1]), "q").result
        reach = max(step for lane, step in enumerate(targets) if lanes >> lane & 1) + 1
        op = mve.ScatterOp(
            self.bounded(values),
            self.memory if memory is None else memory.buffer,
            b.value(place if memory is None else b.add(place, memory.start)),
            self.vector("targets", targets),
            reach,
            lanes,
            saturated=True,
            step=step,
        )
        b.insert(op)

    def bounded(self, found: SSAValue) -> SSAValue:
        """Rounded numbers plus the point, within bounds narrower than those of an element."""
        b = self.b
        if self.ends.point:
            found = b.insert(mve.AddSaturatedOp(found, b.integer(self.ends.point)), "q").result
        limits = limits_of(element_of(self.memory))
        for kind, bound, widest in zip((mve.MaxOp, mve.MinOp), self.ends.bounds, limits):
            if bound != widest:
                limit = self.splat(bound, mve.I16X8)
                found = b.insert(kind(found, limit), "q").result
        return found
