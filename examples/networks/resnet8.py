"""ResNet-8 for 32x32 images, as MLPerf Tiny has it for image classification.

    python examples/networks/resnet8.py -o resnet8.onnx [--no-bias] [--width 0.5]

Batch normalisation is folded. Each stage has one residual block; from the second stage on its first
convolution has stride 2, and a 1x1 convolution stands in the shortcut.

Source: Banbury et al., "MLPerf Tiny Benchmark", 2021.
"""

from __future__ import annotations

from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options(size=(32, 32), classes=10)
STAGES = (16, 32, 64)


def block(net: Network, name: str, x: Map, filters: int, stride: int) -> Map:
    """Two 3x3 convolutions, added to the input or to its 1x1 convolution."""
    y = net.conv_relu(f"{name}/conv1", x, filters, 3, stride=stride)
    y = net.conv(f"{name}/conv2", y, filters, 3, variance=0.5)
    if stride > 1:
        x = net.conv(f"{name}/shortcut", x, filters, 1, stride=stride)
    return net.relu(f"{name}/add", net.add(f"{name}/add", x, y))


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 32, 32] to scores [1, 10]."""
    net = Network("resnet8", options, same=True)
    x = net.conv_relu("conv1", net.image, STAGES[0], 3)
    for index, filters in enumerate(STAGES, start=1):
        x = block(net, f"stage{index}", x, filters, 1 if index == 1 else 2)
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "resnet8.onnx", OWN)
