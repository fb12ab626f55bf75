"""The C types and literals for types and constants of the IR.

    f32 -> float, i8 -> int8_t, i1 -> bool, index -> int (ptrdiff_t if a buffer has INDEX_LIMIT
    elements or more), vector<16xi8> -> npu_i8x16

A buffer is a pointer to its elements; its shape and strides are compile-time numbers of the
memref type.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    Signedness,
)
from xdsl.ir import Attribute, SSAValue

from npu_dialect import mve
from npu_dialect.dma import StartOp
from npu_dialect.npu.maps import storage_elements
from npu_dialect.walking import walk
from npu_passes.support.block_runs import BlockRuns, block_runs_of
from npu_passes.support.transfer_runs import transfer_runs as byte_runs_of
from npu_plans.transfers.runs import Runs

INDEX_LIMIT = 2**30
"""Buffers with fewer elements than this are indexed with `int`.

The other half of its range is for intermediate sums outside of a buffer, as in padding.
"""


@dataclass(frozen=True)
class CType:
    """A scalar type of C."""

    name: str
    bytes: int
    numpy: str
    """Type string of numpy, little-endian."""
    header: str | None = None

    @property
    def unsigned(self) -> str:
        """The unsigned integer type of the same size."""
        return UNSIGNED.get(self.name, f"u{self.name}")


UNSIGNED = {"int": "unsigned int", "ptrdiff_t": "uintptr_t"}
"""The unsigned types whose name is not `u` and the name of the signed type."""
FLOATS = {
    Float32Type(): CType("float", 4, "<f4"),
    Float64Type(): CType("double", 8, "<f8"),
}
INTEGERS = {
    1: CType("bool", 1, "|u1", "stdbool.h"),
    8: CType("int8_t", 1, "|i1", "stdint.h"),
    16: CType("int16_t", 2, "<i2", "stdint.h"),
    32: CType("int32_t", 4, "<i4", "stdint.h"),
    64: CType("int64_t", 8, "<i8", "stdint.h"),
}


UNSIGNED_BYTE = CType("uint8_t", 1, "|u1", "stdint.h")
"""The elements of uint8 maps: they are loaded, stored and cast to int8_t, never computed with."""


VECTOR_TYPES: dict[Attribute, CType] = {
    mve.I8X16: CType("npu_i8x16", 16, "16i1"),
    mve.I16X8: CType("npu_i16x8", 16, "8<i2"),
    mve.I32X4: CType("npu_i32x4", 16, "4<i4"),
    mve.F32X4: CType("npu_f32x4", 16, "4<f4"),
}
"""The types of vectors, which `mve_helpers.py` defines. Buffers have no elements of them."""


TOKEN = CType("npu_dma_token", 4, "<u4")
"""The type of a transfer that has been started: `npu_dma.h` declares it."""


def element_type(attribute: Attribute) -> CType | None:
    """The C type for the type of an element in memory; None if there is none."""
    match attribute:
        case IntegerType() if attribute.signedness.data == Signedness.SIGNLESS:
            return INTEGERS.get(attribute.width.data)
        case IntegerType() if attribute == IntegerType(8, Signedness.UNSIGNED):
            return UNSIGNED_BYTE
        case Float32Type() | Float64Type():
            return FLOATS[attribute]
        case _:
            return None


def index_type(elements: int) -> CType:
    """The type of index arithmetic in a program whose largest buffer has that many elements."""
    if elements < INDEX_LIMIT:
        return CType("int", 4, "<i4")
    return CType("ptrdiff_t", 8, "<i8", "stddef.h")


def largest_index(module: ModuleOp) -> int:
    """The largest number of elements of a buffer, or magnitude of an index constant."""
    largest = 0
    types: dict[int, Attribute] = {}
    """The types of all values, by their ids: many values share one."""
    for op in walk(module):
        if type(op) is arith.ConstantOp and isinstance(op.result.type, IndexType):
            value = op.value
            largest = max(largest, abs(value.value.data) if isinstance(value, IntegerAttr) else 0)
        values: list[SSAValue] = [*op.results]
        for region in op.regions:
            for block in region.blocks:
                values += block.args
        for each in values:
            types[id(each.type)] = each.type
    return max((largest, *map(elements, types.values())))


def elements(attribute: Attribute) -> int:
    """Elements from the beginning of a buffer's memory to its last one; zero for other types."""
    type_ = as_memref(attribute)
    if type_ is None:
        return 0
    ctype = element_type(type_.element_type)
    return bytes_of(type_) // (ctype.bytes if ctype else 1)


