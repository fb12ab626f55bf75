"""Helpers of the lowerings of single layers: tap ranges, activations, walks over a grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Literal

import numpy as np
from xdsl.dialects.builtin import MemRefType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from npu_dialect.dsp import FLOAT_REGISTERS
from npu_dialect.npu.pointwise import ActivationAttr
from npu_dialect.windows import Axis
from npu_passes.support.loop_builder import Index, LoopBuilder, is_gapless, memref_type
from npu_passes.support.symbols import TakenNames
from npu_plans.kernels.conv_plan import Ends, Span


@dataclass(frozen=True)
class LoopOptions:
    """The options of `npu-lower-to-loops`, as the lowerings of single layers need them.

    `registers`: how many floating-point values the core holds at once. `integer_registers`: those
    of its arithmetic on integers, 0 if unknown. `unroll`: the most multiply-accumulates in
    straight-line code. `features`: the machine's instruction-set
    extensions. `flash`: whether weights may take more flash to save instructions (`fast`) or not
    (`small`). `users`: the ops that refer to each symbol. `taken`: the names of symbols.
    """

    registers: int
    unroll: int
    features: tuple[str, ...] = ()
    flash: str = "fast"
    users: Mapping[str, Sequence[Operation]] = field(default_factory=dict[str, list[Operation]])
    taken: TakenNames = field(default_factory=TakenNames)
    integer_registers: int = 0

    @property
    def rounds(self) -> bool:
        """Whether the core rounds a float32 to an integer in one instruction."""
        return "dsp" in self.features and self.registers > 0

    @property
    def has_floats(self) -> bool:
        """Whether the core computes with floats; else each operation is a function of a library."""
        return self.registers > 0

    @property
    def loads_floats(self) -> bool:
        """Whether the core loads several registers for floats in one instruction."""
        return loads_floats(self.features, self.registers)

    @property
    def words(self) -> Literal["wide", "narrow"]:
        """How weights for dual multiply-accumulates are stored: 16 bits (wide), 8 bits (narrow)."""
        return "wide" if self.flash == "fast" else "narrow"


def loads_floats(features: Sequence[str], registers: int) -> bool:
    """Whether a machine's kernels of floats use `dsp.load_floats`. Those on vectors do not."""
    return "dsp" in features and "mve" not in features and registers >= FLOAT_REGISTERS


def window_start(b: LoopBuilder, axis: Axis, position: Index, hint: str | None = None) -> Index:
    """Input index of the first tap at a window position."""
    return b.sub(b.mul(position, axis.stride, hint), axis.before, hint)


def tap_range(b: LoopBuilder, axis: Axis, position: Index) -> tuple[Index, Index]:
    """Half-open range of the taps on real input at a window position."""
    if isinstance(position, int):
        return axis.taps(position)
    start = window_start(b, axis, position)
    low: Index = 0
    high: Index = axis.kernel
    if axis.before > 0:
        low = b.most(b.ceil_div(b.sub(0, start), axis.dilation), 0)
    if axis.start(axis.outputs - 1) + axis.reach > axis.size:
        high = b.least(b.ceil_div(b.sub(axis.size, start), axis.dilation), axis.kernel)
    return low, high


def counted_taps(b: LoopBuilder, axis: Axis, position: Index) -> Index:
    """Taps on real input or explicit padding at a window position."""
    if isinstance(position, int):
        return axis.counted(position)
    if axis.start(axis.outputs - 1) + axis.reach <= axis.size + axis.after:
        return axis.kernel
    start = window_start(b, axis, position)
    room = b.sub(axis.size + axis.after, start)
    return b.least(b.ceil_div(room, axis.dilation), axis.kernel)


def activate(b: LoopBuilder, value: SSAValue, activation: ActivationAttr | None) -> SSAValue:
    """Apply bounds, if there are any. NaN stays NaN, as in onnxruntime."""
    if activation is None:
        return value
    low, high = activation.bounds
    hint = value.name_hint
    if value.type == i32:
        low, high = np.ceil(low), np.floor(high)
    if low != -inf:
        value = b.at_least(value, b.number(low, value.type), hint)
    if high != inf:
        value = b.at_most(value, b.number(high, value.type), hint)
    return value


Visit = Callable[[Index, Index, int], None]
"""Visits some outputs of a row: the row, the first column, the number of columns."""

VisitBlock = Callable[[Index, int], None]
"""Visits some outputs along an axis: the first one, and how many."""


def walk(
    b: LoopBuilder,
    rows: Span,
    columns: Span,
    width: int,
    block: Visit,
    point: Callable[[Index, Index], None],
    edge: Visit | None = None,
    beside: Callable[[Index, Index], None] | None = None,
    ends: Ends | None = None,
) -> None:
    """Visit all output positions: blocks of `width` columns in the interior, points at the border.

    The interior is `rows.low` to `rows.high` times `columns.low` to `columns.high`. `block` gets a
    row, its first column and its number of columns, which is smaller for the last block of a row.
    `edge` does the same in rows above and below the interior; without it, all are points there.
    `beside` computes a point in a row of the interior. With `ends`, the columns at both ends of a
    row are blocks, too, which need an `edge`; their columns are known.
    """

    def outer(row: Index) -> None:
        if edge is None or (columns.empty and ends is None):
            walk_points(b, 0, columns.total, row, point)
        else:
            walk_inner(b, columns, width, row, edge, point, ends)

    def one_row(row: Index) -> tuple[()]:
        walk_row(
            b,
            rows,
            columns,
            row,
            lambda: walk_inner(b, columns, width, row, block, beside or point, ends),
            lambda: outer(row),
            ends,
        )
        return ()

    b.loop(0, rows.total, lambda row, _: one_row(row), hint="oy")


