"""Functions that exporters write as several nodes are one layer; look-alikes stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, helper

from helpers.onnx_models import check, layers, model, rejected
from npu_dialect.npu import MapOp


class Written:
    """Nodes under construction; values are named in their order."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, Any] = {}

    def __call__(self, kind: str, *inputs: str | float, **attributes: Any) -> str:
        """Add a node; numbers become constants."""
        names = [name if isinstance(name, str) else self.number(name) for name in inputs]
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [output], f"n{output}", **attributes))
        return output

    def number(self, value: float) -> str:
        """A constant."""
        name = f"c{len(self.weights)}"
        self.weights[name] = np.array(value, np.float32)
        return name


def silu(g: Written) -> str:
    return g("Mul", g("Sigmoid", "x"), "x")


def hard_swish(g: Written) -> str:
    return g("Div", g("Mul", "x", g("Clip", g("Add", "x", 3.0), 0.0, 6.0)), 6.0)


def hard_swish_of_a_gate(g: Written) -> str:
    return g("Mul", "x", g("HardSigmoid", "x", alpha=1 / 6))


def mish(g: Written) -> str:
    return g("Mul", "x", g("Tanh", g("Softplus", "x")))


def gelu(g: Written) -> str:
    share = g("Add", g("Erf", g("Div", "x", sqrt(2))), 1.0)
    return g("Mul", g("Mul", "x", share), 0.5)


def gelu_in_another_order(g: Written) -> str:
    share = g("Add", 1.0, g("Erf", g("Mul", sqrt(0.5), "x")))
    return g("Mul", share, g("Mul", 0.5, "x"))


def gelu_by_tanh(g: Written) -> str:
    total = g("Add", "x", g("Mul", g("Pow", "x", 3.0), 0.044715))
    share = g("Add", g("Tanh", g("Mul", total, sqrt(2 / pi))), 1.0)
    return g("Mul", g("Mul", 0.5, "x"), share)


def gelu_by_tanh_of_products(g: Written) -> str:
    cube = g("Mul", g("Mul", "x", 0.044715), g("Mul", "x", "x"))
    share = g("Add", 1.0, g("Tanh", g("Mul", sqrt(2 / pi), g("Add", "x", cube))))
    return g("Mul", 0.5, g("Mul", "x", share))


FORMS: list[tuple[Callable[[Written], str], str]] = [
    (silu, "silu"),
    (hard_swish, "hard_swish"),
    (hard_swish_of_a_gate, "hard_swish"),
    (mish, "mish"),
    (gelu, "gelu"),
    (gelu_in_another_order, "gelu"),
    (gelu_by_tanh, "gelu_tanh"),
    (gelu_by_tanh_of_products, "gelu_tanh"),
]


@pytest.mark.parametrize(("form", "function"), FORMS)
def test_one_layer(form: Callable[[Written], str], function: str) -> None:
    g = Written()
    output = form(g)
    module = check(model(g.nodes, {"x": [2, 3, 4]}, [output], g.weights, opset=14))
    (layer,) = [op for op in module.walk() if isinstance(op, MapOp)]
    assert layer.function.function.data == function
    assert layers(module) == ["npu.map"]


def test_older_bounds() -> None:
    g = Written()
    bounded = g("Clip", g("Add", "x", 3.0), min=0.0, max=6.0)
    output = g("Div", g("Mul", "x", bounded), 6.0)
    assert layers(check(model(g.nodes, {"x": [5]}, [output], g.weights, opset=9))) == ["npu.map"]


LOOK_ALIKES: list[Callable[[Written], str]] = [
    lambda g: g("Mul", g("Sigmoid", "x"), "z"),
    lambda g: g("Mul", "x", g("HardSigmoid", "x")),
    lambda g: g("Div", g("Mul", "x", g("Clip", g("Add", "x", 2.0), 0.0, 6.0)), 6.0),
    lambda g: g("Div", g("Mul", "x", g("Clip", g("Add", "x", 3.0), 0.0, 5.0)), 6.0),
    lambda g: g("Div", "x", g("Sigmoid", "x")),
    lambda g: g("Mul", g("Mul", "x", g("Add", g("Erf", "x"), 1.0)), 0.5),
    lambda g: g("Mul", g("Mul", "x", g("Add", g("Erf", g("Div", "x", sqrt(2))), 1.0)), 0.7),
]


@pytest.mark.parametrize("form", LOOK_ALIKES)
def test_what_only_looks_like_it(form: Callable[[Written], str]) -> None:
    g = Written()
    output = form(g)
    inputs = {"x": [2, 3], "z": [2, 3]}
    used = {name for node in g.nodes for name in node.input}
    feeds = {name: shape for name, shape in inputs.items() if name in used}
    assert len(layers(check(model(g.nodes, feeds, [output], g.weights, opset=14)))) > 1


def test_a_gate_that_others_read_stays() -> None:
    g = Written()
    gate = g("Sigmoid", "x")
    outputs = [g("Mul", gate, "x"), g("Neg", gate)]
    module = check(model(g.nodes, {"x": [2, 3]}, outputs, g.weights, opset=14))
    assert layers(module) == ["npu.map", "npu.mul", "npu.map"]


@pytest.mark.parametrize("form", [form for form, _ in FORMS])
def test_damaged_nodes_are_one_message(form: Callable[[Written], str]) -> None:
    """No operands or too many, at each node: what looked like a function no longer does."""
    g = Written()
    output = form(g)
    for damaged in g.nodes:
        operands = list(damaged.input)
        for names in ([], [*operands, *["x"] * 3]):
            damaged.input[:] = names
            proto = model(g.nodes, {"x": [2, 3, 4]}, [output], g.weights, opset=14)
            rejected(proto, f"({damaged.op_type})")
        damaged.input[:] = operands
