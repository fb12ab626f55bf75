"""VGG-16 for small images: 13 convolutions with batch norm, 5 pools, and one classifier.

It is the CIFAR form of the network by K. Simonyan and A. Zisserman. The last convolutions on 32x32
images have maps of 2x2.
"""

from __future__ import annotations

from torch import nn

from npu_train.models.parts import Activation, Widths, normed_conv

STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
"""Channels of the convolutions before each pool."""


def vgg16(widths: Widths, channels: int, size: int, classes: int) -> nn.Module:
    """VGG-16 for images [N, channels, size, size]; pools of 1x1 maps are left out."""
    layers: list[nn.Module] = []
    for stage in STAGES:
        for depth in stage:
            outputs = widths(depth)
            layers += [normed_conv(channels, outputs, 3), Activation()]
            channels = outputs
        if size > 1:
            layers.append(nn.MaxPool2d(2))
            size //= 2
    classifier = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
    return nn.Sequential(*layers, *classifier)
