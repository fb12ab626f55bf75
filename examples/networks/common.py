"""A small builder of ONNX graphs and a command line, for the networks of this folder.

    net = Network("toy", options, channels=3)
    x = net.conv_relu("stem/conv1", net.image, 32, 3, stride=2)
    model = net.model(net.classifier("fc", x))

Nodes are called `module/layer` (`inception_a1/branch5x5_1`), activations behind a layer
`module/layer/relu`, parameters `module/layer.weight` and `.bias`. Weights are uniform (He), scaled
by what `moments` expects of the map that they read, and depend on nothing but the seed, their name
and their shape: the same command writes the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, prod, sqrt
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from moments import Moments, mixed
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

OPSET = 13
IR_VERSION = 8
BIAS_DEVIATION = 0.05
GATE_VARIANCE = 0.15
"""Of hard sigmoids: more than of a normally distributed map, as measured in MobileNetV3."""
LARGEST_MODEL = 2**31 - 2**20
"""The most bytes of parameters: a protobuf file holds less than 2 GB, names and nodes included."""

Pair = tuple[int, int]


class NetworkError(Exception):
    """Options that no network can be built from."""


@dataclass(frozen=True)
class Options:
    """The options of a network; `size` is (height, width) of the image."""

    seed: int = 0
    bias: bool = True
    width: float = 1.0
    size: Pair = (224, 224)
    classes: int = 1000
    multiple: int = 1

    def __post_init__(self) -> None:
        """Check the ranges. Raises: NetworkError if an option is out of its range."""
        if self.seed < 0:
            raise NetworkError(f"seed {self.seed}; expected 0 or more")
        if not 0 < self.width < float("inf"):
            raise NetworkError(f"width {self.width}; expected a factor above 0")
        if min(self.classes, self.multiple, *self.size) < 1:
            raise NetworkError("sizes, classes and multiples must be 1 or more")

    def scaled(self, channels: int) -> int:
        """A number of channels times the width, as the nearest multiple of `multiple` above 0.

        Not less than 0.9 times as many, as in the published MobileNets.
        """
        wanted, step = channels * self.width, self.multiple
        found = max(1, int(wanted / step + 0.5)) * step if step > 1 else max(1, round(wanted))
        return found + step if step > 1 and found < 0.9 * wanted else found


@dataclass(frozen=True)
class Map:
    """A value in the graph: its name, its size without the batch, and its expected moments."""

    name: str
    channels: int
    size: Pair
    moments: Moments


@dataclass(frozen=True)
class Parameter:
    """A tensor of weights or biases, before its numbers are made."""

    shape: tuple[int, ...]
    deviation: float

    def numbers(self, seed: list[int]) -> NDArray[np.float32]:
        """Uniform random numbers with this standard deviation.

        The deviation is rounded to three digits, and the distribution is not the normal one. So the
        last bits of a computer's mathematics library cannot change the file.
        """
        generator = np.random.Generator(np.random.PCG64(seed))
        limit = np.float32(float(f"{self.deviation:.3g}") * sqrt(3))
        return (generator.random(self.shape, dtype=np.float32) * 2 - 1) * limit


class Network:
    """A graph under construction, batch 1, layout NCHW.

    Padded windows have half a kernel of padding on each side, as in torch. With `same` they have as
    little as n / stride windows need, the smaller half in front, as in TensorFlow.
    """

    def __init__(
        self, name: str, options: Options, channels: int = 3, *, same: bool = False
    ) -> None:
        self.name = name
        self.options = options
        self.same = same
        self.image = Map("image", channels, options.size, Moments())
        self.nodes: list[NodeProto] = []
        self.parameters: dict[str, Parameter] = {}
        self.bounds: dict[str, float] = {}

    def conv(
        self,
        name: str,
        x: Map,
        filters: int,
        kernel: int | Pair,
        *,
        stride: int = 1,
        padded: bool = True,
        variance: float = 1.0,
        scaled: bool = True,
    ) -> Map:
        """A convolution; `filters` is multiplied by the width unless not `scaled`.

        `padded` keeps the size of a map at stride 1; `variance` is that of the result.
        """
        count = self.options.scaled(filters) if scaled else filters
        shape = (count, x.channels, *pair(kernel))
        return self._conv(name, x, shape, stride, padded, variance)

    def depthwise(
        self, name: str, x: Map, kernel: int, *, stride: int = 1, dilation: int = 1
    ) -> Map:
        """A padded convolution with one filter for each channel; its taps are `dilation` apart."""
        shape = (x.channels, 1, kernel, kernel)
        return self._conv(name, x, shape, stride, True, 1.0, dilation)

    def separable(
        self, name: str, x: Map, filters: int, kernel: int, *, stride: int = 1, dilation: int = 1
    ) -> Map:
        """A depthwise and a 1x1 convolution."""
        spread = self.depthwise(f"{name}_depthwise", x, kernel, stride=stride, dilation=dilation)
        return self.conv(f"{name}_pointwise", spread, filters, 1)

    def conv_relu(
        self,
        name: str,
        x: Map,
        filters: int,
        kernel: int | Pair,
        *,
        stride: int = 1,
        padded: bool = True,
    ) -> Map:
        """`conv`, then `relu`."""
        return self.relu(name, self.conv(name, x, filters, kernel, stride=stride, padded=padded))

    def relu(self, name: str, x: Map) -> Map:
        """The ReLU of the layer `name`."""
        node = f"{name}/relu"
        output = self._add("Relu", node, [x.name])
        return Map(output, x.channels, x.size, x.moments.rectified())

    def relu6(self, name: str, x: Map) -> Map:
        """The ReLU6 of the layer `name`: a Clip to [0, 6]."""
        self.bounds = {"zero": 0.0, "six": 6.0}
        output = self._add("Clip", f"{name}/relu6", [x.name, "zero", "six"])
        return Map(output, x.channels, x.size, x.moments.rectified())

    def max_pool(
        self, name: str, x: Map, kernel: int = 3, *, stride: int = 2, padded: bool = False
    ) -> Map:
        """The largest element of each window."""
        pads = self._pads(x.size, pair(kernel), stride, padded)
        attributes, size = window(name, x.size, pair(kernel), stride, pads)
        output = self._add("MaxPool", name, [x.name], **attributes)
        return Map(output, x.channels, size, x.moments.largest())

    def hard_swish(self, name: str, x: Map) -> Map:
        """The map times its hard sigmoid, x * clip(x / 6 + 1 / 2, 0, 1)."""
        return self.multiply(f"{name}/swish", x, self.hard_sigmoid(name, x))

    def hard_sigmoid(self, name: str, x: Map) -> Map:
        """The hard sigmoid of the layer `name`."""
        output = self._add("HardSigmoid", f"{name}/gate", [x.name], alpha=1 / 6, beta=0.5)
        return Map(output, x.channels, x.size, Moments(0.5, GATE_VARIANCE))

    def swish(self, name: str, x: Map) -> Map:
        """The map times its sigmoid."""
        result = self.multiply(f"{name}/swish", x, self.sigmoid(name, x))
        return replace(result, moments=x.moments.through(lambda number: number * sigmoid(number)))

    def sigmoid(self, name: str, x: Map) -> Map:
        """The sigmoid of the layer `name`."""
        output = self._add("Sigmoid", f"{name}/gate", [x.name])
        return Map(output, x.channels, x.size, x.moments.through(sigmoid))

    def multiply(self, name: str, lhs: Map, rhs: Map) -> Map:
        """The product of two maps; the second one may have one pixel."""
        output = self._add("Mul", name, [lhs.name, rhs.name])
        scale = rhs.moments.power**0.5
        moments = Moments(lhs.moments.mean * scale, lhs.moments.variance * scale**2)
        return Map(output, lhs.channels, lhs.size, moments)

    def average_pool(self, name: str, x: Map, kernel: int = 3, *, stride: int = 1) -> Map:
        """An average pool with padding, whose zeros count as elements, as in torch."""
        pads = self._pads(x.size, pair(kernel), stride, True)
        attributes, size = window(name, x.size, pair(kernel), stride, pads)
        output = self._add("AveragePool", name, [x.name], count_include_pad=1, **attributes)
        return Map(output, x.channels, size, x.moments.averaged(kernel**2))

    def global_average_pool(self, name: str, x: Map) -> Map:
        """The mean of each channel."""
        output = self._add("GlobalAveragePool", name, [x.name])
        return Map(output, x.channels, (1, 1), x.moments.averaged(prod(x.size)))

    def concat(self, name: str, parts: Sequence[Map]) -> Map:
        """A concatenation of maps along the channels."""
        output = self._add("Concat", name, [part.name for part in parts], axis=1)
        moments = mixed([(part.channels, part.moments) for part in parts])
        return Map(output, sum(part.channels for part in parts), parts[0].size, moments)

    def add(self, name: str, lhs: Map, rhs: Map) -> Map:
        """The sum of two maps."""
        output = self._add("Add", name, [lhs.name, rhs.name])
        return Map(output, lhs.channels, lhs.size, lhs.moments + rhs.moments)

    def classifier(self, name: str, x: Map) -> Map:
        """Global average pool, Flatten, and a fully connected layer of `options.classes` scores."""
        flat = self.flatten("flatten", self.global_average_pool("global_pool", x))
        return self.fully_connected(name, flat, self.options.classes)

    def fully_connected(self, name: str, x: Map, count: int) -> Map:
        """A fully connected layer from scores [1, C] to `count` scores."""
        weight, bias = self._filters(name, (count, x.channels), x.moments, 1.0)
        output = self._add("Gemm", name, [x.name, weight, *bias], transB=1)
        return Map(output, count, (1, 1), Moments())

    def flatten(self, name: str, x: Map) -> Map:
        """A map [1, C, H, W] as scores [1, C * H * W]."""
        count = x.channels * prod(x.size)
        return Map(self._add("Flatten", name, [x.name]), count, (1, 1), x.moments)

    def model(self, result: Map) -> ModelProto:
        """The model with the result of the last node as its output."""
        flat = self.nodes[-1].op_type in ("Flatten", "Gemm")
        self.nodes[-1].output[0] = "output"
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [port(self.image, flat=False)],
            [port(replace(result, name="output"), flat)],
            self._initializers(),
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)

    def _conv(
        self,
        name: str,
        x: Map,
        shape: tuple[int, int, int, int],
        stride: int,
        padded: bool,
        variance: float,
        dilation: int = 1,
    ) -> Map:
        pads = self._pads(x.size, shape[2:], stride, padded, dilation)
        attributes, size = window(name, x.size, shape[2:], stride, pads, dilation)
        weight, bias = self._filters(name, shape, x.moments, variance)
        group = x.channels // shape[1]
        output = self._add("Conv", name, [x.name, weight, *bias], group=group, **attributes)
        return Map(output, shape[0], size, Moments(0.0, variance))

    def _pads(
        self, size: Pair, kernel: Pair, stride: int, padded: bool, dilation: int = 1
    ) -> list[int]:
        """The padding of a window: before both axes, then behind them."""
        if not (padded and self.same):
            return [extent // 2 * dilation if padded else 0 for extent in kernel] * 2
        whole = [
            max(0, (-(-extent // stride) - 1) * stride + (taps - 1) * dilation + 1 - extent)
            for extent, taps in zip(size, kernel, strict=True)
        ]
        return [*(each // 2 for each in whole), *(each - each // 2 for each in whole)]

    def _filters(
        self, name: str, shape: tuple[int, ...], source: Moments, variance: float
    ) -> tuple[str, list[str]]:
        """The names of new weights and, in a list, of their bias if there is one."""
        deviation = sqrt(variance / (prod(shape[1:]) * source.power))
        weight = self._parameter(f"{name}.weight", shape, deviation)
        if not self.options.bias:
            return weight, []
        return weight, [self._parameter(f"{name}.bias", shape[:1], BIAS_DEVIATION)]

    def _parameter(self, name: str, shape: tuple[int, ...], deviation: float) -> str:
        """Add a parameter. Its numbers are drawn at the end, once it is known that all fit."""
        self.parameters[name] = Parameter(shape, deviation)
        return name

    def _initializers(self) -> list[TensorProto]:
        """The numbers of all parameters. Raises: NetworkError if they take too many bytes."""
        total = 4 * sum(prod(parameter.shape) for parameter in self.parameters.values())
        if total > LARGEST_MODEL:
            raise NetworkError(
                f"the parameters take {total} bytes; a file holds at most {LARGEST_MODEL}"
            )
        arrays = {name: np.array(value, np.float32) for name, value in self.bounds.items()}
        for name, parameter in self.parameters.items():
            arrays[name] = parameter.numbers([self.options.seed, crc32(name.encode())])
        return [numpy_helper.from_array(array, name) for name, array in arrays.items()]

    def _add(self, kind: str, name: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Append a node; returns the name of its one output."""
        output = f"{name}_out"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=name, **attributes))
        return output


