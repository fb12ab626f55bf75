"""Pins buffers where the plan of a module wants its maps, for `strategy=modules` (on buffers).

    %y = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    %a = memref.subview %y[0, 2, 0, 0] [1, 2, 8, 8] [1, 1, 1, 1] : ...
    npu.relu ins(%x : ...) outs(%a : ...) {npu.place = array<i64: 128, 4224>}

says that the 128 bytes of `%a` are to lie at offset 4224. They begin 128 bytes into `%y`, so
`npu-assign-sram-offsets{strategy=modules}` makes this

    %y = sram.alloc at 4096 : memref<1x4x8x8xi8, #npu.sram>

A layer that writes its map part by part writes a view of the map; the map is then the nearest
enclosing view with as many bytes as `npu.place` names. An impossible placement is no error, because
passes after the module plan may have changed the map: the layer gets the reason as
`npu.not_placed = "..."`, and the buffer may lie anywhere.
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
    """The planned place of a layer's map.

    `buffer`: the position of the buffer that holds the map. `offset`: the buffer's offset in bytes
    with which the map lies at its place.
    """

    layer: LayerOp
    buffer: int
    offset: int


def with_module_places(lifetimes: Lifetimes, problem: Problem, capacity: int) -> Problem:
    """Pin the buffers of a function so that the maps in them lie at their planned places.

    `capacity` is the size of the memory in bytes. Layers whose map cannot lie at its place get
    `npu.not_placed`.
    """
    sizes = {each.value: each.size for each in lifetimes.buffers}
    index = {each.value: at for at, each in enumerate(lifetimes.buffers)}
    remarks: dict[Operation, str] = {}
    wishes: list[Wish] = []
    for layer, size, offset in places(lifetimes.function):
        if (found := map_of(layer, size, sizes)) is None:
            remarks[layer] = f"it writes no map of {size} bytes on chip"
        elif found[1] > offset:
            remarks[layer] = f"it lies {found[1]} bytes into its buffer, which would begin below 0"
        else:
            wishes.append(Wish(layer, index[found[0]], offset - found[1]))
    first: dict[int, int] = {}
    for wish in wishes:
        if first.setdefault(wish.buffer, wish.offset) != wish.offset:
            other = first[wish.buffer]
            remarks[wish.layer] = f"the place of another map puts its buffer at {other}"
    try:
        granted = grant(problem, first, capacity, greedy.solve)
    except PlanError:
        return problem  # the caller solves it and reports the error
    for wish in wishes:
        if wish.buffer in granted.refused:
            remarks[wish.layer] = granted.refused[wish.buffer]
    write(lifetimes.function, remarks)
    return granted.problem


def places(function: Operation) -> Iterator[tuple[LayerOp, int, int]]:
    """The layers with `npu.place`, in the order of the IR, with size and offset in bytes."""
    for op in function.walk():
        if isinstance(op, LayerOp):
            match PLACE.get(op):
                case (size, offset):
                    yield op, size, offset
                case _:
                    pass


def map_of(layer: LayerOp, size: int, sizes: dict[SSAValue, int]) -> tuple[SSAValue, int] | None:
    """The buffer that holds a layer's map of `size` bytes, and the map's first byte in the buffer.

    `sizes` gives the bytes of each buffer. None if neither the buffer nor a view between buffer and
    layer has `size` bytes, or if a value on the way is no view.
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
    """Set `npu.not_placed` on the layers in `remarks`; remove it from other layers with a place."""
    for op in function.walk():
        if PLACE.is_on(op):
            NOT_PLACED.drop(op)
        if op in remarks:
            NOT_PLACED.set(op, remarks[op])
