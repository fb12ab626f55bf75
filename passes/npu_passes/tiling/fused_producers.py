"""Ops that run on the tiles of the layer that reads their output, which then never leaves the chip.

    npu.relu ins(%x) outs(%r)                  for each tile of %x:
    npu.conv2d ins(%r, ...) outs(%y)             dma.start %x_part to %tile; dma.wait
    npu.conv2d ins(%y, ...) outs(%z)     =>      npu.relu ins(%tile) outs(%tile)
                                                 npu.conv2d ins(%tile, ...) outs(%y_tile)
                                                 npu.conv2d ins(%y_tile, ...) outs(%z_tile)

Level of IR: layers in destination style on buffers, before they are cut into tiles. An analysis:
nothing is changed. All maps lie off the chip. A *producer* is one of two:

- An op that computes each element from the same element of its input. Any tile of its output can be
  computed in the place of the same tile of its input.
- A depthwise convolution in front of a 1x1 convolution, whose maps have the same size. Some of its
  channels can be computed from the same channels of its input, if a tile has whole rows and
  columns. That takes a buffer for them, and one for its kernels.

A reader that loads a tile several times computes it as often; `worthwhile` weighs that against the
bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Operation, OpResult, SSAValue

from npu_dialect.computing import computation_of
from npu_dialect.dram import AllocOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp
from npu_passes.analysis.accesses import accesses
from npu_passes.analysis.local_layers import computes_channels, computes_elements, computes_pixels
from npu_passes.analysis.views import key_of
from npu_passes.tiling.stage import off_chip_operands


@dataclass(frozen=True)
class Producer:
    """An op that can run on the tiles of its readers.

    `readers`: the ops that read its output, each with the index of that operand. `is_depthwise`:
    whether it is a depthwise convolution, which needs buffers for its tiles and its kernels.
    """

    op: Operation
    readers: tuple[tuple[Operation, int], ...]
    is_depthwise: bool


def producers_among(ops: Sequence[Operation]) -> tuple[Producer, ...]:
    """The producers among ops that compute in tiles, which are given in their order."""
    found: list[Producer] = []
    for op in ops:
        elementwise = is_elementwise(op)
        if not elementwise and not is_depthwise(op):
            continue
        readers = readers_of(op, ops)
        pixels = len(readers) == 1 and all(is_pointwise(*reader) for reader in readers)
        if readers and (elementwise or pixels):
            found.append(Producer(op, readers, is_depthwise=not elementwise))
    return tuple(found)


def is_elementwise(op: Operation) -> bool:
    """Whether an op computes each element of a map off the chip from the same one of another."""
    return off_chip_operands(op) == set(op.operands) and keeps_elements(op)


def keeps_elements(op: Operation) -> bool:
    """Whether an op computes each element of a map from the same one of another map or itself."""
    if len(op.operands) != 2 or not keeps_type(op):
        return False
    if isinstance(op, LayerOp):
        return computes_elements(op)
    found = computation_of(op)
    if found is None or found.accumulates or found.domain is None or found.domain.sums:
        return False
    return found.domain.maps[0] == found.domain.maps[-1]


def is_depthwise(op: Operation) -> bool:
    """Whether an op is a depthwise convolution between maps of one size, all off the chip."""
    if not isinstance(op, Conv2dOp) or not keeps_type(op) or not computes_channels(op):
        return False
    if op.working_memory is not None or op.accumulate is not None:
        return False
    return off_chip_operands(op) == set(op.operands) and op.operands[0] is not op.operands[-1]


def keeps_type(op: Operation) -> bool:
    """Whether the first and the last operand have the same type: also the same strides."""
    return op.operands[0].type == op.operands[-1].type


def is_pointwise(op: Operation, index: int) -> bool:
    """Whether an operand is the input of a 1x1 convolution that uses all of its elements."""
    return isinstance(op, Conv2dOp) and index == 0 and computes_pixels(op)


def readers_of(op: Operation, ops: Sequence[Operation]) -> tuple[tuple[Operation, int], ...]:
    """The ops that read what an op computes, also parts of it, each with the operand's index.

    Empty if there is none, if anything else uses the buffer, or if one of them is not among `ops`,
    is in another block, reads it twice or writes to it. If the op overwrites what it reads, what
    uses the buffer before it does not matter.
    """
    output = op.operands[-1]
    if not isinstance(output, OpResult) or not isinstance(output.op, AllocOp):
        return ()
    if output.op.parent is not op.parent:
        return ()  # a loop could come back to what stands in front of the op
    found: dict[Operation, int] = {}
    pending = [use for use in output.uses if use.operation is not op]
    if op.operands[0] is output:
        pending = [use for use in pending if not comes_before(use.operation, op)]
    while pending:
        use = pending.pop()
        reader = use.operation
        if reader.parent is not op.parent or not op.is_before_in_block(reader):
            return ()
        if isinstance(reader, memref.SubviewOp) and not is_depthwise(op):
            pending += reader.result.uses
        elif reader in found or reader not in ops or use.index == len(reader.operands) - 1:
            return ()
        else:
            found[reader] = use.index
    return tuple(sorted(found.items(), key=lambda each: ops.index(each[0])))


def comes_before(one: Operation, other: Operation) -> bool:
    """Whether an op, or the one around it in the block of the other, stands in front of that."""
    block = other.parent_block()
    around = None if block is None else block.find_ancestor_op_in_block(one)
    return around is not None and around.is_before_in_block(other)


def is_unchanged(value: SSAValue, start: Operation, end: Operation) -> bool:
    """Whether no op from one of a block to another, which counts, writes to a buffer."""
    key = key_of(value)
    return not any(
        each.writes and each.key == key for op in behind(start, end) for each in accesses(op)
    )


def behind(start: Operation, end: Operation) -> Iterator[Operation]:
    """The ops of a block behind one up to another, which is among them."""
    op = start
    while op is not end and op.next_op is not None:
        op = op.next_op
        yield op
