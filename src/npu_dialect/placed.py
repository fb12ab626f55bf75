"""The common base of `sram.alloc` and `dram.alloc`: a buffer of static size and its offset.

%a = sram.alloc at 4096 : memref<64xf32, #npu.sram>
%b = dram.alloc : memref<64xf32, #npu.dram>
"""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.irdl import IRDLOperation, opt_prop_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException


class PlacedAllocOp(IRDLOperation, abc.ABC):
    """A buffer in a block of memory; `at` gives its byte offset once that is known."""

    offset = opt_prop_def(IntegerAttr.constr(i64))
    buffer = result_def(MemRefType)

    traits = traits_def(MemoryAllocEffect())

    assembly_format = "(`at` $offset^)? attr-dict `:` type($buffer)"

    def __init__(self, buffer: MemRefType, offset: int | None = None) -> None:
        super().__init__(
            result_types=[buffer],
            properties={"offset": None if offset is None else IntegerAttr(offset, i64)},
        )

    @property
    def place(self) -> int | None:
        """Byte offset of the buffer; None as long as no pass has chosen one."""
        return None if self.offset is None else self.offset.value.data

    def verify_(self) -> None:
        """The buffer has a static shape and no negative offset."""
        type_ = self.buffer.type
        assert isinstance(type_, MemRefType)
        if not type_.has_static_shape():
            raise VerifyException(f"expected a static shape, got {type_}")
        if self.offset is not None and self.offset.value.data < 0:
            raise VerifyException(f"expected an offset of at least 0, got {self.offset.value.data}")
