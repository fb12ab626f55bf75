"""Finds the memory that a buffer lies in: the root of its chain of views, and the root's bytes.

Pointer parameters of a layer's function may be `restrict` only if the buffers that its calls pass
do not overlap. A copy may be a memcpy only if source and target do not overlap. Both are decided
from the offsets in the IR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from npu_dialect import dram, sram
from npu_dialect.arenas import memory_of_type
from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import SRAM_OFFSET
from npu_dialect.memories import SINGLE
from npu_passes.analysis.views import root_of
from npu_passes.emit.c.types import memref_of, storage_of


@dataclass(frozen=True)
class Memory:
    """The bytes `[begin, end)` of a memory; `root` is the buffer that owns them.

    `begin` and `end` are set for the arena and for the block off the chip only.
    """

    kind: Literal["arena", "dram", "weights", "stack", "caller"]
    """`dram`: the block off the chip; `caller`: whatever the caller of the function passes."""
    root: SSAValue
    begin: int = 0
    end: int = 0
    memory: str = SINGLE
    """Of the arena: the name of the memory in which it lies."""

    def may_overlap(self, other: Memory) -> bool:
        """Whether the two may have a byte in common; True if that is not known."""
        if self.kind == other.kind and self.kind in ("arena", "dram"):
            if self.memory != other.memory:
                return False
            return self.begin < other.end and other.begin < self.end
        if {"weights", "stack"} & {self.kind, other.kind}:
            return self.root is other.root
        return {self.kind, other.kind} != {"arena", "dram"}


def memory_of(value: SSAValue) -> Memory:
    """The memory of the whole buffer that a view is a part of."""
    root = root_of(value)
    size = storage_of(memref_of(root))
    match root.owner:
        case sram.AllocOp() | memref.AllocOp() | dram.AllocOp():
            begin = alloc_offset(root.owner)
            kind = "dram" if isinstance(root.owner, dram.AllocOp) else "arena"
            return Memory(kind, root, begin, begin + size, memory_of_type(root.type))
        case memref.GetGlobalOp():
            return Memory("weights", root)
        case memref.AllocaOp():
            return Memory("stack", root)
        case _:
            begin = argument_offset(root)
            if begin is None:
                return Memory("caller", root)
            return Memory("arena", root, begin, begin + size, memory_of_type(root.type))


def alloc_offset(op: sram.AllocOp | memref.AllocOp | dram.AllocOp) -> int:
    """Byte offset of an allocation in the arena, or in the block off the chip."""
    offset = SRAM_OFFSET.get(op) if isinstance(op, memref.AllocOp) else op.place
    assert offset is not None, "checked before"
    return offset


def argument_offset(argument: SSAValue) -> int | None:
    """Byte offset in the arena of a function's argument; None if it does not lie in the arena."""
    return SRAM_OFFSET.of(argument_attributes(argument))
