"""`npu-fuse-rows`: run consecutive layers row by row (on tensors).

    %0 = npu.conv2d %x, %w0 : ... -> tensor<1x8x14x14xf32>
    %1 = npu.conv2d %0, %w1 : ... -> tensor<1x8x12x12xf32>
becomes
    %1 = npu.rows of %x : ... -> tensor<1x8x12x12xf32> {
      %0 = npu.conv2d %x, %w0 {npu.ring = 3 : i64} : ... -> tensor<1x8x14x14xf32>
      %2 = npu.conv2d %0, %w1 : ... -> tensor<1x8x12x12xf32>
      npu.yield %2
    }

The decision: the map between the layers never exists as a whole. Only the rows of it that one
output row needs are on chip (`npu.ring`). `when=needed` takes the layers whose IFM + OFM exceed the
SRAM, and neighbours until the run fits. `when=smallest` takes the layers with which the peak memory
of the chain is smallest. `when=always` takes every chain as a whole. Each value of each map is
computed once: a convolution with a fused pool whose windows overlap becomes convolution and pool
again, because the rows between them are the smallest buffer for the overlap.

On a machine with DMA, `when=needed` fuses layers if fewer bytes of maps are moved on and off the
chip then (`least_traffic.py`). A map on chip counts in patches, the network's input with the rows
that are needed at once, the parameters of a run as a whole. Layers that do not fit even so are not
changed; `npu-tile-loops` handles them.

A layer of two maps streams the one that a layer of the run computes; the other one is whole. So
attention runs row by row: scores, scale, mask and softmax of one query at a time.

Ops of other dialects that say how they compute (`npu_dialect/computing.py`) take part, each in an
`npu.computed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import RING
from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    AddOp,
    QuantizedAddOp,
    ReshapeOp,
)
from npu_dialect.npu.row_windows import regrouped, row_window
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import YieldOp, is_constant
from npu_dialect.target import machine_of
from npu_passes.graph.fuse_additions import addition_fusion
from npu_passes.rows.chain_sizes import (
    Streamed,
    apart,
    chain_of,
    discard,
    link_of,
)
from npu_passes.rows.other_dialects import as_layers, take_out
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_plans.modules.footprints import Storage
from npu_plans.rows.choose import needed, smallest_peak, whole
from npu_plans.rows.least_traffic import least_traffic


@dataclass(frozen=True)
class FuseRowsPass(RefusingPass):
    """Run consecutive layers row by row."""

    name = "npu-fuse-rows"

    when: Literal["needed", "smallest", "always"] = "needed"
    """Which layers: those that do not fit into the SRAM, those that set the peak, or all."""
    sram_bytes: int | None = None
    """The on-chip memory to fit into, in bytes. Default: the machine's."""
    overlays: bool = False
    """Whether `npu-overlay-maps` runs later, so that outputs may lie over inputs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the runs of each chain of layers, and put them into `npu.rows`."""
        machine = machine_of(op)
        sram = self.sram_bytes if self.sram_bytes is not None else sram_of(machine)
        if self.sram_bytes is not None and self.sram_bytes < 1:
            raise Refusal(f"expected sram-bytes of at least 1, got {self.sram_bytes}")
        if self.when == "needed" and sram is None:
            raise Refusal("expected the size of the SRAM: run npu-attach-target, or set sram-bytes")
        for block in blocks_of(op):
            others = as_layers(block)
            for chain in chains(block):
                for run in self.choose(chain, machine, sram or 0):
                    wrap(run)
            take_out(others, block)

    def choose(
        self, steps: list[Streamed], machine: Machine | None, sram: int
    ) -> list[list[Streamed]]:
        """The runs of a chain that the options ask for."""
        if machine is not None and machine.dma_channels and self.when == "needed":
            return [
                part[run.first : run.last + 1]
                for part in between_sums(steps)
                for run in least_traffic(chain_of(part, Storage.of(machine)), sram)
            ]
        units = units_of(steps)
        resident = machine is not None and machine.kernel_group > 0
        chain = [
            link_of(unit, steps[steps.index(unit[0]) :], weights=resident, overlays=self.overlays)
            for unit in units
        ]
        match self.when:
            case "needed":
                runs = needed(chain, sram)
            case "smallest":
                runs = smallest_peak(chain)
            case "always":
                runs = whole(chain)
        return [[step for unit in units[run.first : run.last + 1] for step in unit] for run in runs]


