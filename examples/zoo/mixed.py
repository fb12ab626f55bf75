"""Networks that mix attention, convolutions and graphs: Swin, MobileViT, Conformer, SSD, ..."""

# torch is typed in part; it need not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import torch
from attention import Attention, Block
from parts import Classifier, Inverted, conv
from torch import Tensor, nn
from torch.nn import functional as F


class SwinBlock(nn.Module):
    """Attention in windows, which every second block shifts."""

    def __init__(self, width: int, window: int, shift: int) -> None:
        super().__init__()
        self.window, self.shift = window, shift
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix = Attention(width, 2)
        self.dense = nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width))

    def forward(self, x: Tensor) -> Tensor:
        """The map [N, H, W, channels]."""
        size, (batch, height, width, channels) = self.window, x.shape
        y = self.norm1(x)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        y = y.view(batch, height // size, size, width // size, size, channels)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, channels)
        y = self.mix(y).view(batch, height // size, width // size, size, size, channels)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(batch, height, width, channels)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y
        return x + self.dense(self.norm2(x))


class Swin(nn.Module):
    """A small Swin transformer: neighbours are merged between two stages."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.first = nn.Sequential(SwinBlock(16, 4, 0), SwinBlock(16, 4, 2))
        self.norm, self.merge = nn.LayerNorm(64), nn.Linear(64, 32, bias=False)
        self.second = SwinBlock(32, 4, 0)
        self.scores = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of an image."""
        y = self.first(self.patches(x).permute(0, 2, 3, 1))
        corners = [y[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        y = self.second(self.merge(self.norm(torch.cat(corners, -1))))
        return self.scores(y.mean((1, 2)))


class MobileViT(nn.Module):
    """MobileViT's block: attention among the pixels that have the same place in their patch."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(3, 16, 3, 2, act="silu"), Inverted(16, 24, 32, 2))
        self.local = nn.Sequential(conv(24, 24, act="silu"), nn.Conv2d(24, 32, 1, bias=False))
        self.blocks = nn.Sequential(Block(32, 4), nn.LayerNorm(32))
        self.back, self.fuse = conv(32, 24, 1, act="silu"), conv(48, 24, act="silu")
        self.scores = Classifier(24)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of an image."""
        x = self.body(x)
        y = self.local(x)
        batch, width, rows, columns = y.shape
        y = y.reshape(batch * width * rows // 2, 2, columns // 2, 2).transpose(1, 2)
        y = y.reshape(batch, width, rows * columns // 4, 4).permute(0, 3, 2, 1)
        y = self.blocks(y.reshape(batch * 4, rows * columns // 4, width))
        y = y.reshape(batch, 4, rows * columns // 4, width).permute(0, 3, 2, 1)
        y = y.reshape(batch * width * rows // 2, columns // 2, 2, 2).transpose(1, 2)
        y = self.back(y.reshape(batch, width, rows, columns))
        return self.scores(self.fuse(torch.cat([x, y], 1)))


class Conformer(nn.Module):
    """A Conformer block: half steps of dense layers around attention and a gated convolution."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.frames = nn.Linear(40, width)
        self.dense = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 48), nn.SiLU(), nn.Linear(48, width)
            )
            for _ in range(2)
        )
        self.norm, self.mix = nn.LayerNorm(width), Attention(width, 2)
        self.before, self.wide = nn.LayerNorm(width), nn.Conv1d(width, 2 * width, 1)
        self.window = nn.Conv1d(width, width, 7, padding=3, groups=width)
        self.behind, self.narrow = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)
        self.last, self.scores = nn.LayerNorm(width), nn.Linear(width, 12)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of each frame [N, T, 40]."""
        x = self.frames(x)
        x = x + 0.5 * self.dense[0](x)
        x = x + self.mix(self.norm(x))
        y = F.glu(self.wide(self.before(x).transpose(1, 2)), 1)
        x = x + self.narrow(F.silu(self.behind(self.window(y)))).transpose(1, 2)
        return self.scores(self.last(x + 0.5 * self.dense[1](x))).log_softmax(-1)


class GraphConvolution(nn.Module):
    """Two layers on the nodes of a graph, whose edges are an input."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Scores of the nodes [N, nodes, 8]; edges [N, nodes, nodes]."""
        shares = edges.abs() / edges.abs().sum(-1, keepdim=True).clamp(min=1e-3)
        return shares @ self.second(F.relu(shares @ self.first(nodes)))


class Variational(nn.Module):
    """A variational autoencoder, whose noise is an input."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
        self.mean, self.spread = nn.Linear(32, 8), nn.Linear(32, 8)
        self.up = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The picture, and mean and logarithm of the variance."""
        y = self.down(x)
        mean, spread = self.mean(y), self.spread(y)
        return self.up(mean + noise * torch.exp(0.5 * spread)), mean, spread


class SingleShot(nn.Module):
    """SSD: classes and boxes of two maps, in one list."""

    def __init__(self, classes: int = 4, shapes: int = 3) -> None:
        super().__init__()
        self.classes = classes
        self.first, self.second = nn.Sequential(conv(3, 16, 3, 2), conv(16, 24, 3, 2)), conv(24, 32)
        self.smaller = conv(32, 32, 3, 2)
        self.kinds = nn.ModuleList(nn.Conv2d(32, shapes * classes, 3, padding=1) for _ in "ab")
        self.boxes = nn.ModuleList(nn.Conv2d(32, shapes * 4, 3, padding=1) for _ in "ab")

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Shares of the classes [N, boxes, classes], and places [N, boxes, 4]."""
        fine = self.second(self.first(x))
        levels, batch = (fine, self.smaller(fine)), x.shape[0]
        kinds = [
            head(level).permute(0, 2, 3, 1).reshape(batch, -1, self.classes)
            for head, level in zip(self.kinds, levels, strict=True)
        ]
        places = [
            head(level).permute(0, 2, 3, 1).reshape(batch, -1, 4)
            for head, level in zip(self.boxes, levels, strict=True)
        ]
        return torch.cat(kinds, 1).softmax(-1), torch.cat(places, 1)


def style() -> nn.Module:
    """Fast style transfer: reflecting pads, InstanceNorm, nearest neighbours."""

    def layer(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
        return nn.Sequential(
            nn.ReflectionPad2d(kernel // 2),
            nn.Conv2d(inputs, outputs, kernel, stride),
            nn.InstanceNorm2d(outputs, affine=True),
            nn.ReLU(),
        )

    return nn.Sequential(
        layer(3, 8, 9),
        layer(8, 16, 3, 2),
        layer(16, 16, 3),
        nn.Upsample(scale_factor=2),
        layer(16, 8, 3),
        nn.ReflectionPad2d(4),
        nn.Conv2d(8, 3, 9),
        nn.Tanh(),
    )


class Denoiser(nn.Module):
    """DnCNN: the noise is predicted and taken off."""

    def __init__(self) -> None:
        super().__init__()
        layers = (nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), conv(16, 16), conv(16, 16))
        self.noise = nn.Sequential(*layers, nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        """The image without noise."""
        return x - self.noise(x)


class Twins(nn.Module):
    """Two images through the same layers; how alike they are."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv(1, 8, 3, 2), conv(8, 16, 3, 2), nn.AdaptiveAvgPool2d(2), nn.Flatten()
        )

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """The cosine between both vectors."""
        one, two = (F.normalize(self.body(each), dim=1) for each in (x, y))
        return (one * two).sum(1, keepdim=True)
