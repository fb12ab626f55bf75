"""Buffers in off-chip memory, which the program reads and writes through a DMA engine.

    func.func @f(%x: memref<1x3x8x8xf32, #npu.dram> {dram.input}, ...)
        attributes {dram.bytes = 4096 : i64} {
      %y = dram.alloc at 768 : memref<1x8x8x8xf32, #npu.dram>

The dialect is like `sram`, but for off-chip memory: the caller hands over one block of `dram.bytes`
bytes for all allocations. Inputs and outputs lie outside of this block, where the caller has them.
Learned parameters in `#npu.dram` lie outside of it too; they are `memref.global`s.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition

from npu_dialect.placed import PlacedAllocOp


@irdl_op_definition
class AllocOp(PlacedAllocOp):
    """An off-chip buffer; `at` gives its byte offset once that is known.

    ```mlir
    %map = dram.alloc at 4096 : memref<1x6x14x14xf32, #npu.dram>
    ```
    """

    name = "dram.alloc"


DRAM = Dialect("dram", [AllocOp], [])