def sigmoid(number: float) -> float:
    """1 / (1 + exp(-number))."""
    return 1 / (1 + exp(-number))


def pair(kernel: int | Pair) -> Pair:
    """Height and width of a kernel."""
    return (kernel, kernel) if isinstance(kernel, int) else kernel


def port(value: Map, flat: bool) -> ValueInfoProto:
    """An input or output: [1, C, H, W], or [1, C] if it is `flat`."""
    shape: Sequence[int] = (1, value.channels) if flat else (1, value.channels, *value.size)
    return helper.make_tensor_value_info(value.name, TensorProto.FLOAT, shape)


def window(
    name: str, size: Pair, kernel: Pair, stride: int, pads: list[int], dilation: int = 1
) -> tuple[dict[str, list[int]], Pair]:
    """Attributes of a sliding window, and the size of its result.

    Raises: NetworkError if the window is larger than the padded map.
    """
    height, width = (
        (extent + before + after - (taps - 1) * dilation - 1) // stride + 1
        for extent, taps, before, after in zip(size, kernel, pads[:2], pads[2:], strict=True)
    )
    if height < 1 or width < 1:
        raise NetworkError(
            f"'{name}' has a {kernel[0]}x{kernel[1]} window on a {size[0]}x{size[1]} map: "
            "expected a larger image"
        )
    attributes = {"kernel_shape": list(kernel), "strides": [stride] * 2, "pads": pads}
    if dilation > 1:
        attributes["dilations"] = [dilation] * 2
    return attributes, (height, width)


