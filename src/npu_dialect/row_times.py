"""When each row of each map of a region of layers is computed, and how many rows must be kept.

A region runs in steps t. A map has a period and a delay: its row s is computed in step
`s * period + delay`. In one step, the layers run in the order of the region. So a layer may read
what a layer before it computes in the same step.

    %0 = conv 3x3 of the input    period 1, delay 0     row 5 in step 5
    %1 = conv 3x3, pad 1, of %0   period 1, delay 1     row 4 in step 5: it needs row 5 of %0
    %2 = sum of %1 and %0         period 1, delay 1     row 4 in step 5
    %3 = conv 3x3, stride 2       period 2, delay 3     row 1 in step 5: it needs rows 2 to 4 of %2

The rows of a map between layers lie in a ring. Before a new row is put at its end, the others move
up by one, and the oldest one is lost. So a ring of n rows holds the n last rows: those above and
below the map too, which its readers take as padding. A reader finds its rows at the same place of
the ring in each step, if its own period is a multiple of the map's.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowTime:
    """The steps in which the rows of a map are computed: row s in step `s * period + delay`."""

    period: int
    delay: int

    def step(self, row: int) -> int:
        """The step in which a row is computed."""
        return row * self.period + self.delay

    def last(self, step: int) -> int:
        """The last row that is computed in a step or before; below 0 if there is none."""
        return (step - self.delay) // self.period


@dataclass(frozen=True)
class RowRead:
    """How a layer reads a map of `height` rows.

    Its row q needs the `reach` rows from `q * stride - before` on. Rows outside of the map are
    padding.
    """

    height: int
    reach: int = 1
    stride: int = 1
    before: int = 0

    def first(self, row: int) -> int:
        """The first row that a row of the reader needs; below 0 for padding."""
        return row * self.stride - self.before

    def end(self, row: int) -> int:
        """The row behind the last one that a row of the reader needs."""
        return self.first(row) + self.reach

    def padding(self, rows: int) -> tuple[int, int]:
        """How many rows of padding a reader of so many rows needs above and below the map."""
        return max(self.before, 0), max(self.end(rows - 1) - self.height, 0)

    def top(self, rows: int) -> int:
        """How many rows of a reader of so many rows need rows of padding above the map."""
        return min(rows, max(0, -(-self.before // self.stride)))


def period_of(read: RowRead, source: RowTime) -> int:
    """The period of a reader: it computes a row for each `stride` rows of the map."""
    return source.period * read.stride


def least_delay(read: RowRead, source: RowTime) -> int:
    """The least delay of a reader, so that the rows that it needs are there.

    Rows of padding are put into the ring as other rows are, so they count too.
    """
    return source.step(read.end(0) - 1)


def ring_rows(read: RowRead, source: RowTime, reader: RowTime) -> int:
    """The rows of the ring of a map that a reader needs: from its first one to the newest one."""
    return source.last(reader.delay) - read.first(0) + 1


def place_in_ring(read: RowRead, source: RowTime, reader: RowTime, ring: int) -> int:
    """The place in a ring of the first row that a reader needs; it is the same in each step."""
    return ring - ring_rows(read, source, reader)


def late_rows(read: RowRead, source: RowTime, reader: RowTime, ring: int, rows: int) -> int:
    """How many rows at the top of a reader of so many rows can wait for the first row below them.

    Those are all that need padding above the map, if its ring still has the map's first row then.
    """
    top = read.top(rows)
    return top if top < rows and source.last(reader.step(top)) < ring else 0
