"""Choose a kernel for a layer of integers; if none fits, the layer gets the general loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, i8, i16
from xdsl.ir import SSAValue

from npu_dialect.attributes import BY_CHANNEL
from npu_dialect.npu import Conv2dOp, FullyConnectedOp, PoolAttr
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_dialect.windows import Axis
from npu_passes.analysis.overlaps import overlap
from npu_passes.buffers.choose_layouts import channels_last, pixel_steps
from npu_passes.lowering.kernels.constants import Weighted, constants_of, is_plain
from npu_passes.lowering.kernels.dense import DenseKernel, RowRuns
from npu_passes.lowering.kernels.depthwise import DepthwiseKernel
from npu_passes.lowering.kernels.float_depthwise import FloatDepthwiseKernel
from npu_passes.lowering.kernels.float_neighbours import FloatNeighboursKernel
from npu_passes.lowering.kernels.float_outputs import has_float_vectors
from npu_passes.lowering.kernels.float_windows import FloatWindowsKernel
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.groups import Groups
from npu_passes.lowering.kernels.lane_kinds import FloatLanes
from npu_passes.lowering.kernels.lanes import LanesOfFilters
from npu_passes.lowering.kernels.layer import Layer, Maps
from npu_passes.lowering.kernels.lines import LinesKernel
from npu_passes.lowering.kernels.planar import PlanarKernel
from npu_passes.lowering.kernels.pointwise import PointwiseKernel
from npu_passes.lowering.kernels.shared_pairs import SharedPairsKernel
from npu_passes.lowering.kernels.unit import ByteUnit, DualUnit, HalfUnit, Unit
from npu_passes.lowering.kernels.vector_choice import (
    VectorKind,
    byte_lanes,
    can_have_patches,
    can_have_planes,
    is_depthwise,
    on_vectors,
    vector_columns,
    vector_depthwise,
    vector_images,
    vector_kernel,
    vector_patches,
    vector_planes,
    vector_sixteen,
    vector_windows,
)
from npu_passes.lowering.kernels.vector_dense import VectorDenseKernel, vector_dense
from npu_passes.lowering.kernels.working_memory import (
    can_have_lines,
    can_multiply_lines,
    has_columns,
    has_sixteen,
    has_windows,
    shared_pairs,
)
from npu_passes.lowering.lower_conv import lower_conv2d
from npu_passes.lowering.lower_dense import lower_fully_connected
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import Index, LoopBuilder, is_dense, memref_type
from npu_passes.support.refuse import Refusal
from npu_plans.kernels.line_plan import LinePlan
from npu_plans.kernels.packing import QUAD, Format
from npu_plans.kernels.patch_plan import PatchPlan
from npu_plans.kernels.plane_plan import PlanePlan


class Kernel(Protocol):
    """A builder of the loops of one layer."""

    def build(self) -> None:
        """Build the loops."""
        ...


Make: TypeAlias = Callable[[Maps], Kernel]
"""Makes the kernel for some maps."""


def lower_convolution(b: LoopBuilder, op: Conv2dOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of a convolution; those of a kernel are inside a loop over the images."""
    lines = patches_of(b, op, options) or lines_of(b, op, options) or planes_of(b, op, options)
    if lines is None and overlap(op.input, out):
        op.emit_error(
            "has no kernel that runs in place", Refusal(f"cannot lower {op.name} in place")
        )
    make = lines or windows_of(b, op, options) or float_kernel(b, op, out, options)
    make = make or kernel_of(b, op, out, options)
    if make is None:
        lower_conv2d(b, op, out, options)
        return
    maps, images = Maps(op.input, out, op.residual), shape_of(op.input)[0]
    if images == 1:
        make(maps).build()
        return

    def one(image: Index, _: Sequence[SSAValue]) -> tuple[()]:
        make(maps.image(b, image)).build()
        return ()

    b.loop(0, images, one, hint="n")


