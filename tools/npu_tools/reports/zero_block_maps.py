"""Which blocks of which maps are zero: a network is interpreted, and its maps are looked at.

The level of IR is layers on tensors, fused as for transfers in blocks: what is a map of its own
there can lie off the chip. With a threshold, `npu-prune-zero-blocks{where=all}` comes first, and
layers read what is left.

    %y = npu.conv2d %x, %w ... then relu {npu.layer = "c1"} : ... -> tensor<1x8x32x32xf32>
is, with blocks of 4 x 4,
    BlockMap("c1", "npu.conv2d", ..., kept=<bool[1, 8, 8, 8]>)

A block is zero if nothing of it moves: all bits of its floats are zero, or all of its bytes are the
zero point. Concatenations are left out: they copy nothing, and their parts are maps already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.attributes import VALUE
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.zero_blocks import in_blocks, spread
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, PruneZeroBlocksOp
from npu_dialect.npu.maps import bytes_of, shape_of
from npu_passes.graph.fold_batch_norm import FoldBatchNormPass
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass
from npu_passes.zero_blocks.prune_zero_blocks import PruneZeroBlocksPass, ends_with_relu
from npu_passes.zero_blocks.spilled_maps import zero_of
from npu_plans.zero_blocks.model import index_bits, index_bytes, moved_bytes
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import context

Array: TypeAlias = NDArray[Any]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BlockMap:
    """The blocks of one layer's map [N, C, H, W], over all samples; sizes in bytes.

    `kept` are the blocks that are not zero, [samples * N, C, rows, columns]; `pruned`: small blocks
    became zero; `relu`: nothing in it is below zero.
    """

    layer: str
    op: str
    value: str | None
    shape: tuple[int, ...]
    element_bytes: int
    block: int
    relu: bool
    pruned: bool
    kept: Flags

    @property
    def samples(self) -> int:
        """How often the network was run."""
        return len(self.kept) // self.shape[0]

    @property
    def blocks(self) -> int:
        """Blocks of all samples: the bits of their indices, equation (2) of paper 003."""
        return self.samples * index_bits(self.shape, self.block)

    @property
    def zero_blocks(self) -> int:
        """Blocks of all samples that need not move."""
        return self.blocks - int(np.count_nonzero(self.kept))

    @cached_property
    def kept_elements(self) -> int:
        """Elements of blocks that are not zero; those at the edges may hold fewer than others."""
        shape = (len(self.kept), *self.shape[1:])
        return int(np.count_nonzero(spread(self.kept, self.block, shape)))

    @property
    def bytes_before(self) -> int:
        """What one pass over the map of each sample moves without compression."""
        return self.samples * prod(self.shape) * self.element_bytes

    @property
    def index_bytes(self) -> int:
        """The index of each sample."""
        return self.samples * index_bytes(self.shape, self.block)

    @property
    def bytes_after(self) -> int:
        """What one pass over the map of each sample moves in blocks."""
        first = moved_bytes(self.shape, self.block, self.element_bytes, self.kept_elements)
        return first + (self.samples - 1) * index_bytes(self.shape, self.block)


@dataclass
class BlockListener(Interpreter.Listener):
    """Keeps which blocks of each layer's map are not zero, run by run."""

    block: int
    found: dict[LayerOp, list[Flags]] = field(default_factory=dict[LayerOp, list[Flags]])

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        """Look at the result of a layer."""
        if isinstance(op, LayerOp) and is_map(op):
            array: Array = results[0]
            self.found.setdefault(op, []).append(
                ~in_blocks(is_zero(array, zero_of(op) or 0), self.block)
            )


def is_map(op: LayerOp) -> bool:
    """Whether a layer makes a map with rows and columns."""
    return len(shape_of(op.output)) == 4 and not isinstance(op, ConcatOp)


def map_layers(module: ModuleOp) -> list[LayerOp]:
    """The layers of a module that make maps."""
    return [op for op in module.walk() if isinstance(op, LayerOp) and is_map(op)]


def value_name(op: LayerOp) -> str | None:
    """The name of a layer's map in the model."""
    return VALUE.get(op)


def is_zero(array: Array, zero: int) -> Flags:
    """Which elements are zero to a transfer, which looks at bytes: -0.0 is not."""
    if array.dtype.kind == "f":
        array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
        return array == 0
    return array == zero


def prepare(module: ModuleOp, block: int, threshold: float | None) -> None:
    """Fuse layers, and prune if there is a threshold.

    Raises: UserError if there are no maps, or none as large as a block; what passes raise.
    """
    run(module, [FoldBatchNormPass(), FuseConvReluPoolPass()])
    maps = map_layers(module)
    if not maps:
        raise UserError("expected a network with maps [N, C, H, W], found none")
    largest = max(max(shape_of(op.output)[2:]) for op in maps)
    if block > largest:
        raise UserError(
            f"--block-size {block}: expected at most {largest}, rows or columns of the largest map"
        )
    if threshold is not None:
        run(module, [PruneZeroBlocksPass(block, threshold, "all")])


def run(module: ModuleOp, passes: Iterable[ModulePass]) -> None:
    """Run passes."""
    for each in passes:
        each.apply(context(), module)
        module.verify()


def measure(module: ModuleOp, inputs: Sequence[Sequence[Array]], block: int) -> list[BlockMap]:
    """Run a network on samples; its maps in the order in which they are computed.

    Raises: UserError where it cannot be interpreted.
    """
    listener = BlockListener(block)
    try:
        for sample in inputs:
            run_function(module, None, sample, listeners=(listener,))
    except InterpretationError as error:
        raise UserError(str(error)) from None
    return block_maps(listener.found, block)


def block_maps(found: Mapping[LayerOp, Sequence[Flags]], block: int) -> list[BlockMap]:
    """The maps of layers; one that is pruned takes the place of what its layer wrote."""
    maps: list[BlockMap] = []
    for op, flags in found.items():
        if pruned_by(op) is not None:
            continue
        origin = op
        if isinstance(op, PruneZeroBlocksOp) and isinstance(layer := op.inputs[0].owner, LayerOp):
            origin = layer if pruned_by(layer) is op else op
        maps.append(
            BlockMap(
                origin.layer_name or f"layer{len(maps)}",
                origin.name,
                value_name(origin),
                shape_of(op.output),
                bytes_of(op.output_type) // prod(shape_of(op.output)),
                block,
                ends_with_relu(origin),
                isinstance(op, PruneZeroBlocksOp),
                np.concatenate(flags),
            )
        )
    return maps


def pruned_by(op: LayerOp) -> PruneZeroBlocksOp | None:
    """The op that prunes a layer's map if nobody else reads it."""
    users = list(dict.fromkeys(use.operation for use in op.output.uses))
    return users[0] if len(users) == 1 and isinstance(users[0], PruneZeroBlocksOp) else None
