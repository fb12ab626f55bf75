"""Loads and stores of bytes that lie apart in a buffer, at places that a vector holds."""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, UnitAttr, i8, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from npu_dialect.mve.types import I8X16, I16X8, verify_line
from npu_dialect.npu.quantization import BYTE_TYPES

EIGHT = 8
"""Lanes of halves."""
ALL_LANES = (1 << EIGHT) - 1
"""The mask of all lanes."""
FARTHEST = 1 << 16
"""Places of halves are below this, as they have no sign."""
FARTHEST_OF_BYTES = 1 << 8
"""Places of bytes are below this."""


class PlacesOp(IRDLOperation, abc.ABC):
    """An op that loads or stores bytes at `index` plus places, which are all below `reach`."""

    FARTHEST: ClassVar = FARTHEST

    memref = operand_def(MemRefType)
    index = operand_def(IndexType)
    reach = prop_def(IntegerAttr.constr(i64))

    @property
    def bytes(self) -> int:
        """The bytes from the index to the last one that may be loaded or stored."""
        return self.reach.value.data

    def verify_(self) -> None:
        """The buffer has one axis of bytes without gaps, and the places fit into it."""
        if not 1 <= self.bytes <= self.FARTHEST:
            raise VerifyException(f"expected a reach of 1 to {self.FARTHEST}, got {self.bytes}")
        verify_line(self.memref.type, BYTE_TYPES, self.bytes)


class HalvesOp(IRDLOperation, abc.ABC):
    """An op with places of halves."""

    places = operand_def(I16X8)


class BytesOp(IRDLOperation, abc.ABC):
    """An op with places of bytes."""

    places = operand_def(I8X16)


class EightPlacesOp(PlacesOp, HalvesOp, abc.ABC):
    """An op that loads or stores eight bytes.

    With `lanes`, a mask whose bit i stands for lane i, only these lanes are loaded or stored. With
    `step`, their places are multiples of it.
    """

    lanes = opt_prop_def(IntegerAttr.constr(i64))
    step = opt_prop_def(IntegerAttr.constr(i64))

    @property
    def multiple(self) -> int:
        """The number of which places are multiples."""
        return 1 if self.step is None else self.step.value.data

    @property
    def mask(self) -> int:
        """The mask of the lanes that are loaded or stored."""
        return ALL_LANES if self.lanes is None else self.lanes.value.data

    def verify_(self) -> None:
        """As any such op; the mask has one to eight lanes."""
        super().verify_()
        if not 1 <= self.mask <= ALL_LANES:
            raise VerifyException(f"expected a mask of 1 to {ALL_LANES}, got {self.mask}")
        if self.multiple < 1:
            raise VerifyException(f"expected a step of at least 1, got {self.multiple}")


def number(value: int) -> IntegerAttr:
    """A number as a property."""
    return IntegerAttr(value, i64)


def lanes_of_mask(mask: int) -> IntegerAttr | None:
    """The property `lanes` for a mask; None for all lanes."""
    return None if mask == ALL_LANES else number(mask)


def step_of(multiple: int) -> IntegerAttr | None:
    """The property `step` for a number; None for 1."""
    return None if multiple == 1 else number(multiple)


@irdl_op_definition
class GatherOp(EightPlacesOp):
    """VLDRB.U16 at a vector of places: loads bytes into the lanes of halves, without their signs.

    With `signed`, it is VLDRB.S16: i8 keep their signs. Lanes that are not loaded are zero.

    ```mlir
    %x = mve.gather %map[%i] at %places reach 405 : memref<2048xi8, #npu.sram>
    %y = mve.gather %map[%i] at %places reach 405 lanes 15 : memref<2048xi8, #npu.sram>
    %z = mve.gather %map[%i] at %places reach 405 signed : memref<2048xi8, #npu.sram>
    ```
    """

    name = "mve.gather"

    signed = opt_prop_def(UnitAttr)
    result = result_def(I16X8)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$memref `[` $index `]` `at` $places `reach` $reach (`step` $step^)? (`lanes` $lanes^)? "
        "(`signed` $signed^)? attr-dict `:` type($memref)"
    )

    def __init__(
        self,
        memref: SSAValue,
        index: SSAValue,
        places: SSAValue,
        reach: int,
        mask: int = ALL_LANES,
        *,
        step: int = 1,
        signed: bool = False,
    ) -> None:
        super().__init__(
            operands=[memref, index, places],
            result_types=[I16X8],
            properties={
                "reach": number(reach),
                "lanes": lanes_of_mask(mask),
                "step": step_of(step),
                "signed": UnitAttr() if signed else None,
            },
        )

    def verify_(self) -> None:
        """As any such op; elements with signs are i8."""
        super().verify_()
        if self.signed is not None:
            verify_line(self.memref.type, (i8,), self.bytes)


