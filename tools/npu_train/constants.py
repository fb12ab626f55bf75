"""What layers make of channels that are one number everywhere, in evaluation form.

Level: single PyTorch layers; part of the analysis of `npu_train.shrink`. Constants are [C] of
float64, for each channel of a map its number, or NaN if it is not known to have one.
"""

from __future__ import annotations

from typing import TypeGuard

import torch
from torch import Tensor, nn

from npu_train.models.parts import Activation

Dense = nn.Conv2d | nn.Linear

SAME = (nn.MaxPool2d, nn.AdaptiveAvgPool2d, nn.Dropout, nn.Identity)
"""Layers that take each channel by itself, and one of nothing but c to one of nothing but c."""


def is_dense(layer: nn.Module, rank: int) -> TypeGuard[Dense]:
    """Whether a layer mixes all channels of an input of a rank."""
    if isinstance(layer, nn.Conv2d):
        return layer.groups == 1
    return isinstance(layer, nn.Linear) and rank == 2


def is_depthwise(layer: nn.Module) -> TypeGuard[nn.Conv2d]:
    """Whether a layer is a convolution of each channel by itself."""
    return isinstance(layer, nn.Conv2d) and (
        layer.groups == layer.in_channels == layer.out_channels
    )


def is_plain_flatten(layer: nn.Module) -> bool:
    """Whether a layer makes [N, C * H * W] of [N, C, H, W]."""
    return isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) == (1, -1)


def bias_of(layer: Dense) -> Tensor | float:
    """The bias of a layer, [O], or 0."""
    return 0.0 if layer.bias is None else layer.bias.double()


def contributions(layer: Dense, constants: Tensor) -> Tensor:
    """What input channels add to each output channel, [O, C], NaN if it is no single number.

    `constants` [C] or, of a depthwise convolution, [O, 1]. At the border of a map the padding puts
    zeros in place of some elements, so a number that is not 0 adds different ones there.
    """
    padded = isinstance(layer, nn.Conv2d) and layer.padding not in ((0, 0), "valid")
    weights = layer.weight.double().reshape(len(layer.weight), constants.shape[-1], -1)
    foldable = constants if not padded else constants.where(constants == 0, torch.nan)
    return torch.where(weights.any(2), weights.sum(2) * foldable, 0.0)


def normed(layer: nn.BatchNorm2d, constants: Tensor) -> Tensor:
    """Constants behind a batch norm, [C]: a scale of 0 leaves nothing but the shift."""
    mean, variance = layer.running_mean, layer.running_var
    if mean is None or variance is None:
        raise TypeError("expected a batch norm with running statistics")
    scale, shift = layer.weight.double(), layer.bias.double()
    deviation = (variance.double() + layer.eps).sqrt()
    return torch.where(scale == 0, shift, (constants - mean.double()) / deviation * scale + shift)


def activated(layer: Activation | nn.ReLU, constants: Tensor) -> Tensor:
    """Constants behind a ReLU and, if there is one, a Zebra module, [C]."""
    constants = constants.clamp(min=0)
    if isinstance(layer, nn.ReLU) or layer.zebra is None:
        return constants
    return constants.where(~(constants < layer.zebra.threshold), 0.0)
