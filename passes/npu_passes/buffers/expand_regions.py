"""Expand regions of `npu.rows` into one loop over steps, as a part of `npu-bufferize`.

Level of IR: from a graph of layers on tensors to a loop around the same layers on buffers. Each map
between layers has a ring: a buffer for as many of its rows as `npu.ring` says. In a step, each
layer whose turn it is (`npu.row_time`) computes one row. The rows of its ring move up by one, and
the new row is put at the end. So a reader finds its rows at the same place in each step. The first
rows, before any reader needs one, are put behind each other. So a ring fills while the rows of the
input die, and can lie over them.

    npu.rows of %x { %0 = conv %x {ring 4, time 1, 0} ; %1 = conv %0 {ring 0, time 1, 1}
                     %2 = add %1, %0 {time 1, 1} ; yield %2 }
->
    %ring = sram.alloc : memref<1x8x4x32xi8, #npu.sram>          // of %0, filled with its padding
    scf.for %t = 0 to 33 {
      scf.if %t < 32 {
        // move the rows of %ring up by one
        npu.conv2d ins(rows of %x) outs(row 3 of %ring)          // row t of %0
      } else { fill row 3 of %ring with the value of padding }
      scf.if 1 <= %t {
        npu.conv2d ins(rows 1..3 of %ring) outs(row t - 1 of the output)
        npu.add ins(that row, row 2 of %ring) outs(that row)
      }
    }

The region's input is whole. A layer that reads it runs without its padding above and below, except
for the rows at the border, each of which is a layer of its own. With `npu.top_rows`, so do the
layers that read a ring, for the rows at the top: rings start with the first rows of their maps.

If its rows arrive one at a time, they are copied into a ring, as if a layer computed them:

    %ring = sram.alloc : memref<1x3x3x32xi8, #npu.sram>          // of %x, filled with its padding
    %count = sram.alloc {npu.stream_count} : memref<1xi32, #npu.sram>      // 0, and at the end 33
    scf.for %t = 0 to 33 {
      scf.if %t < 32 { copy row %t of %x to row 2 of %ring } else { fill it with padding }
      ...
    } {npu.stream_steps = array<i64: 32, 0>}

`npu-split-stream` cuts the function at that loop; a function for some rows counts them in %count.

On a machine with DMA, parameters that lie off chip are fetched as a whole before the loop. Rows of
an input off chip are fetched into the ring. A row of an output off chip is computed in a buffer of
one row, and sent from there. A row of a further map off chip is fetched when a layer reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from npu_dialect import dma
from npu_dialect.attributes import RING, ROW_TIME, RUNS, TOP_ROWS
from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, PoolOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_regions import RegionMap, region_maps, streams
from npu_dialect.npu.row_windows import reads_row, row_axis
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import provenance
from npu_dialect.row_times import RowRead, place_in_ring
from npu_dialect.stream_attributes import STREAM_STEPS
from npu_passes.buffers.expand_rows import MAPS_IN, MAPS_OUT, fetched, is_fetched
from npu_passes.buffers.row_buffers import copy, fill, move, move_up, rows_buffer, rows_of
from npu_passes.buffers.row_cases import Case, cases_of, choose_case
from npu_passes.buffers.spaces import Spaces
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_passes.support.refuse import refuse


@dataclass(frozen=True)
class RegionExpansion:
    """Builds the loop of one region, from buffer `source` to buffer `out`.

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
    lines: Mapping[SSAValue, SSAValue]
    rings: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def build(self) -> None:
        """Build the rings and the loop."""
        b, (start, stop) = self.b, steps_of(self.maps)
        if self.fetches:
            b.insert(dma.ReadsOp(self.source)).attributes |= provenance(self.op.layers[0])
        elif self.op.is_streamed:  # all rows arrive, needed or not
            arrival = self.maps[self.op.input].time
            stop = max(stop, arrival.step(height_of(self.op.input)))
        if self.result in self.lines:
            b.insert(dma.WritesOp(self.out)).attributes |= provenance(self.op.layers[-1])
        for map_, found in self.maps.items():
            if found.ring:  # of an input too, whose rows arrive one at a time
                hint = map_.name_hint or "ring"
                ring = rows_buffer(b, map_, found.ring, self.spaces.maps, hint)
                self.rings[map_] = ring

        def one_step(step: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.start(step)
            for group in self.groups():
                self.turn(group, step, (start, stop))
            return ()

        b.loop(0, stop - start, one_step, hint="t")
        if self.op.is_streamed and not self.fetches:
            loop, time = self.op.prev_op, self.maps[self.op.input].time
            assert isinstance(loop, scf.ForOp)
            STREAM_STEPS.set(loop, (height_of(self.op.input), time.delay - start))

    def start(self, step: Index) -> None:
        """Fill the rings with padding in the first step, where no row is put at the start."""
        above = {
            map_: found.ring - found.unmoved
            for map_, found in self.maps.items()
            if found.ring > max(1, found.unmoved) or found.above
        }

        def pad() -> tuple[()]:
            for map_, rows in above.items():
                fill(
                    self.b, rows_of(self.b, self.rings[map_], 0, rows, "above"), self.maps[map_].pad
                )
            return ()

        if above:
            self.b.choose(self.b.between(self.b.value(step), 0, 1), pad)

    def groups(self) -> list[list[SSAValue]]:
        """The maps, each behind the maps that it overwrites, in the order of the region."""
        waiting: dict[Operation, list[SSAValue]] = {}
        found: list[list[SSAValue]] = []
        for map_ in self.maps:
            if map_ is self.op.input:
                found += [[map_]] * (map_ in self.rings)
                continue
            assert isinstance(map_.owner, LayerOp)
            group = [*waiting.pop(map_.owner, ()), map_]
            if map_ in self.rings or map_ is self.result:
                found.append(group)
            else:
                (use,) = map_.uses
                waiting[use.operation] = group
        return found

    @property
    def fetches(self) -> bool:
        """Whether the rows of the input are fetched from off chip."""
        return is_fetched(self.source, self.spaces)

    @property
    def result(self) -> SSAValue:
        """The map that the region yields."""
        return list(self.maps)[-1]

    def turn(self, group: Sequence[SSAValue], step: Index, steps: tuple[int, int]) -> None:
        """Compute the next row of a map and of those that it overwrites, if it is their turn."""
        b, found = self.b, self.maps[group[-1]]
        time = found.time
        since = b.sub(step, time.delay - steps[0], "since")
        first, last = found.steps

        def put() -> tuple[()]:
            self.put(group, b.floor_div(since, time.period, "row"))
            return ()

        def at_its_turn() -> tuple[()]:
            if time.period == 1:
                return put()
            b.choose(b.divides(since, time.period), put)
            return ()

        if (first, last + 1) == steps:
            at_its_turn()
        else:
            own = b.between(b.value(since), first - time.delay, last + 1 - time.delay)
            b.choose(own, at_its_turn)

    def put(self, group: Sequence[SSAValue], row: Index) -> None:
        """Put the next row of a map into its ring, or into the output."""
        b, map_ = self.b, group[-1]
        found = self.maps[map_]
        if map_ is self.result:
            if found.late:
                first = b.between(b.value(row), found.late, found.late + 1)
                b.choose(first, lambda: self.put_top(group, found.late))
            self.put_out(group, row)
            return
        target = self.newest(map_, row)
        if found.end <= found.computed:
            self.compute(group, row, target)
            return

        def inside() -> tuple[()]:
            self.compute(group, row, target)
            return ()

        exists = b.between(b.value(row), 0, found.computed)
        b.choose(exists, inside, lambda: fill(b, target, found.pad))

    def put_top(self, group: Sequence[SSAValue], late: int) -> tuple[()]:
        """Put the rows of the result into the output that have waited."""
        for row in range(late):
            self.put_out(group, row)
        return ()

    def put_out(self, group: Sequence[SSAValue], row: Index) -> tuple[()]:
        """Put a row of the result into the output."""
        target = rows_of(self.b, self.out, row, 1, "row")
        self.compute(group, row, self.lines.get(group[-1], target))
        if group[-1] in self.lines:
            self.move(self.lines[group[-1]], target, MAPS_OUT, self.op.layers[-1])
        return ()

    def newest(self, map_: SSAValue, row: Index) -> SSAValue:
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
            b.choose(b.between(b.value(row), unmoved, found.end), move)
        slot = b.least(b.add(row, found.ring - unmoved), last, "slot")
        return rows_of(b, ring, slot, 1, "newest")

    def compute(self, group: Sequence[SSAValue], row: Index, target: SSAValue) -> None:
        """Compute one row of each map of a group into `target`, one over the other.

        A row of the input is copied or fetched.
        """
        for map_ in group:
            if map_ is not self.op.input:
                assert isinstance(map_.owner, LayerOp)
                self.run(map_.owner, row, target)
                continue
            arrived = rows_of(self.b, self.source, row, 1, "arrived")
            if self.fetches:
                self.move(arrived, target, MAPS_IN, self.op.layers[0])
            else:
                copy(self.b, arrived, target)

    def move(self, source: SSAValue, target: SSAValue, channel: int, layer: LayerOp) -> None:
        """Move a row by DMA, for a layer."""
        move(self.b, source, target, self.spaces.channel(channel), layer)

    def run(self, layer: LayerOp, row: Index, target: SSAValue) -> None:
        """Insert a layer that computes one row; one of several if it is a row at the border."""
        reads = [
            (read, value in self.rings)
            for value, read in self.reads[layer].items()
            if value is self.op.input or value in self.rings
        ]
        cases = cases_of(self.maps[layer.output], reads, top_rows=TOP_ROWS.is_on(self.op))
        if self.maps[layer.output].late:
            known = row if isinstance(row, int) else self.maps[layer.output].late
            cases = [case for case in cases if known in case.rows]
        choose_case(self.b, cases, row, lambda case: self.insert(layer, row, target, case))

    def insert(
        self,
        layer: LayerOp,
        row: Index,
        target: SSAValue,
        case: Case,
    ) -> None:
        """Insert the layer on buffers that computes one row, in one of its cases."""
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
        RUNS.set(new, len(case.rows))
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
        if case.above:
            place = found.place_of_first(result.step(case.rows.start))
        return rows_of(b, self.rings[value], place, read.reach - case.above, "window")

    def side(self, layer: LayerOp, value: SSAValue, row: Index) -> SSAValue:
        """A parameter, or what a layer needs of a map from outside of the region."""
        if any(reads_row(layer, streamed, value) for streamed in self.reads[layer]):
            line = rows_of(self.b, self.buffers[value], row, 1, "line")
            if value not in self.lines:
                return line
            self.move(line, self.lines[value], MAPS_IN, layer)
            return self.lines[value]
        return self.buffers[value]


def height_of(value: SSAValue) -> int:
    """How many rows a map has."""
    return shape_of(value)[row_axis(value)]


def steps_of(maps: Mapping[SSAValue, RegionMap]) -> tuple[int, int]:
    """The first step of a region, and the one behind its last."""
    first, last = zip(*(found.steps for found in maps.values()), strict=True)
    return min(first), max(last) + 1


def expand_region(
    op: RowsOp,
    source: SSAValue,
    out: SSAValue,
    buffers: Mapping[SSAValue, SSAValue],
    spaces: Spaces,
) -> None:
    """Build the loop of a region in front of it, from buffer `source` to buffer `out`.

    Raises: PassFailedException if the input lies off chip, but its rows are not fetched.
    """
    maps, reads = region_maps(op), {layer: streams(op, layer) for layer in op.layers}
    if is_fetched(source, spaces) and not RING.get(op):
        refuse(op, f"expected npu.ring for the rows of an input off chip, a {source.type}")
    b = LoopBuilder(op)
    whole: list[tuple[LayerOp, SSAValue]] = []
    lines: dict[SSAValue, SSAValue] = {}
    for layer, value in [(layer, value) for layer in reads for value in layer.inputs]:
        if value in reads[layer]:
            continue
        if not any(reads_row(layer, streamed, value) for streamed in reads[layer]):
            whole.append((layer, value))
        elif is_fetched(buffers[value], spaces) and value not in lines:
            lines[value] = rows_buffer(b, value, 1, spaces.maps, "line")
    if is_fetched(out, spaces):
        result = op.layers[-1].output
        lines[result] = rows_buffer(b, result, 1, spaces.maps, "row")
    buffers = {**buffers, **fetched(b, whole, buffers, spaces)}
    RegionExpansion(b, op, source, out, maps, reads, buffers, spaces, lines).build()
