"""Rounds two vectors of floats, and stores them as up to eight bytes, wherever they lie.

    %a = mve.add_scalar %first, %rounder : vector<4xf32>, f32
    %b = mve.add_scalar %second, %rounder : vector<4xf32>, f32
    %q = mve.low_halves %a, %b : vector<4xf32> -> vector<8xi16>
    mve.scatter %q, %ofm[%at] at %targets reach 405 saturated : memref<2048xi8, #npu.sram>

`npu_plans/kernels/near_halves.py` says when an addition rounds. Other floats become words first:

    %a = mve.round %first : vector<4xf32> -> vector<4xi32>
    %b = mve.round %second : vector<4xf32> -> vector<4xi32>
    %q = mve.narrow %a, %b : vector<4xi32> -> vector<8xi16>
    %p = mve.add_saturated %q, %point : vector<8xi16>, i32
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.quantization import limits_of
from npu_passes.support.integers import constant_table, element_of
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.near_halves import near_halves

NEAR = 1 << 8
"""Distances of bytes that one instruction stores are below this."""


@dataclass(frozen=True)
class Memory:
    """A part of a map: a buffer of one axis, and the place there of its first element."""

    buffer: SSAValue
    start: Index


@dataclass(frozen=True)
class Ends:
    """What is added to rounded numbers, and the smallest and the largest byte that they become.

    `largest`: no number is farther from zero before it is rounded; infinite if that is not known.
    """

    point: int
    bounds: tuple[int, int]
    largest: float = inf


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
        self.near = near_halves(ends.largest, ends.point)
        self.known: dict[tuple[mve.Vector, tuple[int, ...]], SSAValue] = {}

    def vector(self, what: str, values: Sequence[int], type_: mve.Vector = mve.I16X8) -> SSAValue:
        """A vector of known integers with or without signs, loaded in front of all loops."""
        key = type_, tuple(values)
        if key not in self.known:
            load = mve.LoadOp(self.table(what, values, type_), self.b.value(0), type_)
            self.known[key] = self.b.hoist(load, what)
        return self.known[key]

    def table(self, what: str, values: Sequence[int], type_: mve.Vector) -> SSAValue:
        """The table of the integers of a vector."""
        kinds = (np.uint16, np.int16) if type_ == mve.I16X8 else (np.uint8, np.int8)
        numbers = np.array([value % (1 << 8 * kinds[0]().itemsize) for value in values])
        return constant_table(self.b, self.op, what, numbers.astype(kinds[0]).view(kinds[1]))

    def store(
        self,
        fours: Sequence[SSAValue],
        place: Index,
        targets: Sequence[int],
        lanes: int = mve.ALL_LANES,
        step: int = 1,
        memory: Memory | None = None,
    ) -> None:
        """Round one or two vectors, and store them by turns at distances from a place.

        The distances are multiples of `step`. The place is one of the buffer, or of `memory`.
        `lanes` is a mask.
        """
        b = self.b
        reach = max(step for lane, step in enumerate(targets) if lanes >> lane & 1) + 1
        op = mve.ScatterOp(
            self.halves(fours[0], fours[-1]),
            self.memory if memory is None else memory.buffer,
            b.value(place if memory is None else b.add(place, memory.start)),
            self.vector("targets", targets),
            reach,
            lanes,
            saturated=True,
            step=step,
        )
        b.insert(op)

    def store_sixteen(
        self, halves: Sequence[SSAValue], place: Index, targets: Sequence[Sequence[int]]
    ) -> None:
        """Store two vectors of rounded halves, whose distances from a place are below `NEAR`."""
        op = mve.ScatterBytesOp(
            self.sixteen(halves),
            self.memory,
            self.b.value(place),
            self.vector("targets", [each for pair in zip(*targets) for each in pair], mve.I8X16),
            max(max(each) for each in targets) + 1,
        )
        self.b.insert(op)

    def sixteen(self, halves: Sequence[SSAValue]) -> SSAValue:
        """Two vectors of rounded halves as bytes, which take turns."""
        b, unsigned = self.b, element_of(self.memory) != i8
        return b.insert(mve.NarrowBytesOp(*halves, unsigned=unsigned), "q").result

    def halves(self, even: SSAValue, odd: SSAValue) -> SSAValue:
        """Floats by turns, rounded, plus the point, within bounds narrower than those of a byte."""
        both = {each: self.rounded(each) for each in dict.fromkeys((even, odd))}
        return self.within(self.by_turns(both[even], both[odd]))

    def rounded(self, floats: SSAValue) -> SSAValue:
        """Rounded floats: words, or floats whose low halves are these."""
        b = self.b
        if self.near is None:
            return b.insert(mve.RoundOp(floats)).result
        return b.insert(mve.AddScalarOp(floats, b.real(float(self.near.addend))), "near").result

    def by_turns(self, even: SSAValue, odd: SSAValue) -> SSAValue:
        """Two vectors of rounded floats as halves, which take turns."""
        op = mve.NarrowOp(even, odd) if self.near is None else mve.LowHalvesOp(even, odd)
        return self.b.insert(op, "q").result

    def within(self, found: SSAValue) -> SSAValue:
        """Rounded halves plus the point, within bounds narrower than those of a byte."""
        b, point = self.b, self.ends.point if self.near is None else self.near.point
        if point:
            found = b.insert(mve.AddSaturatedOp(found, b.integer(point)), "q").result
        limits = limits_of(element_of(self.memory))
        for kind, bound, widest in zip((mve.MaxOp, mve.MinOp), self.ends.bounds, limits):
            if bound != widest:
                limit = self.splat(bound, mve.I16X8)
                found = b.insert(kind(found, limit), "q").result
        return found
