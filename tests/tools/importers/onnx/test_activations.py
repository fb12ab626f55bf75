"""Functions of one number are one layer each; PRelu; Sub of a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, defs, helper

from helpers.onnx_models import (
    NEWEST_OF_RUNTIME,
    check,
    expected,
    imported,
    layers,
    model,
    node,
    numbers,
    rejected,
)
from npu_dialect.interpreters import run_function
from npu_tools.importers.onnx.rules.activation import FUNCTIONS

ATTRIBUTES: list[tuple[str, dict[str, Any]]] = [
    ("Celu", {"alpha": 0.4}),
    ("Elu", {"alpha": 0.4}),
    ("Gelu", {"approximate": "tanh"}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("LeakyRelu", {"alpha": 0.25}),
    ("LeakyRelu", {"alpha": -0.25}),
    ("Selu", {"alpha": 1.2, "gamma": 0.7}),
    ("Shrink", {"bias": 0.2, "lambd": 0.3}),
    ("ThresholdedRelu", {"alpha": 0.3}),
]


def opset_of(op: str) -> int:
    """The newest opset that onnxruntime knows; that of the operator if it is newer."""
    return max(NEWEST_OF_RUNTIME, defs.get_schema(op).since_version)


@pytest.mark.parametrize(
    ("op", "attributes"), [*((op, dict[str, Any]()) for op in FUNCTIONS), *ATTRIBUTES]
)
def test_a_function_is_one_layer(op: str, attributes: dict[str, Any]) -> None:
    for shape in ((1, 3, 4, 5), ()):
        proto = model([node(op, "x", **attributes)], {"x": shape}, opset=opset_of(op))
        assert layers(check(proto)) == ["npu.map"]


AMONG = (0.5, 1, 1.5, 2.5, 3, 100, 1e30, np.inf)
SPECIAL = [np.nan, 0, -0.0, *AMONG, *(-number for number in AMONG)]


@pytest.mark.parametrize("op", [op for op in FUNCTIONS if op not in ("Cos", "Sin", "Tan", "Swish")])
def test_special_numbers(op: str) -> None:
    x = np.array(SPECIAL, np.float32)
    proto = model([node(op, "x")], {"x": x.shape}, opset=opset_of(op))
    (ours,) = run_function(imported(proto), None, [x])
    np.testing.assert_allclose(ours, expected(proto, {"x": x})[0], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("opset", [6, 14])
@pytest.mark.parametrize("op", ["LeakyRelu", "HardSigmoid", "Sigmoid"])
def test_older_opsets(op: str, opset: int) -> None:
    check(model([node(op, "x")], {"x": (2, 3)}, opset=max(opset, 7)))


def test_gelu_of_another_kind_is_rejected() -> None:
    proto = model([node("Gelu", "x", approximate="maybe")], {"x": (2,)}, opset=20)
    rejected(proto, "approximate is 'maybe'; expected none or tanh")


@pytest.mark.parametrize("slopes", [(3, 1, 1), (1, 3, 1, 1), (1,), (), (1, 1)])
def test_prelu_with_channels(slopes: tuple[int, ...]) -> None:
    weights = {"s": numbers(*slopes, seed=7)}
    proto = model([node("PRelu", "x s")], {"x": (2, 3, 4, 5)}, weights=weights)
    assert layers(check(proto)) == ["npu.map"]


@pytest.mark.parametrize("slopes", [(3, 4, 5), (5,), (2, 1, 1, 1), (4, 1)])
def test_prelu_with_other_slopes(slopes: tuple[int, ...]) -> None:
    weights = {"s": numbers(*slopes, seed=7)}
    check(model([node("PRelu", "x s")], {"x": (2, 3, 4, 5)}, weights=weights))


def test_prelu_whose_slopes_do_not_fit_is_rejected() -> None:
    weights = {"s": numbers(4, seed=7)}
    proto = model([node("PRelu", "x s")], {"x": (2, 3, 4, 5)}, weights=weights)
    rejected(proto, "slopes of shape [4]; expected a shape that broadcasts to [2, 3, 4, 5]")


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
