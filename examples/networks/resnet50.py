"""ResNet-50 for 224x224 images, as torchvision has it; see `resnet.py`.

python examples/networks/resnet50.py -o resnet50.onnx [--no-bias] [--size 64] [--width 0.25]
"""

from __future__ import annotations

from common import Options, main
from onnx import ModelProto
from resnet import bottleneck, resnet

OWN = Options()


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 224, 224] to scores [1, 1000]."""
    return resnet("resnet50", options, bottleneck, expansion=4, depths=(3, 4, 6, 3))


if __name__ == "__main__":
    main(build, __doc__ or "", "resnet50.onnx", OWN)
