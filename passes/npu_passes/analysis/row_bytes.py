"""How close the buffers that a loop over rows writes may follow those that it uses no more.

    scf.for %r = %c0 to %c5 step %c1 {
      %rows = memref.subview %x[0, 0, %first, 0] [1, 1, 6, 32] ...     // reads bytes of %x
      %row = memref.subview %y[0, 0, %r, 0] [1, 16, 1, 5] ...          // then writes bytes of %y
    }

%y may share memory with %x if each byte of it is written after the byte of %x at the same place was
used for the last time: read, or written, as those of a ring are. The loops that choose rows are run
iteration by iteration, so the order of rows is exact. What an op does with a view is not looked at:
it may read and write the bytes from the first to the last one of its views in any order. So is an
inner loop that takes no view of a whole buffer, such as one that fills a row. If a value cannot be
evaluated, there is no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, SymbolTable

from npu_dialect.arenas import is_on_chip
from npu_dialect.dsp import (
    CopyWordsOp,
    LoadFloatsOp,
    LoadPairOp,
    LoadWordOp,
    StoreFloatsOp,
    StoreWordOp,
)
from npu_dialect.mve import GatherBytesOp, GatherOp, MulRowsOp, MulRunsOp, ScatterBytesOp, ScatterOp
from npu_dialect.mve import LoadOp as LoadVectorOp
from npu_dialect.mve import StoreOp as StoreVectorOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import element_bytes, is_buffer_type, map_type
from npu_dialect.sram import SpanOp, reach_of
from npu_dialect.walking import walk
from npu_passes.analysis.index_values import IndexValues, NotKnown
from npu_passes.analysis.nests import offset_of
from npu_passes.analysis.views import is_buffer, is_view, root_of

Effects: TypeAlias = tuple[tuple[SSAValue, bool], ...]
"""Buffers that are read (False) and written (True)."""


def outer_buffers(loop: Operation) -> tuple[SSAValue, ...]:
    """The buffers on the chip that ops inside a loop use and that live outside of it.

    They are in the order of their first uses, which is the same before and after layers become
    functions and loops.
    """
    inside = dict.fromkeys(walk(loop))
    used = dict.fromkeys(value for op in inside for value in op.operands if is_buffer(value))
    found: dict[SSAValue, None] = {}
    for root in dict.fromkeys(map(root_of, used)):
        owner = root.owner if isinstance(root.owner, Operation) else root.owner.parent_op()
        assert is_buffer_type(root.type)
        if owner not in inside and is_on_chip(root.type.memory_space):
            found[root] = None
    return tuple(found)


@dataclass(frozen=True)
class Place:
    """Bytes of a buffer: its number, the first byte, and how many follow up to the last one."""

    buffer: int
    first: int
    reach: int


@dataclass(frozen=True)
class View:
    """Where a view begins in its source and how far it reaches, in bytes.

    `first` is the part that is always the same; `moving` are the numbers that are added, each times
    the bytes of a step.
    """

    first: int
    reach: int
    moving: tuple[tuple[SSAValue, int], ...] = ()

    @staticmethod
    def of(op: Operation) -> View:
        """What a view op takes. Raises: NotKnown if it cannot be evaluated."""
        (result,) = op.results
        element, first, moving = element_bytes(map_type(result)), 0, list[tuple[SSAValue, int]]()
        if isinstance(op, memref.SubviewOp):
            assert is_buffer_type(op.source.type)
            strides, dynamic = op.source.type.get_strides(), iter(op.offsets)
            if strides is None or None in strides:
                raise NotKnown
            for offset, stride in zip(op.static_offsets.get_values(), strides, strict=True):
                step = (stride or 0) * element
                if offset == DYNAMIC_INDEX:
                    moving.append((next(dynamic), step))
                else:
                    first += offset * step
        elif isinstance(op, memref.ReinterpretCastOp):
            (offset,) = op.static_offsets.get_values()
            base = offset_of(op.source)
            if offset == DYNAMIC_INDEX or base is None:
                raise NotKnown
            first = (offset - base) * element
        elif not isinstance(op, SpanOp | memref.CastOp):
            raise NotKnown
        return View(first, size_of(result), tuple(moving))


@dataclass
class RowBytes(IndexValues):
    """The state of running a loop.

    `places` are the bytes of each buffer and view. `tops` are for each buffer the end of the bytes
    that were written so far. `least` are for each pair of a buffer that is used and one that is
    written the bytes by which the first must lie behind the second. `touched` are for each buffer
    the first byte that was used, and the one behind the last.

    Ops run many times, so what does not change is found once: the `effects` of ops and of loops
    that are one event (None for views and other loops), the `views`, and the arguments that are
    `written` by called functions.
    """

    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    tops: dict[int, int] = field(default_factory=dict[int, int])
    least: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    touched: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    effects: dict[Operation, Effects | None] = field(
        default_factory=dict[Operation, Effects | None]
    )
    views: dict[Operation, View] = field(default_factory=dict[Operation, View])
    written: dict[FuncOp, set[int]] = field(default_factory=dict[FuncOp, set[int]])

    @staticmethod
    def of(loop: scf.ForOp) -> RowBytes:
        """The state after a loop has run.

        Raises: NotKnown if a value cannot be evaluated, or after too many ops.
        """
        state = RowBytes()
        for number, buffer in enumerate(outer_buffers(loop)):
            first = offset_of(buffer)
            if first is None:
                raise NotKnown
            first *= element_bytes(map_type(buffer))
            state.places[buffer] = Place(number, first, size_of(buffer))
        for value in dict.fromkeys(each for op in walk(loop) for each in op.operands):
            state.follow(value, loop)
        state.run_loop(loop)
        return state

    def nearest(self, source: int, target: int) -> int | None:
        """The least bytes by which a buffer must lie behind another one to be overwritten by it.

        None if the second one is not written, so that it has been used before the loop.
        """
        if target not in self.tops or source == target:
            return None
        any_place = -next(each.reach for each in self.places.values() if each.buffer == source)
        return self.least.get((source, target), any_place)

    def follow(self, value: SSAValue, loop: Operation) -> None:
        """Find the places of the views that are taken outside of the loop."""
        chain: list[Operation] = []
        while value not in self.places and isinstance(value.owner, Operation):
            if not is_buffer(value) or not is_view(value.owner):
                return
            chain.append(value.owner)
            value = value.owner.operands[0]
        for op in reversed(chain):
            if not loop.is_ancestor(op):
                self.view(op)

    def do(self, op: Operation) -> None:
        """Note the place of a view, or the effects of another op."""
        if op not in self.effects:
            self.effects[op] = None if is_view(op) else tuple(effects_of(op, self.written))
        if (effects := self.effects[op]) is None:
            self.view(op)
        else:
            self.happen(effects)
            self.evaluate(op)

    def run_loop(self, op: scf.ForOp) -> None:
        """Run the iterations of a loop; one that takes no views and calls nothing is one event."""
        if op not in self.effects:
            self.effects[op] = self.event(op)
        if (effects := self.effects[op]) is None:
            super().run_loop(op)
        else:
            self.happen(effects)

    def event(self, loop: scf.ForOp) -> Effects | None:
        """The effects of a loop that takes no views and calls nothing; None for another one."""
        inner = [op for op in walk(loop) if op is not loop]
        if any(is_view(op) or isinstance(op, LayerOp | CallOp) for op in inner):
            return None
        return tuple(
            dict.fromkeys(effect for op in inner for effect in effects_of(op, self.written))
        )

    def view(self, op: Operation) -> None:
        """Note the place of a view. Raises: NotKnown if it cannot be evaluated."""
        source = self.places.get(op.operands[0])
        if source is None:
            return
        if op not in self.views:
            self.views[op] = View.of(op)
        view = self.views[op]
        first = source.first + view.first
        for value, step in view.moving:
            first += self.number(value) * step
        self.places[op.results[0]] = Place(source.buffer, first, view.reach)

    def happen(self, effects: Effects) -> None:
        """Note what ops use, as if they first wrote everything, then read and wrote it again."""
        for value, writes in effects:
            if writes and (place := self.places.get(value)) is not None:
                end = place.first + place.reach
                self.tops[place.buffer] = max(self.tops.get(place.buffer, 0), end)
        for value, _ in effects:
            if (place := self.places.get(value)) is not None:
                self.touch(place)
                for target, end in self.tops.items():
                    pair, needed = (place.buffer, target), end - place.first
                    if target != place.buffer:
                        self.least[pair] = max(self.least.get(pair, needed), needed)

    def touch(self, place: Place) -> None:
        """Note which bytes of a buffer are used."""
        end = place.first + place.reach
        low, high = self.touched.get(place.buffer, (place.first, end))
        self.touched[place.buffer] = min(low, place.first), max(high, end)

    def meet(self, one: int, other: int, apart: int) -> bool:
        """Whether two buffers share bytes that are used, if the first is so far behind the other.

        Of a buffer that is filled slice by slice, a loop uses only a part.
        """
        if one not in self.touched or other not in self.touched:
            return False
        (low, high), (first, end) = self.touched[one], self.touched[other]
        return apart + low < end and first < apart + high


def effects_of(op: Operation, written: dict[FuncOp, set[int]]) -> Iterator[tuple[SSAValue, bool]]:
    """The buffers that an op reads (False) and writes (True). An unknown op does both.

    `written` are the arguments that functions may write; those of a function that is called are
    added. Raises: NotKnown for an unknown op with regions.
    """
    if not op.regions and not any(map(is_buffer, op.operands)):
        return
    match op:
        case LayerOp() if op.destination is not None:
            yield from ((value, False) for value in op.inputs)
            yield op.destination, True
            if op.properties.get("accumulate") is not None:
                yield op.destination, False
        case memref.CopyOp(destination=target) | CopyWordsOp(target=target):
            yield from ((op.source, False), (target, True))
        case (
            memref.LoadOp()
            | LoadWordOp()
            | LoadPairOp()
            | LoadFloatsOp()
            | LoadVectorOp()
            | GatherOp()
            | GatherBytesOp()
            | MulRowsOp()
            | MulRunsOp()
        ):
            yield from ((each, False) for each in op.operands if is_buffer(each))
        case (
            memref.StoreOp()
            | StoreWordOp()
            | StoreFloatsOp()
            | StoreVectorOp()
            | ScatterOp()
            | ScatterBytesOp()
        ):
            yield op.memref, True
        case CallOp():
            yield from effects_of_call(op, written)
        case scf.ForOp() | scf.IfOp():
            return  # the ops inside them have effects
        case _ if not is_view(op):
            yield from unknown_effects_of(op)
        case _:
            return


def effects_of_call(op: CallOp, written: dict[FuncOp, set[int]]) -> Iterator[tuple[SSAValue, bool]]:
    """The effects of a call: it may read all of its arguments."""
    callee = SymbolTable.lookup_symbol(op, op.callee)
    changed = set(range(len(op.arguments)))
    if isinstance(callee, FuncOp) and not callee.is_declaration:
        if callee not in written:
            written[callee] = written_by(callee, written)
        changed = written[callee]
    for index, value in enumerate(op.arguments):
        yield value, False
        if index in changed:
            yield value, True


def unknown_effects_of(op: Operation) -> Iterator[tuple[SSAValue, bool]]:
    """The effects of any other op: both, on all of its buffers, unless it ends a block."""
    if op.regions:
        raise NotKnown
    if not op.has_trait(IsTerminator, value_if_unregistered=False):
        buffers = [value for value in op.operands if is_buffer(value)]
        yield from ((value, way) for value in buffers for way in (True, False))


def written_by(function: FuncOp, written: dict[FuncOp, set[int]]) -> set[int]:
    """The numbers of the arguments that a function may write."""
    arguments: dict[SSAValue, int] = {v: i for i, v in enumerate(function.body.block.args)}
    return {
        arguments[root]
        for op in walk(function)
        if op is not function
        for value, writes in effects_of(op, written)
        if writes and (root := root_of(value)) in arguments
    }


def size_of(value: SSAValue) -> int:
    """Bytes from the first element of a buffer to its last one. Raises: NotKnown."""
    assert is_buffer_type(value.type)
    reach = reach_of(value.type.get_shape(), value.type.get_strides())
    if reach is None:
        raise NotKnown
    return reach * element_bytes(map_type(value))
