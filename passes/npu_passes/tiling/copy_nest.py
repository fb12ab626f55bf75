"""Builds the loops of a layer over tiles that the core copies to fast memory.

Level of IR: in: one layer on buffers; out: `scf.for` over tiles, in which `memref.copy` brings
parts of maps to buffers of their size, and the layer reads these. A buffer has its axes in the
order of the map, and no gaps, so that the layer gets the kernel that it would get in place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Operation, SSAValue

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.structure import provenance
from npu_dialect.sram import AllocOp
from npu_passes.buffers.spaces import dense_strides
from npu_passes.support.loop_builder import LoopBuilder, memref_type
from npu_passes.tiling.stage import Staging
from npu_passes.tiling.tile_nest import Nest, Tile


@dataclass(frozen=True, kw_only=True)
class CopyNest(Nest):
    """The nest of a layer whose tiles are copied to the memory `space`."""

    space: Attribute

    def inside(self, tile: Tile, level: int) -> None:
        """Build the next loop; or, in the innermost one, the copies and the layer on the tile."""
        cut = self.staging.cut
        if level + 1 < len(cut.order):
            for segment in cut.segments(cut.order[level + 1]):
                self.one_segment(tile, level + 1, segment)
            return
        copies: dict[int, SSAValue] = {}
        for buffer in self.staging.buffers:
            copies |= dict.fromkeys(buffer.operands, self.copied(tile, buffer.operands[0]))
        replace(self, buffers=copies).compute(tile)

    def copied(self, tile: Tile, index: int) -> SSAValue:
        """Build the copy of the part of an operand that a tile needs."""
        whole = self.op.operands[index]
        pieces = {name: place.piece for name, place in tile.items()}
        axes = self.staging.cut.space.operands[index]
        sizes = [axis.span(pieces).size for axis in axes]
        at = [self.low(axis, tile, pieces) for axis in axes]
        part = self.b.window(whole, at, sizes, range(len(sizes)), "part")
        made = AllocOp(tile_type(memref_type(part), self.space))
        target = self.b.insert(made, f"{whole.name_hint or 'map'}_tile").buffer
        copy = self.b.insert(memref.CopyOp(part, target))
        copy.attributes |= provenance(self.op)
        return target


def tile_type(part: MemRefType[Attribute], space: Attribute) -> MemRefType[Attribute]:
    """The type of a buffer with the shape of a part, and with its axes in the same order."""
    shape, steps = part.get_shape(), strides_like(part)
    dense = steps == dense_strides(shape)
    layout = NoneAttr() if dense else StridedLayoutAttr(steps)
    return MemRefType(part.element_type, shape, layout, space)


def strides_like(part: MemRefType[Attribute]) -> list[int]:
    """The strides of a buffer without gaps whose axes are in the order of those of a part.

    Of two axes with the same stride, one has a single element; it is the inner one.
    """
    shape, given = part.get_shape(), [step or 0 for step in part.get_strides() or ()]
    order = sorted(range(len(shape)), key=lambda axis: (-given[axis], shape[axis] == 1, axis))
    steps = [0] * len(shape)
    for place, axis in enumerate(order):
        steps[axis] = prod(shape[inner] for inner in order[place + 1 :])
    return steps


def build_copies(op: LayerOp, staging: Staging, space: Attribute) -> Operation:
    """Build the nest of a layer in front of it; returns the layer on its first tile."""
    nest = CopyNest(
        LoopBuilder(op), op, staging, {}, None, 1, counted=False, chains={}, space=space
    )
    nest.build()
    return nest.made[0]
