"""Chooses how a kernel on vectors stores its sums, by the layout of the output.

Two pixels of four channels are scattered at once. One is stored by a plain store if its channels
lie side by side:

    %q = mve.narrow %first, %second : vector<4xi32> -> vector<8xi16>
    mve.scatter %q, %ofm[%at] at %targets reach 434 saturated : memref<2304xi8, #npu.sram>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.buffers.choose_layouts import map_steps, pixel_steps
from npu_passes.lowering.epilogue import Sum
from npu_passes.lowering.kernels.folded_outputs import FoldedOutputs
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_outputs import (
    FOUR,
    Outputs,
    Place,
    SingleOutputs,
    VectorOutputs,
)
from npu_passes.lowering.kernels.vector_sums import FusedAddition
from npu_passes.support.integers import Scaling, element_of
from npu_passes.support.loop_builder import memref_type
from npu_plans.kernels.patch_plan import FARTHEST


def outputs_of(layer: Layer) -> Outputs:
    """The outputs of a layer: vectors where its epilogue and its layout allow them."""
    epilogue, type_ = layer.epilogue, memref_type(layer.out)
    scaling = epilogue.scaling if epilogue.table is None else None
    if scaling is None or scaling.fixed or scaling.divisor is not None:
        return SingleOutputs(layer)
    if element_of(layer.out) not in BYTE_TYPES:
        return SingleOutputs(layer)
    steps = pixel_steps(type_)
    if epilogue.sum is not None:
        addition = addition_of(layer, epilogue.sum, scaling)
        if steps is None or addition is None:
            return SingleOutputs(layer)
        return PairedOutputs(layer, scaling, steps, addition)
    if steps is not None:
        kind = PairedOutputs if layer.folding is None else FoldedOutputs
        return kind(layer, scaling, steps)
    if layer.folding is not None or not can_scatter(type_):
        return SingleOutputs(layer)
    return ScatteredOutputs(layer, scaling)


def addition_of(layer: Layer, total: Sum, scaling: Scaling) -> FusedAddition | None:
    """The fused addition of a layer on vectors.

    None if the channels of its residual lie apart, or if vectors do not give the same bits.
    """
    residual = layer.residual
    if residual is None or layer.folding is not None or total.function is not None:
        return None
    steps = pixel_steps(memref_type(residual))
    if element_of(residual) not in BYTE_TYPES or steps is None:
        return None
    return FusedAddition.of(layer.b, total, scaling, element_of(residual), steps)


def can_store(type_: MemRefType[Attribute], *, folds: bool = False) -> bool:
    """Whether the sums of four channels can be stored in vectors; `folds`: into windows."""
    return pixel_steps(type_) is not None or (not folds and can_scatter(type_))


def can_scatter(type_: MemRefType[Attribute]) -> bool:
    """Whether two pixels of four channels lie within the reach of a vector of places."""
    steps = map_steps(type_)
    return steps is not None and (FOUR - 1) * steps[0] + steps[1] < FARTHEST


class PairedOutputs(VectorOutputs):
    """Stores two pixels of four neighbouring channels at once."""

    def __init__(
        self,
        layer: Layer,
        scaling: Scaling,
        steps: tuple[int, int],
        addition: FusedAddition | None = None,
    ) -> None:
        super().__init__(layer, scaling, steps, addition)
        self.scattered = ChannelOutputs(layer, self)

    def store(self, kept: Sequence[SSAValue], scales: SSAValue, place: Place, filters: int) -> None:
        """See `VectorOutputs`."""
        near = self.steps[0] + FOUR - 1 < FARTHEST
        if len(kept) == 2 and filters == FOUR and near:
            self.scatter(kept, scales, place, filters)
        else:
            super().store(kept, scales, place, filters)

    def scatter(
        self, kept: Sequence[SSAValue], scales: SSAValue, place: Place, filters: int
    ) -> None:
        """Store two pixels at a time. Lanes without a filter are not stored."""
        pixel = self.steps[0]
        lanes, mask = [lane * self.apart for lane in range(FOUR)], (1 << 2 * filters) - 1
        for first in range(0, len(kept), 2):
            at = self.moved(place, pixels=first)
            fours = [
                self.summed(sums, scales, self.moved(at, pixels=number), None)
                for number, sums in enumerate(kept[first : first + 2])
            ]
            ends = (0, pixel * (len(fours) - 1))
            targets = [lane + end for lane in lanes for end in ends]
            self.scattered.store(fours, at.own, targets, mask)


class ScatteredOutputs(PairedOutputs):
    """Stores two pixels of four channels at once, wherever these lie."""

    def __init__(self, layer: Layer, scaling: Scaling) -> None:
        steps = map_steps(memref_type(layer.out))
        assert steps is not None
        super().__init__(layer, scaling, steps[1:])
        self.apart = steps[0]

    def store(self, kept: Sequence[SSAValue], scales: SSAValue, place: Place, filters: int) -> None:
        """See `VectorOutputs`."""
        self.scatter(kept, scales, place, filters)
