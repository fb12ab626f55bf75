"""Builds one row of a map in a region of `npu.rows`: the layer that computes it, and where it goes.

A part of `npu-bufferize`; `expand_regions.py` says in which steps of which loop. A row is known by
an index, and the rows that it can be at that place by a range. What follows from these is no choice
in the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from npu_dialect.attributes import RING, ROW_TIME, RUNS, TOP_ROWS
from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, PoolOp
from npu_dialect.npu.row_regions import RegionMap
from npu_dialect.npu.row_windows import reads_row
from npu_dialect.npu.rows import RowsOp
from npu_dialect.row_times import RowRead, place_in_ring
from npu_dialect.windows import Axis
from npu_passes.buffers.expand_rows import MAPS_IN, MAPS_OUT, is_fetched
from npu_passes.buffers.row_buffers import copy, fill, move, move_up, rows_of
from npu_passes.buffers.row_cases import Case, cases_of, choose_case
from npu_passes.buffers.spaces import Spaces
from npu_passes.graph.use_flash import flash_of
from npu_passes.support.loop_builder import Index, LoopBuilder


@dataclass(frozen=True)
class RegionRows:
    """Builds the rows of one region, from buffer `source` to buffer `out`.

    `maps` are the OFMs of its layers, `reads` the maps that each layer reads row by row. `buffers`
    maps the parameters and further maps to their buffers. `lines` are buffers on chip for one row
    of what lies off chip: further maps, and the output. `rings` are the rings of the maps between
    layers.
    """

    b: LoopBuilder
    op: RowsOp
    source: SSAValue
    out: SSAValue
    maps: Mapping[SSAValue, RegionMap]
    reads: Mapping[LayerOp, Mapping[SSAValue, RowRead]]
    buffers: Mapping[SSAValue, SSAValue]
    spaces: Spaces
    lines: dict[SSAValue, SSAValue]
    rings: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @property
    def fetches(self) -> bool:
        """Whether the rows of the input are fetched from off chip."""
        return is_fetched(self.source, self.spaces)

    @property
    def result(self) -> SSAValue:
        """The map that the region yields."""
        return list(self.maps)[-1]

    def decide(
        self,
        row: Index,
        rows: range,
        low: int,
        high: int,
        then: Callable[[], tuple[()]],
        otherwise: Callable[[], tuple[()]] | None = None,
    ) -> None:
        """Build `then` for rows from `low` to `high`, else `otherwise`; `rows` are all there are.

        A choice is only built if it is not known.
        """
        known = rows if not isinstance(row, int) else range(row, row + 1)
        inside = [low <= each < high for each in (known[0], known[-1])]
        if all(inside):
            then()
        elif known[-1] < low or high <= known[0]:
            if otherwise is not None:
                otherwise()
        else:
            self.b.choose(self.b.between(self.b.value(row), low, high), then, otherwise)

    def put(self, group: Sequence[SSAValue], row: Index, rows: range) -> None:
        """Put the next row of a map, one of `rows`, into its ring, or into the output."""
        map_ = group[-1]
        found = self.maps[map_]
        if map_ is self.result:
            if found.late:
                self.decide(
                    row, rows, found.late, found.late + 1, lambda: self.put_top(group, found.late)
                )
            self.put_out(group, row, rows)
            return
        target = self.newest(map_, row, rows)

        def inside() -> tuple[()]:
            self.compute(group, row, rows, target)
            return ()

        outside = partial(fill, self.b, target, found.pad)
        self.decide(row, rows, 0, found.computed, inside, outside)

    def put_top(self, group: Sequence[SSAValue], late: int) -> tuple[()]:
        """Put the rows of the result into the output that have waited."""
        for row in range(late):
            self.put_out(group, row, range(row, row + 1))
        return ()

    def put_out(self, group: Sequence[SSAValue], row: Index, rows: range) -> None:
        """Put a row of the result into the output."""
        target = rows_of(self.b, self.out, row, 1, "row")
        line = self.lines.get(group[-1])
        self.compute(group, row, rows, line or target)
        if line is not None and is_fetched(self.out, self.spaces):
            self.move(line, target, MAPS_OUT, self.op.layers[-1])
        elif line is not None:
            copy(self.b, line, target)

    def newest(self, map_: SSAValue, row: Index, rows: range) -> SSAValue:
        """Make room for the next row of a map in its ring; returns its place."""
        b, ring, found = self.b, self.rings[map_], self.maps[map_]
        last, unmoved = found.ring - 1, found.unmoved

        def move() -> tuple[()]:
            return move_up(b, ring, 1, last)

        if not unmoved:
            if last:
                move()
            return rows_of(b, ring, last, 1, "newest")
        if found.end > unmoved:
            self.decide(row, rows, unmoved, found.end, move)
        slot = (
            last if rows[0] >= unmoved else b.least(b.add(row, found.ring - unmoved), last, "slot")
        )
        return rows_of(b, ring, slot, 1, "newest")

    def compute(self, group: Sequence[SSAValue], row: Index, rows: range, target: SSAValue) -> None:
        """Compute one row of each map of a group into `target`, one over the other.

        A row of the input is copied or fetched, unless no layer reads it.
        """
        for map_ in group:
            if map_ is not self.op.input:
                assert isinstance(map_.owner, LayerOp)
                self.run(map_.owner, row, rows, target)
                continue
            if self.is_read(range(row, row + 1) if isinstance(row, int) else rows):
                self.bring(rows_of(self.b, self.source, row, 1, "arrived"), target)

    def is_read(self, rows: range) -> bool:
        """Whether a layer reads one of some rows of the input; a stride can leave rows out."""
        reads = [found[self.op.input] for found in self.reads.values() if self.op.input in found]
        return any((row + read.before) % read.stride < read.reach for read in reads for row in rows)

    def bring(self, arrived: SSAValue, target: SSAValue) -> None:
        """Fetch rows of the input, or copy them."""
        if self.fetches:
            self.move(arrived, target, MAPS_IN, self.op.layers[0])
        else:
            copy(self.b, arrived, target)

    def move(self, source: SSAValue, target: SSAValue, channel: int, layer: LayerOp) -> None:
        """Move a row by DMA, for a layer."""
        move(self.b, source, target, self.spaces.channel(channel), layer)

    def run(self, layer: LayerOp, row: Index, rows: range, target: SSAValue) -> None:
        """Insert a layer that computes one row; one of several if it is a row at the border."""
        reads = [
            (read, value in self.rings)
            for value, read in self.reads[layer].items()
            if value is self.op.input or value in self.rings
        ]
        top_rows = TOP_ROWS.is_on(self.op)
        cases = cases_of(self.maps[layer.output], reads, self.cut_axis(layer), top_rows=top_rows)
        runs = {case: sum(each in case.rows for each in rows) for case in cases}
        cases = [case for case in cases if runs[case]]
        choose_case(
            self.b, cases, row, lambda case: self.insert(layer, row, target, case, runs[case])
        )

    def cut_axis(self, layer: LayerOp) -> Axis | None:
        """The windows of a convolution over a ring whose rows of padding need not be multiplied.

        None for other layers, on a machine with DMA, and if flash is short, as it takes code.
        """
        module = self.op.get_toplevel_object()
        if not isinstance(layer, Conv2dOp) or not isinstance(module, ModuleOp):
            return None
        own = layer.input in self.rings and not self.op.is_streamed and not self.spaces.channels
        plain = own and layer.pool is None and layer.accumulate is None
        return layer.axes()[0] if plain and flash_of(module) == "fast" else None

    def insert(
        self,
        layer: LayerOp,
        row: Index,
        target: SSAValue,
        case: Case,
        runs: int,
    ) -> None:
        """Insert the layer on buffers that computes one row `runs` times, in one of its cases."""
        reads = self.reads[layer]
        inputs = [
            self.view(layer, value, row, target, case)
            if value in reads
            else self.side(layer, value, row)
            for value in layer.inputs
        ]
        new = layer.rebuilt(inputs, target)
        if isinstance(new, Conv2dOp | PoolOp):
            _, left, _, right = int_values(new.pads)
            new.pads = int_array((case.above, left, case.below, right))
        RING.drop(new)
        ROW_TIME.drop(new)
        RUNS.set(new, runs)
        self.b.insert(new)

    def view(
        self,
        layer: LayerOp,
        value: SSAValue,
        row: Index,
        target: SSAValue,
        case: Case,
    ) -> SSAValue:
        """The rows of a map that a layer needs in one of its cases."""
        b, read = self.b, self.reads[layer][value]
        if value is self.op.input and self.out is self.source and layer.output is self.result:
            return target
        if value is self.op.input and value not in self.rings:
            count = read.reach - case.above - case.below
            first = b.sub(b.mul(row, read.stride), read.before - case.above, "base") if count else 0
            return rows_of(b, self.source, first, count, "window")
        if value not in self.rings:
            return target
        found, result = self.maps[value], self.maps[layer.output]
        place = place_in_ring(read, found.time, result.time, found.ring)
        top_rows = TOP_ROWS.is_on(self.op)
        if not top_rows and value is not layer.inputs[0]:
            return rows_of(b, self.rings[value], place, read.reach, "window")
        if not top_rows:
            place += case.above
        elif case.above:
            place = found.place_of_first(result.step(case.rows.start))
        left = read.reach - case.above - case.below
        return rows_of(b, self.rings[value], place, left, "window")

    def side(self, layer: LayerOp, value: SSAValue, row: Index) -> SSAValue:
        """A parameter, or what a layer needs of a map from outside of the region."""
        if any(reads_row(layer, streamed, value) for streamed in self.reads[layer]):
            line = rows_of(self.b, self.buffers[value], row, 1, "line")
            if value not in self.lines:
                return line
            self.move(line, self.lines[value], MAPS_IN, layer)
            return self.lines[value]
        return self.buffers[value]
