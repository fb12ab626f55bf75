"""Memory off the chip that the program reads and writes: buffers that a DMA engine reaches.

    func.func @f(%x: memref<1x3x8x8xf32, #npu.dram> {dram.input}, ...)
        attributes {dram.bytes = 4096 : i64} {
      %y = dram.alloc at 768 : memref<1x8x8x8xf32, #npu.dram>

Like `sram`, for the other memory: the caller hands over one block of `dram.bytes` bytes. Inputs and
outputs are no part of it, they stay where the caller has them; nor are learned parameters in
`#npu.dram`, which are `memref.global`s.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException

BYTES = "dram.bytes"
"""Function attribute: bytes of off-chip memory for maps."""
INPUT = "dram.input"
"""Argument attribute: the caller puts data here before the call."""
OUTPUT = "dram.output"
"""Argument attribute: the caller takes data from here after the call."""
SPILLED = "npu.spilled_bytes"
"""Function attribute: bytes that are moved, in one inference, for maps that did not fit on chip."""


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer off the chip, at a byte offset once that is known.

    ```mlir
    %map = dram.alloc at 4096 : memref<1x6x14x14xf32, #npu.dram>
    ```
    """

    name = "dram.alloc"

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
        """A buffer has a static shape and does not begin before the memory does."""
        kind = self.buffer.type
        assert isinstance(kind, MemRefType)
        if not kind.has_static_shape():
            raise VerifyException(f"expected a static shape, got {kind}")
        if self.offset is not None and self.offset.value.data < 0:
            raise VerifyException(f"expected an offset of at least 0, got {self.offset.value.data}")


DRAM = Dialect("dram", [AllocOp], [])
