"""The `light_*` models of the onnx package: published networks whose weights are all 0.02.

Equal weights hide most mistakes, so the models are also run with random weights, up to the scores
before the softmax.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx.backend.test
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

FOLDER = Path(onnx.backend.test.__file__).parent / "data" / "light"

Array = NDArray[np.float32]


def light_file(name: str) -> Path:
    """The file of a model."""
    return FOLDER / f"light_{name}.onnx"


def recorded_output(name: str) -> Array:
    """The output that the onnx package has recorded for the input `ramp`."""
    proto = TensorProto.FromString((FOLDER / f"light_{name}_output_0.pb").read_bytes())
    return numpy_helper.to_array(proto)


def ramp(*shape: int) -> Array:
    """The input of the recorded outputs: 0, 1/n, 2/n ... (onnx's backend test runner)."""
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def seeded(name: str, seed: int = 0) -> ModelProto:
    """A model with random weights of sensible scale, without the softmax at its end."""
    model = ModelProto.FromString(light_file(name).read_bytes())
    model.ir_version = 8  # initialisers need not be inputs
    graph = model.graph
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    roles = parameter_roles(graph)
    rng = np.random.default_rng(seed)
    for node in [node for node in graph.node if node.op_type == "ConstantOfShape"]:
        output = node.output[0]
        shape = tuple(int(extent) for extent in shapes[node.input[0]])
        array = parameter(rng, *roles[output], shape)
        graph.initializer.append(numpy_helper.from_array(array, output))
        graph.node.remove(node)
    without_softmax(graph)
    return model


def parameter_roles(graph: GraphProto) -> Mapping[str, tuple[str, int]]:
    """The first reader of each value: its operator, and the index of the value in its operands."""
    roles: dict[str, tuple[str, int]] = {}
    for node in reversed(graph.node):
        for index, value in enumerate(node.input):
            through = node.op_type == "Unsqueeze" and node.output[0] in roles
            roles[value] = roles[node.output[0]] if through else (node.op_type, index)
    return roles


def parameter(rng: np.random.Generator, reader: str, index: int, shape: tuple[int, ...]) -> Array:
    """A random parameter: weights keep the magnitude of a map (He), factors are around 1."""
    if reader in ("Conv", "Gemm") and index == 1:
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        return (rng.standard_normal(shape, np.float32) * deviation).astype(np.float32)
    if reader == "Mul" or (reader == "BatchNormalization" and index in (1, 4)):
        return rng.random(shape, np.float32) + np.float32(0.5)
    return rng.standard_normal(shape, np.float32) / np.float32(10)


def without_softmax(graph: GraphProto) -> None:
    """Remove the softmax at the end of a graph, if there is one."""
    last: NodeProto = graph.node[-1]
    if last.op_type == "Softmax":
        graph.output[0].name = last.input[0]
        graph.node.remove(last)
