"""Expand `npu.rows` into loops over rows, as a part of `npu-bufferize`.

Level of IR: from a chain of layers on tensors to loops around the same layers on buffers. There,
each layer computes one row at a time. A layer whose window has `reach` rows has a buffer for as
many rows of its input. For the next output row, the rows in the buffer move up by the stride, and
the layer before computes the new rows at its end. Rows beyond the map are filled with the value of
its padding.

    npu.rows of %x { %0 = conv %x ; %1 = conv %0 ; yield %1 }
->
    %window = sram.alloc : memref<1x8x3x14xf32, #npu.sram>      // all rows of %0 that exist
    scf.for %r = 0 to 12 {                                      // rows of %1
      // move the window up by one row
      scf.for %s = (r == 0 ? 0 : r + 2) to r + 3 {              // new rows of %0
        npu.conv2d ins(rows s..s+2 of %x) outs(row s - r of %window)
      }
      npu.conv2d ins(%window) outs(row r of the output)
    }

On a machine with DMA, input, output and parameters of the chain may lie off chip. Then parameters
are fetched as a whole before the loop. Rows of the input are fetched into a window, and rows of the
output are sent from a buffer of one row. The input is read once, and the output is written once:

    dma.reads %image
    scf.for %r = ... {
      ...
        %t = dma.start %line to %row channel 1                  // a new row
        dma.wait %t

A layer that may overwrite its input, and needs one row of it, has no window: the layer before
writes the row where this one puts its own. Further maps of a layer are whole. An element-wise layer
reads one row of them, which is fetched if they lie off chip. Other layers read all of them, so they
are fetched before the loop, as parameters are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from npu_dialect import dma
from npu_dialect.attributes import CONSUMES, RING, RUNS
from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, PickOp, PoolOp, ResampleOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_regions import pad_value
from npu_dialect.npu.row_windows import (
    RowWindow,
    phases_of,
    reads_row,
    regrouped,
    row_axis,
    row_window,
)
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import provenance
from npu_dialect.sram import AllocOp
from npu_passes.buffers.row_buffers import copy, fill, in_shape, move, move_up, rows_buffer, rows_of
from npu_passes.buffers.spaces import Spaces
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type

WEIGHTS, MAPS_IN, MAPS_OUT = 0, 1, 3
"""The DMA channels for parameters, rows of the input and rows of the output."""


@dataclass(frozen=True)
class Stage:
    """One layer of the chain.

    `layer`: its op on tensors. `streamed`: the map that it reads row by row. `rows`: the rows of
    its window. `window`: the buffer for the rows of its input; None if it reads the chain's input
    directly, or if it runs `in_place`. `written`: the same buffer in the shape in which the layer
    before writes it. `runs`: how many rows of its OFM are computed in all.
    """

    layer: LayerOp
    streamed: SSAValue
    rows: RowWindow
    window: SSAValue | None
    written: SSAValue | None
    runs: int
    in_place: bool = False


@dataclass(frozen=True)
class RowsExpansion:
    """Builds the loops of one `npu.rows`, from buffer `source` to buffer `out`.

    `buffers` maps the parameters and further maps to their buffers. `row` is a buffer in which a
    row of the output is computed; None if the row is computed in `out` itself. `lines` are buffers
    on chip for one row of each further map that lies off chip and is read row by row.
    """

    b: LoopBuilder
    spaces: Spaces
    stages: Sequence[Stage]
    source: SSAValue
    out: SSAValue
    buffers: Mapping[SSAValue, SSAValue]
    row: SSAValue | None
    lines: Mapping[SSAValue, SSAValue]

    def build(self) -> None:
        """Build the loop over the rows of the last layer."""
        b = self.b
        last = len(self.stages) - 1
        if self.off_chip(self.source):
            reads = b.insert(dma.ReadsOp(self.source))
            reads.attributes |= provenance(self.stages[0].layer)
        if self.row is not None:
            writes = b.insert(dma.WritesOp(self.out))
            writes.attributes |= provenance(self.stages[-1].layer)

        def one_row(row: Index, _: Sequence[SSAValue]) -> tuple[()]:
            target = rows_of(b, self.out, row, 1, "row")
            self.compute(last, row, target if self.row is None else self.row)
            if self.row is not None:
                move(b, self.row, target, self.spaces.channel(MAPS_OUT), self.stages[-1].layer)
            return ()

        b.loop(0, shape_of(self.out)[row_axis(self.out)], one_row, hint="r")

    def off_chip(self, buffer: SSAValue) -> bool:
        """Whether a buffer lies in another memory space than feature maps."""
        return memref_type(buffer).memory_space != self.spaces.maps

    def compute(self, index: int, row: Index, target: SSAValue) -> None:
        """Compute one output row of a layer into `target`, a buffer of one row."""
        b, stage = self.b, self.stages[index]
        rows = stage.rows
        if stage.in_place:
            view = target
            self.compute(index - 1, row, target)
        elif stage.window is None:
            view = rows_of(b, self.source, self.first_row(rows, row), rows.reach, "window")
        elif rows.is_one:
            view = stage.window
            assert stage.written is not None
            self.produce(index, row, stage.written)
        else:
            base = self.first_row(rows, row)
            view = stage.window
            self.turn(index, row, base, view)
        if isinstance(stage.layer, ResampleOp) and rows.edges:
            self.one_phase(stage, view, row, target, 0)
        else:
            self.put(self.row_layer(stage, view, row, target), stage.runs)

    def put(self, layer: LayerOp, runs: int) -> None:
        """Insert a layer that computes a row, `runs` times in all."""
        RING.drop(layer)
        RUNS.set(layer, runs)
        self.b.insert(layer)

    def one_phase(
        self, stage: Stage, view: SSAValue, row: Index, target: SSAValue, phase: int
    ) -> tuple[()]:
        """Compute a row of an interpolation: one of a few layers, as their positions alternate."""
        b, rows = self.b, stage.rows

        def compute() -> tuple[()]:
            layer = self.row_layer(stage, view, row, target)
            assert isinstance(layer, ResampleOp)
            axis = row_axis(view)
            place = phases_of(layer.by_axis[axis])[phase] + rows.before
            layer.take_one(axis, place)
            self.put(layer, -(-stage.runs // rows.each))
            return ()

        if phase == rows.each - 1:
            return compute()
        found = b.divides(b.add(row, rows.each - phase), rows.each)
        b.choose(found, compute, lambda: self.one_phase(stage, view, row, target, phase + 1))
        return ()

    def row_layer(self, stage: Stage, view: SSAValue, row: Index, target: SSAValue) -> LayerOp:
        """The layer on buffers that computes one row; it has no padding above and below."""
        layer = stage.layer
        inputs = [
            view
            if value is stage.streamed
            else self.side_row(stage, value, row)
            if reads_row(layer, stage.streamed, value)
            else self.buffers[value]
            for value in layer.inputs
        ]
        new = layer.rebuilt(inputs, target)
        if isinstance(new, Conv2dOp | PoolOp):
            _, left, _, right = int_values(new.pads)
            new.pads = int_array((0, left, 0, right))
        if isinstance(new, PickOp):
            new.take_one(row_axis(new.input))
        return new

    def side_row(self, stage: Stage, value: SSAValue, row: Index) -> SSAValue:
        """One row of a further map of a layer, on chip."""
        line = rows_of(self.b, self.buffers[value], row, 1, "line")
        if value not in self.lines:
            return line
        move(self.b, line, self.lines[value], self.spaces.channel(MAPS_IN), stage.layer)
        return self.lines[value]

    def first_row(self, rows: RowWindow, row: Index) -> Index:
        """The first row of a layer's input that it needs for an output row."""
        b = self.b
        turn = row if rows.each == 1 else b.floor_div(row, rows.each, "turn")
        return b.sub(b.mul(turn, rows.stride), rows.before, "base")

    def turn(self, index: int, row: Index, base: Index, window: SSAValue) -> None:
        """Move a window to its next position, unless it is there since the output row before."""
        b, each = self.b, self.stages[index].rows.each
        if isinstance(row, int) or each == 1:
            if isinstance(row, int) and row % each:
                return
            self.slide(index, row, base, window)
            return

        def slide() -> tuple[()]:
            self.slide(index, row, base, window)
            return ()

        b.choose(b.divides(row, each), slide, lambda: ())

    def slide(self, index: int, row: Index, base: Index, window: SSAValue) -> None:
        """Move a window to its next position, and fill in the rows that are new."""
        b, rows, written = self.b, self.stages[index].rows, self.stages[index].written
        assert written is not None
        kept = rows.reach - rows.stride
        first = base
        if kept and not isinstance(row, int):
            at_top = b.insert(arith.CmpiOp(row, b.value(0), "eq")).result
            b.choose(at_top, lambda: (), lambda: move_up(b, window, rows.stride, kept))
            later = b.value(b.add(base, kept))
            first = b.insert(arith.SelectOp(at_top, b.value(base), later), "first").result

        def one_row(new: Index, _: Sequence[SSAValue]) -> tuple[()]:
            slot = b.sub(new, base, "slot")
            target = rows_of(b, written, slot, 1, "row")
            if not rows.padded:
                self.produce(index, new, target)
                return ()

            def outside() -> tuple[()]:
                if not rows.edges:
                    return fill(b, target, pad_value(self.stages[index].layer))
                copy(b, rows_of(b, written, b.sub(slot, 1), 1, "edge"), target)
                return ()

            inside = b.between(b.value(new), 0, rows.height)
            b.choose(inside, lambda: self.produce(index, new, target), outside)
            return ()

        start = b.most(first, 0) if rows.edges else first
        b.loop(start, b.add(base, rows.reach), one_row, hint="s")
        if rows.edges and rows.before:
            self.repeat_first(row, written)

    def repeat_first(self, row: Index, written: SSAValue) -> None:
        """For the first output row, copy the first row of the input to its place above the map."""
        b = self.b

        def repeat() -> tuple[()]:
            copy(b, rows_of(b, written, 1, 1, "edge"), rows_of(b, written, 0, 1, "row"))
            return ()

        b.choose(b.compare(arith.CmpiOp, b.value(row), b.value(0), "eq"), repeat)

    def produce(self, index: int, row: Index, target: SSAValue) -> tuple[()]:
        """Put one row of a layer's input into `target`: compute it, or copy it from the source."""
        if index:
            self.compute(index - 1, row, target)
            return ()
        line = rows_of(self.b, self.source, row, 1, "line")
        if self.off_chip(self.source):
            move(self.b, line, target, self.spaces.channel(MAPS_IN), self.stages[0].layer)
        else:
            copy(self.b, line, target)
        return ()


