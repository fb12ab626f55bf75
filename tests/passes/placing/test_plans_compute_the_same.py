"""A planned network in one poisoned arena computes what its tensors compute (interpreted)."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from helpers.pipeline import context, parse, run_passes
from helpers.random_graphs import networks
from npu_dialect.interpreters import run_function


@settings(max_examples=50, deadline=None)
@given(text=networks())
def test_plans_compute_the_same(text: str) -> None:
    ctx = context()
    module = parse(ctx, text)
    random = np.random.default_rng(3)
    inputs = [random.standard_normal((2, 3)).astype(np.float32) for _ in range(2)]
    expected = run_function(module, "f", inputs)
    for strategy in ("none", "greedy"):
        planned = run_passes(
            ctx, module, f"npu-bufferize,npu-assign-sram-offsets{{strategy={strategy}}}"
        )
        results = run_function(planned, "f", inputs)
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)
