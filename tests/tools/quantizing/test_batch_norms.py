"""Batch normalisations behind matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from onnx.shape_inference import infer_shapes

from helpers.quantized.build import onnxruntime_says
from helpers.small_models import Weights, model_of
from npu_tools.quantizing.batch_norms import fold_batch_norms, norms_as_convolutions


def two_norms(*, transposed: bool, bias: bool, **more: Any) -> ModelProto:
    """A product with two normalisations behind it, and another reader of the sum."""
    rng = np.random.default_rng(5)
    weights: Weights = {"w": rng.normal(0, 1, (3, 5)).astype(np.float32)}
    if transposed:
        weights["w"] = np.ascontiguousarray(weights["w"].T)
    operands = ["input", "w"]
    if bias:
        weights["c"] = rng.normal(0, 1, (1, 5)).astype(np.float32)
        operands.append("c")
    for name in ("s1", "b1", "m1", "v1", "s2", "b2", "m2", "v2"):
        weights[name] = rng.uniform(0.5, 2, 5).astype(np.float32)
    nodes = [
        helper.make_node("Gemm", operands, ["g"], "g", transB=int(transposed), **more),
        helper.make_node(
            "BatchNormalization", ["g", "s1", "b1", "m1", "v1"], ["n"], "n", epsilon=0.1
        ),
        helper.make_node("BatchNormalization", ["n", "s2", "b2", "m2", "v2"], ["y"], "y"),
    ]
    return model_of(nodes, weights, (4, 3), "y")


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_folded(*, transposed: bool, bias: bool) -> None:
    proto = two_norms(transposed=transposed, bias=bias, alpha=0.5)
    x = {"input": np.random.default_rng(6).normal(0, 1, (4, 3)).astype(np.float32)}
    expected = onnxruntime_says(proto, x)
    fold_batch_norms(proto)
    assert [node.op_type for node in proto.graph.node] == ["Gemm"]
    assert len(proto.graph.initializer) == 2
    np.testing.assert_allclose(onnxruntime_says(proto, x), expected, rtol=1e-4, atol=1e-5)


def test_not_folded() -> None:
    """A sum with another reader stays, and so does a product whose bias has a factor."""
    read = two_norms(transposed=False, bias=True)
    read.graph.output.append(helper.make_tensor_value_info("g", 1, (4, 5)))
    fold_batch_norms(read)
    assert len(read.graph.node) == 3
    scaled = two_norms(transposed=False, bias=True, beta=0.0)
    fold_batch_norms(scaled)
    assert len(scaled.graph.node) == 3


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 4, 5)])
def test_convolutions(shape: tuple[int, ...]) -> None:
    """A normalisation in front of a layer, of a map with places; one without places stays."""
    rng = np.random.default_rng(8)
    weights: Weights = {
        name: rng.uniform(0.5, 2, 3).astype(np.float32) for name in ("s", "b", "m", "v")
    }
    nodes = [
        helper.make_node("BatchNormalization", ["input", "s", "b", "m", "v"], ["n"], epsilon=0.1),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("ReduceMax", ["r"], ["f"], axes=[*range(2, len(shape))], keepdims=0),
        helper.make_node("BatchNormalization", ["f", "s", "b", "m", "v"], ["y"]),
    ]
    proto = infer_shapes(model_of(nodes, weights, shape, "y"))
    x = {"input": rng.normal(0, 1, shape).astype(np.float32)}
    expected = onnxruntime_says(proto, x)
    norms_as_convolutions(proto)
    kinds = [node.op_type for node in proto.graph.node]
    assert kinds == ["Conv", "Relu", "ReduceMax", "BatchNormalization"]
    np.testing.assert_allclose(onnxruntime_says(proto, x), expected, rtol=1e-5, atol=1e-5)
