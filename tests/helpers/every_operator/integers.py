"""Makers of quantised nodes: QuantizeLinear, operators with scales as operands, integer sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from helpers.every_operator.floats import Maker, overhangs
from helpers.every_operator.network import Array, Network
from helpers.random_onnx import broadcasts, window

BYTES = ("int8", "uint8")
MICROSOFT = {"domain": "com.microsoft"}
NICE = (0.5, 0.25, 0.1, 0.05, 0.02)
"""Scales with many ties between two integers."""


def params(net: Network, kind: str, scale: float | None = None) -> list[str]:
    """A scale and a zero point."""
    random, limits = net.random, np.iinfo(kind)
    value = random.choice((*NICE, random.uniform(0.01, 0.6))) if scale is None else scale
    middle = (int(limits.min) + int(limits.max) + 1) // 2
    point = random.choice((middle, middle, middle + random.randint(-40, 40), int(limits.min)))
    return [net.constant(np.array(value, np.float32)), net.constant(np.array(point, kind))]


def quantized(net: Network) -> str | None:
    """A map of bytes: one that there is, or an input that is quantised."""
    if (net.random.random() < 0.7) and (x := net.pick_of(*BYTES)):
        return x
    return net.last if quantize(net) else net.pick_of(*BYTES)


def quantize(net: Network) -> bool:
    """QuantizeLinear of an input: no rounding error can move its numbers across a tie."""
    x = net.random.choice(list(net.inputs))
    array = net.data[x]
    if array.dtype != np.float32:
        return False
    limits = float(np.abs(array).max()) / 100
    scale, point = params(net, net.random.choice(BYTES), limits)
    name = f"v{len(net.nodes)}"
    quantize = helper.make_node("QuantizeLinear", [x, scale, point], [name], f"quantize{name}")
    return settled(net, quantize, array, scale, point)


def settled(net: Network, node: NodeProto, array: Array, scale: str, point: str) -> bool:
    """Append QuantizeLinear, whose result is computed here."""
    steps = np.rint(array / net.weights[scale]) + net.weights[point]
    limits = np.iinfo(net.weights[point].dtype)
    net.nodes.append(node)
    net.know(node.output[0], np.clip(steps, limits.min, limits.max).astype(limits.dtype))
    return True


def dequantize(net: Network) -> bool:
    """DequantizeLinear of a map of bytes."""
    if (x := quantized(net)) is None:
        return False
    return net.add("DequantizeLinear", [x, *params(net, net.data[x].dtype.name)])


def own_params(net: Network, x: str) -> list[str]:
    """A map of bytes, and a scale and a zero point of its type."""
    return [x, *params(net, net.data[x].dtype.name)]


def pair(kind: str, net: Network) -> bool:
    """QLinearAdd or QLinearMul of two maps of bytes that broadcast, or of a map and a constant."""
    if (x := quantized(net)) is None:
        return False
    element = net.data[x].dtype.name
    same = [
        name
        for name, array in net.data.items()
        if array.dtype.name == element and broadcasts(array.shape, net.shape(x))
    ]
    y = net.random.choice(same)
    if net.random.random() < 0.2:
        y = net.constant(net.numbers.integers(0, 100, net.shape(x)[-1:]).astype(element))
        more = [y, *params(net, element)]
    else:
        more = own_params(net, y)
    both = [own_params(net, x), more]
    net.random.shuffle(both)
    return net.add(kind, [*both[0], *both[1], *params(net, element)], **MICROSOFT)


def function(kind: str, net: Network) -> bool:
    """QLinearLeakyRelu, QLinearSigmoid or QLinearSoftmax."""
    if (x := quantized(net)) is None or not net.shape(x):
        return False
    attributes: dict[str, Any] = {}
    if kind == "QLinearLeakyRelu":
        attributes["alpha"] = net.random.uniform(-0.3, 0.7)
    if kind == "QLinearSoftmax":
        attributes = {"axis": net.random.randint(-1, len(net.shape(x)) - 1), "opset": 13}
        if net.shape(x)[attributes["axis"]] == 1:  # a share of 1, which overflows in onnxruntime
            return False
    element = net.data[x].dtype.name
    result = params(net, element)
    if kind != "QLinearLeakyRelu":  # onnxruntime does not saturate: 256 becomes 0
        low = net.constant(np.array(np.iinfo(element).min, element))
        result = [net.constant(np.array(1 / 255, np.float32)), low]
    return net.add(kind, [*own_params(net, x), *result], **attributes, **MICROSOFT)


def concat(net: Network) -> bool:
    """QLinearConcat of some maps."""
    if (x := quantized(net)) is None or not net.shape(x):
        return False
    element, shape = net.data[x].dtype.name, net.shape(x)
    axis = net.random.randrange(len(shape))
    same = [
        name
        for name, array in net.data.items()
        if array.dtype.name == element
        and array.ndim == len(shape)
        and all(
            a == b for i, (a, b) in enumerate(zip(array.shape, shape, strict=True)) if i != axis
        )
    ]
    parts = [x, *(net.random.choice(same) for _ in range(net.random.randint(0, 2)))]
    operands = [each for part in parts for each in own_params(net, part)]
    return net.add("QLinearConcat", [*params(net, element), *operands], axis=axis, **MICROSOFT)


def average(kind: str, net: Network) -> bool:
    """QLinearAveragePool or QLinearGlobalAveragePool."""
    if (x := quantized(net)) is None or len(net.shape(x)) != 4:
        return False
    attributes: dict[str, Any] = {}
    if kind == "QLinearAveragePool":
        attributes = window(net, conv=False)
        attributes.pop("dilations", None)
        attributes.pop("auto_pad", None)
        if overhangs(attributes, net.shape(x)):
            return False
        attributes["count_include_pad"] = net.random.randint(0, 1)
    result = params(net, net.data[x].dtype.name)
    return net.add(kind, [*own_params(net, x), *result], **attributes, **MICROSOFT)


def weights(net: Network, element: str, shape: Sequence[int], filters: int) -> list[str]:
    """Integer weights with a scale and a zero point, or with one of them for each filter."""
    kind = "int8" if element == "int8" else net.random.choice(BYTES)
    limits = np.iinfo(kind)
    array = net.numbers.integers(limits.min, int(limits.max) + 1, shape).astype(kind)
    count = net.random.choice(((), (filters,)))
    scales = net.constant(net.numbers.uniform(0.005, 0.05, count).astype(np.float32))
    middle = 0 if kind == "int8" else net.random.choice((128, 120))
    return [net.constant(array), scales, net.constant(np.full(count, middle, kind))]


def bias(net: Network, filters: int) -> list[str]:
    """An int32 bias, or none."""
    if net.random.random() < 0.4:
        return []
    return [net.constant(net.numbers.integers(-2000, 2000, filters).astype(np.int32))]


def conv(kind: str, net: Network) -> bool:
    """QLinearConv or ConvInteger."""
    if (x := quantized(net)) is None or len(net.shape(x)) not in (3, 4):
        return False
    element, channels = net.data[x].dtype.name, net.shape(x)[1]
    groups = net.random.choice([1, *(g for g in range(1, channels + 1) if channels % g == 0)])
    filters = groups * net.random.randint(1, 3)
    attributes = window(net, conv=True)
    if len(net.shape(x)) == 3:
        attributes = {"kernel_shape": attributes["kernel_shape"][:1]}
    shape = (filters, channels // groups, *attributes["kernel_shape"])
    if kind == "ConvInteger":
        point = net.constant(np.array(net.random.randint(0, 9), element))
        w, _, zero = weights(net, element, shape, 1)
        scalar = net.constant(net.weights[zero].reshape(-1)[:1].reshape(()))
        return net.add(kind, [x, w, point, scalar], group=groups, **attributes)
    operands = [*own_params(net, x), *weights(net, element, shape, filters)]
    result = params(net, element, net.random.uniform(0.05, 2.0))
    return net.add(kind, [*operands, *result, *bias(net, filters)], group=groups, **attributes)


def dense(kind: str, net: Network) -> bool:
    """QLinearMatMul, QGemm or MatMulInteger."""
    if (x := quantized(net)) is None or not net.shape(x):
        return False
    if kind == "QGemm" and len(net.shape(x)) != 2:
        if not net.add("Flatten", [x]):
            return False
        x = net.last
    element, depth, features = net.data[x].dtype.name, net.shape(x)[-1], net.random.randint(1, 6)
    turned = kind == "QGemm" and net.random.random() < 0.5
    shape = (features, depth) if turned else (depth, features)
    w = weights(net, element, shape, features)
    if kind == "MatMulInteger":
        zero = net.constant(net.weights[w[2]].reshape(-1)[:1].reshape(()))
        point = net.constant(np.array(net.random.randint(0, 9), element))
        return net.add(kind, [x, w[0], point, zero])
    result = params(net, element, net.random.uniform(0.05, 2.0))
    if kind == "QLinearMatMul":
        return net.add(kind, [*own_params(net, x), *w, *result])
    attributes = {"transB": int(turned), "alpha": net.random.choice((1.0, 0.5))}
    last = [] if net.random.random() < 0.2 else result
    added = bias(net, features) or ([""] if last else [])
    return net.add(kind, [*own_params(net, x), *w, *added, *last], **attributes, **MICROSOFT)


def pool(net: Network) -> bool:
    """MaxPool of a map of bytes."""
    if (x := quantized(net)) is None or len(net.shape(x)) != 4:
        return False
    attributes = window(net, conv=False)
    return not overhangs(attributes, net.shape(x)) and net.add("MaxPool", [x], **attributes)


def real_sums(net: Network) -> bool:
    """i32 sums as real numbers: Cast and Mul."""
    if (x := net.pick_of("int32")) is None or not net.add("Cast", [x], to=1):
        return False
    factor = net.constant(np.array(net.random.uniform(0.001, 0.1), np.float32))
    return net.add("Mul", [net.last, factor])


def view(net: Network) -> bool:
    """A map of bytes with fewer or more axes."""
    if (x := quantized(net)) is None:
        return False
    shape = net.shape(x)
    split = net.random.randint(0, len(shape))
    return net.add("Reshape", [x, net.ints([prod(shape[:split]), prod(shape[split:])])])


INTEGERS: Mapping[str, Maker] = {
    **{kind: partial(conv, kind) for kind in ("ConvInteger", "QLinearConv")},
    **{kind: partial(dense, kind) for kind in ("MatMulInteger", "QGemm", "QLinearMatMul")},
    **{kind: partial(pair, kind) for kind in ("QLinearAdd", "QLinearMul")},
    **{
        kind: partial(function, kind)
        for kind in ("QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax")
    },
    **{kind: partial(average, kind) for kind in ("QLinearAveragePool", "QLinearGlobalAveragePool")},
    "DequantizeLinear": dequantize,
    "MaxPool of bytes": pool,
    "QLinearConcat": concat,
    "QuantizeLinear": quantize,
    "a view of bytes": view,
    "sums as real numbers": real_sums,
}
"""Makers by the operator that they add, or by what it is."""
