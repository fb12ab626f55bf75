"""What an output of a dense layer takes on a vector unit whose loads are runs of bytes. No IR.

    the run of a kernel row   two instructions for each 16 bytes: two pixels by two filters take
                              four loads and four products
    a window at a border      its pixel is alone, and its taps are runs of their own

The counts are about right for what gcc makes. They choose between kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.gathers import BYTES

SHARED, ALONE = 2.0, 2.5
"""Instructions of an output for a vector of its run, beside another pixel or without one."""
PARTIAL = 1.0
"""Instructions more of an output whose last load reads less than a vector."""
POINTERS = 1.0
"""Instructions of an output for the pointers of a run."""
STORED = 2.0
"""Instructions that requantise and store an output."""
LOOPS = 10.0
"""Instructions of an output more for the loops over taps at a border."""


@dataclass(frozen=True)
class RunCost:
    """The windows of a layer, of which `channels` are read; `close`: a kernel row is one run."""

    rows: Axis
    columns: Axis
    channels: int
    close: bool

    @property
    def inner(self) -> float:
        """The instructions of an output whose columns no padding cuts, beside another one."""
        runs, taps = self.rows.kernel, self.columns.kernel
        if not self.close:
            runs, taps = runs * taps, 1
        vectors, partial = -(-taps * self.channels // BYTES), taps * self.channels % BYTES > 0
        return runs * (SHARED * vectors + PARTIAL * partial + POINTERS) + STORED

    @property
    def alone(self) -> float:
        """The instructions of any output."""
        vectors, partial = -(-self.channels // BYTES), self.channels % BYTES > 0
        run = ALONE * vectors + (PARTIAL + POINTERS / 2) * partial
        return self.rows.kernel * self.columns.kernel * run + LOOPS

    @property
    def total(self) -> float:
        """The instructions of an output, on average."""
        span = interior(self.columns, None)
        inner = 0 if span.empty else (span.high - span.low) // 2 * 2
        share = inner / self.columns.outputs
        return share * self.inner + (1 - share) * self.alone
