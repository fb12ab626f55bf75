"""An op that is to be cut into tiles, with what was decided for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation

from npu_passes.tiling.stage import Staging


@dataclass(frozen=True)
class StagedOp:
    """An op with operands off the chip, and its chosen tiles.

    `free`: the bytes on chip that buffers living at the op leave for its tiles. `staging` is None
    for ops that only move data: concatenations and copies. `chains`: the ops that run on the tiles
    of an operand, by its index, in their order; the last one computes the operand. `besides`: the
    bytes of each buffer that they need.
    """

    op: Operation
    free: int
    staging: Staging | None
    chains: Mapping[int, tuple[Operation, ...]] = field(
        default_factory=dict[int, tuple[Operation, ...]]
    )
    besides: tuple[int, ...] = ()

    @property
    def buffers(self) -> tuple[int, ...]:
        """The bytes of each tile buffer; none for an op that only moves data, which takes few."""
        return () if self.staging is None else (*self.staging.allocated, *self.besides)
