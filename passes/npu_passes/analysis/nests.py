"""Loop nests of the IR as plain data: which bytes of which buffers a function touches, and when.

    func.func @layer(%ifm: memref<64xi8>, %ofm: memref<64xi8>) {
      scf.for %i = %c0 to %c16 step %c1 {
        %at = arith.muli %i, %c4
        %x = dsp.load_word %ifm[%at]             // reads bytes 4 * i to 4 * i + 3 of buffer 0
        memref.store %y, %ofm[%at]               // writes byte 4 * i of buffer 1

Indices are linear in the numbers of iterations, or one of several such, as minima and maxima are.
An access with another index is an access to the whole buffer, and so is any other op that takes a
buffer.

Where a condition, minimum or maximum depends on the number of one loop, the loop is read as several
loops, one after the other: those over the first and last rows, and one over the rows between. Other
conditions are not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from npu_dialect.dsp import (
    CopyWordsOp,
    LoadFloatsOp,
    LoadPairOp,
    LoadWordOp,
    OpaqueOp,
    StoreFloatsOp,
    StoreWordOp,
    WordsOp,
)
from npu_dialect.dsp.memory import WORD_BYTES
from npu_dialect.mve import EightPlacesOp, MulRowsOp, MulRunsOp, PlacesOp, ScatterBytesOp, ScatterOp
from npu_dialect.mve import LoadOp as LoadVectorOp
from npu_dialect.mve import StoreOp as StoreVectorOp
from npu_dialect.npu.maps import element_bytes, storage_elements
from npu_dialect.sram import SpanOp
from npu_passes.analysis.affine_index import constant_of
from npu_passes.analysis.index_bounds import Bounds, Span, either, kept, summed
from npu_passes.analysis.loop_parts import parts_of
from npu_passes.analysis.views import base_of, is_buffer, is_view
from npu_passes.support.loop_builder import memref_type
from npu_plans.overlays.nest import Access, Choice, Form, Loop, Node


@dataclass(frozen=True)
class View:
    """A view of a buffer: its first element, and the elements between neighbours of each axis.

    `buffer` is the number of the buffer; `starts` are the values that the start may have. None if
    they are not known.
    """

    buffer: int
    starts: Span | None
    strides: tuple[int, ...]


@dataclass
class NestReader:
    """Reads ops as a nest; `sizes` are the bytes of the buffers by number."""

    sizes: dict[int, int] = field(default_factory=dict[int, int])
    views: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    known: dict[SSAValue, Span | None] = field(default_factory=dict[SSAValue, Span | None])

    answers: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    """The conditions that hold, or not, in the part of a loop that is read.

    For a minimum or maximum: whether it is its first operand.
    """
    single: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The indices of loops of which one iteration is read."""
    counts: dict[int, int] = field(default_factory=dict[int, int])
    """The iterations of loops with constant bounds."""
    numbers: count[int] = field(default_factory=count)

    @staticmethod
    def read(ops: Iterable[Operation], buffers: Sequence[SSAValue]) -> tuple[Node, ...]:
        """The nest of some ops; the buffers have the numbers of their places."""
        reader = NestReader()
        for number, buffer in enumerate(buffers):
            reader.add(buffer, number)
        return reader.nodes(ops)

    def add(self, buffer: SSAValue, number: int) -> None:
        """Follow a buffer, which gets a number."""
        self.sizes[number] = storage_bytes(buffer)
        strides = strides_of(buffer)
        offset = offset_of(buffer)
        starts = None if offset is None or strides is None else Span.exactly(Form(offset))
        self.views[buffer] = View(number, starts, strides or ())

    def nodes(self, ops: Iterable[Operation]) -> tuple[Node, ...]:
        """The nest of some ops; accesses that follow each other without others are one."""
        found: list[Node] = []
        for op in ops:
            for node in self.of(op):
                last = found[-1] if found else None
                if isinstance(node, Access) and isinstance(last, Access) and alike(last, node):
                    first = min(last.first, node.first, key=constant)
                    end = max(last.last, node.last, key=constant)
                    found[-1] = replace(last, first=first, last=end)
                else:
                    found.append(node)
        return tuple(found)

    def of(self, op: Operation) -> Iterator[Node]:
        """The nodes of an op."""
        match op:
            case scf.ForOp():
                yield from self.loop(op)
            case scf.IfOp():
                yield from self.choice(op)
            case memref.LoadOp():
                yield from self.element(op.memref, op.indices, writes=False)
            case memref.StoreOp():
                yield from self.element(op.memref, op.indices, writes=True)
            case _ if isinstance(op, WordsOp):
                yield from self.words(op)
            case LoadVectorOp() | StoreVectorOp() | PlacesOp() | MulRowsOp() | MulRunsOp():
                yield from self.vectors(op)
            case _ if is_view(op):
                self.view(op)
            case _ if not op.has_trait(IsTerminator, value_if_unregistered=False):
                yield from self.unknown(op)
            case _:
                pass

    def vectors(
        self, op: LoadVectorOp | StoreVectorOp | PlacesOp | MulRowsOp | MulRunsOp
    ) -> Iterator[Node]:
        """The accesses of an op to vectors."""
        match op:
            case MulRunsOp():
                yield from self.runs(op)
            case MulRowsOp():
                rows = op.words * WORD_BYTES
                yield from self.element(op.memref, [op.index], writes=False, size=rows)
            case _:
                size = op.bytes
                writes = isinstance(op, StoreVectorOp | ScatterOp | ScatterBytesOp)
                step = op.multiple if isinstance(op, EightPlacesOp) else 1
                yield from self.element(op.memref, [op.index], writes=writes, size=size, step=step)

    def words(self, op: WordsOp) -> Iterator[Node]:
        """The accesses of an op to whole words."""
        match op:
            case LoadWordOp() | LoadPairOp() | LoadFloatsOp() | StoreFloatsOp():
                size = op.words * WORD_BYTES
                writes = isinstance(op, StoreFloatsOp)
                yield from self.element(op.memref, [op.index], writes=writes, size=size)
            case StoreWordOp():
                yield from self.element(op.memref, [op.index], writes=True, size=WORD_BYTES)
            case CopyWordsOp():
                size = op.count * WORD_BYTES
                yield from self.element(op.source, [op.first], writes=False, size=size)
                yield from self.element(op.target, [op.start], writes=True, size=size)

    def choice(self, op: scf.IfOp) -> Iterator[Node]:
        """The side that is taken, or both if it is not known."""
        taken = self.answers.get(op.cond)
        regions = op.regions if taken is None else [op.regions[0 if taken else 1]]
        bodies = [self.nodes(each.ops) for region in regions for each in region.blocks]
        if taken is None and any(bodies):
            yield Choice(tuple(bodies))
        elif taken is not None:
            yield from (node for body in bodies for node in body)

    def loop(self, op: scf.ForOp) -> Iterator[Node]:
        """A loop. One whose bounds vary runs over all numbers between the outermost ones."""
        lower, upper, step = self.values(op.lb), self.values(op.ub), constant_of(op.step)
        if lower is None or upper is None or step is None or step <= 0:
            yield from self.iterated(op, next(self.numbers), 2, None)
            return
        first, end = self.least(lower.lows), self.largest(upper.highs)
        if first == self.largest(lower.highs) and end == self.least(upper.lows):
            yield from self.in_parts(op, range(first, end, step))
            return
        yield from self.iterated(op, *self.between(lower, upper))

    def between(self, lower: Span, upper: Span) -> tuple[int, int, Span]:
        """The number of a loop between two bounds, its most iterations, and its variable."""
        first, end = self.least(lower.lows), self.largest(upper.highs)
        number = next(self.numbers)
        start, length = lower.form, upper.plus(lower, -1)
        if start is not None and length is not None:
            first, end = 0, self.largest(length.highs)
        times = self.counts[number] = len(range(first, end))
        variable = (start or Form(first)).plus(Form(0, ((number, 1),)))
        before = upper.plus(Span.exactly(Form(1)), -1)
        lows = tuple(kept((variable, *group)) for group in lower.lows)
        highs = tuple(kept((variable, *group)) for group in (before or upper).highs)
        return number, times, Span(lows, highs)

    def runs(self, op: MulRunsOp) -> Iterator[Node]:
        """The accesses to the runs of windows, row by row."""
        own, rows = op.numbers, self.values(op.rows)
        if rows is None:
            yield from self.unknown(op)
            return
        number, times, row = self.between(Span.exactly(Form(0)), rows)
        size = own.words * WORD_BYTES
        body = [
            *self.element(op.memref, [op.index], writes=False, size=op.bytes, by=(row, own.pitch)),
            *self.element(op.table, [op.first], writes=False, size=size, by=(row, own.step)),
        ]
        if body:
            yield Loop(number, times, tuple(body))
        if op.starts is not None and op.start is not None:
            size = own.filters * WORD_BYTES
            yield from self.element(op.starts, [op.start], writes=False, size=size)

    def in_parts(self, op: scf.ForOp, numbers: range) -> Iterator[Node]:
        """A loop over known numbers, split where the answers of its conditions change."""
        index, known, answers, single = op.body.block.args[0], self.known, self.answers, self.single
        for part, taken in parts_of(index, numbers, single):
            number = next(self.numbers)
            self.counts[number] = len(part)
            self.known, self.answers = dict(known), answers | taken
            self.single = single | ({index: part.start} if len(part) == 1 else {})
            variable = Form(part.start, ((number, part.step),))
            yield from self.iterated(op, number, len(part), Span.exactly(variable))
        self.known, self.answers, self.single = known, answers, single

    def iterated(
        self, op: scf.ForOp, number: int, times: int, variable: Span | None
    ) -> Iterator[Node]:
        """A loop of which the number of iterations is known."""
        self.known[op.body.block.args[0]] = variable
        if body := self.nodes(op.body.block.ops):
            yield Loop(number, times, body)

    def least(self, lows: Bounds) -> int:
        """The least number that lower bounds allow."""
        return min(max(self.ends(form)[0] for form in group) for group in lows)

    def largest(self, highs: Bounds) -> int:
        """The largest number that upper bounds allow."""
        return max(min(self.ends(form)[1] for form in group) for group in highs)

    def ends(self, form: Form) -> tuple[int, int]:
        """The least and the largest value of a form over all loops."""
        reaches = [factor * max(0, self.counts[n] - 1) for n, factor in form.factors]
        low, high = (sum(choose(0, each) for each in reaches) for choose in (min, max))
        return form.constant + low, form.constant + high

    def element(
        self,
        value: SSAValue,
        indices: Sequence[SSAValue],
        *,
        writes: bool,
        size: int = 0,
        step: int = 1,
        by: tuple[Span, int] | None = None,
    ) -> Iterator[Node]:
        """An access to the elements at an index: `size` bytes in steps, or one element.

        `by`: a number and how many elements it moves the access.
        """
        view = self.views.get(value)
        if view is None:
            return
        width = element_bytes(memref_type(value))
        place = None
        if view.starts is not None and len(view.strides) == len(indices):
            steps = [self.values(index) for index in indices]
            moved = [] if by is None else [by]
            place = summed(view.starts, [*zip(steps, view.strides, strict=True), *moved])
        if place is None:
            yield self.whole(view.buffer, writes=writes)
            return
        firsts = [self.closest(each, width, max) for each in place.lows]
        lasts = [self.closest(each, width, min) for each in place.highs]
        pairs = dict.fromkeys((*((f, lasts[0]) for f in firsts), *((firsts[0], e) for e in lasts)))
        bodies = [
            Access(
                view.buffer,
                writes,
                first,
                Form(last.constant + (size or width) - 1, last.factors),
                step,
            )
            for first, last in pairs
        ]
        yield bodies[0] if len(bodies) == 1 else Choice(tuple((each,) for each in bodies))

    def closest(self, bounds: Sequence[Form], width: int, choose: Callable[..., Form]) -> Form:
        """Of several bounds of elements of `width` bytes the closest in the middle of all loops."""
        return choose((Form(0).plus(each, width) for each in bounds), key=self.in_the_middle)

    def in_the_middle(self, form: Form) -> int:
        """Twice the value of a form in the middle of all loops."""
        steps = (factor * (self.counts[number] - 1) for number, factor in form.factors)
        return 2 * form.constant + sum(steps)

    def whole(self, buffer: int, *, writes: bool) -> Access:
        """An access to all of a buffer."""
        return Access(buffer, writes, Form(0), Form(self.sizes[buffer] - 1))

    def unknown(self, op: Operation) -> Iterator[Node]:
        """What an unknown op may do: write and read all of its buffers, in any order."""
        operands = [value for inner in op.walk() for value in inner.operands]
        buffers = {self.views[value].buffer for value in operands if value in self.views}
        for result in (each for inner in op.walk() for each in inner.results if is_buffer(each)):
            if len(buffers) == 1:
                self.views[result] = View(next(iter(buffers)), None, ())
        every = [self.whole(each, writes=way) for each in sorted(buffers) for way in (True, False)]
        if every:
            yield Loop(next(self.numbers), 2, tuple(every))

    def view(self, op: Operation) -> None:
        """Follow a view of a followed buffer."""
        source, result = self.views.get(op.operands[0]), op.results[0]
        if source is None:
            return
        strides, starts = strides_of(result), None
        match op:
            case memref.SubviewOp() if source.starts is not None and strides is not None:
                dynamic = iter(op.offsets)
                firsts = [
                    self.values(next(dynamic))
                    if offset == DYNAMIC_INDEX
                    else Span.exactly(Form(offset))
                    for offset in op.static_offsets.get_values()
                ]
                if len(firsts) == len(source.strides):
                    steps = list(zip(firsts, source.strides, strict=True))
                    starts = summed(source.starts, steps)
            case memref.CastOp() | memref.CollapseShapeOp() | memref.ExpandShapeOp():
                starts = source.starts
            case SpanOp() | OpaqueOp():
                starts = source.starts
            case memref.ReinterpretCastOp():
                (offset,) = op.static_offsets.get_values()  # known, even if the type forgets it
                starts = None if offset == DYNAMIC_INDEX else self.behind(op.source, offset)
            case _:
                pass
        self.views[result] = View(source.buffer, starts if strides else None, strides or ())

    def behind(self, value: SSAValue, offset: int) -> Span | None:
        """The element `offset` behind the start of the memory of which a value is a view.

        A span is memory of its own, which begins where its source does.
        """
        base, place = base_of(value), Span.exactly(Form(offset))
        if not isinstance(base.owner, SpanOp):
            return place
        start = self.views[base].starts
        return None if start is None else summed(start, [(place, 1)])

    def values(self, value: SSAValue) -> Span | None:
        """The bounds of an index by variables of loops; None if they are not known."""
        if value not in self.known:
            self.known[value] = self.found(value)
        return self.known[value]

    def found(self, value: SSAValue) -> Span | None:
        """The bounds of an index, computed anew."""
        if (number := constant_of(value)) is not None:
            return Span.exactly(Form(number))
        zero = Span.exactly(Form(0))
        match value.owner:
            case arith.AddiOp(lhs=lhs, rhs=rhs):
                return summed(zero, [(self.values(lhs), 1), (self.values(rhs), 1)])
            case arith.SubiOp(lhs=lhs, rhs=rhs):
                return summed(zero, [(self.values(lhs), 1), (self.values(rhs), -1)])
            case arith.MuliOp(lhs=lhs, rhs=rhs):
                value, factor = (lhs, rhs) if constant_of(lhs) is None else (rhs, lhs)
                times = constant_of(factor)
                return None if times is None else summed(zero, [(self.values(value), times)])
            case arith.FloorDivSIOp(lhs=lhs, rhs=rhs):
                return self.divided(self.values(lhs), constant_of(rhs))
            case arith.SelectOp(cond=cond, lhs=lhs, rhs=rhs) if cond in self.answers:
                return self.values(lhs if self.answers[cond] else rhs)
            case arith.MinSIOp(lhs=lhs, rhs=rhs) | arith.MaxSIOp(lhs=lhs, rhs=rhs) if (
                value in self.answers
            ):
                return self.values(lhs if self.answers[value] else rhs)
            case arith.SelectOp() | arith.MinSIOp() | arith.MaxSIOp() as op:
                one, other = self.values(op.lhs), self.values(op.rhs)
                return either(op, one, other) if one and other else None
            case _:
                return None

    def divided(self, value: Span | None, factor: int | None) -> Span | None:
        """The bounds of the floor of an index / a factor, the same in all iterations."""
        if value is None or factor is None or factor <= 0:
            return None
        low, high = self.least(value.lows) // factor, self.largest(value.highs) // factor
        return Span(((Form(low),),), ((Form(high),),))


def alike(one: Access, other: Access) -> bool:
    """Whether two accesses do the same to one buffer, side by side in all iterations."""
    same = one.buffer == other.buffer and one.writes == other.writes and one.step == other.step
    same = same and (one.first.constant - other.first.constant) % one.step == 0
    firsts = one.first.factors == other.first.factors
    return same and firsts and one.last.factors == other.last.factors


def constant(form: Form) -> int:
    """The constant of a form."""
    return form.constant


def storage_bytes(value: SSAValue) -> int:
    """The bytes of a buffer with a static layout, gaps included; 0 for another one."""
    return (storage_elements(memref_type(value)) or 0) * element_bytes(memref_type(value))


def strides_of(value: SSAValue) -> tuple[int, ...] | None:
    """The strides of a buffer in elements; None if one is not static."""
    strides = memref_type(value).get_strides()
    if strides is None or None in strides:
        return None
    return tuple(step for step in strides if step is not None)


def offset_of(value: SSAValue) -> int | None:
    """The first element of a buffer or view by its type; None if it is not static."""
    return memref_type(value).get_offset()
