"""The groups of a convolution: which channels each of them reads.

The filters of a group read its channels only. A kernel reads four elements of a pixel at once, so a
group of fewer channels reads four of the map; the weights of those that are not its own are zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.packing import QUAD


@dataclass(frozen=True)
class Groups:
    """`count` groups of `channels` channels each."""

    count: int
    channels: int

    @property
    def read(self) -> int:
        """How many channels of a pixel the kernel reads for a group."""
        narrow = self.count > 1 and self.channels < QUAD
        return min(QUAD, self.count * self.channels) if narrow else self.channels

    def first_channel(self, b: LoopBuilder, group: Index) -> Index:
        """The first channel that is read for a group."""
        first = b.mul(group, self.channels)
        if self.read == self.channels:
            return first
        return b.least(first, self.count * self.channels - self.read)

    def widened(self, weights: NDArray[np.int8]) -> NDArray[np.int8]:
        """Weights [filters, channels, ...] with zeros for channels that are not of the group."""
        if self.read == self.channels:
            return weights
        filters = len(weights) // self.count
        found = np.zeros((len(weights), self.read, *weights.shape[2:]), np.int8)
        for filter, own in enumerate(weights):
            channel = filter // filters * self.channels
            start = channel - min(channel, self.count * self.channels - self.read)
            found[filter, start : start + self.channels] = own
        return found


ONE_GROUP = Groups(1, 0)
"""A convolution without groups."""
