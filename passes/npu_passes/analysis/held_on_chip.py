"""What the layers of a function hold on chip, and which layers its transfers serve.

    %t = dma.start %rows to %a(1) ...          a load for layer 1, of what layer 0 has stored
    npu.conv2d ins(%a(0)) outs(%b)             layer 0 holds half of %a, and %b
    dma.wait %t
    npu.conv2d ins(%a(1)) outs(%c)             layer 1

Level of IR: buffers and transfers, before layers become loops. Pure reading: each loop is run,
iteration by iteration, with the numbers of its indices. The result is the plan of which
`npu_plans/time/bound.py` bounds the cycles. What is loaded is held from the first layer that reads
it to the last one, what a layer computes from that layer on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate as sums
from math import prod
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from npu_dialect.computing import accumulates
from npu_dialect.dma import StartOp, WaitOp
from npu_dialect.npu.maps import element_bytes, is_buffer_type
from npu_passes.analysis.index_values import IndexValues, NotKnown
from npu_passes.analysis.timed_ops import NotTimed, is_off_chip, moved_by, task_of
from npu_passes.analysis.views import viewed_by
from npu_passes.support.loop_builder import memref_type
from npu_plans.time.bound import Layer, Load, Plan, Store
from npu_plans.time.rates import Rates

MOST_STEPS = 3_000_000
"""The most ops that are run."""

Box: TypeAlias = tuple[range, ...]
"""The indices of a view along each axis of its buffer."""


@dataclass(frozen=True)
class View:
    """A part of a buffer."""

    root: SSAValue
    box: Box

    def meets(self, other: View) -> bool:
        """Whether two views share an element."""
        return self.root is other.root and all(map(share, self.box, other.box))

    @property
    def bytes(self) -> int:
        """The bytes of its elements."""
        return prod(map(len, self.box)) * element_bytes(memref_type(self.root))


def share(one: range, other: range) -> bool:
    """Whether two ranges have a number in common."""
    if one.step == other.step == 1:
        return one.start < other.stop and other.start < one.stop
    return any(number in other for number in one)


@dataclass
class Piece:
    """What is held in a view on chip.

    It is held from layer `first` to `last`, if `first` is known: a load has no first layer until
    one reads it. `writer`: the layer that computes it, or -1. `load` and `stores`: the numbers of
    its transfers.
    """

    view: View
    first: int | None
    last: int
    writer: int = -1
    load: int | None = None
    stores: list[int] = field(default_factory=list[int])


@dataclass
class Held(IndexValues):
    """Runs a function, and notes its layers and transfers."""

    rates: Rates
    cycles: list[int] = field(default_factory=list[int])
    """Those of each layer."""
    loads: list[Load] = field(default_factory=list[Load])
    stores: list[Store] = field(default_factory=list[Store])
    pieces: list[Piece] = field(default_factory=list[Piece])
    """All pieces that have been on chip."""
    here: dict[SSAValue, list[Piece]] = field(default_factory=lambda: defaultdict(list[Piece]))
    """The pieces that are on chip now, by their buffers."""
    stored: dict[SSAValue, list[tuple[View, int]]] = field(
        default_factory=lambda: defaultdict(list[tuple[View, int]])
    )
    """What is stored to each map off the chip, and the numbers of the stores."""
    needs: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """The stores of which each load that is not read yet needs a part."""

    def do(self, op: Operation) -> None:
        """Note an op that is no loop and no branch."""
        if isinstance(op, StartOp):
            (self.store if is_off_chip(op.target.type) else self.load)(op)
        elif isinstance(op, WaitOp) or (task := task_of(op, self.rates)) is None:
            self.evaluate(op)
        elif isinstance(op, memref.LoadOp | memref.StoreOp):
            self.element(op, op.memref)
        else:
            self.layer(op, task.cycles(self.rates))

    def view(self, value: SSAValue) -> View:
        """The part of its buffer that a value is; views of other kinds are of all that they see."""
        chain: list[Operation] = []
        while (whole := viewed_by(value)) is not None:
            assert isinstance(value.owner, Operation)
            chain.append(value.owner)
            value = whole
        box: Box = tuple(range(extent) for extent in memref_type(value).get_shape())
        for op in reversed(chain):
            if not isinstance(op, memref.SubviewOp) or op.result.type.get_num_dims() != len(box):
                break
            box = self.part(op, box)
        return View(value, box)

    def part(self, op: memref.SubviewOp, box: Box) -> Box:
        """The indices of a subview of a box."""
        given = iter(op.offsets)
        firsts = [
            self.number(next(given)) if first == DYNAMIC_INDEX else first
            for first in op.static_offsets.get_values()
        ]
        sizes, steps = op.static_sizes.get_values(), op.static_strides.get_values()
        return tuple(
            axis[first : first + (size - 1) * step + 1 : step]
            for axis, first, size, step in zip(box, firsts, sizes, steps, strict=True)
        )

    def load(self, op: StartOp) -> None:
        """Note a load, whose first user is not known yet."""
        source, target = self.view(op.source), self.view(op.target)
        found = [number for view, number in self.stored[source.root] if view.meets(source)]
        last = max((self.stores[number].source for number in found), default=-1)
        moved = moved_by(op)
        self.put(Piece(target, None, -1, load=len(self.loads)), len(self.cycles))
        self.needs[len(self.loads)] = found
        self.loads.append(Load(-1, moved.bytes, moved.runs, last))

    def store(self, op: StartOp) -> None:
        """Note a store."""
        source, target = self.view(op.source), self.view(op.target)
        found = list(self.pieces_in(source))
        moved, number = moved_by(op), len(self.stores)
        for piece in found:
            piece.stores.append(number)
        writer = max((piece.writer for piece in found), default=-1)
        self.stored[target.root].append((target, number))
        self.stores.append(Store(writer, moved.bytes, moved.runs))

    def pieces_in(self, view: View) -> Iterator[Piece]:
        """The pieces on chip that meet a view."""
        return (each for each in self.here[view.root] if each.view.meets(view))

    def put(self, piece: Piece, layer: int) -> None:
        """Put a piece on chip while a layer computes; it overwrites those that it meets."""
        for each in list(self.pieces_in(piece.view)):
            each.last = min(each.last, layer - 1)
            self.here[piece.view.root].remove(each)
        self.here[piece.view.root].append(piece)
        self.pieces.append(piece)

    def layer(self, op: Operation, cycles: int) -> None:
        """Note a layer, or a copy: it holds what it reads and what it computes."""
        number = len(self.cycles)
        self.cycles.append(cycles)
        *reads, out = (self.view(each) for each in op.operands if is_buffer_type(each.type))
        for view in reads:
            for piece in self.pieces_in(view):
                self.read(piece, number, number)
        adding = list(self.pieces_in(out)) if accumulates(op) else []
        for piece in adding:
            self.read(piece, number, number)
            piece.writer = number
        if not adding:
            self.put(Piece(out, number, number, writer=number), number)

    def element(self, op: Operation, value: SSAValue) -> None:
        """Note an op that reads or writes an element: as a part of what runs between two layers."""
        number, view = len(self.cycles), self.view(value)
        for piece in self.pieces_in(view):
            self.read(piece, number, number - 1)
            if not op.results:
                piece.writer = number - 1

    def read(self, piece: Piece, user: int, last: int) -> None:
        """Note that a piece is needed in front of layer `user`, and until the end of `last`."""
        piece.last = max(piece.last, last)
        if piece.first is None and piece.load is not None:
            piece.first = user
            self.loads[piece.load] = replace(self.loads[piece.load], user=user)
            for number in self.needs.pop(piece.load):
                needed = self.stores[number].needed
                first = user if needed is None else min(needed, user)
                self.stores[number] = replace(self.stores[number], needed=first)
        for number in piece.stores:
            self.stores[number] = replace(self.stores[number], kept=True)

    def plan(self) -> Plan:
        """The layers and transfers that have been noted."""
        changes = [0] * (len(self.cycles) + 1)
        for each in self.pieces:
            if each.first is not None and each.first <= each.last:
                changes[each.first] += each.view.bytes
                changes[each.last + 1] -= each.view.bytes
        layers = map(Layer, self.cycles, sums(changes))
        loads = (each for each in self.loads if each.user >= 0)
        return Plan(tuple(layers), tuple(loads), tuple(self.stores))


def held_on_chip(function: FuncOp, rates: Rates) -> Plan:
    """The layers of a function, what they hold on chip, and its transfers.

    Raises: NotTimed if that depends on the data, or if an index does not follow from constants.
    """
    found = Held(rates, most=MOST_STEPS)
    try:
        found.run(function.body.block)
    except NotKnown:
        raise NotTimed("an index does not follow from constants and other loops") from None
    return found.plan()
