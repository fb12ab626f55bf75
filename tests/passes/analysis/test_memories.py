"""Buffers of different memories share no bytes, whatever their offsets are."""

from __future__ import annotations

from helpers.pipeline import context, parse
from npu_dialect.npu.attributes import MemorySpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.walking import walk_kind
from npu_passes.analysis.lifetimes import lifetimes_of
from npu_passes.analysis.on_chip import on_chip_spaces
from npu_passes.analysis.overlaid import claims_of, distance_of

PROGRAM = """
func.func @f(%x: memref<4xf32, #npu.memory<"a">> {{sram.input, sram.offset = 0 : i64}},
             %y: memref<4xf32, #npu.memory<"{}">> {{sram.output, sram.offset = 8 : i64}}) {{
  npu.softmax ins(%x : memref<4xf32, #npu.memory<"a">>) outs(%y : memref<4xf32, #npu.memory<"{}">>)
      axis 0 {{npu.overlays = array<i64: 0, 1, 0, 0>}}
  func.return
}}
"""


def test_only_buffers_of_one_memory_lie_over_each_other() -> None:
    for memory, overlays, floor in (("a", 2, 16), ("b", 0, 32)):
        (function,) = parse(context(), PROGRAM.format(memory, memory)).ops
        spaces = on_chip_spaces(function)
        assert spaces == tuple(MemorySpace.of(each) for each in dict.fromkeys(("a", memory)))
        found = lifetimes_of(function, *spaces)
        assert len(found.overlays) == len(found.rows) == overlays
        assert found.floor == floor


def test_the_distance_of_buffers_in_one_memory() -> None:
    for memory, distance in (("a", -8), ("b", None)):
        (function,) = parse(context(), PROGRAM.format(memory, memory)).ops
        (layer,) = walk_kind(function, LayerOp)
        (claim,) = claims_of(layer)
        assert distance_of(layer, claim) == distance
