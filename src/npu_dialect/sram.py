"""On-chip buffers: allocations whose offset is set by a pass or by hand.

    %a = sram.alloc : memref<64xf32, #npu.sram>            // somewhere in the arena
    %b = sram.alloc at 4096 : memref<64xf32, #npu.sram>    // at byte 4096 of the arena

The arena is one block of on-chip memory that the caller of the function hands over. Its size in
bytes stands on the function: `attributes {sram.arena = 8800 : i64}`. A function argument that lies
in the arena carries `sram.input` (the caller puts data there before the call) or `sram.output` (the
caller takes data from there after the call), and once placed its `sram.offset`. Allocations of
other dialects carry `sram.offset` too.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition

from npu_dialect.placed import PlacedAllocOp


@irdl_op_definition
class AllocOp(PlacedAllocOp):
    """A buffer in the arena; `at` gives its byte offset once that is known.

    ```mlir
    %pool = sram.alloc at 4096 : memref<1x6x14x14xf32, #npu.sram>
    ```
    """

    name = "sram.alloc"


SRAM = Dialect("sram", [AllocOp], [])
