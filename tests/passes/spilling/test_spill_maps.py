"""npu-spill-maps on random networks: the same numbers, the same decision every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from helpers.concatenations import networks
from helpers.pipeline import context, run_passes
from helpers.spilled import BUFFERS, spilled_bytes, with_machine
from npu_dialect import dram
from npu_dialect.interpreters import run_function
from npu_tools.compiling.remarks import remarks


def count(module: ModuleOp) -> int:
    """The number of maps off the chip."""
    return sum(isinstance(op, dram.AllocOp) for op in module.walk())


@settings(max_examples=40, deadline=None)
@given(text=networks(), sram_bytes=st.sampled_from([64, 128, 256, 512, 1024]))
def test_a_spilled_network_computes_the_same(text: str, sram_bytes: int) -> None:
    ctx = context()
    module = with_machine(ctx, text, sram_bytes)
    x = np.random.default_rng(5).standard_normal((1, 2, 2, 2)).astype(np.float32)
    expected = run_function(module, "f", [x])
    try:
        spilled = run_passes(ctx, module, f"{BUFFERS},npu-spill-maps")
    except PassFailedException:
        with pytest.raises(PassFailedException, match="bytes of SRAM at least, small has"):
            run_passes(ctx, module, f"{BUFFERS},npu-spill-maps")
        return
    for got, want in zip(run_function(spilled, "f", [x]), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert (count(spilled) > 0) == (spilled_bytes(spilled) > 0)
    again = run_passes(ctx, module, f"{BUFFERS},npu-spill-maps")
    assert str(again) == str(spilled)
    assert not count(run_passes(ctx, module, f"{BUFFERS},npu-spill-maps{{sram-bytes=1000000}}"))


def test_what_leaves_is_said() -> None:
    ctx = context()
    text = """
func.func @f(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %a = npu.transpose %x perm [0, 1, 3, 2] : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
  %b = npu.transpose %a perm [0, 1, 3, 2] : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
  %c = npu.transpose %b perm [0, 1, 3, 2] : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
  %d = npu.add %c, %a : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %d : tensor<1x2x2x2xf32>
}
"""
    module = with_machine(ctx, text, 300)
    spilled = run_passes(ctx, module, f"{BUFFERS},npu-spill-maps")
    assert list(remarks(spilled)) == [
        "@f: 64 bytes are moved for maps off chip",
        "b: lies off chip",
    ]


@pytest.mark.slow
def test_a_long_chain_of_views_leaves_with_its_map() -> None:
    """More views in a row than Python's recursion allows."""
    flat, view = "memref<8xf32, #npu.sram>", "memref<8xf32, strided<[1]>, #npu.sram>"
    count = 1200
    views = [
        f"%v{i + 1} = memref.subview %v{i}[0] [8] [1] : {view if i else flat} to {view}"
        for i in range(count)
    ]
    body = "\n".join(
        [
            f"%v0 = sram.alloc : {flat}",
            f"npu.relu ins(%x : memref<8xf32, #npu.dram>) outs(%v0 : {flat})",
            *views,
            f"%b = sram.alloc : {flat}",
            f"npu.relu ins(%v{count} : {view}) outs(%b : {flat})",
            "func.return",
        ]
    )
    text = f"func.func @f(%x: memref<8xf32, #npu.dram> {{dram.input}}) {{\n{body}\n}}"
    ctx = context()
    spilled = run_passes(ctx, with_machine(ctx, text, 16), "npu-spill-maps")
    assert sum(isinstance(op, dram.AllocOp) for op in spilled.walk()) == 2
    assert view not in str(spilled)
