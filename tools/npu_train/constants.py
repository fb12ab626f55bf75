"""Propagates constant channels through single PyTorch layers, in evaluation mode.

It is part of the analysis of `npu_train.shrink`. A channel is constant if all its elements are the
same number. `constants` are [C] of float64: the number of each channel of a map, or NaN if the
channel is not known to be constant.
"""

from __future__ import annotations

from typing import TypeGuard

import torch
from torch import Tensor, nn

from npu_train.models.parts import Activation

Dense = nn.Conv2d | nn.Linear

SAME = (nn.MaxPool2d, nn.AdaptiveAvgPool2d, nn.Dropout, nn.Identity)
"""Layers that work on each channel alone and keep constants: a channel of c stays one of c."""


def is_dense(layer: nn.Module, rank: int) -> TypeGuard[Dense]:
    """Whether a layer mixes all channels of its input, which has `rank` axes."""
    if isinstance(layer, nn.Conv2d):
        return layer.groups == 1
    return isinstance(layer, nn.Linear) and rank == 2


def is_depthwise(layer: nn.Module) -> TypeGuard[nn.Conv2d]:
    """Whether a layer is a convolution of each channel alone."""
    return isinstance(layer, nn.Conv2d) and (
        layer.groups == layer.in_channels == layer.out_channels
    )


def is_plain_flatten(layer: nn.Module) -> bool:
    """Whether a layer flattens [N, C, H, W] to [N, C * H * W]."""
    return isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) == (1, -1)


def bias_of(layer: Dense) -> Tensor | float:
    """The bias of a layer, [O]; 0 if it has none."""
    return 0.0 if layer.bias is None else layer.bias.double()


def contributions(layer: Dense, constants: Tensor) -> Tensor:
    """The number that each input channel adds to each output channel, [O, C].

    It is NaN if the channel does not add the same number everywhere. `constants` are those of the
    input, [C], or [O, 1] for a depthwise convolution. Padding puts zeros around a channel, so a
    constant other than 0 adds less at the border of the map.
    """
    padded = isinstance(layer, nn.Conv2d) and layer.padding not in ((0, 0), "valid")
    weights = layer.weight.double().reshape(len(layer.weight), constants.shape[-1], -1)
    foldable = constants if not padded else constants.where(constants == 0, torch.nan)
    return torch.where(weights.any(2), weights.sum(2) * foldable, 0.0)


def normed(layer: nn.BatchNorm2d, constants: Tensor) -> Tensor:
    """The constants after a batch norm, [C]. With a scale of 0 the result is the shift."""
    mean, variance = layer.running_mean, layer.running_var
    if mean is None or variance is None:
        raise TypeError("expected a batch norm with running statistics")
    scale, shift = layer.weight.double(), layer.bias.double()
    deviation = (variance.double() + layer.eps).sqrt()
    return torch.where(scale == 0, shift, (constants - mean.double()) / deviation * scale + shift)


def activated(layer: Activation | nn.ReLU, constants: Tensor) -> Tensor:
    """The constants after a ReLU and its Zebra module, if it has one, [C]."""
    limited = isinstance(layer, Activation) and isinstance(layer.relu, nn.ReLU6)
    constants = constants.clamp(min=0, max=6 if limited else None)
    if isinstance(layer, nn.ReLU) or layer.zebra is None:
        return constants
    return constants.where(~(constants < layer.zebra.threshold), 0.0)
