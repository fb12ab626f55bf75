"""The loops over tiles of each kind of layer, and the ops that compute one tile of it.

Level of IR: layers in destination style; nothing is changed. A layer of a kind that is not listed
here has no loops: all of it is one tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from npu_dialect.npu.attributes import PoolAttr, int_array, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    Conv2dOp,
    DequantizeOp,
    FullyConnectedOp,
    GlobalPoolOp,
    InterleaveOp,
    LrnOp,
    MatmulOp,
    NormalizeOp,
    PickOp,
    PoolOp,
    PruneZeroBlocksOp,
    QuantizedAvgPool2dOp,
    QuantizeOp,
    RecurrentOp,
    ReduceOp,
    ResampleOp,
    SoftmaxOp,
    TransposeOp,
)
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.support.channel_scales import has_channel_scales, take_channels
from npu_passes.tiling.moving_spaces import moving_space, tile_pick
from npu_plans.tiles.operand_regions import Along, Loop, Pads, Space, can_cut

IMAGES, GROUPS, OUT, IN, ROWS, COLUMNS = "images", "groups", "out", "in", "rows", "columns"
"""Names of loops. Layers that work channel by channel have `out` and no `in`."""


def space_of(op: LayerOp) -> Space:
    """The loops of a layer in destination style."""
    match op:
        case Conv2dOp():
            return conv_space(op)
        case FullyConnectedOp():
            return dense_space(op)
        case PoolOp():
            return pool_space(op)
        case PruneZeroBlocksOp():
            return block_space(op)
        case MatmulOp():
            return matmul_space(op)
        case RecurrentOp():
            return recurrent_space(op)
        case PickOp() | ResampleOp() | TransposeOp():
            return moving_space(op, loop_names(len(shape_of(op.output))))
        case _:
            undivided = whole_axes(op)
            if undivided is None:
                return Space((), tuple(whole(value) for value in op.operands))
            return grid_space(op, undivided)


def whole_axes(op: LayerOp) -> Sequence[int] | None:
    """The axes of which an output element needs all elements; it needs one place of all others.

    None if a layer is of another kind.
    """
    match op:
        case SoftmaxOp():
            return (op.axis.value.data,)
        case ReduceOp() | NormalizeOp():
            return int_values(op.axes)
        case InterleaveOp():
            return [axis for axis, step in enumerate(int_values(op.steps)) if step > 1]
        case LrnOp():
            return (1,)
        case GlobalPoolOp() | QuantizedAvgPool2dOp():  # a tile of rows would change the window
            return (2, 3)
        case QuantizeOp() | DequantizeOp():  # not in place: their elements change their size
            return ()
        case _:
            return () if op.ELEMENTWISE else None


def whole(value: SSAValue) -> tuple[Along, ...]:
    """An operand that every tile needs as a whole."""
    return tuple(Along(extent) for extent in shape_of(value))


def loop_names(rank: int) -> tuple[str, ...]:
    """Names of the loops over the axes of a map."""
    if rank == 4:
        return IMAGES, OUT, ROWS, COLUMNS
    return tuple(f"axis{axis}" for axis in range(rank))


def grid_space(op: LayerOp, whole: Sequence[int]) -> Space:
    """The loops of a layer whose output element needs the element at the same place of each input.

    Axes in `whole` have no loop, because an element needs all of such an axis. Broadcast operands
    are aligned at their last axis, as in numpy; learned vectors have one number per channel.
    """
    shape = shape_of(op.output)
    names = loop_names(len(shape))
    apart = has_channel_scales(op)
    loops = tuple(
        Loop(name, extent, apart=apart and axis == 1)
        for axis, (name, extent) in enumerate(zip(names, shape, strict=True))
        if axis not in whole
    )

    def follow(value: SSAValue) -> tuple[Along, ...]:
        extents = shape_of(value)
        first = 1 if value in op.parameter_inputs else len(shape) - len(extents)
        return tuple(
            Along(extent, names[axis] if extent == shape[axis] and axis not in whole else "")
            for axis, extent in enumerate(extents, first)
        )

    return Space(loops, tuple(follow(value) for value in op.operands))


def matmul_space(op: MatmulOp) -> Space:
    """The loops of a matrix product: broadcast axes, rows and columns; sums are never cut."""
    shape = shape_of(op.output)
    names = tuple(f"axis{axis}" for axis in range(len(shape)))
    loops = tuple(Loop(name, extent) for name, extent in zip(names, shape, strict=True))
    output = tuple(Along(extent, name) for name, extent in zip(names, shape, strict=True))
    depth, (rows, columns) = Along(op.depth), output[-2:]

    def batch(value: SSAValue) -> tuple[Along, ...]:
        extents = shape_of(value)[:-2]
        whole = output[len(output) - 2 - len(extents) : -2]
        return tuple(
            along if extent == along.extent else Along(extent)
            for extent, along in zip(extents, whole, strict=True)
        )

    right = (depth, columns) if op.transposed_rhs is None else (columns, depth)
    return Space(loops, ((*batch(op.lhs), rows, depth), (*batch(op.rhs), *right), output))


def recurrent_space(op: RecurrentOp) -> Space:
    """The loop of a recurrent layer: sequences. A state needs all states before it."""
    batch = Along(op.batch, IMAGES)

    def follow(value: SSAValue) -> tuple[Along, ...]:
        extents = shape_of(value)
        if value in op.parameter_inputs:
            return whole(value)
        return tuple(
            batch if axis == len(extents) - 2 else Along(n) for axis, n in enumerate(extents)
        )

    return Space((Loop(IMAGES, op.batch),), tuple(follow(value) for value in op.operands))


def window_loop(
    name: str, windows: tuple[Axis, ...], *, counts_pads: bool = False
) -> tuple[Loop, Along]:
    """The loop over the outputs of sliding windows, and the axis that they slide over.

    The loop is fixed if it cannot be cut. A tile has pads for all elements of its windows that lie
    outside of the map. So the loop is fixed too if `counts_pads` (an average counts its explicit
    pads) and ceil mode makes the last window reach beyond those pads, which must not be counted.
    """
    extent, last = windows[0].size, windows[-1]
    outputs = last.outputs
    partial = last.start(outputs - 1) + last.reach > last.size + last.after
    if can_cut(windows) and not (counts_pads and partial):
        return Loop(name, outputs), Along(extent, name, windows)
    return Loop(name, outputs, fixed=True), Along(extent)


def pool_space(op: PoolOp) -> Space:
    """The loops of a pool: images, channels, and windows over rows and columns."""
    images, channels, height, width = shape_of(op.input)
    window = op.window()
    rows, columns = window.axes(height, width)
    over_rows, in_rows = window_loop(ROWS, (rows,), counts_pads=window.includes_pad)
    over_columns, in_columns = window_loop(COLUMNS, (columns,), counts_pads=window.includes_pad)
    maps = (Along(images, IMAGES), Along(channels, OUT))
    output = (*maps, Along(rows.outputs, ROWS), Along(columns.outputs, COLUMNS))
    loops = (Loop(IMAGES, images), Loop(OUT, channels), over_rows, over_columns)
    return Space(loops, ((*maps, in_rows, in_columns), output))


def block_space(op: PruneZeroBlocksOp) -> Space:
    """The loops of a layer on blocks: images, channels, rows of blocks and columns of blocks."""
    images, channels, height, width = shape_of(op.input)
    rows, columns = op.axes()
    axes = (
        Along(images, IMAGES),
        Along(channels, OUT),
        Along(height, ROWS, (rows,)),
        Along(width, COLUMNS, (columns,)),
    )
    loops = (
        Loop(IMAGES, images),
        Loop(OUT, channels),
        Loop(ROWS, rows.outputs),
        Loop(COLUMNS, columns.outputs),
    )
    return Space(loops, (axes, axes))


def conv_windows(op: Conv2dOp) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The windows over rows and over columns: the kernel's, then those of a fused pool."""
    rows, columns = op.axes()
    if op.pool is None:
        return (rows,), (columns,)
    pool_rows, pool_columns = op.pool.axes(rows.outputs, columns.outputs)
    return (rows, pool_rows), (columns, pool_columns)


