"""SqueezeNet 1.1 for 224x224 images, as torchvision has it.

    python examples/networks/squeezenet1_1.py -o squeezenet1_1.onnx [--no-bias] [--size 64]

Modules are called `fire2` ... `fire9`, their layers `squeeze`, `expand1x1` and `expand3x3`. The max
pools drop an incomplete last window (torchvision keeps it; at 224x224 there is none).

Source: Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters", 2016; 1.1 is
the authors' later release, with a smaller first layer and earlier pools.
"""

from __future__ import annotations

from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options()
FIRES = {
    2: (16, 64),
    3: (16, 64),
    4: (32, 128),
    5: (32, 128),
    6: (48, 192),
    7: (48, 192),
    8: (64, 256),
    9: (64, 256),
}
"""Filters of `squeeze`, and of each `expand`."""
POOLED = (4, 6)
"""The modules that read a max pool. Another max pool is behind the first convolution."""


def fire(net: Network, name: str, x: Map, squeezed: int, expanded: int) -> Map:
    """A 1x1 convolution to few channels, then 1x1 and 3x3 side by side, concatenated."""
    x = net.conv_relu(f"{name}/squeeze", x, squeezed, 1)
    small = net.conv_relu(f"{name}/expand1x1", x, expanded, 1)
    large = net.conv_relu(f"{name}/expand3x3", x, expanded, 3)
    return net.concat(f"{name}/concat", [small, large])


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 224, 224] to scores [1, 1000], which are never negative."""
    net = Network("squeezenet1_1", options)
    x = net.conv_relu("conv1", net.image, 64, 3, stride=2, padded=False)
    x = net.max_pool("pool1", x)
    for index, (squeezed, expanded) in FIRES.items():
        if index in POOLED:
            x = net.max_pool(f"pool{index - 1}", x)
        x = fire(net, f"fire{index}", x, squeezed, expanded)
    x = net.relu("conv10", net.conv("conv10", x, options.classes, 1, scaled=False))
    return net.model(net.flatten("flatten", net.global_average_pool("global_pool", x)))


if __name__ == "__main__":
    main(build, __doc__ or "", "squeezenet1_1.onnx", OWN)
