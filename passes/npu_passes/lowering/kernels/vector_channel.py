"""What kernels share that compute one filter at a time on a vector unit: its outputs.

    %s = mve.join %a, %b, %c, %d : vector<4xi32>
    ...
    %q = mve.narrow %first, %second : vector<4xi32> -> vector<8xi16>
    mve.scatter %q, %ofm[%at] at %targets reach 405 saturated : memref<2048xi8, #npu.sram>

All lanes have one bias and one scale. Eight outputs are stored at once, wherever they lie. The
number of a filter is that of its channel in the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu.quantization import limits_of
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type


@dataclass(frozen=True)
class Memory:
    """A channel of a map: a buffer of one axis, and the place there of its first element."""

    buffer: SSAValue
    start: Index


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


class ChannelOutputs:
    """Requantises and stores the outputs of one channel of the output."""

    def __init__(self, layer: Layer, outputs: VectorOutputs) -> None:
        self.layer, self.outputs, self.b = layer, outputs, layer.b
        self.known: dict[tuple[mve.Vector, tuple[int, ...]], SSAValue] = {}

    @property
    def steps(self) -> tuple[int, int]:
        """The distance of pixels in the output, and that of rows."""
        return self.outputs.steps

    def channel(self, number: Index) -> Index:
        """The place of the first element of a channel of the output."""
        return self.b.mul(number, self.outputs.apart)

    def memory(self, number: Index, *, opaque: bool) -> Memory:
        """A channel of the output. `opaque`: gcc knows nothing of its place."""
        count, apart = len(self.layer.bias), self.outputs.apart
        at = self.channel(number)
        return part_of(self.b, self.outputs.memory, at, count, apart, opaque=opaque)

    def vector(self, what: str, values: Sequence[int], type_: mve.Vector = mve.I16X8) -> SSAValue:
        """A vector of known integers with or without signs, loaded in front of all loops."""
        key = type_, tuple(values)
        if key not in self.known:
            kinds = (np.uint16, np.int16) if type_ == mve.I16X8 else (np.uint8, np.int8)
            numbers = np.array([value % (1 << 8 * kinds[0]().itemsize) for value in values])
            table = self.layer.table(what, numbers.astype(kinds[0]).view(kinds[1]))
            load = mve.LoadOp(table, self.b.value(0), type_)
            self.known[key] = self.b.hoist(load, what)
        return self.known[key]

    def constants(self, number: Index) -> tuple[SSAValue, SSAValue]:
        """The bias of a channel, with the zero point of its windows, and its scale."""
        (bias,) = self.layer.loaded(self.layer.folded, number, [0])
        return bias, self.scale(number)

    def scale(self, number: Index) -> SSAValue:
        """The scale of a channel."""
        b, scaling = self.b, self.outputs.scaling
        tables = scaling.tables
        return b.load(tables[0], [number], "scale") if tables else b.real(scaling.scales[0])

    def rounded(self, sums: Sequence[SSAValue], bias: SSAValue, scale: SSAValue) -> SSAValue:
        """Four sums plus the bias, times the scale, rounded."""
        b = self.b
        joined = b.insert(mve.JoinOp(*sums), "sums").result
        total = b.insert(mve.AddScalarOp(joined, bias), "sums").result
        floats = b.insert(mve.ToFloatOp(total)).result
        return b.insert(mve.RoundOp(b.insert(mve.MulScalarOp(floats, scale)).result)).result

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

        The distances are multiples of `step`. The place is one of the output, or of `memory`.
        """
        b = self.b
        values = b.insert(mve.NarrowOp(fours[0], fours[-1]), "q").result
        reach = max(step for lane, step in enumerate(targets) if lanes >> lane & 1) + 1
        op = mve.ScatterOp(
            self.bounded(values),
            self.outputs.memory if memory is None else memory.buffer,
            b.value(place if memory is None else b.add(place, memory.start)),
            self.vector("targets", targets),
            reach,
            lanes,
            saturated=True,
            step=step,
        )
        b.insert(op)

    def bounded(self, found: SSAValue) -> SSAValue:
        """Rounded products plus the zero point, within bounds narrower than those of an element."""
        b, scaling = self.b, self.outputs.scaling
        if scaling.zero_point:
            point = b.integer(scaling.zero_point)
            found = b.insert(mve.AddSaturatedOp(found, point), "q").result
        ends = limits_of(element_of(self.outputs.memory))
        for kind, bound, widest in zip((mve.MaxOp, mve.MinOp), scaling.bounds, ends):
            if bound != widest:
                limit = self.outputs.splat(bound, mve.I16X8)
                found = b.insert(kind(found, limit), "q").result
        return found
