"""The network of CMSIS-NN for 32x32 colour images: three 5x5 convolutions with max pools.

    python examples/networks/cifar10.py -o cifar10.onnx [--no-bias] [--width 0.5]

Source: Lai et al., "CMSIS-NN: Efficient Neural Network Kernels for Arm Cortex-M CPUs", 2018,
Table 1; pools of 2x2 as in Unlu, "Efficient Neural Network Deployment for Microcontroller", 2020.
"""

from __future__ import annotations

from common import Network, Options, main
from onnx import ModelProto

OWN = Options(size=(32, 32), classes=10)


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 32, 32] to scores [1, 10]."""
    net = Network("cifar10", options)
    x = net.image
    for index, filters in enumerate((32, 16, 32), start=1):
        x = net.max_pool(f"pool{index}", net.conv_relu(f"conv{index}", x, filters, 5), 2)
    return net.model(net.fully_connected("fc", net.flatten("flatten", x), options.classes))


if __name__ == "__main__":
    main(build, __doc__ or "", "cifar10.onnx", OWN)
