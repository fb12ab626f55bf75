"""Plans the table of a kernel that multiplies vectors with blocks of four filters at once. No IR.

A block has the scales and the first values of its filters, then the first 16 weights of each of
them, then the next ones, in the order of their use. All are words. A last block of fewer filters is
shorter.

    words of a block      0          4          8               24              40
    of two vectors        4 scales   4 biases   4 x vector 0    4 x vector 1    the next block

Where the lanes behind a run's end are zero in the vectors of pixels, any weights may stand there.
So the last vectors of runs may be shorter, of one to four words: their *tail*.

A load of words reaches farther from its pointer than one of bytes, so all of a block have one
pointer, and neighbouring blocks share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_plans.kernels.gathers import BYTES, FOUR

WORD = 4
"""Bytes of a word."""
WORDS = BYTES // WORD
"""The words of a vector."""
REACH = 128
"""A load reaches words that begin less than this behind its pointer."""
FREE = 6
"""The most vectors of pixels that stay in registers: two others become the sums."""
FARTHEST = 16
"""The most vectors of a row, as all of its products are straight code."""


@dataclass(frozen=True)
class RowBlocks:
    """The blocks of the filters of a group, with rows of some `vectors`.

    `biases` and `scales`: whether a block has them. `runs`: the runs of a row. Each has as many
    vectors, and its last one has `tail` words.
    """

    vectors: int
    filters: int
    biases: bool
    scales: bool
    runs: int = 1
    tail: int = WORDS

    @property
    def head(self) -> int:
        """The words of a filter in front of the rows of its block."""
        return self.biases + self.scales

    def in_front(self, vector: int) -> int:
        """The words of a filter's row in front of a vector."""
        runs, rest = divmod(vector, self.vectors // self.runs)
        return runs * self.run + rest * WORDS

    @property
    def run(self) -> int:
        """The words of a filter's run."""
        return (self.vectors // self.runs - 1) * WORDS + self.tail

    @property
    def row(self) -> int:
        """The words of a filter's row."""
        return self.runs * self.run

    @property
    def pitch(self) -> int:
        """The words from a block to the next one."""
        return FOUR * (self.head + self.row)

    @property
    def size(self) -> int:
        """The words of all blocks of a group."""
        return self.filters * (self.head + self.row)

    @property
    def behind(self) -> int:
        """The words behind all blocks that a load of the last vector reads."""
        return WORDS - self.tail

    @property
    def near(self) -> int:
        """How many neighbouring blocks share a pointer."""
        return max(1, REACH // self.pitch)

    def stays(self, pixels: int, kept: int) -> bool:
        """Whether the vectors of some pixels, and others that are kept, stay in registers."""
        return pixels * self.vectors + kept <= FREE

    def biased(self, filters: int, pixels: int, *, packed: bool) -> bool:
        """Whether the products of a block begin with first values.

        They take a register beside all vectors of some pixels.
        """
        room = packed or pixels * self.vectors < FREE
        return self.biases and filters == FOUR and room

    def table(
        self, weights: NDArray[np.int8], biases: NDArray[Any], scales: NDArray[np.float32]
    ) -> NDArray[np.int32]:
        """The words of all blocks of all groups, and those `behind` them.

        `weights` are [filters, bytes]. Bytes behind a tail are left out.
        """
        rows = np.zeros((len(weights), self.vectors * BYTES), np.int8)
        rows[:, : weights.shape[1]] = weights
        found: list[NDArray[np.int32]] = []
        for first in range(0, len(weights), self.filters):
            for start in range(0, self.filters, FOUR):
                block = slice(first + start, first + min(start + FOUR, self.filters))
                if self.scales:
                    found.append(scales[block].astype("<f4").view("<i4"))
                if self.biases:
                    found.append(biases[block].astype(np.int32))
                own = rows[block].reshape(-1, self.vectors, BYTES).transpose(1, 0, 2)
                own = np.ascontiguousarray(own).view("<i4")
                found += [each[:, : self.words(v)].ravel() for v, each in enumerate(own)]
        return np.pad(np.concatenate(found).astype(np.int32), (0, self.behind))

    def words(self, vector: int) -> int:
        """The words of each filter for a vector of its row."""
        ends = (vector + 1) % (self.vectors // self.runs) == 0
        return self.tail if ends else WORDS
