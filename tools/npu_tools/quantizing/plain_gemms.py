"""Writes products of matrices as onnxruntime's quantiser expects them: a @ b + c, with c of [N].

It takes the factors `alpha` and `beta` for 1, and an addend for one with a number for each column.

    Gemm(x, b, c, alpha, beta)   becomes   Gemm(x, alpha * b, beta * c)
    Gemm(x, b, c) with c of [M, N] or [M, 1]   becomes   Add(Gemm(x, b), c)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from npu_tools.quantizing.batch_norms import attributes, drop_unread, fresh
from npu_tools.quantizing.quantize_data import Array


def plain_gemms(model: ModelProto) -> None:
    """Write all Gemm with constant weights so, in place; an addend that is computed stays."""
    graph = model.graph
    nodes = list(graph.node)
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    taken = {*tensors, *(value.name for value in graph.input)}
    taken |= {name for node in nodes for name in node.output}
    gemms = Gemms(model, tensors, taken)
    del graph.node[:]
    for node in nodes:
        graph.node.extend(gemms.plain(node) if node.op_type == "Gemm" else (node,))
    drop_unread(graph, gemms.replaced)


class Gemms:
    """Rewrites nodes of a model, and adds the constants that they need."""

    def __init__(self, model: ModelProto, tensors: dict[str, Array], taken: set[str]) -> None:
        """`tensors` are the constants of the model, and `taken` all names in it."""
        self.model, self.tensors, self.taken = model, tensors, taken
        self.replaced: set[str] = set()
        """Constants that a node does not read any more."""

    def plain(self, node: NodeProto) -> Iterator[NodeProto]:
        """The nodes in the place of a Gemm."""
        found = attributes(node)
        alpha, beta = found.get("alpha", 1.0), found.get("beta", 1.0)
        weight = self.tensors.get(node.input[1])
        if weight is None:
            yield node
            return
        if alpha != 1:
            self.set_input(node, 1, np.float32(alpha) * weight)
            set_to_one(node, "alpha")
        addend = node.input[2] if len(node.input) > 2 else ""
        if not addend or beta == 0:
            self.replaced.add(addend)
            del node.input[2:]
            set_to_one(node, "beta")
        elif addend in self.tensors:
            value = np.float32(beta) * self.tensors[addend]
            columns = weight.shape[0] if found.get("transB", 0) else weight.shape[1]
            set_to_one(node, "beta")
            if value.size in (1, value.shape[-1] if value.ndim else 1):
                self.set_input(node, 2, np.broadcast_to(value.reshape(-1), columns))
            else:
                yield from self.with_addition(node, value)
                return
        yield node

    def with_addition(self, node: NodeProto, value: Array) -> Iterator[NodeProto]:
        """A product without its addend, and an addition of that behind it."""
        result, product = node.output[0], fresh(f"{node.output[0]}_product", self.taken)
        self.set_input(node, 2, value)
        addend = node.input.pop()
        node.output[0] = product
        yield node
        yield helper.make_node("Add", [product, addend], [result], node.name and f"{node.name}_add")

    def set_input(self, node: NodeProto, index: int, value: Array) -> None:
        """Let a node read a constant."""
        old = node.input[index]
        if self.tensors[old].shape == value.shape and np.array_equal(self.tensors[old], value):
            return
        name = fresh(f"{node.output[0]}_{'weights' if index == 1 else 'addend'}", self.taken)
        self.model.graph.initializer.append(numpy_helper.from_array(np.array(value), name))
        self.tensors[name] = np.array(value)
        self.replaced.add(old)
        node.input[index] = name


def set_to_one(node: NodeProto, name: str) -> None:
    """Drop an attribute whose default is 1."""
    kept = [each for each in node.attribute if each.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
