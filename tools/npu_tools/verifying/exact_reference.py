"""Rewrites an ONNX model so that onnxruntime computes its integer sums exactly on every computer.

On x86 processors without VNNI, onnxruntime multiplies uint8 by int8 with an instruction that adds
two products in 16 bits. A sum that does not fit saturates. Products of two uint8 operands are added
in 32 bits on every processor. So if a node multiplies uint8 by int8, the int8 operand becomes uint8
here: 128 is added to its values and to its zero point. Only their difference counts, and that stays
the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

OFFSET = 128
"""The difference between the uint8 and the int8 form of a number."""


class Operands(NamedTuple):
    """The indices of a node's two factors among its inputs: (values, zero point) for each."""

    first: tuple[int, int]
    second: tuple[int, int]
    both: bool = False
    """Whether each factor may be int8 or uint8, in any combination."""


OPS = {
    "QLinearConv": Operands((0, 2), (3, 5)),
    "QLinearMatMul": Operands((0, 2), (3, 5)),
    "QGemm": Operands((0, 2), (3, 5)),
    "MatMulInteger": Operands((0, 2), (1, 3), both=True),
    "ConvInteger": Operands((0, 2), (1, 3), both=True),
}
"""The operators that multiply integers of 8 bits."""


def with_exact_sums(model: ModelProto) -> ModelProto:
    """A model with the same results and exact sums; the model itself if it has no node in `OPS`.

    All values that nodes of the model compute keep their names, types and numbers.
    """
    if not any(node.op_type in OPS for node in model.graph.node):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    rewriting = Rewriting(copy)
    for node in copy.graph.node:
        rewriting.rewrite(node)
    del copy.graph.node[:]
    copy.graph.node.extend(rewriting.nodes)
    return copy


class Rewriting:
    """Rewrites the nodes of one model, and adds initialisers to its graph."""

    def __init__(self, model: ModelProto) -> None:
        self.graph = model.graph
        self.tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        self.types = types_of(model)
        self.nodes: list[NodeProto] = []
        """The nodes of the result, so far."""
        self.names: dict[str, str] = {}
        """The name of the uint8 form of each value that has one."""

    def rewrite(self, node: NodeProto) -> None:
        """Append a node to the result, after the nodes that compute its new operands."""
        if operands := OPS.get(node.op_type):
            pairs = (operands.first, operands.second)
            signed = [self.is_signed(node, *pair) for pair in pairs]
            if operands.both:
                for pair in (pair for pair, found in zip(pairs, signed, strict=True) if found):
                    self.change(node, *pair)
            elif signed == [False, True]:  # int8 x int8 is exact, int8 x uint8 does not exist
                self.change(node, *operands.second)
        self.nodes.append(node)

    def is_signed(self, node: NodeProto, value: int, point: int) -> bool | None:
        """Whether a factor is int8 and not uint8; None if its type is not known."""
        names = [node.input[index] for index in (value, point) if index < len(node.input)]
        known = {self.types.get(name, TensorProto.UNDEFINED) for name in names}
        known.discard(TensorProto.UNDEFINED)
        return known == {TensorProto.INT8} if known else None

    def change(self, node: NodeProto, value: int, point: int) -> None:
        """Replace a node's factor and its zero point by their uint8 forms."""
        node.input.extend([""] * (point + 1 - len(node.input)))
        for index in (value, point):
            name = node.input[index]
            if name not in self.names:
                constant = name in self.tensors or not name
                self.names[name] = self.constant(name) if constant else self.computed(name)
            node.input[index] = self.names[name]

    def constant(self, name: str) -> str:
        """Add the uint8 form of an initialiser, or of the zero point 0 if the name is empty."""
        number: Any = numpy_helper.to_array(self.tensors[name]) if name else np.zeros((), np.int8)
        array = (number.astype(np.int16) + OFFSET).astype(np.uint8)
        return self.add(array, name or "zero_point")

    def computed(self, name: str) -> str:
        """Add nodes that compute the uint8 form of a value; returns the form's name."""
        wide, moved, result = (self.fresh(f"{name}_{each}") for each in ("int32", "moved", "uint8"))
        offset = self.add(np.array(OFFSET, np.int32), f"{name}_offset")
        self.nodes += [
            helper.make_node("Cast", [name], [wide], to=TensorProto.INT32),
            helper.make_node("Add", [wide, offset], [moved]),
            helper.make_node("Cast", [moved], [result], to=TensorProto.UINT8),
        ]
        return result

    def add(self, array: np.ndarray[Any, Any], name: str) -> str:
        """Add an initialiser; returns its name."""
        tensor = numpy_helper.from_array(array, self.fresh(f"{name}_exact"))
        self.graph.initializer.append(tensor)
        return tensor.name

    def fresh(self, name: str) -> str:
        """A new name made from `name`, which no value has."""
        while name in self.types:
            name += "_"
        self.types[name] = TensorProto.UNDEFINED
        return name


def types_of(model: ModelProto) -> dict[str, int]:
    """The element types of all values; UNDEFINED if ONNX's inference does not find one."""
    graph = infer_shapes(model).graph
    types: dict[str, int] = {
        name: TensorProto.UNDEFINED for node in graph.node for name in node.output
    }
    for value in (*graph.input, *graph.value_info, *graph.output):
        types[value.name] = value.type.tensor_type.elem_type
    types.update((tensor.name, tensor.data_type) for tensor in graph.initializer)
    return types