def conv_space(op: Conv2dOp) -> Space:
    """The loops of a convolution: images, groups, rows, columns, input and output channels.

    Channels are those of one group. A tile of several groups must have all of their channels.
    """
    images, channels = shape_of(op.input)[:2]
    filters, depth, *kernel = shape_of(op.weight)
    groups = op.group_count
    rows, columns = conv_windows(op)
    counts_pads = op.pool is not None and op.pool.includes_pad
    over_rows, in_rows = window_loop(ROWS, rows, counts_pads=counts_pads)
    over_columns, in_columns = window_loop(COLUMNS, columns, counts_pads=counts_pads)
    outputs = Along(filters, OUT, outer=GROUPS, pitch=filters // groups)
    source = (
        Along(images, IMAGES),
        Along(channels, IN, outer=GROUPS, pitch=depth),
        in_rows,
        in_columns,
    )
    weight = (outputs, Along(depth, IN), *map(Along, kernel))
    bias = () if op.bias is None else ((outputs,),)
    output = (
        Along(images, IMAGES),
        outputs,
        Along(rows[-1].outputs, ROWS),
        Along(columns[-1].outputs, COLUMNS),
    )
    residual = () if op.residual is None else (output,)
    at_once, apart = sums_at_once(op), has_channel_scales(op)
    loops = (
        Loop(IMAGES, images),
        Loop(GROUPS, groups, apart=apart),
        over_rows,
        over_columns,
        Loop(IN, depth, sums=True, fixed=at_once),
        Loop(OUT, filters // groups, apart=apart),
    )
    return Space(loops, (source, weight, *bias, *residual, output))


def dense_space(op: FullyConnectedOp) -> Space:
    """The loops of a fully connected layer: images, inputs and outputs."""
    images, depth = shape_of(op.input)
    features = shape_of(op.weight)[0]
    source = (Along(images, IMAGES), Along(depth, IN))
    weight = (Along(features, OUT), Along(depth, IN))
    bias = () if op.bias is None else ((Along(features, OUT),),)
    output = (Along(images, IMAGES), Along(features, OUT))
    loops = (
        Loop(IMAGES, images),
        Loop(IN, depth, sums=True, fixed=sums_at_once(op)),
        Loop(OUT, features, apart=has_channel_scales(op)),
    )
    return Space(loops, (source, weight, *bias, output))


def sums_at_once(op: Conv2dOp | FullyConnectedOp) -> bool:
    """Whether a tile must have all input channels, as the destination cannot hold unfinished sums.

    It holds requantised or pooled values, or the residual is added once the sums are complete.
    """
    if op.requantize is not None:
        return True
    added = isinstance(op, Conv2dOp) and op.residual is not None and not sums_residual(op)
    return added or (isinstance(op, Conv2dOp) and op.pool is not None)


def sums_residual(op: Operation) -> bool:
    """Whether a convolution adds a residual that can be added with the first part of the sums.

    Nothing changes the sums in between.
    """
    if not isinstance(op, Conv2dOp) or op.residual is None or op.addition is None:
        return False
    changed = op.requantize is not None or op.pool is not None or op.activation is not None
    return not changed and not op.addition.scales.get_values()


@dataclass(frozen=True)
class TileForm:
    """What the op of one tile has of its own, beside its operands.

    `rows` and `columns`: the pads of its windows; None if the loop is not cut. `groups`: its number
    of groups. `opens` and `closes`: whether it computes the first and the last part of the sums.
    `channel`: the first channel of the destination that it computes.
    """

    rows: Pads | None
    columns: Pads | None
    groups: int
    opens: bool
    closes: bool
    channel: int


def tile_layer(op: LayerOp, form: TileForm, inputs: Sequence[SSAValue], out: SSAValue) -> LayerOp:
    """The op that computes one tile of a layer from `inputs` into `out`."""
    match op:
        case Conv2dOp():
            new = tile_conv(op, form, inputs, out)
        case FullyConnectedOp():
            new = started(op, form, inputs, out)
            if not form.closes:
                new.change_epilogue(activation=None)
        case PoolOp():
            new = op.rebuilt(inputs, out)
            new.pads = int_array(new_pads(int_values(op.pads), form, 0))
        case PickOp():
            new = tile_pick(op, inputs, out)
        case _:
            new = op.rebuilt(inputs, out)
    take_channels(new, form.channel)
    return new


LinearT = TypeVar("LinearT", Conv2dOp, FullyConnectedOp)


def started(op: LinearT, form: TileForm, inputs: Sequence[SSAValue], out: SSAValue) -> LinearT:
    """The layer with its bias for the first part of the sums; later parts add to the sums.

    A residual is added with the first part, and the activation of the sum with the last one.
    """
    if form.opens:
        return op.rebuilt(inputs, out)
    new = type(op)(inputs[0], inputs[1], None, out, accumulate=True)
    kept = ("operandSegmentSizes", "accumulate")
    new.properties.update({k: v for k, v in op.properties.items() if k not in kept})
    new.attributes.update(op.attributes)
    return new


def tile_conv(op: Conv2dOp, form: TileForm, inputs: Sequence[SSAValue], out: SSAValue) -> Conv2dOp:
    """The op that computes one tile of a convolution."""
    new = started(op, form, inputs, out)
    if op.residual is not None and not form.opens:
        new.change_epilogue(addition=None, sum_activation=None, activation=op.parts.sum_activation)
    if not form.closes:
        new.change_epilogue(activation=None, sum_activation=None)
    new.groups = IntegerAttr(form.groups, i64)
    new.pads = int_array(new_pads(int_values(op.pads), form, 0))
    if op.pool is not None:
        pool = with_pads(op.pool, new_pads(int_values(op.pool.pads), form, 1))
        new.change_epilogue(pool=pool)
    return new


def new_pads(pads: Sequence[int], form: TileForm, window: int) -> tuple[int, ...]:
    """Pads (top, left, bottom, right) of a tile for one window; `pads` are those of the layer.

    `window`: 0 for the kernel, 1 for a fused pool. Along a loop that is not cut the pads stay.
    """
    top, left, bottom, right = pads
    if form.rows is not None:
        top, bottom = form.rows[window]
    if form.columns is not None:
        left, right = form.columns[window]
    return top, left, bottom, right


def with_pads(pool: PoolAttr, pads: Sequence[int]) -> PoolAttr:
    """The same pooling window with other pads (top, left, bottom, right)."""
    return PoolAttr.of(
        pool.kind.data,
        int_values(pool.kernel),
        int_values(pool.strides),
        pads,
        int_values(pool.dilations),
        ceil_mode=bool(pool.ceil_mode),
        count_include_pad=bool(pool.count_include_pad),
    )
