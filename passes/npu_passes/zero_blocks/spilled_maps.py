"""Finds the transfers that write and read parts of maps off the chip, and the layers behind them.

Level of IR: layers on tiles and transfers, before double buffers. An analysis: nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, i8
from xdsl.ir import Operation, SSAValue

from npu_dialect import dma, dram
from npu_dialect.attributes import BIT_PLANES, VALUE, ZERO_BLOCKS, ZERO_POINT
from npu_dialect.keys import Key
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    DequantizeOp,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizedBinaryOp,
    RequantizeOp,
)
from npu_dialect.npu.layers.epilogue import EpilogueOp
from npu_dialect.npu.maps import Map, shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.analysis.affine_index import Linear, extents
from npu_passes.analysis.views import root_of
from npu_passes.support.loop_builder import memref_type
from npu_plans.zero_blocks.codes import plane_zero


class NotInBlocks(Exception):
    """A map cannot move in blocks; the message says why."""


@dataclass(frozen=True)
class SpilledMap:
    """A map [N, C, H, W] off the chip, and the transfers that write and read parts of it.

    `writers` are the layers that write the tile buffers of the stores.
    """

    alloc: dram.AllocOp
    stores: tuple[dma.StartOp, ...]
    loads: tuple[dma.StartOp, ...]
    writers: tuple[LayerOp, ...]

    @staticmethod
    def of(alloc: dram.AllocOp, function: Operation) -> SpilledMap:
        """Follow all uses of a map.

        Raises: NotInBlocks if it is not [N, C, H, W], if an op other than a transfer of a part uses
            it, or if it moves in blocks already.
        """
        if len(shape_of(alloc.buffer)) != 4:
            raise NotInBlocks("it has no rows and columns")
        stores: list[dma.StartOp] = []
        loads: list[dma.StartOp] = []
        for value, op in transfers(alloc.buffer):
            if op.block is not None:
                raise NotInBlocks("it moves in blocks already")
            (stores if op.target is value else loads).append(op)
        tiles = [root_of(op.source) for op in stores]
        writers = tuple(each for each in layers(function) if root_of(each.output) in tiles)
        return SpilledMap(alloc, tuple(stores), tuple(loads), writers)

    @property
    def name(self) -> str:
        """The name of the map in the model, or else its name in the IR."""
        names = (VALUE.get(op) for op in self.writers)
        return next((name for name in names if name), self.alloc.buffer.name_hint or "a map")

    @property
    def last_writers(self) -> tuple[LayerOp, ...]:
        """The writers whose tiles are stored as they are.

        Layers that work in place, such as additions and pruning, may follow another writer in the
        block of the store. In a loop whose stores are one round late, they follow the store.
        """
        found: dict[LayerOp, None] = {}
        for store in self.stores:
            tile = root_of(store.source)
            own = [op for op in self.writers if root_of(op.output) is tile]
            beside = [op for op in own if op.parent is store.parent]
            before = [op for op in beside if op.is_before_in_block(store)]
            found.update(dict.fromkeys((before or beside)[-1:] or own))
        return tuple(found)

    @property
    def zero(self) -> int:
        """The element that stands for zero: the zero point of quantised maps, else 0.

        If layers with other zero points write to the map one after the other, it is that of most
        elements. Results would be right with any element, but fewer blocks would be left out.
        """
        if memref_type(self.alloc.buffer).element_type not in BYTE_TYPES:
            return 0
        points = Counter[int]()
        for op in self.last_writers:
            if (point := zero_of(op)) is not None:
                points[point] += written_by(op)
        return points.most_common(1)[0][0] if points else 0

    @property
    def plane_zero(self) -> int:
        """The zero of the map's bit planes."""
        return plane_zero(self.zero, middle_of(memref_type(self.alloc.buffer)) or 0)

    @property
    def predicted(self) -> float | None:
        """The expected share of elements in zero blocks; None if a writer has no such number."""
        is_bytes = memref_type(self.alloc.buffer).element_type in BYTE_TYPES
        return self.mean(ZERO_BLOCKS, lambda zero: not is_bytes or zero == self.zero, 0.0)

    @property
    def predicted_planes(self) -> float | None:
        """The expected bytes as bit planes for each byte; None if a writer has no such number."""
        middle = middle_of(memref_type(self.alloc.buffer)) or 0
        return self.mean(BIT_PLANES, lambda zero: plane_zero(zero, middle) == self.plane_zero, 1.0)

    def mean(self, key: Key[float], fits: Callable[[int], bool], other: float) -> float | None:
        """The mean of the writers' numbers over their elements; None if one has no number.

        A number holds for the writer's own zero. If that does not fit the map's, it is `other`.
        """
        found: list[tuple[float, int]] = []
        for op in self.last_writers:
            number = key.get(op)
            if number is None:
                return None
            found.append((number if fits(zero_of(op) or 0) else other, written_by(op)))
        total = sum(weight for _, weight in found)
        return sum(number * weight for number, weight in found) / total if total else None


