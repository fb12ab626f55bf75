"""Lower reductions to loops.

    npu.reduce ins(%x : memref<4x100xf32>) outs(%y : memref<4x1xf32>) with sum axes [1]
->
    scf.for %i = 0 to 4 {
      %total = scf.for %k = 0 to 100 iter_args(%t = 0.0) { %t + %x[%i, %k] }
      %y[%i, 0] = %total
    }

Neighbouring axes of dense buffers are one. If the last axis stays, four neighbours are reduced at
once, so that elements are read in the order of memory. A long sum of floats is one of partial sums,
each of a few elements, so that rounding errors stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from npu_dialect.npu import ReduceOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.enums import BinaryKind, ReduceKind
from npu_dialect.npu.layers.reduce import INDICES
from npu_dialect.npu.maps import shape_of
from npu_passes.support import integers
from npu_passes.support.common import LoopOptions, loop_name
from npu_passes.support.integers import element_of, load, store
from npu_passes.support.loop_builder import CONTRACT, Index, LoopBuilder, is_dense, memref_type
from npu_passes.support.pairs import extreme

LANES = 4
"""Outputs that are computed at once if the last axis stays."""
CHUNK = 128
"""The most floats of one partial sum."""

At: TypeAlias = tuple[Index, ...]


@dataclass(frozen=True)
class Fold:
    """How numbers become one: `start`, then `combine(so far, term(element))` for each element."""

    start: SSAValue
    term: Callable[[int, SSAValue], SSAValue]
    """What is combined, of the number of a lane and an element."""
    combine: Callable[[SSAValue, SSAValue], SSAValue]
    hint: str
    in_parts: bool = False
    """Whether long rows are combined in chunks."""


class Reduction:
    """Builds the loops of one reduction."""

    def __init__(self, b: LoopBuilder, op: ReduceOp, out: SSAValue) -> None:
        self.b, self.kind, self.last = b, op.kind.data, op.last is not None
        self.count = prod(shape_of(op.input)[axis] for axis in int_values(op.axes))
        self.input, self.out, self.axes = merged(b, op.input, out, int_values(op.axes))
        self.shape = shape_of(self.input)
        self.type = f32 if element_of(op.input) == f32 else i32

    def build(self) -> None:
        """Build loops over all outputs, of several lanes where the last axis stays."""
        kept = [axis for axis in range(len(self.shape)) if axis not in self.axes]
        lanes = LANES
        if self.kind in INDICES or not self.axes or (len(self.shape) - 1) in self.axes:
            lanes = 1
        self.nest((), kept, lanes)

    def nest(self, at: At, kept: Sequence[int], lanes: int) -> tuple[()]:
        """Build the loops over the axes that stay; `at` are the indices of those around."""
        b = self.b
        if not kept:
            self.outputs([at])
            return ()
        extent, name = self.shape[kept[0]], loop_name(len(at))
        if len(kept) > 1 or lanes == 1:
            b.loop(0, extent, lambda i, _: self.nest((*at, i), kept[1:], lanes), hint=name)
            return ()

        def several(i: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.outputs([(*at, b.add(i, lane)) for lane in range(lanes)])
            return ()

        even = extent // lanes * lanes
        b.loop(0, even, several, step=lanes, hint=name)
        b.loop(even, extent, lambda i, _: self.nest((*at, i), (), 1), hint=name)
        return ()

    def outputs(self, lanes: Sequence[At]) -> None:
        """Compute the outputs at some places, each given by the indices of the axes that stay."""
        found = [self.index(lanes[0])] if self.kind in INDICES else self.values(lanes)
        for at, value in zip(lanes, found, strict=True):
            rest = iter(at)
            place = [0 if axis in self.axes else next(rest) for axis in range(len(self.shape))]
            store(self.b, value, self.out, place)

    def values(self, lanes: Sequence[At]) -> list[SSAValue]:
        """The results at some places."""
        b, kind = self.b, self.kind
        if kind == ReduceKind.LOG_SUM_EXP:
            return self.log_sum_exp(lanes)
        totals = self.fold(lanes, self.fold_of(kind))
        match kind:
            case ReduceKind.MEAN if self.type == f32:
                return [b.divf(each, b.real(float(self.count))) for each in totals]
            case ReduceKind.MEAN:
                count = b.integer(self.count)
                return [b.insert(arith.DivSIOp(each, count)).result for each in totals]
            case ReduceKind.L2:
                return [b.sqrt(each) for each in totals]
            case ReduceKind.LOG_SUM:
                return [b.log(each) for each in totals]
            case _:
                return totals

    def fold_of(self, kind: ReduceKind) -> Fold:
        """The fold of a kind that has one."""
        b, is_float = self.b, self.type == f32
        if kind in (ReduceKind.MAX, ReduceKind.MIN):
            pair = BinaryKind.MAX if kind == ReduceKind.MAX else BinaryKind.MIN
            start = b.number(-inf if kind == ReduceKind.MAX else inf, self.type)
            best = "best"
            return Fold(
                start, lambda _, x: x, lambda total, x: extreme(b, pair, x, total, best), best
            )
        if kind == ReduceKind.PROD:
            one = b.number(1.0, self.type)
            return Fold(one, lambda _, x: x, self.product, "product")
        terms: dict[ReduceKind, Callable[[int, SSAValue], SSAValue]] = {
            ReduceKind.L1: lambda _, x: self.magnitude(x),
            ReduceKind.L2: lambda _, x: self.square(x),
            ReduceKind.SUM_SQUARE: lambda _, x: self.square(x),
        }
        term = terms.get(kind, lambda _, x: x)
        return Fold(b.number(0.0, self.type), term, self.sum, "total", in_parts=is_float)

    def sum(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs + rhs; of integers it wraps around, of floats a product may be contracted into it."""
        if self.type == f32:
            return self.b.insert(arith.AddfOp(lhs, rhs, CONTRACT), "total").result
        return integers.add(self.b, lhs, rhs, "total")

    def product(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs * rhs; of integers it wraps around."""
        if self.type == f32:
            return self.b.mulf(lhs, rhs, "product")
        return self.b.insert(arith.MuliOp(lhs, rhs), "product").result

    def square(self, value: SSAValue) -> SSAValue:
        """The square of an element, which may be contracted with a sum."""
        if self.type == f32:
            return self.b.insert(arith.MulfOp(value, value, CONTRACT)).result
        return self.product(value, value)

    def magnitude(self, value: SSAValue) -> SSAValue:
        """|value|; that of the least integer is itself."""
        b = self.b
        if self.type == f32:
            return b.insert(math.AbsFOp(value)).result
        negative = b.insert(arith.SubiOp(b.integer(0), value)).result
        return b.insert(arith.MaxSIOp(value, negative)).result

    def log_sum_exp(self, lanes: Sequence[At]) -> list[SSAValue]:
        """log(sum(e^(x - pivot))) + pivot; the pivot is the greatest element if that is finite."""
        b = self.b
        pivots: list[SSAValue] = []
        for best in self.fold(lanes, self.fold_of(ReduceKind.MAX)):
            size = b.insert(math.AbsFOp(best)).result
            endless = b.insert(arith.CmpfOp(size, b.real(inf), "oeq")).result
            pivots.append(b.insert(arith.SelectOp(endless, b.real(0.0), best), "pivot").result)

        def power(lane: int, value: SSAValue) -> SSAValue:
            return b.exp(b.subf(value, pivots[lane]))

        powers = Fold(b.real(0.0), power, self.sum, "total", in_parts=True)
        return [
            b.addf(b.log(total), pivot)
            for total, pivot in zip(self.fold(lanes, powers), pivots, strict=True)
        ]

    def fold(self, lanes: Sequence[At], fold: Fold) -> list[SSAValue]:
        """Build the loops over the reduced axes; returns the result of each lane."""
        b = self.b
        start = [fold.start] * len(lanes)

        def along(axes: Sequence[int], inner: At) -> Sequence[SSAValue]:
            if not axes:
                elements = [load(b, self.input, self.place(at, inner), "x") for at in lanes]
                return [fold.term(lane, element) for lane, element in enumerate(elements)]

            def add(k: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return combined(totals, along(axes[1:], (*inner, k)))

            def chunk(k: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                part = b.loop(k, b.add(k, CHUNK), add, start, hint="k", carry=fold.hint)
                return combined(totals, part)

            extent = self.shape[axes[0]]
            if not fold.in_parts or extent <= CHUNK:
                return b.loop(0, extent, add, start, hint="k", carry=fold.hint)
            even = extent // CHUNK * CHUNK
            rest = b.loop(even, extent, add, start, hint="k", carry=fold.hint)
            return b.loop(0, even, chunk, rest, step=CHUNK, hint="k", carry=fold.hint)

        def combined(totals: Sequence[SSAValue], parts: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [fold.combine(total, part) for total, part in zip(totals, parts, strict=True)]

        return list(along(self.axes, ()))

    def place(self, at: At, inner: At) -> list[Index]:
        """The index of an element, from those of the axes that stay and of the reduced ones."""
        outer, reduced = iter(at), iter(inner)
        return [next(reduced if axis in self.axes else outer) for axis in range(len(self.shape))]

    def index(self, at: At) -> SSAValue:
        """The index of the best element along the one axis that is reduced."""
        b = self.b
        extent = self.shape[self.axes[0]] if self.axes else 1
        first = load(b, self.input, self.place(at, (0,)), "best")
        greatest = self.kind == ReduceKind.ARGMAX
        predicates = ("oge", "sge") if self.last else ("ogt", "sgt")
        if not greatest:
            predicates = ("ole", "sle") if self.last else ("olt", "slt")
        predicate = predicates[0] if self.type == f32 else predicates[1]

        def step(k: Index, found: Sequence[SSAValue]) -> list[SSAValue]:
            value = load(b, self.input, self.place(at, (k,)), "x")
            compare = arith.CmpfOp if self.type == f32 else arith.CmpiOp
            better = b.insert(compare(value, found[0], predicate)).results[0]
            number = b.insert(arith.IndexCastOp(b.value(k), i32)).result
            return [
                b.insert(arith.SelectOp(better, value, found[0]), "best").result,
                b.insert(arith.SelectOp(better, number, found[1]), "found").result,
            ]

        return b.loop(1, extent, step, [first, b.integer(0)], hint="k")[1]


def merged(
    b: LoopBuilder, source: SSAValue, out: SSAValue, axes: Sequence[int]
) -> tuple[SSAValue, SSAValue, tuple[int, ...]]:
    """Input and output with fewer axes if both are dense, and the reduced axes among those.

    Axes of extent 1 vanish; neighbours become one if both are reduced or neither is.
    """
    if not (is_dense(memref_type(source)) and is_dense(memref_type(out))):
        return source, out, tuple(axes)
    groups: list[tuple[bool, int]] = []
    for axis, extent in enumerate(shape_of(source)):
        reduced = axis in axes
        if extent == 1:
            continue
        if groups and groups[-1][0] == reduced:
            groups[-1] = reduced, groups[-1][1] * extent
        else:
            groups.append((reduced, extent))
    groups = groups or [(True, 1)]
    after = [1 if reduced else extent for reduced, extent in groups]
    found = tuple(axis for axis, (reduced, _) in enumerate(groups) if reduced)
    return (
        b.shaped(source, [extent for _, extent in groups], source.name_hint),
        b.shaped(out, after, out.name_hint),
        found,
    )


def lower_reduce(b: LoopBuilder, op: ReduceOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of `npu.reduce`."""
    Reduction(b, op, out).build()
