"""Working memories of depthwise convolutions: which kernels want one, and how large it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType, i8, i16

from npu_dialect.attributes import OVER_INPUT
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.lowering.kernels.constants import constants_of, is_plain
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.vector_choice import (
    can_have_columns,
    can_have_patches,
    can_have_planes,
    can_have_sixteen,
    can_have_windows,
    filters_of_each,
    has_vector_outputs,
    vector_kernel,
    window_plan,
)
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import memref_type
from npu_plans.kernels.column_plan import ColumnPlan
from npu_plans.kernels.line_plan import LinePlan
from npu_plans.kernels.pair_plan import RowOfPairs, beats_lines, plan_of
from npu_plans.kernels.patch_plan import PatchPlan
from npu_plans.kernels.plane_plan import PlanePlan
from npu_plans.kernels.sixteen_plan import SixteenPlan, groups_of, is_worth
from npu_plans.kernels.window_plan import CHANNEL, WindowPlan

Memory: TypeAlias = tuple[int, IntegerType]
"""The elements of a working memory, and their type."""
MemoryIn: TypeAlias = Callable[[int, int], Memory | None]
"""The working memory for the bytes below the peak, and the most bytes that it may have at it."""


def working_memory(op: Conv2dOp, options: LoopOptions) -> MemoryIn | None:
    """The working memory of a layer; on vectors the fastest one below the peak, else the least.

    None if no kernel with a working memory fits the layer, or if none is worth it.
    """
    rows, columns = op.axes()
    if constants_of(op, options) is None:
        return None
    if memories := vector_memories(op, options):
        return partial(fitting, memories)
    if not can_have_lines(op) or not can_multiply_lines(op, options):
        return None
    last = pixel_steps(memref_type(op.input)) is not None
    if last and shared_pairs(op, options) and beats_lines(columns, filters_of_each(op)):
        return None

    def lines(_: int, most: int) -> Memory | None:
        plan = LinePlan.chosen(rows, columns, most)
        return None if plan is None else (plan.elements, i16)

    return lines if LinePlan.pays(rows, columns) else None


def shared_pairs(op: Conv2dOp, options: LoopOptions) -> RowOfPairs | None:
    """How filters that share a channel share pairs of its elements; None if they do not.

    An image of one channel is left to the kernels of convolutions.
    """
    grid = Grid.by_channel(op)
    if grid is None or not can_have_lines(op) or not can_multiply_lines(op, options):
        return None
    if grid.channels == 1:
        return None
    return plan_of(grid.rows, grid.columns, filters_of_each(op), planes=grid.apart > 1)


def fitting(memories: Sequence[Memory], room: int, most: int) -> Memory | None:
    """The first memory that fits into `room`, else the least one that fits into `most`."""
    sizes = [elements * element.bitwidth // 8 for elements, element in memories]
    for memory, size in zip(memories, sizes, strict=True):
        if size <= room:
            return memory
    return memories[sizes.index(min(sizes))] if min(sizes) <= most else None


def vector_memories(op: Conv2dOp, options: LoopOptions) -> list[Memory]:
    """The working memories of kernels on vectors that are worth it, the fastest one first."""
    found: list[Memory] = []
    if not is_plain(op):
        return found
    planes, patches = PlanePlan(*op.axes()), PatchPlan(*op.axes())
    filters = filters_of_each(op)
    windows = window_plan(op).total(filters) - CHANNEL if has_windows(op, options) else None
    slow = windows is not None and windows < planes.total(filters)
    if can_have_planes(op, options) and planes.pays and not slow:
        found.append((planes.bytes, i8))
    if can_have_patches(op, options) and patches.pays:
        found.append((patches.elements, i16))
    return found


def has_windows(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a depthwise convolution is faster if it gathers its windows channel by channel."""
    if constants_of(op, options) is None or not is_plain(op):
        return False
    return can_have_windows(op, options) and WindowPlan.pays(*op.axes())


