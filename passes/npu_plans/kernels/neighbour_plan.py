"""Depthwise layers of floats whose lanes are four neighbouring outputs of a row. No IR.

A block is some rows by four columns of outputs of a channel. An element of the map, with its three
neighbours, is loaded once for all rows of the block that it is multiplied for. A weight is a number
for all lanes. What lies on padding counts as zero in a lane; rows of taps on padding are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import Span, interior
from npu_plans.kernels.vector_plan import LANES, MOST_PIXELS, PIXELS, Strip, vector_block

MOST_TAPS = 9
"""The most taps of a window. Their weights are in core registers."""
MOST_ROWS = 4
"""The most rows of outputs in a block."""
OUTPUT = 4
"""Instructions of a vector of outputs besides its products: first value, bound, and store."""
BLOCK = 5
"""Instructions of a block besides: its share of loops and addresses."""
FIRST = 2
"""Instructions of an access to fewer than four elements, besides the access."""
MOVE = 3
"""Instructions that move the lanes of a vector up by one."""
CHANNEL = 12
"""Instructions of a channel besides: its weights, its bias and its loop."""
STRIP = 14
"""Instructions of a strip of outputs of four channels besides: loops, addresses, registers."""
CUT = 8
"""Instructions of a kernel row in the loops of a strip whose rows padding cuts."""
LOAD = 1.5
"""Instructions of a load; some take an addition for their address."""
GATHER = 2
"""Instructions of a load of elements that lie apart."""


@dataclass(frozen=True)
class Reach:
    """What the lanes of a strip read for a tap.

    `place`: the element of the first lane that is on the map, counted from the start of the map, or
    of the first window if its column is not known; `lead`: the lanes on padding before it; `count`:
    elements that are loaded from there, at most four. Behind them are zeros.
    """

    tap: int
    place: int
    lead: int
    count: int

    @staticmethod
    def of(axis: Axis, column: int | None, width: int) -> list[Reach]:
        """The taps of `width` outputs from a column on; those that all lie on padding are none."""
        found: list[Reach] = []
        for tap in range(axis.kernel):
            offset = tap * axis.dilation
            if column is None:
                found.append(Reach(tap, offset, 0, LANES))
                continue
            first = axis.start(column) + offset
            lead = max(0, -(first // axis.stride))
            place = first + lead * axis.stride
            count = min(LANES, -(-(axis.size - place) // axis.stride))
            if lead < width and count > 0:
                found.append(Reach(tap, place, lead, count))
        return found


@dataclass(frozen=True)
class Run:
    """Strips of `width` outputs from `first` on; the columns, or rows, of one strip are known."""

    first: int
    width: int
    count: int

    @property
    def known(self) -> int | None:
        """The place of the only strip; None if there are several."""
        return self.first if self.count == 1 else None


def runs(span: Span, width: int, *, again: bool = False) -> list[Run]:
    """How outputs are visited: strips that padding cuts one by one, the others in a loop.

    `again`: a last strip that would have fewer outputs computes some of those before it again.
    """
    low, high = (span.low, span.high) if not span.empty else (span.total,) * 2
    first = min(-(-low // width) * width, span.total)
    even = first + max(0, high - first) // width * width
    found = [Run(at, min(width, span.total - at), 1) for at in range(0, first, width)]
    if even > first:
        found.append(Run(first, width, (even - first) // width))
    found += [Run(at, min(width, span.total - at), 1) for at in range(even, span.total, width)]
    if again and width <= span.total and found[-1].width < width:
        found[-1] = Run(span.total - width, width, 1)
    return found


@dataclass(frozen=True)
class NeighbourPlan:
    """How the outputs of a channel are computed, in blocks of `height` rows.

    `again`: outputs may be computed twice, as nothing that they need is overwritten by them.
    """

    rows: Axis
    columns: Axis
    height: int
    again: bool = True

    @staticmethod
    def of(
        rows: Axis, columns: Axis, filters: int = 1, *, by_rows: bool, again: bool
    ) -> NeighbourPlan | None:
        """The plan with the fewest instructions, if that is fewer than another form takes.

        That has four channels in lanes, or if a channel has several `filters`, these.
        `by_rows`: outputs are computed row by row, for all channels.
        """
        if rows.kernel * columns.kernel > MOST_TAPS:
            return None
        most = 1 if by_rows else min(MOST_ROWS, rows.outputs)
        plans = [NeighbourPlan(rows, columns, height, again) for height in range(1, most + 1)]
        best = min(plans, key=lambda plan: plan.instructions, default=None)
        if best is None:
            return None
        shares = rows.outputs if by_rows else 1
        taken = best.instructions + shares * CHANNEL
        other = channels_in_lanes(rows, columns)
        if filters > 1:
            other = filters_in_lanes(rows, columns, filters)
        return best if taken < other else None

    @property
    def lines(self) -> list[Run]:
        """The blocks of rows."""
        return runs(interior(self.rows, None), self.height)

    @property
    def strips(self) -> list[Run]:
        """The strips of columns of a block."""
        return runs(interior(self.columns, None), LANES, again=self.again)

    @cached_property
    def instructions(self) -> float:
        """The instructions of a channel."""
        return sum(
            line.count * strip.count * self.block(line, strip)
            for line in self.lines
            for strip in self.strips
        )

    def block(self, line: Run, strip: Run) -> float:
        """The instructions of a block."""
        reads = Strip.of(self.rows, line.known, range(line.width)).reads()
        reaches = Reach.of(self.columns, strip.known, strip.width)
        loads = {(each.place, each.count) for each in reaches}
        load = LOAD if self.columns.stride == 1 else GATHER
        some = sum(load + FIRST * (count < LANES) for _, count in loads)
        some += sum(MOVE * each.lead for each in reaches)
        outputs = line.width * (OUTPUT + FIRST * (strip.width < LANES))
        read = len({place for place, _, _ in reads})
        return read * some + len(reads) * len(reaches) + outputs + BLOCK


def filters_in_lanes(rows: Axis, columns: Axis, filters: int) -> float:
    """The instructions of a filter if the filters of a channel are in lanes."""
    taps = rows.kernel * columns.kernel
    width = max(1, columns.outputs)
    work = vector_block(filters, width).instructions(filters, width)
    vectors = -(-filters // LANES)
    return rows.outputs * (taps * work + width * vectors * OUTPUT) / filters


def channels_in_lanes(rows: Axis, columns: Axis) -> float:
    """The instructions of a channel if four channels are in lanes, and lie apart."""
    width = columns.outputs if columns.outputs <= MOST_PIXELS else PIXELS
    span = interior(rows, None)
    cut = span.total - (span.high - span.low)
    total = cut * rows.kernel * CUT * -(-columns.outputs // width)
    for line in runs(span, 1):
        kernel = len(Strip.of(rows, line.known, range(1)).reads())
        for each in runs(interior(columns, None), width):
            strip = Strip.of(columns, each.known, range(each.width))
            one = GATHER * strip.reach + columns.kernel + len(strip.reads())
            outputs = each.width * (OUTPUT + 1) + STRIP
            total += line.count * each.count * (kernel * one + outputs)
    return total / LANES
