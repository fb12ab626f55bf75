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


class Matchbox(nn.Module):
    """MatchboxNet's block: separable one-dimensional convolutions and a residual."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(inputs, inputs, kernel, padding=kernel // 2, groups=inputs),
            nn.Conv1d(inputs, outputs, 1),
            nn.BatchNorm1d(outputs),
        )
        self.short = nn.Sequential(nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """The block's map."""
        return F.relu(self.body(x) + self.short(x))


def matchbox() -> nn.Module:
    """A small MatchboxNet for keywords, on 64 features."""
    return nn.Sequential(
        nn.Conv1d(64, 32, 11, 2, 5),
        Matchbox(32, 16, 13),
        Matchbox(16, 16, 15),
        nn.Conv1d(16, 32, 9, padding=8, dilation=2),
        nn.ReLU(),
        nn.Conv1d(32, 12, 1),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.LogSoftmax(1),
    )


class Broadcasted(nn.Module):
    """BC-ResNet's block: features of all frequencies are added to each of them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.over_frequency = nn.Sequential(
            nn.Conv2d(channels, channels, (3, 1), padding=(1, 0), groups=channels),
            nn.BatchNorm2d(channels),
        )
        self.over_time = nn.Sequential(
            nn.Conv2d(channels, channels, (1, 3), padding=(0, 1), groups=channels),
            nn.BatchNorm2d(channels),
            nn.SiLU(),
            nn.Conv2d(channels, channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """The block's map [N, C, frequencies, T]."""
        y = self.over_frequency(x)
        return F.relu(x + y + self.over_time(y.mean(2, keepdim=True)))


def bc_resnet() -> nn.Module:
    """A small BC-ResNet for keywords."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, (2, 1), 2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        Broadcasted(16),
        Broadcasted(16),
        nn.Conv2d(16, 12, (5, 1)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


class UNet1d(nn.Module):
    """A U-Net along one axis, as for the separation of sounds."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = nn.Conv1d(1, 8, 15, 2, 7), nn.Conv1d(8, 16, 15, 2, 7)
        self.up2 = nn.ConvTranspose1d(16, 8, 4, 2, 1)
        self.up1 = nn.ConvTranspose1d(16, 8, 4, 2, 1)
        self.last = nn.Conv1d(9, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Two sources of a sound [N, 1, T]."""
        a = F.leaky_relu(self.down1(x), 0.2)
        b = F.relu(self.up2(F.leaky_relu(self.down2(a), 0.2)))
        c = F.relu(self.up1(torch.cat([a, b], 1)))
        return torch.tanh(self.last(torch.cat([x, c], 1)))


class TurnedPoints(nn.Module):
    """PointNet with the net that turns the cloud by a matrix of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(nn.Conv1d(3, 16, 1), nn.ReLU(), nn.Conv1d(16, 32, 1))
        self.matrix = nn.Linear(32, 9)
        self.points = Points()

    def forward(self, x: Tensor) -> Tensor:
        """Scores of a cloud [N, 3, points]."""
        turn = self.matrix(self.look(x).amax(2)).view(-1, 3, 3) + torch.eye(3)
        return self.points(turn @ x)


class Spotter(nn.Module):
    """A convolutional recurrent network: frames by convolution, then a GRU."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = nn.Sequential(nn.Conv2d(1, 8, (8, 5), (4, 2)), nn.ReLU())
        self.layer = nn.GRU(64, 16, batch_first=True, bidirectional=True)
        self.scores = nn.Linear(32, 12)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of a spectrogram [N, 1, T, 20]."""
        y = self.frames(x).permute(0, 2, 1, 3).flatten(2)
        return self.scores(self.layer(y)[0][:, -1])
