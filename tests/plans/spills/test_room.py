"""Room for tile buffers: the bytes that are free at an op."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp

from helpers.pipeline import context, parse
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.layer import LayerOp
from npu_passes.analysis.lifetimes import lifetimes_of
from npu_plans.spills.room import room

LOW = "memref<16xf32, strided<[1]>, #npu.sram>"
HIGH = "memref<16xf32, strided<[1], offset: 16>, #npu.sram>"
TEXT = f"""
func.func @f(%x: memref<16xf32, #npu.dram>) {{
  %all = sram.alloc : memref<32xf32, #npu.sram>
  %a = memref.subview %all[0] [16] [1] : memref<32xf32, #npu.sram> to {LOW}
  %b = memref.subview %all[16] [16] [1] : memref<32xf32, #npu.sram> to {HIGH}
  npu.relu ins(%x : memref<16xf32, #npu.dram>) outs(%a : {LOW})
  npu.relu ins(%a : {LOW}) outs(%b : {HIGH})
  "test.op"(%all) : (memref<32xf32, #npu.sram>) -> ()
  func.return
}}
"""


@pytest.mark.parametrize(
    ("capacity", "least", "free"),
    [(200, 4, 72), (128, 4, 64), (140, 64, 76), (100, 4, 0), (128, 0, 0)],
)
def test_the_slice_that_is_not_filled_is_room(capacity: int, least: int, free: int) -> None:
    """128 bytes live, but only 64 are filled. A plan is searched only if 128 leave too little."""
    module = parse(context(), TEXT)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    lifetimes = lifetimes_of(function, SramSpace())
    first = next(i for i, op in enumerate(lifetimes.ops) if isinstance(op, LayerOp))
    assert max(0, room(lifetimes.occupancy(), {first: least}, capacity, 4)[first]) == free
