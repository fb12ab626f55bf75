"""One layer, run by onnxruntime and by our interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint
from xdsl.universe import Universe

from npu_dialect.interpreters import run_function
from npu_dialect.npu.layer import LayerOp

ort: Any = import_module("onnxruntime")  # without type stubs

Array = npt.NDArray[Any]
Build = Callable[[Sequence[SSAValue], SSAValue | Attribute], LayerOp]
"""A function that makes a layer from its inputs, and its destination or result type."""


def onnxruntime(kind: str, inputs: Sequence[Array], **attributes: Any) -> Array:
    """The output of an ONNX operator."""
    names = [f"x{index}" for index in range(len(inputs))]
    node = helper.make_node(kind, names, ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
            for name, array in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options)
    return np.asarray(session.run(None, dict(zip(names, inputs, strict=True)))[0])


def function_of(
    inputs: Sequence[Array], shape: Sequence[int], build: Build, *, buffers: bool
) -> ModuleOp:
    """A function `@f` that is one layer, on tensors or in destination style; verified."""
    family = MemRefType if buffers else TensorType
    types = [family(f32, array.shape) for array in inputs]
    result = family(f32, shape)
    arguments, results = ([*types, result], []) if buffers else (types, [result])
    function = FuncOp("f", (arguments, results))
    block = function.body.block
    builder = Builder(InsertPoint.at_end(block))
    layer = build(block.args[: len(inputs)], block.args[-1] if buffers else result)
    builder.insert(layer)
    builder.insert(ReturnOp(*layer.results))
    module = ModuleOp([function])
    module.verify()
    return module


def run_on_tensors(
    inputs: Sequence[Array], shape: Sequence[int], build: Build
) -> tuple[Array, ...]:
    """The outputs of a layer on tensors."""
    return run_function(function_of(inputs, shape, build, buffers=False), "f", inputs)


def parsed(text: str) -> ModuleOp:
    """The verified module of a text that uses any installed dialect."""
    context = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def interpreted(inputs: Sequence[Array], shape: Sequence[int], build: Build) -> Array:
    """The output of a layer; the forms on tensors and on buffers must give the same."""
    on_buffers = function_of(inputs, shape, build, buffers=True)
    (result,) = run_on_tensors(inputs, shape, build)
    out = np.full(shape, np.nan, np.float32)
    written = run_function(on_buffers, "f", [*inputs, out])[-1]
    np.testing.assert_array_equal(result, written)
    return result


def expect_same(actual: Array, expected: Array) -> None:
    """Compare up to the rounding of sums."""
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
