"""The sums of a convolution: register blocks in the interior, single outputs at the border."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.conv_places import BlockOrigin, Patch, Stretch
from npu_passes.lowering.epilogue import Operands
from npu_passes.lowering.float_weights import FloatWeights, Part, Taps, load_row
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.conv_plan import Block, ConvPlan
from npu_plans.kernels.float_plan import Loads


@dataclass(frozen=True)
class ConvSums:
    """Builds the sums of one convolution."""

    b: LoopBuilder
    op: Conv2dOp
    plan: ConvPlan
    operands: Operands
    weights: FloatWeights | None
    """The weights in the order in which they are loaded; None to load single ones."""
    registers: int
    """The registers for floats if several can be loaded at once; else 0."""

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

        def channels(i: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at_once = self.loads(block, row_taps[-1] + 1, columns)
            part = self.part(place, i, at_once, step)
            for offset in range(step):
                sums = one_channel(b.add(i, offset), offset, part, sums)
            return sums

        def one_channel(
            i: Index, offset: int, part: Part | None, sums: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            patch = place.patch or self.patch(place, i, row, column, block)
            if part is None:
                taps = self.taps(place, i, 0, plan.rows.kernel, block.filters)
            else:
                taps = partial(part.taps, offset * plan.rows.kernel)
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
        loads = None if at_once else self.loads(block, row_taps[-1] + 1, columns)
        patch = Patch(b.window(self.op.input, at, sizes, (2, 3), "patch"), {}, columns, loads)
        if at_once:
            kernel = product(range(plan.rows.kernel), range(plan.columns.kernel))
            for (ky, kx), top, left in product(kernel, row_taps, columns.places):
                tap = ky * plan.rows.dilation + top, kx * plan.columns.dilation + left
                if not columns.cut(tap[1]):
                    self.load_once(patch.window, tap, patch.loaded)
        return patch

    def loads(self, block: Block, rows: int, columns: Stretch) -> Loads | None:
        """The registers of a block if rows of its inputs are loaded at once; None if they are not.

        Their elements must lie side by side, and each must be read. `rows` are those that are read
        at the same time.
        """
        plan, strides = self.plan, memref_type(self.op.input).get_strides()
        dilated = plan.rows.dilation > 1 or plan.columns.dilation > 1
        if strides is None or strides[-1] != 1 or dilated or not plan.unroll.columns:
            return None
        read = {x + kx for x in columns.places for kx in range(plan.columns.kernel)}
        if not read.issuperset(range(columns.extent)):
            return None
        found = Loads(block.filters, block.sums, rows, columns.extent, self.registers)
        return found if found.fit else None

    def part(
        self, place: BlockOrigin, channel: Index, loads: Loads | None, channels: int
    ) -> Part | None:
        """The weights of a block for some channels; None if there is no table of them."""
        plan, b = self.plan, self.b
        if self.weights is None or loads is None or not plan.unroll.rows:
            return None
        if loads.filters != self.weights.filters:
            return None
        size = plan.rows.kernel * plan.columns.kernel
        view = self.weights.part(place.filter, b.mul(channel, size), channels * size)
        most = loads.taps(channels * size)
        if loads.filters == 1 and most < size:
            return None
        return Part(self.weights, view, plan.columns.kernel, channels * size, most, {})

    def taps(self, place: BlockOrigin, channel: Index, row: Index, rows: int, filters: int) -> Taps:
        """What loads weights of a channel from a row of taps on, for some filters of a block."""
        b, table, width = self.b, self.weights, self.plan.columns.kernel
        if table is not None:
            first = b.mul(b.add(b.mul(channel, self.plan.rows.kernel), row), width)
            part = table.part(place.filter, first, rows * width)

            def load(y: Index, x: Index) -> list[SSAValue]:
                at = b.add(b.mul(y, width), x)
                if filters == table.filters:
                    return table.load(part, at)
                lanes = range(place.lane, place.lane + filters)
                return [b.load(part, (b.add(b.mul(at, table.filters), f),), "w") for f in lanes]

            return load
        windows = [
            b.window(
                self.op.weight,
                (b.add(place.filter, place.lane + f), channel, row, 0),
                (1, 1, rows, width),
                (2, 3),
                "taps",
            )
            for f in range(filters)
        ]
        return lambda y, x: [self.operands.weight(b.load(tap, (y, x), "w")) for tap in windows]

    def tap(
        self, place: BlockOrigin, channel: Index, ky: Index, kx: Index, filters: int
    ) -> list[SSAValue]:
        """The weights of one tap, as they are stored."""
        if self.weights is not None:
            return self.taps(place, channel, ky, 1, filters)(0, kx)
        first = self.b.add(place.filter, place.lane)
        places = [(self.b.add(first, f), channel, ky, kx) for f in range(filters)]
        return [self.b.load(self.op.weight, at) for at in places]

    def one_patch(
        self,
        patch: Patch,
        taps: Taps,
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
        taps: Taps,
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
            weights = taps(ky, kx)
            for position, (weight, y, x) in enumerate(product(weights, *places)):
                if patch.columns.cut(b.add(column, x)):
                    continue
                value = self.element(patch, (b.add(row, y), b.add(column, x)), loaded)
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
            window = b.window(self.op.input, at, sizes, (2, 3), "patch")
            patch = Patch(window, {}, columns, self.loads(block, 1, columns))
            taps = self.taps(place, i, ky, 1, block.filters)
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
            weights = self.tap(place, i, ky, kx, len(starts))
            value = self.operands.input(b.load(self.op.input, at))
            factors = zip(sums, weights, strict=True)
            return [b.mac(total, value, self.operands.weight(w)) for total, w in factors]

        def one_row(i: Index, ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return each(columns, lambda kx, s: one_tap(i, ky, kx, s), sums, "kx")

        def one_channel(i: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return each(rows, lambda ky, s: one_row(i, ky, s), sums, "ky")

        depth = shape_of(self.op.weight)[1]
        return b.loop(0, depth, one_channel, starts, hint="ic", carry="acc")

    def element(
        self,
        patch: Patch,
        at: tuple[Index, Index],
        loaded: dict[tuple[int, int], SSAValue],
    ) -> SSAValue:
        """An element of a patch, which is loaded with its row if that is loaded at once."""
        y, x = at
        if patch.loads is None or not isinstance(y, int) or not isinstance(x, int):
            return self.load_once(patch.window, at, loaded)
        if (y, x) not in loaded:
            extent, first = patch.loads.extent, patch.loads.first_of(y)
            row = self.b.window(patch.window, (y, 0), (1, extent), (1,), "row")
            values = load_row(self.b, row, extent, first)
            loaded.update(((y, each), value) for each, value in enumerate(values))
        return loaded[y, x]

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
