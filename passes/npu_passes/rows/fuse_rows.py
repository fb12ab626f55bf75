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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import LAYER, RING, VALUE
from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import AvgPool2dOp, Conv2dOp, MaxPool2dOp
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_dialect.npu.rows import RowsOp, RowWindow, row_window
from npu_dialect.npu.structure import YieldOp
from npu_dialect.target import machine_of
from npu_passes.buffers.buffer_plan import only_returned
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_plans.modules.footprints import Storage
from npu_plans.rows.choose import LayerRun, Link, needed, smallest_peak, whole
from npu_plans.rows.least_traffic import Chain, ChainLayer, ChainMap, least_traffic


@dataclass(frozen=True)
class FuseRowsPass(RefusingPass):
    """Run consecutive layers row by row."""

    name = "npu-fuse-rows"

    when: Literal["needed", "smallest", "always"] = "needed"
    """Which layers: those that do not fit into the SRAM, those that set the peak, or all."""
    sram_bytes: int | None = None
    """The on-chip memory to fit into, in bytes. Default: the machine's."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the runs of each chain of layers, and put them into `npu.rows`."""
        machine = machine_of(op)
        sram = self.sram_bytes if self.sram_bytes is not None else sram_of(machine)
        if self.when == "needed" and sram is None:
            raise Refusal("expected the size of the SRAM: run npu-attach-target, or set sram-bytes")
        for block in blocks_of(op):
            for chain in chains(block):
                for run in self.choose(chain, machine, sram or 0):
                    wrap(chain[run.first : run.last + 1])

    def choose(self, layers: list[LayerOp], machine: Machine | None, sram: int) -> list[LayerRun]:
        """The runs of a chain that the options ask for."""
        if machine is not None and machine.dma_channels and self.when == "needed":
            return least_traffic(chain_of(layers, Storage.of(machine)), sram)
        resident = machine is not None and machine.kernel_group > 0
        chain = [link_of(layer, weights=resident) for layer in layers]
        match self.when:
            case "needed":
                return needed(chain, sram)
            case "smallest":
                return smallest_peak(chain)
            case "always":
                return whole(chain)


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
    return None if machine is None else machine.sram_bytes


def chains(block: Block) -> list[list[LayerOp]]:
    """Maximal chains of layers that can run row by row, each the only user of the one before."""
    found: list[list[LayerOp]] = []
    tail: dict[SSAValue, list[LayerOp]] = {}
    for op in block.ops:
        if not isinstance(op, LayerOp) or op.destination is not None or not has_rows(op):
            continue
        source = op.maps[0]
        chain = tail.pop(source, None) if source.has_one_use() else None
        if chain is None:
            chain = list[LayerOp]()
            found.append(chain)
        chain.append(op)
        tail[op.results[0]] = chain
    return found


def has_rows(op: LayerOp) -> bool:
    """Whether a layer, or both parts of one with overlapping pooling windows, has row windows."""
    parts = apart(op)
    fits = all(row_window(part) is not None for part in parts)
    discard(op, parts)
    return fits


def apart(op: LayerOp) -> list[LayerOp]:
    """The two parts, convolution and pool, of a convolution with overlapping pooling windows.

    Any other layer is its only part.

    The new ops are not in any block yet.
    """
    if not isinstance(op, Conv2dOp) or op.pool is None or not op.pool.overlaps:
        return [op]
    type_ = map_type(op.results[0])
    conv = op.rebuilt(op.inputs, type(type_)(type_.get_element_type(), op.conv_shape()))
    conv.change_epilogue(pool=None, overlap=None)
    VALUE.drop(conv)
    kinds = MaxPool2dOp if op.pool.is_max else AvgPool2dOp
    pool = kinds(conv.results[0], op.pool, type_)
    if op.layer_name is not None:
        LAYER.set(pool, f"{op.layer_name}_pool")
    VALUE.copy(op, pool)
    return [conv, pool]


def discard(op: LayerOp, parts: list[LayerOp]) -> None:
    """Erase the parts of an op that `apart` has created."""
    for part in reversed(parts):
        if part is not op:
            part.erase()


