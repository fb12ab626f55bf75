"""Small float networks of the usual families, to be quantised by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from helpers.quantized.build import Array, rng

SHAPE = (1, 3, 12, 12)


class FloatNet:
    """A network under construction; `last` is the map that the next node reads."""

    def __init__(self, opset: int = 14) -> None:
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, Array] = {}
        self.channels = {"x": SHAPE[1]}
        self.last = "x"
        self.random = rng(7)

    def constant(self, name: str, value: Any, kind: Any = np.float32) -> str:
        """Add an initialiser; returns its name."""
        self.weights[name] = np.asarray(value, kind)
        return name

    def node(self, op: str, inputs: Sequence[str] = (), /, **attributes: Any) -> str:
        """Add a node that reads the last map, or the given values; returns its output."""
        names = list(inputs) or [self.last]
        out = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [out], f"the_{out}", **attributes))
        self.channels[out] = self.channels[names[0]]
        self.last = out
        return out

    def conv(self, filters: int, size: int, /, source: str = "", **attributes: Any) -> str:
        """A convolution with He weights."""
        source = source or self.last
        depth = self.channels[source] // attributes.get("group", 1)
        name = f"w{len(self.nodes)}"
        deviation = np.sqrt(2 / (depth * size * size))
        weight = self.random.standard_normal((filters, depth, size, size)) * deviation
        inputs = [source, self.constant(name, weight)]
        inputs.append(self.constant(f"{name}_b", self.random.uniform(-0.3, 0.3, filters)))
        attributes.setdefault("pads", [size // 2] * 4)
        out = self.node("Conv", inputs, **attributes)
        self.channels[out] = filters
        return out

    def relu6(self) -> str:
        """Clip between 0 and 6."""
        inputs = [self.last, self.constant("zero", 0.0), self.constant("six", 6.0)]
        return self.node("Clip", inputs)

    def dense(self, outputs: int) -> str:
        """Flatten and a matrix product."""
        depth = self.channels[self.node("Flatten")]
        weight = self.random.standard_normal((outputs, depth)) / np.sqrt(depth)
        bias = self.constant("fc_b", self.random.uniform(-0.3, 0.3, outputs))
        return self.node("Gemm", [self.last, self.constant("fc_w", weight), bias], transB=1)

    def model(self) -> ModelProto:
        """The network up to the last map."""
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)]
        outputs = [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)]
        weights = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, "net", inputs, outputs, weights)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def mobilenet() -> ModelProto:
    """Inverted bottlenecks with ReLU6, one with a residual."""
    net = FloatNet()
    net.conv(8, 3, strides=[2, 2])
    net.relu6()
    for filters, stride in ((8, 1), (12, 2)):
        given, wide = net.last, 3 * net.channels[net.last]
        net.conv(wide, 1)
        net.relu6()
        net.conv(wide, 3, group=wide, strides=[stride, stride])
        net.relu6()
        narrow = net.conv(filters, 1)
        if stride == 1:
            net.node("Add", [given, narrow])
    net.node("GlobalAveragePool")
    net.dense(10)
    return net.model()


def resnet() -> ModelProto:
    """Residual blocks, one with a projection; batch normalisation behind each convolution."""
    net = FloatNet()
    conv_norm(net, 8, 1)
    net.node("Relu")
    for filters, stride in ((8, 1), (12, 2)):
        given = net.last
        conv_norm(net, filters, stride)
        net.node("Relu")
        branch = conv_norm(net, filters, 1)
        other = given if stride == 1 else net.conv(filters, 1, given, strides=[2, 2])
        net.node("Add", [branch, other])
        net.node("Relu")
    net.node("GlobalAveragePool")
    net.dense(10)
    net.node("Softmax", axis=1)
    return net.model()


def conv_norm(net: FloatNet, filters: int, stride: int) -> str:
    """A convolution and a batch normalisation."""
    net.conv(filters, 3, strides=[stride, stride])
    stem = net.last
    names = [net.constant(f"{stem}.{part}", np.ones(filters)) for part in ("scale", "var")]
    shifts = [
        net.constant(f"{stem}.{part}", net.random.uniform(-0.2, 0.2, filters))
        for part in ("shift", "mean")
    ]
    return net.node("BatchNormalization", [stem, names[0], *shifts, names[1]])


def squeezenet() -> ModelProto:
    """Fire modules with Concat, max pools, and a convolution as the classifier."""
    net = FloatNet()
    net.conv(8, 3)
    net.node("Relu")
    net.node("MaxPool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=0)
    for squeeze, expand in ((4, 6), (6, 8)):
        net.conv(squeeze, 1)
        thin = net.node("Relu")
        net.conv(expand, 1, thin)
        left = net.node("Relu")
        net.conv(expand, 3, thin)
        both = net.node("Concat", [left, net.node("Relu")], axis=1)
        net.channels[both] = 2 * expand
    net.conv(10, 1)
    net.node("Relu")
    net.node("AveragePool", kernel_shape=[2, 2], strides=[2, 2])
    net.node("GlobalAveragePool")
    net.node("Flatten")
    return net.model()


def mobilenet_v3() -> ModelProto:
    """HardSwish, and a gate of each channel by HardSigmoid."""
    net = FloatNet()
    net.conv(8, 3, strides=[2, 2])
    wide = net.node("HardSwish")
    net.node("GlobalAveragePool")
    net.conv(4, 1)
    net.node("Relu")
    net.conv(8, 1)
    gate = net.node("HardSigmoid", alpha=1 / 6)
    net.node("Mul", [wide, gate])
    net.conv(12, 3)
    net.node("GlobalAveragePool")
    net.dense(10)
    return net.model()


def in_floats() -> ModelProto:
    """Swish, LeakyRelu, and the difference of two branches, which have no integer form."""
    net = FloatNet()
    stem = net.conv(6, 3, strides=[2, 2])
    net.node("Mul", [stem, net.node("Sigmoid")])
    left = net.conv(6, 3)
    net.conv(6, 1, stem)
    net.node("Sub", [left, net.node("LeakyRelu", alpha=0.1)])
    net.conv(8, 3)
    net.node("GlobalAveragePool")
    net.dense(10)
    return net.model()


def with_mean() -> ModelProto:
    """Pad before a convolution, and ReduceMean instead of GlobalAveragePool."""
    net = FloatNet(opset=13)
    pads = net.constant("pads", [0, 0, 0, 0, 0, 0, 1, 1], np.int64)
    net.node("Pad", ["x", pads])
    net.conv(8, 3, strides=[2, 2], pads=[0, 0, 0, 0])
    net.node("Relu")
    net.node("Pad", [net.last, pads])
    net.node("MaxPool", kernel_shape=[3, 3], strides=[2, 2])
    net.conv(12, 3)
    net.node("Relu")
    net.node("ReduceMean", axes=[2, 3], keepdims=0)
    weight = net.random.standard_normal((12, 10)) / np.sqrt(12)
    net.node("MatMul", [net.last, net.constant("fc_w", weight)])
    net.node("Add", [net.last, net.constant("fc_b", net.random.uniform(-0.3, 0.3, 10))])
    return net.model()


NETWORKS: Mapping[str, Callable[[], ModelProto]] = {
    "in_floats": in_floats,
    "mobilenet": mobilenet,
    "mobilenet_v3": mobilenet_v3,
    "resnet": resnet,
    "squeezenet": squeezenet,
    "with_mean": with_mean,
}
"""All networks by name; each takes `x`, [1, 3, 12, 12]."""
