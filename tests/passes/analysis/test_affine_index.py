"""Views of different iterations that never overlap: the analysis against all indices."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import Builtin
from xdsl.ir import SSAValue
from xdsl.parser import Parser

from npu_passes.analysis.affine_index import apart

STEPS = 12


@dataclass(frozen=True)
class Tiles:
    """Tiles of `rows` x `columns` elements, `across` of them side by side.

    Neighbours are `row_pitch` rows or `column_pitch` columns apart. A second view of each step
    starts `row` rows and `column` columns behind the first one.
    """

    across: int
    rows: int = 1
    columns: int = 1
    row_pitch: int = 1
    column_pitch: int = 1
    row: int = 0
    column: int = 0
    quotient: int = 0
    """What divides the index for the rows; 0: the same as for the columns."""

    def elements(self, step: int, row: int = 0, column: int = 0) -> set[tuple[int, int]]:
        """The elements of the tile of a step that starts `row` rows and `column` columns behind."""
        row += step // (self.quotient or self.across) * self.row_pitch
        column += step % self.across * self.column_pitch
        return {(row + i, column + j) for i in range(self.rows) for j in range(self.columns)}

    def text(self) -> str:
        """A loop over the tiles, as views of a part of a map and of all of it."""
        whole, part = "memref<60x60xf32>", "memref<50x50xf32, strided<[60, 1], offset: 122>>"
        tile = f"memref<{self.rows}x{self.columns}xf32, strided<[60, 1], offset: ?>>"
        sizes = f"[{self.rows}, {self.columns}] [1, 1]"
        numbers = {
            **{"zero": 0, "one": 1, "end": STEPS, "across": self.across},
            **{"rows": self.row_pitch, "columns": self.column_pitch},
            **{"row": 2 + self.row, "column": 2 + self.column},
            "quotient": self.quotient or self.across,
        }
        return "\n".join(
            [
                f"func.func @f(%map : {whole}) {{",
                *(f"%{name} = arith.constant {n} : index" for name, n in numbers.items()),
                f"%part = memref.subview %map[2, 2] [50, 50] [1, 1] : {whole} to {part}",
                "scf.for %i = %zero to %end step %one {",
                "%o = arith.divui %i, %quotient : index",
                "%n = arith.remui %i, %across : index",
                "%r = arith.muli %o, %rows : index",
                "%c = arith.muli %n, %columns : index",
                f"%first = memref.subview %part[%r, %c] {sizes} : {part} to {tile}",
                "%r2 = arith.addi %r, %row : index",
                "%c2 = arith.addi %c, %column : index",
                f"%second = memref.subview %map[%r2, %c2] {sizes} : {whole} to {tile}",
                "}",
                "func.return",
                "}",
            ]
        )

    def views(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        """The variable of the loop, and both views."""
        context = Context()
        for dialect in (Builtin, arith.Arith, func.Func, memref.MemRef, scf.Scf):
            context.load_dialect(dialect)
        module = Parser(context, self.text()).parse_module()
        (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
        views = [op.result for op in loop.walk() if isinstance(op, memref.SubviewOp)]
        return loop.body.block.args[0], views[0], views[1]


TILES = st.builds(
    Tiles,
    across=st.integers(1, 5),
    rows=st.integers(1, 3),
    columns=st.integers(1, 3),
    row_pitch=st.integers(0, 3),
    column_pitch=st.integers(0, 3),
    row=st.integers(-2, 2),
    column=st.integers(-2, 2),
    quotient=st.sampled_from((0, 0, 1, 2, 3)),
)


@settings(max_examples=100, deadline=None)
@given(tiles=TILES, distances=st.lists(st.integers(1, 4), min_size=1, max_size=3))
@example(tiles=Tiles(3, quotient=2, column=-2), distances=[1])
@example(tiles=Tiles(2, row_pitch=0, column=-1), distances=[1])
def test_what_is_apart_shares_no_element(tiles: Tiles, distances: list[int]) -> None:
    variable, first, second = tiles.views()
    if apart(first, second, variable, distances):
        for step in range(STEPS):
            earlier = tiles.elements(step, tiles.row, tiles.column)
            for distance in distances:
                assert not tiles.elements(step + distance) & earlier


@settings(max_examples=50, deadline=None)
@given(across=st.integers(1, 5), rows=st.integers(1, 3), columns=st.integers(1, 3))
def test_tiles_side_by_side_are_apart(across: int, rows: int, columns: int) -> None:
    tiles = Tiles(across, rows, columns, rows, columns)
    variable, first, second = tiles.views()
    assert apart(first, second, variable, [1, 2])
    assert not apart(first, second, variable, [0])
