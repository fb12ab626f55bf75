"""MobileNetV2 1.0 for 224x224 images, as torchvision has it.

    python examples/networks/mobilenet_v2.py -o mobilenet_v2.onnx [--no-bias] [--width 0.25]

Batch normalisation is folded, ReLU6 is a Clip. Blocks are called `block1` ... `block17`, their
layers `expand`, `depthwise` and `project`; `project` and `add` have no activation.
The published widths below 1 are rounded: MobileNetV2 0.35 is `--width 0.35 --multiple 8`.

Source: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018, Table 2.
"""

from __future__ import annotations

from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options()
GROUPS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Table 2: expansion, filters, blocks, stride of the first block."""
BLOCKS = sum(blocks for _, _, blocks, _ in GROUPS)


def inverted_residual(
    net: Network, name: str, x: Map, given: int, filters: int, expansion: int, stride: int
) -> Map:
    """Expand 1x1, depthwise 3x3, project 1x1; added to its input where the sizes agree.

    `given` is the number of channels of x at width 1.
    """
    inner = x
    if expansion > 1:
        inner = net.relu6(f"{name}/expand", net.conv(f"{name}/expand", x, expansion * given, 1))
    inner = net.depthwise(f"{name}/depthwise", inner, 3, stride=stride)
    inner = net.relu6(f"{name}/depthwise", inner)
    residual = stride == 1 and given == filters
    variance = 1 / BLOCKS if residual else 1.0
    result = net.conv(f"{name}/project", inner, filters, 1, variance=variance)
    return net.add(f"{name}/add", x, result) if residual else result


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 224, 224] to scores [1, 1000]."""
    net = Network("mobilenet_v2", options)
    x = net.relu6("conv1", net.conv("conv1", net.image, 32, 3, stride=2))
    given, block = 32, 0
    for expansion, filters, blocks, first_stride in GROUPS:
        for index in range(blocks):
            block += 1
            stride = 1 if index else first_stride
            x = inverted_residual(net, f"block{block}", x, given, filters, expansion, stride)
            given = filters
    x = net.relu6("conv_last", net.conv("conv_last", x, 1280, 1))
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "mobilenet_v2.onnx", OWN)
