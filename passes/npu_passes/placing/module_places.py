"""Places that the plan of a module has for its maps, and the buffers that they become (on buffers).

    %y = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    %a = memref.subview %y[0, 2, 0, 0] [1, 2, 8, 8] [1, 1, 1, 1] : ...
    npu.relu ins(%x : ...) outs(%a : ...) {npu.place = array<i64: 128, 4224>}

says that the 128 bytes of `%a` are to lie at 4224. They begin 128 bytes into `%y`: with
`npu-assign-sram-offsets{strategy=modules}` this is

    %y = sram.alloc at 4096 : memref<1x4x8x8xi8, #npu.sram>

A layer that writes a part of its map at a time writes a view of it; the map is the nearest view
with as many bytes as the place. A place that cannot be is no error, as later passes may have made
something else of the map: the layer says why in `npu.not_placed = "..."`, and the buffer lies
anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from npu_dialect.module_attributes import NOT_PLACED, PLACE
from npu_dialect.npu.layer import LayerOp
from npu_passes.analysis.lifetimes import Lifetimes, slice_of
from npu_plans.arena import greedy
from npu_plans.arena.modules import grant
from npu_plans.arena.problem import PlanError, Problem


@dataclass(frozen=True)
class Wish:
    """A layer whose map is to lie at a place: the buffer by its position, and its offset then."""

    layer: LayerOp
    buffer: int
    offset: int


def with_module_places(lifetimes: Lifetimes, problem: Problem, capacity: int) -> Problem:
    """Pin the buffers of a function to the places that there are for them.

    Layers whose map cannot lie at its place get a remark.
    """
    sizes = {each.value: each.size for each in lifetimes.buffers}
    index = {each.value: at for at, each in enumerate(lifetimes.buffers)}
    remarks: dict[Operation, str] = {}
    wishes: list[Wish] = []
    for layer, size, offset in places(lifetimes.function):
        if (found := map_of(layer, size, sizes)) is None:
            remarks[layer] = f"it writes no map of {size} bytes on chip"
        elif found[1] > offset:
            remarks[layer] = f"its buffer begins {found[1]} bytes before it"
        else:
            wishes.append(Wish(layer, index[found[0]], offset - found[1]))
    first: dict[int, int] = {}
    for wish in wishes:
        if first.setdefault(wish.buffer, wish.offset) != wish.offset:
            other = first[wish.buffer]
            remarks[wish.layer] = f"its buffer lies at {other}, where another place wants it"
    try:
        granted = grant(problem, first, capacity, greedy.solve)
    except PlanError:
        return problem  # whoever solves it says what is wrong
    for wish in wishes:
        if wish.buffer in granted.refused:
            remarks[wish.layer] = granted.refused[wish.buffer]
    write(lifetimes.function, remarks)
    return granted.problem


def places(function: Operation) -> Iterator[tuple[LayerOp, int, int]]:
    """The layers with a place, in the order of the text, and its size and offset in bytes."""
    for op in function.walk():
        if isinstance(op, LayerOp):
            match PLACE.get(op):
                case (size, offset):
                    yield op, size, offset
                case _:
                    pass


def map_of(layer: LayerOp, size: int, sizes: dict[SSAValue, int]) -> tuple[SSAValue, int] | None:
    """The buffer with the map that a layer writes, and where the map of `size` bytes begins in it.

    `sizes` are the buffers. None if no view of so many bytes leads from the buffer to the layer.
    """
    value, start = layer.destination, None
    while value is not None:
        if value in sizes:
            if start is None and sizes[value] == size:
                start = 0
            return None if start is None else (value, start)
        view = value.owner
        if isinstance(view, memref.SubviewOp):
            span = slice_of(view)
            if start is None and span is not None and span[1] - span[0] == size:
                start = span[0]
        elif not isinstance(view, memref.ReinterpretCastOp | memref.CastOp):
            return None
        value = view.source
    return None


def write(function: Operation, remarks: dict[Operation, str]) -> None:
    """Write down why maps do not lie at their places, in place of what was there."""
    for op in function.walk():
        if PLACE.is_on(op):
            NOT_PLACED.drop(op)
        if op in remarks:
            NOT_PLACED.set(op, remarks[op])
