"""Which kernel for vectors a layer gets, if any."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from npu_dialect.attributes import OVER_INPUT
from npu_dialect.npu import Conv2dOp, FullyConnectedOp, PoolAttr
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.buffers.choose_layouts import lies_in_planes, map_steps, pixel_steps
from npu_passes.lowering.kernels.float_outputs import are_bounds
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.groups import Groups
from npu_passes.lowering.kernels.lane_kinds import ByteLanes
from npu_passes.lowering.kernels.lanes import LanesOfFilters
from npu_passes.lowering.kernels.layer import Layer, Maps
from npu_passes.lowering.kernels.vector_blocks import block_plan
from npu_passes.lowering.kernels.vector_columns import ColumnKernel
from npu_passes.lowering.kernels.vector_dense import VectorDenseKernel
from npu_passes.lowering.kernels.vector_depthwise import VectorDepthwiseKernel
from npu_passes.lowering.kernels.vector_images import ImageKernel, plan_of
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.lowering.kernels.vector_patches import PatchKernel
from npu_passes.lowering.kernels.vector_planes import PlaneKernel
from npu_passes.lowering.kernels.vector_sixteen import SixteenKernel
from npu_passes.lowering.kernels.vector_starts import Classes, Starts
from npu_passes.lowering.kernels.vector_stores import can_store, outputs_of
from npu_passes.lowering.kernels.vector_windows import WindowKernel
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import memref_type
from npu_plans.kernels.column_plan import ColumnPlan
from npu_plans.kernels.gathers import EIGHT
from npu_plans.kernels.image_plan import ImagePlan
from npu_plans.kernels.packing import QUAD
from npu_plans.kernels.patch_plan import FARTHEST, SIDE, PatchPlan
from npu_plans.kernels.plane_plan import COPIED, PlanePlan
from npu_plans.kernels.run_cost import RunCost
from npu_plans.kernels.sixteen_plan import SixteenPlan
from npu_plans.kernels.window_plan import WindowPlan

VectorKind: TypeAlias = Literal["dense", "depthwise", "images", "lanes"]
"""The kernels for vectors of bytes."""


def on_vectors(op: Conv2dOp | FullyConnectedOp, options: LoopOptions) -> bool:
    """Whether the machine multiplies vectors of the layer's input, of bytes."""
    return "mve" in options.features and element_of(op.input) in BYTE_TYPES


