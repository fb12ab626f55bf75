"""Loop nests of the IR as plain data: which bytes of which buffers a function touches, and when.

    func.func @layer(%ifm: memref<64xi8>, %ofm: memref<64xi8>) {
      scf.for %i = %c0 to %c16 step %c1 {
        %at = arith.muli %i, %c4
        %x = dsp.load_word %ifm[%at]             // reads bytes 4 * i to 4 * i + 3 of buffer 0
        memref.store %y, %ofm[%at]               // writes byte 4 * i of buffer 1

Indices are linear in the numbers of iterations, or one of several such, as minima and maxima are.
An access with another index is an access to the whole buffer, and so is any other op that takes a
buffer. Conditions are not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from npu_dialect.dsp import LoadWordOp, StoreWordOp
from npu_dialect.dsp.memory import WORD_BYTES
from npu_dialect.npu.maps import element_bytes, storage_elements
from npu_dialect.sram import SpanOp
from npu_passes.analysis.affine_index import constant_of
from npu_passes.analysis.views import is_buffer, is_view
from npu_passes.support.loop_builder import memref_type
from npu_plans.overlays.nest import Access, Choice, Form, Loop, Node

MOST_CHOICES = 16
"""The most values of an index that are followed; with more, the access is to the whole buffer."""

MOST_BOUNDS = 4
"""The most bounds of an index that are kept."""


Bounds: TypeAlias = tuple[tuple[Form, ...], ...]
"""Lower or upper bounds of an index, in groups: all bounds of one of the groups hold."""


@dataclass(frozen=True)
class Span:
    """The lower and the upper bounds of an index."""

    lows: Bounds
    highs: Bounds

    @staticmethod
    def exactly(place: Form) -> Span:
        """The bounds of an index that is known."""
        return Span(((place,),), ((place,),))

    def plus(self, other: Span, times: int = 1) -> Span | None:
        """The bounds of self + times * other; None if there are too many."""
        lows, highs = (other.lows, other.highs) if times >= 0 else (other.highs, other.lows)
        return Span.of(sums(self.lows, lows, times), sums(self.highs, highs, times))

    @staticmethod
    def of(lows: Bounds, highs: Bounds) -> Span | None:
        """An index with these bounds; None if there are too many."""
        lows, highs = tuple(dict.fromkeys(lows)), tuple(dict.fromkeys(highs))
        return Span(lows, highs) if max(len(lows), len(highs)) <= MOST_CHOICES else None


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
                bodies = [self.nodes(each.ops) for region in op.regions for each in region.blocks]
                if any(bodies):
                    yield Choice(tuple(bodies))
            case memref.LoadOp():
                yield from self.element(op.memref, op.indices, writes=False)
            case memref.StoreOp():
                yield from self.element(op.memref, op.indices, writes=True)
            case LoadWordOp():
                yield from self.element(op.memref, [op.index], writes=False, size=WORD_BYTES)
            case StoreWordOp():
                yield from self.element(op.memref, [op.index], writes=True, size=WORD_BYTES)
            case _ if is_view(op):
                self.view(op)
            case _ if not op.has_trait(IsTerminator, value_if_unregistered=False):
                yield from self.unknown(op)
            case _:
                pass

    def loop(self, op: scf.ForOp) -> Iterator[Node]:
        """A loop. One whose bounds vary runs over all numbers between the outermost ones."""
        number, times = next(self.numbers), 2
        lower, upper, step = self.values(op.lb), self.values(op.ub), constant_of(op.step)
        if lower is not None and upper is not None and step is not None and step > 0:
            first, end = self.least(lower.lows), self.largest(upper.highs)
            varies = first != self.largest(lower.highs) or end != self.least(upper.lows)
            step = 1 if varies else step
            times = self.counts[number] = len(range(first, end, step))
            variable = Form(first, ((number, step),))
            before = upper.plus(Span.exactly(Form(1)), -1)
            lows = tuple(kept((variable, *group)) for group in lower.lows)
            highs = tuple(kept((variable, *group)) for group in (before or upper).highs)
            exact = Span.exactly(variable)
            self.known[op.body.block.args[0]] = Span(lows, highs) if varies else exact
        else:
            self.known[op.body.block.args[0]] = None
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
        self, value: SSAValue, indices: Sequence[SSAValue], *, writes: bool, size: int = 0
    ) -> Iterator[Node]:
        """An access to the elements at an index: `size` bytes, or one element."""
        view = self.views.get(value)
        if view is None:
            return
        width = element_bytes(memref_type(value))
        place = None
        if view.starts is not None and len(view.strides) == len(indices):
            steps = [self.values(index) for index in indices]
            place = summed(view.starts, list(zip(steps, view.strides, strict=True)))
        if place is None:
            yield self.whole(view.buffer, writes=writes)
            return
        firsts = [self.closest(each, width, max) for each in place.lows]
        lasts = [self.closest(each, width, min) for each in place.highs]
        pairs = dict.fromkeys((*((f, lasts[0]) for f in firsts), *((firsts[0], e) for e in lasts)))
        bodies = [
            Access(
                view.buffer, writes, first, Form(last.constant + (size or width) - 1, last.factors)
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
            case memref.CastOp() | memref.CollapseShapeOp() | memref.ExpandShapeOp() | SpanOp():
                starts = source.starts
            case memref.ReinterpretCastOp() if (offset := offset_of(result)) is not None:
                starts = Span.exactly(Form(offset))
            case _:
                pass
        self.views[result] = View(source.buffer, starts if strides else None, strides or ())

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
                for one, other in ((lhs, rhs), (rhs, lhs)):
                    if (factor := constant_of(other)) is not None:
                        return summed(zero, [(self.values(one), factor)])
                return None
            case arith.SelectOp() | arith.MinSIOp() | arith.MaxSIOp() as op:
                one, other = self.values(op.lhs), self.values(op.rhs)
                return either(op, one, other) if one and other else None
            case _:
                return None


def either(
    op: arith.SelectOp | arith.MinSIOp | arith.MaxSIOp, one: Span, other: Span
) -> Span | None:
    """The bounds of an index that is one of two others, maybe the smaller or the larger."""
    lows, highs = (*one.lows, *other.lows), (*one.highs, *other.highs)
    if isinstance(op, arith.MaxSIOp):
        lows = tuple(kept((*a, *b)) for a in one.lows for b in other.lows)
    if isinstance(op, arith.MinSIOp):
        highs = tuple(kept((*a, *b)) for a in one.highs for b in other.highs)
    return Span.of(lows, highs)


def kept(bounds: Sequence[Form]) -> tuple[Form, ...]:
    """Bounds that all hold, each once and not too many."""
    return tuple(dict.fromkeys(bounds))[:MOST_BOUNDS]


def sums(one: Bounds, other: Bounds, times: int) -> Bounds:
    """The bounds of a sum of two indices."""
    return tuple(
        kept([each.plus(more, times) for each in group for more in another])
        for group in one
        for another in other
    )


def summed(start: Span, terms: Sequence[tuple[Span | None, int]]) -> Span | None:
    """The bounds of a sum of a start and terms times factors; None if one is not known."""
    found: Span | None = start
    for value, factor in terms:
        if value is None or found is None:
            return None
        found = found.plus(value, factor)
    return found


def alike(one: Access, other: Access) -> bool:
    """Whether two accesses do the same to one buffer, side by side in all iterations."""
    same = one.buffer == other.buffer and one.writes == other.writes
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