def is_value(attribute: Attribute) -> bool:
    """Whether values of the type can be local variables."""
    known = isinstance(attribute, IndexType) or attribute in VECTOR_TYPES
    return known or element_type(attribute) is not None


def as_memref(type_: Attribute) -> MemRefType | None:
    """The type of a buffer; None if it is no memref."""
    return cast("MemRefType", type_) if isinstance(type_, MemRefType) else None


def memref_of(value: SSAValue) -> MemRefType:
    """The type of a value that is known to be a buffer."""
    type_ = as_memref(value.type)
    assert type_ is not None
    return type_


def memref_problem(type_: MemRefType) -> str | None:
    """Why a buffer of this type cannot be addressed in C; None if it can."""
    if element_type(element := type_.element_type) is None:
        return f"its elements are {element}, expected f32, f64 or i1, i8, ui8, i16, i32, i64"
    if not type_.has_static_shape():
        return "its shape is dynamic, expected a static one"
    strides = type_.get_strides()
    if strides is None or None in strides:
        return "its strides are unknown, expected static ones"
    return None


def strides_of(type_: MemRefType) -> tuple[int, ...]:
    """Elements between neighbours along each dimension, for a type without `memref_problem`."""
    return tuple(stride for stride in type_.get_strides() or () if stride is not None)


def span_of(type_: MemRefType) -> int:
    """Elements from the first one to the last one, both included."""
    if 0 in type_.get_shape():
        return 0
    return 1 + sum(
        (extent - 1) * stride
        for extent, stride in zip(type_.get_shape(), strides_of(type_), strict=True)
    )


def is_contiguous(type_: MemRefType) -> bool:
    """Whether the elements lie one behind the other, in row-major order."""
    expected = 1
    for extent, stride in reversed(list(zip(type_.get_shape(), strides_of(type_), strict=True))):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def bytes_of(type_: MemRefType) -> int:
    """Bytes from the beginning of the memory to the end of the last element."""
    ctype = element_type(type_.element_type)
    return 0 if ctype is None else ((type_.get_offset() or 0) + span_of(type_)) * ctype.bytes


def storage_of(type_: MemRefType) -> int:
    """Bytes of memory that a buffer takes, including what its layout leaves free at the end."""
    ctype = element_type(type_.element_type)
    return (storage_elements(type_) or 0) * (ctype.bytes if ctype else 0)


def shape_text(type_: MemRefType) -> str:
    """Shape and element type for comments: `1x6x14x14 float`."""
    ctype = element_type(type_.element_type)
    extents = [str(extent) for extent in type_.get_shape()]
    return f"{'x'.join(extents) or 'scalar'} {ctype.name if ctype else type_.element_type}"


def float_literal(value: float, ctype: CType) -> str:
    """The shortest decimal that reads back as the same number; INFINITY and NAN need <math.h>."""
    suffix = "f" if ctype.bytes == 4 else ""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "-INFINITY" if value < 0 else "INFINITY"
    return f"{np.float32(value) if suffix else np.float64(value)!s}{suffix}"


def integer_literal(value: int, ctype: CType) -> str:
    """An integer as C text; the smallest number of a type has no literal, so it is a difference."""
    if ctype.name == "bool":
        return "true" if value else "false"
    if value == -(2 ** (8 * ctype.bytes - 1)) and ctype.bytes >= 4:
        return f"({integer_literal(value + 1, ctype)} - 1)"
    return str(value) if abs(value) < 2**31 or ctype.name == "ptrdiff_t" else f"INT64_C({value})"


def transfer_runs(op: StartOp) -> Runs:
    """The runs of bytes that a transfer moves, between buffers without `memref_problem`."""
    ctype = element_type(memref_of(op.source).element_type)
    return byte_runs_of(op, ctype.bytes if ctype else 1)


def transfer_blocks(op: StartOp) -> BlockRuns | None:
    """The blocks of a transfer between buffers without `memref_problem`; None if it moves all."""
    ctype = element_type(memref_of(op.source).element_type)
    return block_runs_of(op, ctype.bytes if ctype else 1)
