"""Wrong scales, zero points and types in both formats give one message of one line.

The message names the file, the node, what is wrong, and what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from helpers.quantized.build import Array, Graph, compare, imported, integers, rng
from npu_dialect.interpreters import run_function
from npu_tools.commands.compile import main
from npu_tools.importers.onnx import import_model
from npu_tools.shared.errors import UserError

Change: TypeAlias = Callable[[Graph], None]
Case: TypeAlias = tuple[str, Any, str]
"""The initialiser to replace, its new value, and a part of the message."""

FEEDS = {"x": integers(1, "int8", 1, 4, 5, 5)}
WEIGHT = integers(2, "int8", 6, 4, 3, 3)


def qdq() -> tuple[Graph, str]:
    """A convolution between DequantizeLinear and QuantizeLinear, and a sum."""
    graph = Graph()
    real = graph.dequantize("x", 0.1, 3, "int8")
    graph.constant("w", WEIGHT)
    weight = graph.dequantize("w", np.full(6, 0.01), np.zeros(6), "int8", axis=0)
    graph.constant("b", np.arange(6), np.int32)
    points = np.zeros(6, np.int32)
    bias = graph.dequantize("b", np.full(6, 0.001), points, "int32", axis=0)
    y = graph.quantize(graph.add("Conv", [real, weight, bias], "y"), 0.2, -3, "int8")
    y = graph.dequantize(y, 0.2, -3, "int8")
    return graph, graph.quantize(graph.add("Add", [y, y], "z"), 0.3, 5, "int8")


def operators() -> tuple[Graph, str]:
    """The same network with QLinearConv and QLinearAdd."""
    graph = Graph()
    graph.constant("w", WEIGHT)
    inputs = ["x", *graph.params("x", 0.1, 3, "int8"), "w"]
    inputs += graph.params("w", np.full(6, 0.01), np.zeros(6), "int8")
    params = graph.params("y", 0.2, -3, "int8")
    inputs += [*params, graph.constant("b", np.arange(6), np.int32)]
    y = graph.add("QLinearConv", inputs, "y")
    inputs = [y, *params, y, *params, *graph.params("z", 0.3, 5, "int8")]
    return graph, graph.add("QLinearAdd", inputs, "z")


FORMATS: Mapping[str, Callable[[], tuple[Graph, str]]] = {"qdq": qdq, "operators": operators}
NAMES = {
    "qdq": ("x", "w", "y_q", "y_int", "z_q"),
    "operators": ("x", "w", "y", "z"),
}
"""Names of the scales and zero points; only weights have several."""
MESSAGE = re.compile(r"bad: node '\w+' \([\w.]+\): [^\n]*expected [^\n]*")


def message_of(proto: ModelProto) -> str:
    """The message about a model that must be rejected; checks the form of the message."""
    with pytest.raises(UserError) as caught:
        import_model(proto.SerializeToString(), name="bad", base_dir=None)
    text = str(caught.value)
    assert MESSAGE.fullmatch(text), text
    return text


def rejected(form: str, name: str, value: Any, *parts: str) -> None:
    """The model with another initialiser must be rejected."""
    graph, output = FORMATS[form]()
    assert name in graph.weights
    graph.weights[name] = np.asarray(value)
    text = message_of(graph.model(FEEDS, output, "int8", 13))
    for part in parts:
        assert part in text


PLACES = [(form, name) for form, names in NAMES.items() for name in names]


@pytest.mark.parametrize(("form", "name"), PLACES)
@pytest.mark.parametrize("scale", [0.0, -0.5, np.inf, -np.inf, np.nan])
def test_scales_that_are_none(scale: float, form: str, name: str) -> None:
    wrong = np.array([0.01] * 5 + [scale] if name == "w" else scale, np.float32)
    part = f"scale '{name}_scale' is {scale}; expected positive, finite numbers"
    rejected(form, f"{name}_scale", wrong, part)


@pytest.mark.parametrize(("form", "name"), PLACES)
def test_scales_of_another_number(form: str, name: str) -> None:
    for count in (0, 2, 5, 7):
        rejected(form, f"{name}_scale", np.full(count, 0.1, np.float32))
    rejected(form, f"{name}_scale", np.full((1, 1), 0.1, np.float32), "shape [1, 1]")
    rejected(form, f"{name}_scale", np.full((6, 1), 0.1, np.float32), "shape [6, 1]")
    if name != "w":
        part = f"scale '{name}_scale' has 6 numbers; expected one for a map"
        rejected(form, f"{name}_scale", np.full(6, 0.1, np.float32), part)


@pytest.mark.parametrize(("form", "name"), PLACES)
@pytest.mark.parametrize("kind", ["float16", "float64", "int32"])
def test_scales_of_another_type(kind: str, form: str, name: str) -> None:
    scale = np.ones(6 if name == "w" else (), kind)
    rejected(form, f"{name}_scale", scale)


@pytest.mark.parametrize(("form", "name"), PLACES)
def test_zero_points_of_another_number(form: str, name: str) -> None:
    for count in (0, 2, 5, 7):
        rejected(form, f"{name}_point", np.zeros(count, np.int8))
    rejected(form, f"{name}_point", np.zeros((1, 1), np.int8), "shape [1, 1]")


@pytest.mark.parametrize(("form", "name"), PLACES)
@pytest.mark.parametrize("kind", ["uint16", "float32", "int64", "bool"])
def test_zero_points_of_another_type(kind: str, form: str, name: str) -> None:
    rejected(form, f"{name}_point", np.zeros(6 if name == "w" else (), kind))


@pytest.mark.parametrize("name", ["x", "w", "y", "z"])
def test_operators_have_no_maps_of_16_bits(name: str) -> None:
    rejected("operators", f"{name}_point", np.zeros(6 if name == "w" else (), np.int16))


@pytest.mark.parametrize(("form", "name"), [("qdq", "x"), ("qdq", "y_int"), ("operators", "x")])
def test_zero_points_of_the_other_sign(form: str, name: str) -> None:
    point = np.zeros((), np.uint8)
    rejected(form, f"{name}_point", point, "uint8", "int8")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["int16", "uint16", "int32", "float32", "float64"])
def test_weights_of_another_type(kind: str, form: str) -> None:
    rejected(form, "w", WEIGHT.astype(kind))


@pytest.mark.parametrize("form", FORMATS)
def test_biases(form: str) -> None:
    rejected(form, "b", np.zeros(5, np.int32))
    rejected(form, "b", np.zeros((6, 1), np.int32))
    rejected(form, "b", np.zeros(6, np.int16))


def float_bias(values: Sequence[float]) -> tuple[Graph, str]:
    """A convolution with a float32 bias."""
    graph, _ = qdq()
    graph.nodes[3].input[2] = graph.constant("c", values, np.float32)
    return graph, "y_int"


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9, -3e6])
def test_biases_of_floats(value: float) -> None:
    graph, output = float_bias([0, 1, 2, value, 4, 5])
    assert "bias 'c' " in message_of(graph.model(FEEDS, output, "int8", 13))


@pytest.mark.parametrize("value", [2.1e6, -2.147e6, 2147483.6, -2147483.6])
def test_sums_with_a_large_bias_do_not_wrap_around(value: float) -> None:
    graph, output = float_bias([0, 1, 2, value, 4, 5])
    compare(graph, FEEDS, output, "int8", close=True)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "kind",
    [
        TensorProto.INT4,
        TensorProto.UINT4,
        TensorProto.FLOAT8E4M3FN,
        TensorProto.BFLOAT16,
    ],
)
@pytest.mark.parametrize("name", ["w", "w_point", "x_point"])
def test_types_that_numpy_has_not(name: str, kind: int, form: str) -> None:
    graph, output = FORMATS[form]()
    proto = graph.model(FEEDS, output, "int8", 21)
    for tensor in proto.graph.initializer:
        if tensor.name == name:
            values = np.zeros(tuple(tensor.dims))
            tensor.CopyFrom(helper.make_tensor(name, kind, values.shape, values.reshape(-1)))
    assert f"tensor '{name}' holds " in message_of(proto)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT16])
def test_inputs_of_another_type(kind: int, form: str) -> None:
    graph, output = FORMATS[form]()
    proto = graph.model(FEEDS, output, "int8", 21)
    proto.graph.input[0].type.tensor_type.elem_type = kind
    with pytest.raises(
        UserError, match=r"input 'x' holds u?int\w+ elements; expected float32, int8"
    ):
        import_model(proto.SerializeToString(), name="bad", base_dir=None)


@pytest.mark.parametrize("axis", [1, 2, 3, -2])
def test_scales_along_another_axis(axis: int) -> None:
    graph, output = qdq()
    count = WEIGHT.shape[axis]
    graph.weights["w_scale"] = np.full(count, 0.1, np.float32)
    graph.weights["w_point"] = np.zeros(count, np.int8)
    graph.nodes[1].attribute[0].i = axis
    text = message_of(graph.model(FEEDS, output, "int8", 13))
    assert "expected one scale, or one for each filter (axis 0)" in text


@pytest.mark.parametrize("axis", [4, -5, 9])
def test_axes_that_are_none(axis: int) -> None:
    graph, output = qdq()
    graph.nodes[1].attribute[0].i = axis
    assert f"along axis {axis}" in message_of(graph.model(FEEDS, output, "int8", 13))


def test_blocks() -> None:
    graph, output = qdq()
    graph.nodes[1].attribute.append(helper.make_attribute("block_size", 2))
    message_of(graph.model(FEEDS, output, "int8", 21))


@pytest.mark.parametrize("kind", [TensorProto.UINT16, TensorProto.UINT4, TensorProto.FLOAT8E5M2])
def test_output_types(kind: int) -> None:
    graph, output = qdq()
    last = graph.nodes[-1]
    del last.input[2]
    last.attribute.append(helper.make_attribute("output_dtype", kind))
    assert "expected int8, uint8 or int16" in message_of(graph.model(FEEDS, output, "int8", 21))


def test_scales_that_depend_on_the_map() -> None:
    graph = Graph()
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], "dynamic")
    graph.nodes.append(node)
    graph.constant("w", integers(2, "uint8", 4, 3))
    y = graph.add("MatMulInteger", ["q", "w", "z"], "y")
    text = message_of(graph.model({"x": np.zeros((2, 4), np.float32)}, y, np.int32, 13))
    assert "node 'dynamic' (DynamicQuantizeLinear): its scale is computed at run time" in text


# -- zero points that are left out are zeros -----------------------------------------------------


def without(graph: Graph, places: Sequence[tuple[int, int]]) -> None:
    """Remove inputs of nodes."""
    for node, index in places:
        graph.nodes[node].input[index] = ""


def test_zero_points_left_out_of_dequantize_linear() -> None:
    graph, output = qdq()
    without(graph, [(0, 2), (1, 2), (2, 2)])
    assert compare(graph, FEEDS, output, "int8", close=True)[0] == "conv2d"


def test_zero_points_left_out_of_quantize_linear() -> None:
    x, graph = rng(1).standard_normal((3, 5)).astype(np.float32), Graph()
    real = graph.dequantize(graph.quantize("x", 0.1, 0, "uint8"), 0.1, 0, "uint8")
    out = graph.quantize(real, 0.2, 0, "uint8")
    without(graph, [(0, 2), (1, 2), (2, 2)])
    assert compare(graph, {"x": x}, out, "uint8") == ["quantize", "requantize"]


@pytest.mark.parametrize(("kind", "number"), [("int8", 3), ("uint8", 2)])
def test_output_types_without_zero_points(kind: str, number: int) -> None:
    x, graph = rng(1).standard_normal((3, 5)).astype(np.float32), Graph()
    out = graph.quantize("x", 0.01, 0, kind)
    without(graph, [(0, 2)])
    graph.nodes[0].attribute.append(helper.make_attribute("output_dtype", number))
    assert compare(graph, {"x": x}, out, kind, opset=21) == ["quantize"]


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_zero_points_left_out_of_operators(kind: str) -> None:
    x = integers(1, kind, 1, 4, 5, 5)
    results: list[Array] = []
    for point in (True, False):
        graph = Graph()
        scale, zero = graph.params("x", 0.1, 0, kind)
        one = [scale, zero if point else ""]
        y = graph.add("QLinearAdd", ["x", *one, "x", *one, *one], "y")
        y = graph.add("QLinearGlobalAveragePool", [y, *one, *one], "z")
        if point:  # onnxruntime infers no type for one that is left out
            compare(graph, {"x": x}, y, kind)
        module = imported(graph.model({"x": x}, y, kind, 13))
        results.append(run_function(module, None, [x])[0])
    np.testing.assert_array_equal(results[0], results[1])


def test_parts_of_a_concatenation_have_zero_points() -> None:
    graph = Graph()  # onnxruntime would read outside of memory
    params = graph.params("x", 0.1, 0, "int8")
    y = graph.add("QLinearConcat", [*params, "x", params[0], ""], "y", axis=1)
    text = message_of(graph.model(FEEDS, y, "int8", 13))
    assert "(com.microsoft.QLinearConcat): input 4 is left out; expected all of them" in text


@pytest.mark.parametrize("form", FORMATS)
def test_exit_code_and_message(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, output = FORMATS[form]()
    graph.weights["x_scale"] = np.array(np.nan, np.float32)
    path = tmp_path / "net.onnx"
    path.write_bytes(graph.model(FEEDS, output, "int8", 13).SerializeToString())
    assert main([str(path), "--target", "host", "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"npu-compile: error: {path}: node '")
    assert said.err.endswith("scale 'x_scale' is nan; expected positive, finite numbers\n")
    assert not (tmp_path / "out").exists()


def test_the_models_are_right_otherwise() -> None:
    for form, make in FORMATS.items():
        graph, output = make()
        compare(graph, FEEDS, output, "int8", close=form == "qdq")
