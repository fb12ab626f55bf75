"""Plans dense layers whose windows are runs of bytes, in blocks of two pixels by four filters.

    a window of 3x3 and 16 channels     row 0    3 vectors     its weights     3 x 4 vectors
                                        row 1    3 vectors                     3 x 4 vectors
                                        row 2    3 vectors                     3 x 4 vectors

A kernel row is a run of neighbouring bytes in the map, or one for each tap where these lie apart,
as in groups and with dilation. All rows of a block are one piece of assembly, in which each vector
of a window is loaded once. A long run of one row is cut into *parts* of equal length, which take
the places of rows. No IR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.gathers import BYTES, FOUR
from npu_plans.kernels.packing import PAIR
from npu_plans.kernels.row_blocks import WORD, WORDS
from npu_plans.kernels.sixteen_plan import is_worth

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
MOST_BORDERS = 5
"""The most pieces of code of a row besides that of pairs."""
STRAIGHT = 16
"""The most filters of a pair of pixels in straight-line code."""
SAVED, BLOCK = 1.5, 300
"""Instructions that an output saves in such code where it is folded into windows of a pool, which
are then found once for all filters; and bytes of code of a block, about."""
ROW, STORED = 3, 24
"""Instructions of a block for each row of a window, and for its ends, with what stores it."""


@dataclass(frozen=True)
class Part:
    """What a window has of the runs of its row: from which vector on, and the bytes of each.

    `skipped`: the bytes from the place of its first tap to the first one on the map. `lead`: the
    bytes of the first vector that lie on padding; then the others are whole vectors. `taps`: the
    number of runs. `parts`: in how many parts of so many bytes one run is multiplied.
    """

    vector: int
    bytes: int
    skipped: int = 0
    lead: int = 0
    taps: int = 1
    parts: int = 1

    @property
    def vectors(self) -> int:
        """The vectors of all runs, or of all parts of one."""
        return self.taps * self.parts * -(-self.bytes // BYTES)


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

    @cached_property
    def taps(self) -> int:
        """The runs of a kernel row: one, or that of each tap."""
        close = self.columns.kernel == 1 or self.across == self.channels
        return 1 if close else self.columns.kernel

    @property
    def across(self) -> int:
        """Bytes from a tap to the next one."""
        return self.columns.dilation * self.pixel

    @property
    def run(self) -> int:
        """The bytes of a whole run."""
        return self.columns.kernel * self.channels // self.taps

    @property
    def whole(self) -> int:
        """The vectors of a kernel row."""
        return self.taps * -(-self.run // BYTES)

    @cached_property
    def parts(self) -> int:
        """In how many parts a kernel row is multiplied, one if there are several rows or runs."""
        several = self.rows.kernel > 1 or self.taps > 1
        return 1 if several else parts_of(self.run)

    @property
    def vectors(self) -> int:
        """The vectors of a row of the table: a kernel row, or a part of it."""
        return self.whole // self.parts

    @property
    def near(self) -> int | None:
        """The vectors from a pixel to its neighbour, if the loads of one may serve both."""
        apart, rest = divmod(self.columns.stride * self.pixel, BYTES)
        return apart if self.taps == 1 and rest == 0 and apart <= SHARED else None

    @property
    def tail(self) -> int:
        """The words of the last vector of a run, if all others of its lanes are zero.

        So no pair may share loads, and no window may read a whole vector behind a lead.
        """
        parts = map(self.part, self.borders)
        if self.near is not None or any(part.lead for part in parts):
            return WORDS
        return -(-self.run // WORD) % WORDS or WORDS

    @property
    def down(self) -> int:
        """Bytes from a row of a window to the next one."""
        return self.rows.dilation * self.line

    @property
    def borders(self) -> list[int]:
        """The columns of outputs whose windows padding cuts."""
        low, high = self.columns.interior()
        return [each for each in range(self.columns.outputs) if not low <= each < high]

    @property
    def fits(self) -> bool:
        """Whether the kernel takes the windows, each of which must lie on the map in part."""
        far = self.rows.kernel > 1 and self.down >= FARTHEST
        if far or self.vectors > LONGEST or (self.taps > 1 and self.across >= FARTHEST):
            return False
        axes = self.rows, self.columns
        taps = (axis.taps(each) for axis in axes for each in range(axis.outputs))
        return all(low < high for low, high in taps) and self.fits_borders()

    def fits_borders(self) -> bool:
        """Whether all windows that padding cuts have code of their own.

        If padding cuts no whole vectors at the left, whole vectors are read from there on.
        """
        line = self.columns.size * self.pixel
        for column in self.borders:
            part, high = self.part(column), self.columns.taps(column)[1]
            if part.lead and (high < self.columns.kernel or part.bytes - part.lead > line):
                return False
            if part.vectors > LONGEST * part.parts:
                return False
            if self.parts == 1 and self.whole - part.vectors > MOST_SKIPPED:
                return False
        return len(self.singles) <= MOST_BORDERS

    def part(self, column: int) -> Part:
        """What a window of some column has of its runs."""
        low, high = self.columns.taps(column)
        if self.taps > 1:
            vectors = low * self.vectors // self.taps
            return Part(vectors, self.run, low * self.across, taps=high - low)
        skipped = low * self.channels
        vector, lead = divmod(skipped, BYTES)
        if lead:
            return Part(vector, (self.whole - vector) * BYTES, skipped, lead)
        run = (high - low) * self.channels
        parts = 1 if self.parts == 1 else parts_of(run)
        return Part(vector, run // parts, skipped, parts=parts)

    def ends(self, part: Part) -> bool:
        """Whether the last vectors of a window's runs are those of whole ones."""
        vectors = self.whole // self.taps
        return (part.vector + part.vectors // part.taps) % vectors == 0

    # -- what it takes ---------------------------------------------------------------------------

    def block(self, part: Part, pixels: int) -> int:
        """The instructions of some pixels and four filters that have a part of their runs."""
        vectors = part.vectors // part.parts
        apart = self.near if self.near is not None and self.near < vectors else vectors
        loads = vectors + (apart if pixels == PAIR else 0)
        more = part.taps * (part.bytes % BYTES > 0 or part.lead > 0)
        products = vectors * FOUR * (1 + pixels)
        return self.rows.kernel * part.parts * (products + loads + more + ROW) + STORED

    @property
    def whole_part(self) -> Part:
        """What a window has that padding does not cut."""
        return Part(0, self.run // self.parts, taps=self.taps, parts=self.parts)

    @property
    def total(self) -> float:
        """The instructions of an output, on average. There is no pool."""
        low, high = self.interior
        pairs, single = divmod(high - low, PAIR)
        alone = sum(self.block(self.part(each), 1) for each in self.borders)
        alone += single * self.block(self.whole_part, 1)
        together = pairs * self.block(self.whole_part, PAIR)
        return (together + alone) / (FOUR * self.columns.outputs)

    def is_straight(self, filters: int, times: int) -> bool:
        """Whether all filters of a pair of pixels have straight-line code if they are folded.

        `times`: how often the layer runs.
        """
        outputs = times * self.rows.outputs * self.columns.outputs * filters
        more = BLOCK * (-(-filters // FOUR) - 1)
        return filters <= STRAIGHT and is_worth(SAVED * outputs, more)

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

    def size(self, column: int) -> tuple[int, int, int]:
        """The runs of a window, the bytes of each, and those of them on padding."""
        part = self.part(column)
        return part.taps, part.parts * part.bytes, part.lead

    @property
    def pairs(self) -> range:
        """The outputs that are computed in loops: two at a time, or a pooled one."""
        low, high = self.interior
        step = PAIR if self.pool is None else 1
        return range(low, low + (high - low) // step * step, step)

    @cached_property
    def singles(self) -> list[tuple[int, ...]]:
        """All other outputs of a row: see `twins`."""
        total = (self.columns if self.pool is None else self.pool[1]).outputs
        return self.twins([*range(self.pairs.start), *range(self.pairs.stop, total)])

    def twins(self, columns: Sequence[int]) -> list[tuple[int, ...]]:
        """Some outputs of a row, two and two whose runs are equally long: they share their code."""
        alike: dict[tuple[tuple[int, int, int], ...], list[int]] = {}
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


def parts_of(run: int) -> int:
    """In how many parts of whole vectors the run of a kernel's only row is multiplied."""
    vectors, rest = divmod(run, BYTES)
    if rest or vectors < PARTS.stop:
        return 1
    fitting = (n for n in range(2, vectors) if vectors % n == 0)
    return next((n for n in fitting if vectors // n in PARTS), 1)
