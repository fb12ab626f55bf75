"""Whether the bytes of a buffer or view begin at a multiple of some bytes: an analysis.

    %m = sram.alloc at 768 : memref<1x4x3x8xi8, strided<[96, 1, 32, 4]>>  // rows of 32 bytes
    %row = memref.subview %m[0, 0, %k, 0] ...                             // at 768 + 32 * %k

An arena begins at a multiple of 16 bytes, as the C checks, and elements of 32 bits always lie at
multiples of 4. Of other buffers whose place is not known nothing is.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument, SSAValue

from npu_dialect import sram
from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import SRAM_OFFSET
from npu_dialect.npu.maps import element_bytes
from npu_passes.support.loop_builder import memref_type


def is_aligned(value: SSAValue, unit: int) -> bool:
    """Whether a buffer or view begins at a multiple of `unit` bytes, which divides 16."""
    size = element_bytes(memref_type(value))
    if size % unit == 0:
        return True
    match value.owner:
        case memref.SubviewOp() as op:
            steps = memref_type(op.source).get_strides() or ()
            places = zip(op.static_offsets.get_values(), steps, strict=False)
            firsts = [
                None if step is None else step * (1 if offset == DYNAMIC_INDEX else offset)
                for offset, step in places
            ]
            known = all(each is not None and each * size % unit == 0 for each in firsts)
            return known and is_aligned(op.source, unit)
        case memref.ReinterpretCastOp() as op:
            (offset,) = op.static_offsets.get_values()
            begins = offset != DYNAMIC_INDEX and offset * size % unit == 0
            return begins and is_aligned(op.source, unit)
        case sram.SpanOp() as op:
            return is_aligned(op.source, unit)
        case sram.AllocOp() as op:
            place = op.place
        case memref.AllocOp() as op:
            place = SRAM_OFFSET.get(op)
        case _ if isinstance(value, BlockArgument):
            place = SRAM_OFFSET.of(argument_attributes(value))
        case _:
            return False
    return place is not None and place % unit == 0
