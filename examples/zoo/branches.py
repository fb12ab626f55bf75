"""Image classifiers whose layers branch: Inception, SqueezeNet, Xception, RegNet, RepVGG, HRNet."""

# torch is typed in part; it need not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import torch
from parts import Classifier, Gate, conv, separable
from torch import Tensor, nn
from torch.nn import functional as F


class InceptionModule(nn.Module):
    """GoogLeNet's module: four branches, joined."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            (
                conv(inputs, width, 1),
                nn.Sequential(conv(inputs, width // 2, 1), conv(width // 2, width)),
                nn.Sequential(conv(inputs, width // 4, 1), conv(width // 4, width // 2, 5)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(inputs, width // 2, 1)),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """All branches."""
        return torch.cat([branch(x) for branch in self.branches], 1)


def inception() -> nn.Module:
    """A small GoogLeNet with local response normalisation."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1),
        nn.ReLU(),
        nn.LocalResponseNorm(5),
        InceptionModule(16, 16),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        InceptionModule(48, 24),
        nn.AvgPool2d(3, 1),
        nn.Conv2d(72, 32, 1),
        Classifier(32),
    )


class Fire(nn.Module):
    """SqueezeNet's module: few channels, then 1x1 and 3x3 side by side."""

    def __init__(self, inputs: int, few: int, many: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, few, 1)
        self.one, self.three = nn.Conv2d(few, many, 1), nn.Conv2d(few, many, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Both expansions."""
        few = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.one(few)), F.relu(self.three(few))], 1)


def squeezenet() -> nn.Module:
    """A small SqueezeNet: its classifier is a convolution."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        Fire(16, 8, 16),
        Fire(32, 8, 16),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        Fire(32, 12, 24),
        nn.Dropout(),
        nn.Conv2d(48, 10, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


class XceptionBlock(nn.Module):
    """Separable convolutions and a pool, around which a strided 1x1 goes."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            separable(inputs, outputs), separable(outputs, outputs), nn.MaxPool2d(3, 2, 1)
        )
        self.short = conv(inputs, outputs, 1, 2, act="none")

    def forward(self, x: Tensor) -> Tensor:
        """The block's map."""
        return self.body(x) + self.short(x)


def xception() -> nn.Module:
    """A small Xception."""
    return nn.Sequential(
        conv(3, 16, 3, 2), XceptionBlock(16, 24), XceptionBlock(24, 32), Classifier(32)
    )


class RegNetBlock(nn.Module):
    """A bottleneck with grouped convolutions and a gate."""

    def __init__(self, inputs: int, outputs: int, stride: int, group: int = 8) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv(inputs, outputs, 1),
            conv(outputs, outputs, 3, stride, groups=outputs // group),
            Gate(outputs, outputs // 4),
            conv(outputs, outputs, 1, act="none"),
        )
        same = inputs == outputs and stride == 1
        self.short = nn.Identity() if same else conv(inputs, outputs, 1, stride, act="none")

    def forward(self, x: Tensor) -> Tensor:
        """The block's map."""
        return F.relu(self.body(x) + self.short(x))


def regnet() -> nn.Module:
    """A small RegNetY."""
    blocks = (RegNetBlock(16, 24, 2), RegNetBlock(24, 24, 1), RegNetBlock(24, 48, 2))
    return nn.Sequential(conv(3, 16, 3, 2), *blocks, Classifier(48))


class RepVggBlock(nn.Module):
    """A 3x3, a 1x1 and the map itself, each normalised, added."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.three = conv(channels, channels, act="none")
        self.one = conv(channels, channels, 1, act="none")
        self.same = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """The block's map."""
        return F.relu(self.three(x) + self.one(x) + self.same(x))


def repvgg() -> nn.Module:
    """RepVGG as it is trained."""
    return nn.Sequential(
        conv(3, 16, 3, 2), RepVggBlock(16), conv(16, 32, 3, 2), RepVggBlock(32), Classifier(32)
    )


class HighResolution(nn.Module):
    """HRNet: two resolutions side by side that exchange their maps; a map for each joint."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv(3, 16, 3, 2)
        self.high1, self.down1 = conv(16, 16), conv(16, 32, 3, 2)
        self.high2, self.low2 = conv(16, 16), conv(32, 32)
        self.up, self.down2 = conv(32, 16, 1, act="none"), conv(16, 32, 3, 2, act="none")
        self.joints = nn.Conv2d(48, 5, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Maps of five joints."""
        x = self.stem(x)
        high, low = self.high2(self.high1(x)), self.low2(self.down1(x))
        up = F.interpolate(self.up(low), scale_factor=2.0, mode="nearest")
        high, low = F.relu(high + up), F.relu(low + self.down2(high))
        low = F.interpolate(low, scale_factor=2.0, mode="bilinear", align_corners=True)
        return self.joints(torch.cat([high, low], 1))


def lenet() -> nn.Module:
    """LeNet-5 with its tanh."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Tanh(),
        nn.Linear(120, 84),
        nn.Tanh(),
        nn.Linear(84, 10),
        nn.Softmax(1),
    )
