"""Networks on sequences: one-dimensional convolutions, recurrent layers, point clouds."""

# torch is typed in part; it need not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def kws_1d() -> nn.Module:
    """Keyword spotting by one-dimensional convolutions over 40 features."""
    return nn.Sequential(
        nn.Conv1d(40, 32, 9, 2, 4),
        nn.BatchNorm1d(32),
        nn.ReLU(),
        nn.Conv1d(32, 32, 9, 2, 4, groups=32),
        nn.Conv1d(32, 48, 1),
        nn.ReLU(),
        nn.MaxPool1d(2),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(48, 12),
    )


class Causal(nn.Module):
    """A dilated convolution that sees the past only, with a residual."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.past = 2 * dilation
        self.conv = nn.Conv1d(channels, channels, 3, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        """The block's map."""
        return x + F.relu(self.conv(F.pad(x, (self.past, 0))))


def tcn() -> nn.Module:
    """A temporal convolutional network."""
    return nn.Sequential(
        nn.Conv1d(20, 16, 1),
        *(Causal(16, 2**i) for i in range(4)),
        nn.AdaptiveMaxPool1d(1),
        nn.Flatten(),
        nn.Linear(16, 12),
    )


class Gated(nn.Module):
    """WaveNet's unit: tanh times sigmoid, a residual and a skip."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.both = nn.Conv1d(channels, 2 * channels, 2, dilation=dilation)
        self.out = nn.Conv1d(channels, channels, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The residual sum and the skip."""
        left, right = self.both(F.pad(x, (self.dilation, 0))).chunk(2, 1)
        y = self.out(torch.tanh(left) * torch.sigmoid(right))
        return x + y, y


class WaveNet(nn.Module):
    """A small WaveNet."""

    def __init__(self) -> None:
        super().__init__()
        self.start, self.end = nn.Conv1d(1, 8, 1), nn.Conv1d(8, 16, 1)
        self.units = nn.ModuleList(Gated(8, 2**i) for i in range(5))

    def forward(self, x: Tensor) -> Tensor:
        """Scores of 16 levels for each sample."""
        x, total = self.start(x), torch.zeros(())
        for unit in self.units:
            x, skip = unit(x)
            total = total + skip
        return self.end(F.relu(total))


class Points(nn.Module):
    """PointNet: the same layers for each point, then the maximum over all."""

    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Sequential(
            nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 64, 1), nn.ReLU()
        )
        self.scores = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x: Tensor) -> Tensor:
        """Scores of a cloud [N, 3, points]."""
        return self.scores(torch.max(self.each(x), 2)[0])


class Recurrent(nn.Module):
    """A recurrent layer, and scores from its last state."""

    def __init__(self, layer: nn.RNNBase, width: int) -> None:
        super().__init__()
        self.layer, self.scores = layer, nn.Linear(width, 12)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of a sequence [N, T, features]."""
        return self.scores(self.layer(x)[0][:, -1])


def gru() -> nn.Module:
    """Keyword spotting by a GRU."""
    return Recurrent(nn.GRU(20, 24, batch_first=True), 24)


def lstm() -> nn.Module:
    """A classifier of sequences by an LSTM in both directions."""
    return Recurrent(nn.LSTM(20, 16, batch_first=True, bidirectional=True), 32)


def ecg() -> nn.Module:
    """A one-dimensional residual network for heartbeats."""

    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv1d(channels, channels, 5, padding=2),
                nn.LeakyReLU(),
                nn.Conv1d(channels, channels, 5, padding=2),
            )

        def forward(self, x: Tensor) -> Tensor:
            return F.max_pool1d(F.leaky_relu(x + self.body(x)), 5, 2)

    return nn.Sequential(
        nn.Conv1d(1, 16, 5), Block(16), Block(16), nn.Flatten(), nn.Linear(16 * 20, 5)
    )
