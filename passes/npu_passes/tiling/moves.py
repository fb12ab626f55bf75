"""Builds the transfers of concatenations and copies, which compute nothing.

Level of IR: in: `npu.concat` in destination style, or `memref.copy`, with an operand off the chip;
out: transfers. Between on chip and off chip a part moves in one transfer; from `#npu.dram` to
`#npu.dram` it passes through a tile buffer on chip.

    npu.concat ins(%a, %b : ..., #npu.dram, ..., #npu.sram) outs(%y : ..., #npu.sram) axis 1
->
    (%a to the first part of %y by dma.start)
    memref.copy of %b to the second part of %y
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layers import ConcatOp
from npu_dialect.npu.maps import shape_of
from npu_passes.analysis.on_chip import in_space
from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.tiling.build_nest import build_nest
from npu_passes.tiling.stage import is_weight, off_chip_operands
from npu_passes.tiling.staging import choose
from npu_passes.tiling.tile_moves import FIRST_MAP, OUTPUT, WEIGHTS, announce, transfer, view


def build_moves(op: Operation, machine: Machine, free: int) -> None:
    """Build the transfers of an op in front of it; `free` bytes on chip are for tile buffers.

    Raises: PassFailedException, attached to the op, if a tile buffer is needed and does not fit.
    """
    b = LoopBuilder(op)
    announce(op, list(off_chip_operands(op)))
    for source, target in parts(b, op):
        ends = [in_space(value, DramSpace()) for value in (source, target)]
        if all(ends):
            copy = b.insert(memref.CopyOp(source, target))
            build_nest(copy, choose(copy, machine, free), machine.dma_channels, counted=False)
            copy.detach()
            copy.erase()
        elif any(ends):
            weights = is_weight(op, source)
            channel = WEIGHTS if weights else FIRST_MAP if ends[0] else OUTPUT
            transfer(b, op, source, target, channel % machine.dma_channels, weights=weights)
        else:
            b.insert(memref.CopyOp(source, target))


def parts(b: LoopBuilder, op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Pairs of source and target: each part of a concatenation and its slice, or a copy's maps."""
    if not isinstance(op, ConcatOp):
        yield op.operands[0], op.operands[1]
        return
    axis, first = op.axis.value.data, 0
    for value in op.parts:
        shape = shape_of(value)
        at = [first if index == axis else 0 for index in range(len(shape))]
        yield value, view(b, op.operands[-1], at, shape)
        first += shape[axis]
