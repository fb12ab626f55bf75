"""Rounds tiles down to whole blocks, for `npu-tile-loops{block-size=4}`.

If a layer writes its map off the chip, the rows and columns of its tiles are rounded down to
multiples of the block size; smaller tiles still fit on chip. A choice is kept as it is if its tiles
have fewer rows or columns than a block.
"""

from __future__ import annotations

from xdsl.ir import Operation

from npu_dialect.npu.layers import PruneZeroBlocksOp
from npu_passes.support.refuse import Refusal
from npu_passes.tiling.layer_spaces import COLUMNS, ROWS
from npu_passes.tiling.stage import Staging, off_chip_operands, stages_of
from npu_plans.tiles.operand_regions import Cut


def in_whole_blocks(op: Operation, staging: Staging, block: int, alignment: int) -> Staging:
    """The staging of an op with tiles of whole blocks of the map that it writes off the chip.

    `block`: rows and columns of a block. `alignment`: that of on-chip buffers, in bytes.

    Raises: PassFailedException if `block` is less than 1.
    """
    if block < 1:
        raise Refusal(f"expected a block-size of at least 1, got {block}")
    off_chip, cut = off_chip_operands(op), staging.cut
    if block == 1 or op.operands[-1] not in off_chip or isinstance(op, PruneZeroBlocksOp):
        return staging
    sizes = dict(cut.sizes)
    for name in (ROWS, COLUMNS):
        size = sizes.get(name, 0)
        if size % block and size < cut.space.loop(name).extent:
            if size < block:
                return staging
            sizes[name] = size // block * block
    if sizes == dict(cut.sizes):
        return staging
    for stage in stages_of(op, off_chip, alignment):
        if stage.staging(cut, double=staging.double_buffer, late=staging.late) == staging:
            smaller = Cut.of(cut.space, sizes, cut.order)
            return stage.staging(smaller, double=staging.double_buffer, late=staging.late)
    return staging
