"""Functions that exporters write as several nodes become one node again.

    Sigmoid(x) * x                                 SiLU
    x * Clip(x + 3, 0, 6) / 6                      HardSwish, also with HardSigmoid
    x * Tanh(Softplus(x))                          Mish
    x / 2 * (1 + Erf(x / sqrt(2)))                 GELU
    x / 2 * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))

The factors of a product may come in any order and association, with divisions by numbers between
them. Only values that nothing else reads are taken in, so no node is computed twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isclose, pi, sqrt

from onnx import GraphProto, NodeProto, TensorProto, helper

from npu_tools.importers.onnx.errors import ModelError
from npu_tools.importers.onnx.graph import inputs_of, node_label, reads
from npu_tools.importers.onnx.tensors import decode

WRITTEN_OUT = "npu"
"""The domain of the new nodes; their operators are those of `rules/activation.py`."""
OPERANDS = {"Clip": (1, 2, 3), **dict.fromkeys(("Add", "Div", "Mul", "Pow"), (2,))}
"""How many operands nodes of an operator may have; others have one. Damaged nodes may have any."""
MOST_FACTORS = 8
"""Most factors of a product that are collected."""


def recognised(graph: GraphProto) -> list[NodeProto]:
    """The nodes of a graph, with one node for all nodes of each function; the graph stays as it is.

    The new nodes have the domain `WRITTEN_OUT`. The nodes of the graph must be sorted.
    """
    reader = Reader.of(graph)
    found = [function_of(reader, node) or node for node in graph.node]
    if all(new is old for new, old in zip(found, graph.node, strict=True)):
        return found
    needed, kept = {value.name for value in graph.output}, list[NodeProto]()
    for node in reversed(found):
        if any(name in needed for name in node.output if name):
            kept.append(node)
            needed.update(inputs_of(node))
    return kept[::-1]


@dataclass(frozen=True)
class Reader:
    """A graph's nodes by the value that they give, its numbers by name, and its readers."""

    producers: dict[str, NodeProto]
    numbers: dict[str, float]
    uses: Counter[str]

    @staticmethod
    def of(graph: GraphProto) -> Reader:
        """Read a graph."""
        producers = {name: node for node in graph.node for name in node.output if name}
        uses = reads(graph.node, graph)
        numbers: dict[str, float] = {}
        for tensor in graph.initializer:
            add_number(numbers, tensor.name, tensor)
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                add_number(numbers, node.output[0], node.attribute[0].t)
        return Reader(producers, numbers, uses)

    def inner(self, name: str, kind: str) -> NodeProto | None:
        """The node of an operator that gives a value which only one node reads; else None."""
        node = self.producers.get(name)
        if node is None or node.domain != "" or node.op_type != kind or self.uses[name] != 1:
            return None
        return node if len(node.input) in OPERANDS.get(kind, (1,)) else None

    def plus(self, name: str, number: float) -> str | None:
        """The other summand of an addition of a number; None if the value is none."""
        node = self.inner(name, "Add")
        if node is None:
            return None
        for one, other in (tuple(node.input), tuple(node.input)[::-1]):
            if one in self.numbers and close(self.numbers[one], number):
                return other
        return None

    def product(self, name: str) -> Product | None:
        """The factors of a product that only one node reads; None if the value is none."""
        node = self.inner(name, "Mul") or self.inner(name, "Div")
        return None if node is None else self.factors(node)

    def factors(self, node: NodeProto) -> Product:
        """The factors of a Mul or Div, and of those that it reads alone."""
        found = Product(1.0, [])
        left = [(node.input[0], False), (node.input[1], node.op_type == "Div")]
        while left:
            name, divides = left.pop()
            inner = self.inner(name, "Mul") or self.inner(name, "Div")
            if name in self.numbers:
                number = self.numbers[name]
                found.number *= number if not divides else 1 / number if number else 0.0
            elif divides or inner is None or len(left) + len(found.names) > MOST_FACTORS:
                found.names.append(f"1/{name}" if divides else name)
            else:
                left += [(inner.input[0], False), (inner.input[1], inner.op_type == "Div")]
        return found


@dataclass
class Product:
    """A number times some values."""

    number: float
    names: list[str] = field(default_factory=list[str])


