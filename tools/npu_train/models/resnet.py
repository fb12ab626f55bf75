"""ResNet-18 and ResNet-56 for small images (K. He et al. 2016): a 3x3 stem, stages of basic blocks.

If a block changes the shape, its shortcut is a 1x1 projection with batch norm. ResNet-56's authors
pad with zero channels instead. That saves 5 000 parameters, but the ONNX importer has no layer for
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from npu_train.models.parts import Activation, Widths, normed_conv

SCALE = 0.1
"""Initial scale of the batch norms. The paper's thresholds assume maps with values in [0, 1], "with
the help of the BN layer" (II-A). With this scale, a sum of ten terms, as in the stages of
ResNet-56, has a deviation of 0.3. With the usual scale of 1, a threshold of 0.2 finds half as many
zero blocks after a training of a few epochs. VGG-16 and MobileNet, which have no sums, keep 1."""


class BasicBlock(nn.Module):
    """Two 3x3 convolutions whose result is added to their input, or to its 1x1 projection."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = normed_conv(inputs, outputs, 3, stride)
        self.inner = Activation()
        self.second = normed_conv(outputs, outputs, 3)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else normed_conv(inputs, outputs, 1, stride)
        self.outer = Activation()

    def forward(self, x: Tensor) -> Tensor:
        """The activation of the sum of both paths through the block."""
        return self.outer(self.second(self.inner(self.first(x))) + self.shortcut(x))


def stages(inputs: int, depths: Sequence[int], blocks: int) -> nn.Sequential:
    """Stages of `blocks` basic blocks each; each stage but the first halves rows and columns.

    `depths` are the output channels of the stages, `inputs` the channels before them.
    """
    layers: list[nn.Module] = []
    for stage, outputs in enumerate(depths):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            layers.append(BasicBlock(inputs, outputs, stride))
            inputs = outputs
    return nn.Sequential(*layers)


def resnet(channels: int, depths: Sequence[int], blocks: int, classes: int) -> nn.Module:
    """A network of a stem, stages with `depths` channels, a global average and a classifier."""
    model = nn.Sequential(
        normed_conv(channels, depths[0], 3),
        Activation(),
        stages(depths[0], depths, blocks),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(depths[-1], classes),
    )
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.constant_(module.weight, SCALE)
    return model


def resnet18(widths: Widths, channels: int, size: int, classes: int) -> nn.Module:
    """ResNet-18 for images [N, channels, size, size]: 17 ReLUs.

    At 32x32 and full width their maps have 557 056 elements.
    """
    return resnet(channels, [widths(depth) for depth in (64, 128, 256, 512)], 2, classes)


def resnet56(widths: Widths, channels: int, size: int, classes: int) -> nn.Module:
    """ResNet-56 for images [N, channels, size, size]: 55 ReLUs in three stages of 9 blocks."""
    return resnet(channels, [widths(depth) for depth in (16, 32, 64)], 9, classes)
