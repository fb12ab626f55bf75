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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType, MemRefType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from npu_dialect import dma
from npu_dialect.attributes import CONSUMES, RING, RUNS
from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, MaxPool2dOp, PoolOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import ui8
from npu_dialect.npu.rows import RowsOp, RowWindow, row_window
from npu_dialect.npu.structure import provenance
from npu_dialect.sram import AllocOp
from npu_passes.buffers.spaces import Spaces
from npu_passes.support.common import for_each
from npu_passes.support.integers import store
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type

WEIGHTS, MAPS_IN, MAPS_OUT = 0, 1, 3
"""The DMA channels for parameters, rows of the input and rows of the output."""


@dataclass(frozen=True)
class Stage:
    """One layer of the chain.

    `layer`: its op on tensors. `rows`: the rows of its window. `window`: the buffer for the rows of
    its input; None if it reads the chain's input directly. `runs`: how many rows of its OFM are
    computed in all.
    """

    layer: LayerOp
    rows: RowWindow
    window: SSAValue | None
    runs: int


@dataclass(frozen=True)
class RowsExpansion:
    """Builds the loops of one `npu.rows`, from buffer `source` to buffer `out`.

    `buffers` maps the parameters to their buffers. `row` is a buffer in which a row of the output
    is computed; None if the row is computed in `out` itself.
    """

    b: LoopBuilder
    spaces: Spaces
    stages: Sequence[Stage]
    source: SSAValue
    out: SSAValue
    buffers: Mapping[SSAValue, SSAValue]
    row: SSAValue | None

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

        b.loop(0, shape_of(self.out)[2], one_row, hint="r")

    def off_chip(self, buffer: SSAValue) -> bool:
        """Whether a buffer lies in another memory space than feature maps."""
        return memref_type(buffer).memory_space != self.spaces.maps

    def compute(self, index: int, row: Index, target: SSAValue) -> None:
        """Compute one output row of a layer into `target`, a buffer of one row."""
        b, stage = self.b, self.stages[index]
        rows = stage.rows
        base = b.sub(b.mul(row, rows.stride), rows.before, "base")
        if stage.window is None:
            view = rows_of(b, self.source, base, rows.reach, "window")
        else:
            view = stage.window
            self.slide(index, row, base, view)
        layer = row_layer(stage.layer, view, self.buffers, target)
        RING.drop(layer)
        RUNS.set(layer, stage.runs)
        b.insert(layer)

    def slide(self, index: int, row: Index, base: Index, window: SSAValue) -> None:
        """Move a window to its next position, and fill in the rows that are new."""
        b, rows = self.b, self.stages[index].rows
        kept = rows.reach - rows.stride
        first = base
        if kept and not isinstance(row, int):
            at_top = b.insert(arith.CmpiOp(row, b.value(0), "eq")).result
            b.choose(at_top, lambda: (), lambda: move_up(b, window, rows.stride, kept))
            later = b.value(b.add(base, kept))
            first = b.insert(arith.SelectOp(at_top, b.value(base), later), "first").result

        def one_row(new: Index, _: Sequence[SSAValue]) -> tuple[()]:
            slot = b.sub(new, base, "slot")
            target = rows_of(b, window, slot, 1, "row")
            if not rows.padded:
                self.produce(index, new, target)
                return ()
            padding = pad_value(self.stages[index].layer)
            b.choose(
                b.between(b.value(new), 0, rows.height),
                lambda: self.produce(index, new, target),
                lambda: fill(b, target, padding),
            )
            return ()

        b.loop(first, b.add(base, rows.reach), one_row, hint="s")

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
    stages: list[Stage] = []
    runs = shape_of(out)[2]
    for index, layer in reversed(list(enumerate(op.layers))):
        rows = row_window(layer)
        assert rows is not None
        direct = index == 0 and not rows.padded and in_place
        buffer = None if direct else window_of(b, layer, rows, near)
        stages.insert(0, Stage(layer, rows, buffer, runs))
        runs = rows.needed(runs)
    row = None
    if memref_type(out).memory_space != near:
        row = rows_buffer(b, out, 1, near, "row")
    buffers = {**buffers, **fetched(b, op, buffers, spaces)}
    RowsExpansion(b, spaces, stages, source, out, buffers, row).build()
    if CONSUMES.is_on(op) and isinstance(op.prev_op, scf.ForOp):
        CONSUMES.copy(op, op.prev_op)


