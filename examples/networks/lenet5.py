"""LeNet-5 for 32x32 digits, with ReLU and max pools.

    python examples/networks/lenet5.py -o lenet5.onnx [--no-bias] [--width 0.5]

Source: LeCun et al., "Gradient-Based Learning Applied to Document Recognition", 1998, Figure 2;
activations and pools as in Unlu, "Efficient Neural Network Deployment for Microcontroller", 2020.
"""

from __future__ import annotations

from common import Network, Options, main
from onnx import ModelProto

OWN = Options(size=(32, 32), classes=10)


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 1, 32, 32] to scores [1, 10]."""
    net = Network("lenet5", options, channels=1)
    x = net.image
    for index, filters in enumerate((6, 16), start=1):
        x = net.conv_relu(f"conv{index}", x, filters, 5, padded=False)
        x = net.max_pool(f"pool{index}", x, 2)
    x = net.flatten("flatten", x)
    for index, count in enumerate((120, 84), start=1):
        x = net.relu(f"fc{index}", net.fully_connected(f"fc{index}", x, options.scaled(count)))
    return net.model(net.fully_connected("fc3", x, options.classes))


if __name__ == "__main__":
    main(build, __doc__ or "", "lenet5.onnx", OWN)
