"""A block transfer as plain numbers: shapes and strides of the map and the part that is moved.

They are read from the memref types of `dma.start ... blocks`, for code that programs a DMA engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from npu_dialect.dma import BLOCK_BITS, RUN, RUN_BITS, StartOp, index_bytes
from npu_dialect.npu.attributes import DramSpace
from npu_passes.support.transfer_runs import buffer_type, strides_of


@dataclass(frozen=True)
class BlockRuns:
    """A transfer of part of a map [N, C, H, W] that skips zero blocks, or moves bit planes.

    `element`: bytes of an element. `block`: rows and columns of a block, in elements; with `planes`
    the elements of a run. `zero`: the
    byte that a zero element consists of. `map`, `part`: the shapes of the whole map and of the part
    that is moved. `chip`, `dram`: the strides of the part on chip and of the map off chip, in
    bytes.
    """

    element: int
    block: int
    zero: int
    map: tuple[int, ...]
    part: tuple[int, ...]
    chip: tuple[int, ...]
    dram: tuple[int, ...]
    planes: bool = False

    @property
    def met(self) -> tuple[int, int]:
        """The most rows and columns of blocks that the part can meet, wherever it lies."""
        units = (1 if self.planes else self.block), self.block
        rows, columns = (
            min(-(-whole // unit), (extent - 2) // unit + 2)
            for whole, extent, unit in zip(self.map[2:], self.part[2:], units, strict=True)
        )
        return rows, columns

    @property
    def worst(self) -> int:
        """An upper bound on what the transfer moves besides the bytes of its part.

        That is the index and, for bit planes, the rest of runs that the part cuts.
        """
        return self.worst_index + self.worst_cut

    @property
    def worst_cut(self) -> int:
        """The most bytes of runs outside of the part: a run of bit planes moves whole."""
        if not self.planes:
            return 0
        most = min(self.map[3], self.met[1] * self.block)
        return prod(self.part[:3]) * (most - self.part[3])

    @property
    def worst_index(self) -> int:
        """An upper bound on the bytes of the index that the transfer touches.

        The index has one bit for each block, or four for each run. Neighbours in a row have
        neighbouring bits. The bits of several rows are contiguous if the part is as wide as the
        map. Those of several channels are contiguous if it is also as high.
        """
        whole, met = index_bytes(self.map, self.block, planes=self.planes), self.met
        if self.part == self.map:
            return whole
        run, rows = met[1], self.part[0] * self.part[1] * met[0]
        if self.part[3] == self.map[3]:
            run, rows = run * met[0], rows // met[0]
            if self.part[2] == self.map[2]:
                run, rows = run * self.part[1], rows // self.part[1]
        bits = RUN_BITS if self.planes else BLOCK_BITS
        return min(whole, rows * ((bits * run + 7 - bits) // 8 + 1))


def runs_met(columns: int, width: int) -> int:
    """The most runs that some adjacent columns meet in a row of `width` elements."""
    return min(-(-width // RUN), (columns - 2) // RUN + 2)


def block_runs_of(op: StartOp, element_bytes: int) -> BlockRuns | None:
    """The numbers of a block transfer with static strides; None if the op moves all elements."""
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
        op.planes is not None,
    )


def is_ordered(runs: BlockRuns) -> bool:
    """Whether the offset of an element in the map determines its indices.

    It does if each stride exceeds the reach of the inner axes.
    """
    reach = 0
    for step, extent in reversed(list(zip(runs.dram, runs.map, strict=True))):
        if step <= reach:
            return False
        reach += (extent - 1) * step
    return True
