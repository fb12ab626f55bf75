"""The ways to run a layer in tiles of maps that the core copies from slow memory to fast memory.

An analysis: nothing is changed. A layer is cut along its images and its rows, or along one axis of
another layer, so that each tile needs a part of every map that is copied, and all parameters.

    npu.conv2d ins(%x, %w, %b : ..., #npu.memory<"psram">, ...) outs(%y : ...)      112 rows
->  in place    each element of %x is read nine times there
    16 rows     7 tiles of at most 18 rows: 124 rows are copied, %x is read in fast memory

A map is copied only if several outputs use an element of it; one that is read once gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from xdsl.ir import SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import MemorySpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, element_bytes, map_type
from npu_passes.analysis.core_accesses import accesses_once
from npu_passes.analysis.on_chip import space_of
from npu_passes.analysis.slow_memories import memory_named
from npu_passes.analysis.timed_ops import arithmetic_of
from npu_passes.analysis.views import root_of
from npu_passes.tiling.finer_tiles import compute_cycles
from npu_passes.tiling.layer_spaces import COLUMNS, IMAGES
from npu_passes.tiling.stage import Stage, Staging, stage_of
from npu_plans.tiles.core_copies import Way, copy_cycles
from npu_plans.tiles.operand_regions import Cut, Loop, Space, even_sizes
from npu_plans.time.rates import Rates

STEP = 200
"""The cycles that a tile takes besides, an assumption: calls, and the beginnings of loops. So of
tiles without halo the largest are best."""


@dataclass(frozen=True)
class CopiedMaps:
    """A layer, the fast memory of its machine, and the maps that it reads in slower memories.

    `rates` are those of the machine; the file of a machine without them says nothing about time.
    """

    op: LayerOp
    machine: Machine
    rates: Rates

    @property
    def fast(self) -> str:
        """The memory to which tiles are copied: the first one of the machine's file."""
        return self.machine.memories[0].name

    @cached_property
    def stage(self) -> Stage | None:
        """The loops of the layer with the maps to copy; None if there are none."""
        op, memory = self.op, self.machine.memories[0]
        if op.destination is None or op.working_memory is not None or overwrites(op):
            return None
        alignment = max(self.machine.alignment, memory.alignment)
        space = stage_of(op, set(), alignment).space
        chosen = {
            value
            for index, value in enumerate(op.operands)
            if self.is_slow(value) and is_shared(space, index)
        }
        return stage_of(op, chosen, alignment) if chosen else None

    def is_slow(self, value: SSAValue) -> bool:
        """Whether an operand is a map that the core waits for, and no parameter."""
        space = space_of(value)
        if not isinstance(space, MemorySpace) or value in self.op.parameter_inputs:
            return False
        slow = self.rates.stall(space.memory, 1, 0) > self.rates.stall(self.fast, 1, 0)
        return slow and value in self.op.inputs

    def ways(self) -> Iterator[Way[Staging]]:
        """All ways to cut the layer, with what they take; none if nothing is to be copied."""
        if self.stage is None:
            return
        for cut in cuts_of(self.stage):
            staging = self.stage.staging(cut, double=False)
            yield Way(staging, staging.footprint, self.cycles(staging))

    @property
    def in_place(self) -> Fraction:
        """The cycles of the layer as it is."""
        space = stage_of(self.op, set(), 1).space
        whole = Cut.of(space, space.whole)
        return compute_cycles(self.op, whole, self.machine) + self.waits(whole, ())

    def cycles(self, staging: Staging) -> Fraction:
        """The cycles of the layer in tiles, with those of the copies."""
        copied = [index for buffer in staging.buffers for index in buffer.operands[:1]]
        total = compute_cycles(self.op, staging.cut, self.machine)
        total += STEP * staging.cut.steps(staging.cut.order)
        for index in copied:
            value = self.op.operands[index]
            width, memory = element_bytes(map_type(value)), memory_named(value, self.rates)
            assert memory is not None
            elements = staging.cut.loads(index).elements
            kind = arithmetic_of(self.op)
            total += copy_cycles(elements, width, kind, self.rates, memory, self.fast)
        return total + self.waits(staging.cut, [self.op.operands[index] for index in copied])

    def waits(self, cut: Cut, copied: Sequence[SSAValue]) -> Fraction:
        """The cycles for which the layer waits for slow memories, but for its copies.

        Each tile reads all of a parameter at least once.
        """
        total, steps = Fraction(), cut.steps(cut.order)
        for value, accesses in accesses_once(self.op):
            memory, read = memory_named(value, self.rates), accesses.read
            if value in copied:
                memory = self.fast
            elif value in self.op.parameter_inputs:
                read = max(read, steps * bytes_of(map_type(value)))
            if memory is not None:
                total += self.rates.stall(memory, read, accesses.written)
        return total


def overwrites(op: LayerOp) -> bool:
    """Whether a layer writes into a buffer that it reads."""
    out = root_of(op.output)
    return any(root_of(value) is out for value in op.inputs)


def is_shared(space: Space, operand: int) -> bool:
    """Whether several outputs use an element of an operand.

    They do if a loop over outputs does not index it, or if windows slide over it.
    """
    axes = space.operands[operand]
    indexing = {name for axis in axes for name in axis.loops}
    others = (loop for loop in space.loops if loop.name not in indexing and not loop.sums)
    windows = (window for axis in axes for window in axis.windows)
    return any(loop.extent > 1 for loop in others) or any(each.reach > 1 for each in windows)


def cuts_of(stage: Stage) -> Iterator[Cut]:
    """The layer as one tile, and cut along one loop that all copied maps follow.

    Also with one image at a time. A loop that parameters follow stays whole, as kernels are chosen
    for all of them, and so do columns, as kernels work on rows.
    """
    space = stage.space
    starts = [space.whole]
    if any(loop.name == IMAGES and loop.extent > 1 for loop in may_cut(stage)):
        starts.append({**space.whole, IMAGES: 1})
    for start in starts:
        yield Cut.of(space, start)
        for loop in may_cut(stage):
            for size in even_sizes(loop.extent) if loop.name != IMAGES else ():
                if size < loop.extent:
                    yield Cut.of(space, {**start, loop.name: size})


def may_cut(stage: Stage) -> Iterator[Loop]:
    """The loops along which a layer may be cut."""
    op, space = stage.op, stage.space
    copied = [buffer[0] for buffer in stage.staged]
    assert isinstance(op, LayerOp)
    parameters = [i for i, value in enumerate(op.operands) if value in op.parameter_inputs]

    def follows(operand: int, name: str) -> bool:
        return any(name in axis.loops for axis in space.operands[operand])

    for loop in space.loops:
        plain = not (loop.sums or loop.fixed or loop.apart) and loop.name != COLUMNS
        if plain and all(follows(each, loop.name) for each in copied):
            if not any(follows(each, loop.name) for each in parameters):
                yield loop
