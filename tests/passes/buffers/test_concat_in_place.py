"""Networks with concatenations compute the same when their parts are written in place."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from helpers.concatenations import networks, tensor
from helpers.pipeline import arena_bytes, context, parse, run_passes
from npu_dialect.interpreters import run_function


@settings(max_examples=60, deadline=None)
@given(text=networks())
def test_parts_in_place_compute_the_same(text: str) -> None:
    ctx = context()
    module = parse(ctx, text)
    x = np.random.default_rng(5).standard_normal((1, 2, 2, 2)).astype(np.float32)
    expected = run_function(module, "f", [x])
    road = "npu-bufferize,npu-concat-in-place,npu-assign-sram-offsets"
    for pipeline in (road, f"{road},npu-lower-to-loops"):
        planned = run_passes(ctx, module, pipeline)
        for got, want in zip(run_function(planned, "f", [x]), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_chain_of_growing_concatenations_is_one_buffer() -> None:
    """As in DenseNet, each layer appends its channels to those before it. Nothing is copied."""
    text = f"""
func.func @f(%x: {tensor(2)}) -> {tensor(16)} {{
  %a = npu.transpose %x perm [0, 1, 3, 2] : {tensor(2)} -> {tensor(2)}
  %b = npu.softmax %a axis 1 : {tensor(2)} -> {tensor(2)}
  %c = npu.concat %a, %b axis 1 : ({tensor(2)}, {tensor(2)}) -> {tensor(4)}
  %d = npu.softmax %c axis 1 : {tensor(4)} -> {tensor(4)}
  %e = npu.concat %c, %d axis 1 : ({tensor(4)}, {tensor(4)}) -> {tensor(8)}
  %f = npu.softmax %e axis 1 : {tensor(8)} -> {tensor(8)}
  %g = npu.concat %e, %f axis 1 : ({tensor(8)}, {tensor(8)}) -> {tensor(16)}
  func.return %g : {tensor(16)}
}}
"""
    ctx = context()
    planned = run_passes(
        ctx, parse(ctx, text), "npu-bufferize,npu-concat-in-place,npu-assign-sram-offsets"
    )
    assert "npu.concat" not in str(planned)
    assert arena_bytes(planned) == 4 * 4 * (16 + 2)
