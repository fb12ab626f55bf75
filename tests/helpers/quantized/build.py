"""Small quantised ONNX models, and comparisons of our results with those of onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.interpreters import run_function
from npu_tools.importers.onnx import import_model
from npu_tools.verifying.exact_reference import with_exact_sums

onnxruntime: Any = pytest.importorskip("onnxruntime")

Array: TypeAlias = NDArray[Any]

NICE = (0.5, 0.25, 0.1, 0.05, 0.2, 0.3, 0.75)
"""Scales with many ties between two integers."""


def rng(seed: int) -> np.random.Generator:
    """Seeded random numbers."""
    return np.random.default_rng(seed)


def integers(seed: int, kind: str, *shape: int) -> Array:
    """Random integers over the whole range of a type."""
    limits = np.iinfo(kind)
    return rng(seed).integers(limits.min, limits.max + 1, shape).astype(kind)


@dataclass
class Graph:
    """A model under construction."""

    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    weights: dict[str, Array] = field(default_factory=dict[str, Array])

    def constant(self, name: str, value: Any, kind: Any = None) -> str:
        """Add an initialiser; returns its name."""
        self.weights[name] = np.asarray(value, kind)
        return name

    def params(self, name: str, scale: Any, zero_point: Any, kind: str) -> list[str]:
        """Add a scale and a zero point; returns their names."""
        return [
            self.constant(f"{name}_scale", scale, np.float32),
            self.constant(f"{name}_point", zero_point, kind),
        ]

    def add(self, op: str, inputs: Sequence[str], output: str, /, **attributes: Any) -> str:
        """Add a node with the name of its output; returns the output."""
        microsoft = op in MICROSOFT
        node = helper.make_node(op, list(inputs), [output], f"the_{output}", **attributes)
        node.domain = "com.microsoft" if microsoft else ""
        self.nodes.append(node)
        return output

    def dequantize(self, source: str, scale: Any, point: Any, kind: str, **attributes: Any) -> str:
        """Add DequantizeLinear; returns the name of the real map."""
        params = self.params(source, scale, point, kind)
        return self.add("DequantizeLinear", [source, *params], f"{source}_real", **attributes)

    def quantize(self, source: str, scale: Any, point: Any, kind: str) -> str:
        """Add QuantizeLinear; returns the name of the integer map."""
        params = self.params(f"{source}_q", scale, point, kind)
        return self.add("QuantizeLinear", [source, *params], f"{source}_int")

    def model(self, feeds: Mapping[str, Array], output: str, kind: Any, opset: int) -> ModelProto:
        """The model, with inputs of the shapes and types of `feeds`."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in feeds.items()
        ]
        outputs = [helper.make_tensor_value_info(output, element, None)]
        weights = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, "test", inputs, outputs, weights)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


MICROSOFT = (
    "FastGelu",
    "QGemm",
    "QLinearAdd",
    "QLinearAveragePool",
    "QLinearConcat",
    "QLinearGlobalAveragePool",
    "QLinearLeakyRelu",
    "QLinearSigmoid",
    "QLinearSoftmax",
    "QLinearMul",
)


def onnxruntime_says(proto: ModelProto, feeds: Mapping[str, Array]) -> Array:
    """The output as onnxruntime computes it, node by node and with exact integer sums."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        with_exact_sums(proto).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, dict(feeds))[0]


def imported(proto: ModelProto) -> ModuleOp:
    """The verified module of a model."""
    module = import_model(proto.SerializeToString(), name="test", base_dir=None)
    module.verify()
    return module


def layers(module: ModuleOp) -> list[str]:
    """Names of the layers, without their dialect."""
    return [op.name[4:] for op in module.walk() if op.name.startswith("npu.")]


def compare(
    graph: Graph,
    feeds: Mapping[str, Array],
    output: str,
    kind: Any,
    *,
    opset: int = 13,
    close: bool = False,
) -> list[str]:
    """Check that the imported module gives the same integers as onnxruntime.

    With `close`, a few may differ by 1. Returns the names of the layers.
    """
    proto = graph.model(feeds, output, kind, opset)
    module = imported(proto)
    (ours,) = run_function(module, None, list(feeds.values()))
    theirs = onnxruntime_says(proto, feeds)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if close:
        distance = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
        assert distance.max() <= 1
        assert (distance == 0).mean() > 0.98
    else:
        np.testing.assert_array_equal(ours, theirs)
    return layers(module)
