"""Bytes that a layer holds on chip (paper 001, section 3, Algorithm 6): no IR in here.

The paper's names, and the names here:

| paper | here |
|---|---|
| size_IFM.Full, size_OFM.Full | `MapBytes.full`: a whole map, in patches |
| size_IFM.Partial | `MapBytes.fetched`: channels of an off-chip IFM that are on chip at one time |
| size_OFM.Partial | `MapBytes.written`: channels of an off-chip OFM that are on chip at one time |
| size_WM.Partial | `Storage.working_bytes`: outputs that a strided convolution computes and drops |
| size_W.Partial | `Storage.weight_bytes`: kernels that are on chip at one time |

The paper prints no formulas for them. The formulas here reproduce every cell of its Table 1;
`src/npu_dialect/targets/exynos-npu.toml` says which numbers are assumptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from npu_dialect.machine import Machine


@dataclass(frozen=True)
class MapBytes:
    """On-chip bytes of one feature map: as a whole, and in part while it is fetched or written."""

    full: int
    fetched: int
    written: int


@dataclass(frozen=True)
class Storage:
    """How a machine keeps maps and weights on chip; the other fields are those of `Machine`.

    Maps and weights that are on chip in part have `buffers` buffers, so that one is moved while the
    other is used. The paper says so for weights; for maps it is an assumption. With `by_groups`,
    the last resort, a layer fetches its IFM and has working memory for one group of channels at a
    time.
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
        """The rules with the smallest footprint: single buffers, one channel group at a time."""
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
        """Channels or kernels on chip at one time: a group in each buffer, at most `count`."""
        return min(count, group * self.buffers)

    def weight_bytes(self, kernels: int, kernel_bytes: int) -> int:
        """W.Partial of a layer with `kernels` kernels of `kernel_bytes` bytes each.

        Zero if the machine reads weights where they lie. A kernel of a grouped convolution has the
        channels of one group only.
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
    """The size, rounded up to a multiple."""
    return -(-size // multiple) * multiple