def expand_rows(
    op: RowsOp,
    source: SSAValue,
    out: SSAValue,
    buffers: Mapping[SSAValue, SSAValue],
    spaces: Spaces,
) -> None:
    """Build the loops of `npu.rows` in front of it, from buffer `source` to buffer `out`.

    If the op has `npu.consumes`, the first layer reads copies of the input rows, so that the output
    may overwrite the input. The loop gets the attribute too.
    """
    b = LoopBuilder(op)
    near = spaces.maps
    in_place = memref_type(source).memory_space == near and not CONSUMES.is_on(op)
    stages = stages_of(b, op, near, shape_of(out), in_place=in_place)
    row = None
    if memref_type(out).memory_space != near:
        row = rows_buffer(b, out, 1, near, "row")
    whole = [
        (stage.layer, value)
        for stage in stages
        for value in stage.layer.inputs
        if value is not stage.streamed and not reads_row(stage.layer, stage.streamed, value)
    ]
    buffers = {**buffers, **fetched(b, whole, buffers, spaces)}
    lines = {
        value: rows_buffer(b, value, 1, near, "line")
        for stage in stages
        for value in stage.layer.maps
        if reads_row(stage.layer, stage.streamed, value)
        and value is not stage.streamed
        and is_fetched(buffers[value], spaces)
    }
    RowsExpansion(b, spaces, stages, source, out, buffers, row, lines).build()
    if CONSUMES.is_on(op) and isinstance(op.prev_op, scf.ForOp):
        CONSUMES.copy(op, op.prev_op)


