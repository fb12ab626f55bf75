"""Splits 1x1 convolutions with a stride into the choice of the pixels, and the convolution.

    %y = npu.conv2d %x, %w strides [2, 2] : ... -> tensor<1x512x28x28xi8>
becomes
    %p = npu.max_pool2d %x kernel [1, 1] strides [2, 2] : ... -> tensor<1x256x28x28xi8>
    ...
    %y = npu.conv2d %p, %w : ... -> tensor<1x512x28x28xi8>

The chosen pixels are computed right behind the map that they come from. So if other layers read
that map too, it need not live until the convolution runs: a quarter of it is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import LAYER
from npu_dialect.npu import PoolAttr
from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layers import Conv2dOp, MaxPool2dOp
from npu_dialect.npu.maps import map_type, shape_of


@dataclass(frozen=True)
class SplitConv:
    """The two layers that stand for a convolution with `strides`."""

    pick: MaxPool2dOp
    conv: Conv2dOp
    strides: tuple[int, ...]

    def join(self) -> None:
        """Turn them into one convolution again."""
        new = self.conv.rebuilt([self.pick.input, *self.conv.inputs[1:]], self.conv.output.type)
        new.strides = int_array(self.strides)
        replace(self.conv, new)
        Rewriter.erase_op(self.pick)


def split_strides(block: Block) -> list[SplitConv]:
    """Split the 1x1 convolutions with a stride whose map has other readers."""
    return [split(op) for op in list(candidates(block))]


def candidates(block: Block) -> Iterator[Conv2dOp]:
    """The convolutions that can be split."""
    for op in block.ops:
        if not isinstance(op, Conv2dOp) or op.destination is not None:
            continue
        strides, kernel = int_values(op.strides), shape_of(op.weight)[2:]
        plain = op.pool is None and not any(int_values(op.pads)) and op.groups.value.data == 1
        inner = not isinstance(op.input, BlockArgument) and not op.input.has_one_use()
        if plain and inner and tuple(kernel) == (1, 1) and max(strides) > 1:
            yield op


def split(op: Conv2dOp) -> SplitConv:
    """Replace a convolution by two layers."""
    strides, shape = tuple(int_values(op.strides)), shape_of(op.input)
    type_ = TensorType(
        map_type(op.input).get_element_type(), [*shape[:2], *shape_of(op.output)[2:]]
    )
    pick = MaxPool2dOp(op.input, PoolAttr.of("max", (1, 1), strides, (0, 0, 0, 0), (1, 1)), type_)
    if (name := LAYER.get(op)) is not None:
        LAYER.set(pick, f"{name}_pixels")
    pick.output.name_hint = op.input.name_hint
    maker = op.input.owner
    assert isinstance(maker, Operation)
    Rewriter.insert_op(pick, InsertPoint.after(maker))
    conv = op.rebuilt([pick.output, *op.inputs[1:]], op.output.type)
    conv.strides = int_array((1, 1))
    replace(op, conv)
    return SplitConv(pick, conv, strides)


def replace(old: Conv2dOp, new: Conv2dOp) -> None:
    """Put a convolution in the place of another one."""
    new.output.name_hint = old.output.name_hint
    Rewriter.insert_op(new, InsertPoint.before(old))
    old.output.replace_all_uses_with(new.output)
    Rewriter.erase_op(old)
