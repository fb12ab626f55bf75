"""npu-fuse-conv-relu-pool: the same numbers, and no layer is left that could be fused."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from helpers.chains import Case, Network, layers, networks, outputs
from npu_dialect.npu import (
    ActivationAttr,
    Conv2dOp,
    FullyConnectedOp,
    MaxPool2dOp,
    PoolAttr,
    ReluOp,
)
from npu_passes.graph.fuse_conv_relu_pool import (
    FuseConvReluPoolPass,
    OverlapPolicy,
    epilogue_fusion,
)

POLICIES = cast(tuple[OverlapPolicy, ...], get_args(OverlapPolicy))
BOUNDS = st.tuples(st.integers(-3, 3), st.integers(0, 3)).map(lambda b: (b[0], b[0] + b[1]))


@settings(max_examples=50, deadline=None)
@given(case=networks(), policy=st.sampled_from(POLICIES))
def test_fusion_keeps_the_numbers(case: Case, policy: OverlapPolicy) -> None:
    module = case.module
    before = outputs(module)
    FuseConvReluPoolPass(policy).apply(Context(), module)
    module.verify()
    for after, expected in zip(outputs(module), before, strict=True):
        np.testing.assert_allclose(after, expected, rtol=1e-5, atol=1e-6)
    assert not any(
        epilogue_fusion(layer, policy).absorbed
        for layer in layers(module)
        if isinstance(layer, Conv2dOp | FullyConnectedOp)
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("stride", [1, 2, 3, 4])
def test_overlap_clause(policy: OverlapPolicy, stride: int) -> None:
    """With `none` a pool is fused only if stride >= kernel, as published; else at any stride."""
    network = Network.start((1, 1, 12, 12), 0)
    weight = network.constant(2, 1, 3, 3)
    window = PoolAttr.of("max", (3, 3), (stride, stride))
    network.add(lambda x, out: Conv2dOp(x, weight, None, out))
    network.add(lambda x, out: MaxPool2dOp(x, window, out))
    network.add(ReluOp)
    module = network.module()
    FuseConvReluPoolPass(policy).apply(Context(), module)
    first, *rest = layers(module)
    assert isinstance(first, Conv2dOp)
    if stride < 3 and policy == "none":
        assert [op.name for op in rest] == ["npu.max_pool2d", "npu.relu"]
        assert first.pool is None
        return
    assert not rest
    assert first.pool == window
    assert first.activation == ActivationAttr.relu()
    clause = {"line-buffer": "accumulate", "recompute": "recompute"}.get(policy)
    assert first.overlap == (clause if stride < 3 else None)


@given(first=BOUNDS, second=BOUNDS, values=st.lists(st.integers(-9, 9), min_size=1))
def test_clamps_compose(first: tuple[int, int], second: tuple[int, int], values: list[int]) -> None:
    both = ActivationAttr.clamp(*first).then(ActivationAttr.clamp(*second))
    assert isinstance(both, ActivationAttr)
    low, high = both.bounds
    np.testing.assert_array_equal(
        np.clip(values, low, high), np.clip(np.clip(values, *first), *second)
    )
