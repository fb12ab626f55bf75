"""Random ONNX networks: seeded graphs of the operators that the importer knows.

    model, feeds = random_model(7)

Values have several readers, live long, or are outputs that other nodes read too. Windows have
dilations, odd strides and asymmetric pads. onnxruntime computes the shape of each value, and so
decides which nodes are valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

onnxruntime: Any = pytest.importorskip("onnxruntime")

Array = NDArray[np.float32]
Shape = tuple[int, ...]

OPSET = 17
LARGEST = 4000
"""The most elements of a value."""


@dataclass
class RandomNetwork:
    """A network under construction; `values` are its maps with their shapes, oldest first."""

    random: Random
    numbers: np.random.Generator
    values: dict[str, Shape] = field(default_factory=dict[str, Shape])
    inputs: dict[str, Shape] = field(default_factory=dict[str, Shape])
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    weights: dict[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])

    def pick(self, rank: int | None = None) -> str | None:
        """A random value of this rank, or None; later values are more likely."""
        names = [name for name, shape in self.values.items() if rank in (None, len(shape))]
        if not names:
            return None
        return names[-1] if self.random.random() < 0.6 else self.random.choice(names)

    def hide(self, name: str) -> None:
        """Let no later node read a value."""
        del self.values[name]

    def undo(self, name: str) -> None:
        """Remove the last node, which gives this value."""
        self.nodes.pop()
        del self.values[name]

    def constant(self, array: NDArray[Any]) -> str:
        """A new initialiser."""
        name = f"w{len(self.weights)}"
        self.weights[name] = array
        return name

    def normal(self, *shape: int) -> str:
        """A new initialiser of random numbers, the smaller the more of them are summed."""
        scale = 1 / np.sqrt(max(1, prod(shape[1:])))
        return self.constant((self.numbers.standard_normal(shape) * scale).astype(np.float32))

    def positive(self, *shape: int) -> str:
        """A new initialiser of numbers between 0.5 and 1.5."""
        return self.constant(self.numbers.uniform(0.5, 1.5, shape).astype(np.float32))

    def ints(self, values: Sequence[int]) -> str:
        """A new initialiser of integers."""
        return self.constant(np.array(values, np.int64))

    def add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> bool:
        """Append a node, if onnxruntime accepts it and its output is not too large."""
        name = f"v{len(self.nodes)}"
        node = helper.make_node(kind, inputs, [name], f"{kind.lower()}{name}", **attributes)
        shapes = {each: self.values[each] for each in inputs if each in self.values}
        zeros = {each: np.zeros(shape, np.float32) for each, shape in shapes.items()}
        used = {each: self.weights[each] for each in inputs if each in self.weights}
        try:
            (found,) = run(model_of([node], shapes, [name], used), zeros)
        except RuntimeError:
            return False
        if not 0 < found.size <= LARGEST or not np.isfinite(found).all():
            return False
        self.nodes.append(node)
        self.values[name] = tuple(found.shape)
        return True


def model_of(
    nodes: Sequence[NodeProto],
    inputs: dict[str, Shape],
    outputs: Sequence[str],
    weights: dict[str, NDArray[Any]],
) -> ModelProto:
    """A model whose outputs have no shape."""
    graph = helper.make_graph(
        list(nodes),
        "random",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run(model: ModelProto, feeds: dict[str, Array]) -> list[Array]:
    """The outputs that onnxruntime computes with graph optimisations off.

    Raises: RuntimeError if onnxruntime rejects the model.
    """
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return list(session.run(None, feeds))
    except Exception as error:  # onnxruntime's exceptions share no public base
        raise RuntimeError(str(error)) from None


def window(net: RandomNetwork, *, conv: bool) -> dict[str, Any]:
    """Attributes of a convolution's or a pool's window."""
    random = net.random
    kernel = [random.choice((1, 1, 2, 3, 3, 4, 5)) for _ in range(2)]
    attributes: dict[str, Any] = {"kernel_shape": kernel}
    if random.random() < 0.7:
        attributes["strides"] = [random.choice((1, 2, 2, 3, 4)) for _ in range(2)]
    if random.random() < 0.3:
        attributes["dilations"] = [random.choice((1, 2, 3)) for _ in range(2)]
    padding = random.random()
    if padding < 0.15:
        attributes["auto_pad"] = random.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        attributes.pop("dilations", None)
        attributes["strides"] = [min(2, k) for k in kernel]
    elif padding < 0.7:
        largest = [k + 1 if conv else k - 1 for k in kernel]
        attributes["pads"] = [random.randint(0, most) for most in (*largest, *largest)]
    return attributes


def conv(net: RandomNetwork) -> bool:
    """A convolution: plain, grouped or depthwise."""
    if (x := net.pick(4)) is None:
        return False
    channels = net.values[x][1]
    groups = net.random.choice([1, *(g for g in range(1, channels + 1) if channels % g == 0)])
    filters = groups * net.random.randint(1, 3)
    attributes = window(net, conv=True)
    inputs = [x, net.normal(filters, channels // groups, *attributes["kernel_shape"])]
    if net.random.random() < 0.6:
        inputs.append(net.normal(filters))
    return net.add("Conv", inputs, group=groups, **attributes)


def conv_behind_pad(net: RandomNetwork) -> bool:
    """A convolution of the last value, a map that Pad has padded; no other node reads that map."""
    name, shape = net.values.popitem()
    weight = net.normal(2, shape[1], 2, 2)
    net.values[name] = shape
    found = net.add("Conv", [name, weight])
    if found:
        net.hide(name)
    else:
        net.undo(name)
    return found


def pool(net: RandomNetwork) -> bool:
    """A pool, with or without dilations, ceil mode and padding that counts."""
    if (x := net.pick(4)) is None:
        return False
    kind, shape = net.random.choice(("MaxPool", "MaxPool", "AveragePool")), net.values[x]
    attributes = window(net, conv=False)
    if net.random.random() < 0.4 and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    rims = attributes.get("pads", [0, 0, 0, 0])
    holes = attributes.get("dilations", (1, 1))
    reach = [(k - 1) * d + 1 for k, d in zip(attributes["kernel_shape"], holes, strict=True)]
    if any(n + a + b < r for n, a, b, r in zip(shape[2:], rims[:2], rims[2:], reach)):
        return False  # in ceil mode onnxruntime lets such a window hang over
    if kind == "AveragePool":
        attributes.pop("dilations", None)  # since opset 19
        attributes["count_include_pad"] = net.random.randint(0, 1)
    return net.add(kind, [x], **attributes)


def activation(net: RandomNetwork) -> bool:
    """Relu, or Clip with one or two bounds."""
    if (x := net.pick()) is None:
        return False
    if net.random.random() < 0.6:
        return net.add("Relu", [x])
    low = net.constant(np.array(net.random.choice((-1.0, 0.0, 0.25)), np.float32))
    high = net.constant(np.array(net.random.choice((0.5, 1.0, 6.0)), np.float32))
    return net.add("Clip", net.random.choice(([x, low, high], [x, low], [x, "", high])))


FUNCTIONS = (
    "Abs Atan Celu Cos Elu Erf HardSigmoid HardSwish LeakyRelu Neg Selu Shrink Sigmoid Sin "
    "Softplus Softsign Tanh"
).split()
"""Functions without jumps, which would make a rounding error large."""


def function(net: RandomNetwork) -> bool:
    """A function of one number, or PRelu with slopes for each channel or any others."""
    if (x := net.pick()) is None:
        return False
    if net.random.random() < 0.7:
        return net.add(net.random.choice(FUNCTIONS), [x])
    shape = net.values[x]
    by_channel = (shape[1], *(1 for _ in shape[2:])) if len(shape) > 1 else (1,)
    slopes = by_channel if net.random.random() < 0.7 else broadcast(net, shape)
    return net.add("PRelu", [x, net.normal(*slopes)])


def broadcast(net: RandomNetwork, shape: Shape) -> Shape:
    """A shape that broadcasts to this one."""
    extents = [extent if net.random.random() < 0.6 else 1 for extent in shape]
    return tuple(extents[net.random.randint(0, len(extents) - 1) :])


def join(net: RandomNetwork) -> bool:
    """Add, Mul or Sum of values that broadcast, of a value and itself, or of a constant."""
    if (x := net.pick()) is None:
        return False
    kind, shape = net.random.choice(("Add", "Add", "Mul", "Sum", "Sub", "Div")), net.values[x]
    if kind in ("Sub", "Div") or net.random.random() < 0.25:
        return net.add(kind, [x, net.positive(*broadcast(net, shape))])
    fitting = [other for other in net.values if broadcasts(net.values[other], shape)]
    operands = [x, *(net.random.choice(fitting) for _ in range(3 if kind == "Sum" else 1))]
    net.random.shuffle(operands)
    return net.add(kind, operands)


def broadcasts(one: Shape, two: Shape) -> bool:
    """Whether two shapes can be broadcast to one."""
    try:
        np.broadcast_shapes(one, two)
    except ValueError:
        return False
    return True


def concat(net: RandomNetwork) -> bool:
    """A concatenation of one to four values, some of them twice."""
    if (x := net.pick()) is None:
        return False
    shape = net.values[x]
    axis = net.random.randrange(len(shape))
    fitting = [
        other
        for other, extents in net.values.items()
        if len(extents) == len(shape)
        and all(a == b for i, (a, b) in enumerate(zip(extents, shape, strict=True)) if i != axis)
    ]
    parts = [net.random.choice(fitting) for _ in range(net.random.randint(0, 3))]
    return net.add("Concat", [*parts, x], axis=net.random.choice((axis, axis - len(shape))))


def view(net: RandomNetwork) -> bool:
    """Reshape, Flatten, Squeeze or Unsqueeze."""
    if (x := net.pick()) is None:
        return False
    shape, kind = net.values[x], net.random.choice(("Reshape", "Reshape", "Flatten", "Unsqueeze"))
    if kind == "Flatten":
        return net.add(kind, [x], axis=net.random.randint(0, len(shape)))
    if kind == "Unsqueeze":
        if 1 in shape and net.random.random() < 0.5:
            return net.add("Squeeze", [x, net.ints([shape.index(1)])])
        if len(shape) >= 4:
            return False
        return net.add(kind, [x, net.ints([net.random.randint(0, len(shape))])])
    same = [other for other in net.values.values() if prod(other) == prod(shape)]
    target = list(net.random.choice(same))
    net.random.shuffle(target)
    if target and net.random.random() < 0.5:
        target[net.random.randrange(len(target))] = -1
    return net.add(kind, [x, net.ints(target)])


def transpose(net: RandomNetwork) -> bool:
    """A transposition."""
    if (x := net.pick()) is None:
        return False
    perm = list(range(len(net.values[x])))
    net.random.shuffle(perm)
    return net.add("Transpose", [x], perm=perm)


def dense(net: RandomNetwork) -> bool:
    """Gemm or MatMul, flattened first."""
    x = net.pick(2)
    if x is None or net.random.random() < 0.5:
        if (source := net.pick()) is None or not net.add("Flatten", [source], axis=1):
            return False
        x = next(reversed(net.values))
    depth, features = net.values[x][1], net.random.randint(1, 9)
    if net.random.random() < 0.3:
        return net.add("MatMul", [x, net.normal(depth, features)])
    turned = net.random.randint(0, 1)
    weight = net.normal(*((features, depth) if turned else (depth, features)))
    inputs = [x, weight]
    if net.random.random() < 0.7:
        inputs.append(net.normal(*net.random.choice(((features,), (1, features), (1,)))))
    alpha = net.random.choice((1.0, 0.5))
    return net.add("Gemm", inputs, transB=turned, alpha=alpha)


def batch_norm(net: RandomNetwork) -> bool:
    """A batch normalisation."""
    name = net.pick(net.random.choice((4, 4, 2)))
    if name is None:
        return False
    channels = net.values[name][1]
    scale, bias, mean = (net.normal(channels) for _ in range(3))
    return net.add("BatchNormalization", [name, scale, bias, mean, net.positive(channels)])


def softmax(net: RandomNetwork) -> bool:
    """A softmax along a random axis."""
    if (x := net.pick()) is None:
        return False
    rank = len(net.values[x])
    return net.add("Softmax", [x], axis=net.random.randint(-rank, rank - 1)) if rank else False


def odd(net: RandomNetwork) -> bool:
    """An operator with few options."""
    if (x := net.pick(4)) is None:
        return False
    kind = net.random.choice(
        ("GlobalAveragePool", "GlobalMaxPool", "Identity", "Dropout", "LRN", "Pad")
    )
    if kind == "Pad":
        before, after = [net.random.randint(0, 2) for _ in range(2)], [1, 0]
        pads = net.ints([0, 0, *before, 0, 0, *after])
        return net.add(kind, [x, pads]) and conv_behind_pad(net)
    return net.add(kind, [x], **({"size": net.random.choice((1, 3, 5))} if kind == "LRN" else {}))


MAKERS: tuple[tuple[Callable[[RandomNetwork], bool], int], ...] = (
    (conv, 6),
    (pool, 4),
    (activation, 5),
    (function, 3),
    (join, 5),
    (concat, 3),
    (view, 3),
    (transpose, 1),
    (dense, 2),
    (batch_norm, 2),
    (softmax, 1),
    (odd, 2),
)


def random_model(seed: int) -> tuple[ModelProto, dict[str, Array]]:
    """A network that onnxruntime accepts, and inputs for it."""
    random, numbers = Random(seed), np.random.default_rng(seed)
    while True:
        model, feeds = draft(RandomNetwork(random, numbers))
        try:
            run(model, feeds)
        except RuntimeError:  # such as shape inference that contradicts the pool itself
            continue
        return model, feeds


def draft(net: RandomNetwork) -> tuple[ModelProto, dict[str, Array]]:
    """A network; its outputs are all values without a reader, and some others."""
    random = net.random
    for index in range(random.choice((1, 1, 2, 3))):
        extents = [random.randint(4, 11) for _ in range(2)]
        shape = (random.choice((1, 1, 2)), random.choice((1, 2, 3, 4)), *extents)
        if index and random.random() < 0.5:
            shape = net.inputs["x0"]
        net.inputs[f"x{index}"] = net.values[f"x{index}"] = shape
    makers, odds = zip(*MAKERS, strict=True)
    for _ in range(random.randint(1, 14)):
        random.choices(makers, odds)[0](net)
    if not net.nodes:
        net.add("Relu", ["x0"])
    read = {name for node in net.nodes for name in node.input}
    made = [node.output[0] for node in net.nodes if node.op_type != "Pad"]
    outputs = [name for name in made if name not in read or random.random() < 0.15]
    random.shuffle(outputs)
    used = {name: array for name, array in net.weights.items() if name in read}
    inputs = {name: shape for name, shape in net.inputs.items() if name in read or name == "x0"}
    feeds = {
        name: net.numbers.standard_normal(shape).astype(np.float32)
        for name, shape in inputs.items()
    }
    return model_of(net.nodes, inputs, outputs, used), feeds
