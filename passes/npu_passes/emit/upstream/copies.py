"""Copies between buffers with gaps become loops.

    "memref.copy"(%x, %y) : (memref<4x8xf32>, memref<4x8xf32, strided<[16, 1]>>) -> ()
becomes
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        ... memref.load %x[%i, %j]; memref.store to %y[%i, %j]

Upstream makes a `memcpy` of a copy between gapless buffers. Of others it makes a call of
`memrefCopy` in a library of its own, which bare metal has not.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type


def is_row_major(buffer: SSAValue) -> bool:
    """Whether the elements lie one behind the other, the last axis innermost; at any offset."""
    type_ = memref_type(buffer)
    plain = MemRefType(type_.element_type, type_.get_shape())
    return type_.has_static_shape() and type_.get_strides() == plain.get_strides()


def expand_copy(b: LoopBuilder, op: memref.CopyOp) -> bool:
    """Build the loops of a copy; returns whether it needs them."""
    shape = memref_type(op.source).get_shape()
    if (is_row_major(op.source) and is_row_major(op.destination)) or -1 in shape:
        return False

    def inside(at: Sequence[Index]) -> None:
        if len(at) == len(shape):
            b.store(b.load(op.source, at), op.destination, at)
            return

        def body(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            inside([*at, index])
            return ()

        b.loop(0, shape[len(at)], body)

    inside([])
    return True
