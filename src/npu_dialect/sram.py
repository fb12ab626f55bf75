"""On-chip buffers: allocations whose offset is set by a pass or by hand.

    %a = sram.alloc : memref<64xf32, #npu.sram>            // somewhere in the arena
    %b = sram.alloc at 4096 : memref<64xf32, #npu.sram>    // at byte 4096 of the arena

The arena is one block of on-chip memory that the caller of the function hands over. Its size in
bytes stands on the function: `attributes {sram.arena = 8800 : i64}`. A function argument that lies
in the arena carries `sram.input` (the caller puts data there before the call) or `sram.output` (the
caller takes data from there after the call), and once placed its `sram.offset`. Allocations of
other dialects carry `sram.offset` too.

Some rows of a map are a view with strides and an offset. `sram.span` is its memory as one axis:

    %bytes = sram.span %rows : memref<1x4x2x8xi8, strided<[256, 1, 32, 4], offset: ?>, #npu.sram>
             to memref<64xi8, #npu.sram>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from npu_dialect.placed import PlacedAllocOp


@irdl_op_definition
class AllocOp(PlacedAllocOp):
    """A buffer in the arena; `at` gives its byte offset once that is known.

    ```mlir
    %pool = sram.alloc at 4096 : memref<1x6x14x14xf32, #npu.sram>
    ```
    """

    name = "sram.alloc"


@irdl_op_definition
class SpanOp(IRDLOperation):
    """The memory of a buffer from its first element to its last one, gaps included, as one axis.

    As the result of `memref.view`, that of this op begins at an offset of 0, wherever the source
    lies. So it can stand for rows of a map whose first row is not known before a loop runs.

    ```mlir
    %bytes = sram.span %row : memref<1x4x8xi8, strided<[256, 1, 4], offset: ?>> to memref<32xi8>
    ```
    """

    name = "sram.span"

    source = operand_def(MemRefType)
    result = result_def(MemRefType)

    traits = traits_def(NoMemoryEffect())

    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue) -> None:
        type_ = buffer_type(source)
        reach = reach_of(type_.get_shape(), type_.get_strides())
        assert reach is not None
        result = MemRefType(type_.element_type, [reach], memory_space=type_.memory_space)
        super().__init__(operands=[source], result_types=[result])

    def verify_(self) -> None:
        """The result is a vector of as many elements as the source reaches over."""
        source, result = buffer_type(self.source), self.result.type
        reach = reach_of(source.get_shape(), source.get_strides())
        if reach is None:
            raise VerifyException(f"expected a static shape and static strides, got {source}")
        wanted = MemRefType(source.element_type, [reach], memory_space=source.memory_space)
        if result != wanted:
            raise VerifyException(f"expected a result of {wanted}, got {result}")


def buffer_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a value that is known to be a buffer; xDSL's `isa` would take far longer."""
    return cast("MemRefType[Attribute]", value.type)


def reach_of(shape: Sequence[int], strides: Sequence[int | None] | None) -> int | None:
    """Elements of memory from the first element of a buffer to its last; None if not static."""
    if strides is None or None in strides or -1 in shape:
        return None
    if 0 in shape:
        return 0
    return 1 + sum((extent - 1) * (step or 0) for extent, step in zip(shape, strides, strict=True))


SRAM = Dialect("sram", [AllocOp, SpanOp], [])
