"""Transfers between memories, done by a DMA engine while the core computes.

    dma.reads %image : memref<1x3x8x8xf32, #npu.dram>           // one pass over a map begins
    %t = dma.start %rows to %tile channel 0
        : memref<1x3x2x8xf32, strided<[192, 64, 8, 1]>, #npu.dram> to memref<1x3x2x8xf32, #npu.sram>
    ...                                                         // neither may be touched
    dma.wait %t

What moves is what the two memref types say: shape and element type are the same, strides and
offsets are each one's own. Until the wait, the target means nothing and the source must stay.

A transfer moves a part of a feature map or, with `weights`, of learned parameters. Counters keep
them apart; direction follows from the memory spaces.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, MemRefType, UnitAttr, i64
from xdsl.ir import (
    Attribute,
    Dialect,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """A transfer that has been started. Prints as `!dma.token`."""

    name = "dma.token"


@irdl_op_definition
class StartOp(IRDLOperation):
    """Start a transfer on a channel.

    Transfers of one channel are done in the order of their starts; those of different channels in
    any order.

    ```mlir
    %t = dma.start weights %kernels to %buffer channel 1
        : memref<16x3x3x3xf32, #npu.dram> to memref<16x3x3x3xf32, #npu.sram>
    ```
    """

    name = "dma.start"

    source = operand_def(MemRefType)
    target = operand_def(MemRefType)
    weights = opt_prop_def(UnitAttr)
    channel = prop_def(IntegerAttr.constr(i64))
    token = result_def(TokenType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "(`weights` $weights^)? $source `to` $target `channel` $channel attr-dict"
        " `:` type($source) `to` type($target)"
    )

    def __init__(
        self, source: SSAValue, target: SSAValue, channel: int = 0, *, weights: bool = False
    ) -> None:
        super().__init__(
            operands=[source, target],
            result_types=[TokenType()],
            properties={
                "channel": IntegerAttr(channel, i64),
                "weights": UnitAttr() if weights else None,
            },
        )

    def verify_(self) -> None:
        """Both ends have one static shape and one element type, in two memories."""
        source, target = self.source.type, self.target.type
        assert isa(source, MemRefType[Attribute])
        assert isa(target, MemRefType[Attribute])
        if not source.has_static_shape() or source.get_shape() != target.get_shape():
            raise VerifyException(f"expected one static shape at both ends, got {source}, {target}")
        if source.element_type != target.element_type:
            raise VerifyException(
                f"expected one element type at both ends, got {source.element_type} "
                f"and {target.element_type}"
            )
        if source.memory_space == target.memory_space:
            raise VerifyException(
                f"expected a transfer between two memory spaces, got {source.memory_space} twice"
            )
        if self.channel.value.data < 0:
            raise VerifyException(
                f"expected a channel of at least 0, got {self.channel.value.data}"
            )


@irdl_op_definition
class WaitOp(IRDLOperation):
    """Wait until a transfer is done. A transfer is waited for once.

    ```mlir
    dma.wait %t
    ```
    """

    name = "dma.wait"

    token = operand_def(TokenType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$token attr-dict"

    def __init__(self, token: SSAValue) -> None:
        super().__init__(operands=[token])


@irdl_op_definition
class ReadsOp(IRDLOperation):
    """A layer begins to read a map that lies off chip: one access, however many transfers follow.

    Only counters care.

    ```mlir
    dma.reads %image : memref<1x3x8x8xf32, #npu.dram>
    ```
    """

    name = "dma.reads"

    map = operand_def(MemRefType)

    traits = traits_def(MemoryReadEffect())

    assembly_format = "$map attr-dict `:` type($map)"

    def __init__(self, map: SSAValue) -> None:
        super().__init__(operands=[map])


@irdl_op_definition
class WritesOp(IRDLOperation):
    """A layer begins to write a map that lies off chip: one access, as for `dma.reads`.

    ```mlir
    dma.writes %scores : memref<1x10xf32, #npu.dram>
    ```
    """

    name = "dma.writes"

    map = operand_def(MemRefType)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = "$map attr-dict `:` type($map)"

    def __init__(self, map: SSAValue) -> None:
        super().__init__(operands=[map])


DMA = Dialect("dma", [StartOp, WaitOp, ReadsOp, WritesOp], [TokenType])
