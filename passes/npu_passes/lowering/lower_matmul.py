"""Lower matrix products to loops: a block of rows and columns shares each load of both maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from npu_dialect.npu import MatmulOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.epilogue import Epilogue, Operands
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.fixed_point import farthest
from npu_passes.support.integers import element_of, store
from npu_passes.support.loop_builder import Index, LoopBuilder

STRAIGHT = 32
"""The most multiply-accumulates in one iteration of the inner loop."""


def lower_matmul(b: LoopBuilder, op: MatmulOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of a matrix product."""
    budget = max(1, options.registers // 4)
    *batch, height, width = shape_of(out)
    rows = min(2 if budget > 2 else 1, height)
    columns = min(4, max(1, budget // rows), width)
    epilogue = Epilogue(b, op, out, None if b.has_floats else largest_products(op))
    product = MatmulLowering(b, op, out, options.unroll, Operands(b, op), epilogue)

    def one(at: tuple[Index, ...]) -> None:
        blocks(b, height, rows, "m", lambda m, tall: row(at, m, tall))

    def row(at: tuple[Index, ...], m: Index, tall: int) -> None:
        blocks(b, width, columns, "n", lambda n, wide: product.block(at, (m, n), (tall, wide)))

    for_each(b, batch, one)


def largest_products(op: MatmulOp) -> list[int] | None:
    """For each scale a bound of the magnitudes of sums; None if the maps are not quantised."""
    if op.zero_points is None or op.requantize is None:
        return None
    both = zip((op.lhs, op.rhs), int_values(op.zero_points), strict=True)
    far = [farthest(element_of(each), point) for each, point in both]
    return [op.depth * prod(far)] * len(op.requantize.scales)


def blocks(
    b: LoopBuilder, extent: int, size: int, hint: str, body: Callable[[Index, int], None]
) -> None:
    """Cut an axis into blocks; `body` gets the start and the size of each, the last may be less."""
    whole = extent // size * size

    def one(start: Index, _: Sequence[SSAValue]) -> tuple[()]:
        body(start, size)
        return ()

    b.loop(0, whole, one, step=size, hint=hint)
    if whole < extent:
        body(whole, extent - whole)


@dataclass(frozen=True)
class MatmulLowering:
    """Builds the sums of blocks of a matrix product; `unroll` is the most products in a row."""

    b: LoopBuilder
    op: MatmulOp
    out: SSAValue
    unroll: int
    operands: Operands
    epilogue: Epilogue

    def block(
        self, batch: tuple[Index, ...], start: tuple[Index, Index], size: tuple[int, int]
    ) -> None:
        """Compute `size` rows and columns of the result, from `start` on."""
        b, depth, count = self.b, self.op.depth, size[0] * size[1]
        width = max(1, min(STRAIGHT // count, self.unroll // count, depth))
        sums: Sequence[SSAValue] = [self.epilogue.zero()] * count
        even = depth // width * width

        def some(k: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            return self.products(batch, start, size, (k, width), sums)

        sums = b.loop(0, even, some, sums, step=width, hint="k", carry="acc")
        if even < depth:
            sums = self.products(batch, start, size, (even, depth - even), sums)
        for index, value in enumerate(sums):
            row, column = divmod(index, size[1])
            at = (*batch, b.add(start[0], row), b.add(start[1], column))
            store(b, self.epilogue(value, at[1]), self.out, at)

    def products(
        self,
        batch: tuple[Index, ...],
        start: tuple[Index, Index],
        size: tuple[int, int],
        depth: tuple[Index, int],
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Add the products along `depth`, a start and a number of them, to the sums of a block."""
        b, (k, count) = self.b, depth
        flipped = self.op.transposed_rhs is not None
        lhs = self.matrix(self.op.lhs, batch, (start[0], k), (size[0], count), "a")
        rhs = (
            self.matrix(self.op.rhs, batch, (start[1], k), (size[1], count), "b")
            if flipped
            else self.matrix(self.op.rhs, batch, (k, start[1]), (count, size[1]), "b")
        )
        current = list(sums)
        for step in range(count):
            left = [self.operands.input(b.load(lhs, (r, step), "x")) for r in range(size[0])]
            right = [
                self.operands.weight(b.load(rhs, (c, step) if flipped else (step, c), "w"))
                for c in range(size[1])
            ]
            for index, total in enumerate(current):
                row, column = divmod(index, size[1])
                current[index] = b.mac(total, left[row], right[column])
        return current

    def matrix(
        self,
        map: SSAValue,
        batch: tuple[Index, ...],
        start: tuple[Index, Index],
        size: tuple[int, int],
        hint: str,
    ) -> SSAValue:
        """A view of a block of an operand's matrix; broadcast axes have index 0."""
        extents = shape_of(map)[:-2]
        own = batch[len(batch) - len(extents) :]
        at = [0 if extent == 1 else index for index, extent in zip(own, extents, strict=True)]
        rank = len(extents)
        sizes = (*(1 for _ in extents), *size)
        return self.b.window(map, (*at, *start), sizes, (rank, rank + 1), hint)