def walk_row(
    b: LoopBuilder,
    rows: Span,
    columns: Span,
    row: Index,
    inner: Callable[[], None],
    outer: Callable[[], None],
    ends: Ends | None = None,
) -> None:
    """Visit a row of outputs: `inner` if it crosses the interior, else `outer`."""

    def visited(visit: Callable[[], None]) -> tuple[()]:
        visit()
        return ()

    if rows.empty or (columns.empty and ends is None):
        outer()
    elif rows.whole or isinstance(row, int):  # a known row is the only one
        inner()
    else:
        inside = b.between(row, rows.low, rows.high)
        b.choose(inside, lambda: visited(inner), lambda: visited(outer))


def walk_inner(
    b: LoopBuilder,
    columns: Span,
    width: int,
    row: Index,
    block: Visit,
    point: Callable[[Index, Index], None],
    ends: Ends | None = None,
) -> None:
    """Visit a row of outputs that crosses the interior; see `walk`."""
    if ends is None:
        walk_points(b, 0, columns.low, row, point)
        walk_blocks(b, columns.low, columns.high, width, partial(block, row))
        walk_points(b, columns.high, columns.total, row, point)
    else:
        walk_ends(b, columns, width, partial(block, row), ends)


def walk_ends(
    b: LoopBuilder, outputs: Span, width: int, block: VisitBlock, ends: Ends, hint: str = "ox"
) -> None:
    """Visit the outputs along an axis: the blocks at both ends, and between them blocks of `width`.

    Where the blocks at the ends begin is known.
    """
    low, high = ends.middle(outputs)
    for first, count in ends.blocks(0, ends.left):
        block(first, count)
    walk_blocks(b, low, high, width, block, hint)
    for first, count in ends.blocks(high, ends.right):
        block(first, count)


def walk_blocks(
    b: LoopBuilder, low: int, high: int, width: int, block: VisitBlock, hint: str = "ox"
) -> None:
    """Visit the outputs along an axis from `low` up to `high` in blocks of `width`."""
    even = (high - low) // width * width

    def body(first: Index, _: Sequence[SSAValue]) -> tuple[()]:
        block(first, width)
        return ()

    b.loop(low, low + even, body, step=width, hint=hint)
    if low + even < high:
        block(low + even, high - low - even)


def walk_points(
    b: LoopBuilder, low: int, high: int, row: Index, point: Callable[[Index, Index], None]
) -> None:
    """Visit the outputs of a row from column `low` up to `high`, one by one."""

    def body(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
        point(row, column)
        return ()

    b.loop(low, high, body, hint="ox")


def is_stored_by_rows(value: SSAValue) -> bool:
    """Whether a map [N, C, H, W] is stored as [N, H, C, W], with gaps or without."""
    type_ = memref_type(value)
    strides = type_.get_strides()
    if strides is None or type_.get_num_dims() != 4:
        return False
    (_, channels, height, _), (_, channel, row, step) = type_.get_shape(), strides
    return channels > 1 < height and step == 1 and (row or 0) > (channel or row or 0)


LOOP_NAMES = ("i", "j", "k", "l", "m")
"""Names of the loops of a nest, from the outermost one on."""


def loop_name(depth: int, names: Sequence[str] = LOOP_NAMES) -> str:
    """The name of the loop with `depth` loops around it."""
    return names[depth] if depth < len(names) else f"i{depth}"


def for_each(
    b: LoopBuilder,
    shape: Sequence[int],
    body: Callable[[tuple[Index, ...]], None],
    hints: Sequence[str] = LOOP_NAMES,
) -> None:
    """A loop nest over all indices of a shape."""

    def nest(prefix: tuple[Index, ...]) -> tuple[()]:
        axis = len(prefix)
        if axis == len(shape):
            body(prefix)
            return ()
        hint = loop_name(axis, hints)
        b.loop(0, shape[axis], lambda index, _: nest((*prefix, index)), hint=hint)
        return ()

    nest(())


def vectors(b: LoopBuilder, buffers: Sequence[SSAValue]) -> tuple[SSAValue, ...] | None:
    """All buffers as views of one axis, if all are gapless with the same strides; else None.

    The same index then means the same element in each of them.
    """
    types = [memref_type(buffer) for buffer in buffers]
    alike = len({steps_of(type_) for type_ in types}) == 1
    if not alike or not all(is_gapless(type_) for type_ in types):
        return None
    seen: dict[SSAValue, SSAValue] = {}
    for buffer in buffers:
        if buffer not in seen:
            seen[buffer] = b.flat(buffer, buffer.name_hint)
    return tuple(seen[buffer] for buffer in buffers)


def steps_of(type_: MemRefType[Attribute]) -> tuple[tuple[int, int | None], ...]:
    """The axes of a buffer with more than one element, by number, and their strides."""
    strides = enumerate(type_.get_strides() or ())
    return tuple((i, step) for i, step in strides if type_.get_shape()[i] != 1)