def written_by(op: LayerOp) -> int:
    """The elements that a layer writes in one inference."""
    return op.repetitions * op.output_type.element_count()


def middle_of(type_: Map) -> int | None:
    """The byte 128 as an element of a map: -128 or 128; None for elements other than bytes."""
    if type_.element_type not in BYTE_TYPES:
        return None
    return -128 if type_.element_type == i8 else 128


def transfers(value: SSAValue) -> Iterator[tuple[SSAValue, dma.StartOp]]:
    """The transfers of parts of a buffer, each with its part.

    Raises: NotInBlocks for any other use.
    """
    for use in value.uses:
        op = use.operation
        if isinstance(op, memref.SubviewOp):
            if extents(op) is None or len(shape_of(op.result)) != 4:
                raise NotInBlocks("a part of it is no box")
            yield from transfers(op.result)
        elif isinstance(op, dma.StartOp):
            yield value, op
        elif not isinstance(op, dma.ReadsOp | dma.WritesOp):
            other = "it is used in another shape" if op.results else f"{op.name} reaches it"
            raise NotInBlocks(other)


def layers(function: Operation) -> Iterator[LayerOp]:
    """The layers of a function in destination style."""
    for op in function.walk():
        if isinstance(op, LayerOp) and op.destination is not None:
            yield op


def zero_of(op: LayerOp) -> int | None:
    """The zero point of a layer's result; None if it has none."""
    if (point := ZERO_POINT.get(op)) is not None:
        return point
    if isinstance(op, EpilogueOp):
        if op.addition is not None and op.addition.is_quantised:
            return int_values(op.addition.zero_points)[-1]
        if op.requantize is not None:
            return op.requantize.offset
    if isinstance(op, RequantizeOp | QuantizedAddOp | QuantizedAvgPool2dOp | QuantizedBinaryOp):
        return int_values(op.zero_points)[-1]
    if isinstance(op, DequantizeOp):
        return None
    point = op.properties.get("zero_point")
    return point.value.data if isinstance(point, IntegerAttr) else None


def has_whole_blocks(part: SSAValue, whole: SSAValue, block: int) -> bool:
    """Whether a part of a map, a view of `whole`, cuts no blocks in any step of the loops."""
    return is_whole(part, whole, (block, block))


def has_whole_runs(part: SSAValue, whole: SSAValue) -> bool:
    """Whether a part of a map cuts no runs of bit planes."""
    return is_whole(part, whole, (1, dma.RUN))


def is_whole(part: SSAValue, whole: SSAValue, block: tuple[int, int]) -> bool:
    """Whether a part of a map cuts no blocks of so many rows and columns."""
    sizes, places = shape_of(part), [Linear()] * 4
    while part is not whole:
        view = part.owner
        assert isinstance(view, memref.SubviewOp)
        box = extents(view)
        assert box is not None
        places = [place.plus(first) for place, (first, _) in zip(places, box, strict=True)]
        part = view.source
    axes = list(zip(places, sizes, shape_of(whole), strict=True))[2:]
    return all(is_aligned(*axis, unit) for axis, unit in zip(axes, block, strict=True))


def is_aligned(place: Linear, size: int, extent: int, block: int) -> bool:
    """Whether [place, place + size) begins with a block, and ends with one or with the map."""
    if place.constant % block or any(factor % block for factor in place.factors.values()):
        return False
    return size % block == 0 or (not place.factors and place.constant + size == extent)
