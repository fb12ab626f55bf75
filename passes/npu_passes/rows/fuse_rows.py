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
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike

from npu_dialect.arguments import argument_attributes, is_state
from npu_dialect.attributes import LAYER, RING, VALUE
from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    AddOp,
    AvgPool2dOp,
    Conv2dOp,
    MaxPool2dOp,
    QuantizedAddOp,
    ReshapeOp,
    ViewOp,
)
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_dialect.npu.row_windows import RowWindow, reads_row, regrouped, row_axis, row_window
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import YieldOp
from npu_dialect.target import machine_of
from npu_passes.buffers.buffer_plan import only_returned
from npu_passes.graph.fuse_additions import addition_fusion
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_plans.modules.footprints import Storage
from npu_plans.rows.choose import Link, needed, smallest_peak, whole
from npu_plans.rows.least_traffic import Chain, ChainLayer, ChainMap, least_traffic


@dataclass(frozen=True)
class Streamed:
    """A layer of a chain; `index` is the position in its inputs of the map that it streams."""

    layer: LayerOp
    index: int

    @property
    def source(self) -> SSAValue:
        """The map that the layer streams."""
        return self.layer.inputs[self.index]

    @property
    def sides(self) -> list[SSAValue]:
        """The other maps."""
        return [value for value in self.layer.maps if value is not self.source]

    @property
    def parameters(self) -> list[SSAValue]:
        """What lies in memory for parameters: these, and sides that are constants."""
        return [*self.layer.parameter_inputs, *filter(is_constant, self.sides)]


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
                    wrap(run)

    def choose(
        self, steps: list[Streamed], machine: Machine | None, sram: int
    ) -> list[list[Streamed]]:
        """The runs of a chain that the options ask for."""
        if machine is not None and machine.dma_channels and self.when == "needed":
            found = least_traffic(chain_of(steps, Storage.of(machine)), sram)
            return [steps[run.first : run.last + 1] for run in found]
        units = units_of(steps)
        resident = machine is not None and machine.kernel_group > 0
        chain = [link_of(unit, steps[steps.index(unit[0]) :], weights=resident) for unit in units]
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
    return None if machine is None else machine.sram_bytes


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


def link_of(unit: Sequence[Streamed], rest: Sequence[Streamed], *, weights: bool) -> Link:
    """The sizes of a layer in bytes; `weights`: whether its parameters must be on chip.

    `rest`: the layer and those behind it. Their further maps are alive while it runs, unless they
    are computed later. A slice keeps its whole buffer alive.
    """
    windows = [window for step in unit for window in windows_of(step)]
    parameters = sum(bytes_of(map_type(value)) for step in unit for value in step.parameters)
    source = buffer_of(unit[0].source)
    sides: dict[Hashable, int] = {
        buffer: bytes_of(map_type(buffer))
        for each in rest
        for buffer in map(buffer_of, each.sides)
        if not is_constant(buffer) and is_ready(buffer, unit[0].layer)
    }
    sides.pop(source, None)
    return Link(
        bytes_of(map_type(source)),
        bytes_of(map_type(unit[-1].layer.results[0])),
        windows[0][1],
        sum(size for _, size in windows[1:]),
        parameters if weights else 0,
        not windows[0][0].padded,
        source=source,
        sides=sides,
        in_place=any(overwrites_a_side(step) for step in unit),
    )


def overwrites_a_side(step: Streamed) -> bool:
    """Whether a layer may overwrite a further map that nothing reads later."""
    op = step.layer
    places = [op.inputs[index] for index in op.in_place_inputs()]
    return any(
        value in places
        and value.type == op.results[0].type
        and isinstance(value.owner, Operation)
        and not is_constant(value)
        and all(use.operation is op or use.operation.is_before_in_block(op) for use in value.uses)
        for value in step.sides
    )


def buffer_of(value: SSAValue) -> SSAValue:
    """The map in whose buffer a map lies: itself, unless it is a view."""
    while isinstance(value.owner, ViewOp):
        value = value.owner.input
    return value


def is_ready(value: SSAValue, layer: LayerOp) -> bool:
    """Whether a map is computed before a layer runs."""
    owner = value.owner
    return isinstance(owner, Block) or owner.is_before_in_block(layer)


def windows_of(step: Streamed) -> list[tuple[RowWindow, int]]:
    """The row windows of a layer, or of its two parts, each with the bytes of its rows."""
    parts = apart(step.layer)
    if len(parts) == 1:
        return [window_bytes(step.layer, step.source)]
    found = [window_bytes(part, part.maps[0]) for part in parts]
    discard(step.layer, parts)
    return found


def is_constant(value: SSAValue) -> bool:
    """Whether a map is a constant."""
    return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)


def chain_of(steps: Sequence[Streamed], storage: Storage) -> Chain:
    """The sizes in bytes of a chain of layers, for a machine on which maps can leave the chip."""
    first, last = steps[0].source, steps[-1].layer.results[0]
    argument = isinstance(first, BlockArgument) and isinstance(first.owner.parent_op(), FuncOp)
    outside = argument and not is_state(argument_attributes(first))
    maps = [
        chain_map(first, storage, outside=outside),
        *(chain_map(step.layer.results[0], storage, outside=False) for step in steps[:-1]),
        chain_map(last, storage, outside=only_returned(last)),
    ]
    return Chain(maps, [chain_layer(step, storage) for step in steps])


def chain_map(value: SSAValue, storage: Storage, *, outside: bool) -> ChainMap:
    """The sizes of a map in bytes; `outside`: it is always off chip."""
    shape, moved = shape_of(value), bytes_of(map_type(value))
    full = storage.map_bytes(shape, moved // max(1, prod(shape))).full
    return ChainMap(full, moved, moved // max(1, shape[row_axis(value)]), outside)


def chain_layer(step: Streamed, storage: Storage) -> ChainLayer:
    """The bytes that a layer needs on chip beside its maps.

    A layer that runs by itself has one group of kernels on chip at a time, and all biases, other
    vectors and further maps. In a run, one row of a further map is enough for some layers.
    """
    op, windows = step.layer, windows_of(step)
    weights = partial = 0
    for value in (*op.parameter_inputs, *step.sides):
        size, shape = bytes_of(map_type(value)), shape_of(value)
        weights += size // shape[-2] if reads_row(op, step.source, value) else size
        if value in op.parameter_inputs and len(shape) > 1 and shape[0]:
            size = storage.part(shape[0], max(1, storage.kernel_group)) * (size // shape[0])
        partial += size
    dies = step.source.has_one_use() and not isinstance(step.source, BlockArgument)
    return ChainLayer(
        windows[0][1],
        sum(size for _, size in windows[1:]),
        weights,
        partial,
        not windows[0][0].padded,
        op.ELEMENTWISE and dies,
    )


def window_bytes(layer: LayerOp, value: SSAValue) -> tuple[RowWindow, int]:
    """The row window of a layer that is known to have one, and the bytes of its rows."""
    rows, axis = row_window(layer, value), row_axis(value)
    assert rows is not None
    return rows, bytes_of(map_type(value)) // shape_of(value)[axis] * rows.reach


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
