"""Transformers and their relatives."""

# torch is typed in part; it need not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """Attention with several heads, written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """The mixed tokens [N, T, width]."""
        batch, tokens, width = x.shape
        parts = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-2, -1) * self.scale).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    """A transformer's block, normalised first."""

    def __init__(self, width: int, heads: int, factor: int = 2) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix = Attention(width, heads)
        self.dense = nn.Sequential(
            nn.Linear(width, factor * width), nn.GELU(), nn.Linear(factor * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """The tokens."""
        x = x + self.mix(self.norm1(x))
        return x + self.dense(self.norm2(x))


class ViT(nn.Module):
    """A vision transformer with a class token."""

    def __init__(self, size: int = 32, patch: int = 8, width: int = 32, depth: int = 2) -> None:
        super().__init__()
        tokens = (size // patch) ** 2
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, tokens + 1, width) * 0.1)
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(depth)))
        self.norm, self.scores = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of an image."""
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        token = self.token.expand(x.shape[0], -1, -1)
        y = self.blocks(torch.cat([token, tokens], 1) + self.places)
        return self.scores(self.norm(y)[:, 0])


class CompactTransformer(nn.Module):
    """CCT: convolutions make the tokens, attention pools them."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.tokens = nn.Sequential(
            nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(width, width, 3, 2, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        self.blocks = nn.Sequential(Block(width, 2), Block(width, 2), nn.LayerNorm(width))
        self.pool, self.scores = nn.Linear(width, 1), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of an image."""
        y = self.blocks(self.tokens(x).flatten(2).transpose(1, 2))
        shares = self.pool(y).softmax(1)
        return self.scores((shares.transpose(1, 2) @ y).squeeze(1))


class KeywordTransformer(nn.Module):
    """Keyword spotting by attention over frames."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.frames = nn.Linear(40, width)
        self.blocks = nn.Sequential(Block(width, 3), Block(width, 3))
        self.scores = nn.Linear(width, 12)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of frames [N, T, 40]."""
        return self.scores(self.blocks(self.frames(x)).mean(1))


class Mixer(nn.Module):
    """MLP-Mixer's block: dense layers over tokens, then over channels."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_tokens = nn.Sequential(
            nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens)
        )
        self.over_channels = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """The tokens."""
        x = x + self.over_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.over_channels(self.norm2(x))


class MlpMixer(nn.Module):
    """A small MLP-Mixer."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.blocks = nn.Sequential(Mixer(16, width), Mixer(16, width), nn.LayerNorm(width))
        self.scores = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of an image."""
        return self.scores(self.blocks(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


def encoder() -> nn.Module:
    """torch's own encoder layer, normalised last, with ReLU."""
    return nn.TransformerEncoderLayer(24, 2, 48, batch_first=True)


def encoder_first() -> nn.Module:
    """torch's own encoder layer, normalised first, with GELU."""
    return nn.TransformerEncoderLayer(
        24, 2, 48, activation="gelu", batch_first=True, norm_first=True
    )


class Fused(nn.Module):
    """torch's own attention function with a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x: Tensor) -> Tensor:
        """The mixed tokens."""
        q, k, v = self.qkv(x).unsqueeze(1).chunk(3, -1)
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
