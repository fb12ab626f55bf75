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
does as `smallest`. `when=always` puts as many layers as it can into regions.

A region reads one map row by row, and its last layer computes the only map that is read behind it.
Sums in it may also read maps that are there as a whole. A
convolution with a fused pool whose windows overlap becomes convolution and pool again, because the
rows between them are the smallest buffer for the overlap. Readers of a map that pad it must pad
with one value.

The layers keep their order, so `npu-order-layers` runs before. Functions whose order must not
change are left alone (see there), and so are machines on which maps lie off chip, which have
`npu-fuse-rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import RING, ROW_TIME
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import YieldOp
from npu_dialect.target import machine_of
from npu_passes.buffers.spaces import Spaces
from npu_passes.modules.layer_reader import read_layers
from npu_passes.rows.chain_sizes import apart, discard
from npu_passes.rows.region_reader import RegionReader
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_plans.modules.footprints import Storage
from npu_plans.rows.border import fitting_regions
from npu_plans.rows.regions import (
    Choice,
    FunctionRows,
    RowRegion,
    most_layers,
    needed_regions,
    smallest_regions,
)


@dataclass(frozen=True)
class FuseRegionsPass(RefusingPass):
    """Run regions of layers row by row; see the module."""

    name = "npu-fuse-regions"

    when: Literal["needed", "smallest", "always"] = "smallest"
    """Which layers: few that make the function fit, those with the lowest peak, or all."""
    max_slowdown: int = 10
    """With `smallest`, by how many percent the instructions of a function may grow."""
    sram_bytes: int | None = None
    """With `needed`, the on-chip memory to fit into, in bytes. Default: the machine's."""
    overlays: bool = False
    """Whether `npu-overlay-maps` runs later, so that outputs may lie over inputs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the regions of each function, and put them into `npu.rows`."""
        if self.max_slowdown < 0:
            raise Refusal(f"expected a slowdown of 0 % or more, got {self.max_slowdown}")
        machine, sram = machine_of(op), self.sram_of(op)
        spaces = Spaces.of(machine)
        storage = Storage.of(machine) if machine is not None and spaces.ends_off_chip else None
        for function in [each for each in op.walk() if isinstance(each, func.FuncOp)]:
            program = read_layers(function, spaces)
            if program is None:
                continue
            reader = RegionReader(program, storage)
            found = reader.function(overlays=self.overlays)
            leaves = storage is not None and self.when == "needed"
            choice = fitting_regions(found, sram) if leaves else self.choose(found, sram)
            for region in choice.regions:
                wrap(region, reader)

    def sram_of(self, module: ModuleOp) -> int:
        """The bytes to fit into; 0 if it does not matter.

        Raises: Refusal if they are needed and not known.
        """
        machine, sram = machine_of(module), self.sram_bytes
        if sram is None and machine is not None:
            sram = machine.sram_bytes
        if sram is None and self.when == "needed":
            raise Refusal("expected the size of the SRAM: run npu-attach-target, or set sram-bytes")
        return sram or 0

    def choose(self, function: FunctionRows, sram: int) -> Choice:
        """The regions that the options ask for."""
        if self.when == "always":
            return most_layers(function)
        fitting = needed_regions(function, sram) if self.when == "needed" else None
        return smallest_regions(function, self.max_slowdown) if fitting is None else fitting


def wrap(region: RowRegion, reader: RegionReader) -> None:
    """Move the layers of a region into `npu.rows`."""
    steps, found = reader.layers[region.first : region.last + 1], region.schedule
    assert found is not None
    layers = [op for step in steps for op in step]
    last = layers[-1]
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
    result = body[-1].results[0]
    source = next(
        value for op in body for value in op.maps if reader.numbers.get(value) == region.source
    )
    rows = RowsOp(source, Region(Block([*body, YieldOp(result)])), result.type)
    timed = [rows, *body] if region.source in found.times else body
    for op, (number, time) in zip(timed, found.times.items(), strict=True):
        ROW_TIME.set(op, (time.period, time.delay))
        if op is not body[-1]:
            RING.set(op, found.rings[number])
    Rewriter.insert_op(rows, InsertPoint.before(last))
    rows.result.name_hint = last.results[0].name_hint
    last.results[0].replace_all_uses_with(rows.result)
    reader.numbers[rows.result] = reader.numbers[last.results[0]]
    for op in reversed(layers):
        Rewriter.erase_op(op)
