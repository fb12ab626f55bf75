"""examples/networks/inception_v3.py against Table 1 of paper 001 and against torchvision."""

from collections import Counter
from collections.abc import Sequence

import pytest
from onnx import ModelProto, NodeProto

from helpers.networks.zoo import build, by_module, parameters, shapes

MODULES: dict[str, tuple[float, int, list[int]]] = {
    "inception_a1": (249, 8, [256, 35, 35]),
    "inception_a2": (270, 8, [288, 35, 35]),
    "inception_a3": (277.5, 8, [288, 35, 35]),
    "reduction_a": (1125, 5, [768, 17, 17]),
    "inception_b1": (1264, 11, [768, 17, 17]),
    "inception_b2": (1648, 11, [768, 17, 17]),
    "inception_b3": (1648, 11, [768, 17, 17]),
    "inception_b4": (2088, 11, [768, 17, 17]),
    "reduction_b": (1656, 7, [1280, 8, 8]),
    "inception_c1": (4920, 10, [2048, 8, 8]),
    "inception_c2": (5928, 10, [2048, 8, 8]),
}
"""From Table 1: weights in KB, naive reads of maps. From torchvision: shape of the result."""

STEM = {
    "conv1a": [32, 149, 149],
    "conv2a": [32, 147, 147],
    "conv2b": [64, 147, 147],
    "pool1": [64, 73, 73],
    "conv3b": [80, 73, 73],
    "conv4a": [192, 71, 71],
    "pool2": [192, 35, 35],
}


@pytest.fixture(scope="module")
def model() -> ModelProto:
    return build("inception_v3", bias=False)


def ints(node: NodeProto, name: str) -> Sequence[int]:
    return next(item.ints for item in node.attribute if item.name == name)


def test_weights_of_each_module_are_the_papers(model: ModelProto) -> None:
    sums = by_module(parameters(model))
    expected = {name: kilobytes for name, (kilobytes, _, _) in MODULES.items()}
    assert {name: sums[name] / 1024 for name in MODULES} == expected
    assert sum(sums[name] for name in MODULES) / 1024 == 21073.5
    assert round(sums.total() / 1024, 1) == 23241.3


def test_layers_of_each_module_are_the_papers(model: ModelProto) -> None:
    kinds = ("Conv", "MaxPool", "AveragePool")
    layers = by_module({node.name: node.op_type in kinds for node in model.graph.node})
    assert {name: layers[name] for name in MODULES} == {
        name: count for name, (_, count, _) in MODULES.items()
    }


def test_maps_have_torchvisions_shapes(model: ModelProto) -> None:
    found = shapes(model)
    for name, shape in STEM.items():
        assert found[name] == [1, *shape]
    for name, (_, _, shape) in MODULES.items():
        assert found[f"{name}/concat"] == [1, *shape]
    assert found["global_pool"] == [1, 2048, 1, 1]
    assert found["fc"] == [1, 1000]


def test_modules_follow_each_other(model: ModelProto) -> None:
    """Every module reads one map, the result of the one before it."""
    before, nodes = "pool2", model.graph.node
    for name in MODULES:
        inside = [node for node in nodes if node.name.startswith(f"{name}/")]
        written = {output for node in inside for output in node.output}
        read = {node.input[0] for node in inside} - written
        assert read == {f"{before}_out"}
        before = f"{name}/concat"


def test_branches_are_concatenated_in_torchvisions_order(model: ModelProto) -> None:
    concats = {node.name: list(node.input) for node in model.graph.node if node.op_type == "Concat"}
    assert len(concats) == len(MODULES) + 4
    assert concats["inception_a1/concat"] == [
        "inception_a1/branch1x1/relu_out",
        "inception_a1/branch5x5_2/relu_out",
        "inception_a1/branch3x3dbl_3/relu_out",
        "inception_a1/branch_pool/relu_out",
    ]
    assert concats["reduction_b/concat"] == [
        "reduction_b/branch3x3_2/relu_out",
        "reduction_b/branch7x7x3_4/relu_out",
        "reduction_b/pool_out",
    ]
    assert concats["inception_c2/concat"] == [
        "inception_c2/branch1x1/relu_out",
        "inception_c2/branch3x3_concat_out",
        "inception_c2/branch3x3dbl_concat_out",
        "inception_c2/branch_pool/relu_out",
    ]


def test_kernels(model: ModelProto) -> None:
    nodes = {node.name: node for node in model.graph.node}
    assert ints(nodes["inception_a2/branch5x5_2"], "kernel_shape") == [5, 5]
    assert ints(nodes["inception_b1/branch7x7_2"], "kernel_shape") == [1, 7]
    assert ints(nodes["inception_b1/branch7x7_2"], "pads") == [0, 3, 0, 3]
    assert ints(nodes["inception_b1/branch7x7dbl_2"], "kernel_shape") == [7, 1]
    assert ints(nodes["reduction_a/branch3x3"], "strides") == [2, 2]
    assert ints(nodes["reduction_a/branch3x3"], "pads") == [0, 0, 0, 0]
    kinds = Counter(node.op_type for node in model.graph.node)
    assert (kinds["Conv"], kinds["Relu"], kinds["MaxPool"], kinds["AveragePool"]) == (94, 94, 4, 9)
    for node in model.graph.node:
        if node.op_type == "AveragePool":
            assert next(item.i for item in node.attribute if item.name == "count_include_pad") == 1
            assert ints(node, "pads") == [1, 1, 1, 1]
