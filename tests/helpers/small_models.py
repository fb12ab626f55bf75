"""Small models for the tests of the tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Weights = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]


def model_of(
    nodes: list[NodeProto],
    weights: Weights,
    shape: tuple[int | str, ...],
    output: str,
    element: int = TensorProto.FLOAT,
) -> ModelProto:
    """A model with one input `input` and one output; its shape is left to inference."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("input", element, shape)],
        [helper.make_tensor_value_info(output, element, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def small_net(batch: int | str = 1) -> ModelProto:
    """conv, relu, pool, flatten, fully connected with relu, fully connected."""
    random = np.random.default_rng(1)
    shapes = {"w1": (3, 1, 3, 3), "b1": (3,), "w2": (8, 27), "b2": (8,), "w3": (4, 8), "b3": (4,)}
    weights: Weights = {
        name: random.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()
    }
    nodes = [
        helper.make_node("Conv", ["input", "w1", "b1"], ["c1"], "conv1"),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("MaxPool", ["r1"], ["p1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p1"], ["f1"], "flat1"),
        helper.make_node("Gemm", ["f1", "w2", "b2"], ["g2"], "dense2", transB=1),
        helper.make_node("Relu", ["g2"], ["r2"], "relu2"),
        helper.make_node("Gemm", ["r2", "w3", "b3"], ["scores"], "dense3", transB=1),
    ]
    return model_of(nodes, weights, (batch, 1, 8, 8), "scores")


SaveModel = Callable[[ModelProto], Path]