def has_vector_outputs(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether the machine multiplies vectors of a layer, and can requantise its sums in vectors."""
    what = op.requantize
    floats = what is not None and what.mode.data == "float" and op.addition is None
    return floats and on_vectors(op, options)


def is_depthwise(op: Conv2dOp) -> bool:
    """Whether a convolution has a group for each channel, and no pool; four channels are a word."""
    channels = Grid.of(op).channels
    words = channels % QUAD == 0 or (channels > QUAD and op.residual is None)
    plain = op.pool is None or op.overlap == Overlap.ACCUMULATE
    return op.group_count == channels and words and plain


def vector_kernel(op: Conv2dOp, out: SSAValue, options: LoopOptions) -> VectorKind | None:
    """The kernel for vectors of a convolution of bytes with constant weights; None if none fits.

    Runs of bytes come first, as they fill 16 lanes. Then windows are gathered, and at last four
    filters are lanes.
    """
    if not on_vectors(op, options):
        return None
    grid, last = Grid.of(op), pixel_steps(memref_type(op.input)) is not None
    vectors = has_vector_outputs(op, options) and are_bounds(op.activation)
    vectors = vectors and element_of(out) in BYTE_TYPES
    folds = op.overlap == Overlap.ACCUMULATE
    vectors = vectors and can_store(memref_type(out), folds=folds)
    if last and is_depthwise(op):
        steps = map_steps(memref_type(out))
        apart = filters_of_each(op) * (1 if steps is None else steps[0])
        fits = VectorDepthwiseKernel.fits(grid, filters_of_each(op), apart)
        return "depthwise" if vectors and fits and not folds else None
    own = replace(grid, channels=grid.channels // op.group_count)
    images = vectors and options.flash == "fast" and image_plan(op)
    if last and VectorDenseKernel.fits(own):
        return "images" if images and beats_runs(op, images) else "dense"
    if images and images.pays(shape_of(op.weight)[0], op.repetitions):
        return "images"
    return "lanes" if vectors and LanesOfFilters.fits(op) else None


def image_plan(op: Conv2dOp) -> ImagePlan | None:
    """How whole windows of a convolution of bytes are gathered on vectors; None if they are not."""
    grid, groups = Grid.by_channel(op), op.group_count
    if grid is None:
        return None
    own = replace(grid, channels=grid.channels // groups)
    pool = None if op.overlap == Overlap.ACCUMULATE else op.pool
    return plan_of(own, pool, follows=follows(op)) if ImageKernel.fits(own, pool) else None


def follows(op: Conv2dOp) -> bool:
    """Whether the output of a convolution is to follow its dying map closely.

    If it has more bytes than the map, it lies beside most of it anyway. So do outputs that are
    folded into the windows of a pool, as all of their maxima are cleared first.
    """
    smaller = prod(shape_of(op.output)) < prod(shape_of(op.input))
    return smaller and op.overlap != Overlap.ACCUMULATE


def beats_runs(op: Conv2dOp, plan: ImagePlan) -> bool:
    """Whether gathered windows are worth their flash where runs of bytes could be loaded."""
    grid, groups = Grid.of(op), op.group_count
    taps = op.axes()[0].kernel * op.axes()[1].kernel
    if taps == 1 or op.pool is not None:
        return False
    channels, pixel = grid.channels // groups, grid.pixel * op.axes()[1].dilation
    blocks = block_plan(replace(grid, channels=channels), None)
    runs = blocks if blocks.fits else RunCost(*op.axes(), channels, close=pixel == channels)
    return plan.beats_runs(runs, filters_of_each(op), groups, op.repetitions)


def vector_depthwise(layer: Layer, map: SSAValue, grid: Grid) -> VectorDepthwiseKernel:
    """The kernel of a depthwise convolution."""
    return VectorDepthwiseKernel(layer, map, grid, vector_outputs(layer))


def can_have_patches(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a depthwise convolution of bytes may be computed over patches on vectors."""
    grid, steps = Grid.by_channel(op), map_steps(memref_type(op.output))
    if grid is None or steps is None or not has_channels_apart(op, options):
        return False
    ends = steps[1:], (grid.pixel, grid.line)
    near = all(line + SIDE * pixel <= FARTHEST for pixel, line in ends)
    return near and PatchPlan.fits(*op.axes())


def can_have_windows(op: Conv2dOp, options: LoopOptions, *, over: bool | None = None) -> bool:
    """Whether a depthwise convolution of bytes may gather its windows where they lie on vectors.

    `over`: its outputs lie over its input, as its attribute says if it is None.
    """
    grid, steps = Grid.by_channel(op), map_steps(memref_type(op.output))
    if grid is None or steps is None or not has_channels_apart(op, options):
        return False
    if not WindowPlan.fits(*op.axes()):
        return False
    plan = window_plan(op, over=over)
    patch = (plan.form.rows - 1) * grid.line + plan.form.columns * grid.pixel
    return patch <= FARTHEST and plan.spread(*steps[1:]) < FARTHEST


def window_plan(op: Conv2dOp, *, over: bool | None = None) -> WindowPlan:
    """How windows that fit are gathered. `over`: as above.

    Where input and output both lie plane by plane, the output follows its input closely.
    """
    over = OVER_INPUT.is_on(op) if over is None else over
    closely = lies_in_planes(op.input) and lies_in_planes(op.output)
    return WindowPlan.best(*op.axes(), over=over, closely=closely)


def can_have_columns(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a depthwise convolution of bytes may gather columns of its windows on vectors.

    Each phase of an output has weights of its own, and so has each row at a border code of its own,
    so it may not if flash is short.
    """
    grid, steps = Grid.by_channel(op), map_steps(memref_type(op.output))
    if grid is None or steps is None or not has_channels_apart(op, options):
        return False
    rows, columns = op.axes()
    if options.flash != "fast" or not ColumnPlan.fits(rows, columns):
        return False
    reach = (rows.kernel - 1) * grid.line + ColumnPlan(rows, columns).width * grid.pixel
    return EIGHT * steps[1] <= FARTHEST and reach <= FARTHEST


def can_have_planes(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a depthwise convolution of bytes may be computed over copies of channels."""
    grid, steps = Grid.by_channel(op), map_steps(memref_type(op.output))
    if (
        grid is None
        or steps is None
        or not has_channels_apart(op, options)
        or not PlanePlan.fits(*op.axes())
    ):
        return False
    rows = grid.rows.size if PlanePlan(*op.axes()).is_flat else COPIED[0]
    ends = (steps[1:], COPIED[0]), ((grid.pixel, grid.line), rows)
    return all((rows - 1) * line + EIGHT * pixel <= FARTHEST for (pixel, line), rows in ends)


def can_have_sixteen(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a depthwise convolution of i8 may be computed with sixteen channels in lanes.

    Outputs at borders have code and first values of their own, so it may not if flash is short.
    """
    last, out = pixel_steps(memref_type(op.input)), map_steps(memref_type(op.output))
    if last is None or out is None or out[0] != 1 or not has_channels_apart(op, options):
        return False
    signed = element_of(op.input) == element_of(op.output) == i8
    plan, fast = SixteenPlan(*op.axes()), options.flash == "fast"
    return fast and signed and filters_of_each(op) == 1 and plan.fits(Grid.of(op).channels)


def has_channels_apart(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a map of bytes has filters for each channel, on vectors.

    A few channels with several filters each have filters in lanes.
    """
    channels = shape_of(op.input)[1]
    if not has_vector_outputs(op, options) or op.group_count != channels:
        return False
    apart = op.pool is None and (filters_of_each(op) == 1 or is_depthwise(op))
    return apart and are_bounds(op.activation) and element_of(op.output) in BYTE_TYPES


def filters_of_each(op: Conv2dOp) -> int:
    """The filters of each group."""
    return shape_of(op.weight)[0] // op.group_count


def vector_patches(layer: Layer, op: Conv2dOp, map: SSAValue, scratch: SSAValue) -> PatchKernel:
    """The kernel of a depthwise convolution over patches."""
    return PatchKernel(layer, map, by_channel(op), scratch, vector_outputs(layer))


def vector_planes(layer: Layer, op: Conv2dOp, map: SSAValue, scratch: SSAValue) -> PlaneKernel:
    """The kernel of a depthwise convolution over copies of channels."""
    over = OVER_INPUT.is_on(op)
    return PlaneKernel(layer, map, by_channel(op), scratch, vector_outputs(layer), over=over)


def vector_windows(layer: Layer, op: Conv2dOp, map: SSAValue) -> WindowKernel:
    """The kernel of a depthwise convolution that gathers its windows."""
    return WindowKernel(layer, map, by_channel(op), vector_outputs(layer), window_plan(op))


def vector_columns(layer: Layer, op: Conv2dOp, map: SSAValue) -> ColumnKernel:
    """The kernel of a depthwise convolution that gathers columns of its windows."""
    return ColumnKernel(layer, map, by_channel(op), vector_outputs(layer))


def vector_sixteen(layer: Layer, op: Conv2dOp, map: SSAValue) -> SixteenKernel:
    """The kernel of a depthwise convolution with sixteen channels in lanes."""
    return SixteenKernel(layer, map, Grid.of(op), vector_outputs(layer))


def by_channel(op: Conv2dOp) -> Grid:
    """The windows of a convolution over channels."""
    grid = Grid.by_channel(op)
    assert grid is not None
    return grid


def vector_outputs(layer: Layer) -> VectorOutputs:
    """The outputs of a layer that are known to be vectors."""
    outputs = outputs_of(layer)
    assert isinstance(outputs, VectorOutputs)
    return outputs


def vector_images(
    layer: Layer, op: Conv2dOp, map: SSAValue, pool: PoolAttr | None, groups: Groups
) -> ImageKernel:
    """The kernel of a convolution that gathers whole windows."""
    grid = by_channel(op)
    own = replace(grid, channels=grid.channels // groups.count)
    outputs = vector_outputs(layer)
    return ImageKernel(layer, map, own, outputs, pool, groups, follows=follows(op))


def byte_lanes(op: Conv2dOp, layer: Layer, maps: Maps, options: LoopOptions) -> LanesOfFilters:
    """The kernel whose lanes are filters, for bytes."""
    outputs, (rows, columns) = vector_outputs(layer), op.axes()
    starts = Starts(layer, Classes(rows), Classes(columns))

    def kind(_: Maps, lanes: int, groups: int) -> ByteLanes:
        return ByteLanes(layer, outputs, starts, lanes, groups)

    return LanesOfFilters(layer.b, op, maps, layer.weights, kind, options)
