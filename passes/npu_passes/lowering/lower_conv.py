"""Lower a convolution with its epilogue to loops (paper 002, section 3.1, Algorithm 1).

A convolution value in front of a pool lives in a register only. With mode `gather`, the loops of a
pooled output run over its window and keep the maximum or sum. With mode `scatter`, each convolution
value is folded into every pooled output whose window holds it, so overlapping windows need no
buffer besides the output map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TypeAlias

from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.conv_places import BlockOrigin, Patch
from npu_passes.lowering.conv_plans import plan_conv
from npu_passes.lowering.conv_sums import ConvSums
from npu_passes.lowering.epilogue import Epilogue, Operands
from npu_passes.lowering.float_starts import FloatStarts
from npu_passes.lowering.float_weights import FloatWeights
from npu_passes.lowering.gathered import Gather
from npu_passes.lowering.kernels.constants import largest_sums_of
from npu_passes.lowering.pool_window import PoolWindow
from npu_passes.lowering.scattered import Scatter
from npu_passes.lowering.strips import StripSums, strips_of
from npu_passes.support.common import (
    LoopOptions,
    is_stored_by_rows,
    walk,
    walk_ends,
    walk_inner,
    walk_points,
    walk_row,
    window_start,
)
from npu_passes.support.integers import store
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import Block, ConvPlan, Ends
from npu_plans.kernels.strip_plan import Strips

Sink: TypeAlias = Callable[[BlockOrigin, Index, Index, int, Sequence[SSAValue]], None]
"""Takes the values of a block, from a row and column on: so many columns for each filter."""


@dataclass(frozen=True)
class ConvLowering:
    """Builds the loops of one convolution."""

    b: LoopBuilder
    op: Conv2dOp
    out: SSAValue
    plan: ConvPlan
    sums: ConvSums
    epilogue: Epilogue
    window: PoolWindow
    has_edges: bool
    """Whether rows above and below the interior have blocks of their own, which is more code."""
    held: FloatStarts | None
    """Loads and stores of sums that have registers of their own; None if they have none."""
    strips: Strips | None
    """The rows that are computed together; None if each is computed by itself.

    Maps that are stored row by row have none: an output may follow its input by one row there.
    """

    def build(self) -> None:
        """Build loops over images and groups, and inside them over filters and outputs.

        If input or output is stored row by row, all filters of a row are computed before the next.
        """
        b, plan = self.b, self.plan
        images, groups = shape_of(self.op.input)[0], self.op.group_count
        by_rows = plan.mode != "scatter" and not plan.filters_inside and self.by_rows

        def one_image(image: Index) -> tuple[()]:
            if by_rows:
                b.loop(0, plan.span_rows.total, lambda y, _: self.one_row(image, y), hint="oy")
            else:
                b.loop(0, groups, lambda group, _: self.one_group(image, group), hint="g")
            return ()

        b.loop(0, images, lambda image, _: one_image(image), hint="n")

    @property
    def by_rows(self) -> bool:
        """Whether the output can follow the input if it is computed row by row."""
        return any(is_stored_by_rows(each) for each in (self.op.input, self.out))

    def one_row(self, image: Index, row: Index) -> tuple[()]:
        """Compute a row of all outputs."""
        b, rows, columns = self.b, self.plan.span_rows, self.plan.span_columns
        block, point = self.visits()

        def inner(place: BlockOrigin) -> None:
            place, biases = replace(place, rows_inside=True), self.biases(place)
            inside, beside = (partial(visit, place, biases) for visit in (block, point))
            walk_inner(b, columns, self.width, row, inside, beside, self.ends)

        def outer(place: BlockOrigin) -> None:
            biases = self.biases(place)
            visit = partial(point, place, biases)
            if self.edge is None or (columns.empty and self.ends is None):
                walk_points(b, 0, columns.total, row, visit)
            else:
                edge = partial(self.edge, place, biases)
                walk_inner(b, columns, self.width, row, edge, visit, self.ends)

        def all_filters(body: Callable[[BlockOrigin], None]) -> None:
            def one_group(group: Index) -> tuple[()]:
                self.each_block_of_filters(image, group, body)
                return ()

            b.loop(0, self.op.group_count, lambda group, _: one_group(group), hint="g")

        inside, outside = partial(all_filters, inner), partial(all_filters, outer)
        walk_row(b, rows, columns, row, inside, outside, self.ends)
        return ()

    def one_group(self, image: Index, group: Index) -> tuple[()]:
        """Compute all outputs of a group.

        The loop over blocks of filters is outside of the loops over outputs, or inside, as planned.
        """
        if self.plan.filters_inside:
            block, point = self.visits()

            def visit(visitor: Callable[..., None], *at: Index, patch: Patch | None = None) -> None:
                def one(place: BlockOrigin) -> None:
                    visitor(replace(place, patch=patch), self.biases(place), *at)

                self.each_block_of_filters(image, group, one)

            def visit_block(row: Index, column: Index, width: int) -> None:
                patch = self.patch(image, group, row, column, width)
                visit(block, row, column, width, patch=patch)

            edge = None if self.edge is None else partial(visit, self.edge)
            self.walk_grid(visit_block, partial(visit, point), edge)
        else:
            self.each_block_of_filters(image, group, self.one_block_of_filters)
        return ()

    def patch(
        self, image: Index, group: Index, row: Index, column: Index, width: int
    ) -> Patch | None:
        """The inputs of an interior block, loaded for all filters; None to load them for each.

        They are loaded first if rows are computed one after the other. The output may overwrite the
        input then, and a C compiler has to load again what it has loaded before a store.
        """
        b, plan = self.b, self.plan
        if not self.by_rows or (plan.mode == "gather" and not plan.window_at_once):
            return None
        if self.sums.registers:
            return None
        place, block = BlockOrigin(image, group, 0), Block(1, 1, width)
        if plan.mode == "gather":
            row = window_start(b, self.window.axes[0], row, "cy")
            column, count = self.gather.window_columns(column)
            block = replace(plan.block, columns=count)
        return self.sums.patch(place, 0, row, column, block, at_once=True)

    def each_block_of_filters(
        self, image: Index, group: Index, body: Callable[[BlockOrigin], None]
    ) -> None:
        """Build a loop over the blocks of filters of a group."""
        b = self.b
        total, depth, *_ = shape_of(self.op.weight)
        groups = self.op.group_count
        filters = total // groups

        def one(inner: Index, _: Sequence[SSAValue]) -> tuple[()]:
            first = b.add(b.mul(group, filters), inner, "oc" if filters > 1 else None)
            body(BlockOrigin(image, b.mul(group, depth), first))
            return ()

        hint = "oc" if groups == 1 else "o"
        b.loop(0, filters, one, step=self.plan.block.filters, hint=hint)

    def one_block_of_filters(self, place: BlockOrigin) -> None:
        """Compute all outputs for one block of filters."""
        biases = self.biases(place)
        if self.strips is not None:
            span, height, ends = self.strips.span, self.strips.height, self.strips.ends
            walk_ends(self.b, span, height, partial(self.strip, place, biases), ends, "oy")
            return
        if self.plan.mode == "scatter":
            self.scatter.clear(place)
        block, point = self.visits()
        edge = beside = None
        if self.edge is not None:
            edge = partial(self.edge, place, biases)
            beside = partial(point, replace(place, rows_inside=True), biases)
        self.walk_grid(partial(block, place, biases), partial(point, place, biases), edge, beside)
        if self.plan.mode == "scatter" and not self.window.pool.is_max:
            self.scatter.divide(place)

    def visits(self) -> tuple[Callable[..., None], Callable[..., None]]:
        """The methods that compute an interior block and a single output at any place.

        They are called with (place, biases, row, column), the first also with a width.
        """
        if self.plan.mode == "gather":
            return self.gather.block, self.gather.point
        return partial(self.plain_block, self.sums.block, self.sink), self.plain_point

    @property
    def gather(self) -> Gather:
        """What computes pooled outputs one after the other."""
        return Gather(self.b, self.out, self.plan, self.sums, self.window, self.epilogue)

    @property
    def scatter(self) -> Scatter:
        """What folds values into overlapping pooling windows."""
        return Scatter(self.b, self.out, self.window, self.epilogue, self.plan.block.filters)

    @property
    def sink(self) -> Sink:
        """What stores or folds values, unless a pooling window is gathered."""
        return self.scatter.put if self.plan.mode == "scatter" else self.put_all

    @property
    def edge(self) -> Callable[..., None] | None:
        """The method that computes a block in a row above or below the interior, if there is one.

        Without a loop over kernel rows, such a row is computed point by point.
        """
        if not self.has_edges or (self.plan.mode == "gather" and not self.plan.window_at_once):
            return None
        if self.plan.mode == "gather":
            return self.gather.edge
        return partial(self.plain_block, self.sums.edge, self.sink)

    @property
    def ends(self) -> Ends | None:
        """The blocks at the ends of each row, if there are any."""
        return None if self.edge is None else self.plan.ends

    def walk_grid(
        self,
        block: Callable[..., None],
        point: Callable[..., None],
        edge: Callable[..., None] | None,
        beside: Callable[..., None] | None = None,
    ) -> None:
        """Visit all outputs: interior blocks, blocks above and below them, and single points.

        `beside` computes those in rows of the interior.
        """
        spans = self.plan.span_rows, self.plan.span_columns
        walk(self.b, *spans, self.width, block, point, edge, beside, self.ends)

    @property
    def width(self) -> int:
        """How many columns of a row are visited at once."""
        return 1 if self.plan.mode == "gather" else self.plan.block.columns

    def biases(self, place: BlockOrigin) -> list[SSAValue]:
        """First values of the sums, one for each filter of a block: the biases, or zero."""
        b, bias, filters = self.b, self.op.bias, self.plan.block.filters
        if self.held is not None:
            return []
        if bias is None:
            return [self.epilogue.zero()] * filters
        return [b.load(bias, [b.add(place.filter, f)], "bias") for f in range(filters)]

    def starts(
        self, place: BlockOrigin, biases: Sequence[SSAValue], row: Index, column: Index, width: int
    ) -> list[SSAValue]:
        """First values of the sums of neighbouring outputs: `width` columns for each filter.

        With `accumulate`, they are the values in the output; otherwise the biases.
        """
        b = self.b
        if self.held is not None:
            return self.held.load(place.filter)
        if self.op.accumulate is None:
            return [bias for bias in biases for _ in range(width)]
        return [
            b.load(self.out, (place.image, b.add(place.filter, f), row, b.add(column, c)), "sum")
            for f in range(self.plan.block.filters)
            for c in range(width)
        ]

    # -- without a pooling window, or with mode `scatter` ----------------------------------------

    def plain_block(
        self,
        sums_of: Callable[..., Sequence[SSAValue]],
        sink: Sink,
        place: BlockOrigin,
        biases: Sequence[SSAValue],
        row: Index,
        column: Index,
        width: int,
    ) -> None:
        """Compute one block of convolution outputs; `sink` stores or folds them."""
        block = Block(self.plan.block.filters, 1, width)
        starts = self.starts(place, biases, row, column, width)
        sink(place, row, column, width, sums_of(place, starts, row, column, block))

    def strip(self, place: BlockOrigin, biases: Sequence[SSAValue], row: Index, count: int) -> None:
        """Compute `count` rows of one filter's outputs from `row` on."""
        block = Block(1, count, self.plan.columns.outputs)
        rows = [self.b.add(row, r) for r in range(count)]
        starts = [
            start for each in rows for start in self.starts(place, biases, each, 0, block.columns)
        ]
        values = StripSums(self.sums)(place, starts, row, block)
        for (each, column), value in zip(product(rows, range(block.columns)), values, strict=True):
            self.put(place, 0, each, column, value)

    def plain_point(
        self, place: BlockOrigin, biases: Sequence[SSAValue], row: Index, column: Index
    ) -> None:
        """Compute one convolution output at any place, for each filter of the block."""
        starts = self.starts(place, biases, row, column, 1)
        self.sink(place, row, column, 1, self.sums.points(place, starts, row, column))

    def put_all(
        self, place: BlockOrigin, row: Index, column: Index, width: int, values: Sequence[SSAValue]
    ) -> None:
        """Store the values of a block."""
        stored: list[SSAValue] = []
        for index, value in enumerate(values):
            filter, offset = divmod(index, width)
            if self.held is None:
                self.put(place, filter, row, self.b.add(column, offset), value)
            else:
                at = self.place_of(place, filter, row, self.b.add(column, offset))
                stored.append(self.epilogue(value, at[1], at))
        if self.held is not None:
            self.held.store(self.out, place, row, column, stored)

    def put(
        self, place: BlockOrigin, filter: int, row: Index, column: Index, value: SSAValue
    ) -> None:
        """Store one output."""
        at = self.place_of(place, filter, row, column)
        store(self.b, self.epilogue(value, at[1], at), self.out, at)

    def place_of(
        self, place: BlockOrigin, filter: int, row: Index, column: Index
    ) -> tuple[Index, Index, Index, Index]:
        """The index of an output of one of the filters of a block."""
        return place.image, self.b.add(place.filter, filter), row, column


def lower_conv2d(b: LoopBuilder, op: Conv2dOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of a convolution."""
    plan = plan_conv(op, options)
    weights = FloatWeights.of(b, op, plan.block.filters, options)
    registers = options.registers if options.loads_floats and op.zero_points is None else 0
    sums = ConvSums(b, op, plan, Operands(b, op), weights, registers)
    epilogue = Epilogue(b, op, out, None if b.has_floats else largest_sums_of(op, options))
    window = PoolWindow(b, op, plan, epilogue)
    has_edges, strips = options.flash == "fast", strips_of(op, plan, options)
    held = FloatStarts.of(b, op, plan, options)
    ConvLowering(b, op, out, plan, sums, epilogue, window, has_edges, held, strips).build()
