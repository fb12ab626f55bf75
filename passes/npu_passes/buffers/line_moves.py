"""A loop that moves lines of a map in place, by a table of places (`npu_plans/kernels/cycles.py`).

    %kept = sram.alloc : memref<96xi8, #npu.sram>
    scf.for %m = 0 to 302 {                      // the moves of all cycles of the permutation
      // move a line of 96 bytes to its place; the first line of a cycle waits in %kept
    }

The table has the places of the lines in the order of the moves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, MemRefType, i16, i32
from xdsl.ir import BlockArgument, Operation, SSAValue

from npu_dialect.sram import AllocOp
from npu_passes.buffers.row_buffers import copy
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.cycles import KEPT, moves_in_place

MOST_I16 = np.iinfo(np.int16).max
"""The most lines whose places a table of 16-bit integers can name."""


def move_lines(
    b: LoopBuilder, value: BlockArgument, line: int, sources: Sequence[int], before: Operation
) -> None:
    """Build the loop that moves the lines of a dense map, of `line` elements each, to their places.

    `sources` has for each place the place where its line stands. `before`: an op of the function.
    """
    order = moves_in_place(sources)
    type_ = memref_type(value)
    kept_type = MemRefType(type_.element_type, (line,), memory_space=type_.memory_space)
    kept = b.insert(AllocOp(kept_type), "kept").buffer
    lines = b.shaped(value, (len(sources), line), "lines")
    element, number = (i16, np.int16) if len(sources) <= MOST_I16 else (i32, np.int32)
    table = constant_table(
        b, before, f"{value.name_hint or 'input'}_moves", np.array(order, number)
    )

    def at(place: SSAValue) -> SSAValue:
        index = b.insert(arith.IndexCastOp(place, IndexType())).result
        return b.window(lines, [index, 0], [1, line], [1], "line")

    def one(move: Index, _: Sequence[SSAValue]) -> tuple[()]:
        target = b.load(table, [move], "to")
        source = b.load(table, [b.add(move, 1)], "from")

        def keep() -> tuple[()]:
            copy(b, at(source), kept)
            return ()

        def put() -> tuple[()]:
            copy(b, kept, at(target))
            return ()

        def shift() -> tuple[()]:
            copy(b, at(source), at(target))
            return ()

        def others() -> tuple[()]:
            b.choose(is_kept(source), put, shift)
            return ()

        b.choose(is_kept(target), keep, others)
        return ()

    def is_kept(place: SSAValue) -> SSAValue:
        return b.insert(arith.CmpiOp(place, b.integer(KEPT, element), "eq")).result

    b.loop(0, len(order) - 1, one, hint="m")
