"""npu-fold-batch-norm: the same numbers up to rounding, and each weight is rounded once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.ir import SSAValue

from helpers.chains import Case, Network, batch_norm, layers, networks, outputs
from npu_dialect.npu import BatchNormOp, Conv2dOp, FullyConnectedOp
from npu_passes.graph.constants import array_of
from npu_passes.graph.fold_batch_norm import FoldBatchNormPass, norm_folding
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass


@settings(max_examples=50, deadline=None)
@given(case=networks(norms=True), fused=st.booleans())
def test_folding_keeps_the_numbers(case: Case, fused: bool) -> None:
    """Also if activations and pools are fused into the layer before a normalisation."""
    module = case.module
    before = outputs(module)
    if fused:
        FuseConvReluPoolPass().apply(Context(), module)
    FoldBatchNormPass().apply(Context(), module)
    module.verify()
    for after, expected in zip(outputs(module), before, strict=True):
        finite = np.abs(expected)[np.isfinite(expected)]
        scale = float(finite.max(initial=1.0))
        np.testing.assert_allclose(after, expected, rtol=1e-4, atol=1e-5 * scale)
    norms = [layer for layer in layers(module) if isinstance(layer, BatchNormOp)]
    assert not any(norm_folding(norm) for norm in norms)


def test_rounded_once() -> None:
    """The folded weights are the float32 numbers nearest to the result in double precision."""
    network = Network.start((1, 2, 4, 4), 3)
    weight, bias = network.constant(5, 2, 3, 3), network.constant(5)
    network.add(lambda x, out: Conv2dOp(x, weight, bias, out))
    batch_norm(network, 1e-3)
    module = network.module()
    _, norm = layers(module)
    assert isinstance(norm, BatchNormOp)
    w, b = values(weight), values(bias)
    scale, shift, mean, variance = (values(value) for value in norm.parameter_inputs)
    factor = scale / np.sqrt(variance + 1e-3)
    FoldBatchNormPass().apply(Context(), module)
    (folded,) = layers(module)
    assert isinstance(folded, Conv2dOp)
    assert folded.bias is not None
    new_weight, new_bias = array_of(folded.weight), array_of(folded.bias)
    assert new_weight is not None
    assert new_weight.dtype == np.float32
    np.testing.assert_array_equal(new_weight, (w * factor[:, None, None, None]).astype(np.float32))
    np.testing.assert_array_equal(new_bias, (factor * (b - mean) + shift).astype(np.float32))


def test_fully_connected_without_bias() -> None:
    network = Network.start((2, 3), 5)
    weight = network.constant(4, 3)
    network.add(lambda x, out: FullyConnectedOp(x, weight, None, out))
    batch_norm(network, 1e-5)
    module = network.module()
    before = outputs(module)
    FoldBatchNormPass().apply(Context(), module)
    assert [layer.name for layer in layers(module)] == ["npu.fully_connected"]
    np.testing.assert_allclose(outputs(module)[0], before[0], rtol=1e-5, atol=1e-6)


def values(constant: SSAValue) -> np.ndarray:
    """The values of a constant in double precision."""
    array = array_of(constant)
    assert array is not None
    return array.astype(np.float64)
