"""Find the zero blocks of a network's feature maps by interpreting the network on samples.

The level of IR is layers on tensors, fused as for transfers in blocks: each map that is left can
lie off the chip. With a threshold, `npu-prune-zero-blocks{where=all}` runs first, and the next
layers read the pruned maps.

    %y = npu.conv2d %x, %w ... then relu {npu.layer = "c1"} : ... -> tensor<1x8x32x32xf32>
gives, with blocks of 4 x 4,
    BlockMap("c1", "npu.conv2d", ..., kept=<bool[1, 8, 8, 8]>)

A block is zero if a transfer skips it: all bits of its floats are zero, or all its integers equal
the zero point. Concatenations are left out: their parts are maps already, and nothing is copied.
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

from npu_dialect import dma
from npu_dialect.attributes import VALUE
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.planes import plane_bytes
from npu_dialect.interpreters.zero_blocks import in_blocks, spread
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, PruneZeroBlocksOp
from npu_dialect.npu.maps import bytes_of, shape_of
from npu_passes.graph.fold_batch_norm import FoldBatchNormPass
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass
from npu_passes.zero_blocks.prune_zero_blocks import PruneZeroBlocksPass, ends_with_relu
from npu_passes.zero_blocks.spilled_maps import middle_of, zero_of
from npu_plans.zero_blocks.codes import plane_zero
from npu_plans.zero_blocks.model import index_bits, index_bytes, moved_bytes
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import context

Array: TypeAlias = NDArray[Any]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BlockMap:
    """The blocks of one layer's feature map [N, C, H, W] over all samples; sizes in bytes.

    `value` is the map's name in the model, `block` the side of a block in elements. `kept` flags
    the blocks that are not zero, [samples * N, C, block rows, block columns]. `pruned`: blocks of
    small values were set to zero. `relu`: the layer ends with a ReLU.
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
    planes: int | None = None
    """The bytes of all samples as bit planes, without indices; None for other than bytes."""

    @property
    def samples(self) -> int:
        """How often the network was run."""
        return len(self.kept) // self.shape[0]

    @property
    def blocks(self) -> int:
        """The number of blocks in all samples: one bit of the index each, paper 003, equation 2."""
        return self.samples * index_bits(self.shape, self.block)

    @property
    def zero_blocks(self) -> int:
        """The number of zero blocks in all samples; they need not move."""
        return self.blocks - int(np.count_nonzero(self.kept))

    @cached_property
    def kept_elements(self) -> int:
        """The number of elements in blocks that are not zero; blocks at edges may be smaller."""
        shape = (len(self.kept), *self.shape[1:])
        return int(np.count_nonzero(spread(self.kept, self.block, shape)))

    @property
    def bytes_before(self) -> int:
        """Bytes that one access to the map of each sample moves without compression."""
        return self.samples * prod(self.shape) * self.element_bytes

    @property
    def index_bytes(self) -> int:
        """Bytes of the zero-block indices of all samples."""
        return self.samples * index_bytes(self.shape, self.block)

    @property
    def bytes_after(self) -> int:
        """Bytes that one access to the map of each sample moves in blocks, with the index."""
        first = moved_bytes(self.shape, self.block, self.element_bytes, self.kept_elements)
        return first + (self.samples - 1) * index_bytes(self.shape, self.block)

    @property
    def bytes_as_planes(self) -> int | None:
        """Bytes that one access to the map of each sample moves as bit planes, with the index."""
        if self.planes is None:
            return None
        return self.planes + self.samples * dma.index_bytes(self.shape, dma.RUN, planes=True)


@dataclass
class BlockListener(Interpreter.Listener):
    """Listens to the interpreter and collects which blocks of each layer's map are not zero.

    `found` holds for each layer an array [N, C, block rows, block columns] for each run.
    """

    block: int
    found: dict[LayerOp, list[Flags]] = field(default_factory=dict[LayerOp, list[Flags]])
    planes: dict[LayerOp, int] = field(default_factory=dict[LayerOp, int])
    """The bytes of bit planes of each layer's map of bytes, without indices."""

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        """Flag the non-zero blocks of the result if the op is a layer that makes a map."""
        if isinstance(op, LayerOp) and is_map(op):
            array: Array = results[0]
            self.found.setdefault(op, []).append(
                ~in_blocks(is_zero(array, zero_of(op) or 0), self.block)
            )
            if (middle := middle_of(op.output_type)) is not None:
                bytes_found = plane_bytes(array, plane_zero(zero_of(op) or 0, middle))
                self.planes[op] = self.planes.get(op, 0) + bytes_found


def is_map(op: LayerOp) -> bool:
    """Whether a layer makes a map [N, C, H, W]; concatenations do not count."""
    return len(shape_of(op.output)) == 4 and not isinstance(op, ConcatOp)


def map_layers(module: ModuleOp) -> list[LayerOp]:
    """The layers of a module that make maps [N, C, H, W]."""
    return [op for op in module.walk() if isinstance(op, LayerOp) and is_map(op)]


def value_name(op: LayerOp) -> str | None:
    """The name of a layer's map in the model; None if it has none."""
    return VALUE.get(op)


def is_zero(array: Array, zero: int) -> Flags:
    """Which elements count as zero for a transfer. It compares bytes, so -0.0 does not count.

    `zero` is the zero point of integers.
    """
    if array.dtype.kind == "f":
        array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
        return array == 0
    return array == zero


def prepare(module: ModuleOp, block: int, threshold: float | None) -> None:
    """Fuse layers, and prune maps if there is a threshold.

    Raises: UserError if there are no maps, or if a block is larger than all of them;
    DiagnosticException from a pass.
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
    """Run passes on a module, and verify it after each."""
    for each in passes:
        each.apply(context(), module)
        module.verify()


def measure(module: ModuleOp, inputs: Sequence[Sequence[Array]], block: int) -> list[BlockMap]:
    """Run a network on samples; returns its maps in execution order.

    Raises: UserError if the interpreter does not know an op.
    """
    listener = BlockListener(block)
    try:
        for sample in inputs:
            run_function(module, None, sample, listeners=(listener,))
    except InterpretationError as error:
        raise UserError(str(error)) from None
    return block_maps(listener.found, block, listener.planes)


def block_maps(
    found: Mapping[LayerOp, Sequence[Flags]], block: int, planes: Mapping[LayerOp, int]
) -> list[BlockMap]:
    """The maps of layers, from the flags of each run and the bytes of bit planes.

    If a layer's map is pruned and has no other reader, the pruned map is listed in its place.
    """
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
                planes.get(op),
            )
        )
    return maps


def pruned_by(op: LayerOp) -> PruneZeroBlocksOp | None:
    """The op that prunes a layer's map, if it is the only reader; else None."""
    users = list(dict.fromkeys(use.operation for use in op.output.uses))
    return users[0] if len(users) == 1 and isinstance(users[0], PruneZeroBlocksOp) else None
