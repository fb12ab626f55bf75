"""`npu-fuse-regions`: run regions of layers row by row (on tensors).

    %0 = npu.conv2d %x, %w0 : ... -> tensor<1x16x32x32xi8>
    %1 = npu.conv2d %0, %w1 : ... -> tensor<1x16x32x32xi8>
    %2 = npu.quantized_add %0, %1 : ... -> tensor<1x16x32x32xi8>
becomes
    %2 = npu.rows of %x : ... -> tensor<1x16x32x32xi8> {
      %0 = npu.conv2d %x, %w0 {npu.ring = 2, npu.row_time = array<i64: 1, 0>} : ...
      %1 = npu.conv2d %0, %w1 {npu.ring = 0, npu.row_time = array<i64: 1, 1>} : ...
      %3 = npu.quantized_add %0, %1 {npu.row_time = array<i64: 1, 1>} : ...
      npu.yield %3
    }

The decision: the maps between the layers never exist as a whole, also where one has several
readers, as before a residual sum. A ring keeps the rows of it that a reader still needs
(`npu_dialect/row_times.py`). `when=smallest` takes the regions with which the peak of the function
is lowest (`npu_plans/rows/regions.py`), but not those that add more than `max-slowdown` percent of
instructions, as they are estimated there. `when=needed` takes those that add the fewest
instructions if the function then fits into the SRAM, as far as its bytes at a time tell; else it
does as `smallest`. `when=always` puts as many layers as it can into regions. `when=input` makes one
region of as few layers as possible, if there is a streamed input, and nothing otherwise.

The rows of an input with `npu.stream` arrive one at a time, so a region must read it. Its ring is
on chip in place of the input:

    %2 = npu.rows of %x attributes {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : ... {

A region reads one map row by row, and its last layer computes the only map that is read behind it.
Sums in it may also read maps that are there as a whole. A convolution with a fused pool whose
windows overlap becomes convolution and pool again, because the rows between them are the smallest
buffer for the overlap. Readers of a map that pad it must pad with one value.

On a machine with DMA, `needed` takes the regions with which the function fits, or exceeds the SRAM
by the fewest bytes (`npu_plans/rows/border.py`), or none if what leaves the chip without regions
takes less time (`npu_plans/rows/leaving.py`). All parameters of a region are on chip. The rows
of an input off chip are fetched into a ring. If several maps of one size are read behind a region,
it concatenates them, and slices of the result are read. A 1x1 convolution with a stride may be
split before, so that a region can compute the pixels that it reads (`split_strides.py`).

The layers keep their order, so `npu-order-layers` runs before. Functions whose order must not
change are left alone (see there). Ops of other dialects that say how they compute
(`npu_dialect/computing.py`) take part, each in an `npu.computed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import (
    LAYER,
    OVERLAP_ROWS,
    PLANNED_AS,
    RING,
    ROW_BUFFER,
    ROW_TIME,
    TOP_ROWS,
)
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, SliceOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.row_windows import CHANNELS
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import YieldOp
from npu_dialect.target import machine_of
from npu_passes.buffers.spaces import Spaces
from npu_passes.modules.layer_reader import read_layers
from npu_passes.rows.chain_sizes import apart, discard
from npu_passes.rows.left_to_tiles import are_left
from npu_passes.rows.other_dialects import as_layers, take_out
from npu_passes.rows.region_reader import RegionReader, arrives
from npu_passes.rows.split_strides import SplitConv, candidates, split, split_strides
from npu_passes.support.refuse import Refusal, RefusingPass, refuse
from npu_plans.modules.footprints import Storage
from npu_plans.rows.border import Left, fitting_regions
from npu_plans.rows.growing import FunctionRows
from npu_plans.rows.leaving import leaving_cycles
from npu_plans.rows.regions import (
    Choice,
    RowRegion,
    alone,
    most_layers,
    needed_regions,
    smallest_regions,
    streaming_region,
)
from npu_plans.time.rates import Rates, missing_keys

WORTH = 0.98
"""Regions are left out if this saves 2 % of the cycles of transfers and rings, as estimated."""


@dataclass(frozen=True)
class FuseRegionsPass(RefusingPass):
    """Run regions of layers row by row; see the module."""

    name = "npu-fuse-regions"

    when: Literal["needed", "smallest", "always", "input"] = "smallest"
    """Which layers: few that make the function fit, those with the lowest peak, all, or few that
    can read a streamed input."""
    max_slowdown: int = 10
    """With `smallest`, by how many percent the instructions of a function may grow."""
    sram_bytes: int | None = None
    """With `needed`, the on-chip memory to fit into, in bytes. Default: the machine's."""
    overlays: bool = False
    """Whether `npu-overlay-maps` runs later, so that outputs may lie over inputs."""
    leave_producers: bool = False
    """With `needed`, whether to leave out depthwise convolutions that `npu-tile-loops` can run on
    the tiles of the 1x1 convolution behind them (`left_to_tiles.py`)."""
    top_rows: bool = False
    """Whether rows that need padding above a map between layers may be layers of their own. Then
    more of the region may lie over its input, but it has more code. Needs `overlays`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the regions of each function, and put them into `npu.rows`."""
        if self.max_slowdown < 0:
            raise Refusal(f"expected a slowdown of 0 % or more, got {self.max_slowdown}")
        machine, sram = machine_of(op), self.sram_of(op)
        spaces = Spaces.of(machine)
        storage = Storage.of(machine) if machine is not None and spaces.ends_off_chip else None
        rates = None if machine is None or missing_keys(machine) else Rates.of(machine)
        overlays = self.overlays and not PLANNED_AS.is_on(op)  # no loops, so nothing to follow
        functions = [each for each in op.walk() if isinstance(each, func.FuncOp)]
        for function in [each for each in functions if not each.is_declaration]:
            streamed = next(filter(arrives, function.args), None)
            if streamed is None and self.when == "input":
                continue
            others = as_layers(function.body.block)
            if storage is not None and self.when == "needed" and streamed is None:
                found = fitting(function, spaces, storage, sram, rates)
            else:
                found = self.choose(function, spaces, storage, sram, overlays=overlays)
            if found is None:
                if streamed is not None:
                    refuse(function, "expected layers without states for a streamed input")
            else:
                reader, choice = found
                if streamed is not None and not any(region.streamed for region in choice.regions):
                    refuse_stream(streamed)
                for region in choice.regions:
                    if not (self.leave_producers and are_left(layers_of(region, reader), sram)):
                        wrap(region, reader)
            take_out(others, function.body.block)

    def sram_of(self, module: ModuleOp) -> int:
        """The bytes to fit into; 0 if it does not matter.

        Raises: Refusal if they are needed and not known, or less than 1.
        """
        machine, sram = machine_of(module), self.sram_bytes
        if sram is not None and sram < 1:
            raise Refusal(f"expected sram-bytes of at least 1, got {sram}")
        if sram is None and machine is not None:
            sram = machine.planned_bytes
        if sram is None and self.when == "needed":
            raise Refusal("expected the size of the SRAM: run npu-attach-target, or set sram-bytes")
        return sram or 0

    def choose(
        self,
        function: func.FuncOp,
        spaces: Spaces,
        storage: Storage | None,
        sram: int,
        *,
        overlays: bool,
    ) -> tuple[RegionReader, Choice] | None:
        """The regions that the options ask for.

        None if the order of the function's layers must not change.
        """
        program = read_layers(function, spaces)
        if program is None:
            return None
        reader = RegionReader(program, storage)
        rows = replace(reader.function(overlays=overlays), top_rows=self.top_rows)
        if self.when == "input":
            return reader, streaming_region(rows)
        if self.when == "always":
            return reader, most_layers(rows)
        choice = needed_regions(rows, sram) if self.when == "needed" else None
        return reader, choice or smallest_regions(rows, self.max_slowdown)


