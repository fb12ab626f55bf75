"""Folds the outputs of two neighbouring pixels into two windows of a max pool at once.

Where windows of 3x3 lie two pixels apart, a pair of pixels raises the maxima of two windows: the
first window holds both pixels, the second one holds the second pixel. The windows take turns in
the lanes:

    maxima of sums      w0 w1 w2 w3     v0 v1 v2 v3     windows w and v, filters 0 to 3
    requantised         w0 v0 w1 v1 w2 v2 w3 v3

The maximum of two sums is requantised to that of two outputs, as scales are positive. So a block of
four filters is one vector. Two of them become sixteen bytes, which are compared with those in
memory and stored, each with one instruction:

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
from npu_passes.lowering.kernels.vector_runs import part
from npu_passes.lowering.pool_window import WindowsAround, held_by_window
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.gathers import EIGHT, FOUR
from npu_plans.kernels.packing import PAIR


@dataclass(frozen=True)
class WindowPair:
    """Two windows of a pool, and what raises their maxima.

    `place`: that of the first one in its row. `held`: for each window, which of the pixels it
    holds. `pixel`: bytes from the maxima of the first one to those of the other one. `halves`: the
    first filter and the maxima of each block of four filters that is not a part of `bytes`, which
    have eight filters each.
    """

    b: LoopBuilder
    stores: ByteStores
    place: Index
    held: tuple[Sequence[int], Sequence[int]]
    pixel: int
    halves: list[tuple[Index, SSAValue]] = field(default_factory=list[tuple[Index, SSAValue]])
    bytes: list[tuple[Index, SSAValue]] = field(default_factory=list[tuple[Index, SSAValue]])

    @staticmethod
    def of(
        b: LoopBuilder,
        stores: ByteStores,
        pixel: int,
        known: WindowsAround | None,
    ) -> WindowPair | None:
        """The windows of two pixels as `windows_around` finds them; None if they are not two."""
        if known is None or len(known.held) != PAIR:
            return None
        found = held_by_window(known.held)
        if len(found) != PAIR or not all(found.values()):
            return None
        one, other = found.values()
        place = b.add(known.place(b, pixel), min(found) * pixel)
        return WindowPair(b, stores, place, (one, other), pixel)

    def greatest(self, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The greatest sums of each window, of the sums of four filters of both pixels."""
        found = list[SSAValue]()
        for first, *others in self.held:
            best = sums[first]
            for other in others:
                best = self.b.insert(mve.MaxOp(best, sums[other]), "best").result
            found.append(best)
        return found

    def take(self, fours: Sequence[SSAValue], filter: Index) -> None:
        """Round the maxima of both windows, as floats, of four filters."""
        found = self.stores.halves(*fours)
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

    @property
    def turns(self) -> list[int]:
        """The distances of the maxima of four filters, by turns."""
        return [self.pixel * window + filter for filter in range(FOUR) for window in range(PAIR)]

    @property
    def places(self) -> list[int]:
        """The distances of the maxima of eight filters."""
        return [turn + block for turn in self.turns for block in (0, FOUR)]

    def targets(self) -> SSAValue | None:
        """The vector of `places`, loaded here: sums need its register before; None if unused."""
        if not self.bytes:
            return None
        b, places = self.b, self.places
        table = part(b, self.stores.table("targets", places, mve.I8X16), 0, len(places))
        return b.insert(mve.LoadOp(table, b.value(0), mve.I8X16), "targets").result

    def put(self, start: Index, targets: SSAValue | None) -> None:
        """Raise the maxima of a row of windows, which begins at `start`."""
        b, memory = self.b, self.stores.memory
        start = b.add(start, self.place)
        for filter, value in self.bytes:
            assert targets is not None
            where = memory, b.value(b.add(start, filter)), targets, max(self.places) + 1
            best = b.insert(mve.GatherBytesOp(*where), "best").result
            best = b.insert(mve.MaxOp(best, value), "best").result
            b.insert(mve.ScatterBytesOp(best, *where))
        for filter, value in self.halves:
            raise_halves(self.stores, value, b.value(b.add(start, filter)), self.turns)


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
