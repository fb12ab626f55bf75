"""What ResNet-18 and ResNet-50 share: stem, four groups of residual blocks, classifier.

Layout of torchvision, batch normalisation folded. In the bottleneck the 3x3 convolution has the
stride ("v1.5"). Blocks are called `layer1_0` ... `layer4_2`; the merge of the first block is
`layer1_0/add`.

Each block adds its result to the map that runs through the network. If every result had variance 1,
the variance of that map would grow with depth. So the last convolution of a block has a variance of
1 / blocks.

Source: He et al., "Deep Residual Learning for Image Recognition", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from common import Map, Network, Options
from onnx import ModelProto

Branch = Callable[[Network, str, Map, int, int, float], Map]
"""Network, name, input, filters, stride, variance of the result."""


def basic(net: Network, name: str, x: Map, filters: int, stride: int, variance: float) -> Map:
    """Two 3x3 convolutions."""
    x = net.conv_relu(f"{name}/conv1", x, filters, 3, stride=stride)
    return net.conv(f"{name}/conv2", x, filters, 3, variance=variance)


def bottleneck(net: Network, name: str, x: Map, filters: int, stride: int, variance: float) -> Map:
    """1x1, 3x3, and 1x1 to four times as many channels."""
    x = net.conv_relu(f"{name}/conv1", x, filters, 1)
    x = net.conv_relu(f"{name}/conv2", x, filters, 3, stride=stride)
    return net.conv(f"{name}/conv3", x, 4 * filters, 1, variance=variance)


def resnet(
    name: str, options: Options, branch: Branch, expansion: int, depths: Sequence[int]
) -> ModelProto:
    """Image [1, 3, 224, 224] to scores [1, 1000]; `depths` counts the blocks of each group."""
    net = Network(name, options)
    x = net.conv_relu("conv1", net.image, 64, 7, stride=2)
    x = net.max_pool("pool1", x, padded=True)
    given = 64
    for group, depth in enumerate(depths):
        filters = 64 * 2**group
        for index in range(depth):
            block = f"layer{group + 1}_{index}"
            stride = 2 if group and not index else 1
            result = branch(net, block, x, filters, stride, 1 / sum(depths))
            if stride > 1 or given != expansion * filters:
                given = expansion * filters
                x = net.conv(f"{block}/downsample", x, given, 1, stride=stride)
            x = net.relu(f"{block}/add", net.add(f"{block}/add", result, x))
    return net.model(net.classifier("fc", x))