def lower_connected(
    b: LoopBuilder, op: FullyConnectedOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops of a fully connected layer: a convolution whose pixels are its rows.

    With one row, weights are stored as 8 bits: each is used only once, so 16 bits would save little
    time.
    """
    floats = float_kernel(b, op, out, options)
    if floats is not None:
        floats(Maps(op.input, out)).build()
        return
    rows, depth = shape_of(op.input)
    grid = Grid.dense(Axis(1, 1), Axis(rows, 1), depth)
    runs = RowRuns.of(grid)
    dense = is_dense(memref_type(op.input)) and is_dense(memref_type(out))
    constants = constants_of(op, options) if runs is not None and dense and is_plain(op) else None
    if constants is None or runs is None:
        lower_fully_connected(b, op, out, options)
        return
    unit = unit_of(b, op, options, "narrow" if rows == 1 else None)
    if on_vectors(op, options) and VectorDenseKernel.fits(grid):
        layer = Layer(b, op, Maps(op.input, as_pixels(b, out)), unit, *constants)
        vector_dense(layer, op.input, grid).build()
        return
    maps = Maps(op.input, out if rows == 1 else as_pixels(b, out))
    DenseKernel(Layer(b, op, maps, unit, *constants), op.input, grid, runs).build()


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


@dataclass(frozen=True)
class Parts:
    """What all kernels of a convolution of integers need.

    `grid` has the channels of one group; `pool` is None for windows into which outputs are folded.
    """

    grid: Grid
    split: Groups
    pool: PoolAttr | None
    layer: Callable[[Maps, bool], Layer]
    """Makes the layer for some maps; the flag says whether their channels are last."""


def kernel_of(b: LoopBuilder, op: Conv2dOp, out: SSAValue, options: LoopOptions) -> Make | None:
    """What makes the kernel for an image of a convolution of integers; None if none fits."""
    if not is_plain(op) or (op.pool is not None and not op.pool.is_max):
        return None
    constants = constants_of(op, options)
    if constants is None:
        return None
    grid, groups = Grid.of(op), op.group_count
    split = Groups(groups, grid.channels // groups)
    folds = op.overlap == Overlap.ACCUMULATE
    axes = op.pool.axes(grid.rows.outputs, grid.columns.outputs) if folds and op.pool else None

    def layer(maps: Maps, last: bool) -> Layer:
        unit = unit_of(b, op, options, last=last)
        made = Layer(b, op, maps, unit, *constants, axes)
        if made.folding is not None:
            made.folding.clear()
        return made

    own = replace(grid, channels=split.channels)
    parts = Parts(own, split, None if folds else op.pool, layer)
    kind = vector_kernel(op, out, options)
    if kind is not None:
        return vectors_of(kind, op, parts, options)
    shared = shared_kernel(op, parts, options)
    return shared or scalar_kernel(op, parts) or pointwise_kernel(op, parts, options)


def vectors_of(kind: VectorKind, op: Conv2dOp, parts: Parts, options: LoopOptions) -> Make:
    """What makes a kernel on vectors."""

    def make(maps: Maps) -> Kernel:
        layer, grid, split = parts.layer(maps, True), parts.grid, parts.split
        if kind == "dense":
            return vector_dense(layer, maps.input, grid, parts.pool, split)
        if kind == "images":
            return vector_images(layer, op, maps.input, parts.pool, split)
        if kind == "lanes":
            return byte_lanes(op, layer, maps, options)
        return vector_depthwise(layer, maps.input, Grid.of(op))

    return make


def scalar_kernel(op: Conv2dOp, parts: Parts) -> Make | None:
    """What makes a kernel without vectors; None if none fits."""
    grid, split, pool, layer = parts.grid, parts.split, parts.pool, parts.layer
    whole, last = Grid.of(op), pixel_steps(memref_type(op.input)) is not None
    planar = whole.channels < QUAD or not last
    if planar and PlanarKernel.fits(op.input, grid, pool, split.count):
        return lambda maps: PlanarKernel(layer(maps, False), maps.input, grid, pool, split)
    if not last:
        return None
    if is_depthwise(op):
        return lambda maps: DepthwiseKernel(layer(maps, True), maps.input, whole)
    read = replace(grid, channels=split.read)
    runs = RowRuns.of(read)
    if runs is None:
        return None
    return lambda maps: DenseKernel(layer(maps, True), maps.input, read, runs, pool, split)


def shared_kernel(op: Conv2dOp, parts: Parts, options: LoopOptions) -> Make | None:
    """What makes the kernel of filters that share a channel; None if it does not fit."""
    grid, row, layer = Grid.by_channel(op), shared_pairs(op, options), parts.layer
    if grid is None or row is None:
        return None

    def make(maps: Maps) -> Kernel:
        return SharedPairsKernel(layer(maps, False), maps.input, grid, row)

    return make


def pointwise_kernel(op: Conv2dOp, parts: Parts, options: LoopOptions) -> Make | None:
    """What makes the kernel of one tap over channels that lie apart; None if it does not fit."""
    grid, split, layer = Grid.by_channel(op), parts.split, parts.layer
    if grid is None or not PointwiseKernel.fits(op, options):
        return None
    own = replace(grid, channels=split.channels)
    return lambda maps: PointwiseKernel(layer(maps, False), maps.input, own, split)


def float_kernel(b: LoopBuilder, op: Weighted, out: SSAValue, options: LoopOptions) -> Make | None:
    """What makes the kernel for an image of a layer of floats on vectors; None if none fits."""
    if "mve" not in options.features or not has_float_vectors(op):
        return None
    constants = constants_of(op, options)
    if constants is None:
        return None
    if isinstance(op, Conv2dOp) and options.flash == "fast":
        found = outputs_in_lanes(b, op, out, *constants)
        if found is not None:
            return found
    weights, bias = constants
    if isinstance(op, Conv2dOp) and op.group_count == len(weights) == shape_of(op.input)[1]:
        if not FloatDepthwiseKernel.fits(op):
            return None
        return lambda maps: FloatDepthwiseKernel(b, op, maps, weights, bias, options)
    if not LanesOfFilters.fits(op):
        return None
    if isinstance(op, FullyConnectedOp):
        weights = weights[:, :, None, None]

    def kind(maps: Maps, lanes: int, groups: int) -> FloatLanes:
        return FloatLanes(b, op, maps, bias, lanes, groups)

    return lambda maps: LanesOfFilters(b, op, maps, weights, kind, options)


def outputs_in_lanes(
    b: LoopBuilder, op: Conv2dOp, out: SSAValue, weights: NDArray[Any], bias: NDArray[Any] | None
) -> Make | None:
    """What makes a kernel of floats whose lanes are outputs of a filter; None if none pays."""
    if op.group_count == shape_of(op.input)[1]:
        plan = FloatNeighboursKernel.plan_of(op, out, weights, bias)
        if plan is not None:
            return lambda maps: FloatNeighboursKernel(b, op, maps, weights, bias, plan)
    windows = FloatWindowsKernel.plan_of(op, out)
    if windows is None:
        return None
    return lambda maps: FloatWindowsKernel(b, op, maps, weights, bias, windows)


def lines_of(b: LoopBuilder, op: Conv2dOp, options: LoopOptions) -> Make | None:
    """What makes the kernel over lines of a depthwise convolution; None if it does not fit."""
    scratch = op.scratch
    if scratch is None or not can_have_lines(op) or not can_multiply_lines(op, options):
        return None
    grid, constants = Grid.by_channel(op), constants_of(op, options)
    if grid is None or element_of(scratch) != i16:
        return None
    plan = LinePlan.within(grid.rows, grid.columns, shape_of(scratch)[0])
    if plan is None or constants is None:
        return None

    def kernel(maps: Maps) -> Kernel:
        layer = Layer(b, op, maps, unit_of(b, op, options), *constants)
        return LinesKernel(layer, maps.input, grid, scratch, plan)

    return kernel


def patches_of(b: LoopBuilder, op: Conv2dOp, options: LoopOptions) -> Make | None:
    """What makes the kernel over patches of a depthwise convolution; None if it does not fit."""
    scratch, constants = op.scratch, constants_of(op, options)
    if scratch is None or constants is None or not (is_plain(op) and can_have_patches(op, options)):
        return None
    if element_of(scratch) != i16 or shape_of(scratch)[0] < PatchPlan(*op.axes()).elements:
        return None

    def kernel(maps: Maps) -> Kernel:
        layer = Layer(b, op, maps, unit_of(b, op, options), *constants)
        return vector_patches(layer, op, maps.input, scratch)

    return kernel


def planes_of(b: LoopBuilder, op: Conv2dOp, options: LoopOptions) -> Make | None:
    """What makes the kernel of a depthwise convolution over copies of channels, if it fits."""
    scratch, constants = op.scratch, constants_of(op, options)
    if scratch is None or constants is None or not (is_plain(op) and can_have_planes(op, options)):
        return None
    if element_of(scratch) != i8 or shape_of(scratch)[0] < PlanePlan(*op.axes()).bytes:
        return None

    def kernel(maps: Maps) -> Kernel:
        layer = Layer(b, op, maps, unit_of(b, op, options), *constants)
        return vector_planes(layer, op, maps.input, scratch)

    return kernel


def windows_of(b: LoopBuilder, op: Conv2dOp, options: LoopOptions) -> Make | None:
    """What makes the kernel of a depthwise convolution without a working memory, if it may.

    It computes channel by channel, or sixteen channels.
    """
    constants = constants_of(op, options)
    if not BY_CHANNEL.is_on(op) or constants is None:
        return None
    sixteen, columns = has_sixteen(op, options), has_columns(op, options)
    if not sixteen and not columns and not has_windows(op, options):
        return None

    def kernel(maps: Maps) -> Kernel:
        layer = Layer(b, op, maps, unit_of(b, op, options), *constants)
        if sixteen:
            return vector_sixteen(layer, op, maps.input)
        if columns:
            return vector_columns(layer, op, maps.input)
        return vector_windows(layer, op, maps.input)

    return kernel


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
        short = options.words == "narrow"
        return kind(b, op.input, point, form or options.words, short=short)
    return ByteUnit(b, op.input, point, options.integer_registers)