def fetched(
    b: LoopBuilder, op: RowsOp, buffers: Mapping[SSAValue, SSAValue], spaces: Spaces
) -> dict[SSAValue, SSAValue]:
    """On-chip buffers with copies of the parameters that lie off chip, by parameter."""
    found: dict[SSAValue, SSAValue] = {}
    for layer in op.layers:
        for value in layer.parameter_inputs:
            type_ = memref_type(buffers[value])
            if not spaces.channels or type_.memory_space == spaces.maps or value in found:
                continue
            near = MemRefType(type_.element_type, type_.get_shape(), memory_space=spaces.maps)
            buffer = b.insert(AllocOp(near), buffers[value].name_hint).buffer
            move(b, buffers[value], buffer, spaces.channel(WEIGHTS), layer, weights=True)
            found[value] = buffer
    return found


def move(
    b: LoopBuilder,
    source: SSAValue,
    target: SSAValue,
    channel: int,
    layer: LayerOp,
    *,
    weights: bool = False,
) -> None:
    """Build a DMA transfer for a layer, and the wait for it."""
    start = b.insert(dma.StartOp(source, target, channel, weights=weights), "t")
    start.attributes |= provenance(layer)
    b.insert(dma.WaitOp(start.token))


def window_of(b: LoopBuilder, layer: LayerOp, rows: RowWindow, space: Attribute) -> SSAValue:
    """A new buffer for the input rows that a layer needs at once."""
    hint = layer.maps[0].name_hint or "window"
    return rows_buffer(b, layer.maps[0], rows.reach, space, hint)


def rows_buffer(
    b: LoopBuilder, value: SSAValue, count: int, space: Attribute, hint: str
) -> SSAValue:
    """A new buffer for `count` rows of a map."""
    type_ = map_type(value)
    images, channels, _, width = type_.get_shape()
    shape = (images, channels, count, width)
    alloc = AllocOp(MemRefType(type_.get_element_type(), shape, memory_space=space))
    return b.insert(alloc, hint).buffer


def rows_of(b: LoopBuilder, buffer: SSAValue, first: Index, count: int, hint: str) -> SSAValue:
    """A view of `count` rows of a map; the map itself if these are all."""
    images, channels, height, width = shape_of(buffer)
    if count == height:
        return buffer
    return b.window(buffer, (0, 0, first, 0), (images, channels, count, width), range(4), hint)


def row_layer(
    layer: LayerOp, view: SSAValue, buffers: Mapping[SSAValue, SSAValue], target: SSAValue
) -> LayerOp:
    """The layer on buffers that computes one row; it has no padding above and below."""
    inputs = [view if value is layer.maps[0] else buffers[value] for value in layer.inputs]
    new = layer.rebuilt(inputs, target)
    if isinstance(new, Conv2dOp | PoolOp):
        _, left, _, right = int_values(new.pads)
        new.pads = int_array((0, left, 0, right))
    return new


def pad_value(layer: LayerOp) -> float:
    """The value of a padding row: it never wins a maximum, and adds nothing to a sum."""
    if isinstance(layer, Conv2dOp) and layer.zero_points is not None:
        return float(int_values(layer.zero_points)[0])
    return -inf if isinstance(layer, MaxPool2dOp) else 0.0


def move_up(b: LoopBuilder, window: SSAValue, stride: int, kept: int) -> tuple[()]:
    """Move the `kept` last rows of a window up by `stride` rows, the upper ones first."""
    images, channels, _, width = shape_of(window)

    def one(at: tuple[Index, ...]) -> None:
        n, c, k, x = at
        b.store(b.load(window, (n, c, b.add(k, stride), x)), window, at)

    for_each(b, (images, channels, kept, width), one, ("n", "c", "k", "x"))
    return ()


def copy(b: LoopBuilder, source: SSAValue, target: SSAValue) -> None:
    """Copy a row."""
    shape = shape_of(target)
    for_each(b, shape, lambda at: b.store(b.load(source, at), target, at), ("n", "c", "k", "x"))


def fill(b: LoopBuilder, target: SSAValue, number: float) -> tuple[()]:
    """Fill a row with one number."""
    element = memref_type(target).element_type
    if isa(element, IntegerType):
        least, _ = element.value_range()
        type_ = i32 if element == ui8 else element  # arith has signless integers only
        value = b.integer(least if number == -inf else int(number), type_)
    else:
        value = b.real(number)
    for_each(b, shape_of(target), lambda at: store(b, value, target, at), ("n", "c", "k", "x"))
    return ()
