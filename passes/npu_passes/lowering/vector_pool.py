"""Lower max pools of bytes with channels last to loops over vectors of sixteen channels.

    scf.for %c = %c0 to %c32 step %c16 {
      %x = mve.load %ifm[%at] : memref<2048xi8, #npu.sram> -> vector<16xi8>
      %y = mve.load %ifm[%next] : memref<2048xi8, #npu.sram> -> vector<16xi8>
      %best = mve.max %x, %y : vector<16xi8>           // for each tap of the window
      mve.store %best, %ofm[%to] : vector<16xi8>, memref<512xi8, #npu.sram>
    }

Windows that the border cuts have loops over their taps (`vector_pooling.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.maps import shape_of
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.lowering.vector_pooling import Output, VectorPooling
from npu_passes.support.common import LoopOptions, tap_range
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type

SIXTEEN = 16
"""Channels in a vector."""
FEWEST = 4
"""With fewer channels the general loops are as fast."""


class VectorPool(VectorPooling):
    """Builds the loops of a max pool."""

    def __init__(
        self, b: LoopBuilder, map: SSAValue, out: SSAValue, pool: PoolAttr, options: LoopOptions
    ) -> None:
        super().__init__(b, map, out, pool)
        self.most = options.unroll

    @staticmethod
    def fits(map: SSAValue, out: SSAValue, pool: PoolAttr, options: LoopOptions) -> bool:
        """Whether a pool finds maxima of signed bytes whose channels lie side by side."""
        last = all(pixel_steps(memref_type(each)) is not None for each in (map, out))
        signed = element_of(map) == element_of(out) == i8
        vectors = "mve" in options.features and pool.is_max
        return vectors and signed and last and shape_of(map)[1] >= FEWEST

    def whole(self, at: Output) -> None:
        """Compute the output of a window that lies on the map."""
        taps = [(ky, kx) for ky in range(self.rows.kernel) for kx in range(self.columns.kernel)]
        if len(taps) > self.most:
            self.cut(at)
            return

        def some(channel: Index, lanes: int | None) -> None:
            best: SSAValue | None = None
            for tap in taps:
                value = self.load(self.tap(at, tap, channel), lanes, mve.I8X16)
                best = value if best is None else self.greater(best, value)
            assert best is not None
            self.store(best, at, channel, lanes)

        self.each(SIXTEEN, some)

    def cut(self, at: Output) -> None:
        """Compute an output from the taps of its window that are on the map."""
        b = self.b
        ranges = tap_range(b, self.rows, at.y), tap_range(b, self.columns, at.x)

        def some(channel: Index, lanes: int | None) -> None:
            def row(ky: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                def tap(kx: Index, best: Sequence[SSAValue]) -> list[SSAValue]:
                    value = self.load(self.tap(at, (ky, kx), channel), lanes, mve.I8X16)
                    return [self.greater(best[0], value)]

                return b.loop(*ranges[1], tap, best, hint="kx", carry="best")

            least = b.insert(mve.SplatOp(b.integer(-128), mve.I8X16), "least").result
            (best,) = b.loop(*ranges[0], row, [least], hint="ky", carry="best")
            self.store(best, at, channel, lanes)

        self.each(SIXTEEN, some)

    def greater(self, best: SSAValue, value: SSAValue) -> SSAValue:
        """The greater bytes of two vectors."""
        return self.b.insert(mve.MaxOp(best, value), "best").result

    def store(self, best: SSAValue, at: Output, channel: Index, lanes: int | None) -> None:
        """Store some channels of an output."""
        place = self.target(at, channel)
        self.b.insert(mve.StoreOp(best, self.out.buffer, place, lanes))
