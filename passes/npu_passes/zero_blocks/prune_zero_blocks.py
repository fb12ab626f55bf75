"""`npu-prune-zero-blocks`: turn blocks of small elements into zeros in maps after a ReLU.

It changes the network's results; paper 003 (Zebra) trains networks for that. `where=all` works on
tensors: it prunes the map of every layer that ends with a ReLU (after `npu-fuse-conv-relu-pool`),
if another layer reads the map:

    %y = npu.conv2d %x, %w ... then relu : (...) -> tensor<1x8x32x32xf32>
    %z = npu.prune_zero_blocks %y block 4 threshold 0.1
        : tensor<1x8x32x32xf32> -> tensor<1x8x32x32xf32>

`where=spilled` works on tiles, between `npu-tile-loops{block-size=4}` and `npu-compress-spills`: a
map that is stored off chip is pruned in its tile buffer, before the transfer:

    npu.conv2d ins(...) outs(%tile : ...) ... then relu
    npu.prune_zero_blocks ins(%tile : ...) outs(%tile : ...) block 4 threshold 0.1
    %t = dma.start %tile to %part channel 3 : ...

A map is not pruned if a part of it is written by an op without a ReLU, or if a part cuts blocks. A
map that is pruned already is not changed.

A map of integers counts as the result of a ReLU if no element can be below its zero point, because
of a clamp or because of the range of the type. The threshold is a real number, so the layer must
have the scale and zero point of its map, as layers of imported networks do. A map without them is
not pruned:

    %y = npu.conv2d ... then requantize scales [0.01] zero_point -128 mode float
        {npu.scale = 0.05 : f32, npu.zero_point = -128 : i64}
    %z = npu.prune_zero_blocks %y block 4 threshold 0.1 scale 0.05 zero_point -128
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dma, dram
from npu_dialect.attributes import LAYER, RUNS, SCALE, VALUE, ZERO_POINT
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    ClampOp,
    DequantizeOp,
    PruneZeroBlocksOp,
    QuantizedAddOp,
    QuantizedBinaryOp,
    ReluOp,
    RequantizeOp,
)
from npu_dialect.npu.layers.epilogue import EpilogueOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.pointwise import ActivationAttr
from npu_dialect.npu.quantization import BYTE_TYPES, limits_of
from npu_dialect.npu.structure import provenance
from npu_passes.analysis.on_chip import functions
from npu_passes.analysis.views import root_of
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_passes.zero_blocks.spilled_maps import NotInBlocks, SpilledMap, has_whole_blocks

NAME = "npu-prune-zero-blocks"


@dataclass(frozen=True)
class PruneZeroBlocksPass(RefusingPass):
    """Prune blocks of maps whose elements are all below a threshold; see the module.

    Rejects a block size below 1 or larger than every map, and a threshold that is negative or not
    finite.
    """

    name = NAME

    block_size: int = 4
    """Rows and columns of a block."""
    threshold: float = 0.1
    """A block becomes zero if all of its elements are below this real number."""
    where: Literal["spilled", "all"] = "spilled"
    """`all`: maps that end with a ReLU, on tensors. `spilled`: tile buffers of off-chip maps."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Find all maps, then prune them."""
        if self.block_size < 1:
            raise Refusal(f"expected a block-size of at least 1, got {self.block_size}")
        if not (isfinite(self.threshold) and self.threshold >= 0):
            raise Refusal(f"expected a threshold of at least 0, got {self.threshold}")
        if self.where == "all":
            self.prune_all(list(rectified(op)))
            return
        stores = [each for function in functions(op) for each in spilled(function, self.block_size)]
        self.check_size([store.source for store in stores])
        for store in stores:
            self.prune_on_the_way(store)

    def check_size(self, maps: list[SSAValue]) -> None:
        """Check that a block is not larger than every map.

        Raises: PassFailedException if it is.
        """
        largest = max((max(shape_of(value)[2:]) for value in maps), default=self.block_size)
        if self.block_size > largest:
            raise Refusal(
                f"expected a block-size of at most {largest}, rows or columns of the largest map, "
                f"got {self.block_size}"
            )

    def prune_all(self, layers: list[LayerOp]) -> None:
        """Prune the results of layers on tensors."""
        self.check_size([layer.output for layer in layers])
        for layer in layers:
            value = layer.output
            new = self.pruned(layer, value, value.type)
            if layer.layer_name is not None:
                LAYER.set(new, f"{layer.layer_name}_zero_blocks")
            Rewriter.insert_op(new, InsertPoint.after(layer))
            new.results[0].name_hint = f"{value.name_hint or 'map'}_pruned"
            value.replace_uses_with_if(new.results[0], lambda use: use.operation is not new)

    def prune_on_the_way(self, store: dma.StartOp) -> None:
        """Prune a tile in front of the transfer that stores it off chip."""
        tile, writer = store.source, writer_of(store)
        assert writer is not None
        new = self.pruned(writer, tile, tile)
        new.attributes.update(provenance(writer))
        for key in (VALUE, RUNS, SCALE, ZERO_POINT):
            key.copy(writer, new)
        Rewriter.insert_op(new, InsertPoint.before(store))

    def pruned(
        self, writer: LayerOp, value: SSAValue, out: SSAValue | Attribute
    ) -> PruneZeroBlocksOp:
        """The layer that prunes what another one writes."""
        meaning = Meaning.of(writer)
        assert meaning is not None
        return PruneZeroBlocksOp(
            value,
            self.block_size,
            self.threshold,
            out,
            scale=meaning.scale,
            zero_point=meaning.zero,
        )


