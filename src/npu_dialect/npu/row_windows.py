"""Which layers can run row by row, and which rows of their maps they need for one output row.

A row of a map is all its elements with the same index along the last axis but one: a row of pixels
of [N, C, H, W], a row of each matrix of [..., M, K]. The layer reads one map, the streamed one,
row by row. Its other maps are whole: it reads them row by row too, or all of them for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from xdsl.ir import SSAValue

from npu_dialect.computing import Domain, Index
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    AvgPool2dOp,
    BatchNormOp,
    ComputedOp,
    Conv2dOp,
    DequantizeOp,
    FullyConnectedOp,
    LrnOp,
    MapOp,
    MatmulOp,
    NormalizeOp,
    PickOp,
    PoolOp,
    PruneZeroBlocksOp,
    QuantizeOp,
    RequantizeOp,
    ResampleOp,
    ReshapeOp,
    SoftmaxOp,
)
from npu_dialect.npu.maps import shape_of
from npu_dialect.resampling import Axis as Resampled
from npu_dialect.runs import Run, length_of
from npu_dialect.windows import Axis

CHANNELS = 1
"""The axis of channels of a map [N, C, ...]."""


@dataclass(frozen=True)
class RowWindow:
    """The rows of its IFM (of `height` rows) that a layer needs for a row of its OFM (of `rows`).

    Output row r needs the `reach` input rows from `r // each * stride - before` on; those outside
    `[0, height)` are padding, or with `edges` copies of the row at the edge.
    """

    height: int
    rows: int
    reach: int
    stride: int
    before: int
    each: int = 1
    edges: bool = False

    @property
    def padded(self) -> bool:
        """Whether some output row needs padding."""
        return self.before > 0 or self.end(self.rows) > self.height

    @property
    def is_one(self) -> bool:
        """Whether each output row needs the input row with the same index, and no other."""
        return self == RowWindow(self.height, self.height, 1, 1, 0)

    def needed(self, outputs: int) -> int:
        """How many rows of the IFM the first `outputs` rows of the OFM need."""
        return min(self.height, self.end(outputs))

    def end(self, outputs: int) -> int:
        """The row behind the last one that the first `outputs` rows of the OFM need."""
        return (outputs - 1) // self.each * self.stride - self.before + self.reach

    @staticmethod
    def of(axis: Axis) -> RowWindow:
        """The rows that a sliding window needs."""
        return RowWindow(axis.size, axis.outputs, axis.reach, axis.stride, axis.before)


WHOLE = RowWindow(0, 0, 0, 0, 0)
"""All rows of a map, whatever the output row."""


def row_axis(value: SSAValue) -> int:
    """The axis of rows of a map: the last but one. Negative if it has fewer than two axes."""
    return len(shape_of(value)) - 2


def row_window(
    layer: LayerOp, value: SSAValue | None = None, *, skips: bool = False
) -> RowWindow | None:
    """The rows of a map that a layer needs for one output row; None if it cannot run row by row.

    Without `value` it is the first map that can be streamed. A layer with a sliding window can if
    padding row by row gives the same result as its own padding: zeros for a convolution, no
    elements for a maximum, and zeros for an average that counts its padding. A layer that picks
    rows can if they are neighbours in order, each the same number of times. One that skips rows, as
    a 1x1 convolution with stride 2 does, only can with `skips`.
    """
    if value is None:
        windows = (row_window(layer, each, skips=skips) for each in layer.maps)
        return next((window for window in windows if window is not None), None)
    if value not in layer.maps or (layer.inputs.count(value) > 1 and not layer.ELEMENTWISE):
        return None
    if isinstance(layer, Conv2dOp | PoolOp):
        if len(layer.maps) != 1 or len(shape_of(value)) != 4:
            return None
        window = conv_window(layer) if isinstance(layer, Conv2dOp) else pool_window(layer)
        passed_over = window is not None and window.stride > window.reach
        return None if passed_over and not skips else window
    if isinstance(layer, ComputedOp):
        return computed_window(layer, value)
    if isinstance(layer, PickOp):
        return pick_window(layer)
    if isinstance(layer, ResampleOp):
        return resample_window(layer)
    axis, shape, result = row_axis(value), shape_of(value), shape_of(layer.output)
    if axis < 0 or len(shape) != len(result) or shape[axis] != result[axis]:
        return None
    if (shape[axis] < 2 and len(shape) != 4) or not keeps_rows_apart(layer, value, axis):
        return None
    return RowWindow(shape[axis], shape[axis], 1, 1, 0)


def keeps_rows_apart(layer: LayerOp, value: SSAValue, axis: int) -> bool:
    """Whether an output row of a layer without windows needs only that row of a map.

    `axis`: the axis of rows. A number for each channel must not lie along it.
    """
    match layer:
        case MatmulOp():
            return value is layer.lhs
        case FullyConnectedOp():
            return value is layer.input
        case SoftmaxOp():
            return layer.axis.value.data != axis
        case NormalizeOp():
            rows = [shape_of(each)[-2:-1] for each in layer.inputs[1:]]
            return axis not in int_values(layer.axes) and all(each in ((), (1,)) for each in rows)
        case BatchNormOp() | LrnOp():
            return axis != CHANNELS
        case DequantizeOp() | RequantizeOp():
            return axis != CHANNELS or len(float_values(layer.scales)) == 1
        case MapOp():
            return axis != CHANNELS or not layer.function.has_channels
        case PruneZeroBlocksOp():
            return layer.size == 1
        case QuantizeOp():
            return True
        case _:
            return layer.ELEMENTWISE


def reads_row(layer: LayerOp, value: SSAValue, side: SSAValue) -> bool:
    """Whether a layer that streams `value` needs only one row of another map for an output row."""
    if side in layer.parameter_inputs or row_axis(side) < 0:
        return False
    if isinstance(layer, ComputedOp):
        window = rows_at(layer, side)
        return window is not None and window is not WHOLE and window.is_one
    if not layer.ELEMENTWISE:
        return False
    return shape_of(side)[-2] == shape_of(value)[-2]


def computed_window(layer: ComputedOp, value: SSAValue) -> RowWindow | None:
    """The rows that an op of another dialect needs of a map: those of a window, by its indices.

    None if it needs others, or if it reads rows of a further map that are no single ones.
    """
    windows = {each: rows_at(layer, each) for each in layer.inputs}
    found = windows.pop(value)
    if found is None or found is WHOLE or found.stride > found.reach:
        return None
    fits = (each is not None and (each is WHOLE or each.is_one) for each in windows.values())
    return found if all(fits) else None


def rows_at(layer: ComputedOp, value: SSAValue) -> RowWindow | None:
    """The rows of a map for an output row, or `WHOLE`; None if it is not known."""
    domain, found = layer.inner.domain, set[RowWindow | None]()
    if domain is None or row_axis(layer.output) < 0:
        return None
    line = domain.index(-1, row_axis(layer.output), shape_of(layer.output)[-2])
    if line.steps is None or list(line.steps.values()) != [1] or line.shift:
        return None
    (row,) = line.steps
    for place in layer.positions(value):
        indices = [domain.index(place, axis, n) for axis, n in enumerate(shape_of(value))]
        axes = [axis for axis, index in enumerate(indices) if row in index.dims]
        if not axes:
            found.add(WHOLE)
        elif axes != [row_axis(value)]:
            found.add(None)
        else:
            found.add(window_at(indices[axes[0]], row, domain))
    return found.pop() if len(found) == 1 else None


def window_at(index: Index, row: int, domain: Domain) -> RowWindow | None:
    """The window of rows that an index slides over, if it is one, as dimension `row` goes on."""
    steps = dict(index.steps or {})
    stride = steps.pop(row, 0)
    if index.steps is None or index.shift or stride < 1 or len(steps) > 1:
        return None
    reach = 1
    for taps, dilation in steps.items():
        if taps not in domain.sums or dilation < 1:
            return None
        reach += (domain.extents[taps] - 1) * dilation
    return RowWindow(index.extent, domain.extents[row], reach, stride, 0)


def conv_window(layer: Conv2dOp) -> RowWindow | None:
    """The rows that a convolution with its fused pooling window needs.

    None if pooling windows overlap or reach into padding.
    """
    rows, columns = layer.axes()
    if layer.pool is None:
        return RowWindow.of(rows)
    pool, _ = layer.pool.axes(rows.outputs, columns.outputs)
    inside = pool.start(pool.outputs - 1) + pool.reach <= pool.size
    if layer.pool.overlaps or pool.before or not inside:
        return None
    reach = (pool.reach - 1) * rows.stride + rows.reach
    return RowWindow(rows.size, pool.outputs, reach, pool.stride * rows.stride, rows.before)


def pool_window(layer: PoolOp) -> RowWindow | None:
    """The rows that a pooling layer needs.

    None for a padded average, unless it counts its padding and has no `ceil_mode`.
    """
    _, _, height, width = shape_of(layer.input)
    pool = layer.window()
    window = RowWindow.of(pool.axes(height, width)[0])
    if isinstance(layer, AvgPool2dOp) and window.padded:
        counts = pool.includes_pad and not pool.ceil_mode
        return window if counts else None
    return window


def pick_window(layer: PickOp) -> RowWindow | None:
    """The rows that a layer needs that picks neighbours in order, with rows of `fill` around.

    None if it picks others, leaves out the first row, or repeats rows and has such rows above them.
    """
    axis = row_axis(layer.input)
    if axis < 0 or len(shape_of(layer.input)) != 4:
        return None
    height = shape_of(layer.input)[axis]
    runs = layer.runs.get(axis, (Run(0, height),))
    inner = [run for run in runs if not run.is_none]
    if len(inner) != 1 or (inner[0].count > 1 and inner[0].step != 1):
        return None
    (run,), place = inner, runs.index(inner[0])
    above, below = length_of(runs[:place]), length_of(runs[place + 1 :])
    if run.start or (above and run.each > 1) or (below and run.last != height - 1):
        return None
    return RowWindow(height, length_of(runs), 1, 1, above, run.each)


def resample_window(layer: ResampleOp) -> RowWindow | None:
    """The rows that a linear interpolation needs that makes each row a whole number of rows.

    None for other interpolations of rows. One of columns alone needs a row for a row.
    """
    axis, shape = row_axis(layer.input), shape_of(layer.input)
    if len(shape) != 4:
        return None
    height, rows = shape[axis], layer.by_axis.get(axis)
    if rows is None:
        return RowWindow(height, height, 1, 1, 0)
    places = phases_of(rows)
    if not places:
        return None
    special = layer.cubic is not None or layer.fill is not None or rows.width != 1
    if special or layer.exclude_outside is not None or rows.size != height * len(places):
        return None
    if not all(-1 <= place <= 1 for place in places):
        return None
    before = int(min(places) < 0)
    return RowWindow(
        height, rows.size, ceil(max(places)) + 1 + before, 1, before, len(places), edges=True
    )


def phases_of(axis: Resampled) -> list[float]:
    """The positions of the output rows that belong to an input row, counted from that row.

    None of them if an input row does not belong to a whole number of output rows.
    """
    count = round(1 / axis.scale) if 0 < axis.scale <= 1 else 0
    if count and axis.scale * count != 1:
        return []
    return [axis.scale * place + axis.offset for place in range(count)]


def regrouped(value: SSAValue) -> SSAValue:
    """The map behind reshapes that keep its rows, such as [1, M, K] as [M, K].

    Each of these maps has no other user.
    """
    while isinstance(view := value.owner, ReshapeOp) and value.has_one_use():
        if shape_of(view.input)[-2:] != shape_of(value)[-2:] or row_axis(view.input) < 0:
            break
        value = view.input
    return value
