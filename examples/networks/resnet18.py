"""ResNet-18 for 224x224 images, as torchvision has it; see `resnet.py`.

python examples/networks/resnet18.py -o resnet18.onnx [--no-bias] [--size 64] [--width 0.25]
"""

from __future__ import annotations

from common import Options, main
from onnx import ModelProto
from resnet import basic, resnet

OWN = Options()


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 224, 224] to scores [1, 1000]."""
    return resnet("resnet18", options, basic, expansion=1, depths=(2, 2, 2, 2))


if __name__ == "__main__":
    main(build, __doc__ or "", "resnet18.onnx", OWN)
