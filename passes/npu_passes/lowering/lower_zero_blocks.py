"""Lower the pruning of zero blocks to loops over the blocks of a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from npu_dialect.npu import PruneZeroBlocksOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_dialect.windows import Axis
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.integers import load, store
from npu_passes.support.loop_builder import Index, LoopBuilder

i1 = IntegerType(1)


def lower_prune_zero_blocks(
    b: LoopBuilder, op: PruneZeroBlocksOp, out: SSAValue, _: LoopOptions
) -> None:
    """Build the loops: a block whose elements are all below the threshold becomes zero.

    Other blocks are copied; in place, they are left unchanged.
    """
    source, axes = op.input, op.axes()
    quantised = map_type(source).get_element_type() in BYTE_TYPES
    bound = b.integer(int(op.bound)) if quantised else b.real(op.bound)
    zero = b.integer(op.zero) if quantised else b.real(0.0)
    true = b.integer(1, i1)
    images, channels = shape_of(source)[:2]

    def block(at: tuple[Index, ...]) -> None:
        ranges = [limits(b, axis, index) for axis, index in zip(axes, at[2:], strict=True)]

        def below(y: Index, x: Index, flag: Sequence[SSAValue]) -> list[SSAValue]:
            value = load(b, source, (*at[:2], y, x))
            less = b.compared(value, bound, "olt", "slt")
            return [b.insert(arith.AndIOp(flag[0], less), "below").result]

        def drop(y: Index, x: Index, _: Sequence[SSAValue]) -> tuple[()]:
            store(b, zero, out, (*at[:2], y, x))
            return ()

        def keep(y: Index, x: Index, _: Sequence[SSAValue]) -> tuple[()]:
            b.store(b.load(source, (*at[:2], y, x)), out, (*at[:2], y, x))
            return ()

        flag = grid(b, ranges, below, [true])[0]
        copy = None if source is out else lambda: grid(b, ranges, keep)
        b.choose(flag, lambda: grid(b, ranges, drop), copy)

    hints = ("n", "c", "by", "bx")
    for_each(b, (images, channels, *(axis.outputs for axis in axes)), block, hints)


def limits(b: LoopBuilder, axis: Axis, index: Index) -> tuple[Index, Index]:
    """First index and end (excluded) of a block along an axis."""
    low = b.mul(index, axis.stride)
    high = b.add(low, axis.kernel)
    return low, b.least(high, axis.size) if axis.after else high


def grid(
    b: LoopBuilder,
    ranges: Sequence[tuple[Index, Index]],
    body: Callable[[Index, Index, Sequence[SSAValue]], Sequence[SSAValue]],
    carried: Sequence[SSAValue] = (),
) -> tuple[SSAValue, ...]:
    """Build the loops over the elements of a block, row by row."""
    (top, bottom), (left, right) = ranges

    def row(y: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return b.loop(left, right, lambda x, each: body(y, x, each), values, hint="x")

    return b.loop(top, bottom, row, carried, hint="y")
