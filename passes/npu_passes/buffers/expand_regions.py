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
one row, and sent from there; so is a row of a map that will leave the chip (`npu.row_buffer`). A
row of a further map off chip is fetched when a layer reads it.

With `npu.overlap_rows`, the steps in which no row is padding and all rings are full are a loop of
their own without choices, in which rows of the input are fetched at the start of each round:

    t = 0 to 2: code, or a loop                    // rings fill
    scf.for %t = 0 to 29 {                         // steps 3 to 31
      copy row t + 3 of %x to %line
      copy %line to row 2 of %ring                 // behind the others, which move up
      ...
    } {npu.overlap_rows}                           // `npu-overlap-rows` moves rows early or late
    t = 32: code, or a loop
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from npu_dialect import dma
from npu_dialect.attributes import OVERLAP_ROWS, RING, ROW_BUFFER
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_regions import RegionMap, region_maps, streams
from npu_dialect.npu.row_windows import reads_row, row_axis
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import provenance
from npu_dialect.stream_attributes import STREAM_STEPS
from npu_passes.buffers.expand_rows import fetched, is_fetched
from npu_passes.buffers.region_rows import RegionRows
from npu_passes.buffers.region_steps import Steps, steady_steps
from npu_passes.buffers.row_buffers import copy, fill, rows_buffer, rows_of
from npu_passes.buffers.spaces import Spaces
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_passes.support.refuse import refuse

MOST_APART = 12
"""The most steps before the steady ones, or behind them, that are code of their own."""


