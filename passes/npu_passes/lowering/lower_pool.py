"""Lower pooling layers to loops: interior windows are unrolled, the others are clipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.layers import GlobalMaxPool2dOp, GlobalPoolOp, PoolOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.lowering.vector_pool import VectorPool
from npu_passes.support.common import (
    LoopOptions,
    counted_taps,
    for_each,
    is_stored_by_rows,
    tap_range,
    walk,
    walk_inner,
    walk_points,
    walk_row,
    window_start,
)
from npu_passes.support.integers import element_of, load, store
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import interior


@dataclass(frozen=True)
class PoolLowering:
    """Builds the loops of one pooling layer."""

    b: LoopBuilder
    input: SSAValue
    out: SSAValue
    pool: PoolAttr
    options: LoopOptions

    def build(self) -> None:
        """Build loops over images and channels, and inside them over the pooled outputs.

        If the output is stored row by row, the loop over channels is inside that over rows.
        """
        b = self.b
        images, channels, height, width = shape_of(self.input)
        rows, columns = self.pool.axes(height, width)

        spans = interior(rows, None), interior(columns, None)

        def points(*at: Index) -> Callable[[Index, Index], None]:
            return lambda y, x: self.point(at, rows, columns, y, x)

        def blocks(*at: Index) -> Callable[[Index, Index, int], None]:
            return lambda y, x, _: self.block(at, rows, columns, y, x)

        def one_row(image: Index, y: Index) -> None:
            def inner(at: tuple[Index, ...]) -> None:
                walk_inner(b, spans[1], 1, y, blocks(image, *at), points(image, *at))

            def outer(at: tuple[Index, ...]) -> None:
                walk_points(b, 0, spans[1].total, y, points(image, *at))

            each, names = (channels,), ("c",)
            walk_row(
                b,
                *spans,
                y,
                lambda: for_each(b, each, inner, names),
                lambda: for_each(b, each, outer, names),
            )

        if any(is_stored_by_rows(each) for each in (self.input, self.out)):
            order, names = (images, spans[0].total), ("n", "oy")
            for_each(b, order, lambda at: one_row(*at), names)
        else:
            order, names = (images, channels), ("n", "c")
            for_each(b, order, lambda at: walk(b, *spans, 1, blocks(*at), points(*at)), names)

    def fold(self, best: SSAValue, value: SSAValue) -> SSAValue:
        """The maximum or sum so far, with one more value."""
        if self.pool.is_max:
            return self.b.raised(best, value, "best")
        return self.b.addf(best, value, "total")

    def block(
        self, channel: tuple[Index, ...], rows: Axis, columns: Axis, y: Index, x: Index
    ) -> None:
        """Compute one output whose window lies inside the map, unrolled unless it is too large."""
        b = self.b
        count = rows.kernel * columns.kernel
        if count > self.options.unroll:
            self.point(channel, rows, columns, y, x)
            return
        start = (
            *channel,
            window_start(b, rows, y, "iy"),
            window_start(b, columns, x, "ix"),
        )
        patch = b.window(self.input, start, (1, 1, rows.reach, columns.reach), (2, 3), "patch")
        taps = [
            (ky * rows.dilation, kx * columns.dilation)
            for ky in range(rows.kernel)
            for kx in range(columns.kernel)
        ]
        best = load(b, patch, taps[0], "x")
        for tap in taps[1:]:
            best = self.fold(best, load(b, patch, tap, "x"))
        if not self.pool.is_max:
            best = b.divf(best, b.real(float(count)))
        store(b, best, self.out, (*channel, y, x))

    def point(
        self, channel: tuple[Index, ...], rows: Axis, columns: Axis, y: Index, x: Index
    ) -> None:
        """Compute one output at any place; taps on padding are left out."""
        b = self.b
        iy, ix = window_start(b, rows, y, "iy"), window_start(b, columns, x, "ix")
        row_taps, column_taps = tap_range(b, rows, y), tap_range(b, columns, x)

        def tap(ky: Index, kx: Index, best: Sequence[SSAValue]) -> list[SSAValue]:
            at = (
                *channel,
                b.add(iy, b.mul(ky, rows.dilation)),
                b.add(ix, b.mul(kx, columns.dilation)),
            )
            return [self.fold(best[0], load(b, self.input, at))]

        def row(ky: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return b.loop(*column_taps, lambda kx, s: tap(ky, kx, s), best, hint="kx")

        integers = element_of(self.input) != f32
        type_ = i32 if integers else f32
        start = b.number(-inf if self.pool.is_max else 0.0, type_)
        best = b.loop(*row_taps, row, [start], hint="ky", carry="best")[0]
        if not self.pool.is_max:
            if self.pool.includes_pad:
                counts = counted_taps(b, rows, y), counted_taps(b, columns, x)
            else:
                counts = b.sub(row_taps[1], row_taps[0]), b.sub(column_taps[1], column_taps[0])
            best = b.divf(best, b.to_real(b.mul(*counts)))
        store(b, best, self.out, (*channel, y, x))


def lower_pool(b: LoopBuilder, op: PoolOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of a pooling layer."""
    lower_windows(b, op.input, out, op.window(), options)


def lower_windows(
    b: LoopBuilder, map: SSAValue, out: SSAValue, pool: PoolAttr, options: LoopOptions
) -> None:
    """Build the loops of a pool, over vectors of channels where it has them."""
    lowering = VectorPool if VectorPool.fits(map, out, pool, options) else PoolLowering
    lowering(b, map, out, pool, options).build()


def lower_global_pool(
    b: LoopBuilder, op: GlobalPoolOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops of a global pooling layer: one window that covers the map."""
    _, _, height, width = shape_of(op.input)
    kind = "max" if isinstance(op, GlobalMaxPool2dOp) else "avg"
    pool = PoolAttr.of(kind, (height, width), (1, 1))
    lower_windows(b, op.input, out, pool, options)