def stages_of(
    b: LoopBuilder, op: RowsOp, near: Attribute, result: Sequence[int], *, in_place: bool
) -> list[Stage]:
    """The stages of `npu.rows` with new buffers for their windows, in memory space `near`.

    `result`: the shape of the output. `in_place`: whether the first layer may read the input where
    it lies.
    """
    stages: list[Stage] = []
    runs = result[-2]
    for index, layer in reversed(list(enumerate(op.layers))):
        streamed = op.streamed(layer)
        rows = row_window(layer, streamed)
        assert rows is not None
        over = index > 0 and overwrites(layer, streamed, rows)
        window = written = None
        if not over and (index > 0 or rows.padded or not in_place):
            before = regrouped(streamed) if index else streamed
            hint = streamed.name_hint or "window"
            written = rows_buffer(b, before, rows.reach, near, hint)
            window = in_shape(b, written, shape_of(streamed))
        stages.insert(0, Stage(layer, streamed, rows, window, written, runs, over))
        runs = rows.needed(runs)
    return stages


def overwrites(layer: LayerOp, streamed: SSAValue, rows: RowWindow) -> bool:
    """Whether a layer may put an output row where its input row lies."""
    places = [layer.inputs[index] for index in layer.in_place_inputs()]
    same = streamed.type == layer.output.type and regrouped(streamed) is streamed
    return same and rows.is_one and streamed in places


def is_fetched(buffer: SSAValue, spaces: Spaces) -> bool:
    """Whether a buffer lies off chip, so that its elements are fetched before they are read."""
    return bool(spaces.channels) and memref_type(buffer).memory_space != spaces.maps


def fetched(
    b: LoopBuilder,
    wanted: Sequence[tuple[LayerOp, SSAValue]],
    buffers: Mapping[SSAValue, SSAValue],
    spaces: Spaces,
) -> dict[SSAValue, SSAValue]:
    """On-chip buffers with copies of what lies off chip: parameters, and maps that are read whole.

    They are found by the parameter or map; `wanted` has these with a layer that reads them.
    """
    found: dict[SSAValue, SSAValue] = {}
    for layer, value in wanted:
        if value in found or not is_fetched(buffers[value], spaces):
            continue
        type_ = memref_type(buffers[value])
        near = MemRefType(type_.element_type, type_.get_shape(), memory_space=spaces.maps)
        buffer = b.insert(AllocOp(near), buffers[value].name_hint).buffer
        weights = value in layer.parameter_inputs
        channel = spaces.channel(WEIGHTS if weights else MAPS_IN)
        move(b, buffers[value], buffer, channel, layer, weights=weights)
        found[value] = buffer
    return found
