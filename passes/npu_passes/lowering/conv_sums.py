"""The sums of a convolution: register blocks in the interior, single outputs at the border."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.lowering.epilogue import Operands
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import Block, ConvPlan


@dataclass(frozen=True)
class Stretch:
    """Rows or columns of the input: the first one, and how many.

    `places`: where the first tap of each output lies, from the first of them on. It may lie beside
    them, on padding, if some taps are cut.
    """

    first: Index
    extent: int
    places: list[int]
    is_cut: bool

    def cut(self, place: Index) -> bool:
        """Whether a tap at some place lies on padding."""
        return self.is_cut and isinstance(place, int) and not 0 <= place < self.extent

    @staticmethod
    def of(
        b: LoopBuilder, axis: Axis, position: Index, places: Sequence[int], hint: str
    ) -> Stretch:
        """What outputs read from a position on, without padding if the position is known.

        `places`: where the first tap of each output lies, from that of the first output on.
        """
        start, extent = window_start(b, axis, position, hint), places[-1] + axis.reach
        if not isinstance(start, int) or (start >= 0 and start + extent <= axis.size):
            return Stretch(start, extent, list(places), is_cut=False)
        first = max(start, 0)
        extent = max(0, min(start + extent, axis.size) - first)
        return Stretch(first, extent, [start + each - first for each in places], is_cut=True)


@dataclass(frozen=True)
class Patch:
    """A part of an input channel, and its elements that are loaded, by row and column."""

    window: SSAValue
    loaded: dict[tuple[int, int], SSAValue]
    columns: Stretch


@dataclass(frozen=True)
class BlockOrigin:
    """The image, first input channel of the group, and first filter of a block of outputs."""

    image: Index
    channel: Index
    filter: Index
    patch: Patch | None = None
    """The inputs of the block, if they are loaded for several blocks of filters at once."""
    rows_inside: bool = False
    """Whether all rows of taps are known to lie on real input."""


@dataclass(frozen=True)
class ConvSums:
    """Builds the sums of one convolution."""

    b: LoopBuilder
    op: Conv2dOp
    plan: ConvPlan
    operands: Operands

    def block(
        self,
        place: BlockOrigin,
        starts: Sequence[SSAValue],
        row: Index,
        column: Index,
        block: Block,
    ) -> list[SSAValue]:
        """Sums of an interior block, unrolled: convolution rows `row + r`, columns `column + c`.

        If the block is a pooling window, neighbours are the pool's `dilation` apart. The sums, and
        their first values `starts`, are ordered by filter, then row, then column. Padding may cut
        kernel columns if the column is known; products with padding are left out.
        """
        b, plan = self.b, self.plan
        row_taps, columns = self.first_taps(block)[0], self.columns_of(column, block)
        if columns.extent == 0:
            return list(starts)
        kernel = (1, 1, plan.rows.kernel, plan.columns.kernel)

        def channels(i: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for offset in range(step):
                sums = one_channel(b.add(i, offset), sums)
            return sums

        def one_channel(i: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            patch = place.patch or self.patch(place, i, row, column, block)
            taps = [
                b.window(self.op.weight, (b.add(place.filter, f), i, 0, 0), kernel, (2, 3), "taps")
                for f in range(block.filters)
            ]
            return self.one_patch(patch, taps, row_taps, columns.places, sums)

        depth, step = shape_of(self.op.weight)[1], plan.channels
        return list(b.loop(0, depth, channels, starts, step=step, hint="ic", carry="acc"))

    def first_taps(self, block: Block) -> tuple[list[int], list[int]]:
        """Rows and columns of a patch at which the first taps of a block's outputs lie."""
        plan = self.plan
        steps = (1, 1)
        if plan.mode == "gather" and plan.pool:
            steps = plan.pool[0].dilation, plan.pool[1].dilation
        rows = [r * steps[0] * plan.rows.stride for r in range(block.rows)]
        return rows, [c * steps[1] * plan.columns.stride for c in range(block.columns)]

    def columns_of(self, column: Index, block: Block) -> Stretch:
        """The columns of the input that a block reads, without those that lie on padding."""
        return Stretch.of(self.b, self.plan.columns, column, self.first_taps(block)[1], "ix")

    def patch(
        self,
        place: BlockOrigin,
        channel: Index,
        row: Index,
        column: Index,
        block: Block,
        *,
        at_once: bool = False,
    ) -> Patch:
        """The inputs of a block in a channel of the group; all are loaded now if `at_once`."""
        b, plan = self.b, self.plan
        row_taps, columns = self.first_taps(block)[0], self.columns_of(column, block)
        y = window_start(b, plan.rows, row, "iy")
        sizes = (1, 1, row_taps[-1] + plan.rows.reach, columns.extent)
        at = (place.image, b.add(place.channel, channel), y, columns.first)
        patch = Patch(b.window(self.op.input, at, sizes, (2, 3), "patch"), {}, columns)
        if at_once:
            kernel = product(range(plan.rows.kernel), range(plan.columns.kernel))
            for (ky, kx), top, left in product(kernel, row_taps, columns.places):
                tap = ky * plan.rows.dilation + top, kx * plan.columns.dilation + left
                if not columns.cut(tap[1]):
                    self.load_once(patch.window, tap, patch.loaded)
        return patch

    def one_patch(
        self,
        patch: Patch,
        taps: Sequence[SSAValue],
        row_taps: Sequence[int],
        column_taps: Sequence[int],
        sums: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Add the products of one input channel's patch and the taps of each filter to the sums."""
        b, plan, places = self.b, self.plan, (row_taps, column_taps)
        if plan.unroll.rows:
            for ky in range(plan.rows.kernel):
                sums = self.row_of_taps(patch, taps, ky, places, patch.loaded, sums)
            return sums

        def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.row_of_taps(patch, taps, ky, places, {}, sums)

        return b.loop(0, plan.rows.kernel, one_row, sums, hint="ky")

    def row_of_taps(
        self,
        patch: Patch,
        taps: Sequence[SSAValue],
        ky: Index,
        places: tuple[Sequence[int], Sequence[int]],
        loaded: dict[tuple[int, int], SSAValue],
        sums: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Add the products of a row of taps; `places` are those of each output in the patch."""
        b, plan = self.b, self.plan

        def one_tap(
            kx: Index, loaded: dict[tuple[int, int], SSAValue], sums: list[SSAValue]
        ) -> None:
            row, column = b.mul(ky, plan.rows.dilation), b.mul(kx, plan.columns.dilation)
            if all(patch.columns.cut(b.add(column, x)) for x in places[1]):
                return
            weights = [self.operands.weight(b.load(tap, (ky, kx), "w")) for tap in taps]
            for position, (weight, y, x) in enumerate(product(weights, *places)):
                if patch.columns.cut(b.add(column, x)):
                    continue
                value = self.load_once(patch.window, (b.add(row, y), b.add(column, x)), loaded)
                sums[position] = b.mac(sums[position], value, weight)

        if plan.unroll.columns:
            current = list(sums)
            for kx in range(plan.columns.kernel):
                one_tap(kx, loaded, current)
            return current

        def body(kx: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            current = list(sums)
            one_tap(kx, {}, current)
            return current

        return b.loop(0, plan.columns.kernel, body, sums, hint="kx")

    def edge(
        self,
        place: BlockOrigin,
        starts: Sequence[SSAValue],
        row: Index,
        column: Index,
        block: Block,
    ) -> list[SSAValue]:
        """As `block`, of a row in which padding cuts kernel rows."""
        b, plan = self.b, self.plan
        rows, columns = tap_range(b, plan.rows, row), self.columns_of(column, block)
        if columns.extent == 0:
            return list(starts)
        y, sizes = window_start(b, plan.rows, row, "iy"), (1, 1, 1, columns.extent)

        def one_row(i: Index, ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            line = b.add(y, b.mul(ky, plan.rows.dilation))
            at = (place.image, b.add(place.channel, i), line, columns.first)
            patch = Patch(b.window(self.op.input, at, sizes, (2, 3), "patch"), {}, columns)
            taps = [
                b.window(
                    self.op.weight,
                    (b.add(place.filter, f), i, ky, 0),
                    (1, 1, 1, plan.columns.kernel),
                    (2, 3),
                    "taps",
                )
                for f in range(block.filters)
            ]
            return self.row_of_taps(patch, taps, 0, ([0], columns.places), patch.loaded, sums)

        def one_channel(i: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return b.loop(*rows, lambda ky, s: one_row(i, ky, s), sums, hint="ky", carry="acc")

        depth = shape_of(self.op.weight)[1]
        return list(b.loop(0, depth, one_channel, starts, hint="ic", carry="acc"))

    def points(
        self, place: BlockOrigin, starts: Sequence[SSAValue], row: Index, column: Index
    ) -> Sequence[SSAValue]:
        """The sums of one convolution output at any place; taps on padding are left out.

        There is one for each of the filters from that of `place` on. Where it is known which taps
        these are, the loops over taps are written out.
        """
        b, plan = self.b, self.plan
        y, x = window_start(b, plan.rows, row, "iy"), window_start(b, plan.columns, column, "ix")
        rows = (0, plan.rows.kernel) if place.rows_inside else tap_range(b, plan.rows, row)
        columns = tap_range(b, plan.columns, column)
        is_known = place.rows_inside and plan.unroll.rows

        def each(
            bounds: tuple[Index, Index],
            body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
            sums: Sequence[SSAValue],
            hint: str,
        ) -> Sequence[SSAValue]:
            first, end = bounds
            if not (is_known and isinstance(first, int) and isinstance(end, int)):
                return b.loop(first, end, body, sums, hint=hint)
            for tap in range(first, end):
                sums = body(tap, sums)
            return sums

        def one_tap(i: Index, ky: Index, kx: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            at = (
                place.image,
                b.add(place.channel, i),
                b.add(y, b.mul(ky, plan.rows.dilation)),
                b.add(x, b.mul(kx, plan.columns.dilation)),
            )
            weights = [
                b.load(self.op.weight, (b.add(place.filter, f), i, ky, kx))
                for f in range(len(starts))
            ]
            value = self.operands.input(b.load(self.op.input, at))
            factors = zip(sums, weights, strict=True)
            return [b.mac(total, value, self.operands.weight(w)) for total, w in factors]

        def one_row(i: Index, ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return each(columns, lambda kx, s: one_tap(i, ky, kx, s), sums, "kx")

        def one_channel(i: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return each(rows, lambda ky, s: one_row(i, ky, s), sums, "ky")

        depth = shape_of(self.op.weight)[1]
        return b.loop(0, depth, one_channel, starts, hint="ic", carry="acc")

    def load_once(
        self,
        buffer: SSAValue,
        at: tuple[Index, Index],
        loaded: dict[tuple[int, int], SSAValue],
    ) -> SSAValue:
        """Load an element of a patch, or reuse an earlier load of it if its place is known."""
        y, x = at
        if not isinstance(y, int) or not isinstance(x, int):
            return self.operands.input(self.b.load(buffer, at, "x"))
        if (y, x) not in loaded:
            loaded[y, x] = self.operands.input(self.b.load(buffer, at, "x"))
        return loaded[y, x]
