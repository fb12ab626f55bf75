"""DS-CNN for keywords, as MLPerf Tiny has it: 49 frames of 10 coefficients to 12 scores.

    python examples/networks/ds_cnn.py -o ds_cnn.onnx [--no-bias] [--width 0.5]

Batch normalisation is folded.

Source: Zhang et al., "Hello Edge: Keyword Spotting on Microcontrollers", 2017; Banbury et al.,
"MLPerf Tiny Benchmark", 2021.
"""

from __future__ import annotations

from common import Network, Options, main
from onnx import ModelProto

OWN = Options(size=(49, 10), classes=12)
BLOCKS = 4
FILTERS = 64


def build(options: Options = OWN) -> ModelProto:
    """The whole network: features [1, 1, 49, 10] to scores [1, 12]."""
    net = Network("ds_cnn", options, channels=1, same=True)
    x = net.conv_relu("conv1", net.image, FILTERS, (10, 4), stride=2)
    for index in range(1, BLOCKS + 1):
        name = f"block{index}"
        x = net.relu(f"{name}/depthwise", net.depthwise(f"{name}/depthwise", x, 3))
        x = net.conv_relu(f"{name}/pointwise", x, FILTERS, 1)
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "ds_cnn.onnx", OWN)
