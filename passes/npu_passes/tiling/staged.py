"""An op that is to be cut into tiles, with what was decided for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation

from npu_passes.tiling.stage import Staging
from npu_plans.tiles.operand_regions import Along


@dataclass(frozen=True)
class Sharing:
    """An op that runs on another one's tiles of the map that both read as their first operand.

    `staging`: its own tiles, without those of that map. `reads`: how it follows the axes of the
    map; of an axis that is not cut, a tile has all elements.
    """

    op: Operation
    staging: Staging
    reads: tuple[Along, ...]


@dataclass(frozen=True)
class StagedOp:
    """An op with operands off the chip, and its chosen tiles.

    `free`: the bytes on chip that buffers living at the op leave for its tiles. `staging` is None
    for ops that only move data: concatenations and copies. `chains`: the ops that run on the tiles
    of an operand, by its index, in their order; the last one computes the operand. `besides`: the
    bytes of each buffer that they need. `sharing`: the ops that run on the tiles of the first
    operand, too, in front of this one.
    """

    op: Operation
    free: int
    staging: Staging | None
    chains: Mapping[int, tuple[Operation, ...]] = field(
        default_factory=dict[int, tuple[Operation, ...]]
    )
    besides: tuple[int, ...] = ()
    sharing: tuple[Sharing, ...] = ()

    @property
    def tiles(self) -> tuple[tuple[Operation, Staging], ...]:
        """The ops that run on its tiles, in their order, itself last, each with its own tiles."""
        if self.staging is None:
            return ()
        return (*((each.op, each.staging) for each in self.sharing), (self.op, self.staging))

    @property
    def buffers(self) -> tuple[int, ...]:
        """The bytes of each tile buffer; none for an op that only moves data, which takes few."""
        if self.staging is None:
            return ()
        others = (size for each in self.sharing for size in each.staging.allocated)
        return (*self.staging.allocated, *self.besides, *others)
