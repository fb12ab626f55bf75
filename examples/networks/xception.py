"""Xception for 299x299 images.

    python examples/networks/xception.py -o xception.onnx [--no-bias] [--width 0.25] [--size 96]

Batch normalisation is folded. Modules are called `entry1` ... `entry3`, `middle1` ... `middle8` and
`exit1`; each adds its input, behind a 1x1 convolution `skip` where the size changes.

Source: Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions", 2017, Figure 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options(size=(299, 299))
MIDDLE = 8


def module(
    net: Network, name: str, x: Map, filters: Sequence[int], *, shrinks: bool, first: bool = True
) -> Map:
    """Separable convolutions behind ReLUs, a pool if the map `shrinks`, and the sum.

    With `first`, a ReLU comes before the first convolution too. At width 1, the last of `filters`
    is that of x unless the map shrinks.
    """
    inner = x
    for place, count in enumerate(filters, 1):
        layer = f"{name}/separable{place}"
        inner = net.relu(layer, inner) if first or place > 1 else inner
        inner = net.separable(layer, inner, count, 3)
    if not shrinks:
        return net.add(f"{name}/add", x, inner)
    inner = net.max_pool(f"{name}/pool", inner, padded=True)
    return net.add(f"{name}/add", net.conv(f"{name}/skip", x, filters[-1], 1, stride=2), inner)


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 299, 299] to scores [1, 1000]."""
    net = Network("xception", options)
    x = net.conv_relu("conv1", net.image, 32, 3, stride=2, padded=False)
    x = net.conv_relu("conv2", x, 64, 3, padded=False)
    for place, filters in enumerate((128, 256, 728), 1):
        x = module(net, f"entry{place}", x, (filters,) * 2, shrinks=True, first=place > 1)
    for place in range(1, MIDDLE + 1):
        x = module(net, f"middle{place}", x, (728,) * 3, shrinks=False)
    x = module(net, "exit1", x, (728, 1024), shrinks=True)
    for place, filters in enumerate((1536, 2048), 2):
        layer = f"exit{place}"
        x = net.relu(layer, net.separable(layer, x, filters, 3))
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "xception.onnx", OWN)
