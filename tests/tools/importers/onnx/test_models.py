"""Whole models: names, inputs and outputs, constants, dynamic dims, functions, old files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from helpers.onnx_models import (
    Array,
    check,
    imported,
    int64,
    layers,
    model,
    node,
    numbers,
    rejected,
)
from npu_dialect.interpreters import run_function
from npu_dialect.npu import NPU
from npu_tools.importers.onnx import build_module, import_file, import_model, load_model
from npu_tools.shared.errors import UserError

LIGHT = sorted(
    path
    for path in Path(onnx.__file__).parent.glob("backend/test/data/light/*.onnx")
    if path.stem != "light_vgg19"  # half a gigabyte of constants
)


def test_text_round_trip() -> None:
    nodes = [node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Relu", "c")]
    module = imported(model(nodes, {"x": (1, 2, 4, 4)}, weights={"w": numbers(3, 2, 3, 3)}))
    context = Context()
    for dialect in (Builtin, Func, Arith, NPU):
        context.load_dialect(dialect)
    assert str(Parser(context, str(module)).parse_module()) == str(module)
    assert "func.func @test(%x : tensor<1x2x4x4xf32>" in str(module).replace("%x:", "%x :")
    assert '{npu.layer = "the_Conv", npu.value = "c"}' in str(module)


def test_names_that_are_no_identifiers() -> None:
    nodes = [
        helper.make_node("Relu", ["in put/0"], ["/a/Relu_output_0"]),
        helper.make_node("Relu", ["/a/Relu_output_0"], ["a.Relu.output.0"], name="µ"),
        helper.make_node("Relu", ["a.Relu.output.0"], ["ü"], name="Relu"),
    ]
    module = imported(model(nodes, {"in put/0": (2,)}, ("ü",)))
    text = str(module)
    assert '%in_put0: tensor<2xf32> {npu.name = "in put/0"}' in text.replace(" :", ":")
    assert "%a_Relu_output0 = " in text
    assert "%a_Relu_output0x2 = " in text
    assert 'npu.layer = "/a/Relu_output_0"' in text
    (result,) = run_function(module, None, [np.array([1, -1], np.float32)])
    assert result.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("stem", "symbol"),
    [("net", "net"), ("my-net.v2", "my_net_v2"), ("3net", "model_3net"), ("", "model")],
)
def test_function_is_named_after_the_file(stem: str, symbol: str) -> None:
    data = model([node("Relu", "x")], {"x": (2,)}).SerializeToString()
    module = import_model(data, name=stem, base_dir=None)
    assert f"func.func @{symbol}(" in str(module)


def test_several_inputs_and_outputs() -> None:
    nodes = [node("Add", "a b", "s"), node("Relu", "s", "r"), node("Concat", "r a", "t", axis=0)]
    check(model(nodes, {"a": (2, 3), "unused": (1,), "b": (2, 3)}, ("t", "s", "r")))


def test_outputs_that_are_inputs_or_constants() -> None:
    proto = model([node("Relu", "x", "y")], {"x": (2,)}, ("y", "x", "w"), {"w": numbers(3)})
    module = imported(proto)
    given = numbers(2)
    y, x, w = run_function(module, None, [given])
    np.testing.assert_array_equal(x, given)
    np.testing.assert_array_equal(y, np.maximum(given, 0))
    np.testing.assert_array_equal(w, numbers(3))


def test_nodes_out_of_order_are_sorted() -> None:
    nodes = [node("Relu", "b"), node("Softmax", "a", "b"), node("Relu", "x", "a", name="first")]
    proto = model(nodes, {"x": (1, 3)})
    assert layers(imported(proto)) == ["npu.relu", "npu.softmax", "npu.relu"]


def test_nodes_that_no_output_needs_are_left_out() -> None:
    nodes = [node("LSTM", "x", "unused"), node("Relu", "x"), node("Exp", "unused", "too")]
    proto = model(nodes, {"x": (1, 3)})
    assert layers(imported(proto)) == ["npu.relu"]
    loaded = load_model(proto.SerializeToString(), name="m", base_dir=None)
    assert [kept.op_type for kept in loaded.graph.node] == ["Relu"]


def test_old_models_list_weights_as_inputs() -> None:
    proto = model([node("MatMul", "x w")], {"x": (1, 3), "w": (3, 4)}, weights={"w": numbers(3, 4)})
    proto.ir_version = 3
    module = imported(proto)
    assert layers(module) == ["npu.fully_connected"]
    assert len(str(module).partition("->")[0].split("npu.name")) == 2


def test_dynamic_dims_are_pinned() -> None:
    proto = model([node("Relu", "x")], {"x": ("batch", 3)}, {"y": ("batch", 3)})
    assert "tensor<2x3xf32>" in str(check(proto, batch=2))
    rejected(
        proto,
        "input 'x' has the dynamic dim 'batch' (dim 0); give it a size",
        "such as --input-dim batch=1",
    )
    rejected(proto, "--input-dim names 'size'", "dynamic dims: batch", size=2)
    rejected(proto, "--input-dim batch=0: expected a size of at least 1", batch=0)
    data = model([node("Relu", "x")], {"x": (None, 3)}).SerializeToString()
    with pytest.raises(UserError, match=r"such as --input-dim 'x\[0\]=1'"):
        import_model(data, name="m", base_dir=None)
    module = import_model(data, name="m", base_dir=None, input_dims={"x[0]": 4})
    assert "tensor<4x3xf32>" in str(module)


def test_the_loaded_model_can_be_run_elsewhere() -> None:
    proto = model([node("Relu", "x")], {"x": ("batch", 3)}, {"y": ("batch", 3)})
    loaded = load_model(proto.SerializeToString(), name="m", base_dir=None, input_dims={"batch": 2})
    assert loaded.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2
    assert loaded.graph.output[0].type.tensor_type.shape.dim[0].dim_value == 2
    assert layers(build_module(loaded, name="m")) == ["npu.relu"]


def constant(name: str, **attributes: Any) -> NodeProto:
    return helper.make_node("Constant", [], [name], name=name, **attributes)


@pytest.mark.parametrize("opset", [7, 13, 18])
def test_shape_arithmetic_is_folded(opset: int) -> None:
    """PyTorch exports a flatten as Shape -> Gather -> Concat -> Reshape."""
    row = {"axes": [0]} if opset < 13 else {}
    unsqueeze = node("Unsqueeze", "n" if row else "n zero", "row", **row)
    index = numpy_helper.from_array(np.array(0, np.int64), "index")
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s index", "n", axis=0),
        unsqueeze,
        node("Concat", "row rest", "t", axis=0),
        node("Reshape", "x t"),
    ]
    weights = {"rest": int64(-1), "zero": int64(0)}
    proto = model(nodes, {"x": (2, 3, 4)}, weights=weights, opset=opset)
    if opset < 9:  # before opset 9 Constant gives floats only
        proto.graph.initializer.append(index)
    else:
        proto.graph.node.insert(0, constant("index", value=index))
    assert layers(check(proto)) == ["npu.reshape"]


def test_constants_behind_identity_are_folded() -> None:
    """The node that is folded reads the constant by another name than the constant has."""
    nodes = [node("Identity", "w", "same"), node("Sqrt", "same", "root"), node("Add", "x root")]
    check(model(nodes, {"x": (2, 3)}, weights={"w": numbers(2, 3) ** 2}))


def test_weights_are_folded() -> None:
    nodes = [
        node("ConstantOfShape", "shape", "c", value=helper.make_tensor("v", 1, [1], [0.25])),
        node("Transpose", "w", "t"),
        node("Mul", "t two", "m"),
        node("Sub", "m c", "d"),
        node("Cast", "long", "b", to=TensorProto.FLOAT),
        node("Gemm", "x d b"),
    ]
    weights = {
        "shape": int64(3, 4),
        "w": numbers(4, 3),
        "two": np.array(2, np.float32),
        "long": np.arange(4, dtype=np.float64),
    }
    module = check(model(nodes, {"x": (2, 3)}, weights=weights))
    assert layers(module) == ["npu.fully_connected"]


def test_constant_nodes() -> None:
    nodes = [
        constant("a", value_float=0.5),
        constant("b", value_floats=[1.0, 2.0]),
        constant("c", value_ints=[2, 1]),
        node("Add", "x a", "p", name="p"),
        node("Add", "p b", "q", name="q"),
        node("Reshape", "q c"),
    ]
    check(model(nodes, {"x": (1, 2)}))
    strings = [constant("s", value_string="x"), node("Add", "x s")]
    rejected(model(strings, {"x": (2,)}), "node 's' (Constant): value_string")


def test_absurd_constants_are_rejected() -> None:
    shapes = {"x": (1,)}
    for op, inputs in (
        ("ConstantOfShape", "big"),
        ("Expand", "one big"),
        ("Tile", "one big"),
        ("Range", "zero end step"),
        ("Pad", "one pads"),
    ):
        weights = {
            "big": int64(2**40),
            "one": numbers(1),
            "pads": int64(0, 2**40),
            "zero": np.array(0, np.int64),
            "end": np.array(2**40, np.int64),
            "step": np.array(1, np.int64),
        }
        proto = model([node(op, inputs, "c"), node("Add", "x c")], shapes, weights=weights)
        rejected(proto, f"node 'the_{op}' ({op}): its constant result takes")
    steps = model([node("Mul", "column row", "c"), node("Add", "x c")], shapes)
    column = np.ones((2**14, 1), np.float32)
    steps.graph.initializer.append(numpy_helper.from_array(column, "column"))
    steps.graph.initializer.append(numpy_helper.from_array(column.T, "row"))
    rejected(steps, "its constant result takes 1073741824 bytes; expected at most 536870912")


def test_what_cannot_be_folded_is_rejected() -> None:
    shapes = {"x": (4,)}
    for op, inputs, part in (
        ("Reshape", "w shape", "cannot be computed from its constants"),
        ("Add", "w three", "its constants do not fit together"),
        ("Range", "zero one zero", "range from 0 to 1 by 0"),
        ("Gather", "w shape", "axis 7 of a tensor of rank 1"),
    ):
        attributes = {"axis": 7} if op == "Gather" else {}
        nodes = [node(op, inputs, "c", **attributes), node("Concat", "x c", axis=0)]
        weights = {
            "w": numbers(4),
            "three": numbers(3),
            "shape": int64(3, 3),
            "zero": np.array(0, np.int64),
            "one": np.array(1, np.int64),
        }
        rejected(model(nodes, shapes, weights=weights), f"node 'the_{op}' ({op}): ", part)


def test_all_unsupported_nodes_are_listed() -> None:
    nodes = [
        node("Conv", "x w", "c"),
        node("Bernoulli", "c", "l"),
        node("Relu", "l", "r"),
        helper.make_node("ConstantOfShape", ["x"], ["e"]),
        helper.make_node("Magic", ["r"], ["m"], name="wand", domain="com.example"),
        helper.make_node("If", ["e"], ["i"]),  # perhaps it would be taken with a known condition
        helper.make_node("Range", ["k", "r", "w"], ["chosen"]),
        helper.make_node("Where", ["k", "w", "w"], ["folded"]),
        helper.make_node("Det", ["x"], ["angle"]),
        node("Concat", "m i chosen folded angle", axis=0),
    ]
    weights: dict[str, Array] = {"w": numbers(2, 3, 3, 3), "k": np.array([True])}
    proto = model(nodes, {"x": (1, 2, 4, 4)}, weights=weights)
    message = rejected(proto, "6 nodes cannot be imported:", "supported: Abs, ")
    assert [line.strip() for line in message.splitlines()[1:-1]] == [
        "node 'the_Conv' (Conv): expected a weight with 2 channels per group, got 3",
        "node 'the_Bernoulli' (Bernoulli): the operator is not supported",
        "node 'e' (ConstantOfShape): the operator is supported between constants only",
        "node 'wand' (com.example.Magic): the operator is not supported",
        "node 'chosen' (Range): the operator is supported between constants only",
        "node 'angle' (Det): the operator is not supported",
    ]


def function_model(recursive: bool) -> ModelProto:
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]
    domain = "local" if recursive else ""
    body = [
        helper.make_node("Relu", ["a"], ["t"]),
        helper.make_node("Twice" if recursive else "Relu", ["t"], ["b"], domain=domain),
    ]
    function = helper.make_function("local", "Twice", ["a"], ["b"], body, opsets)
    call = helper.make_node("Twice", ["x"], ["y"], domain="local")
    proto = model([call], {"x": (2,)})
    proto.opset_import.append(opsets[1])
    proto.functions.append(function)
    return proto


def test_local_functions_are_inlined() -> None:
    assert layers(imported(function_model(recursive=False))) == ["npu.relu", "npu.relu"]
    rejected(function_model(recursive=True), "function 'Twice' calls itself")


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_models(path: Path) -> None:
    """The published networks in the onnx package are imported."""
    assert layers(import_file(path))[0] == "npu.conv2d"
