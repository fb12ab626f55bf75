"""Quantised models that are wrong or not supported give one clear message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from helpers.quantized.build import Array, Graph, integers
from npu_tools.importers.onnx import import_model
from npu_tools.shared.errors import UserError


def rejected(graph: Graph, feeds: dict[str, Array], output: str, kind: Any, *parts: str) -> None:
    """Check that the model is rejected, and that the message says why."""
    proto = graph.model(feeds, output, kind, 21)
    with pytest.raises(UserError) as caught:
        import_model(proto.SerializeToString(), name="bad", base_dir=None)
    for part in parts:
        assert part in str(caught.value)


BYTES = {"x": integers(1, "int8", 1, 4)}
FLOATS = {"x": np.zeros((1, 4), np.float32)}


@pytest.mark.parametrize("scale", [0.0, -0.5, np.inf, np.nan])
def test_scales_that_are_none(scale: float) -> None:
    graph = Graph()
    y = graph.quantize("x", scale, 0, "int8")
    rejected(graph, FLOATS, y, "int8", "node 'the_x_int' (QuantizeLinear): scale 'x_q_scale' is")
    graph = Graph()
    y = graph.dequantize("x", scale, 0, "int8")
    rejected(graph, BYTES, y, np.float32, "scale 'x_scale' is", "expected positive, finite numbers")


def test_one_scale_for_each_channel_of_a_map() -> None:
    graph = Graph()
    y = graph.dequantize("x", [0.1, 0.2, 0.3, 0.4], np.zeros(4), "int8")
    rejected(graph, BYTES, y, np.float32, "scale 'x_scale' has 4 numbers; expected one for a map")


def test_other_integers() -> None:
    graph = Graph()
    y = graph.quantize("x", 0.1, 0, "uint16")
    parts = ("zero point 'x_q_point' holds uint16", "expected int8, uint8 or int16")
    rejected(graph, FLOATS, y, "uint16", *parts)


def test_integers_of_four_bits() -> None:
    graph = Graph()
    graph.constant("w", np.zeros(4, np.int8))
    y = graph.dequantize("w", 0.1, 0, "int8")
    proto = graph.model(FLOATS, graph.add("Add", ["x", y], "y"), np.float32, 21)
    for tensor in proto.graph.initializer:
        if tensor.name in ("w", "w_point"):
            shape = tensor.dims
            tensor.CopyFrom(
                helper.make_tensor(tensor.name, TensorProto.INT4, shape, [0] * max(1, *shape, 1))
            )
    with pytest.raises(UserError, match="tensor 'w' holds int4 elements"):
        import_model(proto.SerializeToString(), name="bad", base_dir=None)


def test_scales_that_are_computed() -> None:
    graph = Graph()
    scale = graph.add("Identity", ["s"], "scale")
    y = graph.add("DequantizeLinear", ["x", scale], "y")
    feeds = {**BYTES, "s": np.zeros((), np.float32)}
    rejected(graph, feeds, y, np.float32, "input 'scale' is computed; expected a constant")


def conv(scales: Any, axis: int, points: Any = 0) -> tuple[Graph, str]:
    """A convolution whose weights have these scales."""
    graph = Graph()
    real = graph.dequantize("x", 0.1, 0, "int8")
    graph.constant("w", integers(2, "int8", 6, 4, 3, 3))
    weight = graph.dequantize("w", scales, points, "int8", axis=axis)
    return graph, graph.quantize(graph.add("Conv", [real, weight], "y"), 0.1, 0, "int8")


IMAGE = {"x": integers(1, "int8", 1, 4, 5, 5)}


def test_scales_along_another_axis() -> None:
    graph, out = conv(np.full(4, 0.1), 1, np.zeros(4))
    rejected(graph, IMAGE, out, "int8", "one scale for each place of axis 1", "(axis 0)")


def test_scales_of_a_wrong_number() -> None:
    graph, out = conv(np.full(5, 0.1), 0, np.zeros(5))
    rejected(graph, IMAGE, out, "int8", "5 scales along axis 0 of shape [6, 4, 3, 3]")


def test_zero_points_far_apart() -> None:
    graph, out = conv(np.full(6, 0.1), 0, np.array([-128, 0, 0, 0, 0, 127]))
    rejected(graph, IMAGE, out, "int8", "different zero points", "expected one zero point")


def test_zero_points_of_another_type() -> None:
    graph = Graph()
    y = graph.dequantize("x", 0.1, 0, "uint8")
    rejected(graph, BYTES, y, np.float32, "a zero point of uint8 for elements of int8")


def test_operators_without_their_operands() -> None:
    graph = Graph()
    graph.constant("w", integers(2, "int8", 6, 4, 3, 3))
    inputs = ["x", *graph.params("x", 0.1, 0, "int8"), "w", *graph.params("w", 0.1, 0, "int8")]
    y = graph.add("QLinearConv", [*inputs, graph.constant("s", 0.1, np.float32)], "y")
    rejected(graph, IMAGE, y, "int8", "node 'the_y' (QLinearConv)")
    graph = Graph()
    y = graph.add("QLinearAdd", ["x", *graph.params("x", 0.1, 0, "int8"), "x"], "y")
    rejected(graph, IMAGE, y, "int8", "node 'the_y' (com.microsoft.QLinearAdd): input 4 is missing")


def test_integers_where_floats_are_expected() -> None:
    graph = Graph()
    y = graph.add("LRN", ["x"], "y", size=3)
    rejected(graph, BYTES, y, "int8", "input 'x' holds int8 elements; expected float32")


def test_outputs_of_another_type_than_declared() -> None:
    graph = Graph()
    y = graph.quantize("x", 0.1, 0, "int8")
    rejected(graph, FLOATS, y, "uint8", "is declared with uint8 elements; its node gives int8")


def test_a_bias_of_floats_in_operator_format() -> None:
    graph = Graph()
    graph.constant("w", integers(2, "int8", 6, 4, 3, 3))
    inputs = ["x", *graph.params("x", 0.1, 0, "int8"), "w", *graph.params("w", 0.1, 0, "int8")]
    inputs += [*graph.params("y", 0.1, 0, "int8"), graph.constant("b", np.zeros(6), np.float32)]
    y = graph.add("QLinearConv", inputs, "y")
    rejected(graph, IMAGE, y, "int8", "bias 'b' holds 6 float32; expected int32")


def test_other_operators_of_microsoft() -> None:
    graph = Graph()
    y = graph.add("QLinearAdd", ["x"], "y")
    graph.nodes[0].op_type = "QLinearReduceMean"
    rejected(
        graph, BYTES, y, "int8", "(com.microsoft.QLinearReduceMean): the operator is not supported"
    )


def test_channels_last() -> None:
    graph = Graph()
    inputs = ["x", *graph.params("x", 0.1, 0, "int8"), *graph.params("y", 0.1, 0, "int8")]
    y = graph.add("QLinearGlobalAveragePool", inputs, "y", channels_last=1)
    rejected(graph, IMAGE, y, "int8", "channels_last; expected maps [N, C, H, W]")


def test_weights_that_are_floats() -> None:
    graph = Graph()
    graph.constant("w", np.zeros((4, 2)), np.float32)
    inputs = ["x", *graph.params("x", 0.1, 0, "int8"), "w", *graph.params("w", 0.1, 0, "int8")]
    y = graph.add("QLinearMatMul", [*inputs, *graph.params("y", 0.1, 0, "int8")], "y")
    rejected(graph, BYTES, y, "int8", "weight 'w' holds float32 elements")
