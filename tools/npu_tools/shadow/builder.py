"""Collects the accesses of a run of ops: walks through its loops once, with arrays for numbers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import element_bytes, is_buffer_type
from npu_tools.shadow.faults import NotFollowed, name_of, place_of
from npu_tools.shadow.memory import VIEWS, Layout, Part, viewed
from npu_tools.shadow.nest import Access, Axis, Nest, Port, widened
from npu_tools.shadow.numbers import (
    LARGEST,
    Large,
    Number,
    Numbers,
    added,
    aligned,
    evaluated,
    gathered,
    is_number,
)
from npu_tools.shadow.places import PlacesOp, table_of, used_lanes


class Sequential(Exception):
    """Addresses of a nest depend on numbers that its loops carry."""


class Outside(Exception):
    """An index lies outside of its view; the message names both."""

    def __init__(self, op: Operation, what: str) -> None:
        super().__init__(what)
        self.op, self.what = op, what


class Builder:
    """Walks through a run of ops, and collects the accesses."""

    def __init__(
        self, number: Callable[[SSAValue], int | None], port: Callable[[SSAValue], Port]
    ) -> None:
        self.nest = Nest()
        self.outer_number, self.outer_port = number, port
        self.inside: set[Block] = set()
        self.known: dict[SSAValue, Number | None] = {}
        self.layouts: dict[SSAValue, tuple[SSAValue, Layout]] = {}
        self.axes = [Axis(1, 0)]
        self.mask: Numbers | None = None
        self.tick = 0

    # -- values ----------------------------------------------------------------------------------

    def number(self, value: SSAValue) -> Number | None:
        """The number of a value; None if it depends on data.

        Raises: Sequential if a loop carries it.
        """
        if value not in self.known:
            self.known[value] = self.computed(value)
        return self.known[value]

    def computed(self, value: SSAValue) -> Number | None:
        """The number of a value that is asked for the first time."""
        if not is_number(value.type):
            return None
        if not self.is_inside(value):
            found = self.nest.numbers[value] = self.outer_number(value)
            return found
        if isinstance(value, BlockArgument):
            raise Sequential
        assert isinstance(value, OpResult)
        match op := value.op:
            case scf.ForOp() | scf.IfOp():
                raise Sequential
            case memref.LoadOp():
                return self.loaded(op)
            case _:
                return evaluated(op, self.number)

    def loaded(self, op: memref.LoadOp) -> Number | None:
        """The number that a load reads from a constant."""
        port, layout = self.view(op.memref)
        data = self.nest.ports[port].data
        if data is None:
            return None
        self.nest.reads_constants = True
        terms = self.terms(op, layout, op.indices)
        place = terms[0]
        for term in terms[1:]:
            place = added(place, term)
        return gathered(data, place // layout.itemsize)

    def is_inside(self, value: SSAValue) -> bool:
        """Whether a value is made inside a loop or branch of the run."""
        owner = value.owner
        return (owner if isinstance(owner, Block) else owner.parent) in self.inside

    def view(self, value: SSAValue) -> tuple[SSAValue, Layout]:
        """The port that a buffer or view belongs to, and its layout from there."""
        if value not in self.layouts:
            self.layouts[value] = self.new_view(value)
        return self.layouts[value]

    def new_view(self, value: SSAValue) -> tuple[SSAValue, Layout]:
        """The port and layout of a value that is asked for the first time."""
        if not self.is_inside(value):
            port = self.nest.ports[value] = self.outer_port(value)
            return value, port.layout
        if isinstance(value, BlockArgument) or not isinstance(value.owner, VIEWS):
            raise NotFollowed(f"expected a view of a known buffer, got {name_of(value)}")
        port, layout = self.view(value.owner.operands[0])
        if isinstance(value.owner, memref.SubviewOp):
            part = Part.of(value.owner, self.number)
            for offset, size, step, extent in zip(
                part.offsets, part.sizes, part.steps, layout.shape, strict=True
            ):
                if size:
                    self.check(
                        value.owner, offset, extent - (size - 1) * step, "a view that begins"
                    )
        return port, viewed(value.owner, layout, self.number)

    def check(self, op: Operation, index: Number, extent: int, what: str) -> None:
        """Check that indices lie in [0, extent) in all iterations that happen.

        Raises: Outside if one does not.
        """
        low, high = np.min(index), np.max(index)
        if 0 <= low and high < extent:
            return
        if self.mask is not None:
            happens, indices = np.broadcast_arrays(*aligned(self.mask, np.asarray(index)))
            wanted = indices[happens]
            if not wanted.size:
                return
            low, high = wanted.min(), wanted.max()
        if low < 0 or high >= extent:
            wrong = low if low < 0 else high
            raise Outside(op, f"{what} at index {wrong}, outside of its axis (0 to {extent - 1})")

    def terms(
        self, op: Operation, layout: Layout, indices: Sequence[SSAValue], by: Number = 0
    ) -> tuple[Number, ...]:
        """The terms of the first byte of an element; unknown indices reach each element.

        `by`: what is added to each index.
        """
        found = [layout.start]
        for index, extent, stride in zip(indices, layout.shape, layout.strides, strict=True):
            number = self.number(index)
            if number is None:
                raise NotFollowed("expected an index that does not depend on data")
            number = added(number, by)
            self.check(op, number, extent, "an access")
            found.append(number * stride)
        return tuple(found)

    # -- ops -------------------------------------------------------------------------------------

    def run(self, ops: Sequence[Operation]) -> Nest:
        """The nest of a run of ops.

        Raises: NotFollowed, Sequential, Outside, or Large.
        """
        for op in ops:
            self.op(op)
        self.nest.touch()
        return self.nest

    def op(self, op: Operation) -> None:
        """Note the accesses of one op."""
        match op:
            case scf.ForOp():
                self.loop(op)
            case scf.IfOp():
                self.branch(op)
            case memref.LoadOp():
                self.element(op, op.memref, op.indices, writes=False)
            case memref.StoreOp():
                self.element(op, op.memref, op.indices, writes=True)
            case _ if isinstance(op, dsp.WordsOp):
                self.words(op)
            case mve.LoadOp() | mve.StoreOp() | mve.MulRowsOp() | mve.MulRunsOp():
                self.vector(op, writes=isinstance(op, mve.StoreOp))
            case mve.GatherOp() | mve.GatherBytesOp() | mve.ScatterOp() | mve.ScatterBytesOp():
                self.places(op, writes=isinstance(op, mve.ScatterOp | mve.ScatterBytesOp))
            case memref.CopyOp():
                self.copy(op, [op.source], [op.destination])
            case LayerOp() if op.destination is not None:
                self.copy(op, op.inputs, [op.destination])
            case _:
                pass

    def words(
        self,
        op: dsp.WordsOp,
    ) -> None:
        """Note the accesses of an op to whole words."""
        match op:
            case dsp.LoadWordOp() | dsp.LoadPairOp() | dsp.LoadFloatsOp() | dsp.StoreFloatsOp():
                count = op.words * word_of(op.memref)
                writes = isinstance(op, dsp.StoreFloatsOp)
                self.element(op, op.memref, [op.index], writes=writes, count=count)
            case dsp.StoreWordOp():
                self.element(op, op.memref, [op.index], writes=True, count=word_of(op.memref))
            case dsp.CopyWordsOp():
                self.element(op, op.source, [op.first], writes=False, count=op.elements)
                self.element(op, op.target, [op.start], writes=True, count=op.elements)

    def loop(self, op: scf.ForOp) -> None:
        """Note the accesses of a loop."""
        bounds = [self.number(each) for each in (op.lb, op.ub, op.step)]

        def body(index: Number) -> None:
            self.known[op.body.block.args[0]] = index
            self.block(op.body.block)

        self.iterated(bounds, body)

    def iterated(self, bounds: Sequence[Number | None], body: Callable[[Number], None]) -> None:
        """Note the accesses of a body inside a loop; `body` gets the number of the iteration."""
        if any(each is None for each in bounds):
            raise NotFollowed("expected a loop whose bounds do not depend on data")
        low, high, step = aligned(*(each for each in bounds if each is not None))
        if np.min(step) <= 0:
            raise NotFollowed(f"expected a loop with a positive step, got {np.min(step)}")
        trips = np.maximum(-((low - high) // step), 0)
        count = int(trips.max())
        if not count:
            return
        if count > LARGEST:
            raise Large
        steps = np.arange(count).reshape((1,) * len(self.axes) + (count,))
        axis = Axis(count, self.tick)
        before = self.mask
        if trips.ndim and trips.min() != count:
            happens = steps < widened(trips, len(self.axes) + 1)
            self.mask = both(self.mask, happens)
        first, each, stride = aligned(low, steps, step)
        outer, self.tick = self.tick, 0
        self.axes.append(axis)
        body(first + each * stride)
        self.axes.pop()
        axis.ticks, self.mask = max(self.tick, 1), before
        self.tick = outer + count * axis.ticks

    def branch(self, op: scf.IfOp) -> None:
        """Note the accesses of both branches; without a known condition both may happen."""
        condition, before = self.number(op.cond), self.mask
        for region, taken in ((op.true_region, True), (op.false_region, False)):
            if not region.blocks:
                continue
            if condition is not None:
                happens = np.asarray(condition, np.bool_)
                self.mask = both(before, happens if taken else ~happens)
                if not self.mask.any():
                    continue
            self.block(region.block)
        self.mask = before

    def block(self, block: Block) -> None:
        """Note the accesses of a block."""
        self.inside.add(block)
        for op in block.ops:
            self.op(op)

    def element(
        self,
        op: Operation,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        *,
        writes: bool,
        count: int = 1,
        by: Number = 0,
    ) -> None:
        """Note the access of `count` neighbouring elements, `by` elements behind an index."""
        port, layout = self.view(buffer)
        if self.nest.ports[port].is_constant and not writes:
            return
        width = count * layout.itemsize
        if count > 1:
            layout = replace(layout, shape=(layout.shape[0] - count + 1,))
        if any(self.number(index) is None for index in indices):
            with self.every_element(layout) as terms:
                self.note(op, port, terms, width, writes=writes)
            return
        self.note(op, port, self.terms(op, layout, indices, by), width, writes=writes)

    def vector(
        self, op: mve.LoadOp | mve.StoreOp | mve.MulRowsOp | mve.MulRunsOp, *, writes: bool
    ) -> None:
        """Note the access of a vector, or of the words of rows.

        Elements with gaps between them are noted one by one.
        """
        if isinstance(op, mve.MulRunsOp):
            self.runs(op)
            return
        if isinstance(op, mve.MulRowsOp) or op.step == 1:
            count = op.words if isinstance(op, mve.MulRowsOp) else op.count
            self.element(op, op.memref, [op.index], writes=writes, count=count)
            return
        port, layout = self.view(op.memref)
        shape = (layout.shape[0] - op.count + 1,)
        for lane in range(op.count):
            start = layout.start + lane * layout.strides[0]
            terms = self.terms(op, replace(layout, start=start, shape=shape), [op.index])
            self.note(op, port, terms, layout.itemsize, writes=writes)

    def runs(self, op: mve.MulRunsOp) -> None:
        """Note the accesses to the runs of windows, row by row, and to first values."""
        own = op.numbers

        def body(row: Number) -> None:
            reads = (
                (op.memref, op.index, op.bytes, own.pitch),
                (op.table, op.first, own.words, own.step),
            )
            for buffer, index, count, step in reads:
                self.element(op, buffer, [index], writes=False, count=count, by=row * step)

        if op.starts is not None and op.start is not None:
            self.element(op, op.starts, [op.start], writes=False, count=own.filters)
        self.iterated([0, self.number(op.rows), 1], body)

    def places(self, op: PlacesOp, *, writes: bool) -> None:
        """Note the access of a vector to elements at its places, one by one.

        Of a constant table, all elements within reach are noted: its places may depend on data.
        """
        port, layout = self.view(op.memref)
        if not writes and self.nest.ports[port].data is not None:
            self.element(op, op.memref, [op.index], writes=False, count=op.bytes)
            return
        index = self.number(op.index)
        if index is None:
            raise NotFollowed("expected an index that does not depend on data")
        for place in self.places_of(op):
            place = added(index, place)
            self.check(op, place, layout.shape[0], "an access")
            terms = layout.start, place * layout.itemsize
            self.note(op, port, terms, layout.itemsize, writes=writes)

    def happening(self, number: Number) -> Number:
        """A number, or 0 in iterations that do not happen."""
        if self.mask is None:
            return number
        happens, numbers = np.broadcast_arrays(*aligned(self.mask, np.asarray(number)))
        return np.where(happens, numbers, 0)

    def places_of(self, op: PlacesOp) -> Sequence[Number]:
        """The places of all lanes that are used, without signs.

        Raises: NotFollowed if one is no constant.
        """
        found: list[Number | None] = [None]
        if (load := table_of(op)) is not None:
            port, layout = self.view(load.memref)
            data, index = self.nest.ports[port].data, self.number(load.index)
            if data is not None and index is not None:
                self.nest.reads_constants = True
                data = data.view(np.dtype(f"u{data.dtype.itemsize}"))
                first = added(layout.start // layout.itemsize, index)
                lanes = (added(first, lane) for lane in used_lanes(op))
                found = [gathered(data, self.happening(each)) for each in lanes]
        places = [each for each in found if each is not None]
        if len(places) < len(found):
            raise NotFollowed(f"expected places of a constant table in {place_of(op)}")
        return places

    @contextmanager
    def every_element(self, layout: Layout, ticks: int = 0) -> Generator[tuple[Number, ...]]:
        """The terms of all elements, with an axis for each axis of the layout."""
        outer, mask = len(self.axes), self.mask
        start, self.tick = self.tick, 0
        terms = [layout.start]
        for axis, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
            inner = prod(layout.shape[axis + 1 :]) * ticks
            self.axes.append(Axis(extent, start if not axis else 0, inner))
            terms.append((np.arange(extent) * stride).reshape((1,) * (outer + axis) + (extent,)))
        self.tick = 0 if layout.shape else start
        yield tuple(terms)
        del self.axes[outer:]
        self.mask = mask
        self.tick = start + max(1, prod(layout.shape) * ticks)

    def note(
        self, op: Operation, port: SSAValue, terms: tuple[Number, ...], width: int, *, writes: bool
    ) -> None:
        """Note an access at the next tick."""
        if any(isinstance(each, np.ndarray) and not each.size for each in terms):
            return
        self.nest.accesses.append(
            Access(op, port, writes, width, terms, self.mask, tuple(self.axes), self.tick)
        )
        self.tick += 1

    def copy(self, op: Operation, sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        """Note an op that reads all of its sources, then writes all of its targets.

        A copy of buffers with gaps is a loop, which reads and writes one element after the other.
        """
        views = [(self.view(each), False) for each in sources if is_buffer(each)]
        views += [(self.view(each), True) for each in targets if is_buffer(each)]
        at_once = not isinstance(op, memref.CopyOp) or all(
            layout.is_contiguous for (_, layout), _ in views
        )
        start = self.tick
        for (port, layout), writes in views:
            if writes or not self.nest.ports[port].is_constant:
                self.tick = start
                with self.every_element(layout, 0 if at_once else 2) as terms:
                    self.tick += writes
                    self.note(op, port, terms, layout.itemsize, writes=writes)
        self.tick = max(self.tick, start) + 2


def word_of(buffer: SSAValue) -> int:
    """How many elements of a buffer are a word."""
    assert is_buffer_type(buffer.type)
    return dsp.WORD_BYTES // element_bytes(buffer.type)


def is_buffer(value: SSAValue) -> bool:
    """Whether a value is a memref."""
    return isinstance(value.type, MemRefType)


def both(one: Numbers | None, two: Numbers) -> Numbers:
    """Whether both conditions hold."""
    if one is None:
        return two
    first, second = aligned(one, two)
    return np.asarray(first & second)
