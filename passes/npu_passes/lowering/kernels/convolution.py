"""Choose a kernel for a layer of integers; if none fits, the layer gets the general loops."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, i32
from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_dialect.windows import Axis
from npu_passes.buffers.choose_layouts import channels_last, is_channels_last
from npu_passes.lowering.kernels.constants import constant_of
from npu_passes.lowering.kernels.dense import DenseKernel, RowRuns
from npu_passes.lowering.kernels.depthwise import DepthwiseKernel
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.planar import PlanarKernel
from npu_passes.lowering.kernels.unit import ByteUnit, DualUnit, HalfUnit, Unit
from npu_passes.lowering.lower_conv import lower_conv2d
from npu_passes.lowering.lower_dense import lower_fully_connected
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import LoopBuilder, is_dense, memref_type
from npu_plans.kernels.packing import QUAD, Format

Weighted = Conv2dOp | FullyConnectedOp


class Kernel(Protocol):
    """A builder of the loops of one layer."""

    def build(self) -> None:
        """Build the loops."""
        ...


def lower_convolution(b: LoopBuilder, op: Conv2dOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of a convolution."""
    kernel = kernel_of(b, op, out, options)
    if kernel is None:
        lower_conv2d(b, op, out, options)
    else:
        kernel.build()


def lower_connected(
    b: LoopBuilder, op: FullyConnectedOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops of a fully connected layer: a convolution whose pixels are its rows.

    With one row, weights are stored as 8 bits: each is used only once, so 16 bits would save little
    time.
    """
    rows, depth = shape_of(op.input)
    grid = Grid(Axis(1, 1), Axis(rows, 1), depth)
    runs = RowRuns.of(grid.columns, depth)
    dense = is_dense(memref_type(op.input)) and is_dense(memref_type(out))
    layer = None
    if runs is not None and dense and is_plain(op):
        unit = unit_of(b, op, options, "narrow" if rows == 1 else None)
        layer = layer_of(b, op, out if rows == 1 else as_pixels(b, out), unit, options)
    if layer is None or runs is None:
        lower_fully_connected(b, op, out, options)
        return
    DenseKernel(layer, op.input, grid, runs).build()


def as_pixels(b: LoopBuilder, out: SSAValue) -> SSAValue:
    """A dense map [N, C] as one row of N pixels [1, C, 1, N] that is stored with channels last."""
    type_ = memref_type(out)
    rows, channels = type_.get_shape()
    wanted = channels_last(MemRefType(type_.element_type, (1, channels, 1, rows)))
    strides = [step or 0 for step in wanted.get_strides() or ()]
    shape = wanted.get_shape()
    result = MemRefType(type_.element_type, shape, wanted.layout, type_.memory_space)
    view = memref.ReinterpretCastOp(out, [], [], [], [0], shape, strides, result)
    return b.insert(view, out.name_hint).result


def kernel_of(b: LoopBuilder, op: Conv2dOp, out: SSAValue, options: LoopOptions) -> Kernel | None:
    """The kernel for a convolution of integers, or None if none fits."""
    if not (is_plain(op) and shape_of(op.input)[0] == 1):
        return None
    if not pools_apart(op):
        return None
    grid = Grid.of(op)
    last = is_channels_last(memref_type(op.input))
    runs = RowRuns.of(grid.columns, grid.channels) if last and op.group_count == 1 else None
    planar = op.group_count == 1 and grid.channels < QUAD
    planar = planar and PlanarKernel.fits(op.input, grid, op.pool)
    unit = unit_of(b, op, options, last=not planar)
    layer = layer_of(b, op, out, unit, options)
    if layer is None:
        return None
    if planar:
        return PlanarKernel(layer, op.input, grid, op.pool)
    if not last:
        return None
    if op.group_count == 1:
        return None if runs is None else DenseKernel(layer, op.input, grid, runs, op.pool)
    each = op.group_count == grid.channels == len(layer.weights)
    if each and grid.channels % QUAD == 0 and op.pool is None:
        return DepthwiseKernel(layer, op.input, grid)
    return None


def is_plain(op: Weighted) -> bool:
    """Whether a layer has i32 sums and weights of zero point 0, and does not accumulate."""
    points = op.zero_points
    is_zero = points is not None and int_values(points)[1] == 0
    return is_zero and op.sums_element == i32 and op.accumulate is None


def pools_apart(op: Conv2dOp) -> bool:
    """Whether a convolution has no pool, or a max pool whose outputs are computed one by one."""
    return op.pool is None or (op.pool.is_max and (op.overlap != Overlap.ACCUMULATE))


def layer_of(
    b: LoopBuilder, op: Weighted, out: SSAValue, unit: Unit, options: LoopOptions
) -> Layer | None:
    """A layer with its weights and bias; None if their values are not known."""
    weights = constant_of(op.weight, options.users)
    bias: NDArray[np.integer[Any]] | None = None
    if op.bias is not None and (bias := constant_of(op.bias, options.users)) is None:
        return None
    return None if weights is None else Layer(b, op, out, unit, weights, bias)


def unit_of(
    b: LoopBuilder,
    op: Weighted,
    options: LoopOptions,
    form: Format | None = None,
    *,
    last: bool = True,
) -> Unit:
    """The unit that multiplies on the machine; `form` overrides how its weights are stored.

    `last`: whether the channels are last, which words of 16-bit maps need.
    """
    point = int_values(op.zero_points)[0] if op.zero_points is not None else 0
    bytes_ = element_of(op.input) in BYTE_TYPES
    if "dsp" in options.features and (bytes_ or (last and point == 0)):
        kind = DualUnit if bytes_ else HalfUnit
        return kind(b, op.input, point, form or options.words)
    return ByteUnit(b, op.input, point)
