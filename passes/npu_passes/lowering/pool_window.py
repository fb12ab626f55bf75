"""The pooling window of a convolution: loops over it, and the reduction of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from npu_dialect.npu import Conv2dOp, PoolAttr
from npu_dialect.windows import Axis
from npu_passes.analysis.affine_index import constant_of
from npu_passes.lowering.epilogue import Epilogue
from npu_passes.support.common import counted_taps, tap_range
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import ConvPlan

MOST_CONDITIONS = 2
"""The most windows that are visited by a condition for each."""


@dataclass(frozen=True)
class PoolWindow:
    """Builds the pooling of a convolution's values."""

    b: LoopBuilder
    op: Conv2dOp
    plan: ConvPlan
    epilogue: Epilogue

    @property
    def pool(self) -> PoolAttr:
        """The pooling window; the convolution must have one."""
        assert self.op.pool is not None
        return self.op.pool

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """The pooling windows along rows and columns; the convolution must have some."""
        assert self.plan.pool is not None
        return self.plan.pool

    def run_over(
        self,
        rows: tuple[Index, Index],
        columns: tuple[Index, Index],
        body: Callable[[Index, Index, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> SSAValue:
        """Build loops over a pooling window that carry the maximum or sum; returns the result."""
        b, start = self.b, self.lowest()

        def one_row(wy: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return b.loop(*columns, lambda wx, s: body(wy, wx, s), best, hint="wx")

        return b.loop(*rows, one_row, [start], hint="wy", carry="best")[0]

    def lowest(self) -> SSAValue:
        """The maximum or sum of nothing."""
        return self.epilogue.lowest() if self.pool.is_max else self.b.real(0.0)

    def folded(self, best: SSAValue, value: SSAValue) -> SSAValue:
        """The maximum or sum so far, with one more convolution value.

        Activation and requantisation are monotone and so commute with a maximum: they are applied
        once, at the end.
        """
        if self.pool.is_max:
            return self.b.raised(best, value, "best")
        return self.b.addf(best, self.epilogue.step(value, 0), "total")

    def finished(self, best: SSAValue, row: Index, column: Index) -> SSAValue:
        """The pooled value from the maximum or sum of a window."""
        if self.pool.is_max:
            return best
        return self.b.divf(best, self.count(row, column))

    def pooled(self, values: Sequence[SSAValue], row: Index, column: Index) -> SSAValue:
        """The pooled value from all values of a window; if some are cut, the column is known."""
        b = self.b
        if not self.pool.is_max:
            values = [self.epilogue.step(value, 0) for value in values]
        best = values[0]
        for value in values[1:]:
            if self.pool.is_max:
                best = b.raised(best, value, "best")
            else:
                best = b.addf(best, value, "total")
        if self.pool.is_max:
            return best
        rows, columns = self.axes
        if len(values) < rows.kernel * columns.kernel:
            return b.divf(best, self.count(row, column))
        return b.divf(best, b.real(float(len(values))))

    def count(self, row: Index, column: Index) -> SSAValue:
        """The number of taps by which the average at a pooled output divides, as a float32."""
        return counted(self.b, self.pool, self.axes, row, column)


def counted(
    b: LoopBuilder, pool: PoolAttr, axes: tuple[Axis, Axis], row: Index, column: Index
) -> SSAValue:
    """The number of taps by which the average at a pooled output divides, as a float32."""
    counts: list[Index] = []
    for axis, position in zip(axes, (row, column), strict=True):
        if pool.includes_pad:
            counts.append(counted_taps(b, axis, position))
        else:
            low, high = tap_range(b, axis, position)
            counts.append(b.sub(high, low))
    return b.to_real(b.mul(counts[0], counts[1]))


def windows_with(
    b: LoopBuilder, axis: Axis, position: Index, body: Callable[[Index], tuple[()]], hint: str
) -> None:
    """Visit the pooling windows along an axis that hold the convolution output `position`."""
    padded = b.add(position, axis.before)
    low = b.quotient(b.most(b.add(padded, axis.stride - axis.reach), 0), axis.stride)
    high = b.least(b.add(b.quotient(padded, axis.stride), 1), axis.outputs)

    def checked(window: Index, _: Sequence[SSAValue]) -> tuple[()]:
        if axis.dilation == 1:
            return body(window)
        distance = b.sub(padded, b.mul(window, axis.stride))
        b.choose(b.divides(distance, axis.dilation), lambda: body(window))
        return ()

    b.loop(low, high, checked, hint=hint)


def few_windows_with(
    b: LoopBuilder, axis: Axis, position: Index, body: Callable[[Index], tuple[()]], hint: str
) -> None:
    """The same by a condition for each window, if an output lies in two at most.

    gcc writes a loop out for each window of the axis, and keeps all of their bounds on the stack.
    """
    count = -(-axis.kernel // axis.stride)
    if isinstance(position, int) or axis.dilation != 1 or count > MOST_CONDITIONS:
        windows_with(b, axis, position, body, hint)
        return
    padded = b.add(position, axis.before)
    last = b.quotient(padded, axis.stride)
    distance = b.sub(padded, b.mul(last, axis.stride))
    for back in range(count):
        window, reached = b.value(b.sub(last, back)), axis.kernel - back * axis.stride

        def one(window: SSAValue = window) -> tuple[()]:
            b.choose(b.between(window, 0, axis.outputs), lambda: body(window))
            return ()

        if reached >= axis.stride:
            one()
        else:
            b.choose(b.between(b.value(distance), 0, reached), one)


def alike(axis: Axis, columns: range, count: int) -> tuple[range, range, range]:
    """The steps of a loop over outputs of a convolution, `count` in each, cut into three parts.

    In the middle one, the windows of a pool that hold these outputs are at the same distances from
    them in all steps (`windows_around`). At the ends of the axis some windows are missing. All
    steps are the middle one where a step does not move by whole windows.
    """
    step = columns.step
    if axis.dilation != 1 or step % axis.stride:
        return columns[:0], columns, columns[:0]

    def held(at: int) -> list[range]:
        moved = (at - columns.start) // axis.stride
        found = (axis.holders(at + number) for number in range(count))
        return [range(each.start - moved, each.stop - moved) for each in found]

    first = behind = len(columns) // 2
    middle = held(columns[first]) if columns else []
    while first > 0 and held(columns[first - 1]) == middle:
        first -= 1
    while behind < len(columns) and held(columns[behind]) == middle:
        behind += 1
    return columns[:first], columns[first:behind], columns[behind:]


def held_by_window(held: Sequence[range]) -> dict[int, list[int]]:
    """For each window, the numbers of the outputs that it holds; `held`: the windows of each."""
    windows = range(min(each.start for each in held), max(each.stop for each in held))
    return {
        window: [number for number, each in enumerate(held) if window in each] for window in windows
    }


@dataclass(frozen=True)
class WindowsAround:
    """The windows of a pool around some neighbouring outputs of a convolution.

    `moved`: the outputs by which a loop has moved, a multiple of the `stride` of windows. `held`:
    the windows of each output in its first step.
    """

    moved: Index
    stride: int
    held: tuple[range, ...]

    def place(self, b: LoopBuilder, size: int) -> Index:
        """How far windows of `size` bytes have moved, without a division if it can be."""
        if size % self.stride == 0:
            return b.mul(self.moved, size // self.stride)
        return b.mul(b.quotient(self.moved, self.stride), size)


def windows_around(b: LoopBuilder, axis: Axis, first: Index, count: int) -> WindowsAround | None:
    """The pooling windows that hold some neighbouring outputs of a convolution, from `first` on.

    None if their distances are not the same in all steps of the loop whose variable `first` is.
    """
    if axis.dilation != 1:
        return None
    if isinstance(first, int):
        held = tuple(axis.holders(first + number) for number in range(count))
        return WindowsAround(0, axis.stride, held)
    loop = first.owner.parent_op() if isinstance(first.owner, Block) else None
    if not isinstance(loop, scf.ForOp) or loop.body.block.args[0] is not first:
        return None
    low, high, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
    if low is None or high is None or step is None or step % axis.stride:
        return None
    columns = range(low, high, step)
    if alike(axis, columns, count)[1] != columns:
        return None
    held = tuple(axis.holders(low + number) for number in range(count))
    return WindowsAround(b.sub(first, low), axis.stride, held)
