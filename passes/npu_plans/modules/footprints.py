"""What a layer holds on chip, in bytes (paper 001, section 3, Algorithm 6): no IR in here.

The paper's words, and what they are here:

| paper | here |
|---|---|
| size_IFM.Full, size_OFM.Full | `MapBytes.full`: a whole map, in patches |
| size_IFM.Partial | `MapBytes.fetched`: a chunk of channels of a map that comes from off chip |
| size_OFM.Partial | `MapBytes.written`: the channels of a map that leaves the chip |
| size_WM.Partial | `Storage.working_bytes`: what a strided convolution computes and then drops |
| size_W.Partial | `Storage.weight_bytes`: the kernels that are on chip at one time |

The paper prints no formulas for them. These are the ones under which its Table 1 comes out in
every cell; `src/npu_dialect/targets/exynos-npu.toml` says which numbers are assumptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from npu_dialect.machine import Machine


@dataclass(frozen=True)
class MapBytes:
    """One feature map on chip: the whole of it, and the two ways to hold a part of it."""

    full: int
    fetched: int
    written: int


@dataclass(frozen=True)
class Storage:
    """How a machine keeps maps and weights on chip; the fields are those of `Machine`.

    What is on chip in part is there in `buffers` copies, so that one is moved while the other is
    used. The paper says so of weights; for maps it is an assumption. `by_groups` is the last
    resort: a layer fetches its IFM, and has working memory, for one group of channels at a time.
    """

    row_multiple: int = 1
    column_multiple: int = 1
    kernel_group: int = 0
    buffers: int = 1
    ifm_chunks: int = 1
    working_memory: str = "none"
    by_groups: bool = False

    @staticmethod
    def of(machine: Machine) -> Storage:
        """The storage rules of a machine."""
        return Storage(
            machine.row_multiple,
            machine.column_multiple,
            machine.kernel_group,
            machine.weight_buffers,
            machine.ifm_chunks,
            machine.working_memory,
        )

    def frugal(self) -> Storage:
        """The least that a layer can do with: nothing is there twice, all goes by groups."""
        return replace(self, buffers=1, by_groups=True)

    def map_bytes(self, shape: Sequence[int], element_bytes: int) -> MapBytes:
        """Bytes of a map [N, C, H, W], or of one without rows and columns, [N, C]."""
        batch, channels = (*shape, 1, 1)[:2]
        group, chunk = self.kernel_group or 1, -(-channels // self.ifm_chunks)
        channel = batch * self.channel_elements(shape[2:]) * element_bytes
        return MapBytes(
            full=channels * channel,
            fetched=self.part(channels, min(chunk, group) if self.by_groups else chunk) * channel,
            written=self.part(channels, group) * channel,
        )

    def channel_elements(self, extents: Sequence[int]) -> int:
        """Elements of one channel: rows and columns rounded up to whole patches.

        A map of one element per channel is a vector and has no patches.
        """
        if len(extents) != 2 or prod(extents) == 1:
            return prod(extents)
        rows, columns = extents
        return rounded(rows, self.row_multiple) * rounded(columns, self.column_multiple)

    def part(self, count: int, group: int) -> int:
        """Channels or kernels on chip at one time: copies of a group, but never more than all."""
        return min(count, group * self.buffers)

    def weight_bytes(self, kernels: int, kernel_bytes: int) -> int:
        """W.Partial of a layer with so many kernels; zero if weights are read where they lie.

        A kernel of a grouped convolution has the channels of one group only.
        """
        if not self.kernel_group:
            return 0
        return self.part(kernels, self.kernel_group) * kernel_bytes

    def working_bytes(
        self, stride_1_shape: Sequence[int], strides: Sequence[int], element_bytes: int
    ) -> int:
        """WM.Partial of a layer, from the shape that its output would have at stride 1."""
        if self.working_memory == "none" or all(stride == 1 for stride in strides):
            return 0
        size = self.map_bytes(stride_1_shape, element_bytes)
        return size.written if self.by_groups else size.full


def rounded(size: int, multiple: int) -> int:
    """The smallest multiple that is not below a size."""
    return -(-size // multiple) * multiple
