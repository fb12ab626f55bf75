"""Networks that onnxruntime has quantised are imported and interpreted as onnxruntime does."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from helpers.quantized.build import imported, layers, onnxruntime_says, rng
from helpers.quantized.float_networks import NETWORKS, SHAPE
from npu_dialect.interpreters import run_function
from npu_tools.quantizing.quantize_data import Feeds
from npu_tools.quantizing.quantize_model import (
    Activations,
    Format,
    Recipe,
    measured_ranges,
    quantised,
    quiet,
    static,
)

RECIPES = [
    Recipe(form, activations, per_channel=per_channel)
    for form, activations, per_channel in product(
        get_args(Format), get_args(Activations), (True, False)
    )
]
IN_FLOAT: dict[str, list[str]] = {
    "in_floats": ["Sub"],
    "resnet": ["Softmax"],
}
"""The operators that stay in float32, by network."""


def samples() -> list[Feeds]:
    """Inputs of the networks."""
    return [{"x": rng(seed).standard_normal(SHAPE).astype(np.float32)} for seed in range(8)]


def check(proto: ModelProto, step: float) -> list[str]:
    """Compare a model with onnxruntime; results may differ by `step` at most.

    Returns the names of the layers.
    """
    module = imported(proto)
    for feeds in samples():
        (ours,) = run_function(module, None, list(feeds.values()))
        theirs = onnxruntime_says(proto, feeds)
        assert (np.abs(ours - theirs) <= step).all()
        assert (np.abs(ours - theirs) <= 1e-6).mean() > 0.9
    return layers(module)


def last_scale(proto: ModelProto) -> float:
    """The scale of the last DequantizeLinear."""
    last = next(node for node in reversed(proto.graph.node) if node.op_type == "DequantizeLinear")
    tensor = next(each for each in proto.graph.initializer if each.name == last.input[1])
    return float(numpy_helper.to_array(tensor).reshape(-1)[0])


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, recipe: Recipe, caplog: pytest.LogCaptureFixture) -> None:
    _, proto = quantised(NETWORKS[name](), samples(), recipe)
    exact = recipe.format == "operators" and name not in IN_FLOAT
    found = check(proto, 0.0 if exact else 1.01 * last_scale(proto))
    warned = [message.split("(")[1].split(")")[0] for message in caplog.messages]
    assert sorted(warned) == sorted(IN_FLOAT.get(name, []))
    assert ("dequantize" in found[:-1]) == (name in IN_FLOAT)


@pytest.mark.parametrize("form", get_args(Format))
@pytest.mark.parametrize("name", ["with_mean", "resnet"])
def test_networks_that_are_not_simplified(name: str, form: Format, tmp_path: Path) -> None:
    """The networks still have Pad and BatchNormalization."""
    with quiet():
        model = NETWORKS[name]()
        ranges = measured_ranges(model, samples(), "minmax", tmp_path)
        proto = static(model, ranges, Recipe(form), (), tmp_path)
    kept = "Pad" if name == "with_mean" else "BatchNormalization"
    assert kept in [node.op_type for node in proto.graph.node]
    found = check(proto, 1.01 * last_scale(proto))
    if name == "with_mean":  # the first Pad is that of a convolution, the second one of a pool
        pooled = ["conv2d", "requantize", "pick", "max_pool2d"]
        assert [each for each in found if each != "clamp"][1:5] == pooled
    else:
        assert found.count("batch_norm") == 5
