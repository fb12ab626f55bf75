"""If with a constant condition becomes one of its branches; any other If is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from helpers.onnx_models import (
    Array,
    check,
    imported,
    int64,
    layers,
    model,
    node,
    numbers,
    rejected,
)

SHAPE = (1, 1, 4, 3)


def branch(nodes: list[NodeProto], outputs: str, **weights: Array) -> GraphProto:
    """A branch with outputs of any type."""
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    ports = [helper.make_empty_tensor_value_info(name) for name in outputs.split()]
    return helper.make_graph(nodes, "branch", [], ports, tensors)


def choice(condition: str, yes: GraphProto, no: GraphProto, outputs: str = "z") -> NodeProto:
    """An If."""
    return helper.make_node(
        "If", [condition], outputs.split(), "the_If", then_branch=yes, else_branch=no
    )


def squeezed(extent: int) -> ModelProto:
    """What torch's exporter writes for `squeeze(1)`: squeezed if the axis has one element."""
    nodes = [
        node("Relu", "x", "r"),
        node("Shape", "r", "s"),
        node("Gather", "s one", "n"),
        node("Equal", "n one", "c"),
        choice("c", branch([node("Squeeze", "r a", "p")], "p", a=int64(1)), KEEP),
        node("Sigmoid", "z"),
    ]
    shape = (2, extent, 4)
    return model(nodes, {"x": shape}, weights={"one": int64(1)}, opset=17)


KEEP = branch([node("Identity", "r", "q")], "q")


@pytest.mark.parametrize(("extent", "kept"), [(1, (2, 4)), (3, (2, 3, 4))])
def test_squeeze(extent: int, kept: tuple[int, ...]) -> None:
    # onnxruntime rejects a branch that does not fit, although it is not taken.
    module = check(squeezed(extent)) if extent == 1 else imported(squeezed(extent))
    assert layers(module)[-1] == "npu.map"
    assert f"-> tensor<{'x'.join(map(str, kept))}xf32>" in str(module)


@pytest.mark.parametrize("flag", [True, False])
def test_branches_in_branches(flag: bool) -> None:
    """Both have values of the same names, which hide each other; weights are their own."""
    inner = choice("c", branch([node("Mul", "x w", "t")], "t", w=numbers(3)), KEEP_X, "t2")
    yes = branch([inner, node("Add", "t2 w", "y1")], "y1 t2", w=numbers(3, seed=4))
    no = branch([node("Abs", "x", "t"), node("Relu", "t", "t2")], "t t2")
    nodes = [choice("c", yes, no, "z b"), node("Add", "z b")]
    check(model(nodes, {"x": SHAPE}, weights={"c": np.array([flag])}, opset=17))


KEEP_X = branch([node("Neg", "x", "t")], "t")


def test_a_value_that_a_branch_reads_is_kept() -> None:
    """Sigmoid and Mul would be one SiLU, if nothing else read the Sigmoid."""
    yes = branch([node("Neg", "s", "t")], "t")
    nodes = [node("Sigmoid", "x", "s"), node("Mul", "x s", "m"), choice("c", yes, yes)]
    check(model([*nodes, node("Add", "m z")], {"x": SHAPE}, weights={"c": np.array(True)}))


def test_a_value_that_only_a_branch_reads_beside_a_written_out_function() -> None:
    """Nodes that nothing reads are dropped when Sigmoid and Mul become one SiLU."""
    yes = branch([node("Neg", "e", "t")], "t")
    nodes = [node("Exp", "x", "e"), node("Sigmoid", "x", "s"), node("Mul", "x s", "m")]
    last = [choice("c", yes, yes), node("Add", "m z")]
    module = check(model([*nodes, *last], {"x": SHAPE}, weights={"c": np.array(True)}))
    assert layers(module) == ["npu.map", "npu.map", "npu.map", "npu.add"]


REJECTED: list[tuple[str, dict[str, Any], str]] = [
    ("flag", {}, "condition 'flag' is computed; expected a constant"),
    ("w", {}, "a condition of 3 float32; expected one bool"),
    ("c", {"yes": branch([node("Det", "x", "t")], "t")}, "(Det): the operator is not supported"),
    ("c", {"yes": branch([node("Neg", "gone", "t")], "t")}, "reads 'gone', which is not defined"),
    ("c", {"yes": branch([node("Neg", "x", "t")], "t x")}, "no then_branch with 1 outputs"),
    ("c", {"yes": branch([], "nothing")}, "reads 'nothing', which is not defined"),
]


@pytest.mark.parametrize(("condition", "branches", "message"), REJECTED)
def test_rejected(condition: str, branches: dict[str, Any], message: str) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["flag"], to=TensorProto.BOOL),
        choice(condition, branches.get("yes", KEEP_X), KEEP_X),
        node("Relu", "z"),
    ]
    weights: dict[str, Array] = {"c": np.array(True), "w": numbers(3)}
    rejected(model(nodes, {"x": SHAPE}, weights=weights, opset=17), message)


def test_layers_have_the_names_of_the_nodes_in_the_branch() -> None:
    assert 'npu.layer = "the_Squeeze"' in str(check(squeezed(1)))
