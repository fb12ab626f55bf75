"""RNN, GRU and LSTM against onnxruntime, and what is rejected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper
from onnx.numpy_helper import from_array, to_array
from xdsl.dialects.builtin import ModuleOp

from helpers.onnx_models import (
    Array,
    check,
    imported,
    layers,
    model,
    node,
    numbers,
    rejected,
)
from helpers.quantized.build import Graph, compare, integers
from npu_dialect.interpreters import run_function

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
PARAMETERS = {
    "Affine": 2,
    "Elu": 1,
    "HardSigmoid": 2,
    "LeakyRelu": 1,
    "Relu": 0,
    "ScaledTanh": 2,
    "Sigmoid": 0,
    "Softplus": 0,
    "Softsign": 0,
    "Tanh": 0,
    "ThresholdedRelu": 1,
}
"""How many parameters the functions have: alpha, then beta."""


@dataclass(frozen=True)
class Layer:
    """A recurrent node and its extents; `given` are the numbers of its optional operands."""

    op: str
    steps: int = 3
    batch: int = 2
    depth: int = 3
    units: int = 4
    both: bool = False
    given: frozenset[int] = frozenset((3,))

    def arrays(self) -> dict[str, Array]:
        """The operands behind the input, by name: small, as some functions have no bounds."""
        count, rows, units = 1 + self.both, GATES[self.op] * self.units, self.units
        state = (count, self.batch, units)
        shapes = {
            "w": (count, rows, self.depth),
            "r": (count, rows, units),
            "b": (count, 2 * rows),
            "n": (self.batch,),
            "h": state,
            "c": state,
            "p": (count, 3 * units),
        }
        used = [name for index, name in enumerate(shapes, 1) if index < 3 or index in self.given]
        arrays = {name: numbers(*shapes[name], seed=len(name) + ord(name[0])) / 4 for name in used}
        return arrays | ({"n": np.full(self.batch, self.steps, np.int32)} if "n" in used else {})

    def proto(self, constant: str = "wrbnhcp", opset: int = 14, **more: Any) -> ModelProto:
        """A model of the node; the operands in `constant` are initialisers."""
        arrays = self.arrays()
        names = "x w r b n h c p".split()[: 8 if self.op == "LSTM" else 6]
        operands = " ".join(name if name == "x" or name in arrays else "_" for name in names)
        outputs = ["y", "last", "cell"][: 3 if self.op == "LSTM" else 2]
        more = {"hidden_size": self.units, **more}
        if self.both:
            more["direction"] = "bidirectional"
        one = node(self.op, operands, " ".join(outputs), **more)
        weights = {name: array for name, array in arrays.items() if name in constant}
        computed = {name: each.shape for name, each in arrays.items() if name not in constant}
        shapes = {"x": (self.steps, self.batch, self.depth), **computed}
        return model([one], shapes, outputs, weights, opset)


def found(module: ModuleOp) -> list[str]:
    """The layers of a module that compute something."""
    return [name for name in layers(module) if name not in ("npu.reshape", "npu.slice")]


def test_constants() -> None:
    expected = ["npu.fully_connected", "npu.recurrent"]
    for op in GATES:
        assert found(check(Layer(op).proto())) == expected
        assert found(check(Layer(op, steps=1, batch=1).proto(opset=7))) == expected
        assert found(check(Layer(op, both=True).proto(opset=22))) == [*expected * 2] + [
            "npu.concat"
        ] * (3 if op == "LSTM" else 2)


@st.composite
def nodes(draw: st.DrawFn) -> tuple[Layer, dict[str, Any]]:
    """A random node and its attributes."""
    op = draw(st.sampled_from(sorted(GATES)))
    optional = (3, 4, 5, 6, 7) if op == "LSTM" else (3, 4, 5)
    layer = Layer(
        op,
        *(draw(st.sampled_from((1, 2, 5))) for _ in range(4)),
        both=draw(st.booleans()),
        given=draw(st.frozensets(st.sampled_from(optional))),
    )
    more: dict[str, Any] = {}
    if not layer.both:
        more["direction"] = draw(st.sampled_from(("forward", "reverse")))
    if op == "GRU":
        more["linear_before_reset"] = draw(st.integers(0, 1))
    if op == "LSTM":
        more["input_forget"] = draw(st.integers(0, 1))
    if draw(st.booleans()):
        more["clip"] = draw(st.sampled_from((0.25, 1.0)))
    if draw(st.booleans()):
        count = FUNCTIONS[op] * (1 + layer.both)
        chosen = st.sampled_from(sorted(PARAMETERS))
        names = draw(st.lists(chosen, min_size=count, max_size=count))
        more["activations"] = names
        for number, name in enumerate(("alpha", "beta")):
            least = sum(PARAMETERS[each] > number for each in names)
            if least:
                more[f"activation_{name}"] = [0.25 + 0.0625 * index for index in range(least)]
    return layer, more


@settings(max_examples=60, deadline=None)
@given(case=nodes())
def test_any_node(case: tuple[Layer, dict[str, Any]]) -> None:
    layer, more = case
    check(layer.proto(**more))


@pytest.mark.parametrize("op", GATES)
def test_computed_operands(op: str) -> None:
    given = frozenset((3, 5, 6, 7) if op == "LSTM" else (3, 5))
    for before in (0, 1) if op == "GRU" else (0,):
        more = {"linear_before_reset": before} if op == "GRU" else {}
        check(Layer(op, both=True, given=given).proto(constant="", **more))
    assert "npu.fully_connected" in layers(check(Layer(op, given=given).proto(constant="wrb")))


def test_shorter_sequences() -> None:
    for op in GATES:
        for direction in ("forward", "reverse"):
            proto = Layer(op, steps=5).proto(direction=direction)
            lengths = helper.make_tensor("n", TensorProto.INT32, [2], [3, 3])
            proto.graph.initializer.append(lengths)
            proto.graph.node[0].input[4:5] = ["n"]
            check(proto)


def test_zero_states_are_left_out() -> None:
    proto = Layer("GRU").proto()
    zeros = np.zeros((1, 2, 4), np.float32)
    proto.graph.initializer.append(helper.make_tensor("h", 1, zeros.shape, zeros))
    proto.graph.node[0].input[4:] = ["", "h"]
    assert "tensor<2x4xf32>" not in str(check(proto)).replace(" ", "")


@pytest.mark.parametrize("op", GATES)
def test_sequences_first(op: str) -> None:
    given = frozenset((3, 5, 6))
    both = [Layer(op, both=True, given=given).proto(layout=layout) for layout in (0, 1)]
    for proto in both[1:]:
        shapes = [value.type.tensor_type.shape.dim for value in proto.graph.input]
        shapes[0][0].dim_value, shapes[0][1].dim_value = 2, 3
        for tensor in proto.graph.initializer:
            if tensor.name in "hc":
                array = to_array(tensor).transpose(1, 0, 2)
                tensor.CopyFrom(from_array(np.ascontiguousarray(array), tensor.name))
    x = numbers(3, 2, 3)
    first, *ends = run_function(imported(both[0]), None, [x])
    swapped, *others = run_function(imported(both[1]), None, [x.transpose(1, 0, 2)])
    np.testing.assert_allclose(first.transpose(2, 0, 1, 3), swapped)
    for end, other in zip(ends, others, strict=True):
        np.testing.assert_allclose(end.transpose(1, 0, 2), other)


@pytest.mark.parametrize(
    ("op", "more", "message"),
    [
        ("GRU", {"direction": "both"}, "direction 'both'"),
        ("GRU", {"layout": 2}, "layout 2"),
        ("RNN", {"hidden_size": 5}, "input 'w' has shape [1, 4, 3]; expected [1, 5, 3]"),
        ("LSTM", {"activations": ["Tanh"]}, "activations ['Tanh']; expected 3 of them"),
        ("RNN", {"activations": ["Sin"]}, "activation 'Sin'; expected Relu or one of affine"),
        ("RNN", {"activations": ["ScaledTanh"]}, "needs activation_alpha and activation_beta"),
        ("RNN", {"clip": -1.0}, "expected a positive clip"),
    ],
)
def test_wrong_attributes(op: str, more: dict[str, Any], message: str) -> None:
    rejected(Layer(op).proto(**more), f"node 'the_{op}' ({op})", message)


@pytest.mark.parametrize("lengths", [[3, 2], [0, 0], [4, 4], [3]])
def test_lengths_that_differ(lengths: list[int]) -> None:
    proto = Layer("GRU", given=frozenset((4,))).proto()
    for tensor in proto.graph.initializer:
        if tensor.name == "n":
            tensor.CopyFrom(from_array(np.array(lengths, np.int32), "n"))
    rejected(proto, f"sequence_lens {lengths}; expected one length from 1 to 3 for all 2")


def test_lengths_that_are_computed() -> None:
    proto = Layer("GRU", given=frozenset((4,))).proto(constant="wr")
    proto.graph.input[1].type.tensor_type.elem_type = TensorProto.INT32
    rejected(proto, "input 'n' is computed; expected a constant")


def test_operands_of_wrong_shapes() -> None:
    proto = Layer("LSTM", given=frozenset((7,))).proto(constant="wr")
    proto.graph.input[1].type.tensor_type.shape.dim[1].dim_value = 5
    rejected(proto, "input 'p' has shape [1, 5]; expected [1, 12]")


def test_quantised_neighbours() -> None:
    graph, layer = Graph(), Layer("GRU")
    source = graph.dequantize("x", 0.0625, 3, "int8")
    names: list[str] = []
    for name, array in layer.arrays().items():
        graph.weights[name] = np.clip(np.round(array * 32), -128, 127).astype(np.int8)
        names.append(graph.dequantize(name, 1 / 32, 0, "int8"))
    states = graph.add("GRU", [source, *names], "s", hidden_size=layer.units)
    out = graph.quantize(states, 1 / 64, -5, "int8")
    feeds = {"x": integers(0, "int8", layer.steps, layer.batch, layer.depth)}
    found = compare(graph, feeds, out, "int8", opset=14, close=True)
    assert [name for name in found if name not in ("reshape", "slice")] == [
        "dequantize",
        "fully_connected",
        "recurrent",
        "quantize",
    ]
