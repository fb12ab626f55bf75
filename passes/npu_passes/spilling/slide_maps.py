"""`npu-slide-maps`: let layers write over their input, block by block of rows (on buffers).

Level of IR: layers in destination style, maps in `sram.alloc`s, behind `npu-split-lives` and before
`npu-spill-maps`. A convolution or pool needs its input and its output on chip. If nothing else
reads the input any more, and both have one shape, they share a buffer with some rows more:

    %a, %b = sram.alloc : memref<1x8x32x32xi8>     %s = sram.alloc : memref<1x8x37x32xi8>
    npu.conv2d ins(%a, %w) outs(%b)           =>   %a, %b = rows 5 to 36 and 0 to 31 of %s
      (3x3, one row of pads)                       npu.conv2d ins(rows 0 to 4 of %a)
                                                              outs(rows 0 to 3 of %b)
                                                   npu.conv2d ins(rows 3 to 8 of %a)
                                                              outs(rows 4 to 7 of %b) ...

The output lies a block of rows, and the rows that a window reaches, in front of the input, so a
block overwrites only what no later one reads. The next layer writes back, from the last rows to the
first ones. Kernels are copied on chip, once for all blocks. Where the map is part of a larger one
off the chip, each block is stored when it is done.

The decision: chains of such layers with maps that are large, or short-lived (`npu_plans/spills/
slides.py`), in functions whose maps do not fit. They stay as they were unless fewer bytes leave the
chip by the program of `npu-spill-maps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.attributes import MOVES
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import SramSpace, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, PoolOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_passes.analysis.on_chip import functions, in_space
from npu_passes.analysis.views import is_view
from npu_passes.overlap.split_transfers import slice_of
from npu_passes.spilling.keep_parts import copied
from npu_passes.spilling.slides_reader import ROWS, read_links
from npu_passes.spilling.spill_maps import spilled_bytes
from npu_passes.support.loop_builder import LoopBuilder, memref_type
from npu_passes.support.refuse import DoesNotFit, Refusal, RefusingPass
from npu_passes.tiling.layer_spaces import TileForm, tile_layer
from npu_plans.spills.slides import Slide, slides_of


@dataclass(frozen=True)
class SlideMapsPass(RefusingPass):
    """Let layers write over their input; see the module.

    Without a machine with DMA it does nothing.
    """

    name = "npu-slide-maps"

    block: int = 4
    """How many rows a layer computes at once."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose for every function, then rewrite.

        Raises: PassFailedException if `block` is below 1.
        """
        if self.block < 1:
            raise Refusal(f"expected a block of at least 1, got {self.block}")
        machine = machine_of(op)
        if machine is None or not machine.dma_channels:
            return
        for function in functions(op):
            if saves_bytes(function, machine, self.block):
                slide_maps(function, machine, self.block)


def saves_bytes(function: Operation, machine: Machine, block: int) -> bool:
    """Whether fewer bytes leave the chip with slides; none do if all maps fit as they are."""
    try:
        if not chosen(function, machine, block) or not (given := spilled_bytes(function, machine)):
            return False
        slid = function.clone()
        slide_maps(slid, machine, block)
        return spilled_bytes(slid, machine) < given
    except DoesNotFit:
        return False


def chosen(
    function: Operation, machine: Machine, block: int
) -> list[tuple[Slide, list[Conv2dOp | PoolOp]]]:
    """The slides of a function, with the layers of each."""
    found = read_links(function)
    slides = slides_of(tuple(found.layers), found.lives, machine.planned_bytes, block)
    return [(slide, [found.layers[link] for link in slide.links]) for slide in slides]


def slide_maps(function: Operation, machine: Machine, block: int) -> None:
    """Let the maps of one function share buffers."""
    for slide, layers in chosen(function, machine, block):
        write(layers, slide.spare, block)


def write(layers: Sequence[Conv2dOp | PoolOp], spare: int, block: int) -> None:
    """Let layers, each of which reads what the one before has written, share one buffer.

    It has `spare` rows more than a map.
    """
    source = layers[0].operands[0]
    assert isinstance(source.owner, Operation)
    b = LoopBuilder(source.owner)
    type_ = memref_type(source)
    shape = list(type_.get_shape())
    rows, shape[ROWS] = shape[ROWS], shape[ROWS] + spare
    whole = AllocOp(MemRefType(type_.element_type, shape, type_.layout, type_.memory_space))
    b.insert(whole, source.name_hint)
    upper, lower = (slice_of(b, whole.buffer, ROWS, first, rows) for first in (0, spare))
    place(source, lower)
    for number, layer in enumerate(layers):
        upwards = number % 2 == 0
        target, view = layer.operands[-1], upper if upwards else lower
        in_blocks(layer, view, block, upwards=upwards)
        place(target, view)


def place(map_: SSAValue, view: SSAValue) -> None:
    """Let all that uses a map use a view in its place; its allocation goes."""
    alloc = map_.owner
    assert isinstance(alloc, Operation)
    map_.replace_all_uses_with(view)
    Rewriter.erase_op(alloc)


def in_blocks(layer: Conv2dOp | PoolOp, target: SSAValue, block: int, *, upwards: bool) -> None:
    """Compute a layer in blocks of rows: the first rows first, if it writes `upwards`."""
    b = LoopBuilder(layer)
    top, _, bottom, _ = int_values(layer.pads)
    rows = shape_of(target)[ROWS]
    groups = layer.group_count if isinstance(layer, Conv2dOp) else 1
    source, *others = layer.inputs
    learned = {each: on_chip(b, layer, each) for each in layer.parameter_inputs}
    store = store_behind(layer)
    firsts = range(0, rows, block)
    for first in firsts if upwards else reversed(firsts):
        end = min(rows, first + block)
        low, high = max(0, first - top), min(rows, end + bottom)
        pads = ((max(0, top - first), max(0, end + bottom - rows)),)
        form = TileForm(pads, None, groups, opens=True, closes=True, channel=0)
        inputs = [slice_of(b, source, ROWS, low, high - low)]
        inputs += [
            learned.get(each) or slice_of(b, each, ROWS, first, end - first) for each in others
        ]
        out = slice_of(b, target, ROWS, first, end - first)
        b.insert(tile_layer(layer, form, inputs, out))
        if store is not None:
            part = slice_of(b, store.destination, ROWS, first, end - first)
            b.insert(copied(out, part, layer))
    if store is not None:
        Rewriter.erase_op(store)
    Rewriter.erase_op(layer)


def store_behind(layer: LayerOp) -> memref.CopyOp | None:
    """The copy of a layer's output into a part of a larger map, if it stands right behind."""
    op = layer.next_op
    while op is not None and is_view(op):
        op = op.next_op
    if not isinstance(op, memref.CopyOp) or not MOVES.is_on(op):
        return None
    return op if op.source is layer.operands[-1] else None


def on_chip(b: LoopBuilder, layer: LayerOp, parameters: SSAValue) -> SSAValue:
    """Copy kernels or biases on chip, so that no block has to load them again."""
    if in_space(parameters, SramSpace()):
        return parameters
    type_ = memref_type(parameters)
    alloc = AllocOp(MemRefType(type_.element_type, type_.shape, memory_space=SramSpace()))
    b.insert(alloc, parameters.name_hint)
    b.insert(copied(parameters, alloc.buffer, layer))
    return alloc.buffer
