"""MobileNetV3-Large for 224x224 images, with squeeze-and-excite blocks and hard swish.

    python examples/networks/mobilenet_v3.py -o mobilenet_v3.onnx [--no-bias] [--width 0.25]

Batch normalisation is folded. Blocks are called `block1` ... `block15`, their layers `expand`,
`depthwise`, `squeeze`, `excite` and `project`. A width other than 1 is a plain factor.

Source: Howard et al., "Searching for MobileNetV3", 2019, Table 1; torchvision's numbers of filters
in the squeezed layers.
"""

from __future__ import annotations

from typing import NamedTuple

from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options()


class Block(NamedTuple):
    """A line of Table 1: `squeezed` filters in the squeezed layer, 0: no squeeze-and-excite."""

    kernel: int
    expanded: int
    filters: int
    squeezed: int
    swish: bool
    stride: int


BLOCKS = (
    Block(3, 16, 16, 0, False, 1),
    Block(3, 64, 24, 0, False, 2),
    Block(3, 72, 24, 0, False, 1),
    Block(5, 72, 40, 24, False, 2),
    Block(5, 120, 40, 32, False, 1),
    Block(5, 120, 40, 32, False, 1),
    Block(3, 240, 80, 0, True, 2),
    Block(3, 200, 80, 0, True, 1),
    Block(3, 184, 80, 0, True, 1),
    Block(3, 184, 80, 0, True, 1),
    Block(3, 480, 112, 120, True, 1),
    Block(3, 672, 112, 168, True, 1),
    Block(5, 672, 160, 168, True, 2),
    Block(5, 960, 160, 240, True, 1),
    Block(5, 960, 160, 240, True, 1),
)


def activated(net: Network, name: str, x: Map, *, swish: bool) -> Map:
    """Hard swish, or a ReLU."""
    return net.hard_swish(name, x) if swish else net.relu(name, x)


def inverted_residual(net: Network, name: str, x: Map, given: int, block: Block) -> Map:
    """Expand, depthwise, squeeze-and-excite, project; added to its input where the sizes agree.

    `given` is the number of filters of x at width 1.
    """
    inner = x
    if block.expanded != given:
        inner = net.conv(f"{name}/expand", x, block.expanded, 1)
        inner = activated(net, f"{name}/expand", inner, swish=block.swish)
    inner = net.depthwise(f"{name}/depthwise", inner, block.kernel, stride=block.stride)
    inner = activated(net, f"{name}/depthwise", inner, swish=block.swish)
    if block.squeezed:
        gate = net.global_average_pool(f"{name}/pool", inner)
        gate = net.conv_relu(f"{name}/squeeze", gate, block.squeezed, 1)
        gate = net.conv(f"{name}/excite", gate, block.expanded, 1)
        gate = net.hard_sigmoid(f"{name}/excite", gate)
        inner = net.multiply(f"{name}/scale", inner, gate)
    residual = block.stride == 1 and given == block.filters
    variance = 1 / len(BLOCKS) if residual else 1.0
    result = net.conv(f"{name}/project", inner, block.filters, 1, variance=variance)
    return net.add(f"{name}/add", x, result) if residual else result


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 224, 224] to scores [1, 1000]."""
    net = Network("mobilenet_v3", options)
    x = net.hard_swish("conv1", net.conv("conv1", net.image, 16, 3, stride=2))
    given = 16
    for number, block in enumerate(BLOCKS, 1):
        x = inverted_residual(net, f"block{number}", x, given, block)
        given = block.filters
    x = net.hard_swish("conv_last", net.conv("conv_last", x, 960, 1))
    x = net.global_average_pool("pool", x)
    x = net.hard_swish("head", net.conv("head", x, 1280, 1))
    return net.model(net.flatten("flatten", net.conv("fc", x, options.classes, 1, scaled=False)))


if __name__ == "__main__":
    main(build, __doc__ or "", "mobilenet_v3.onnx", OWN)
