"""Lower `npu.pick` to loops: copies of runs where the indices are regular, else a table in flash.

    %y = npu.pick %x axis 1 [none, 0 to 6 each 2] fill 0.0
->
    %y[i, 0] = 0
    for j in 0 .. 7: for r in 0 .. 2: %y[i, 1 + 2 * j + r] = %x[i, j]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from npu_dialect.npu import PickOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.runs import Run, indices_of, length_of
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.integers import constant_table, element_of, store
from npu_passes.support.loop_builder import Index, LoopBuilder

MOST_NESTS = 9
"""The most copies of the innermost loops; a map with pads around rows and columns has nine."""


def lower_pick(b: LoopBuilder, op: PickOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops that copy the picked elements."""
    Picking(b, op, out).axis((), ())


class Picking:
    """Builds the loops of one layer; `tables` has the indices of the axes that are not regular.

    Axes from the last to the first are taken apart into their runs while there are few nests.
    """

    def __init__(self, b: LoopBuilder, op: PickOp, out: SSAValue) -> None:
        self.b, self.op, self.out = b, op, out
        self.picks = op.runs
        self.tables: dict[int, SSAValue] = {}
        nests = 1
        for axis, runs in sorted(self.picks.items(), reverse=True):
            if nests * len(runs) > MOST_NESTS:
                indices = indices_of(runs).astype(np.int32)
                self.tables[axis] = constant_table(b, op, f"indices{axis}", indices)
            else:
                nests *= len(runs)

    def axis(self, source: tuple[Index, ...], target: tuple[Index, ...]) -> None:
        """Build the loops over the next axis, and those inside; the indices so far are given."""
        axis = len(target)
        shape = shape_of(self.out)
        if axis == len(shape):
            self.b.store(self.b.load(self.op.input, source), self.out, target)
        elif axis in self.tables:
            self.looked_up(source, target)
        else:
            first = 0
            for run in self.picks.get(axis, (Run(0, shape[axis]),)):
                self.run(run, first, source, target)
                first += run.length

    def run(
        self, run: Run, first: int, source: tuple[Index, ...], target: tuple[Index, ...]
    ) -> None:
        """Build the loops over a run, whose first output has index `first`."""
        b = self.b
        if run.is_none:
            self.fill(first, run.length, target)
            return
        innermost = len(target) == len(shape_of(self.out)) - 1

        def one(i: Index, _: Sequence[SSAValue]) -> tuple[()]:
            picked = (*source, b.add(b.mul(i, run.step), run.start))
            place = b.add(b.mul(i, run.each), first)
            value = b.load(self.op.input, picked) if innermost else None

            def copy(repeat: Index, _: Sequence[SSAValue]) -> tuple[()]:
                at = (*target, b.add(place, repeat))
                if value is None:
                    self.axis(picked, at)
                else:
                    b.store(value, self.out, at)
                return ()

            b.loop(0, run.each, copy, hint="r")
            return ()

        b.loop(0, run.count, one, hint=hint_of(len(target)))

    def looked_up(self, source: tuple[Index, ...], target: tuple[Index, ...]) -> None:
        """Build the loop over an axis whose indices are in a table."""
        b, axis = self.b, len(target)
        runs = self.picks[axis]

        def one(i: Index, _: Sequence[SSAValue]) -> tuple[()]:
            found = b.load(self.tables[axis], [i], "found")
            index = b.insert(arith.IndexCastOp(found, IndexType()), "index").result
            at = (*target, i)

            def copy() -> tuple[()]:
                self.axis((*source, index), at)
                return ()

            def fill() -> tuple[()]:
                self.filled(at)
                return ()

            if any(run.is_none for run in runs):
                known = b.insert(arith.CmpiOp(found, b.integer(0), "sge")).result
                b.choose(known, copy, fill)
            else:
                copy()
            return ()

        b.loop(0, length_of(runs), one, hint=hint_of(axis))

    def fill(self, first: int, length: int, target: tuple[Index, ...]) -> None:
        """Build the loops that fill `length` neighbours from `first` on."""

        def one(i: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.filled((*target, self.b.add(i, first)))
            return ()

        self.b.loop(0, length, one, hint=hint_of(len(target)))

    def filled(self, target: tuple[Index, ...]) -> None:
        """Build the loops that fill all elements with these first indices."""
        b, fill = self.b, self.op.fill
        assert fill is not None
        number = fill.value.data
        integer = isa(element_of(self.out), IntegerType)
        value = b.integer(int(number)) if integer else b.real(number)
        rest = shape_of(self.out)[len(target) :]
        hints = [hint_of(axis) for axis in range(len(target), len(target) + len(rest))]
        for_each(b, rest, lambda at: store(b, value, self.out, (*target, *at)), hints)


def hint_of(axis: int) -> str:
    """The name of the loop over an axis."""
    return "ijklm"[axis] if axis < 5 else f"i{axis}"
