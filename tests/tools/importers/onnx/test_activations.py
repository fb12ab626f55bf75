"""Activations that become several layers, and Sub of a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from helpers.onnx_models import NEWEST_OF_RUNTIME, check, expected, imported, model, node, numbers
from npu_dialect.interpreters import run_function

CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("LeakyRelu", {}, ["relu", "clamp", "mul", "add"]),
    ("LeakyRelu", {"alpha": 0.25}, ["relu", "clamp", "mul", "add"]),
    ("HardSigmoid", {}, ["mul", "add", "clamp"]),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}, ["mul", "add", "clamp"]),
    ("HardSwish", {}, ["mul", "add", "clamp", "mul"]),
    ("Sigmoid", {}, ["fully_connected", "softmax", "fully_connected"]),
]


@pytest.mark.parametrize(("op", "attributes", "found"), CASES)
@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (7,), ()])
def test_activations(
    shape: tuple[int, ...], op: str, attributes: dict[str, Any], found: list[str]
) -> None:
    opset = 14 if op == "HardSwish" else 13
    proto = model([node(op, "x", **attributes)], {"x": shape}, opset=opset)
    names = [op.name for op in check(proto).walk() if op.name.startswith("npu.")]
    assert [name for name in names if name != "npu.reshape"] == [f"npu.{name}" for name in found]


@pytest.mark.parametrize("opset", [6, 14, NEWEST_OF_RUNTIME])
@pytest.mark.parametrize("op", ["LeakyRelu", "HardSigmoid", "HardSwish", "Sigmoid"])
def test_of_large_numbers(op: str, opset: int) -> None:
    x = np.array([-1e30, -100, -3, -2.99, -0.0, 0, 2.99, 3, 100, 1e30], np.float32)
    proto = model([node(op, "x")], {"x": x.shape}, opset=max(opset, 14 if op == "HardSwish" else 7))
    (ours,) = run_function(imported(proto), None, [x])
    np.testing.assert_allclose(ours, expected(proto, {"x": x})[0], rtol=1e-6, atol=1e-7)


def network(op: str) -> ModelProto:
    """A convolution, the activation, and a gate of each channel as in MobileNetV3."""
    nodes = [
        node("Conv", "x w", "c"),
        node(op, "c", "a"),
        node("GlobalAveragePool", "a", "m"),
        node("HardSigmoid", "m", "g"),
        node("Mul", "a g"),
    ]
    return model(nodes, {"x": (1, 3, 6, 6)}, weights={"w": numbers(4, 3, 3, 3)}, opset=14)


@pytest.mark.parametrize("op", ["LeakyRelu", "HardSwish", "Sigmoid"])
def test_gates(op: str) -> None:
    check(network(op))


@pytest.mark.parametrize("names", ["x z", "c x", "x c"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1), ()])
def test_sub(names: str, shape: tuple[int, ...]) -> None:
    inputs = {"x": (2, 3, 4), **({"z": shape} if "z" in names else {})}
    weights = {"c": numbers(*shape)} if "c" in names else {}
    check(model([helper.make_node("Sub", names.split(), ["y"])], inputs, weights=weights))