class SixteenPlacesOp(PlacesOp, BytesOp, abc.ABC):
    """An op on 16 bytes, whose places have no signs."""

    FARTHEST: ClassVar = FARTHEST_OF_BYTES


@irdl_op_definition
class GatherBytesOp(SixteenPlacesOp):
    """VLDRB.U8 at a vector of places: loads 16 bytes.

    ```mlir
    %x = mve.gather_bytes %plane[%i] at %places reach 40 : memref<64xi8, #npu.sram>
    ```
    """

    name = "mve.gather_bytes"

    result = result_def(I8X16)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$memref `[` $index `]` `at` $places `reach` $reach attr-dict `:` type($memref)"
    )

    def __init__(self, memref: SSAValue, index: SSAValue, places: SSAValue, reach: int) -> None:
        super().__init__(
            operands=[memref, index, places],
            result_types=[I8X16],
            properties={"reach": number(reach)},
        )


@irdl_op_definition
class ScatterOp(EightPlacesOp):
    """VSTRB.16 at a vector of places: stores the lanes of halves as bytes, in any order.

    Lanes with one place have equal bytes. The lowest bits of each lane are stored; with
    `saturated`, a VQMOVNB makes the lane a signed byte first, or a VQMOVUNB a byte without a sign
    if the elements are ui8.

    ```mlir
    mve.scatter %q, %map[%i] at %places reach 405 : memref<2048xi8, #npu.sram>
    mve.scatter %q, %map[%i] at %places reach 405 lanes 85 saturated : memref<2048xi8, #npu.sram>
    ```
    """

    name = "mve.scatter"

    value = operand_def(I16X8)
    saturated = opt_prop_def(UnitAttr)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$value `,` $memref `[` $index `]` `at` $places `reach` $reach (`step` $step^)? "
        "(`lanes` $lanes^)? (`saturated` $saturated^)? attr-dict `:` type($memref)"
    )

    def __init__(
        self,
        value: SSAValue,
        memref: SSAValue,
        index: SSAValue,
        places: SSAValue,
        reach: int,
        mask: int = ALL_LANES,
        *,
        saturated: bool = False,
        step: int = 1,
    ) -> None:
        super().__init__(
            operands=[value, memref, index, places],
            properties={
                "reach": number(reach),
                "lanes": lanes_of_mask(mask),
                "step": step_of(step),
                "saturated": UnitAttr() if saturated else None,
            },
        )


@irdl_op_definition
class ScatterBytesOp(SixteenPlacesOp):
    """VSTRB.8 at a vector of places: stores 16 bytes, in any order.

    Lanes with one place have equal bytes.

    ```mlir
    mve.scatter_bytes %q, %map[%i] at %places reach 100 : memref<2048xi8, #npu.sram>
    ```
    """

    name = "mve.scatter_bytes"

    value = operand_def(I8X16)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$value `,` $memref `[` $index `]` `at` $places `reach` $reach attr-dict `:` type($memref)"
    )

    def __init__(
        self, value: SSAValue, memref: SSAValue, index: SSAValue, places: SSAValue, reach: int
    ) -> None:
        super().__init__(
            operands=[value, memref, index, places], properties={"reach": number(reach)}
        )
