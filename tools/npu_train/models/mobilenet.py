"""MobileNet (A. G. Howard et al. 2017) for small images.

Stem and first stage keep rows and columns. The last maps of a 32x32 image are 2x2.
"""

from __future__ import annotations

from torch import nn

from npu_train.models.parts import Activation, Widths, normed_conv

STEM = 32
PAIRS = (
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
"""Output channels and stride of each depthwise convolution and the pointwise one behind it."""


def mobilenet(widths: Widths, channels: int, size: int, classes: int) -> nn.Module:
    """MobileNet for images [N, channels, size, size]: 27 ReLUs."""
    inputs = widths(STEM)
    layers: list[nn.Module] = [normed_conv(channels, inputs, 3), Activation()]
    for depth, stride in PAIRS:
        outputs = widths(depth)
        layers += [normed_conv(inputs, inputs, 3, stride, groups=inputs), Activation()]
        layers += [normed_conv(inputs, outputs, 1), Activation()]
        inputs = outputs
    classifier = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)]
    return nn.Sequential(*layers, *classifier)