@dataclass(frozen=True)
class Meaning:
    """How elements of a map become real numbers: (q - zero) * scale; `scale` is None for floats."""

    scale: float | None = None
    zero: int = 0

    @staticmethod
    def of(op: LayerOp) -> Meaning | None:
        """That of the map that a layer writes; None if the layer lacks scale or zero point."""
        if map_type(op.output).get_element_type() == f32:
            return Meaning()
        scale, zero = SCALE.get(op), ZERO_POINT.get(op)
        if scale is None or zero is None:
            return None
        return Meaning(float(np.float32(scale)), zero)


def ends_with_relu(op: LayerOp) -> bool:
    """Whether no element that a layer writes can be below zero.

    The activation, a clamp, or the range of an integer type may be the reason.
    """
    meaning, element = Meaning.of(op), map_type(op.output).get_element_type()
    if meaning is None:
        return False
    least = -inf
    epilogue = op.parts if isinstance(op, EpilogueOp) else Epilogue()
    if (
        isinstance(op, RequantizeOp | QuantizedAddOp | QuantizedBinaryOp)
        or epilogue.requantize is not None
    ):
        least = limits_of(element)[0]
    activation = epilogue.activation if epilogue.addition is None else epilogue.sum_activation
    if isinstance(op, ReluOp):
        least = 0
    elif isinstance(op, ClampOp):
        least = op.low.value.data
    elif isinstance(activation, ActivationAttr):
        least = max(least, activation.bounds[0])
    elif activation is not None:
        return False
    return least >= meaning.zero


def is_prunable(op: LayerOp) -> bool:
    """Whether a layer's map is [N, C, H, W], of floats or of integers with known scale."""
    element = map_type(op.output).get_element_type()
    known = element == f32 or element in BYTE_TYPES
    return known and len(shape_of(op.output)) == 4 and Meaning.of(op) is not None


def rectified(module: ModuleOp) -> Iterator[LayerOp]:
    """The layers on tensors that end with a ReLU, and whose map another layer reads.

    A layer that only prunes or dequantizes the map does not count as a reader.
    """
    for op in module.walk():
        if not isinstance(op, LayerOp) or op.destination is not None or not ends_with_relu(op):
            continue
        users = [use.operation for use in op.output.uses]
        last = ReturnOp | PruneZeroBlocksOp | DequantizeOp
        read = any(not isinstance(user, last) for user in users)
        if read and is_prunable(op):
            yield op


def spilled(function: Operation, block: int) -> Iterator[dma.StartOp]:
    """The transfers that store maps off chip, of those maps that can be pruned before it."""
    for alloc in [op for op in function.walk() if isinstance(op, dram.AllocOp)]:
        try:
            found = SpilledMap.of(alloc, function)
        except NotInBlocks:
            continue
        values: dict[object, list[dma.StartOp]] = {}
        for store in found.stores:
            writer = writer_of(store)
            name = None if writer is None else VALUE.get(writer)
            values.setdefault(name, []).append(store)
        for stores in values.values():
            if all(can_prune(store, alloc.buffer, block) for store in stores):
                yield from stores


def can_prune(store: dma.StartOp, whole: SSAValue, block: int) -> bool:
    """Whether a transfer stores whole blocks that a layer with a ReLU has written.

    `whole`: the off-chip buffer of the map. `block`: rows and columns of a block.
    """
    writer = writer_of(store)
    return bool(
        writer is not None
        and ends_with_relu(writer)
        and is_prunable(writer)
        and has_whole_blocks(store.target, whole, block)
    )


def writer_of(store: dma.StartOp) -> LayerOp | None:
    """The last layer before a transfer in the same block that writes what it moves, if any."""
    root, op = root_of(store.source), store.prev_op
    while op is not None:
        for inner in reversed(list(op.walk())):
            if isinstance(inner, LayerOp) and root_of(inner.output) is root:
                return inner
        op = op.prev_op
    return None
