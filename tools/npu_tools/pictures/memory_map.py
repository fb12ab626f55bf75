"""The memory map of the SRAM: which buffer lies where and when. Data of `npu-compile --memory-map`.

It is read from IR in which layers are on buffers that have their offsets. A step is an op of the
function's body that uses on-chip buffers: a layer, or a loop that runs several layers row by row.

    %pool1 = sram.alloc at 4096 : memref<1x6x14x14xf32, #npu.sram>      // Box("pool1", 4096, 4704,
    npu.conv2d ins(%image, ...) outs(%pool1 : ...) {npu.layer = "conv1"}  //     first=0, last=1)
    npu.conv2d ins(%pool1, ...) outs(%pool2 : ...) {npu.layer = "conv2"}  // steps: conv1, conv2
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryAllocEffect

from npu_dialect.arenas import arena_bytes, arenas_of, is_on_chip, memory_of_type
from npu_dialect.arguments import argument_attributes, is_state
from npu_dialect.attributes import LAYER, SRAM_INPUT
from npu_dialect.dma import StartOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type
from npu_dialect.target import machine_of
from npu_passes.analysis import lifetimes
from npu_passes.analysis.lifetimes import Lifetimes, OnChipBuffer
from npu_passes.analysis.on_chip import on_chip_spaces, space_of
from npu_passes.analysis.views import is_view, root_of
from npu_passes.support.traits import has
from npu_plans.arena.problem import Buffer, Problem, live_bound
from npu_tools.reports.arena_report import memory_of
from npu_tools.reports.report import (
    layers_of,
    offset_of,
    planned_function,
)

Role: TypeAlias = Literal["input", "output", "state", "map", "scratch"]
"""What a buffer holds: the network's input or output, a layer's output, or something else."""


@dataclass(frozen=True)
class Box:
    """One buffer: it takes bytes [offset, offset + size) of the arena in steps first to last.

    `type` is its shape and element type, such as `1x6x14x14xf32`. Several arenas are drawn one
    above the other: `memory` is that of the buffer's arena, which begins at `base`.
    """

    name: str
    role: Role
    offset: int
    size: int
    first: int
    last: int
    type: str = ""
    memory: str | None = None
    base: int = 0

    @property
    def place(self) -> str:
        """Its first byte in its arena, for people."""
        where = f"{self.offset - self.base:,}"
        return where if self.memory is None else f"{where} of {self.memory}"


@dataclass(frozen=True)
class MemoryMap:
    """The buffers of one function. Sizes are in bytes.

    `steps` are the names of the steps, in execution order. `bound` is the largest sum of buffers
    that live at one time; step `peak` is the first that reaches it.
    """

    model: str
    machine: str | None
    sram: int | None
    arena: int
    bound: int
    peak: int
    steps: tuple[str, ...]
    boxes: tuple[Box, ...]


def memory_map(module: ModuleOp, model: str = "") -> MemoryMap | None:
    """The memory map of a module; None if no function has buffers with offsets."""
    function = planned_function(module)
    if function is None:
        return None
    found = lifetimes.lifetimes_of(function, *on_chip_spaces(function))
    machine, bases = machine_of(module), bases_of(function)
    steps = tuple(steps_of(function))
    spans = spans_of(found, steps)
    problem = Problem(
        tuple(Buffer(b.name, b.size, first=b.first, last=b.last) for b in found.buffers),
        found.overlays,
        found.floor,
    )
    bound = live_bound(problem)
    written = {root_of(op.output) for op in layers_of(function)}
    return MemoryMap(
        model=model,
        machine=None if machine is None else machine.name,
        sram=None if machine is None else machine.sram_bytes,
        arena=arena_bytes(function) or 0,
        bound=bound.bytes,
        peak=columns(spans, bound.point, bound.point)[0],
        steps=tuple(map(step_name, steps)) or ("run",),
        boxes=tuple(
            Box(
                buffer.name,
                role_of(buffer, is_written=buffer.value in written),
                (offset_of(buffer.value) or 0) + bases.get(memory_of_type(buffer.value.type), 0),
                buffer.size,
                *columns(spans, buffer.first, buffer.last),
                type_text(buffer.value),
                memory_of(function, buffer.value),
                bases.get(memory_of_type(buffer.value.type), 0),
            )
            for buffer in found.buffers
        ),
    )


def bases_of(function: func.FuncOp) -> dict[str, int]:
    """Where the arena in each memory begins if they lie one behind the other."""
    found: dict[str, int] = {}
    end = 0
    for memory, size in arenas_of(function).items():
        found[memory] = end
        end += size
    return found


def steps_of(function: func.FuncOp) -> Iterator[Operation]:
    """The ops of a function's body that use on-chip buffers; views and allocations do not count."""
    for block in function.body.blocks:
        for op in block.ops:
            passive = is_view(op) or has(op, MemoryAllocEffect) or has(op, IsTerminator)
            if not passive and any(map(touches, op.walk())):
                yield op


def touches(op: Operation) -> bool:
    """Whether an op is a layer or has an operand that lies on chip."""
    return isinstance(op, LayerOp) or any(map(on_chip, op.operands))


def on_chip(value: SSAValue) -> bool:
    """Whether a value is a buffer on chip."""
    space = space_of(value)
    return space is not None and is_on_chip(space)


def step_name(op: Operation) -> str:
    """A step's name: that of its layer, "first .. last" for several, the op's name without any.

    A transfer is called after the layer that it moves data for: "load conv1", "store conv1".
    """
    if isinstance(op, StartOp) and (layer := LAYER.get(op)) is not None:
        return f"{'load' if on_chip(op.target) else 'store'} {layer}"
    names = [each.layer_name or each.name for each in op.walk() if isinstance(each, LayerOp)]
    distinct = list(dict.fromkeys(names))
    if len(distinct) > 1:
        return f"{distinct[0]} .. {distinct[-1]}"
    return distinct[0] if distinct else op.name


def spans_of(found: Lifetimes, steps: Sequence[Operation]) -> tuple[tuple[int, int], ...]:
    """First and last program point of each step, with those of the ops inside it."""
    start = {op: point for point, op in enumerate(found.ops)}
    return tuple((start[op], start[op] + sum(1 for _ in op.walk()) - 1) for op in steps)


def columns(spans: Sequence[tuple[int, int]], first: int, last: int) -> tuple[int, int]:
    """The first and last step that the program points `first` to `last` overlap.

    `spans` are those of `spans_of`. Points between two steps count for the next one.
    """
    met = [index for index, (start, end) in enumerate(spans) if first <= end and start <= last]
    if met:
        return met[0], met[-1]
    behind = sum(end < first for _, end in spans)
    place = min(behind, max(0, len(spans) - 1))
    return place, place


def type_text(value: SSAValue) -> str:
    """The shape and element type of a buffer."""
    type_ = map_type(value)
    return "x".join(map(str, (*type_.get_shape(), type_.element_type)))


def role_of(buffer: OnChipBuffer, *, is_written: bool) -> Role:
    """What a buffer holds; `is_written` says that a layer writes its output there."""
    if isinstance(buffer.value, BlockArgument):
        marks = argument_attributes(buffer.value)
        if is_state(marks):
            return "state"
        return "input" if SRAM_INPUT.is_in(marks) else "output"
    return "map" if is_written else "scratch"
