"""Blocks that several networks of the zoo share."""

# torch is typed in part; it need not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import torch
from torch import Tensor, nn

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "gelu": nn.GELU,
    "hard_swish": nn.Hardswish,
    "leaky_relu": nn.LeakyReLU,
    "none": nn.Identity,
    "prelu": nn.PReLU,
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "silu": nn.SiLU,
}


def conv(
    inputs: int,
    outputs: int,
    kernel: int = 3,
    stride: int = 1,
    *,
    groups: int = 1,
    dilation: int = 1,
    act: str = "relu",
) -> nn.Sequential:
    """Convolution, batch normalisation, activation; rows and columns are kept at stride 1."""
    padding = dilation * (kernel - 1) // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, groups, bias=False),
        nn.BatchNorm2d(outputs),
        ACTIVATIONS[act](),
    )


def separable(inputs: int, outputs: int, stride: int = 1, act: str = "relu") -> nn.Sequential:
    """A depthwise and a pointwise convolution."""
    return nn.Sequential(
        conv(inputs, inputs, 3, stride, groups=inputs, act=act), conv(inputs, outputs, 1, act=act)
    )


class Gate(nn.Module):
    """Squeeze and excitation: a factor for each channel from its mean."""

    def __init__(self, channels: int, inner: int, *, hard: bool = True) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down, self.up = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)
        self.act = nn.ReLU() if hard else nn.SiLU()
        self.gate = nn.Hardsigmoid() if hard else nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        """The map times its gate."""
        return x * self.gate(self.up(self.act(self.down(self.pool(x)))))


class Inverted(nn.Module):
    """An inverted residual: widen, depthwise, perhaps a gate, narrow; added if shapes agree."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        wide: int,
        stride: int = 1,
        *,
        kernel: int = 3,
        act: str = "relu6",
        gate: int = 0,
        hard: bool = True,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [] if wide == inputs else [conv(inputs, wide, 1, act=act)]
        layers.append(conv(wide, wide, kernel, stride, groups=wide, act=act))
        if gate:
            layers.append(Gate(wide, gate, hard=hard))
        layers.append(conv(wide, outputs, 1, act="none"))
        self.body = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """The block's map."""
        return x + self.body(x) if self.residual else self.body(x)


class Residual(nn.Module):
    """Two 3x3 convolutions with a shortcut (ResNet's basic block)."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, act: str = "relu") -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv(inputs, outputs, 3, stride, act=act), conv(outputs, outputs, act="none")
        )
        same = inputs == outputs and stride == 1
        self.short = nn.Identity() if same else conv(inputs, outputs, 1, stride, act="none")
        self.act = ACTIVATIONS[act]()

    def forward(self, x: Tensor) -> Tensor:
        """The block's map."""
        return self.act(self.body(x) + self.short(x))


class Classifier(nn.Module):
    """The mean of a map's channels, and scores from that."""

    def __init__(self, channels: int, classes: int = 10) -> None:
        super().__init__()
        self.pool, self.scores = nn.AdaptiveAvgPool2d(1), nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        """The scores."""
        return self.scores(torch.flatten(self.pool(x), 1))
