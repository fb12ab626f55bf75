"""What kernels share that compute one filter at a time on a vector unit: its outputs.

    %s = mve.join %a, %b, %c, %d : vector<4xi32>
    ...
    %q = mve.low_halves %first, %second : vector<4xf32> -> vector<8xi16>
    mve.scatter %q, %ofm[%at] at %targets reach 405 saturated : memref<2048xi8, #npu.sram>

All lanes have one bias and one scale. Eight outputs are stored at once, wherever they lie. The
number of a filter is that of its channel in the output.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.byte_stores import ByteStores, Memory
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type


def part_of(
    b: LoopBuilder, whole: SSAValue, at: Index, count: int, apart: int, *, opaque: bool
) -> Memory:
    """The channel at a place of a map of `count` channels whose first elements lie `apart`.

    With `opaque`, gcc knows nothing of its place, so it keeps no pointers to its elements.
    """
    if not opaque:
        return Memory(whole, at)
    size = memref_type(whole).get_shape()[0] - (count - 1) * apart
    view = b.window(whole, [at], [size], [0], "channel")
    return Memory(b.insert(dsp.OpaqueOp(view), "channel").result, 0)


class ChannelOutputs(ByteStores):
    """Requantises and stores the outputs of one channel of the output."""

    def __init__(self, layer: Layer, outputs: VectorOutputs) -> None:
        super().__init__(layer.b, layer.op, outputs.memory, outputs.ends, outputs.splat)
        self.layer, self.outputs = layer, outputs

    @property
    def steps(self) -> tuple[int, int]:
        """The distance of pixels in the output, and that of rows."""
        return self.outputs.steps

    def channel(self, number: Index) -> Index:
        """The place of the first element of a channel of the output."""
        return self.b.mul(number, self.outputs.apart)

    def channel_memory(self, number: Index, *, opaque: bool) -> Memory:
        """A channel of the output. `opaque`: gcc knows nothing of its place."""
        count, apart = len(self.layer.bias), self.outputs.apart
        at = self.channel(number)
        return part_of(self.b, self.memory, at, count, apart, opaque=opaque)

    def constants(self, number: Index) -> tuple[SSAValue, SSAValue]:
        """The bias of a channel, with the zero point of its windows, and its scale."""
        (bias,) = self.layer.loaded(self.layer.folded, number, [0])
        return bias, self.scale(number)

    def scale(self, number: Index) -> SSAValue:
        """The scale of a channel."""
        b, scaling = self.b, self.outputs.scaling
        tables = scaling.tables
        return b.load(tables[0], [number], "scale") if tables else b.real(scaling.scales[0])

    def products(self, sums: Sequence[SSAValue], bias: SSAValue, scale: SSAValue) -> SSAValue:
        """Four sums plus the bias, times the scale."""
        return self.scaled(self.joined(sums), bias, scale)

    def joined(self, sums: Sequence[SSAValue]) -> SSAValue:
        """Four sums as a vector."""
        return self.b.insert(mve.JoinOp(*sums), "sums").result

    def scaled(self, sums: SSAValue, bias: SSAValue, scale: SSAValue) -> SSAValue:
        """A vector of sums plus the bias, times the scale."""
        b = self.b
        total = b.insert(mve.AddScalarOp(sums, bias), "sums").result
        floats = b.insert(mve.ToFloatOp(total)).result
        return b.insert(mve.MulScalarOp(floats, scale), "product").result
