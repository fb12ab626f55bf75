"""Networks with aliases, values that are read twice, and inputs that are returned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, helper

from helpers.random_onnx import model_of
from helpers.road import Road, travel
from npu_tools.commands import compile

X = (1, 2, 4, 4)
SHAPES = {"x": X, "row": (4,), "one": (1, 1, 1, 1), "flat": (1, 32), "twice": (2, 2, 4, 4)}
WEIGHTS = {
    "w": np.linspace(-1, 1, 36, dtype=np.float32).reshape(2, 2, 3, 3),
    "square": np.linspace(-1, 1, 4, dtype=np.float32).reshape(2, 2, 1, 1),
    "to_flat": np.array([1, 32], np.int64),
    "to_x": np.array(X, np.int64),
    "turned": np.array([1, 4, 2, 4], np.int64),
}

NETWORKS = {
    "a view only": "y = Reshape(x, to_flat)",
    "nothing at all": "y = Identity(x)",
    "an input twice": "y = Identity(x); z = Relu(x); v = Reshape(x, to_flat)",
    "inputs that swap": "y = Identity(row); z = Identity(x)",
    "x + x": "y = Add(x, x)",
    "x + x on the way": "a = Relu(x); b = Add(a, a); y = Relu(b)",
    "x * x in place": "a = Relu(x); b = Mul(a, a); y = MaxPool(b)",
    "concat of one": "a = Relu(x); y = Concat(a, a); z = Concat(a)",
    "concat of views": "a = Relu(x); b = Reshape(a, turned); c = Reshape(b, to_x); "
    "y = Concat(a, c)",
    "sum of its views": "a = Relu(x); b = Reshape(a, to_flat); c = Reshape(b, to_x); "
    "d = Add(a, c); y = Relu(d); z = Conv(d, w)",
    "sum with its turned view": "a = Relu(x); b = Reshape(a, turned); c = Transpose(b); "
    "d = Reshape(c, to_x); y = Add(a, d)",
    "broadcast that dies": "a = Relu(x); b = Relu(row); c = Add(b, a); y = MaxPool(c)",
    "broadcast that grows": "a = Relu(one); b = Add(a, row); c = Mul(b, x); y = Relu(c)",
    "broadcast of batches": "a = Relu(x); b = Add(twice, a); c = Add(a, b); y = Relu(c)",
    "flat": "a = Relu(flat); b = Reshape(a, to_x); c = Add(b, x); d = Reshape(c, to_flat); "
    "e = Add(d, flat); y = Softmax(e)",
    "residual": "a = Conv(x, w); b = Relu(a); c = Conv(b, w); d = Add(c, b); e = Relu(d); "
    "f = Conv(e, square); y = Add(e, f)",
    "residual on the input": "a = Conv(x, w); b = Add(a, x); c = Relu(b); y = Add(c, x)",
    "outputs in a chain": "y = Relu(x); z = Conv(y, w); v = Relu(z); u = Add(v, y)",
    "an output and its view": "y = Conv(x, w); z = Reshape(y, to_flat); v = Relu(z)",
    "an output in place": "y = Conv(x, w); z = Relu(y); v = MaxPool(z)",
    "outputs twice": "y = Relu(x); z = Identity(y); v = Reshape(y, to_flat)",
    "softmax in place": "a = Relu(x); b = Softmax(a); c = Add(b, a); y = Softmax(c)",
}
OUTPUTS = ("y", "z", "v", "u")
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "Conv": {"pads": [1, 1, 1, 1]},
    "MaxPool": {"kernel_shape": [2, 2]},
    "Concat": {"axis": 1},
    "Transpose": {"perm": [0, 2, 1, 3]},
    "Softmax": {"axis": 1},
}


def node_of(text: str) -> NodeProto:
    """`y = Add(a, b)` as a node."""
    name, call = text.strip().split(" = ")
    kind, operands = call.rstrip(")").split("(")
    attributes = dict(ATTRIBUTES.get(kind, {}))
    inputs = operands.split(", ")
    if inputs[1:] == ["square"]:
        attributes = {}
    return helper.make_node(kind, inputs, [name], f"{kind} {name}", **attributes)


WAYS = (
    Road(16, "default", None, None, "c", None, "c", in_arena=False, check_passes=True),
    Road(0, "default", None, "greedy", "bin", 10000, "c++", in_arena=True, check_passes=False),
    Road(16, "naive", None, None, "c", None, "c", in_arena=False, check_passes=False),
)
"""Options that treat memory differently; each network uses one of them in turn."""


@pytest.mark.parametrize(
    ("name", "way"), [(name, WAYS[index % len(WAYS)]) for index, name in enumerate(NETWORKS)]
)
def test_corner(name: str, way: Road, tmp_path: Path) -> None:
    nodes = [node_of(text) for text in NETWORKS[name].split(";")]
    read = {value for node in nodes for value in node.input}
    made = [node.output[0] for node in nodes]
    shapes = {value: shape for value, shape in SHAPES.items() if value in read}
    weights = {value: array for value, array in WEIGHTS.items() if value in read}
    model = model_of(nodes, shapes, [value for value in OUTPUTS if value in made], weights)
    numbers = np.random.default_rng(0)
    feeds = {v: numbers.standard_normal(shape).astype(np.float32) for v, shape in shapes.items()}
    travel(tmp_path, model, feeds, way)


def test_a_network_without_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "view.onnx"
    weights = {"to_flat": WEIGHTS["to_flat"]}
    model = model_of([node_of("y = Reshape(x, to_flat)")], {"x": X}, ["y"], weights)
    path.write_bytes(model.SerializeToString())
    run = [str(path), "--target", "host", "-o", str(tmp_path / "out"), "--verify"]
    assert compile.main(run) == 0
    assert "agrees with onnxruntime" in capsys.readouterr().out
