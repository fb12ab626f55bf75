"""Lower `npu.resample` to loops over the outputs, with tables of taps and weights in flash.

    %y = npu.resample %x axis 0 size 8 scale 0.5 offset -0.25
->
    for i in 0 .. 8: %y[i] = weights[i, 0] * %x[first[i]] + weights[i, 1] * %x[first[i] + 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from npu_dialect.npu import ResampleOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.resampling import Taps, taps_of
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import CONTRACT, Index, LoopBuilder

MOST_TAPS = 16
"""The most products of one output that stand side by side; more are summed in loops."""


def lower_resample(b: LoopBuilder, op: ResampleOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of a layer."""
    Resampling(b, op, out).axis((), ())


@dataclass(frozen=True)
class Table:
    """The taps of one axis, and the tables that hold their first indices and their weights."""

    taps: Taps
    first: SSAValue
    weights: SSAValue


Place = tuple[Table, Index, Index] | Index
"""An axis at one output: its table, the output's index and that of the first tap; or an index."""


class Resampling:
    """Builds the loops of one layer."""

    def __init__(self, b: LoopBuilder, op: ResampleOp, out: SSAValue) -> None:
        self.b, self.op, self.out = b, op, out
        self.tables: dict[int, Table] = {}
        products = 1
        for number, axis in op.by_axis.items():
            taps = taps_of(axis, shape_of(op.input)[number], op.filter)
            products *= taps.count
            self.tables[number] = Table(
                taps,
                constant_table(b, op, f"first{number}", taps.first),
                constant_table(b, op, f"weights{number}", taps.weights),
            )
        self.unrolled = products <= MOST_TAPS

    def axis(self, places: tuple[Place, ...], target: tuple[Index, ...]) -> None:
        """Build the loops over the next axis, and those inside; the places so far are given."""
        b, axis = self.b, len(target)
        shape = shape_of(self.out)
        if axis == len(shape):
            b.store(self.total(places, ()), self.out, target)
            return
        table = self.tables.get(axis)

        def one(i: Index, _: Sequence[SSAValue]) -> tuple[()]:
            if table is None:
                self.axis((*places, i), (*target, i))
            else:
                self.tapped(table, places, (*target, i))
            return ()

        b.loop(0, shape[axis], one, hint=f"i{axis}")

    def tapped(self, table: Table, places: tuple[Place, ...], target: tuple[Index, ...]) -> None:
        """Build what is inside the loop over a resampled axis; `target` ends with its index."""
        b, i = self.b, target[-1]
        found = b.load(table.first, [i], "found")
        first = b.insert(arith.IndexCastOp(found, IndexType()), "first").result

        def inside() -> tuple[()]:
            self.axis((*places, (table, i, first)), target)
            return ()

        def outside() -> tuple[()]:
            self.filled(target)
            return ()

        if (table.taps.first < 0).any():
            known = b.insert(arith.CmpiOp(found, b.integer(0), "sge")).result
            b.choose(known, inside, outside)
        else:
            inside()

    def total(self, places: tuple[Place, ...], source: tuple[Index, ...]) -> SSAValue:
        """The weighted sum over the taps of all axes from the next one on."""
        b = self.b
        if len(source) == len(places):
            return b.load(self.op.input, source)
        place = places[len(source)]
        if not isinstance(place, tuple):
            return self.total(places, (*source, place))
        table, i, first = place

        def product(tap: Index, sum: Sequence[SSAValue]) -> list[SSAValue]:
            value = self.total(places, (*source, b.add(first, tap)))
            weight = b.load(table.weights, [i, tap], "weight")
            if sum:
                return [b.mac(sum[0], value, weight)]
            return [b.insert(arith.MulfOp(value, weight, CONTRACT)).result]

        if not self.unrolled:
            return b.loop(0, table.taps.count, product, [b.real(0.0)], hint="t", carry="total")[0]
        sums: list[SSAValue] = []
        for tap in range(table.taps.count):
            sums = product(tap, sums)
        return sums[0]

    def filled(self, target: tuple[Index, ...]) -> None:
        """Build the loops that fill all elements with these first indices."""
        b, fill = self.b, self.op.fill
        assert fill is not None
        value = b.real(fill.value.data)
        rest = shape_of(self.out)[len(target) :]
        for_each(b, rest, lambda at: b.store(value, self.out, (*target, *at)))
