"""Inception-V3 for 299x299 images, as torchvision has it, without the auxiliary classifier.

    python examples/networks/inception_v3.py -o inception_v3.onnx [--no-bias] [--size 75]

Batch normalisation is folded: each convolution has a bias, and a ReLU behind it. Modules are named
as in Table 1 of paper 001 (`inception_a1` ... `inception_c2`), the layers in them as in
torchvision. The first three modules have 5x5 convolutions. In the average pools, padding counts.
The smallest image is 75x75.

Source: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016.
"""

from __future__ import annotations

from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options(size=(299, 299))
ROW, COLUMN = (1, 7), (7, 1)


def inception_a(net: Network, name: str, x: Map, pooled: int) -> Map:
    """Four branches: 1x1, 5x5, double 3x3, average pool with `pooled` filters."""
    branch1 = net.conv_relu(f"{name}/branch1x1", x, 64, 1)
    branch5 = net.conv_relu(f"{name}/branch5x5_1", x, 48, 1)
    branch5 = net.conv_relu(f"{name}/branch5x5_2", branch5, 64, 5)
    double = net.conv_relu(f"{name}/branch3x3dbl_1", x, 64, 1)
    double = net.conv_relu(f"{name}/branch3x3dbl_2", double, 96, 3)
    double = net.conv_relu(f"{name}/branch3x3dbl_3", double, 96, 3)
    pool = net.average_pool(f"{name}/pool", x)
    pool = net.conv_relu(f"{name}/branch_pool", pool, pooled, 1)
    return net.concat(f"{name}/concat", [branch1, branch5, double, pool])


def reduction_a(net: Network, name: str, x: Map) -> Map:
    """Three branches of stride 2: 3x3, double 3x3, max pool."""
    branch3 = net.conv_relu(f"{name}/branch3x3", x, 384, 3, stride=2, padded=False)
    double = net.conv_relu(f"{name}/branch3x3dbl_1", x, 64, 1)
    double = net.conv_relu(f"{name}/branch3x3dbl_2", double, 96, 3)
    double = net.conv_relu(f"{name}/branch3x3dbl_3", double, 96, 3, stride=2, padded=False)
    pool = net.max_pool(f"{name}/pool", x)
    return net.concat(f"{name}/concat", [branch3, double, pool])


def inception_b(net: Network, name: str, x: Map, inner: int) -> Map:
    """Four branches: 1x1, 7x7 as 1x7 and 7x1, double 7x7, average pool; `inner` filters inside."""
    branch1 = net.conv_relu(f"{name}/branch1x1", x, 192, 1)
    branch7 = net.conv_relu(f"{name}/branch7x7_1", x, inner, 1)
    branch7 = net.conv_relu(f"{name}/branch7x7_2", branch7, inner, ROW)
    branch7 = net.conv_relu(f"{name}/branch7x7_3", branch7, 192, COLUMN)
    double = net.conv_relu(f"{name}/branch7x7dbl_1", x, inner, 1)
    double = net.conv_relu(f"{name}/branch7x7dbl_2", double, inner, COLUMN)
    double = net.conv_relu(f"{name}/branch7x7dbl_3", double, inner, ROW)
    double = net.conv_relu(f"{name}/branch7x7dbl_4", double, inner, COLUMN)
    double = net.conv_relu(f"{name}/branch7x7dbl_5", double, 192, ROW)
    pool = net.average_pool(f"{name}/pool", x)
    pool = net.conv_relu(f"{name}/branch_pool", pool, 192, 1)
    return net.concat(f"{name}/concat", [branch1, branch7, double, pool])


def reduction_b(net: Network, name: str, x: Map) -> Map:
    """Three branches of stride 2: 3x3, 7x7 then 3x3, max pool."""
    branch3 = net.conv_relu(f"{name}/branch3x3_1", x, 192, 1)
    branch3 = net.conv_relu(f"{name}/branch3x3_2", branch3, 320, 3, stride=2, padded=False)
    branch7 = net.conv_relu(f"{name}/branch7x7x3_1", x, 192, 1)
    branch7 = net.conv_relu(f"{name}/branch7x7x3_2", branch7, 192, ROW)
    branch7 = net.conv_relu(f"{name}/branch7x7x3_3", branch7, 192, COLUMN)
    branch7 = net.conv_relu(f"{name}/branch7x7x3_4", branch7, 192, 3, stride=2, padded=False)
    pool = net.max_pool(f"{name}/pool", x)
    return net.concat(f"{name}/concat", [branch3, branch7, pool])


def inception_c(net: Network, name: str, x: Map) -> Map:
    """Four branches, two of which split again into 1x3 and 3x1: nested concatenations."""
    branch1 = net.conv_relu(f"{name}/branch1x1", x, 320, 1)
    branch3 = net.conv_relu(f"{name}/branch3x3_1", x, 384, 1)
    branch3 = split(net, f"{name}/branch3x3", "2", branch3)
    double = net.conv_relu(f"{name}/branch3x3dbl_1", x, 448, 1)
    double = net.conv_relu(f"{name}/branch3x3dbl_2", double, 384, 3)
    double = split(net, f"{name}/branch3x3dbl", "3", double)
    pool = net.average_pool(f"{name}/pool", x)
    pool = net.conv_relu(f"{name}/branch_pool", pool, 192, 1)
    return net.concat(f"{name}/concat", [branch1, branch3, double, pool])


def split(net: Network, branch: str, place: str, x: Map) -> Map:
    """1x3 and 3x1 side by side, concatenated: the end of a branch of `inception_c`."""
    row = net.conv_relu(f"{branch}_{place}a", x, 384, (1, 3))
    column = net.conv_relu(f"{branch}_{place}b", x, 384, (3, 1))
    return net.concat(f"{branch}_concat", [row, column])


def stem(net: Network) -> Map:
    """Image 299x299x3 to 35x35x192."""
    x = net.conv_relu("conv1a", net.image, 32, 3, stride=2, padded=False)
    x = net.conv_relu("conv2a", x, 32, 3, padded=False)
    x = net.conv_relu("conv2b", x, 64, 3)
    x = net.max_pool("pool1", x)
    x = net.conv_relu("conv3b", x, 80, 1)
    x = net.conv_relu("conv4a", x, 192, 3, padded=False)
    return net.max_pool("pool2", x)


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 299, 299] to scores [1, 1000]."""
    net = Network("inception_v3", options)
    x = stem(net)
    for index, pooled in enumerate((32, 64, 64), 1):
        x = inception_a(net, f"inception_a{index}", x, pooled)
    x = reduction_a(net, "reduction_a", x)
    for index, inner in enumerate((128, 160, 160, 192), 1):
        x = inception_b(net, f"inception_b{index}", x, inner)
    x = reduction_b(net, "reduction_b", x)
    for index in (1, 2):
        x = inception_c(net, f"inception_c{index}", x)
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "inception_v3.onnx", OWN)
