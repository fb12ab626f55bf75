"""The order in which a loop reads rows of one buffer and writes rows of another.

    scf.for %r = %c0 to %c35 step %c1 {
      %line = memref.subview %x[0, 0, %r, 0] [1, 8, 1, 35] ...      // reads row r of %x
      %row = memref.subview %y[0, 0, %r, 0] [1, 4, 1, 35] ...       // then writes row r of %y
    }

If no row of %x is read while or after the same row of %y is written, then each row of %y may lie on
the same row of %x. Loops that choose rows are run iteration by iteration: their bounds, conditions
and indices are evaluated. Inner loops work on rows that are chosen already. Every op in these is
assumed to run, and to run twice, as an iteration may read what an earlier one has written. If a
value cannot be evaluated, the answer is no.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from npu_passes.analysis.index_values import IndexValues, NotKnown

ROWS = 2
"""The axis of rows in a map [N, C, H, W]."""


@dataclass
class RowOrder(IndexValues):
    """The state of running a loop that reads rows of `source` and writes rows of `target`.

    `rows` says for each view which rows of which of the two buffers it has. `written` are the rows
    of the target that are written so far. `late` is set if a row of the source is read while or
    after the same row of the target is written.
    """

    source: SSAValue
    target: SSAValue
    reads: Callable[[Operation, SSAValue], bool]
    writes: Callable[[Operation, SSAValue], bool]
    rows: dict[SSAValue, tuple[SSAValue, range]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, range]]
    )
    written: set[int] = field(default_factory=set[int])
    late: bool = False

    def do(self, op: Operation) -> None:
        """Note the effects of an op that is no loop and no branch.

        Raises: NotKnown if the op has a region that uses one of the buffers.
        """
        if isinstance(op, memref.SubviewOp):
            self.view(op)
            return
        if op.regions and self.concerns(op):
            raise NotKnown
        self.touch(op)
        self.evaluate(op)

    def run_loop(self, op: scf.ForOp) -> None:
        """Run the iterations of a loop, if it uses one of the two buffers."""
        if not self.concerns(op):
            return
        if self.chooses_rows(op):
            super().run_loop(op)
            return
        for _ in range(2):
            self.do_all(op)

    def do_all(self, loop: scf.ForOp) -> None:
        """Note the effects of all ops in a loop, whatever its bounds and conditions are."""
        for op in loop.walk():
            if not isinstance(op, scf.ForOp | scf.IfOp):
                self.do(op)

    def run_branch(self, op: scf.IfOp) -> None:
        """Run the side that is taken, if the branch uses one of the two buffers."""
        if self.concerns(op):
            super().run_branch(op)

    def concerns(self, op: Operation) -> bool:
        """Whether an op or one inside it uses one of the two buffers or a known view of them."""
        known = {self.source, self.target, *self.rows}
        return any(value in known for inner in op.walk() for value in inner.operands)

    def chooses_rows(self, op: Operation) -> bool:
        """Whether a loop uses a buffer as a whole, so that each iteration may use other rows."""
        return any(
            value in (self.source, self.target) for inner in op.walk() for value in inner.operands
        )

    def view(self, op: memref.SubviewOp) -> None:
        """Note which rows a view has."""
        if op.source in self.rows:  # a part of some rows
            self.rows[op.result] = self.rows[op.source]
        elif op.source in (self.source, self.target):
            self.rows[op.result] = (op.source, self.rows_of(op))

    def rows_of(self, op: memref.SubviewOp) -> range:
        """The rows of a view of a map [1, C, H, W].

        Raises: NotKnown if the view is not of rank 4, its sizes are not static, a stride is not 1,
        or its first row cannot be evaluated.
        """
        offsets, sizes = op.static_offsets.get_values(), op.static_sizes.get_values()
        if len(offsets) != ROWS + 2 or DYNAMIC_INDEX in sizes:
            raise NotKnown
        if any(step != 1 for step in op.static_strides.get_values()):
            raise NotKnown
        first = offsets[ROWS]
        if first == DYNAMIC_INDEX:
            place = sum(each == DYNAMIC_INDEX for each in offsets[:ROWS])
            first = self.number(op.offsets[place])
        return range(first, first + sizes[ROWS])

    def touch(self, op: Operation) -> None:
        """Note what an op writes and reads; it may write a row before it reads the same row."""
        for value in op.operands:
            if self.is_part_of(self.target, value) and self.writes(op, value):
                self.written.update(self.met(op, value))
        for value in op.operands:
            if self.is_part_of(self.source, value) and self.reads(op, value):
                self.late |= not self.written.isdisjoint(self.met(op, value))

    def is_part_of(self, buffer: SSAValue, value: SSAValue) -> bool:
        """Whether a value is one of the two buffers, or a view of it."""
        return value is buffer or (value in self.rows and self.rows[value][0] is buffer)

    def met(self, op: Operation, value: SSAValue) -> range:
        """The rows that an op reads or writes of a buffer or a view.

        Raises: NotKnown if an op other than a load or store uses the whole buffer, or if the row of
        a load or store cannot be evaluated.
        """
        if value in self.rows:
            return self.rows[value][1]
        if isinstance(op, memref.LoadOp | memref.StoreOp) and len(op.indices) == ROWS + 2:
            row = self.number(op.indices[ROWS])
            return range(row, row + 1)
        raise NotKnown


def rows_make_room(
    loop: scf.ForOp,
    source: SSAValue,
    target: SSAValue,
    reads: Callable[[Operation, SSAValue], bool],
    writes: Callable[[Operation, SSAValue], bool],
) -> bool:
    """Whether a loop reads no row of `source` while or after it writes that row of `target`.

    `source` and `target` are the maps [1, C, H, W] through which the loop uses two buffers. `reads`
    and `writes` say whether an op may read or write a buffer. False if the order is not known.
    """
    order = RowOrder(source, target, reads, writes)
    try:
        order.run_loop(loop)
    except NotKnown:
        return False
    return not order.late
