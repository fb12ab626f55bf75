"""Folds the outputs of two neighbouring pixels into two windows of a max pool at once.

Where windows of 3x3 lie two pixels apart, a pair of pixels raises the maxima of two windows: the
first window holds both pixels, the second one holds the second pixel. The windows take turns in
the lanes:

    lanes of %first     a0 b0 a1 b1 a2 b2 a3 b3     pixels a and b, filters 0 to 3
    lanes of %second    b0 b0 b1 b1 b2 b2 b3 b3
    their maxima        w0 v0 w1 v1 w2 v2 w3 v3     windows w and v

So a block of four filters is one vector. Two of them become sixteen bytes, which are compared with
those in memory and stored, each with one instruction:

    %q = mve.narrow_bytes %maxima, %maxima_1 : vector<8xi16> -> vector<16xi8>
    %best = mve.gather_bytes %ofm[%at] at %turns reach 24 : memref<3600xi8, #npu.sram>
    %more = mve.max %best, %q : vector<16xi8>
    mve.scatter_bytes %more, %ofm[%at] at %turns reach 24 : memref<3600xi8, #npu.sram>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_passes.lowering.kernels.byte_stores import NEAR, ByteStores
from npu_passes.lowering.pool_window import held_by_window
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.gathers import EIGHT, FOUR
from npu_plans.kernels.packing import PAIR


@dataclass(frozen=True)
class WindowPair:
    """Two neighbouring windows of a pool, from `window` on, and what raises their maxima.

    `held`: for each window, which of the two pixels it holds. `pixel`: bytes from a window's
    maxima to those of the next one. `halves`: the first filter and the maxima of each block of four
    filters that is not a part of `bytes`, which have eight filters each.
    """

    b: LoopBuilder
    stores: ByteStores
    window: Index
    held: tuple[Sequence[int], Sequence[int]]
    pixel: int
    halves: list[tuple[Index, SSAValue]] = field(default_factory=list[tuple[Index, SSAValue]])
    bytes: list[tuple[Index, SSAValue]] = field(default_factory=list[tuple[Index, SSAValue]])

    @staticmethod
    def of(
        b: LoopBuilder,
        stores: ByteStores,
        pixel: int,
        known: tuple[Index, tuple[range, ...]] | None,
    ) -> WindowPair | None:
        """The windows of two pixels as `windows_around` finds them; None if they are not two."""
        if known is None or len(known[1]) != PAIR:
            return None
        base, held = known
        found = held_by_window(held)
        if len(found) != PAIR or not all(found.values()):
            return None
        one, other = found.values()
        return WindowPair(b, stores, b.add(base, min(found)), (one, other), pixel)

    def take(self, fours: Sequence[SSAValue], filter: Index) -> None:
        """Requantise the sums, as floats, of four filters of both pixels."""
        rounded = [self.stores.rounded(each) for each in fours]
        one, other = ([rounded[pixel] for pixel in pixels] for pixels in self.held)
        found, *more = [
            self.stores.by_turns(one[min(number, len(one) - 1)], other[min(number, len(other) - 1)])
            for number in range(max(len(one), len(other)))
        ]
        for each in more:
            found = self.b.insert(mve.MaxOp(found, each), "maxima").result
        found = self.stores.within(found)
        before = self.halves[-1] if self.halves else None
        if before is None or not self.is_near or not is_behind(filter, before[0]):
            self.halves.append((filter, found))
            return
        self.halves.pop()
        self.bytes.append((before[0], self.stores.sixteen((before[1], found))))

    @property
    def raises(self) -> bool:
        """Whether there are outputs that raise the maxima."""
        return bool(self.halves or self.bytes)

    @property
    def is_near(self) -> bool:
        """Whether sixteen bytes are compared at once: those without signs are not."""
        return element_of(self.stores.memory) == i8 and self.pixel + EIGHT <= NEAR

    def put(self, start: Index) -> None:
        """Raise the maxima; those of window 0 and filter 0 lie at `start`."""
        b, memory = self.b, self.stores.memory
        start = b.add(start, b.mul(self.window, self.pixel))
        turns = [self.pixel * window + filter for filter in range(FOUR) for window in range(PAIR)]
        for filter, value in self.bytes:
            at = b.value(b.add(start, filter))
            places = [turn + block for turn in turns for block in (0, FOUR)]
            vector = self.stores.vector("targets", places, mve.I8X16)
            where = memory, at, vector, max(places) + 1
            best = b.insert(mve.GatherBytesOp(*where), "best").result
            best = b.insert(mve.MaxOp(best, value), "best").result
            b.insert(mve.ScatterBytesOp(best, *where))
        for filter, value in self.halves:
            raise_halves(self.stores, value, b.value(b.add(start, filter)), turns)


def raise_halves(
    stores: ByteStores, value: SSAValue, place: SSAValue, targets: Sequence[int]
) -> None:
    """Raise eight bytes at distances from a place to the values of a vector of halves."""
    b, memory = stores.b, stores.memory
    where = memory, place, stores.vector("targets", targets), max(targets) + 1
    load = mve.GatherOp(*where, signed=element_of(memory) == i8)
    best = b.insert(load, "best").result
    best = b.insert(mve.MaxOp(best, value), "best").result
    b.insert(mve.ScatterOp(best, *where, saturated=True))


def is_behind(filter: Index, before: Index) -> bool:
    """Whether a block of four filters is behind another one, and the places of both are known."""
    return isinstance(filter, int) and isinstance(before, int) and filter == before + FOUR
