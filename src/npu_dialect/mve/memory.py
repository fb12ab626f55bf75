"""Loads and stores of vectors in buffers, of all lanes or of the first ones."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    UnitAttr,
    VectorType,
    f32,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.mve.types import as_vector, check, lanes_of
from npu_dialect.npu.maps import element_bytes, is_buffer_type
from npu_dialect.npu.quantization import BYTE_TYPES


def fits(memory: Attribute, lane: Attribute) -> bool:
    """Whether elements in memory become lanes of a vector, or are made of them.

    They have the type of the lanes, or are narrower integers. Bytes may be unsigned.
    """
    if memory == f32 or lane == f32:
        return memory == lane
    if not isa(memory, IntegerType) or not isa(lane, IntegerType):
        return False
    unsigned = memory.signedness.data == Signedness.UNSIGNED
    known = memory.width.data == 8 if unsigned else memory.width.data in (8, 16, 32)
    return known and memory.width.data <= lane.width.data


class AccessOp(IRDLOperation, abc.ABC):
    """An op that loads or stores a vector."""

    memref = operand_def(MemRefType)
    index = operand_def(IndexType)
    first = opt_prop_def(IntegerAttr.constr(i64))

    @property
    @abc.abstractmethod
    def vector(self) -> SSAValue[Attribute]:
        """The vector."""

    @property
    def lanes(self) -> int:
        """The lanes of the vector."""
        type_: Attribute = self.vector.type
        return lanes_of(type_)

    @property
    def step(self) -> int:
        """The distance of neighbouring elements in memory, in elements."""
        type_ = self.memref.type
        assert is_buffer_type(type_)
        (step,) = type_.get_strides() or (None,)
        assert step is not None
        return step

    @property
    def count(self) -> int:
        """How many elements are loaded or stored."""
        return self.lanes if self.first is None else self.first.value.data

    @property
    def bytes(self) -> int:
        """The bytes from the first element that is loaded or stored to the last one."""
        type_ = self.memref.type
        assert is_buffer_type(type_)
        return ((self.count - 1) * self.step + 1) * element_bytes(type_)

    def verify_(self) -> None:
        """The buffer has one axis of elements that fit the lanes; only words have gaps."""
        check(self.vector.type)
        type_ = self.memref.type
        assert is_buffer_type(type_)
        lane = as_vector(self.vector.type).element_type
        self.verify_elements(type_.element_type, lane)
        shape, strides = type_.get_shape(), type_.get_strides()
        if len(shape) != 1 or strides is None or not strides[0]:
            raise VerifyException(f"expected one axis with a known distance, got {type_}")
        if strides[0] != 1 and (type_.element_type != lane or lane not in (f32, i32)):
            raise VerifyException(f"expected words, or one axis without gaps, got {type_}")
        lanes = self.lanes
        if not 1 <= self.count <= lanes:
            raise VerifyException(f"expected 1 to {lanes} lanes, got {self.count}")
        if 0 <= shape[0] < self.count:
            raise VerifyException(f"expected at least {self.count} elements, got {type_}")

    def verify_elements(self, memory: Attribute, lane: Attribute) -> None:
        """Elements in memory fit the lanes.

        Raises: VerifyException if they do not.
        """
        if not fits(memory, lane):
            raise VerifyException(
                f"expected elements of {lane}, or narrower integers, in memory, "
                f"got {self.memref.type}"
            )


def first_of(count: int | None) -> IntegerAttr[IntegerType] | None:
    """The property `first` for a number of lanes; None for all lanes."""
    return None if count is None else IntegerAttr(count, i64)


@irdl_op_definition
class LoadOp(AccessOp):
    """VLDRB, VLDRH, VLDRW: loads elements into the lanes of a vector.

    Elements narrower than the lanes are extended, with their sign unless they are ui8. With
    `first`, only so many elements are read, and the other lanes are zero. Words may have gaps
    between them; the distances are then a vector, too. With `addressed`, the vector has the four
    addresses instead. Then loads whose constant indices differ by less than 255 share it, and none
    of them needs an addition.

    ```mlir
    %x = mve.load %image[%i] : memref<64xi8, #npu.sram> -> vector<16xi8>
    %y = mve.load %image[%i] first 3 : memref<64xi8, #npu.sram> -> vector<4xi32>
    %z = mve.load %pixel[%i] : memref<4xf32, strided<[49]>, #npu.sram> -> vector<4xf32>
    %a = mve.load %line[%i] addressed : memref<4xf32, strided<[2]>, #npu.sram> -> vector<4xf32>
    ```
    """

    name = "mve.load"

    addressed = opt_prop_def(UnitAttr)
    result = result_def(VectorType)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$memref `[` $index `]` (`first` $first^)? (`addressed` $addressed^)? attr-dict "
        "`:` type($memref) `->` type($result)"
    )

    def __init__(
        self,
        memref: SSAValue,
        index: SSAValue,
        type_: Attribute,
        first: int | None = None,
        *,
        addressed: bool = False,
    ) -> None:
        super().__init__(
            operands=[memref, index],
            result_types=[type_],
            properties={
                "first": first_of(first),
                "addressed": UnitAttr() if addressed else None,
            },
        )

    def verify_(self) -> None:
        """As any access; only all of four words with gaps are loaded from addresses."""
        super().verify_()
        if self.addressed is not None and (self.step == 1 or self.first is not None):
            raise VerifyException("expected all lanes, and gaps between them, for addresses")

    @property
    def vector(self) -> SSAValue[Attribute]:
        """The vector that is loaded."""
        return self.result


@irdl_op_definition
class StoreOp(AccessOp):
    """VSTRB, VSTRH, VSTRW: stores the lanes of a vector.

    Of lanes wider than the elements, the lowest bits are stored. With `first`, only so many lanes
    are stored. Words may have gaps between them, as with `mve.load`.

    With `saturated`, a VQMOVNB makes halves signed bytes first, or a VQMOVUNB bytes without a sign
    if the elements are ui8. Of floats, these are the low halves of their bits, as those of
    `mve.low_halves`.

    ```mlir
    mve.store %v, %out[%i] : vector<4xi32>, memref<64xi8, #npu.sram>
    mve.store %v, %out[%i] first 2 : vector<4xi32>, memref<64xi8, #npu.sram>
    mve.store %f, %out[%i] saturated : vector<4xf32>, memref<64xi8, #npu.sram>
    ```
    """

    name = "mve.store"

    value = operand_def(VectorType)
    saturated = opt_prop_def(UnitAttr)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$value `,` $memref `[` $index `]` (`first` $first^)? (`saturated` $saturated^)? attr-dict "
        "`:` type($value) `,` type($memref)"
    )

    def __init__(
        self,
        value: SSAValue,
        memref: SSAValue,
        index: SSAValue,
        first: int | None = None,
        *,
        saturated: bool = False,
    ) -> None:
        super().__init__(
            operands=[value, memref, index],
            properties={
                "first": first_of(first),
                "saturated": UnitAttr() if saturated else None,
            },
        )

    def verify_elements(self, memory: Attribute, lane: Attribute) -> None:
        """As any access; saturated halves, or floats, become bytes."""
        if self.saturated is None:
            super().verify_elements(memory, lane)
        elif memory not in BYTE_TYPES or lane not in (f32, i16):
            raise VerifyException(
                f"expected lanes of f32 or i16, and bytes in memory, for saturated, "
                f"got {self.value.type} and {self.memref.type}"
            )

    @property
    def vector(self) -> SSAValue[Attribute]:
        """The vector that is stored."""
        return self.value
