"""A copy of an ONNX model whose integer sums onnxruntime computes exactly on every computer.

An x86 processor without VNNI multiplies uint8 by int8 with an instruction that adds two products in
16 bits. onnxruntime uses it, so a sum of two products that does not fit is cut off. Products of two
uint8 operands are added in 32 bits on every processor. So where a node would multiply uint8 by
int8, the int8 operand becomes uint8 here. Its values and its zero point both grow by 128. Only
their difference counts, and that stays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

OFFSET = 128
"""What lies between the int8 and the uint8 form of a number."""


class Operands(NamedTuple):
    """Where a node has its two factors: indices of the values and of their zero points."""

    first: tuple[int, int]
    second: tuple[int, int]
    both: bool = False
    """Whether either factor may have either type."""


OPS = {
    "QLinearConv": Operands((0, 2), (3, 5)),
    "QLinearMatMul": Operands((0, 2), (3, 5)),
    "QGemm": Operands((0, 2), (3, 5)),
    "MatMulInteger": Operands((0, 2), (1, 3), both=True),
    "ConvInteger": Operands((0, 2), (1, 3), both=True),
}
"""The operators that multiply integers of 8 bits."""


def with_exact_sums(model: ModelProto) -> ModelProto:
    """A model that computes the same; the model itself if no node of it multiplies such integers.

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
    """The rewriting of one model, whose graph gets new initialisers."""

    def __init__(self, model: ModelProto) -> None:
        self.graph = model.graph
        self.tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        self.types = types_of(model)
        self.nodes: list[NodeProto] = []
        """The nodes of the result, so far."""
        self.names: dict[str, str] = {}
        """The uint8 form of each value that has one."""

    def rewrite(self, node: NodeProto) -> None:
        """Append a node, after those that its new operands need."""
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
        """Whether a factor is int8 rather than uint8; None if nothing says what it is."""
        names = [node.input[index] for index in (value, point) if index < len(node.input)]
        known = {self.types.get(name, TensorProto.UNDEFINED) for name in names}
        known.discard(TensorProto.UNDEFINED)
        return known == {TensorProto.INT8} if known else None

    def change(self, node: NodeProto, value: int, point: int) -> None:
        """Make a factor and its zero point uint8."""
        node.input.extend([""] * (point + 1 - len(node.input)))
        for index in (value, point):
            name = node.input[index]
            if name not in self.names:
                constant = name in self.tensors or not name
                self.names[name] = self.constant(name) if constant else self.computed(name)
            node.input[index] = self.names[name]

    def constant(self, name: str) -> str:
        """The uint8 form of an initialiser; without a name, of the zero point 0."""
        number: Any = numpy_helper.to_array(self.tensors[name]) if name else np.zeros((), np.int8)
        array = (number.astype(np.int16) + OFFSET).astype(np.uint8)
        return self.add(array, name or "zero_point")

    def computed(self, name: str) -> str:
        """The uint8 form of a value that new nodes compute."""
        wide, moved, result = (self.fresh(f"{name}_{each}") for each in ("int32", "moved", "uint8"))
        offset = self.add(np.array(OFFSET, np.int32), f"{name}_offset")
        self.nodes += [
            helper.make_node("Cast", [name], [wide], to=TensorProto.INT32),
            helper.make_node("Add", [wide, offset], [moved]),
            helper.make_node("Cast", [moved], [result], to=TensorProto.UINT8),
        ]
        return result

    def add(self, array: np.ndarray[Any, Any], name: str) -> str:
        """A new initialiser; gives its name."""
        tensor = numpy_helper.from_array(array, self.fresh(f"{name}_exact"))
        self.graph.initializer.append(tensor)
        return tensor.name

    def fresh(self, name: str) -> str:
        """A name that no value has."""
        while name in self.types:
            name += "_"
        self.types[name] = TensorProto.UNDEFINED
        return name


def types_of(model: ModelProto) -> dict[str, int]:
    """The element types of all values: UNDEFINED where only onnxruntime knows it."""
    graph = infer_shapes(model).graph
    types: dict[str, int] = {
        name: TensorProto.UNDEFINED for node in graph.node for name in node.output
    }
    for value in (*graph.input, *graph.value_info, *graph.output):
        types[value.name] = value.type.tensor_type.elem_type
    types.update((tensor.name, tensor.data_type) for tensor in graph.initializer)
    return types
