"""Loops visit every output once, in blocks of pixels where this is planned."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import MemRefType, ModuleOp, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from npu_dialect.interpreters import run_function
from npu_passes.lowering.kernels.walk import border_columns, visit, visit_blocks, visit_lines
from npu_passes.support.integers import add
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import Ends, Span, choose_ends

BLOCK = 100
"""What the visit of a block adds to its outputs. The visit of a single output adds 1."""
INSIDE = 1000
"""What the visit of an interior row adds."""


class Marks:
    """A function that adds numbers to the elements of a grid."""

    def __init__(self, rows: Span, columns: Span) -> None:
        self.shape = (rows.total, columns.total)
        self.block = Block(arg_types=[MemRefType(i32, self.shape)])
        end = ReturnOp()
        self.block.add_op(end)
        self.b = LoopBuilder(end)

    def mark(self, row: Index, column: Index, number: int, width: int = 1) -> None:
        """Add a number to some elements of a row."""
        grid = self.block.args[0]
        for index in range(width):
            at = [row, self.b.add(column, index)]
            self.b.store(add(self.b, self.b.load(grid, at), self.b.integer(number)), grid, at)

    def run(self) -> NDArray[np.int32]:
        """Run the function on a grid of zeros; returns the grid."""
        function = FuncOp("f", (self.block.arg_types, []), Region(self.block))
        module = ModuleOp([function])
        module.verify()
        return run_function(module, "f", [np.zeros(self.shape, np.int32)])[0]


@st.composite
def spans(draw: st.DrawFn) -> Span:
    """A random interior of an axis, which may be empty or the whole axis."""
    total = draw(st.integers(1, 7))
    low = draw(st.integers(0, total))
    return Span(low, draw(st.integers(low, total)), total)


def blocks(rows: Span, columns: Span, width: int) -> NDArray[np.int32]:
    """The expected grid: BLOCK for outputs visited in blocks, 1 for those visited singly."""
    wanted = np.ones((rows.total, columns.total), np.int32)
    high = columns.low + (columns.high - columns.low) // width * width
    wanted[rows.low : rows.high, columns.low : high] = BLOCK
    return wanted


@settings(deadline=None, max_examples=60)
@given(spans(), spans(), st.integers(1, 3))
def test_visit(rows: Span, columns: Span, width: int) -> None:
    marks = Marks(rows, columns)
    visit(
        marks.b,
        rows,
        columns,
        width,
        lambda row, column: marks.mark(row, column, BLOCK, width),
        lambda row, column: marks.mark(row, column, 1),
    )
    np.testing.assert_array_equal(marks.run(), blocks(rows, columns, width))


@settings(deadline=None, max_examples=60)
@given(spans(), spans(), st.integers(2, 3))
def test_visit_lines(rows: Span, columns: Span, width: int) -> None:
    """Visits of lines know the border's columns, and whether a row is interior."""
    marks, known = Marks(rows, columns), set[int]()

    def line(row: Index, inside: bool, column: Index, count: int) -> None:
        if count == 1:
            assert isinstance(column, int)
            known.add(column)
        marks.mark(row, column, (INSIDE if inside else 0) + (1 if count == 1 else BLOCK), count)

    visit_lines(marks.b, rows, columns, width, line)
    wanted = blocks(Span(0, rows.total, rows.total), columns, width)
    wanted[rows.low : rows.high] += INSIDE
    np.testing.assert_array_equal(marks.run(), wanted)
    assert len(known) == border_columns(columns, width)


@settings(deadline=None, max_examples=60)
@given(spans(), spans(), st.integers(1, 3))
@example(Span(0, 1, 1), Span(1, 11, 12), 3)
def test_visit_blocks(rows: Span, columns: Span, width: int) -> None:
    """Blocks cover every output once; one with columns of the border knows them."""
    ends = choose_ends(columns, width, 4)
    assume(ends is not None or columns.whole)
    marks = Marks(rows, columns)

    def line(row: Index, inside: bool, column: Index, count: int) -> None:
        assert 1 <= count <= width
        assert isinstance(column, int) or count == width
        marks.mark(row, column, INSIDE if inside else 1, count)

    visit_blocks(marks.b, rows, columns, width, ends or Ends((), ()), line)
    wanted = np.ones((rows.total, columns.total), np.int32)
    wanted[rows.low : rows.high] = INSIDE
    np.testing.assert_array_equal(marks.run(), wanted)
