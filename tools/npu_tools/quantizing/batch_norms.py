"""Makes batch normalisations parts of products, or convolutions.

onnxruntime's optimiser folds them into convolutions and MatMul before them, not into Gemm. One that
is left would stay in float32, between a DequantizeLinear and a QuantizeLinear of its own.

    Gemm(x, b, c), BatchNormalization(scale, bias, mean, variance)   becomes   Gemm(x, b * f, c')
        with f = scale / sqrt(variance + epsilon) and c' = (c - mean) * f + bias
    BatchNormalization(x, scale, bias, mean, variance)   becomes   Conv(x, f, bias - mean * f)
        with a filter of one number for each channel, which a scale of its own holds exactly
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from npu_tools.quantizing.quantize_data import Array

DEFAULT_EPSILON = 1e-5
"""BatchNormalization's `epsilon` where it is left out."""


def fold_batch_norms(model: ModelProto) -> None:
    """Fold each batch normalisation of a Gemm with constant weights into it, in place."""
    graph = model.graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    readers = Counter(name for node in graph.node for name in node.input)
    readers.update(value.name for value in graph.output)
    producers = {name: node for node in graph.node for name in node.output}
    taken = {*tensors, *producers, *(value.name for value in graph.input)}
    replaced: set[str] = set()
    for norm in [node for node in graph.node if node.op_type == "BatchNormalization"]:
        product = producers.get(norm.input[0])
        if product is None or readers[norm.input[0]] != 1 or not foldable(product, norm, tensors):
            continue
        names = [fresh(f"{norm.output[0]}_{part}", taken) for part in ("weights", "bias")]
        for name, array in zip(names, folded(product, norm, tensors), strict=True):
            graph.initializer.append(numpy_helper.from_array(array, name))
            tensors[name] = array
        replaced.update((*product.input[1:], *norm.input[1:]))
        product.input[:] = [product.input[0], *names]
        product.output[:] = norm.output[:1]
        producers[norm.output[0]] = product
        graph.node.remove(norm)
    drop_unread(graph, replaced)


def fresh(name: str, taken: set[str]) -> str:
    """A name that is not taken; it is taken then."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def attributes(node: NodeProto) -> dict[str, float]:
    """The attributes of a node that are numbers, by name."""
    return {each.name: each.f if each.type == each.FLOAT else each.i for each in node.attribute}


def constant(norm: NodeProto, tensors: Mapping[str, Array]) -> bool:
    """Whether a normalisation is one of inference with constant parameters."""
    return (
        not attributes(norm).get("training_mode", 0)
        and len([name for name in norm.output if name]) == 1
        and all(name in tensors for name in norm.input[1:])
    )


def foldable(product: NodeProto, norm: NodeProto, tensors: Mapping[str, Array]) -> bool:
    """Whether a normalisation is one of inference behind a product, and all is constant."""
    return (
        product.op_type == "Gemm"
        and attributes(product).get("beta", 1.0) == 1.0
        and constant(norm, tensors)
        and all(name in tensors for name in product.input[1:] if name)
    )


def factor_and_bias(norm: NodeProto, tensors: Mapping[str, Array], addend: Array) -> list[Array]:
    """What a normalisation multiplies each channel by, and what it adds; it reads x + addend."""
    scale, bias, mean, variance = (tensors[name].astype(np.float64) for name in norm.input[1:5])
    factor = scale / np.sqrt(variance + attributes(norm).get("epsilon", DEFAULT_EPSILON))
    return [factor, (addend - mean) * factor + bias]


def folded(
    product: NodeProto, norm: NodeProto, tensors: Mapping[str, Array]
) -> tuple[Array, Array]:
    """The weights and the bias of a product that normalises, in float32."""
    has_bias = len(product.input) > 2 and product.input[2] != ""
    addend = tensors[product.input[2]].astype(np.float64) if has_bias else np.zeros(())
    factor, bias = factor_and_bias(norm, tensors, addend)
    weights = tensors[product.input[1]].astype(np.float64)
    weights = weights * (factor[:, None] if attributes(product).get("transB", 0) else factor)
    return weights.astype(np.float32), bias.astype(np.float32)


def norms_as_convolutions(model: ModelProto) -> None:
    """Make each batch normalisation of a map [N, C, D1, ...] a convolution, in place.

    The model has the shapes of its maps.
    """
    graph = model.graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    ranks = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in (*graph.value_info, *graph.input, *graph.output)
    }
    taken = {*tensors, *ranks, *(name for node in graph.node for name in node.output)}
    replaced: set[str] = set()
    for node in graph.node:
        spatial = ranks.get(node.output[0], 0) - 2
        if node.op_type != "BatchNormalization" or spatial < 1 or not constant(node, tensors):
            continue
        factor, bias = factor_and_bias(node, tensors, np.zeros(()))
        arrays = {"weights": factor.reshape(-1, 1, *[1] * spatial), "bias": bias}
        names = [fresh(f"{node.output[0]}_{part}", taken) for part in arrays]
        for name, array in zip(names, arrays.values(), strict=True):
            graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
        replaced.update(node.input[1:])
        node.op_type = "Conv"
        node.input[:] = [node.input[0], *names]
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("group", factor.size))
    drop_unread(graph, replaced)


def drop_unread(graph: GraphProto, names: Collection[str]) -> None:
    """Drop those of the initialisers `names` that no node reads now."""
    read = {name for node in graph.node for name in node.input}
    for tensor in [each for each in graph.initializer if each.name in {*names} - read]:
        graph.initializer.remove(tensor)
