"""The contracting part of FlowNet-S, `conv1` to `conv6_1`, for two 384x512 images as 6 channels.

    python examples/networks/flownet_s.py -o flownet_s.onnx [--no-bias] [--size 96x128]

Ten convolutions with 24 050 752 weights and biases, 96.2 MB. One thing is not the paper's: the
published network has a LeakyReLU (0.1) behind each convolution; here it is a ReLU, which this
compiler fuses into the convolution. `--classes` has no effect.

Source: Fischer et al., "FlowNet: Learning Optical Flow with Convolutional Networks", 2015.
"""

from __future__ import annotations

from common import Network, Options, main
from onnx import ModelProto

OWN = Options(size=(384, 512))
LAYERS = (
    ("conv1", 64, 7, 2),
    ("conv2", 128, 5, 2),
    ("conv3", 256, 5, 2),
    ("conv3_1", 256, 3, 1),
    ("conv4", 512, 3, 2),
    ("conv4_1", 512, 3, 1),
    ("conv5", 512, 3, 2),
    ("conv5_1", 512, 3, 1),
    ("conv6", 1024, 3, 2),
    ("conv6_1", 1024, 3, 1),
)
"""Name, filters, kernel, stride."""


def build(options: Options = OWN) -> ModelProto:
    """Image pair [1, 6, 384, 512] to a map [1, 1024, 6, 8]."""
    net = Network("flownet_s", options, channels=6)
    x = net.image
    for name, filters, kernel, stride in LAYERS:
        x = net.conv_relu(name, x, filters, kernel, stride=stride)
    return net.model(x)


if __name__ == "__main__":
    main(build, __doc__ or "", "flownet_s.onnx", OWN)
