"""What kernels share that gather patches of 16 bytes of one channel from the map on a vector unit.

    %even = mve.gather %ifm[%at] at %places reach 405 : memref<2048xi8, #npu.sram>
    %odd = mve.gather %ifm[%at] at %places_1 reach 389 : memref<2048xi8, #npu.sram>
    %halves = mve.push_bytes %odd, %even : vector<8xi16>
    %patch = mve.as_bytes %halves : vector<8xi16> -> vector<16xi8>

Bytes outside of the map are gathered from its nearest elements. A minimum and a maximum make them
the zero point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.quantization import limits_of
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.byte_stores import Memory
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs, part_of
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.gathers import Side, gathered, limits


class Gathers:
    """Gathers patches of a map; places are multiples of `step`."""

    def __init__(
        self, layer: Layer, map: SSAValue, grid: Grid, outputs: ChannelOutputs, step: int = 1
    ) -> None:
        self.layer, self.grid, self.b, self.step = layer, grid, layer.b, step
        self.signed = SignedBytes(layer, map)
        self.outputs, self.map = outputs, layer.vector(map)

    def channel(self, number: Index, *, opaque: bool) -> Memory:
        """A channel of the map. `opaque`: gcc knows nothing of its place."""
        at = self.b.mul(number, self.grid.apart)
        return part_of(self.b, self.map, at, self.grid.channels, self.grid.apart, opaque=opaque)

    def gather(
        self, channel: Memory, rows: tuple[Side, Index], columns: tuple[Side, Index]
    ) -> SSAValue:
        """The bytes of a patch of a channel, column by column.

        Its rows and its columns are given with the first ones that are gathered.
        """
        b, grid, halves = self.b, self.grid, list[SSAValue]()
        at = b.add(b.mul(rows[1], grid.line), b.mul(columns[1], grid.pixel))
        at = b.add(at, channel.start)
        for steps in gathered(rows[0], columns[0], grid.pixel, grid.line):
            places = self.outputs.vector("places", steps)
            gather = mve.GatherOp(
                channel.buffer, b.value(at), places, max(steps) + 1, step=self.step
            )
            halves.append(b.insert(gather, "bytes").result)
        even, odd = halves
        joined = b.insert(mve.PushBytesOp(odd, even), "patch").result
        return self.signed.bytes(b.insert(mve.AsBytesOp(joined), "patch").result)

    def padded(self, patch: SSAValue, pads: Sequence[bool]) -> SSAValue:
        """A patch with the zero point in some bytes."""
        if not any(pads):
            return patch
        point = self.layer.zero_point
        low, high = limits_of(i8)
        for kind, limit, widest in zip(
            (mve.MinOp, mve.MaxOp), limits(pads, point), (high, low), strict=True
        ):
            if any(each != widest for each in limit):
                vector = self.outputs.vector("limits", limit, mve.I8X16)
                patch = self.b.insert(kind(patch, vector), "patch").result
        return patch


def side_of(b: LoopBuilder, axis: Axis, position: Index, size: int) -> tuple[Side, Index]:
    """The rows or columns of the first patch of an output, and the first one that is gathered.

    If the position is not known, all of them are on the map.
    """
    side = Side.of(axis, axis.start(position) if isinstance(position, int) else None, size)
    return side, b.add(b.mul(position, axis.stride), side.first - axis.before)


def each_step(
    b: LoopBuilder,
    outputs: int,
    step: int,
    inside: tuple[int, int],
    body: Callable[[Index, int], None],
    hint: str,
) -> None:
    """Visit some outputs in a row, `step` at a time; `body` gets the first one, and how many.

    It gets a number unless the step is one of those `inside`, which are a loop.
    """
    first, behind = (step * number for number in inside)

    def some(position: Index, _: Sequence[SSAValue]) -> tuple[()]:
        body(position, step)
        return ()

    for position in range(0, first, step):
        body(position, step)
    b.loop(first, behind, some, step=step, hint=hint)
    for position in range(behind, outputs, step):
        body(position, min(step, outputs - position))
