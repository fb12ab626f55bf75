"""Small int8 networks around one convolution, which `layers.py` measures.

The convolution is named `MEASURED`. The layers around it give its maps the layout that they have in
a network: channels last, in a slice of a concatenation, or in the rings of a loop over rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod, sqrt
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

MEASURED = "measured"
SCALE = 0.05
"""The scale of all maps."""
POINTS = {"int8": -128, "uint8": 0}
"""The zero point of all maps by their type, as behind activations that give no negative numbers."""


@dataclass(frozen=True)
class Shape:
    """A convolution: its input [N, C, H, W], and its parameters.

    `pool` is the kernel and the stride of a max pool behind it, (0, 0) without one.
    """

    input: tuple[int, int, int, int]
    filters: int
    kernel: int = 3
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padded: bool = True
    pool: tuple[int, int] = (0, 0)
    given: bool = False
    """Whether the caller gives the input, so that it has the model's layout."""
    returned: bool = False
    """Whether the caller gets the output, which has the model's layout then, too."""
    kind: str = "int8"
    """The element type of maps, int8 or uint8."""
    point: int | None = None
    """The zero point of maps; None: that of `POINTS`."""
    scales: str = "channel"
    """Whether weights have a scale for each filter (`channel`) or one for all (`tensor`)."""

    @property
    def pads(self) -> list[int]:
        """Rows and columns of padding: top, left, bottom, right."""
        return [(self.kernel - 1) * self.dilation // 2 if self.padded else 0] * 4


@dataclass
class Net:
    """A model under construction; maps are named by the nodes that make them."""

    kind: str = "int8"
    point: int | None = None
    """The zero point of maps; None: that of `POINTS`."""
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    constants: dict[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    inputs: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        if self.point is None:
            self.point = POINTS[self.kind]

    def input(self, shape: tuple[int, ...], name: str = "x") -> str:
        """Add an input."""
        self.inputs.append(name)
        self.shapes[name] = shape
        return name

    def constant(self, name: str, value: Any, kind: str) -> str:
        """Add an initialiser."""
        self.constants[name] = np.asarray(value, kind)
        return name

    def node(self, op: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Add a node, named like its output."""
        self.nodes.append(helper.make_node(op, list(inputs), [name], name, **attributes))
        return name

    def conv(self, source: str, name: str, shape: Shape) -> str:
        """Add a convolution; the kind of its shape's maps is that of the network."""
        depth = self.shapes[source][1] // shape.groups
        taps = (shape.filters, depth, shape.kernel, shape.kernel)
        numbers = np.random.default_rng(len(self.nodes))
        each = shape.filters if shape.scales == "channel" else 1
        scale = 3 / (37 * sqrt(prod(taps[1:])))  # so that outputs use their whole range
        scales = scale * numbers.uniform(0.7, 1, each)
        names = [
            source,
            self.constant("scale", SCALE, "float32"),
            self.constant("point", self.point, self.kind),
            self.constant(f"{name}_w", numbers.integers(-63, 64, taps), "int8"),
            self.constant(f"{name}_ws", scales if each > 1 else scales[0], "float32"),
            self.constant(f"{name}_wz", np.zeros(each) if each > 1 else 0, "int8"),
            *("scale", "point"),
            self.constant(f"{name}_b", numbers.integers(-900, 900, shape.filters), "int32"),
        ]
        made = self.node(
            "QLinearConv",
            names,
            name,
            group=shape.groups,
            pads=shape.pads,
            strides=[shape.stride] * 2,
            dilations=[shape.dilation] * 2,
        )
        self.shapes[name] = (self.shapes[source][0], shape.filters, *self.extents(source, shape))
        return self.pool(made, *shape.pool) if shape.pool[0] else made

    def extents(self, source: str, shape: Shape) -> list[int]:
        """Rows and columns of the output of a convolution."""
        reach = (shape.kernel - 1) * shape.dilation + 1
        pads = 2 * shape.pads[0]
        return [(size + pads - reach) // shape.stride + 1 for size in self.shapes[source][2:]]

    def pointwise(self, source: str, name: str, filters: int) -> str:
        """Add a 1x1 convolution."""
        return self.conv(source, name, Shape((1, 1, 1, 1), filters, 1))

    def pool(self, source: str, kernel: int, stride: int) -> str:
        """Add a max pool with half of its kernel as padding if that is odd."""
        pads = [kernel // 2 if kernel % 2 else 0] * 4
        name = self.node(
            "MaxPool",
            [source],
            f"{source}_pool",
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=pads,
        )
        sizes = [(n + 2 * pads[0] - kernel) // stride + 1 for n in self.shapes[source][2:]]
        self.shapes[name] = (*self.shapes[source][:2], *sizes)
        return name

    def concat(self, sources: Sequence[str], name: str) -> str:
        """Add a concatenation of channels."""
        first = self.shapes[sources[0]]
        channels = sum(self.shapes[source][1] for source in sources)
        self.shapes[name] = (first[0], channels, *first[2:])
        return self.node("Concat", sources, name, axis=1)

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        """The model."""
        element = TensorProto.INT8 if self.kind == "int8" else TensorProto.UINT8
        given, found = (
            [helper.make_tensor_value_info(name, element, self.shapes[name]) for name in names]
            for names in (self.inputs, outputs)
        )
        weights = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "layer", given, found, weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        return made


def alone(shape: Shape) -> onnx.ModelProto:
    """A convolution between two 1x1 convolutions, or at an end of the network."""
    net = Net(shape.kind, shape.point)
    images, channels, *extents = shape.input
    if shape.given:
        x = net.input(shape.input)
    else:
        x = net.pointwise(net.input((images, 4, *extents)), "before", channels)
    measured = net.conv(x, MEASURED, shape)
    return net.model([measured if shape.returned else net.pointwise(measured, "behind", 4)])


def into_concat(shape: Shape) -> onnx.ModelProto:
    """A convolution that writes a part of a concatenation."""
    net = Net(shape.kind, shape.point)
    images, channels, *extents = shape.input
    x = net.input((images, 4, *extents))
    before = net.pointwise(x, "before", channels)
    other = replace(shape, filters=8, groups=1)
    both = [net.conv(before, MEASURED, shape), net.conv(before, "beside", other)]
    return net.model([net.pointwise(net.concat(both, "both"), "behind", 4)])


def out_of_concat(shape: Shape) -> onnx.ModelProto:
    """A convolution that reads a part of a concatenation."""
    net = Net(shape.kind, shape.point)
    images, channels, *extents = shape.input
    x = net.input((images, 4, *extents))
    parts = [net.pointwise(x, "before", channels), net.pointwise(x, "beside", 8)]
    both = net.pointwise(net.concat(parts, "both"), "behind", 4)
    return net.model([both, net.pointwise(net.conv(parts[0], MEASURED, shape), "last", 4)])
