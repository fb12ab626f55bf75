"""A network of floats as quantisers write it: QuantizeLinear and DequantizeLinear at each map."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from helpers.every_operator.network import Array, Network

WITH_WEIGHTS: Mapping[str, int] = {"Conv": 0, "ConvTranspose": 1, "Gemm": -1, "MatMul": -1}
"""Operators with weights, and the axis of their filters; -1 if it depends."""


class Pairs:
    """Rewrites a network; `kind` is the type of all maps."""

    def __init__(self, net: Network, random: Random) -> None:
        self.net, self.random = net, random
        self.kind = random.choice(("int8", "uint8"))
        self.nodes: list[NodeProto] = []
        self.real: dict[str, str] = {}
        """The value after DequantizeLinear of each map that has one."""

    def rewrite(self) -> None:
        """Rewrite the network in place; some maps stay as they are."""
        for name in list(self.net.inputs):
            self.between(name)
        for node in self.net.nodes:
            if node.op_type in WITH_WEIGHTS:
                self.weighted(node)
            node.input[:] = [self.real.get(name, name) for name in node.input]
            self.nodes.append(node)
            for name in node.output:
                if self.random.random() < 0.9:
                    self.between(name)
        self.net.nodes[:] = self.nodes
        for node in self.nodes:
            for name in node.output:
                self.net.data.setdefault(name, np.zeros(1, np.float32))

    def between(self, name: str) -> None:
        """Put QuantizeLinear and DequantizeLinear behind a map of floats."""
        array = self.net.data[name]
        if array.dtype != np.float32:
            return
        scale, point = self.params(array)
        q, real = f"{name}_q", f"{name}_real"
        self.nodes.append(helper.make_node("QuantizeLinear", [name, scale, point], [q], q))
        self.nodes.append(helper.make_node("DequantizeLinear", [q, scale, point], [real], real))
        self.net.data[q] = np.zeros(array.shape, self.kind)
        self.net.data[real] = np.zeros(array.shape, np.float32)
        self.real[name] = real

    def params(self, array: Array) -> tuple[str, str]:
        """Scale and zero point for numbers in the range of an array, or nearly."""
        low, high = min(0.0, float(array.min())), max(0.0, float(array.max()))
        scale = max((high - low) / 255, 1e-6) * self.random.uniform(0.9, 1.1)
        limits = np.iinfo(self.kind)
        point = int(np.clip(round(limits.min - low / scale), limits.min, limits.max))
        return (
            self.net.constant(np.array(scale, np.float32)),
            self.net.constant(np.array(point, self.kind)),
        )

    def weighted(self, node: NodeProto) -> None:
        """Make the constant operands of a node integers behind DequantizeLinear."""
        names = list(node.input)
        if names[1] not in self.net.weights or self.random.random() < 0.1:
            return
        array = self.net.weights[names[1]]
        axis = WITH_WEIGHTS[node.op_type]
        by_filter = axis >= 0 and node.op_type == "Conv" and self.random.random() < 0.6
        most = np.abs(array)
        largest = most.max(tuple(range(1, array.ndim))) if by_filter else most.max()
        scales = np.maximum(np.asarray(largest, np.float32) / 127, np.float32(1e-6))
        wide = scales.reshape(-1, *(1,) * (array.ndim - 1)) if by_filter else scales
        node.input[1] = self.constant(np.rint(array / wide).astype(np.int8), scales, axis)
        if len(names) > 2 and names[2] in self.net.weights and node.op_type != "Gemm":
            self.biased(node, names[0], scales)

    def biased(self, node: NodeProto, source: str, scales: Array) -> None:
        """Make a bias int32, with the scale of the products."""
        if source not in self.real:
            return
        found = next(each for each in self.nodes if each.output[0] == self.real[source])
        wide = scales * self.net.weights[found.input[1]]
        bias = np.rint(self.net.weights[node.input[2]] / wide).astype(np.int32)
        node.input[2] = self.constant(bias, np.asarray(wide, np.float32), 0)

    def constant(self, array: Array, scales: Array, axis: int) -> str:
        """A constant behind DequantizeLinear."""
        point = self.net.constant(np.zeros(scales.shape, array.dtype))
        inputs = [self.net.constant(array), self.net.constant(scales), point]
        more: dict[str, Any] = {"axis": axis} if scales.ndim else {}
        name = f"{inputs[0]}_real"
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [name], name, **more))
        self.net.data[name] = np.zeros(array.shape, np.float32)
        return name