def main(
    build: Callable[[Options], ModelProto], description: str, output: str, own: Options
) -> None:
    """The command line of one network: write its file. `own` are the defaults of its options."""
    parser = argparse.ArgumentParser(description=description.split("\n", 1)[0])
    parser.add_argument("-o", "--output", type=Path, default=Path(output), help="the .onnx file")
    parser.add_argument("--seed", type=int, default=own.seed, help="of the weights")
    parser.add_argument("--bias", action=argparse.BooleanOptionalAction, default=own.bias)
    parser.add_argument("--width", type=float, default=own.width, help="factor on all channels")
    parser.add_argument("--multiple", type=int, default=own.multiple, help="of all channels")
    parser.add_argument("--size", type=image_size, default=own.size, help="N or HEIGHTxWIDTH")
    parser.add_argument("--classes", type=int, default=own.classes)
    chosen = parser.parse_args()
    try:
        options = Options(
            chosen.seed, chosen.bias, chosen.width, chosen.size, chosen.classes, chosen.multiple
        )
        data = build(options).SerializeToString(deterministic=True)
        chosen.output.write_bytes(data)
    except (NetworkError, OSError) as error:
        parser.error(str(error))


def image_size(text: str) -> Pair:
    """`299` or `384x512` as height and width."""
    extents = [int(extent) for extent in text.split("x")]
    if len(extents) not in (1, 2):
        raise ValueError
    return extents[0], extents[-1]
