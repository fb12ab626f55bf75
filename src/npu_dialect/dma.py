"""Transfers between memories that a DMA engine does while the core computes.

    dma.reads %image : memref<1x3x8x8xf32, #npu.dram>           // one pass over a map begins
    %t = dma.start %rows to %tile channel 0
        : memref<1x3x2x8xf32, strided<[192, 64, 8, 1]>, #npu.dram> to memref<1x3x2x8xf32, #npu.sram>
    ...                                                         // touch neither buffer here
    dma.wait %t

The two memref types say what moves. Their shapes and element types are the same; their strides and
offsets may differ. Until the wait, the target's contents are undefined, and the source must not
change.

    %t = dma.start %part to %tile channel 1 blocks 4 zero 0 of %map, %index : ...

is a transfer in blocks: it skips the zero blocks of a map. The map's index has one bit for each
block, which says whether the block is zero; see `StartOp`.

    %t = dma.start %part to %tile channel 1 planes blocks 16 zero -128 of %map, %index : ...

moves runs of 16 bytes of a row as their bit planes, without those that say nothing. The index has
four bits for each run, which say how many planes it has.

A transfer moves a part of a feature map or, with `weights`, of learned parameters. Traffic is
counted separately for the two. The memory spaces give the direction.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import (
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
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.maps import is_buffer_type

UI8 = IntegerType(8, Signedness.UNSIGNED)

RUN = 16
"""Elements of a run that moves as bit planes: each plane is then a half word."""
BLOCK_BITS, RUN_BITS = 1, 4
"""Bits of the index for a block, and for a run of bit planes."""


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """The type of a transfer that has been started. Prints as `!dma.token`."""

    name = "dma.token"


@irdl_op_definition
class StartOp(IRDLOperation):
    """Start a transfer on a channel.

    The transfers of one channel run in the order of their starts; transfers of different channels
    run in any order. The token stands for the event that signals the end of the transfer. The
    engine chooses the event (a PL-330 signals the one with the channel's number).

    With `blocks b zero z of %map, %index` one side is a part of the off-chip map %map [N, C, H, W].
    The map is cut into blocks of b x b elements of one channel; the blocks at the right and at the
    bottom may be smaller. Block (n, c, y, x) has bit ((n * C + c) * rows + y) * columns + x of
    %index, least significant bits first, where a channel has `rows` x `columns` blocks. Each block
    keeps its place in %map, so any part can be read.

    - Onto the chip: blocks whose bit is 1 are moved, as far as they lie in the part; the elements
      of the others become `zero`.
    - Off the chip: the bit of each block becomes 1 if the block has an element other than `zero`,
      else 0. Blocks with bit 1 are moved; the others leave their place in %map unchanged. The part
      consists of whole blocks.

    With `planes` a block is a run of 16 elements (i8 or ui8) of a row; the last one of a row may be
    shorter. The zero is 0 or 128 (-128). An element is d = element - zero, modulo 256. The planes
    of a run are the bits 0 of all its d, the bits 1, and so on up to the highest bit that is set in
    any d. Its code in the index is their number, from 0 for a run of zeros to 7. If these planes
    have as many bytes as the elements or more, signed d become 2 d, or -2 d - 1 if d is negative,
    and the code is 8 more than the number of planes. If that saves nothing either, the code is 8,
    and the elements move as they are. A plane of n elements is ceil(n / 8) bytes. Planes take the
    first bytes of the run's place in %map; the order of their bits is the engine's own.

    - The code of run (n, c, y, x) is the half byte ((n * C + c) * H + y) * columns + x of %index,
      where a row has `columns` runs; low halves come first.
    - Onto the chip, a run moves whole, even if the part has only some of its elements. Off the
      chip, the part consists of whole runs.

    ```mlir
    %t = dma.start weights %kernels to %buffer channel 1
        : memref<16x3x3x3xf32, #npu.dram> to memref<16x3x3x3xf32, #npu.sram>
    ```
    """

    name = "dma.start"

    source = operand_def(MemRefType)
    target = operand_def(MemRefType)
    blocked = var_operand_def(MemRefType)
    weights = opt_prop_def(UnitAttr)
    channel = prop_def(IntegerAttr.constr(i64))
    planes = opt_prop_def(UnitAttr)
    block = opt_prop_def(IntegerAttr.constr(i64))
    zero = opt_prop_def(IntegerAttr.constr(i64))
    token = result_def(TokenType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "(`weights` $weights^)? $source `to` $target `channel` $channel"
        " (`planes` $planes^)? (`blocks` $block^ `zero` $zero `of` $blocked)? attr-dict"
        " `:` type($source) `to` type($target) (`of` type($blocked)^)?"
    )

    def __init__(
        self, source: SSAValue, target: SSAValue, channel: int = 0, *, weights: bool = False
    ) -> None:
        super().__init__(
            operands=[source, target, []],
            result_types=[TokenType()],
            properties={
                "channel": IntegerAttr(channel, i64),
                "weights": UnitAttr() if weights else None,
            },
        )

    def verify_(self) -> None:
        """Both ends have the same static shape and element type, in different memory spaces."""
        source, target = self.source.type, self.target.type
        assert is_buffer_type(source)
        assert is_buffer_type(target)
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
        verify_blocks(self)

    @property
    def block_shape(self) -> tuple[int, int] | None:
        """Rows and columns of a block; None if the transfer is not in blocks."""
        if self.block is None:
            return None
        size = self.block.value.data
        return (1 if self.planes is not None else size), size

    def in_blocks(
        self, size: int, zero: int, map: SSAValue, index: SSAValue, *, planes: bool = False
    ) -> StartOp:
        """The same transfer in blocks of `size` x `size` elements of `map`, with its `index`.

        `zero` is the integer of a zero element. With `planes`, in runs of `size` elements, as bit
        planes.
        """
        new = StartOp(self.source, self.target, self.channel.value.data)
        new.operands = (*new.operands, map, index)
        new.block, new.zero = IntegerAttr(size, i64), IntegerAttr(zero, i64)
        new.planes = UnitAttr() if planes else None
        new.attributes.update(self.attributes)
        return new


def verify_blocks(op: StartOp) -> None:
    """Check the operands of a transfer in blocks: the map, and an index with a bit for each block.

    Raises: VerifyException if they do not fit the transfer.
    """
    if op.block is None or op.zero is None:
        given = (op.block, op.zero, op.planes, *op.blocked)
        if any(each is not None for each in given):
            raise VerifyException("expected blocks, zero, a map and its index, or none of them")
        return
    if len(op.blocked) != 2:
        raise VerifyException(f"expected a map and its index, got {len(op.blocked)} operands")
    part, whole, index = op.target.type, *(value.type for value in op.blocked)
    assert is_buffer_type(part)
    assert is_buffer_type(whole)
    assert is_buffer_type(index)
    if op.weights is not None:
        raise VerifyException("expected a feature map in blocks, got weights")
    if op.block.value.data < 1:
        raise VerifyException(f"expected a block of at least 1 element, got {op.block.value.data}")
    if len(part.get_shape()) != 4 or len(whole.get_shape()) != 4 or not whole.has_static_shape():
        raise VerifyException(f"expected a part of a map of rank 4, got {part} of {whole}")
    if whole.element_type != part.element_type:
        raise VerifyException(f"expected a part of a map with its elements, got {part} of {whole}")
    needed = index_bytes(whole.get_shape(), op.block.value.data, planes=op.planes is not None)
    if index != MemRefType(i8, [needed], memory_space=index.memory_space):
        raise VerifyException(f"expected an index of {needed} bytes (i8), got {index}")
    verify_zero(op.zero.value.data, part, None if op.planes is None else op.block.value.data)


def verify_zero(zero: int, part: MemRefType, run: int | None) -> None:
    """Check the zero, and for bit planes the length of runs and that the elements are bytes.

    Raises: VerifyException if they do not fit the elements.
    """
    if zero and part.element_type not in (i8, UI8):
        raise VerifyException(f"expected zero 0 for elements of type {part.element_type}")
    if run is None:
        return
    if run != RUN:
        raise VerifyException(f"expected planes of {RUN} elements, got {run}")
    if part.element_type not in (i8, UI8):
        raise VerifyException(f"expected planes of bytes, got elements of {part.element_type}")
    middle = -128 if part.element_type == i8 else 128
    if zero not in (0, middle):
        raise VerifyException(f"expected zero 0 or {middle} for planes, got {zero}")


def index_bytes(shape: Sequence[int], block: int, *, planes: bool = False) -> int:
    """Bytes of the index of a map [..., H, W]: one bit for each block, four for each run."""
    *outer, height, width = shape
    rows, bits = (height, RUN_BITS) if planes else (-(-height // block), BLOCK_BITS)
    return -(-bits * prod(outer) * rows * -(-width // block) // 8)


@irdl_op_definition
class WaitOp(IRDLOperation):
    """Wait until a transfer is done. Each transfer has exactly one wait.

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


class AccessOp(IRDLOperation, abc.ABC):
    """A layer begins a pass over an off-chip map. The op only serves to count accesses."""

    map = operand_def(MemRefType)

    assembly_format = "$map attr-dict `:` type($map)"

    def __init__(self, map: SSAValue) -> None:
        super().__init__(operands=[map])


@irdl_op_definition
class ReadsOp(AccessOp):
    """A layer begins to read an off-chip map: one access, however many transfers follow.

    ```mlir
    dma.reads %image : memref<1x3x8x8xf32, #npu.dram>
    ```
    """

    name = "dma.reads"

    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class WritesOp(AccessOp):
    """A layer begins to write an off-chip map: one access, however many transfers follow.

    ```mlir
    dma.writes %scores : memref<1x10xf32, #npu.dram>
    ```
    """

    name = "dma.writes"

    traits = traits_def(MemoryWriteEffect())


@irdl_op_definition
class WorkOp(IRDLOperation):
    """What follows keeps the core busy for some cycles of the virtual clock of `npu_dma.h`.

    It computes nothing. `npu-mark-work` puts it in front of layers, to compare the clock of the
    emitted C with that of `npu-estimate-time`.

    ```mlir
    dma.work 900
    ```
    """

    name = "dma.work"

    cycles = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$cycles attr-dict"

    def __init__(self, cycles: int) -> None:
        super().__init__(properties={"cycles": IntegerAttr(cycles, i64)})

    def verify_(self) -> None:
        """Time does not run backwards."""
        if self.cycles.value.data < 0:
            raise VerifyException(f"expected cycles of at least 0, got {self.cycles.value.data}")


DMA = Dialect("dma", [StartOp, WaitOp, ReadsOp, WritesOp, WorkOp], [TokenType])
