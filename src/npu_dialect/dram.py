"""Memory off the chip that the program reads and writes: buffers that a DMA engine reaches.

    func.func @f(%x: memref<1x3x8x8xf32, #npu.dram> {dram.input}, ...)
        attributes {dram.bytes = 4096 : i64} {
      %y = dram.alloc at 768 : memref<1x8x8x8xf32, #npu.dram>

Like `sram`, for the other memory: the caller hands over one block of `dram.bytes` bytes. Inputs and
outputs are no part of it, they stay where the caller has them; nor are learned parameters in
`#npu.dram`, which are `memref.global`s.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition

from npu_dialect.placed import PlacedAllocOp


@irdl_op_definition
class AllocOp(PlacedAllocOp):
    """A buffer off the chip, at a byte offset once that is known.

    ```mlir
    %map = dram.alloc at 4096 : memref<1x6x14x14xf32, #npu.dram>
    ```
    """

    name = "dram.alloc"


DRAM = Dialect("dram", [AllocOp], [])
