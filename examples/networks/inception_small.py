"""A small network of Inception-V3's modules, for tests: every kind of module, few channels.

    python examples/networks/inception_small.py -o small.onnx [--size 35] [--width 0.0625]

A 3x3 convolution, then `inception_a1`, `reduction_a`, `inception_b1`, `reduction_b`,
`inception_c1`, global average pool, 10 scores. `build` can repeat the modules a, b and c. The width
is relative to Inception-V3's channels; by default it is 1/16 (4 filters for 64). Maps are 35x35,
17x17 and 8x8, as in Inception-V3; the smallest image is 7x7.
"""

from __future__ import annotations

from common import Network, Options, main
from inception_v3 import inception_a, inception_b, inception_c, reduction_a, reduction_b
from onnx import ModelProto

OWN = Options(width=1 / 16, size=(35, 35), classes=10)


def build(options: Options = OWN, modules: tuple[int, int, int] = (1, 1, 1)) -> ModelProto:
    """Image [1, 3, 35, 35] to scores [1, 10]; `modules`: how many of kind a, b, c."""
    net = Network("inception_small", options)
    x = net.conv_relu("conv1", net.image, 192, 3)
    for index in range(1, modules[0] + 1):
        x = inception_a(net, f"inception_a{index}", x, 32)
    x = reduction_a(net, "reduction_a", x)
    for index in range(1, modules[1] + 1):
        x = inception_b(net, f"inception_b{index}", x, 128)
    x = reduction_b(net, "reduction_b", x)
    for index in range(1, modules[2] + 1):
        x = inception_c(net, f"inception_c{index}", x)
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "inception_small.onnx", OWN)
