"""Sizes of the maps along the residual networks, SqueezeNet and FlowNet-S; their merges."""

from collections import Counter

import pytest

from helpers.networks.zoo import build, shapes

MAPS: dict[str, dict[str, list[int]]] = {
    "resnet18": {
        "conv1": [64, 112, 112],
        "pool1": [64, 56, 56],
        "layer1_1/add": [64, 56, 56],
        "layer2_0/conv1": [128, 28, 28],
        "layer3_1/add": [256, 14, 14],
        "layer4_1/add": [512, 7, 7],
    },
    "resnet50": {
        "pool1": [64, 56, 56],
        "layer1_0/downsample": [256, 56, 56],
        "layer1_2/add": [256, 56, 56],
        "layer2_0/conv1": [128, 56, 56],
        "layer2_0/conv2": [128, 28, 28],
        "layer3_5/add": [1024, 14, 14],
        "layer4_2/add": [2048, 7, 7],
    },
    "mobilenet_v2": {
        "conv1": [32, 112, 112],
        "block1/project": [16, 112, 112],
        "block2/expand": [96, 112, 112],
        "block3/add": [24, 56, 56],
        "block6/add": [32, 28, 28],
        "block10/add": [64, 14, 14],
        "block13/add": [96, 14, 14],
        "block17/project": [320, 7, 7],
        "conv_last": [1280, 7, 7],
    },
    "squeezenet1_1": {
        "conv1": [64, 111, 111],
        "fire3/concat": [128, 55, 55],
        "fire5/concat": [256, 27, 27],
        "fire7/concat": [384, 13, 13],
        "fire9/concat": [512, 13, 13],
        "conv10": [1000, 13, 13],
    },
    "flownet_s": {
        "conv1": [64, 192, 256],
        "conv2": [128, 96, 128],
        "conv3_1": [256, 48, 64],
        "conv4_1": [512, 24, 32],
        "conv5_1": [512, 12, 16],
        "conv6": [1024, 6, 8],
        "conv6_1/relu": [1024, 6, 8],
    },
}
"""Shapes of some maps, from the papers' tables and torchvision's models."""

MERGES = {
    "flownet_s": 0,
    "mobilenet_v2": 10,
    "resnet18": 8,
    "resnet50": 16,
    "squeezenet1_1": 8,
}
"""Additions and concatenations."""


@pytest.mark.parametrize("name", MAPS)
def test_maps(name: str) -> None:
    found = shapes(build(name))
    assert {node: found[node] for node in MAPS[name]} == {
        node: [1, *shape] for node, shape in MAPS[name].items()
    }


@pytest.mark.parametrize("name", MERGES)
def test_merges(name: str) -> None:
    kinds = Counter(node.op_type for node in build(name).graph.node)
    assert kinds["Add"] + kinds["Concat"] == MERGES[name]


def test_a_shortcut_passes_the_block_by() -> None:
    """An addition adds the block's last convolution and the block's own input."""
    nodes = {node.name: list(node.input) for node in build("mobilenet_v2").graph.node}
    assert nodes["block3/expand"][0] == "block2/project_out"
    assert nodes["block3/add"] == ["block2/project_out", "block3/project_out"]
    nodes = {node.name: list(node.input) for node in build("resnet18").graph.node}
    assert nodes["layer1_0/add"] == ["layer1_0/conv2_out", "pool1_out"]
    assert nodes["layer2_0/downsample"][0] == "layer1_1/add/relu_out"
    assert nodes["layer2_0/add"] == ["layer2_0/conv2_out", "layer2_0/downsample_out"]