@dataclass(frozen=True)
class RegionExpansion(RegionRows):
    """Builds the loops of one region."""

    def build(self) -> None:
        """Build the rings and the loop."""
        b, (start, stop) = self.b, steps_of(self.maps)
        steady = steady_steps(self.maps.values()) if OVERLAP_ROWS.is_on(self.op) else None
        if self.fetches:
            b.insert(dma.ReadsOp(self.source)).attributes |= provenance(self.op.layers[0])
        elif self.arrives:  # all rows arrive, needed or not
            arrival = self.maps[self.op.input].time
            stop = max(stop, arrival.step(height_of(self.op.input)))
        if is_fetched(self.out, self.spaces):
            b.insert(dma.WritesOp(self.out)).attributes |= provenance(self.op.layers[-1])
        for map_, found in self.maps.items():
            if found.ring:  # of an input too, whose rows arrive one at a time
                hint = map_.name_hint or "ring"
                ring = rows_buffer(b, map_, found.ring, self.spaces.maps, hint)
                self.rings[map_] = ring
        if steady is None:
            self.loop(range(start, stop), first=True)
        else:
            self.others(range(start, steady.start), first=True)
            self.steady_loop(steady)
            self.others(range(steady.stop, stop), first=False)
        if self.arrives:
            loop, time = self.op.prev_op, self.maps[self.op.input].time
            assert isinstance(loop, scf.ForOp)
            STREAM_STEPS.set(loop, (height_of(self.op.input), time.delay - start))

    def loop(self, steps: range, *, first: bool) -> None:
        """Build a loop over some steps; `first`: these are the first ones."""

        def one_step(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            if first:
                self.start(index)
            for group in self.groups():
                self.turn(group, Steps(index, steps))
            return ()

        self.b.loop(0, len(steps), one_step, hint="t")

    def others(self, steps: range, *, first: bool) -> None:
        """Build the steps before the steady ones, or behind them: without a loop if they are few.

        Then later passes see their transfers one by one.
        """
        if first and not steps:
            self.start(0)
        size = 1 if len(steps) <= MOST_APART else len(steps)
        for place in range(0, len(steps), size):
            self.loop(steps[place : place + size], first=first and not place)

    def steady_loop(self, rounds: range) -> None:
        """Build the loop over the steady steps, whose transfers can run beside other rounds."""
        turns = [
            Steps(0, range(rounds.start + each, rounds.stop + each, rounds.step), True)
            for each in range(rounds.step)
        ]
        arrivals = self.turns_of(self.op.input, turns) if self.op.input in self.rings else []
        read = [turn for turn in arrivals if self.is_read(turn.rows(self.maps[self.op.input]))]
        arrived = {turn: self.line(self.op.input, "line") for turn in read}
        lines = self.lines_of(turns)

        def one_round(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            for turn, line in arrived.items():
                row = replace(turn, index=index).row(self.b, self.maps[self.op.input])
                self.bring(rows_of(self.b, self.source, row, 1, "arrived"), line)
            for turn in turns:
                step = replace(turn, index=index)
                if turn in lines:
                    self.lines[self.result] = lines[turn]
                for group in self.groups():
                    if group[-1] is not self.op.input:
                        self.turn(group, step)
                    elif turn in arrivals:
                        self.take(step, arrived.get(turn))
            return ()

        self.b.loop(0, len(rounds), one_round, hint="t")
        loop = self.op.prev_op
        assert isinstance(loop, scf.ForOp)
        OVERLAP_ROWS.set(loop, True)

    def turns_of(self, map_: SSAValue, turns: Sequence[Steps]) -> list[Steps]:
        """The steps of a round in which it is a map's turn."""
        return [turn for turn in turns if turn.rows(self.maps[map_])]

    def lines_of(self, turns: Sequence[Steps]) -> dict[Steps, SSAValue]:
        """The buffer for the row of the result in each step of a round that computes one."""
        if self.result not in self.lines:
            return {}
        first, *others = self.turns_of(self.result, turns)
        more = (self.line(self.result, "row") for _ in others)
        return dict(zip((first, *others), (self.lines[self.result], *more)))

    def line(self, map_: SSAValue, hint: str) -> SSAValue:
        """A new buffer for one row of a map."""
        return rows_buffer(self.b, map_, 1, self.spaces.maps, hint)

    def take(self, step: Steps, arrived: SSAValue | None) -> None:
        """Put a row that has arrived into the ring of the input; None: one that nobody reads."""
        map_ = self.op.input
        rows = step.rows(self.maps[map_])
        place = self.newest(map_, rows[0], rows)  # they all have the same place
        if arrived is not None:
            copy(self.b, arrived, place)

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
            self.decide(step, range(2), 0, 1, pad)

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
                (reader,) = dict.fromkeys(use.operation for use in map_.uses)
                waiting[reader] = group
        return found

    @property
    def arrives(self) -> bool:
        """Whether the rows of the input arrive one at a time."""
        return self.op.is_streamed and not self.spaces.ends_off_chip

    def turn(self, group: Sequence[SSAValue], at: Steps) -> None:
        """Compute the next row of a map and of those that it overwrites, if it is their turn."""
        b, found = self.b, self.maps[group[-1]]
        time, (first, last) = found.time, found.steps
        if not (rows := at.rows(found)):
            return

        if at.steady:
            self.put(group, at.row(b, found), rows)
            return
        since = b.sub(at.index, time.delay - at.steps.start, "since")

        def put() -> tuple[()]:
            self.put(group, b.floor_div(since, time.period, "row"), rows)
            return ()

        if len(at.steps) == 1:
            put()
            return

        def at_its_turn() -> tuple[()]:
            if time.period == 1:
                return put()
            b.choose(b.divides(since, time.period), put)
            return ()

        if first <= at.steps.start and at.steps.stop <= last + 1:
            at_its_turn()
        else:
            own = b.between(b.value(since), first - time.delay, last + 1 - time.delay)
            b.choose(own, at_its_turn)


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
    if is_fetched(out, spaces) or ROW_BUFFER.is_on(op):
        result = op.layers[-1].output
        lines[result] = rows_buffer(b, result, 1, spaces.maps, "row")
    buffers = {**buffers, **fetched(b, whole, buffers, spaces)}
    RegionExpansion(b, op, source, out, maps, reads, buffers, spaces, lines).build()
