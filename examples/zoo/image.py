"""Networks that give images: segmentation, super-resolution, detection, autoencoders."""

# torch is typed in part; it need not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import torch
from parts import Inverted, conv
from torch import Tensor, nn
from torch.nn import functional as F


class UNet(nn.Module):
    """U-Net; `up` is how maps grow: by transposed convolution, or by resizing."""

    def __init__(self, up: str, classes: int = 3) -> None:
        super().__init__()
        self.down1, self.down2 = conv(3, 8), conv(8, 16)
        self.middle = conv(16, 32)
        self.up = up
        self.grow2 = nn.ConvTranspose2d(32, 16, 2, 2) if up == "transposed" else conv(32, 16, 1)
        self.grow1 = nn.ConvTranspose2d(16, 8, 2, 2) if up == "transposed" else conv(16, 8, 1)
        self.join2, self.join1 = conv(32, 16), conv(16, 8)
        self.scores = nn.Conv2d(8, classes, 1)

    def larger(self, x: Tensor, layer: nn.Module) -> Tensor:
        """The map with twice as many rows and columns."""
        if self.up == "transposed":
            return layer(x)
        corners = None if self.up == "nearest" else False
        return layer(F.interpolate(x, scale_factor=2.0, mode=self.up, align_corners=corners))

    def forward(self, x: Tensor) -> Tensor:
        """Scores of each pixel."""
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        b = self.join2(torch.cat([self.larger(c, self.grow2), b], 1))
        a = self.join1(torch.cat([self.larger(b, self.grow1), a], 1))
        return self.scores(a)


def unet_transposed() -> nn.Module:
    """U-Net with transposed convolutions."""
    return UNet("transposed")


def unet_nearest() -> nn.Module:
    """U-Net with nearest neighbours."""
    return UNet("nearest")


def unet_bilinear() -> nn.Module:
    """U-Net with bilinear interpolation."""
    return UNet("bilinear")


def espcn() -> nn.Module:
    """ESPCN: super-resolution by sub-pixel convolution."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.Tanh(),
        nn.Conv2d(16, 8, 3, padding=1),
        nn.Tanh(),
        nn.Conv2d(8, 9, 3, padding=1),
        nn.PixelShuffle(3),
        nn.Sigmoid(),
    )


def fsrcnn() -> nn.Module:
    """FSRCNN: PReLU, and one transposed convolution of 9x9 and stride 2."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.PReLU(16),
        nn.Conv2d(16, 8, 1),
        nn.PReLU(8),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.PReLU(8),
        nn.ConvTranspose2d(8, 1, 9, 2, 4, output_padding=1),
    )


def deconvolution() -> nn.Module:
    """A convolutional autoencoder."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(16, 8, 3, 2, 1, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 3, 2, 1, 1),
        nn.Sigmoid(),
    )


class Yolo(nn.Module):
    """A detector with three scales: the head of YOLO on a small body."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2, act="silu"), conv(8, 16, 3, 2, act="silu"))
        self.mid = conv(16, 32, 3, 2, act="silu")
        self.low = conv(32, 64, 3, 2, act="silu")
        self.lateral1, self.lateral2 = conv(64, 32, 1, act="silu"), conv(64, 16, 1, act="silu")
        self.join1, self.join2 = conv(64, 64, act="silu"), conv(32, 32, act="silu")
        self.heads = nn.ModuleList(nn.Conv2d(channels, 3 * 7, 1) for channels in (32, 64, 64))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Boxes of three scales, [N, 3, H, W, 7], with sigmoids."""
        fine = self.stem(x)
        middle = self.mid(fine)
        coarse = self.low(middle)
        up = F.interpolate(self.lateral1(coarse), scale_factor=2.0, mode="nearest")
        middle = self.join1(torch.cat([up, middle], 1))
        up = F.interpolate(self.lateral2(middle), scale_factor=2.0, mode="nearest")
        fine = self.join2(torch.cat([up, fine], 1))
        found = []
        for head, level in zip(self.heads, (fine, middle, coarse), strict=True):
            scores = head(level)
            batch, _, height, width = scores.shape
            boxes = scores.view(batch, 3, 7, height, width).permute(0, 1, 3, 4, 2)
            found.append(torch.sigmoid(boxes))
        return tuple(found)


class SpatialPyramid(nn.Module):
    """DeepLab's head: dilated convolutions and an image-wide mean, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(3, 16, 3, 2, act="relu6"), Inverted(16, 16, 32))
        self.dilated = nn.ModuleList(conv(16, 8, 3, dilation=rate) for rate in (1, 2, 4))
        self.mean = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 8, 1), nn.ReLU())
        self.scores = nn.Conv2d(32, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of each pixel of the image."""
        y = self.body(x)
        mean = F.interpolate(self.mean(y), size=y.shape[2:], mode="bilinear", align_corners=False)
        joined = torch.cat([*(layer(y) for layer in self.dilated), mean], 1)
        return F.interpolate(
            self.scores(joined), size=x.shape[2:], mode="bilinear", align_corners=False
        )


class TwoInputs(nn.Module):
    """Two images in, their difference and a score out."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(1, 8, 3, 2), conv(8, 8))
        self.score = nn.Linear(8, 1)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The absolute difference of both maps, and the score of its means."""
        gap = torch.abs(self.body(x) - self.body(y))
        return gap, torch.sigmoid(self.score(gap.mean((2, 3))))


class PadsAndCuts(nn.Module):
    """Pads that reflect and repeat, and slices, as image filters have them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 5), nn.Conv2d(8, 8, 3)

    def forward(self, x: Tensor) -> Tensor:
        """A map of the same size, without its rim."""
        y = F.relu(self.first(F.pad(x, (2, 2, 2, 2), mode="reflect")))
        y = F.relu(self.second(F.pad(y, (1, 1, 1, 1), mode="replicate")))
        return y[:, ::2, 1:-1, 2:-2] + y[:, 1::2, 1:-1, 2:-2]
