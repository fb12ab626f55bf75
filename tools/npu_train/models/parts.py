"""What the networks are made of: layers with batch norm, and the place of a Zebra module.

Decision: which block a map gets. The paper takes b = 4 at 32x32 and b = 8 at 64x64, and 2 where
maps of VGG-16 and MobileNet are 2x2: the block is as large as the map then, and so here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor, nn

from npu_tools.shared.errors import UserError
from npu_train.zebra import Zebra, ZebraOptions


@dataclass(frozen=True)
class Widths:
    """Scales the number of channels of layers.

    Raises: UserError if the factor is not a positive, finite number.
    """

    factor: float

    def __post_init__(self) -> None:
        """Check the factor."""
        if not (isfinite(self.factor) and self.factor > 0):
            raise UserError(f"width {self.factor}: expected a finite number above 0")

    def __call__(self, channels: int) -> int:
        """The channels of a layer, rounded to the nearest. Raises: UserError if none is left."""
        scaled = round(channels * self.factor)
        if scaled < 1:
            raise UserError(f"width {self.factor}: a layer of {channels} channels would have none")
        return scaled


class Activation(nn.Module):
    """A ReLU, and a Zebra module behind it if there is one. Maps [N, C, H, W] keep their shape."""

    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.zebra: Zebra | None = None

    def forward(self, x: Tensor) -> Tensor:
        """The map with no element below 0, and without its unimportant blocks."""
        x = self.relu(x)
        return x if self.zebra is None else self.zebra(x)


def normed_conv(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """A convolution that keeps rows and columns at stride 1, and its batch norm.

    Weights by He's method, as all four networks are trained from scratch.
    """
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


def activations(model: nn.Module) -> list[Activation]:
    """The activations of a network, in the order of its modules."""
    return [module for module in model.modules() if isinstance(module, Activation)]


def map_shapes(model: nn.Module, channels: int, size: int) -> list[tuple[int, int, int]]:
    """(channels, rows, columns) behind each of `activations`, for a square image."""
    shapes: dict[Activation, tuple[int, int, int]] = {}

    def record(module: nn.Module, _: object, output: Tensor) -> None:
        if isinstance(module, Activation):
            _, depth, height, width = output.shape
            shapes[module] = (depth, height, width)

    places = activations(model)
    hooks = [place.register_forward_hook(record) for place in places]
    was_training = model.training
    parameter = next(model.parameters())
    try:
        with torch.no_grad():
            model.eval()(parameter.new_zeros(1, channels, size, size))
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    return [shapes[place] for place in places]


def add_zebra(model: nn.Module, options: ZebraOptions, *, channels: int, size: int) -> None:
    """Put a new Zebra module behind each ReLU, for images [N, channels, size, size].

    Maps smaller than the block get the largest block that fits. Works on networks that were
    trained or shrunk, and in place of the Zebra modules that they had.

    Raises: UserError if the block is larger than the image.
    """
    if options.block > size:
        raise UserError(f"block size {options.block}: expected at most the image's {size}")
    like = next(model.parameters())
    shapes = map_shapes(model, channels, size)
    for place, (depth, height, width) in zip(activations(model), shapes, strict=True):
        block = min(options.block, height, width)
        place.zebra = Zebra(depth, block, options.threshold).to(like.device, like.dtype)
        place.zebra.train(model.training)
