"""Constants that are the maximum of nothing."""

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i8, i32
from xdsl.ir import Attribute, Block

from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.support.lowest import is_lowest


@pytest.mark.parametrize(
    ("number", "lowest"),
    [
        (IntegerAttr(-(2**31), i32), True),
        (IntegerAttr(-(2**31) + 1, i32), False),
        (IntegerAttr(-128, i8), True),
        (IntegerAttr(-128, i32), False),
        (FloatAttr(float("-inf"), f32), True),
        (FloatAttr(0.0, f32), False),
    ],
    ids=str,
)
def test_constants(number: IntegerAttr | FloatAttr, lowest: bool) -> None:
    """Only the constant that no number of its type is below is the lowest one."""
    constant = arith.ConstantOp(number)
    assert is_lowest(constant.result) is lowest


@pytest.mark.parametrize(("kind", "low"), [(i32, -(2**31)), (f32, float("-inf"))], ids=str)
def test_maxima_with_nothing(kind: Attribute, low: float) -> None:
    """A maximum with it is the other number, without an op."""
    block = Block(arg_types=[kind])
    end = arith.ConstantOp(IntegerAttr(0, i32))
    block.add_op(end)
    b = LoopBuilder(end)
    assert b.maxf(block.args[0], b.number(low, kind)) is block.args[0]