@dataclass(frozen=True)
class Found:
    """The regions of a function, and about what leaves the chip with them."""

    reader: RegionReader
    rows: FunctionRows
    choice: Choice
    left: Left

    def cycles(self, sram: int) -> float | None:
        """How long maps that leave, and rows in rings, take; None if that is not known."""
        rates = self.reader.rates
        return None if rates is None else leaving_cycles(self.rows, self.choice, sram, rates)


def fitting(
    function: func.FuncOp, spaces: Spaces, storage: Storage, sram: int, rates: Rates | None
) -> tuple[RegionReader, Choice] | None:
    """The regions with which a function fits into `sram` bytes, or nearly does.

    If it does not, 1x1 convolutions with a stride are split, all of them or some, and stay so where
    this helps. There are none if what leaves without them takes less time, with no layer split.
    None if the order of the function's layers must not change.
    """

    def search() -> Found | None:
        program = read_layers(function, spaces)
        if program is None:
            return None
        reader = RegionReader(program, storage, sram, rates)
        rows = reader.function(overlays=False)
        return Found(reader, rows, *fitting_regions(rows, sram))

    found = search()
    if found is None or not any(found.left[:2]):
        return None if found is None else (found.reader, found.choice)
    without = replace(found, choice=Choice(tuple(alone(found.rows)))).cycles(sram)
    found, parts = with_splits(function, found, search)
    within = found.cycles(sram) if found.choice.regions else None
    if without is None or within is None or within * WORTH <= without:
        return found.reader, found.choice
    for each in parts:
        each.join()
    return found.reader, Choice(())


