"""MobileNetV1 0.25 for 96x96 images, as MLPerf Tiny has it for visual wake words.

    python examples/networks/mobilenet_v1.py -o mobilenet_v1.onnx [--no-bias] [--width 1]

Batch normalisation is folded.

Source: Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
Applications", 2017, Table 1; Banbury et al., "MLPerf Tiny Benchmark", 2021.
"""

from __future__ import annotations

from common import Network, Options, main
from onnx import ModelProto

OWN = Options(width=0.25, size=(96, 96), classes=2)
BLOCKS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1),) * 5,
    (1024, 2),
    (1024, 1),
)
"""Table 1: filters at width 1, and stride."""


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 96, 96] to scores [1, 2]."""
    net = Network("mobilenet_v1", options, same=True)
    x = net.conv_relu("conv1", net.image, 32, 3, stride=2)
    for index, (filters, stride) in enumerate(BLOCKS, start=1):
        name = f"block{index}"
        x = net.depthwise(f"{name}/depthwise", x, 3, stride=stride)
        x = net.conv_relu(f"{name}/pointwise", net.relu(f"{name}/depthwise", x), filters, 1)
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "mobilenet_v1.onnx", OWN)
