"""Plans how the vectors of a long run of bytes are loaded on a vector unit. No IR.

A load of a vector reaches 127 bytes from its pointer, in either direction. So a long run has
*chunks*, and in each of them a pixel and a filter have a pointer of their own.

Two neighbouring pixels often share bytes: the run of the second one begins some vectors behind that
of the first one. Then both have one pointer, and a vector that both need is loaded once:

    3x3, 16 channels: a kernel row is three vectors     pixel 0    0  1  2
                                                        pixel 1       1  2  3
"""

from __future__ import annotations

from dataclasses import dataclass

from npu_plans.kernels.gathers import BYTES

REACH = 240
"""The most bytes whose vectors have one pointer, which points into the middle of them."""
MOST_SHARED = 2 * BYTES
"""The farthest run of a second pixel whose vectors are shared: the vectors between stay in
registers."""


@dataclass(frozen=True)
class Chunks:
    """The chunks of a run of `length` bytes, a multiple of 16.

    `apart`: the bytes from a pixel to the next one that is computed beside it; 0 if there is none.
    """

    length: int
    apart: int

    @property
    def shared(self) -> int:
        """The bytes from a pixel to the next one if these share vectors, else 0."""
        near = self.apart % BYTES == 0 and self.apart <= MOST_SHARED
        return self.apart if near and self.apart < self.length else 0

    @property
    def size(self) -> int:
        """The bytes of a chunk."""
        return REACH - self.shared

    @property
    def whole(self) -> int:
        """The bytes of all whole chunks."""
        return self.length // self.size * self.size
