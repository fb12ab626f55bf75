"""EfficientNet-B0 for 224x224 images, with squeeze-and-excite blocks and swish.

    python examples/networks/efficientnet.py -o efficientnet.onnx [--no-bias] [--width 0.25]

Batch normalisation is folded. Blocks are called `block1` ... `block16`, their layers `expand`,
`depthwise`, `squeeze`, `excite` and `project`. A width other than 1 is a plain factor here, not
rounded to multiples of 8.

Source: Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks",
2019, Table 1; a squeezed layer has a quarter of the filters of the block's input.
"""

from __future__ import annotations

from typing import NamedTuple

from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options()
SQUEEZE = 4
"""Filters of a block's input for each filter of its squeezed layer."""


class Stage(NamedTuple):
    """A line of Table 1: some blocks, of which the first one has the stride."""

    expansion: int
    kernel: int
    filters: int
    blocks: int
    stride: int


STAGES = (
    Stage(1, 3, 16, 1, 1),
    Stage(6, 3, 24, 2, 2),
    Stage(6, 5, 40, 2, 2),
    Stage(6, 3, 80, 3, 2),
    Stage(6, 5, 112, 3, 1),
    Stage(6, 5, 192, 4, 2),
    Stage(6, 3, 320, 1, 1),
)
BLOCKS = sum(stage.blocks for stage in STAGES)


def excited(net: Network, name: str, x: Map, given: int, channels: int) -> Map:
    """Squeeze-and-excite: the map times a gate for each channel; `channels` is that at width 1."""
    gate = net.global_average_pool(f"{name}/pool", x)
    gate = net.swish(f"{name}/squeeze", net.conv(f"{name}/squeeze", gate, given // SQUEEZE, 1))
    gate = net.sigmoid(f"{name}/excite", net.conv(f"{name}/excite", gate, channels, 1))
    return net.multiply(f"{name}/scale", x, gate)


def inverted_residual(
    net: Network, name: str, x: Map, given: int, stage: Stage, stride: int
) -> Map:
    """Expand, depthwise, squeeze-and-excite, project; added to its input where the sizes agree.

    `given` is the number of channels of x at width 1.
    """
    inner, channels = x, stage.expansion * given
    if stage.expansion > 1:
        inner = net.swish(f"{name}/expand", net.conv(f"{name}/expand", x, channels, 1))
    inner = net.depthwise(f"{name}/depthwise", inner, stage.kernel, stride=stride)
    inner = net.swish(f"{name}/depthwise", inner)
    inner = excited(net, name, inner, given, channels)
    residual = stride == 1 and given == stage.filters
    variance = 1 / BLOCKS if residual else 1.0
    result = net.conv(f"{name}/project", inner, stage.filters, 1, variance=variance)
    return net.add(f"{name}/add", x, result) if residual else result


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 224, 224] to scores [1, 1000]."""
    net = Network("efficientnet", options)
    x = net.swish("conv1", net.conv("conv1", net.image, 32, 3, stride=2))
    given, block = 32, 0
    for stage in STAGES:
        for index in range(stage.blocks):
            block += 1
            stride = 1 if index else stage.stride
            x = inverted_residual(net, f"block{block}", x, given, stage, stride)
            given = stage.filters
    x = net.swish("conv_last", net.conv("conv_last", x, 1280, 1))
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "efficientnet.onnx", OWN)
