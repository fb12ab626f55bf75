"""Which memory a buffer is: the place that a chain of views begins at, and the bytes of it.

The pointers of a layer's function may be `restrict` only if the buffers of its calls do not
overlap, and a copy may be memcpy only then. Both are decided from the offsets in the IR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.dialects import memref
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from npu_dialect import dram, sram
from npu_dialect.attributes import SRAM_OFFSET
from npu_passes.emit.c.check import VIEWS
from npu_passes.emit.c.types import memref_of, storage_of


@dataclass(frozen=True)
class Memory:
    """The bytes `[begin, end)` of something."""

    kind: Literal["arena", "dram", "weights", "stack", "caller"]
    """`dram`: the block off the chip; `caller`: whatever the caller of the function passes."""
    root: SSAValue
    begin: int = 0
    end: int = 0

    def may_overlap(self, other: Memory) -> bool:
        """Whether the two can have a byte in common, as far as is known here."""
        if self.kind == other.kind and self.kind in ("arena", "dram"):
            return self.begin < other.end and other.begin < self.end
        if {"weights", "stack"} & {self.kind, other.kind}:
            return self.root is other.root
        return {self.kind, other.kind} != {"arena", "dram"}


def root_of(value: SSAValue) -> SSAValue:
    """The buffer that a chain of views begins with."""
    while isinstance(value.owner, VIEWS):
        value = value.owner.operands[0]
    return value


def memory_of(value: SSAValue) -> Memory:
    """The memory of the whole buffer that a view lies in."""
    root = root_of(value)
    size = storage_of(memref_of(root))
    match root.owner:
        case sram.AllocOp() | memref.AllocOp() | dram.AllocOp():
            begin = alloc_offset(root.owner)
            kind = "dram" if isinstance(root.owner, dram.AllocOp) else "arena"
            return Memory(kind, root, begin, begin + size)
        case memref.GetGlobalOp():
            return Memory("weights", root)
        case memref.AllocaOp():
            return Memory("stack", root)
        case _:
            begin = argument_offset(root)
            if begin is None:
                return Memory("caller", root)
            return Memory("arena", root, begin, begin + size)


def alloc_offset(op: sram.AllocOp | memref.AllocOp | dram.AllocOp) -> int:
    """Byte offset of an allocation in the arena, or in the block off the chip."""
    offset = SRAM_OFFSET.raw(op) if isinstance(op, memref.AllocOp) else op.offset
    assert isinstance(offset, IntegerAttr), "checked before"
    return offset.value.data


def argument_attributes(argument: SSAValue) -> dict[str, object]:
    """Attributes of a function's argument."""
    assert isinstance(argument, BlockArgument)
    function = argument.owner.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return {}
    attributes: DictionaryAttr = function.arg_attrs.data[argument.index]
    return dict(attributes.data)


def argument_offset(argument: SSAValue) -> int | None:
    """Byte offset in the arena of a function's argument; None if it does not lie in the arena."""
    offset = argument_attributes(argument).get(SRAM_OFFSET.name)
    return offset.value.data if isinstance(offset, IntegerAttr) else None
