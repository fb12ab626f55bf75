"""Image classifiers: MLPerf Tiny's, MobileNets and other networks for small machines."""

# torch is typed in part; it need not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from itertools import pairwise

import torch
from parts import Classifier, Gate, Inverted, Residual, conv, separable
from torch import Tensor, nn


def resnet8() -> nn.Module:
    """ResNet-8 of MLPerf Tiny (image classification)."""
    return nn.Sequential(
        conv(3, 16), Residual(16, 16), Residual(16, 32, 2), Residual(32, 64, 2), Classifier(64)
    )


def ds_cnn() -> nn.Module:
    """DS-CNN of MLPerf Tiny (keyword spotting)."""
    return nn.Sequential(
        nn.Conv2d(1, 64, (10, 4), 2, (4, 1)),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        *(separable(64, 64) for _ in range(4)),
        Classifier(64, 12),
    )


def autoencoder() -> nn.Module:
    """The dense autoencoder of MLPerf Tiny (anomaly detection)."""
    widths = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128]
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(128, 640))


def mobilenet_v1() -> nn.Module:
    """MobileNetV1 with a quarter of the channels (MLPerf Tiny, visual wake words)."""
    plan = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)]
    plan += [(128, 1)] * 5 + [(256, 2), (256, 1)]
    layers, channels = [conv(3, 8, 3, 2)], 8
    for outputs, stride in plan:
        layers.append(separable(channels, outputs, stride))
        channels = outputs
    return nn.Sequential(*layers, Classifier(channels, 2))


def mobilenet_v2() -> nn.Module:
    """MobileNetV2 with 0.35 of the channels."""
    plan = [(8, 1, 1), (8, 6, 2), (8, 6, 1), (16, 6, 2), (16, 6, 1), (24, 6, 2), (24, 6, 1)]
    plan += [(32, 6, 1), (56, 6, 2), (56, 6, 1), (112, 6, 1)]
    layers, channels = [conv(3, 16, 3, 2, act="relu6")], 16
    for outputs, factor, stride in plan:
        layers.append(Inverted(channels, outputs, channels * factor, stride))
        channels = outputs
    return nn.Sequential(*layers, conv(channels, 256, 1, act="relu6"), Classifier(256))


def mobilenet_v3() -> nn.Module:
    """MobileNetV3-Small with half of the channels: HardSwish, and gates."""
    swish = "hard_swish"
    return nn.Sequential(
        conv(3, 16, 3, 2, act=swish),
        Inverted(16, 8, 16, 2, act="relu", gate=8),
        Inverted(8, 16, 36, 2, act="relu"),
        Inverted(16, 16, 44, act="relu"),
        Inverted(16, 24, 48, 2, kernel=5, act=swish, gate=16),
        Inverted(24, 24, 120, kernel=5, act=swish, gate=32),
        Inverted(24, 48, 144, 2, kernel=5, act=swish, gate=40),
        conv(48, 144, 1, act=swish),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(144, 128),
        nn.Hardswish(),
        nn.Dropout(),
        nn.Linear(128, 10),
    )


def efficientnet() -> nn.Module:
    """A narrow EfficientNet: SiLU, and gates by Sigmoid."""
    return nn.Sequential(
        conv(3, 16, 3, 2, act="silu"),
        Inverted(16, 8, 16, act="silu", gate=4, hard=False),
        Inverted(8, 12, 48, 2, act="silu", gate=2, hard=False),
        Inverted(12, 20, 72, 2, kernel=5, act="silu", gate=3, hard=False),
        Inverted(20, 20, 120, kernel=5, act="silu", gate=5, hard=False),
        conv(20, 80, 1, act="silu"),
        Classifier(80),
    )


def gated(act: str) -> nn.Module:
    """A small residual network with another activation."""
    body = (conv(3, 16, act=act), Residual(16, 24, 2, act), Gate(24, 6))
    return nn.Sequential(*body, Classifier(24))


def leaky() -> nn.Module:
    """LeakyReLU, as in Darknet."""
    return gated("leaky_relu")


def parametric() -> nn.Module:
    """PReLU, as in face detectors."""
    return gated("prelu")


