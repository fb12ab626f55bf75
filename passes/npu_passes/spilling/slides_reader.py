"""Reads which layers could write over their input in blocks of rows (on buffers).

    npu.conv2d ins(%x, ...) outs(%y)         // the last use of %x and the first one of %y

Such a layer has one window with steps of one element, and maps of one type, which are allocations
of their own. Its other inputs have as many rows, but for its parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from npu_dialect.attributes import MOVES
from npu_dialect.computing import accumulates, parameters_of
from npu_dialect.npu.attributes import SramSpace, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, PoolOp
from npu_dialect.npu.maps import is_buffer_type, shape_of
from npu_dialect.sram import AllocOp
from npu_passes.analysis.lifetimes import lifetimes_of
from npu_passes.analysis.views import root_of
from npu_plans.spills.slides import Life, Link

ROWS = 2
"""The axis of the rows of a map."""


@dataclass(frozen=True)
class LinkedLayers:
    """The layers of a function that could slide, and its buffers on chip.

    `layers` has the layer of each link.
    """

    lives: tuple[Life, ...]
    layers: Mapping[Link, Conv2dOp | PoolOp]


def read_links(function: Operation) -> LinkedLayers:
    """Read the layers of a function, in the order of the text.

    Raises: PassFailedException if `lifetimes_of` does.
    """
    lifetimes = lifetimes_of(function, SramSpace())
    numbers = {each.value: number for number, each in enumerate(lifetimes.buffers)}
    at: list[int] = []  # for each program point the number of the last layer up to it
    layers: dict[Link, Conv2dOp | PoolOp] = {}
    count = 0
    for op in lifetimes.ops:
        if isinstance(op, LayerOp):
            link = link_of(op, count, numbers)
            if link is not None and isinstance(op, Conv2dOp | PoolOp):
                layers[link] = op
            count += 1
        at.append(max(0, count - 1))
    lives = tuple(Life(at[each.first], at[each.last], each.size) for each in lifetimes.buffers)
    return LinkedLayers(lives, layers)


def link_of(op: LayerOp, number: int, numbers: Mapping[SSAValue, int]) -> Link | None:
    """A layer that could write over its input, as a link; None for other layers."""
    source, target = op.operands[0], op.operands[-1]
    reach = reach_of(op)
    if reach is None or source not in numbers or target not in numbers:
        return None
    if not are_linked(op, source, target):
        return None
    return Link(number, numbers[source], numbers[target], reach)


def reach_of(op: LayerOp) -> int | None:
    """How many rows above or below an output row the windows of a layer read; None if unknown.

    The maps have one shape, so windows with steps of one reach as far as there are pads.
    """
    if not isinstance(op, Conv2dOp | PoolOp) or accumulates(op):
        return None
    if isinstance(op, Conv2dOp) and (op.pool is not None or op.working_memory is not None):
        return None
    if not is_map(op.operands[0]) or op.operands[0].type != op.operands[-1].type:
        return None
    if set(int_values(op.strides)) != {1}:
        return None
    top, _, bottom, _ = int_values(op.pads)
    return max(top, bottom)


def is_map(value: SSAValue) -> bool:
    """Whether a buffer is a map of one image with elements row by row."""
    type_ = value.type
    if not is_buffer_type(type_) or not isinstance(type_.layout, NoneAttr):
        return False
    return len(type_.get_shape()) == 4 and type_.get_shape()[0] == 1


def are_linked(op: LayerOp, source: SSAValue, target: SSAValue) -> bool:
    """Whether a layer is the last one that uses its input, and the first one that uses its output.

    Both are allocations that layers and copies of the layer's block use as a whole.
    """
    learned = parameters_of(op)
    others = [each for each in op.operands[1:-1] if each not in learned]
    rows = shape_of(target)[ROWS]
    if any(each in (source, target) or shape_of(each)[ROWS] != rows for each in others):
        return False
    block = op.parent
    if block is None or not is_plain(source, block) or not is_plain(target, block):
        return False
    return all(is_in_front(each, op) for each in users(source)) and all(
        is_in_front(op, each) for each in users(target)
    )


def users(value: SSAValue) -> Sequence[Operation]:
    """The ops that use a value."""
    return [use.operation for use in value.uses]


def is_in_front(op: Operation, other: Operation) -> bool:
    """Whether an op runs before another one of its block, or is that one."""
    return op is other or op.is_before_in_block(other)


def is_plain(value: SSAValue, block: Block) -> bool:
    """Whether a buffer is an allocation without an offset that layers and copies use as a whole.

    A map that may have another place for its later readers is none.
    """
    if not isinstance(value, OpResult) or not isinstance(value.op, AllocOp):
        return False
    if value.op.offset is not None or value.op.parent is not block:
        return False
    return all(
        each.parent is block
        and isinstance(each, LayerOp | memref.CopyOp)
        and value not in parameters_of(each)
        and not takes_over(each)
        for each in users(value)
    )


def takes_over(op: Operation) -> bool:
    """Whether an op is a copy that `npu-split-lives` has made between two whole buffers."""
    if not isinstance(op, memref.CopyOp) or not MOVES.is_on(op):
        return False
    return root_of(op.destination) is op.destination
