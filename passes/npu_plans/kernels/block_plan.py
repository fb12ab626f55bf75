"""Plans dense layers whose windows are runs of bytes, in blocks of two pixels by four filters.

    a window of 3x3 and 16 channels     row 0    3 vectors     its weights     3 x 4 vectors
                                        row 1    3 vectors                     3 x 4 vectors
                                        row 2    3 vectors                     3 x 4 vectors

A kernel row is a run of neighbouring bytes in the map. All rows of a block are one piece of
assembly, in which each vector of a window is loaded once. A window of one row is cut into *parts*
of equal length, which take the places of rows. No IR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.gathers import BYTES, FOUR
from npu_plans.kernels.packing import PAIR

LONGEST = 16
"""The most vectors of a run, as all of its products are straight code."""
PARTS = range(3, 13)
"""The vectors of a part of a long run: few take many loops, many take much code."""
FARTHEST = 4096
"""A row of the map is less than these bytes from the next one."""
SHARED = 4
"""The most vectors between two windows that share loads."""
MOST_SKIPPED = 7
"""The most vectors of a kernel row that padding cuts: a load of words skips them."""
MOST_BORDERS = 4
"""The most columns of a row with code of their own."""
ROW, STORED = 3, 24
"""Instructions of a block for each row of a window, and for its ends, with what stores it."""


@dataclass(frozen=True)
class Part:
    """What a window has of the runs of its row: from which vector on, and how many bytes.

    Its first `lead` bytes lie on padding; then the others are whole vectors.
    """

    vector: int
    bytes: int
    lead: int = 0


@dataclass(frozen=True)
class BlockPlan:
    """The windows of a layer over `channels` bytes of each pixel.

    A pixel is `pixel` bytes behind the one before, and a row `line` bytes behind the row before.
    `pool`: the axes of pooling windows.
    """

    rows: Axis
    columns: Axis
    channels: int
    pixel: int
    line: int
    pool: tuple[Axis, Axis] | None = None

    @property
    def run(self) -> int:
        """The bytes of a whole kernel row."""
        return self.columns.kernel * self.channels

    @property
    def whole(self) -> int:
        """The vectors of a kernel row."""
        return -(-self.run // BYTES)

    @cached_property
    def parts(self) -> int:
        """In how many parts a kernel row is multiplied, one if there are several rows."""
        if self.rows.kernel > 1 or self.whole < PARTS.stop or self.run % BYTES:
            return 1
        fitting = (n for n in range(2, self.whole) if self.whole % n == 0)
        return next((n for n in fitting if self.whole // n in PARTS), 1)

    @property
    def vectors(self) -> int:
        """The vectors of a row of the table: a kernel row, or a part of it."""
        return self.whole // self.parts

    @property
    def down(self) -> int:
        """Bytes from a row of a window to the next one."""
        if self.parts > 1:
            return self.vectors * BYTES
        return self.rows.dilation * self.line

    @property
    def borders(self) -> list[int]:
        """The columns of outputs whose windows padding cuts."""
        low, high = self.columns.interior()
        return [each for each in range(self.columns.outputs) if not low <= each < high]

    @property
    def fits(self) -> bool:
        """Whether the kernel takes the windows, each of which must lie on the map in part."""
        close = self.columns.kernel == 1 or self.columns.dilation * self.pixel == self.channels
        if not close or self.vectors > LONGEST:
            return False
        if self.rows.kernel > 1 and self.down >= FARTHEST:
            return False
        axes = self.rows, self.columns
        taps = (axis.taps(each) for axis in axes for each in range(axis.outputs))
        return all(low < high for low, high in taps) and self.fits_borders()

    def fits_borders(self) -> bool:
        """Whether all windows that padding cuts have code of their own.

        If padding cuts no whole vectors at the left, whole vectors are read from there on.
        """
        if len(self.borders) > MOST_BORDERS:
            return False
        line = self.columns.size * self.pixel
        for column in self.borders:
            part, high = self.part(column), self.columns.taps(column)[1]
            if part.lead and (high < self.columns.kernel or part.bytes - part.lead > line):
                return False
            if self.vectors - -(-part.bytes // BYTES) > MOST_SKIPPED:
                return False
        return True

    def part(self, column: int) -> Part:
        """What a window of some column has of its runs."""
        low, high = self.columns.taps(column)
        vector, lead = divmod(low * self.channels, BYTES)
        if lead:
            return Part(vector, (self.vectors - vector) * BYTES, lead)
        return Part(vector, (high - low) * self.channels // self.parts)

    # -- what it takes ---------------------------------------------------------------------------

    def block(self, bytes_: int, pixels: int) -> int:
        """The instructions of some pixels and four filters whose runs have so many bytes."""
        vectors = -(-bytes_ // BYTES)
        apart, rest = divmod(self.columns.stride * self.pixel, BYTES)
        shared = apart if rest == 0 and apart <= min(SHARED, vectors - 1) else vectors
        loads = vectors + (shared if pixels == PAIR else 0)
        products = vectors * FOUR * (1 + pixels)
        return self.rows.kernel * self.parts * (products + loads + ROW) + STORED

    @property
    def total(self) -> float:
        """The instructions of an output, on average. There is no pool."""
        low, high = self.interior
        pairs = (high - low) // PAIR
        sizes = [self.part(each).bytes for each in self.borders]
        sizes += [self.run // self.parts] * ((high - low) % PAIR)
        alone = sum(self.block(each, 1) for each in sizes)
        together = pairs * self.block(self.run // self.parts, PAIR)
        return (together + alone) / (FOUR * self.columns.outputs)

    # -- the outputs of a row --------------------------------------------------------------------

    def pixels(self, column: int) -> list[int]:
        """The columns that an output of a row is computed from: its own, or those of its pool.

        Those with the shortest runs come first.
        """
        if self.pool is None:
            return [column]
        axis = self.pool[1]
        low, high = axis.taps(column)
        found = (axis.start(column) + tap * axis.dilation for tap in range(low, high))
        return sorted(found, key=self.size)

    def size(self, column: int) -> tuple[int, int]:
        """The bytes of a window's runs, and those of them on padding."""
        part = self.part(column)
        return part.bytes, part.lead

    def twins(self, columns: Sequence[int]) -> list[tuple[int, ...]]:
        """Some outputs of a row, two and two whose runs are equally long: they share their code."""
        alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for column in columns:
            runs = tuple(map(self.size, self.pixels(column)))
            alike.setdefault(runs, []).append(column)
        return [
            tuple(found[first : first + PAIR])
            for found in alike.values()
            for first in range(0, len(found), PAIR)
        ]

    @property
    def interior(self) -> tuple[int, int]:
        """The outputs of a row whose columns no padding cuts, a half-open range."""
        span = interior(self.columns, None if self.pool is None else self.pool[1])
        return (0, 0) if span.empty else (span.low, span.high)
