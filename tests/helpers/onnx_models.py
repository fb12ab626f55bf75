"""Small ONNX models, and what the importer must make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.interpreters import run_function
from npu_tools.importers.onnx import import_model
from npu_tools.shared.errors import UserError

onnxruntime: Any = pytest.importorskip("onnxruntime")

Array = NDArray[Any]
Weights = Mapping[str, Array]
Shape = Sequence[int | str | None]

NEWEST = defs.onnx_opset_version()
NEWEST_OF_RUNTIME = 22
"""The newest opset that is compared with onnxruntime; newer ones with ONNX's own reference."""


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Shape],
    outputs: Sequence[str] | Mapping[str, Shape] = ("y",),
    weights: Weights | None = None,
    opset: int = 13,
    kind: int = TensorProto.FLOAT,
) -> ModelProto:
    """A model of these nodes; an output may have no shape."""
    shapes = outputs if isinstance(outputs, Mapping) else dict.fromkeys(outputs)
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in shapes.items()
        ],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 23 else 12)


def node(op: str, inputs: str, outputs: str = "y", /, **attributes: Any) -> NodeProto:
    """A node whose operands are the words of a text; `_` stands for an operand that is left out."""
    names = ["" if name == "_" else name for name in inputs.split()]
    attributes.setdefault("name", f"the_{op}")
    return helper.make_node(op, names, outputs.split(), **attributes)


def numbers(*shape: int, seed: int = 0) -> Array:
    """Random numbers of a shape."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def int64(*values: int) -> Array:
    """A list of integers as a tensor."""
    return np.array(values, np.int64)


def imported(proto: ModelProto, **input_dims: int) -> ModuleOp:
    """The verified module of a model."""
    module = import_model(
        proto.SerializeToString(), name="test", base_dir=None, input_dims=input_dims
    )
    module.verify()
    return module


def expected(proto: ModelProto, feeds: dict[str, Array]) -> list[Array]:
    """The outputs of a model, from onnxruntime if it knows the opset."""
    if proto.opset_import[0].version <= NEWEST_OF_RUNTIME:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return list(session.run(None, feeds))
    evaluator: Any = ReferenceEvaluator(proto)
    return list(evaluator.run(None, feeds))


def check(proto: ModelProto, **input_dims: int) -> ModuleOp:
    """Import a model, and compare its outputs with the expected ones on random inputs."""
    module = imported(proto, **input_dims)
    weights = {tensor.name for tensor in proto.graph.initializer}
    feeds = {
        value.name: numbers(*shape_of(value, input_dims), seed=index + 1)
        for index, value in enumerate(proto.graph.input)
        if value.name not in weights
    }
    ours = run_function(module, None, list(feeds.values()))
    theirs = expected(proto, feeds)
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert our.shape == their.shape
        np.testing.assert_allclose(our, their, rtol=1e-5, atol=1e-5)
    return module


def shape_of(value: Any, input_dims: Mapping[str, int]) -> list[int]:
    """The shape of an input, with the given sizes for its dynamic dimensions."""
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value or input_dims[dim.dim_param] for dim in dims]


def layers(module: ModuleOp) -> list[str]:
    """Names of the npu layers, in order."""
    return [op.name for op in module.walk() if op.name.startswith("npu.")]


def rejected(proto: ModelProto | bytes, *parts: str, **input_dims: int) -> str:
    """Import a model that must be rejected; returns the message, which must hold all the parts."""
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    with pytest.raises(UserError) as caught:
        import_model(data, name="bad", base_dir=None, input_dims=input_dims)
    message = str(caught.value)
    assert message.startswith("bad: ")
    for part in parts:
        assert part in message
    return message


def chain() -> ModelProto:
    """Two convolutions: 3 channels of 8x8, 4 of 8x8, 2 of 6x6."""
    weights = {"v": numbers(4, 3, 3, 3), "w": numbers(2, 4, 3, 3, seed=1)}
    nodes = [
        node("Conv", "x v", "a", pads=[1, 1, 1, 1], name="one"),
        node("Conv", "a w", "y", name="two"),
    ]
    return model(nodes, {"x": (1, 3, 8, 8)}, weights=weights)