def has_columns(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a depthwise convolution is faster if it gathers columns channel by channel.

    That is, faster than without a working memory: eight channels in lanes, if these fit.
    """
    if constants_of(op, options) is None or not is_plain(op) or OVER_INPUT.is_on(op):
        return False
    if not can_have_columns(op, options):
        return False
    plan, channels = ColumnPlan(*op.axes()), shape_of(op.input)[1]
    eight = vector_kernel(op, op.output, options) == "depthwise"
    return not eight or plan.beats_eight(channels, filters_of_each(op))


def has_sixteen(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a layer without a working memory has sixteen channels in lanes.

    That takes fewer instructions, and is worth its flash. Eight channels in lanes take as much.
    """
    own = sixteen_of(op, options)
    if own is None or not has_windows(op, options):
        return own is not None
    return own.beats(op, window_plan(op))


def beats_planes(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a kernel without a working memory is worth its flash where a channel could be copied.

    That is sixteen channels in lanes, or columns that are gathered.
    """
    own = sixteen_of(op, options) or columns_of(op, options)
    if own is None or not can_have_planes(op, options):
        return own is not None
    planes = PlanePlan(*op.axes())
    return not planes.pays or own.beats(op, planes)


@dataclass(frozen=True)
class Taken:
    """What a kernel takes: the instructions of a channel, and the flash of all of them."""

    total: float
    flash: int

    def beats(self, op: Conv2dOp, other: WindowPlan | PlanePlan) -> bool:
        """Whether this is worth its flash in place of another kernel.

        A single row is a part of a layer, whose other rows have the tables of that kernel.
        """
        (images, channels), filters = shape_of(op.input)[:2], filters_of_each(op)
        saved = images * channels * (other.total(filters) - self.total)
        spared = 0 if other.rows.outputs == 1 else other.flash(channels * filters)
        return is_worth(saved, self.flash - spared)


def sixteen_of(op: Conv2dOp, options: LoopOptions) -> Taken | None:
    """What sixteen channels in lanes take; None if they do not fit a layer.

    Outputs over their input are left to windows, which gather eight of them before they store one.
    """
    if not is_plain(op) or OVER_INPUT.is_on(op) or not can_have_sixteen(op, options):
        return None
    constants = constants_of(op, options)
    if constants is None:
        return None
    weights = constants[0].reshape(len(constants[0]), -1).transpose()
    plan, groups = SixteenPlan(*op.axes()), partial(groups_of, weights)
    cut = op.zero_points is not None and int_values(op.zero_points)[0] != 0
    return Taken(plan.total(groups), plan.flash(len(constants[0]), groups, cut=cut))


def columns_of(op: Conv2dOp, options: LoopOptions) -> Taken | None:
    """What a kernel takes that gathers columns; None if a layer does not get it."""
    if not has_columns(op, options):
        return None
    plan, filters = ColumnPlan(*op.axes()), filters_of_each(op)
    return Taken(plan.total(filters), plan.flash(shape_of(op.weight)[0]))


def can_overwrite(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a layer that gathers its windows can compute over its dying input by channel."""
    grid, out = Grid.of(op), pixel_steps(memref_type(op.output))
    if out is None or out[0] != grid.pixel or not has_windows(op, options):
        return False
    alone = shape_of(op.input)[0] == filters_of_each(op) == 1
    lines = grid.line // grid.pixel, out[1] // grid.pixel
    whole = grid.line % grid.pixel == out[1] % grid.pixel == 0
    if not alone or not whole or not can_have_windows(op, options, over=True):
        return False
    return window_plan(op, over=True).can_overwrite(*lines)


def patches_beat_windows(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a layer takes fewer instructions with patches in a working memory.

    Otherwise it gathers its windows, over its dying input.
    """
    patches, filters = PatchPlan(*op.axes()), filters_of_each(op)
    if not can_have_patches(op, options) or not patches.pays:
        return False
    return patches.total(filters) < window_plan(op, over=True).total(filters)


def can_copy_over(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether a layer that copies a channel can compute over its dying input, of another shape."""
    out, alone = pixel_steps(memref_type(op.output)), filters_of_each(op) == 1
    steps = out is not None and out[0] == Grid.of(op).pixel and not op.could_gather_in_place
    return alone and steps and shape_of(op.input)[0] == 1 and can_have_planes(op, options)


def can_have_lines(op: Conv2dOp) -> bool:
    """Whether a depthwise convolution of bytes may be computed over lines."""
    grid = Grid.by_channel(op)
    bytes_ = element_of(op.input) in BYTE_TYPES and is_plain(op) and op.pool is None
    if grid is None or not bytes_:
        return False
    return op.group_count == grid.channels and LinePlan.fits(*op.axes())


def can_multiply_lines(op: Conv2dOp, options: LoopOptions) -> bool:
    """Whether the core has dual multiply-accumulates, flash has room, and weights are known."""
    dual = "dsp" in options.features and options.words == "wide"
    dual = dual and not has_vector_outputs(op, options)
    return dual and constants_of(op, options) is not None
