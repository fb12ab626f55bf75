"""Building blocks of the networks: layers with batch norm, and activations with Zebra modules.

`add_zebra` chooses the block size of each map. The paper uses b = 4 for images of 32x32 and b = 8
for 64x64, and 2 for the 2x2 maps of VGG-16 and MobileNet. So a block is at most as large as the
map, and here as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

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
        """Check that the factor is a finite number above 0."""
        if not (isfinite(self.factor) and self.factor > 0):
            raise UserError(f"width {self.factor}: expected a finite number above 0")

    def __call__(self, channels: int) -> int:
        """The scaled number of channels of a layer, rounded to the nearest integer.

        Raises: UserError if it is 0.
        """
        scaled = round(channels * self.factor)
        if scaled < 1:
            raise UserError(f"width {self.factor}: a layer of {channels} channels would have none")
        return scaled


class Activation(nn.Module):
    """A ReLU or ReLU6, followed by a Zebra module if it has one. Maps keep their shape."""

    def __init__(self, relu: nn.Module | None = None) -> None:
        super().__init__()
        self.relu = nn.ReLU() if relu is None else relu
        self.zebra: Zebra | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Set negative elements to 0, and with Zebra also the blocks below its thresholds."""
        x = self.relu(x)
        return x if self.zebra is None else self.zebra(x)


def normed_conv(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """A convolution with batch norm; at stride 1 it keeps the numbers of rows and columns.

    The weights are initialised by He's method, as all four networks are trained from scratch.
    """
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


def activations(model: nn.Module) -> list[Activation]:
    """The `Activation` modules of a network, in the order of its modules."""
    return [module for module in model.modules() if isinstance(module, Activation)]


def named_modules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """All modules of a network with their names."""
    untyped: Any = model  # torch's types are incomplete
    return list(untyped.named_modules())


def map_shapes(
    model: nn.Module, channels: int, size: int
) -> dict[Activation, tuple[int, int, int]]:
    """(channels, rows, columns) of the map after each of `activations`, for a square image.

    Results without rows and columns are left out.
    """
    shapes: dict[Activation, tuple[int, int, int]] = {}

    def record(module: nn.Module, _: object, output: Tensor) -> None:
        if isinstance(module, Activation) and output.dim() == 4:
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
    return {place: shapes[place] for place in places if place in shapes}


def add_zebra(model: nn.Module, options: ZebraOptions, *, channels: int, size: int) -> None:
    """Add a new Zebra module after each ReLU, for images [N, channels, size, size].

    A map that is smaller than the block gets the largest block that fits. Networks may be trained
    or shrunk already; Zebra modules that they have are replaced.

    Raises: UserError if the block is larger than the image, or if no map is behind a ReLU.
    """
    if options.block > size:
        raise UserError(f"block size {options.block}: expected at most the image's {size}")
    like = next(model.parameters())
    shapes = map_shapes(model, channels, size)
    if not shapes:
        raise UserError("no map [N, C, H, W] is behind a ReLU: nothing for --block")
    for place, (depth, height, width) in shapes.items():
        block = min(options.block, height, width)
        place.zebra = Zebra(depth, block, options.threshold).to(like.device, like.dtype)
        place.zebra.train(model.training)
