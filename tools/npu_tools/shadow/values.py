"""What the values of a running program stand for: numbers, views of buffers, and transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import SymbolTable

from npu_dialect.kept_attributes import Copied, copy_of
from npu_tools.shadow.faults import Fault, NotFollowed, name_of, place_of
from npu_tools.shadow.memory import VIEWS, Layout, Memory, Part, buffer_bytes, subview, viewed
from npu_tools.shadow.nest import Port
from npu_tools.shadow.numbers import constant_data, evaluated, gathered, is_number
from npu_tools.shadow.order import Place, World
from npu_tools.shadow.transfers import Transfer

View: TypeAlias = "tuple[Place, Layout]"
"""A buffer, the byte at which a view starts, and the layout of the view from there."""
Bound: TypeAlias = "int | View | Transfer | None"
"""What a value of the IR stands for; None for data."""


@dataclass
class Frame:
    """A running function: the values of its loops, innermost last, and its memories."""

    context: str
    """How messages name the call."""
    site: str
    """How messages name writes of the function; empty if its ops have names of their own."""
    arenas: Mapping[str, Memory]
    off_chip: Memory | None
    scopes: list[dict[SSAValue, Bound]]
    transfers: list[Transfer] = field(default_factory=list[Transfer])


class Values:
    """The running functions of a module, innermost last, and what their values stand for."""

    def __init__(self, module: ModuleOp, world: World) -> None:
        self.module, self.world = module, world
        self.frames: list[Frame] = []
        self.globals: dict[str, View] = {}
        self.copies: dict[Copied, View] = {}

    @property
    def frame(self) -> Frame:
        """The innermost running function."""
        return self.frames[-1]

    def bound(self, value: SSAValue) -> Bound:
        """What a value stands for."""
        for scope in reversed(self.frame.scopes):
            if value in scope:
                return scope[value]
        found = self.computed(value)
        self.frame.scopes[-1][value] = found
        return found

    def computed(self, value: SSAValue) -> Bound:
        """What a value stands for that is asked for the first time."""
        if not isinstance(value, OpResult):
            return None
        match op := value.op:
            case memref.GetGlobalOp():
                copied = copy_of(op)
                return self.constant(op) if copied is None else self.copies[copied]
            case _ if isinstance(op, VIEWS):
                return self.viewed(op)
            case memref.LoadOp():
                return self.loaded(op)
            case _:
                found = evaluated(op, self.number) if is_number(value.type) else None
                return None if found is None else int(found)

    def number(self, value: SSAValue) -> int | None:
        """The number of a value; None if it depends on data."""
        found = self.bound(value)
        return found if isinstance(found, int) else None

    def view(self, value: SSAValue) -> View:
        """The buffer of a memref, and its layout. Raises: NotFollowed if that is not known."""
        found = self.bound(value)
        if not isinstance(found, tuple):
            raise NotFollowed(f"expected a known buffer, got {name_of(value)}")
        return found

    def viewed(self, op: Operation) -> View:
        """The view that an op makes."""
        place, layout = self.view(op.operands[0])
        if isinstance(op, memref.SubviewOp):
            part = Part.of(op, self.number)
            if wrong := beyond(part, layout):
                where = place_of(op) + self.frame.context
                self.world.faults.add(Fault(where, place.buffer.name, None, wrong))
            found = subview(op, part, layout)
        else:
            found = viewed(op, layout, self.number)
        assert isinstance(found.start, int), "no loops, so no axes"
        moved = Place(place.buffer, place.start + found.start)
        return moved, Layout(0, found.shape, found.strides, found.itemsize)

    def loaded(self, op: memref.LoadOp) -> int | None:
        """The number that a load reads from a constant."""
        if not is_number(op.res.type):
            return None
        place, layout = self.view(op.memref)
        indices = [self.number(each) for each in op.indices]
        if place.buffer.data is None or None in indices:
            return None
        start = place.start + sum(
            (index or 0) * stride for index, stride in zip(indices, layout.strides, strict=True)
        )
        found = gathered(place.buffer.data, start // layout.itemsize)
        return None if found is None else int(found)

    def constant(self, op: memref.GetGlobalOp) -> View:
        """The buffer of a global, the same for each use."""
        name = op.name_.string_value()
        if name not in self.globals:
            known = SymbolTable.lookup_symbol(self.module, op.name_)
            if not isinstance(known, memref.GlobalOp):
                raise NotFollowed(f"expected a memref.global @{name}")
            memory, size = None, buffer_bytes(known.type)
            if known.constant is None:
                memory = Memory(f"@{name}", size)
            data = constant_data(known.initial_value)
            buffer = self.world.buffer(f"@{name}", memory, 0, size, data)
            if memory is not None and data is not None:
                memory.owner[:] = buffer.number
            layout = Layout.of(known.type)
            self.globals[name] = Place(buffer, 0), layout
        return self.globals[name]

    def port(self, value: SSAValue) -> Port:
        """A buffer or view as a nest sees it."""
        place, layout = self.view(value)
        data = place.buffer.data
        if data is not None:
            data = data[place.start // layout.itemsize :]
        return Port(layout, place.buffer.memory is None, data)


def beyond(part: Part, layout: Layout) -> str | None:
    """Which axis of its source a part leaves; None if none. No loops, so no axes."""
    for offset, size, step, extent in zip(
        part.offsets, part.sizes, part.steps, layout.shape, strict=True
    ):
        assert isinstance(offset, int)
        last = offset + (size - 1) * step
        if size and not 0 <= offset <= last < extent:
            return f"a view of indices {offset} to {last}, outside of its axis (0 to {extent - 1})"
    return None
