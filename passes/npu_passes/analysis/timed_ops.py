"""What one op costs on the virtual clock: cycles of the core, or bytes and runs of a transfer.

    npu.conv2d ins(%x, %w : ...) outs(%y : ...)     multiply-accumulates, and the bytes of x, w, y
    dma.start %rows to %tile : ...                  3 runs of 64 bytes
    memref.copy %a, %b                              twice its bytes, on chip
    memref.store %zero, %row[%i]                    the bytes of an element, on chip

Level of IR: layers on buffers, of any dialect that says how it computes (`computing.py`). A layer
reads each of its operands once and writes its output once, as far as traffic on chip goes. What it
reads and writes in slower memories costs more: `slow_memories.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod
from typing import NamedTuple

from xdsl.dialects import affine, arith, memref
from xdsl.dialects.builtin import (
    Float32Type,
    IndexType,
    IntegerType,
    MemRefType,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryAllocEffect, is_side_effect_free
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.attributes import LAYER
from npu_dialect.computing import Computation, computation_of
from npu_dialect.dma import ReadsOp, StartOp, WorkOp, WritesOp
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, element_bytes, is_buffer_type
from npu_passes.analysis.slow_memories import stall_of
from npu_passes.analysis.views import root_of
from npu_plans.time.rates import Rates, UnknownRate
from npu_plans.transfers.runs import merged_runs


class NotTimed(Exception):
    """The cycles of a program cannot be counted; the message says why."""


class Moved(NamedTuple):
    """The bytes of a transfer, and its contiguous runs."""

    bytes: int
    runs: int


FREE = (
    *(ReadsOp, WritesOp, WorkOp),
    *(memref.AllocOp, memref.AllocaOp, memref.DeallocOp, memref.GetGlobalOp),
)
"""Ops that take no cycles, besides those without side effects on indices and buffers."""


ACCESSES = (memref.LoadOp, memref.StoreOp, affine.LoadOp, affine.StoreOp)
"""Ops that move one element."""


def is_off_chip(type_: Attribute) -> bool:
    """Whether the type is that of a buffer off the chip."""
    return isinstance(type_, MemRefType) and isinstance(type_.memory_space, DramSpace)


def moved_by(op: StartOp) -> Moved:
    """What a transfer moves.

    Raises: NotTimed if that depends on the data.
    """
    if op.block is not None:
        raise NotTimed("which blocks dma.start moves depends on their data")
    return moved_between(op.source, op.target)


def moved_between(source: SSAValue, target: SSAValue) -> Moved:
    """What a copy of one buffer to another one of the same shape moves.

    Raises: NotTimed if their layouts are not static.
    """
    from_, to = source.type, target.type
    assert is_buffer_type(from_)
    assert is_buffer_type(to)
    size, shape = static_bytes(from_), from_.get_shape()
    steps = [
        [step for step in type_.get_strides() or () if step is not None] for type_ in (to, from_)
    ]
    if any(len(each) != len(shape) for each in steps):
        raise NotTimed(f"expected static strides, got {from_} and {to}")
    if not size:
        return Moved(0, 1)
    runs = merged_runs(shape, steps[0], steps[1], element_bytes(from_))
    return Moved(size, prod(axis.count for axis in runs.axes))


def static_bytes(type_: MemRefType[Attribute]) -> int:
    """Bytes of the elements of a buffer.

    Raises: NotTimed if they are not known.
    """
    try:
        return bytes_of(type_)
    except VerifyException as error:
        raise NotTimed(str(error)) from None


@dataclass(frozen=True)
class Task:
    """What an op does: multiply-accumulates of an element type, and bytes on chip.

    `stall`: the cycles for which slow memories keep the core waiting.
    """

    bytes: int
    macs: int = 0
    element: str = ""
    is_layer: bool = False
    stall: Fraction = Fraction()

    def cycles(self, rates: Rates) -> int:
        """How long it takes.

        Raises: UnknownRate as `Rates.work` does.
        """
        return rates.work(self.macs, self.element, self.bytes) + self.waiting

    @property
    def waiting(self) -> int:
        """The cycles of `stall`, rounded up."""
        return ceil(self.stall)

    def times(self, count: int) -> Task:
        """The task of moving bytes that another one moves, `count` times."""
        return Task(self.bytes * count, stall=self.stall * count)

    def __add__(self, other: Task) -> Task:
        """The task of moving the bytes of both."""
        return Task(self.bytes + other.bytes, stall=self.stall + other.stall)


def task_of(op: Operation, rates: Rates) -> Task | None:
    """What an op without loops inside does; None if it takes no cycles.

    Raises: NotTimed if nobody says how long it takes.
    """
    if (found := computation_of(op)) is not None and not op.results:
        return task_of_layer(found, rates)
    if isinstance(op, memref.CopyOp):
        assert is_buffer_type(op.source.type)
        return Task(2 * static_bytes(op.source.type), stall=stall_of(op, rates))
    if isinstance(op, ACCESSES):
        return task_of_access(op, rates)
    if isinstance(op, FREE) or is_free(op):
        return None
    raise NotTimed(f"nobody says how long {named(op)} takes")


def task_of_access(op: Operation, rates: Rates) -> Task:
    """What a load or a store moves on chip."""
    assert isinstance(op, ACCESSES)
    assert is_buffer_type(op.memref.type)
    return Task(element_bytes(op.memref.type), stall=stall_of(op, rates))


def is_free(op: Operation) -> bool:
    """Whether an op only computes indices, conditions or views, or ends a block."""
    if op.regions:
        return False
    if op.has_trait(IsTerminator, value_if_unregistered=False) or isinstance(op, arith.ConstantOp):
        return True
    kinds = (result.type for result in op.results)
    plain = all(
        is_buffer_type(kind) or kind == IntegerType(1) or isinstance(kind, IndexType)
        for kind in kinds
    )
    allocates = op.has_trait(MemoryAllocEffect, value_if_unregistered=False)
    # xDSL gives a division, which may fail, and affine.min no trait.
    computes = op.name.startswith("arith.") or isinstance(op, affine.MinOp)
    return plain and (allocates or computes or is_side_effect_free(op))


def task_of_layer(found: Computation, rates: Rates) -> Task:
    """What a layer on buffers does.

    Raises: NotTimed if it works off the chip on a machine with DMA, or if its macs or the rate for
        their type are not known.
    """
    op = found.op
    operands = [each for each in op.operands if is_buffer_type(each.type)]
    if rates.channels and any(is_off_chip(root_of(each).type) for each in operands):
        raise NotTimed(f"{named(op)} works on #npu.dram, which only transfers reach")
    sizes = [static_bytes(each.type) for each in operands if is_buffer_type(each.type)]
    again = sizes[-1] if found.accumulates and sizes else 0
    moved, stall = sum(sizes) + again, stall_of(op, rates)
    task = Task(moved, macs_of(found), arithmetic_of(op), is_layer=True, stall=stall)
    try:
        task.cycles(rates)
    except UnknownRate as error:
        raise NotTimed(f"{named(op)}: {error}") from None
    return task


def named(op: Operation) -> str:
    """An op with the name of its layer, for messages."""
    what = LAYER.get(op)
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    return name if what is None else f"{name} ({what})"


def macs_of(found: Computation) -> int:
    """Multiply-accumulates of an op: what a layer says, or the points of a sum.

    Raises: NotTimed if an op of another dialect does not say over which points it sums.
    """
    if isinstance(found.op, LayerOp):
        return found.op.macs()
    if found.domain is None:
        raise NotTimed(f"{named(found.op)} does not say at which points it computes")
    return prod(found.domain.extents) if found.domain.sums else 0


def arithmetic_of(op: Operation) -> str:
    """The element type of the first map that an op reads, as machines name it: f32, i8, others.

    Integers of at most 8 bits are i8.
    """
    first = next((each.type for each in op.operands if is_buffer_type(each.type)), None)
    element = None if first is None else first.get_element_type()
    if isinstance(element, Float32Type):
        return "f32"
    if isa(element, IntegerType) and element.width.data <= 8:
        return "i8"
    return str(element)
