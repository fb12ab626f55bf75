"""The bytes of a map as signed numbers, which vectors multiply.

    %x = mve.load %ifm[%at] : memref<2048xui8, #npu.sram> -> vector<16xi8>
    %s = mve.xor %x, %signs : vector<16xi8>

A vector unit multiplies bytes with weights if both have signs. A byte without a sign becomes one
with a sign, and 128 less, if its topmost bit is flipped. So the zero point is 128 less, too.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.quantization import ui8
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.unit import FLIPPED
from npu_passes.support.integers import element_of


class SignedBytes:
    """Makes the bytes of a map signed after they are loaded; those of i8 stay as they are.

    The zero point of the layer is that of the signed bytes from here on; `point` is that of the
    bytes as they lie in the map.
    """

    def __init__(self, layer: Layer, map: SSAValue) -> None:
        self.layer, self.b, self.point = layer, layer.b, layer.zero_point
        self.flips = element_of(map) == ui8
        self.known: dict[int, SSAValue] = {}
        if self.flips:
            layer.zero_point -= FLIPPED

    def bytes(self, vector: SSAValue, first: int | None = None) -> SSAValue:
        """16 bytes as signed ones; with `first`, all behind these stay zero."""
        if not self.flips:
            return vector
        return self.b.insert(mve.XorOp(vector, self.signs(first)), "x").result

    def halves(self, vector: SSAValue) -> SSAValue:
        """Eight bytes that were extended to halves, as signed numbers."""
        if not self.flips:
            return vector
        return self.b.insert(mve.AddScalarOp(vector, self.b.integer(-FLIPPED)), "x").result

    def signs(self, first: int | None) -> SSAValue:
        """The topmost bits of all bytes, or of the first ones, in front of all loops."""
        lanes = mve.lanes_of(mve.I8X16)
        count = lanes if first is None else first
        if count not in self.known:
            op = mve.SplatOp(self.b.integer(-FLIPPED), mve.I8X16)
            if count < lanes:
                bits = np.where(np.arange(lanes) < count, -FLIPPED, 0).astype(np.int8)
                table = self.layer.table("signs", bits)
                op = mve.LoadOp(table, self.b.value(0), mve.I8X16)
            self.known[count] = self.b.hoist(op, "signs")
        return self.known[count]