class Shuffle(nn.Module):
    """ShuffleNetV2's unit: half of the channels go by, then the halves are shuffled."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        half = outputs // 2
        source = inputs // 2 if stride == 1 else inputs
        self.stride = stride
        self.body = nn.Sequential(
            conv(source, half, 1),
            conv(half, half, 3, stride, groups=half, act="none"),
            conv(half, half, 1),
        )
        self.by = (
            nn.Identity()
            if stride == 1
            else nn.Sequential(
                conv(inputs, inputs, 3, 2, groups=inputs, act="none"), conv(inputs, half, 1)
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """The unit's map."""
        left, right = x.chunk(2, 1) if self.stride == 1 else (x, x)
        both = torch.cat([self.by(left), self.body(right)], 1)
        batch, channels, height, width = both.shape
        pairs = both.view(batch, 2, channels // 2, height, width).transpose(1, 2)
        return pairs.reshape(batch, channels, height, width)


def shufflenet_v2() -> nn.Module:
    """ShuffleNetV2 with few channels."""
    return nn.Sequential(
        conv(3, 16, 3, 2),
        nn.MaxPool2d(3, 2, 1),
        Shuffle(16, 32, 2),
        Shuffle(32, 32, 1),
        Shuffle(32, 64, 2),
        Shuffle(64, 64, 1),
        conv(64, 128, 1),
        Classifier(128),
    )


class Ghost(nn.Module):
    """GhostNet's module: half of the maps come from a cheap depthwise convolution."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.half = outputs // 2
        self.first = conv(inputs, self.half, 1)
        self.cheap = conv(self.half, self.half, 3, groups=self.half)

    def forward(self, x: Tensor) -> Tensor:
        """Both halves."""
        first = self.first(x)
        return torch.cat([first, self.cheap(first)], 1)[:, : 2 * self.half]


def ghostnet() -> nn.Module:
    """A small GhostNet."""
    return nn.Sequential(
        conv(3, 16, 3, 2),
        Ghost(16, 32),
        conv(32, 32, 3, 2, groups=32),
        Ghost(32, 48),
        Classifier(48),
    )


class Dense(nn.Module):
    """DenseNet's block: each layer reads all maps before it."""

    def __init__(self, channels: int, growth: int, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(channels + i * growth),
                nn.ReLU(),
                nn.Conv2d(channels + i * growth, growth, 3, 1, 1, bias=False),
            )
            for i in range(count)
        )

    def forward(self, x: Tensor) -> Tensor:
        """All maps."""
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return x


def densenet() -> nn.Module:
    """A small DenseNet."""
    return nn.Sequential(
        conv(3, 16),
        Dense(16, 8, 4),
        conv(48, 24, 1),
        nn.AvgPool2d(2),
        Dense(24, 8, 4),
        Classifier(56),
    )


def squeezenext() -> nn.Module:
    """SqueezeNext's bottlenecks with separated 3x1 and 1x3 convolutions."""

    def split(channels: int) -> nn.Sequential:
        return nn.Sequential(
            conv(channels, channels // 2, 1),
            nn.Conv2d(channels // 2, channels // 2, (3, 1), padding=(1, 0)),
            nn.ReLU(),
            nn.Conv2d(channels // 2, channels // 2, (1, 3), padding=(0, 1)),
            nn.ReLU(),
            conv(channels // 2, channels, 1),
        )

    return nn.Sequential(conv(3, 32, 5, 2), split(32), nn.MaxPool2d(2), split(32), Classifier(32))


def vgg() -> nn.Module:
    """A small VGG with two hidden dense layers."""
    return nn.Sequential(
        conv(3, 8),
        conv(8, 8),
        nn.MaxPool2d(2),
        conv(8, 16),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 64, 32),
        nn.ReLU(),
        nn.Dropout(),
        nn.Linear(32, 10),
        nn.LogSoftmax(1),
    )


class ConvNextBlock(nn.Module):
    """ConvNeXt's block: a wide depthwise window, LayerNorm over channels, GELU, a scale."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.window = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide = nn.Linear(channels, 4 * channels)
        self.narrow = nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        """The block's map."""
        y = self.norm(self.window(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(nn.functional.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


def convnext() -> nn.Module:
    """A small ConvNeXt."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 4, 4),
        ConvNextBlock(16),
        nn.Conv2d(16, 32, 2, 2),
        ConvNextBlock(32),
        Classifier(32),
    )


def group_norm() -> nn.Module:
    """A residual network with GroupNorm and InstanceNorm."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, 2, 1),
        nn.InstanceNorm2d(16, affine=True),
        nn.SiLU(),
        Classifier(16),
    )
