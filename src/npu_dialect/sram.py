"""On-chip buffers: allocations that get their offset from a pass, or from a person.

    %a = sram.alloc : memref<64xf32, #npu.sram>            // somewhere in the arena
    %b = sram.alloc at 4096 : memref<64xf32, #npu.sram>    // at byte 4096 of the arena

The arena is one block of on-chip memory that the caller of the function hands over. Its size in
bytes stands on the function: `attributes {sram.arena = 8800 : i64}`. A function argument that lies
in the arena carries `sram.input` (the caller puts data there before the call) or `sram.output` (the
caller takes data from there after the call), and once placed its `sram.offset`. Allocations of
other dialects carry `sram.offset` too.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException

ARENA = "sram.arena"
"""Function attribute: bytes of the arena."""
OFFSET = "sram.offset"
"""Attribute of a function argument or a foreign allocation: its byte offset in the arena."""
INPUT = "sram.input"
"""Argument attribute: the caller puts data here before the call."""
OUTPUT = "sram.output"
"""Argument attribute: the caller takes data from here after the call."""


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer in the arena, at a byte offset once that is known.

    ```mlir
    %pool = sram.alloc at 4096 : memref<1x6x14x14xf32, #npu.sram>
    ```
    """

    name = "sram.alloc"

    offset = opt_prop_def(IntegerAttr.constr(i64))
    buffer = result_def(MemRefType)

    traits = traits_def(MemoryAllocEffect())

    assembly_format = "(`at` $offset^)? attr-dict `:` type($buffer)"

    def __init__(self, buffer: MemRefType, offset: int | None = None) -> None:
        super().__init__(
            result_types=[buffer],
            properties={"offset": None if offset is None else IntegerAttr(offset, i64)},
        )

    def verify_(self) -> None:
        """A buffer has a static shape and lies inside the arena."""
        kind = self.buffer.type
        assert isinstance(kind, MemRefType)
        if not kind.has_static_shape():
            raise VerifyException(f"expected a static shape, got {kind}")
        if self.offset is not None and self.offset.value.data < 0:
            raise VerifyException(f"expected an offset of at least 0, got {self.offset.value.data}")


SRAM = Dialect("sram", [AllocOp], [])
