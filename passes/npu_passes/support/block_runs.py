"""A transfer in blocks as numbers: what its memref types say of the part, the map and the blocks.

Plain data out of `dma.start ... blocks`, for whoever programs an engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from npu_dialect.dma import StartOp, index_bytes
from npu_dialect.npu.attributes import DramSpace
from npu_passes.support.transfer_runs import buffer_type, strides_of


@dataclass(frozen=True)
class BlockRuns:
    """Bytes of an element, size of a block, the byte that zero is made of; and four axes.

    `map` are elements of the map along its axes, `part` those of the part, `chip` and `dram` the
    bytes from one to the next on chip and off it.
    """

    element: int
    block: int
    zero: int
    map: tuple[int, ...]
    part: tuple[int, ...]
    chip: tuple[int, ...]
    dram: tuple[int, ...]

    @property
    def worst(self) -> int:
        """Bytes of the index that the transfer meets, at most.

        Blocks side by side have bits side by side; rows of blocks follow if the part is as wide as
        the map, channels if it is as high, too.
        """
        grid = [-(-extent // self.block) for extent in self.map[2:]]
        met = [
            min(of_map, (extent - 2) // self.block + 2)
            for of_map, extent in zip(grid, self.part[2:], strict=True)
        ]
        if self.part == self.map:
            return index_bytes(self.map, self.block)
        run, rows = met[1], self.part[0] * self.part[1] * met[0]
        if self.part[3] == self.map[3]:
            run, rows = run * met[0], rows // met[0]
            if self.part[2] == self.map[2]:
                run, rows = run * self.part[1], rows // self.part[1]
        return min(index_bytes(self.map, self.block), rows * ((run + 6) // 8 + 1))


def block_runs_of(op: StartOp, element_bytes: int) -> BlockRuns | None:
    """The blocks of a transfer whose types have static strides; None if it moves all."""
    if op.block is None or op.zero is None:
        return None
    leaves = isinstance(buffer_type(op.target).memory_space, DramSpace)
    chip = op.source if leaves else op.target
    whole = op.blocked[0]
    return BlockRuns(
        element_bytes,
        op.block.value.data,
        op.zero.value.data % 256,
        tuple(buffer_type(whole).get_shape()),
        tuple(buffer_type(chip).get_shape()),
        tuple(step * element_bytes for step in strides_of(chip)),
        tuple(step * element_bytes for step in strides_of(whole)),
    )


def is_ordered(runs: BlockRuns) -> bool:
    """Whether the place of an element in the map tells its indices: each axis holds the next."""
    reach = 0
    for step, extent in reversed(list(zip(runs.dram, runs.map, strict=True))):
        if step <= reach:
            return False
        reach += (extent - 1) * step
    return True