def blocks_of(module: ModuleOp) -> list[Block]:
    """The blocks in which layers may be fused: all but those of `npu.rows`."""
    return [
        block
        for op in module.walk()
        if not isinstance(op, RowsOp)
        for region in op.regions
        for block in region.blocks
    ]


def sram_of(machine: Machine | None) -> int | None:
    """The bytes of on-chip memory of a machine; None if there is no machine."""
    return None if machine is None else machine.planned_bytes


def chains(block: Block) -> list[list[Streamed]]:
    """Maximal chains of layers that can run row by row, each the only user of the one before."""
    found: list[list[Streamed]] = []
    tail: dict[SSAValue, list[Streamed]] = {}
    for op in block.ops:
        if not isinstance(op, LayerOp) or op.destination is not None:
            continue
        steps = [
            Streamed(op, index)
            for index, value in enumerate(op.inputs)
            if value in op.maps and has_rows(op, value)
        ]
        if not steps:
            continue
        ends = [regrouped(step.source) for step in steps]
        known = [end in tail and end.has_one_use() for end in ends]
        place = known.index(True) if True in known else 0
        chain = tail.pop(ends[place]) if True in known else list[Streamed]()
        if not chain:
            found.append(chain)
        chain.append(steps[place])
        tail[op.results[0]] = chain
    return found


def has_rows(op: LayerOp, value: SSAValue) -> bool:
    """Whether a layer, or both parts of one with overlapping pooling windows, can stream a map."""
    parts = apart(op)
    if len(parts) == 1:
        return row_window(op, value) is not None
    fits = all(row_window(part) is not None for part in parts)
    discard(op, parts)
    return fits


def between_sums(steps: Sequence[Streamed]) -> list[list[Streamed]]:
    """The parts of a chain between layers that read two computed maps element by element.

    A convolution may take in such a sum and overwrite the other map. `least_traffic` does not know
    that, and would choose runs that move more.
    """
    parts: list[list[Streamed]] = [[]]
    for step in steps:
        if step.layer.ELEMENTWISE and not all(map(is_constant, step.sides)):
            parts.append([])
        else:
            parts[-1].append(step)
    return [part for part in parts if part]


def units_of(steps: Sequence[Streamed]) -> list[list[Streamed]]:
    """The layers of a chain, a convolution together with the addition that it will take in.

    `npu-fuse-additions` comes later, but only for layers that do not run row by row.
    """
    units: list[list[Streamed]] = []
    taken: tuple[LayerOp, ...] = ()
    for step in steps:
        op = step.layer
        if isinstance(op, AddOp | QuantizedAddOp) and units:
            fusion = addition_fusion(op)
            if fusion is not None and fusion.conv is units[-1][-1].layer:
                taken = fusion.absorbed
        if op in taken:
            units[-1].append(step)
        else:
            units.append([step])
    return units


def wrap(run: Sequence[Streamed]) -> None:
    """Move a run of layers into `npu.rows`."""
    source, last = run[0].source, run[-1].layer
    value = source
    body: list[LayerOp] = []
    for step in run:
        op, parts = step.layer, apart(step.layer)
        if step is not run[0] and value.type != step.source.type:
            body.append(ReshapeOp(value, step.source.type))
            value = body[-1].results[0]
        for part in parts:
            streamed = step.source if len(parts) == 1 else part.maps[0]
            inputs = [value if each is streamed else each for each in part.inputs]
            new = part.rebuilt(inputs, part.results[0].type)
            value = new.results[0]
            body.append(new)
        value.name_hint = op.results[0].name_hint
        discard(op, parts)
    new_op = RowsOp(source, Region(Block([*body, YieldOp(value)])), value.type)
    for layer, behind in pairwise(new_op.layers):
        window = row_window(behind, new_op.streamed(behind))
        assert window is not None
        RING.set(layer, window.reach)
    Rewriter.insert_op(new_op, InsertPoint.before(last))
    new_op.result.name_hint = last.results[0].name_hint
    last.results[0].replace_all_uses_with(new_op.result)
    for step in reversed(run):
        erase_with_reshapes(step, first=step is run[0])


def erase_with_reshapes(step: Streamed, *, first: bool) -> None:
    """Erase a layer, and the reshapes in front of it unless it is the first of a run."""
    views: list[Operation] = []
    value, end = step.source, regrouped(step.source)
    while not first and value is not end:
        assert isinstance(value.owner, ReshapeOp)
        views.append(value.owner)
        value = value.owner.input
    for op in (step.layer, *views):
        Rewriter.erase_op(op)