def with_splits(
    function: func.FuncOp, found: Found, search: Callable[[], Found | None]
) -> tuple[Found, list[SplitConv]]:
    """The regions if 1x1 convolutions with a stride are split where this helps, and these."""
    parts = split_strides(function.body.block)
    if not parts:
        return found, []
    if (other := search()) is not None and other.left.cost < found.left.cost:
        return other, parts
    for each in parts:
        each.join()
    kept: list[SplitConv] = []
    for conv in list(candidates(function.body.block)) if len(parts) > 1 else ():
        part = split(conv)
        if (other := search()) is not None and other.left.cost < found.left.cost:
            found = other
            kept.append(part)
        else:
            part.join()
    return search() or found, kept


def refuse_stream(streamed: BlockArgument) -> NoReturn:
    """Refuse an input whose rows arrive one at a time; attached to its first reader.

    Raises: PassFailedException.
    """
    first, *others = [op for op in streamed.owner.ops if streamed in op.operands]
    names = ", ".join(LAYER.get(op) or op.name for op in (first, *others))
    what = f"{names} in one region of rows" if others else f"{names} row by row"
    refuse(first, f"the rows of the input arrive one at a time: expected to run {what}")


def wrap(region: RowRegion, reader: RegionReader) -> None:
    """Move the layers of a region into `npu.rows`."""
    layers, found = layers_of(region, reader), region.schedule
    assert found is not None
    body, inner = body_of(layers)
    results = {op.results[0]: reader.numbers[op.results[0]] for op in layers}
    joined = [value for value, number in results.items() if number in region.joined]
    if joined:
        body.append(concatenation([inner[value] for value in joined]))
    result = body[-1].results[0]
    source = next(
        value for op in body for value in op.maps if reader.numbers.get(value) == region.source
    )
    rows = RowsOp(source, Region(Block([*body, YieldOp(result)])), result.type)
    if region.top_rows:
        TOP_ROWS.set(rows, True)
    if region.buffers:
        OVERLAP_ROWS.set(rows, True)
    if reader.numbers[layers[-1].results[0]] in region.lines and not joined:
        ROW_BUFFER.set(rows, True)
    timed = [rows, *body] if region.source in found.times else body
    for op, (number, time) in zip(timed, found.times.items(), strict=True):
        ROW_TIME.set(op, (time.period, time.delay))
        if op is not body[-1]:
            RING.set(op, found.rings[number])
    Rewriter.insert_op(rows, InsertPoint.before(layers[-1]))
    read = slices(rows, joined) if joined else {layers[-1].results[0]: rows.result}
    for old, new in read.items():
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
        reader.numbers[new] = reader.numbers[old]
    for op in reversed(layers):
        Rewriter.erase_op(op)


def layers_of(region: RowRegion, reader: RegionReader) -> list[LayerOp]:
    """The layers of a region, in their order."""
    return [op for step in reader.layers[region.first : region.last + 1] for op in step]


def body_of(layers: Sequence[LayerOp]) -> tuple[list[LayerOp], dict[SSAValue, SSAValue]]:
    """Copies of the layers of a region, and the value in them for each value of the layers."""
    inner: dict[SSAValue, SSAValue] = {}
    body: list[LayerOp] = []
    for op in layers:
        parts = apart(op)
        for part in parts:
            inputs = [inner.get(value, value) for value in part.inputs]
            body.append(part.rebuilt(inputs, part.results[0].type))
            inner[part.results[0]] = body[-1].results[0]
        inner[op.results[0]] = body[-1].results[0]
        inner[op.results[0]].name_hint = op.results[0].name_hint
        discard(op, parts)
    return body, inner


def concatenation(parts: Sequence[SSAValue]) -> ConcatOp:
    """A concatenation of maps along their channels."""
    shape = list(shape_of(parts[0]))
    shape[CHANNELS] = sum(shape_of(part)[CHANNELS] for part in parts)
    return ConcatOp(parts, CHANNELS, TensorType(map_type(parts[0]).get_element_type(), shape))


def slices(rows: RowsOp, joined: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
    """Slices of the result of rows, for each of the maps that are joined in it."""
    found: dict[SSAValue, SSAValue] = {}
    at, behind = 0, InsertPoint.after(rows)
    for value in joined:
        shape = shape_of(value)
        offsets = [at if axis == CHANNELS else 0 for axis in range(len(shape))]
        part = SliceOp(rows.result, offsets, shape, [1] * len(shape), value.type)
        Rewriter.insert_op(part, behind)
        found[value] = part.results[0]
        at += shape[CHANNELS]
    return found
