"""The predicted cost of a layer's tiles, for attribute `npu.tile`: T of paper 004 and its terms.

Level of IR: one layer and its staging; nothing is changed.

    npu.tile = {sizes = {...}, order = "columns out in", bytes = 40174592 : i64, transfers = 3856,
                jumps = ..., cost = ..., compulsory_bytes = ..., bound_bytes = ..., on_chip = ...}

`jumps` counts runs of consecutive addresses off the chip (`cost_model.py`). `cost` is present if
the machine's file says what transfers cost. `compulsory_bytes` and `bound_bytes` are present for
fully connected layers, and for convolutions of one image without a pool and without a residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.layers import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.maps import element_bytes, shape_of
from npu_passes.support.loop_builder import memref_type
from npu_passes.tiling.conv_tiles import conv_shape
from npu_passes.tiling.stage import Staging, off_chip_operands, operand_moves
from npu_plans.tiles.bounds import compulsory_bytes, lower_bound_bytes
from npu_plans.tiles.cost_model import DmaCosts, OperandTraffic
from npu_plans.tiles.operand_regions import Along, Cut


def moved_by(op: Operation, staging: Staging) -> OperandTraffic:
    """The transfers, runs, elements and bytes that one run of a staged layer moves."""
    transfers, jumps, elements, size = 0, 0, 0, 0
    for buffer in staging.buffers:
        for index, moves, _ in operand_moves(op, staging.cut, buffer.operands, whole=buffer.whole):
            value = op.operands[index]
            tiles, runs = (1, 1) if buffer.whole else tiles_and_runs(staging.cut, index, value)
            transfers += moves.transfers
            jumps += moves.transfers // tiles * runs
            elements += moves.elements
            size += moves.elements * element_bytes(memref_type(value))
    return OperandTraffic(transfers, jumps, elements, size)


def tiles_and_runs(cut: Cut, index: int, value: SSAValue) -> tuple[int, int]:
    """The number of different tiles of one operand, and of the runs of addresses in all of them.

    Axes are taken innermost first. If a tile has all of an axis, its slices along the next axis are
    one run, unless the buffer has gaps between them.
    """
    strides = [stride or 0 for stride in memref_type(value).get_strides() or ()]
    # `closed` counts tiles that are one run without gaps so far, `others` those of several runs,
    # and `runs` the runs of the latter.
    closed, others, runs = 1, 0, 0
    reach = 1
    for axis, stride in reversed(list(zip(cut.space.operands[index], strides, strict=True))):
        sizes = sizes_of(cut, axis)
        if axis.extent > 1 and stride != reach:
            others, runs, closed = others + closed, runs + closed, 0
        all_of_it = sum(size == axis.extent for size in sizes)
        others, runs = (
            others * len(sizes) + closed * (len(sizes) - all_of_it),
            runs * sum(sizes) + closed * (len(sizes) - all_of_it),
        )
        closed *= all_of_it
        if axis.extent > 1:
            reach = stride * axis.extent
    return closed + others, closed + runs


def sizes_of(cut: Cut, axis: Along) -> Sequence[int]:
    """The elements of an axis in each tile along it."""
    pieces = [cut.pieces(name) for name in axis.loops]
    tiles = (dict(zip(axis.loops, each, strict=True)) for each in product(*pieces))
    return [axis.span(tile).size for tile in tiles]


def bounds_of(op: Operation, free: int) -> tuple[int, int] | None:
    """Two lower bounds on the bytes moved: compulsory bytes, and those of every schedule.

    `free`: bytes on chip. None for layers that `conv_shape` does not describe exactly. The groups
    of a convolution share no data, so the bounds of one group are multiplied by their number.
    """
    off_chip = off_chip_operands(op)
    if not isinstance(op, Conv2dOp | FullyConnectedOp):
        return None
    groups = 1
    if isinstance(op, Conv2dOp):
        groups = op.group_count
        if op.pool is not None or op.residual is not None or shape_of(op.input)[0] > 1:
            return None
    shape = conv_shape(op, off_chip, bias_moves=op.bias in off_chip)
    if shape is None:
        return None
    return groups * compulsory_bytes(shape), groups * lower_bound_bytes(shape, free)


def described(op: Operation, staging: Staging, machine: Machine, free: int) -> DictionaryAttr:
    """The value of `npu.tile`: the tiles of a layer with `free` bytes on chip, and their cost."""
    moved, bounds = moved_by(op, staging), bounds_of(op, free)
    numbers = {"bytes": moved.bytes, "transfers": moved.transfers, "jumps": moved.jumps}
    costs = DmaCosts(machine.dma_setup, machine.dma_jump, machine.dma_element)
    if max(costs.start, costs.jump, costs.element) > 0:
        numbers["cost"] = round(moved.cost(costs))
    if bounds is not None:
        numbers["compulsory_bytes"], numbers["bound_bytes"] = bounds
    numbers["on_chip"] = staging.footprint
    sizes: dict[str, Attribute] = {name: IntegerAttr(size, i64) for name, size in staging.cut.sizes}
    return DictionaryAttr(
        {
            "sizes": DictionaryAttr(sizes),
            "order": StringAttr(" ".join(staging.cut.order)),
            **{key: IntegerAttr(number, i64) for key, number in numbers.items()},
        }
    )