def add_number(numbers: dict[str, float], name: str, tensor: TensorProto) -> None:
    """Note a tensor if it holds one number; one that is damaged is reported where it is read."""
    if len(tensor.dims) <= 1 and all(extent == 1 for extent in tensor.dims):
        try:
            array = decode(tensor)
        except ModelError:
            return
        if array.size == 1 and array.dtype.kind in "fi":
            numbers[name] = float(array.reshape(-1)[0])


def close(one: float, other: float) -> bool:
    """Whether two numbers are equal up to the digits that exporters print."""
    return isclose(one, other, rel_tol=1e-5)


def function_of(reader: Reader, node: NodeProto) -> NodeProto | None:
    """One node for the function that a product computes; None if it is no known one."""
    if node.domain != "" or node.op_type not in ("Mul", "Div") or len(node.input) != 2:
        return None
    product = reader.factors(node)
    if len(product.names) != 2:
        return None
    for x, other in (product.names, product.names[::-1]):
        for kind, number, fits in FORMS:
            if close(product.number, number) and fits(reader, other, x):
                return helper.make_node(
                    kind, [x], node.output, name=node_label(node), domain=WRITTEN_OUT
                )
    return None


def is_sigmoid(reader: Reader, name: str, x: str) -> bool:
    """Whether a value is Sigmoid(x)."""
    node = reader.inner(name, "Sigmoid")
    return node is not None and node.input[0] == x


def is_hard_sigmoid(reader: Reader, name: str, x: str) -> bool:
    """Whether a value is HardSigmoid(x) with a slope of 1 / 6 and an offset of 1 / 2."""
    node = reader.inner(name, "HardSigmoid")
    if node is None or node.input[0] != x:
        return False
    attributes = {each.name: each.f for each in node.attribute}
    return close(attributes.get("alpha", 0.2), 1 / 6) and close(attributes.get("beta", 0.5), 0.5)


def is_relu6_of_sum(reader: Reader, name: str, x: str) -> bool:
    """Whether a value is Clip(x + 3, 0, 6)."""
    node = reader.inner(name, "Clip")
    if node is None or reader.plus(node.input[0], 3.0) != x:
        return False
    attributes = {each.name: each.f for each in node.attribute}
    bounds = [attributes.get("min"), attributes.get("max")]
    for index, bound in enumerate(node.input[1:]):
        bounds[index] = reader.numbers.get(bound)
    return bounds == [0.0, 6.0]


def is_tanh_of_softplus(reader: Reader, name: str, x: str) -> bool:
    """Whether a value is Tanh(Softplus(x))."""
    node = reader.inner(name, "Tanh")
    inner = None if node is None else reader.inner(node.input[0], "Softplus")
    return inner is not None and inner.input[0] == x


def is_erf_share(reader: Reader, name: str, x: str) -> bool:
    """Whether a value is 1 + Erf(x / sqrt(2))."""
    erf = reader.inner(reader.plus(name, 1.0) or "", "Erf")
    inner = None if erf is None else reader.product(erf.input[0])
    return inner is not None and inner.names == [x] and close(inner.number, sqrt(0.5))


def is_tanh_share(reader: Reader, name: str, x: str) -> bool:
    """Whether a value is 1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))."""
    tanh = reader.inner(reader.plus(name, 1.0) or "", "Tanh")
    inner = None if tanh is None else reader.product(tanh.input[0])
    if inner is None or len(inner.names) != 1 or not close(inner.number, sqrt(2 / pi)):
        return False
    total = reader.inner(inner.names[0], "Add")
    if total is None or x not in total.input:
        return False
    cube = reader.product(total.input[1 - list(total.input).index(x)])
    return cube is not None and close(cube.number, 0.044715) and is_cube(reader, cube.names, x)


def is_cube(reader: Reader, factors: Sequence[str], x: str) -> bool:
    """Whether the product of some factors is x^3."""
    if len(factors) == 1:
        power = reader.inner(factors[0], "Pow")
        return (
            power is not None
            and power.input[0] == x
            and close(reader.numbers.get(power.input[1], 0.0), 3.0)
        )
    return list(factors) == [x] * 3


FORMS: Sequence[tuple[str, float, Callable[[Reader, str, str], bool]]] = (
    ("Silu", 1.0, is_sigmoid),
    ("HardSwish", 1.0, is_hard_sigmoid),
    ("HardSwish", 1 / 6, is_relu6_of_sum),
    ("Mish", 1.0, is_tanh_of_softplus),
    ("Gelu", 0.5, is_erf_share),
    ("GeluTanh", 0.5, is_tanh_share),
)
"""Functions that are a number times x times another function of x, which the test recognises."""
