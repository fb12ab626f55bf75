"""Which windows of a dense layer load whole vectors, also behind the end of their runs. No IR.

A kernel row is a run of neighbouring bytes. If 16 does not divide it, its last load reads less, and
takes three instructions on a vector unit instead of one. It may read on where the row of the map
goes on, if the weights behind the run are zero:

    bytes of a row of the map    0 1 2 3 4 5 ... 24     runs of 9 bytes that move by 3
    window 0                     x x x x x x x x x . . . . . . .
    window 1                           x x x x x x x x x . . . . . . .
    the last windows                                              x x x x x x x x x|  nothing behind
"""

from __future__ import annotations

from dataclasses import dataclass

from npu_dialect.windows import Axis
from npu_plans.kernels.sixteen_plan import is_worth

BYTES = 16
"""Bytes of a load."""
LOST = 34
"""Instructions of an output more that is computed alone, not beside its neighbour."""


@dataclass(frozen=True)
class LongRuns:
    """The runs of a layer: `run` bytes for each kernel row.

    `columns` is the axis of windows. A pixel is `pixel` bytes behind the one before; of its
    `channels` bytes a group reads some, from byte `first` on in the last group.
    """

    run: int
    columns: Axis
    pixel: int
    channels: int
    first: int = 0

    @property
    def padding(self) -> int:
        """The bytes that a run lacks of whole loads."""
        return -self.run % BYTES

    @property
    def safe(self) -> int:
        """The first column of outputs whose last load would read behind the row of the map.

        That is, of those that no padding cuts, in front of the row's end.
        """
        end = (self.columns.size - 1) * self.pixel + self.channels
        last = end - self.first - self.run - self.padding
        if last < 0:
            return 0
        return (last // self.pixel + self.columns.before) // self.columns.stride + 1

    def pays(self, kernel_rows: int, windows: int) -> bool:
        """Whether zeros behind each run are worth their flash, with so many windows a filter.

        Two pixels by two filters load two runs, so each of the four outputs saves an instruction
        for each kernel row. Outputs near the end of a row are computed one by one instead.
        """
        low, high = self.columns.interior()
        inner = max(0, min(high, self.safe) - low)
        saved = kernel_rows * inner - LOST * (high - low - inner)
        rows = windows / self.columns.outputs
        return self.padding > 0 and is_worth(rows * saved, kernel_rows * self.padding)
