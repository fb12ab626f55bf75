"""Valid quantised models, and seeded random damage to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from helpers.quantized.build import Array, Graph, integers, rng
from helpers.quantized.networks import residual

KINDS: Sequence[Any] = (
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.int64,
    np.float16,
    np.float32,
    np.float64,
    np.bool_,
)
NUMBERS = (0.0, -1.0, 1.0, np.nan, np.inf, -np.inf, 1e-45, 1e-38, 1e38, 127.0, 128.0, 255.0, 3e9)
ATTRIBUTES: Sequence[Any] = (-1, 0, 1, 2, 7, 2**40, 0.5, np.nan, "SAME_UPPER", [], [1], [0, 0])
LISTS: Sequence[Any] = ([2, 2], [0, 0, 1, 1], [-1, 1, 0, 2], [1, 2, 3], [2**40, 1])


def with_operators() -> ModelProto:
    """A chain of every operator with scales as operands, behind Pad."""
    graph, kind = Graph(), "uint8"
    pads = graph.constant("pads", [0, 0, 1, 1, 0, 0, 1, 1], np.int64)
    x = graph.add("Pad", ["x", pads, graph.constant("fill", 131, kind)], "padded")
    graph.constant("w", integers(2, "int8", 6, 4, 3, 3))
    point = graph.params("x", 0.05, 131, kind)
    weight = ["w", *graph.params("w", np.full(6, 0.02), np.zeros(6), "int8")]
    inner = graph.params("inner", 0.3, 120, kind)
    bias = graph.constant("b", rng(3).integers(-900, 900, 6), np.int32)
    y = graph.add("QLinearConv", [x, *point, *weight, *inner, bias], "conv")
    y = graph.add("QLinearAdd", [y, *inner, y, *inner, *inner], "sum")
    y = graph.add("QLinearConcat", [*inner, y, *inner, y, *inner], "both", axis=1)
    y = graph.add("QLinearAveragePool", [y, *inner, *inner], "pool", kernel_shape=[2, 2])
    y = graph.add("QLinearGlobalAveragePool", [y, *inner, *inner], "mean", channels_last=0)
    y = graph.add("Flatten", [y], "flat")
    graph.constant("m", integers(4, "int8", 12, 7))
    matrix = ["m", *graph.params("m", 0.02, 0, "int8")]
    y = graph.add("QGemm", [y, *inner, *matrix, "", *inner], "gemm")
    graph.constant("n", integers(5, "int8", 7, 5))
    matrix = ["n", *graph.params("n", 0.02, 0, "int8")]
    y = graph.add("QLinearMatMul", [y, *inner, *matrix, *inner], "matmul")
    graph.constant("k", integers(6, "int8", 5, 3))
    y = graph.add("MatMulInteger", [y, "k", inner[1]], "sums")
    y = graph.add("Cast", [y], "cast", to=1)
    y = graph.add("Mul", [y, graph.constant("factor", 0.01, np.float32)], "y")
    return graph.model({"x": integers(1, kind, 1, 4, 6, 6)}, y, np.float32, 13)


def with_moves() -> ModelProto:
    """Moves, Pad, pools, a mean and Softmax between DequantizeLinear and QuantizeLinear."""
    graph, kind, point = Graph(), "int8", -5

    def again(source: str) -> str:
        integers = graph.quantize(source, 0.05, point, kind)
        return graph.dequantize(integers, 0.05, point, kind)

    x = again("x")
    pads = graph.constant("pads", [0, 0, 1, 1, 0, 0, 1, 1], np.int64)
    y = again(graph.add("Pad", [x, pads], "padded"))
    y = again(graph.add("MaxPool", [y], "pool", kernel_shape=[2, 2], strides=[2, 2]))
    y = again(graph.add("Transpose", [y], "turned", perm=[0, 1, 3, 2]))
    y = again(graph.add("AveragePool", [y], "average", kernel_shape=[2, 2], pads=[1, 0, 0, 1]))
    low, high = graph.constant("low", -2.0, np.float32), graph.constant("high", 3.0, np.float32)
    y = again(graph.add("Clip", [y, low, high], "clip"))
    y = again(graph.add("Concat", [y, y], "both", axis=1))
    y = again(graph.add("ReduceMean", [y], "mean", axes=[2, 3], keepdims=0))
    shape = graph.constant("shape", [2, -1], np.int64)
    y = again(graph.add("Reshape", [y, shape], "shaped"))
    graph.constant("w", integers(2, "uint8", 4, 5))
    weight = graph.dequantize("w", np.full(5, 0.02), np.full(5, 128), "uint8", axis=1)
    y = graph.add("MatMul", [y, weight], "product")
    bias = graph.constant("b", rng(2).standard_normal(5), np.float32)
    y = again(graph.add("Add", [y, bias], "biased"))
    y = graph.add("Softmax", [y], "scores", axis=1)
    return graph.model({"x": np.zeros((1, 4, 6, 6), np.float32)}, y, np.float32, 13)


@cache
def originals() -> tuple[bytes, ...]:
    """The models that get damaged."""
    models = (residual(), residual(inner="uint8", softmax=True), with_operators(), with_moves())
    return tuple(proto.SerializeToString() for proto in models)


def damaged(seed: int) -> ModelProto:
    """A model with one to three random changes."""
    random = Random(seed)
    proto = ModelProto.FromString(random.choice(originals()))
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        random.choice(DAMAGES)(random, proto)
    return proto


def other_attribute(random: Random, proto: ModelProto) -> None:
    """Change the value or type of an attribute, remove one, or add one."""
    node = random.choice(proto.graph.node)
    names = [each.name for each in node.attribute] or ["axis"]
    more = ["axis", "pads", "auto_pad", "group", "dilations", "strides", "to", "transA", "alpha"]
    more += ["block_size", "ceil_mode", "count_include_pad", "keepdims", "saturate"]
    name = random.choice(names if random.random() < 0.7 else more)
    kept = [each for each in node.attribute if each.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    if random.random() < 0.9:
        value = random.choice((*ATTRIBUTES, *LISTS))
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind_of(value)))


def kind_of(value: Any) -> int | None:
    """The attribute type that must be named since the value does not tell it, or None."""
    return 7 if value == [] else None


def other_tensor(random: Random, proto: ModelProto) -> None:
    """Change the element type, the shape or the numbers of an initialiser."""
    tensor = random.choice(proto.graph.initializer)
    array = numpy_helper.to_array(tensor)
    with np.errstate(all="ignore"):
        changed = random.choice(CHANGES)(random, array)
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(changed), tensor.name))
    if random.random() < 0.1:
        tensor.data_type = random.choice((0, 4, 8, 14, 16, 17, 21, 22, 23, 99))


def retyped(random: Random, array: Array) -> Array:
    """The same numbers with another element type."""
    return array.astype(random.choice(KINDS))


def reshaped(random: Random, array: Array) -> Array:
    """The array with another shape and number of elements."""
    size = random.choice((0, 1, 2, 3, array.size, array.size + 1))
    flat = np.resize(array.reshape(-1), size) if array.size else np.zeros(size, array.dtype)
    shapes = [(size,), (1, size), (size, 1), (1, size, 1, 1)]
    return flat.reshape(random.choice([*shapes, ()] if size == 1 else shapes))


def renumbered(random: Random, array: Array) -> Array:
    """The array with one element, or all elements, changed."""
    changed = array.copy()
    number = np.asarray(random.choice(NUMBERS)).astype(array.dtype)
    if array.ndim and array.size and random.random() < 0.5:
        changed.reshape(-1)[random.randrange(array.size)] = number
        return changed
    return np.full_like(array, number)


CHANGES: Sequence[Callable[[Random, Array], Array]] = (retyped, reshaped, renumbered)


def other_input(random: Random, proto: ModelProto) -> None:
    """Change an input of a node, remove one, or add one."""
    node = random.choice(proto.graph.node)
    if not node.input:
        return
    index = random.randrange(len(node.input))
    match random.randrange(5):
        case 0:
            node.input[index] = ""
        case 1:
            del node.input[index]
        case 2:
            node.input.append(random.choice(names_of(proto.graph)))
        case 3:
            other = random.randrange(len(node.input))
            node.input[index], node.input[other] = node.input[other], node.input[index]
        case _:
            node.input[index] = random.choice(names_of(proto.graph))


def names_of(graph: GraphProto) -> list[str]:
    """The names of all values of a graph."""
    names = [value.name for value in graph.input] + [tensor.name for tensor in graph.initializer]
    return names + [name for node in graph.node for name in node.output]


def other_operator(random: Random, proto: ModelProto) -> None:
    """Change the operator of a node."""
    node: NodeProto = random.choice(proto.graph.node)
    other: NodeProto = random.choice(proto.graph.node)
    some = ["DynamicQuantizeLinear", "ConvInteger", "Sigmoid", "Sub", "Div", "Pad", "Identity"]
    node.op_type = random.choice([other.op_type, other.op_type, random.choice(some)])
    node.domain = other.domain if node.op_type == other.op_type else ""


def without_node(random: Random, proto: ModelProto) -> None:
    """Remove a node: its readers read its first input instead."""
    index = random.randrange(len(proto.graph.node))
    node = proto.graph.node[index]
    for reader in proto.graph.node:
        for place, name in enumerate(reader.input):
            if name in node.output and node.input:
                reader.input[place] = node.input[0]
    if not any(value.name in node.output for value in proto.graph.output):
        del proto.graph.node[index]


def other_port(random: Random, proto: ModelProto) -> None:
    """Change the type or shape of an input or output, or the name of an output."""
    value = random.choice((*proto.graph.input, *proto.graph.output))
    kind = value.type.tensor_type
    match random.randrange(4):
        case 0:
            kind.elem_type = random.choice((0, 1, 2, 3, 6, 7, 10, 11, 22))
        case 1 if kind.shape.dim:
            random.choice(kind.shape.dim).dim_value = random.choice((0, 1, 2, 3, 5, 9, 2**33))
        case 2 if kind.shape.dim:
            del kind.shape.dim[random.randrange(len(kind.shape.dim))]
        case _:
            output = proto.graph.output[0]
            output.name = random.choice(names_of(proto.graph))
            output.type.tensor_type.elem_type = TensorProto.UNDEFINED


def other_opset(random: Random, proto: ModelProto) -> None:
    """Change the opset version."""
    random.choice(proto.opset_import).version = random.choice((7, 9, 10, 11, 14, 18, 19, 21, 23))


Damage = Callable[[Random, ModelProto], None]
DAMAGES: Sequence[Damage] = (
    other_attribute,
    other_attribute,
    other_tensor,
    other_tensor,
    other_tensor,
    other_input,
    other_input,
    other_operator,
    without_node,
    other_port,
    other_opset,
)
