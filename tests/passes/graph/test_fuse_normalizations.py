"""npu-fuse-normalizations: parts as exporters print them become one layer of the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, NodeProto

from helpers.onnx_models import Array, imported, layers, model, node, numbers
from helpers.pipeline import context, run_passes
from npu_dialect.interpreters import run_function

NUMBERS: dict[str, Array] = {
    "two": np.array(2, np.float32),
    "epsilon": np.array([0.01], np.float32),
    "negative": np.array(-0.01, np.float32),
}


def nodes_of(text: str, axes: tuple[int, ...]) -> list[NodeProto]:
    """The nodes of lines `y = Op a b`; means are along the axes."""
    nodes: list[NodeProto] = []
    for line in filter(None, text.splitlines()):
        output, call = line.strip().split(" = ")
        op, inputs = call.split(" ", 1)
        more = {"axes": axes} if op == "ReduceMean" else {}
        nodes.append(node(op, inputs, output, name=f"{op}_{output}", **more))
    return nodes


TORCH = """
m = ReduceMean x
d = Sub x m
q = Pow d two
v = ReduceMean q
e = Add v epsilon
s = Sqrt e
n = Div d s
"""
TWICE = """
m = ReduceMean x
d = Sub x m
q = Mul d d
v = ReduceMean q
e = Add epsilon v
s = Sqrt e
r = Reciprocal s
t = Sub x m
n = Mul r t
"""
ROOT = """
q = Mul x x
v = ReduceMean q
e = Add v epsilon
s = Sqrt e
r = Reciprocal s
n = Mul x r
"""
BEHIND = """
k = Mul n scale
y = Add k bias
"""


def proto(
    text: str, shape: tuple[int, ...], axes: tuple[int, ...], extent: tuple[int, ...] = (1,)
) -> ModelProto:
    """A model of these lines, with a scale and a bias of a shape."""
    constants = {**NUMBERS, "scale": numbers(*extent), "bias": numbers(*extent, seed=2)}
    used = {name: array for name, array in constants.items() if name in text.split()}
    return model(nodes_of(text, axes), {"x": shape}, weights=used)


def fused(proto: ModelProto) -> list[str]:
    """The layers behind the pass, which must compute the same as those before it."""
    before = imported(proto)
    after = run_passes(context(), before, "npu-fuse-normalizations")
    shape = [dim.dim_value for dim in proto.graph.input[0].type.tensor_type.shape.dim]
    x = numbers(*shape, seed=3)
    for one, other in zip(
        run_function(before, None, [x]), run_function(after, None, [x]), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    return layers(after)


@pytest.mark.parametrize("text", [TORCH, TWICE, ROOT])
@pytest.mark.parametrize(
    ("shape", "axes", "extent"),
    [
        ((2, 4, 6), (-1,), (6,)),
        ((2, 4, 6), (1, 2), (4, 6)),
        ((4, 6), (-1,), (6,)),
        ((1, 5, 4, 6), (2, 3), (5, 1, 1)),
        ((2, 5, 4, 6), (1,), (5, 1, 1)),
        ((2, 5, 4, 6), (0, 2), (1,)),
    ],
)
def test_parts_become_one_layer(
    text: str, shape: tuple[int, ...], axes: tuple[int, ...], extent: tuple[int, ...]
) -> None:
    assert fused(proto(text + BEHIND, shape, axes, extent)) == ["npu.normalize"]


def test_the_root_of_any_difference() -> None:
    negative = TORCH.replace("d = Sub x m", "d = Sub m x").replace("n = Div", "y = Div")
    assert fused(proto(negative, (2, 5, 6), (1,)))[-2:] == ["npu.binary", "npu.normalize"]


def test_without_scale() -> None:
    alone = TORCH.replace("n = Div", "y = Div")
    assert fused(proto(alone, (2, 4, 6), (-1,))) == ["npu.normalize"]
    shifted = TORCH + "y = Add n bias"
    assert fused(proto(shifted, (2, 4, 6), (-1,), (6,))) == ["npu.normalize"]


def test_what_is_no_constant_stays() -> None:
    gated = TORCH + "y = Mul n x"
    assert fused(proto(gated, (2, 4, 6), (-1,))) == ["npu.normalize", "npu.mul"]


@pytest.mark.parametrize(
    "text",
    [
        TORCH + "y = Add n m",
        TORCH + "y = Add n d",
        TORCH.replace("epsilon", "negative") + "y = Relu n",
        TORCH.replace("n = Div d s", "y = Div s d"),
        TORCH.replace("q = Pow d two", "q = Mul d x") + "y = Relu n",
        ROOT.replace("q = Mul x x", "a = Relu x\nq = Mul a a") + "y = Relu n",
    ],
)
def test_what_is_no_normalisation_stays(text: str) -> None:
    assert "npu.normalize" not in fused(proto(text, (2, 4, 6), (-1,)))