def link_of(op: LayerOp, *, weights: bool) -> Link:
    """The sizes of a layer in bytes; `weights`: whether its parameters must be on chip."""
    parts = apart(op)
    windows = [window_bytes(part) for part in parts]
    first = window(parts[0])
    parameters = sum(bytes_of(map_type(value)) for value in op.parameter_inputs)
    link = Link(
        bytes_of(map_type(op.maps[0])),
        bytes_of(map_type(op.results[0])),
        windows[0],
        sum(windows[1:]),
        parameters if weights else 0,
        not first.padded,
    )
    discard(op, parts)
    return link


def chain_of(layers: Sequence[LayerOp], storage: Storage) -> Chain:
    """The sizes in bytes of a chain of layers, for a machine on which maps can leave the chip."""
    first, last = layers[0].maps[0], layers[-1].results[0]
    outside = isinstance(first, BlockArgument) and isinstance(first.owner.parent_op(), FuncOp)
    maps = [
        chain_map(first, storage, outside=outside),
        *(chain_map(layer.results[0], storage, outside=False) for layer in layers[:-1]),
        chain_map(last, storage, outside=only_returned(last)),
    ]
    return Chain(maps, [chain_layer(layer, storage) for layer in layers])


def chain_map(value: SSAValue, storage: Storage, *, outside: bool) -> ChainMap:
    """The sizes of a map in bytes; `outside`: it is always off chip."""
    shape, moved = shape_of(value), bytes_of(map_type(value))
    full = storage.map_bytes(shape, moved // max(1, prod(shape))).full
    return ChainMap(full, moved, moved // max(1, shape[2]), outside)


def chain_layer(op: LayerOp, storage: Storage) -> ChainLayer:
    """The bytes that a layer needs on chip beside its maps.

    A layer that runs by itself has one group of kernels on chip at a time, and all biases and other
    vectors.
    """
    parts = apart(op)
    windows = [window_bytes(part) for part in parts]
    direct = not window(parts[0]).padded
    discard(op, parts)
    weights = partial = 0
    for value in op.parameter_inputs:
        size, shape = bytes_of(map_type(value)), shape_of(value)
        weights += size
        if len(shape) > 1 and shape[0]:
            size = storage.part(shape[0], max(1, storage.kernel_group)) * (size // shape[0])
        partial += size
    dies = op.maps[0].has_one_use() and not isinstance(op.maps[0], BlockArgument)
    return ChainLayer(
        windows[0], sum(windows[1:]), weights, partial, direct, op.ELEMENTWISE and dies
    )


def window(layer: LayerOp) -> RowWindow:
    """The row window of a layer that is known to have one."""
    rows = row_window(layer)
    assert rows is not None
    return rows


def window_bytes(layer: LayerOp) -> int:
    """Bytes of the input rows that a layer needs at once."""
    type_ = map_type(layer.maps[0])
    height = shape_of(layer.maps[0])[2]
    return bytes_of(type_) // height * window(layer).reach


def wrap(run: list[LayerOp]) -> None:
    """Move a run of layers into `npu.rows`."""
    source, last = run[0].maps[0], run[-1]
    value = source
    rows: list[LayerOp] = []
    for op in run:
        parts = apart(op)
        for part in parts:
            inputs = [value if each is part.maps[0] else each for each in part.inputs]
            new = part.rebuilt(inputs, part.results[0].type)
            value = new.results[0]
            rows.append(new)
        value.name_hint = op.results[0].name_hint
        discard(op, parts)
    for layer, behind in pairwise(rows):
        RING.set(layer, window(behind).reach)
    new_op = RowsOp(source, Region(Block([*rows, YieldOp(value)])), value.type)
    Rewriter.insert_op(new_op, InsertPoint.before(last))
    new_op.result.name_hint = last.results[0].name_hint
    last.results[0].replace_all_uses_with(new_op.result)
    for op in reversed(run):
        Rewriter.erase_op(op)
