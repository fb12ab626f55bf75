"""Zero block regularisation of feature maps: a module after each ReLU (paper 003, Zebra, II).

It sets blocks of small values to zero. In training, a small network computes a threshold for each
channel, and the loss pulls it towards the target. At inference the target itself is the threshold,
and the small network is not used:

    before   x = relu(...)                            [N, C, H, W]
    after    x = relu(...) * keep, where keep is 0 on b x b blocks that are all below the threshold

`npu_tools.importers.onnx` imports the exported evaluation form as `npu.prune_zero_blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

import torch.nn.functional as F
from torch import Tensor, nn

from npu_tools.shared.errors import UserError


@dataclass(frozen=True)
class ZebraOptions:
    """Block size and target threshold of all Zebra modules of a network.

    Raises: UserError if the block is below 1, or the threshold is negative or not finite.
    """

    block: int
    threshold: float

    def __post_init__(self) -> None:
        """Check both numbers."""
        if self.block < 1:
            raise UserError(f"block size {self.block}: expected at least 1")
        if not (isfinite(self.threshold) and self.threshold >= 0):
            raise UserError(f"threshold {self.threshold}: expected a finite number of at least 0")


class Zebra(nn.Module):
    """Sets blocks of a map [N, C, H, W] to zero if their largest element is below a threshold.

    `block` is the number of rows and columns of a block. Blocks are tiles that start at the first
    element of a channel; those at the right and bottom edges may be smaller, as in
    `npu.prune_zero_blocks`. A threshold of 0 keeps all of a ReLU's output.

    In training with `learned`, the thresholds of the channels are computed from the map by global
    average pooling and a fully connected layer. `thresholds` holds those of the last batch, [N, C],
    for the loss. In evaluation all thresholds are `threshold` (paper, II-B). Without `learned` this
    is so in training too, and `thresholds` stays None.

    Maps must be finite: 0 times infinity is NaN here, and `npu.prune_zero_blocks` keeps a block
    with a NaN.

    Raises: UserError if the block is below 1, or the threshold is negative or not finite.
    """

    thresholds: Tensor | None

    def __init__(self, channels: int, block: int, threshold: float, learned: bool = True) -> None:
        super().__init__()
        options = ZebraOptions(block, threshold)
        self.channels = channels
        self.block = options.block
        self.threshold = options.threshold
        self.thresholds = None
        self.network = nn.Linear(channels, channels) if learned else None
        if self.network is not None:  # all thresholds start at 0, so nothing is pruned at first
            nn.init.zeros_(self.network.weight)
            nn.init.zeros_(self.network.bias)

    def forward(self, x: Tensor) -> Tensor:
        """The map [N, C, H, W] with blocks below their thresholds set to zero."""
        size = self.block
        maxima = F.max_pool2d(x, size, size, ceil_mode=True)
        if self.training and self.network is not None:
            self.thresholds = self.learned_thresholds(x, self.network)
            keep = straight_through(maxima - self.thresholds[:, :, None, None])
        else:
            keep = (maxima >= self.threshold).to(x.dtype)
        keep = F.interpolate(keep, scale_factor=size, mode="nearest")
        height, width = x.shape[2:]
        if height % size or width % size:
            keep = keep[:, :, :height, :width]
        return x * keep

    def learned_thresholds(self, x: Tensor, network: nn.Linear) -> Tensor:
        """The threshold of each channel of each image, [N, C].

        The averages are divided by sqrt(C). Then a step of gradient descent changes the thresholds
        equally for every number of channels, and the network's learning rate is small enough.
        """
        return network(x.mean(dim=(2, 3)) / sqrt(self.channels))

    def extra_repr(self) -> str:
        """Channels, block and threshold, for `print(model)`."""
        return f"{self.channels}, block={self.block}, threshold={self.threshold}"

    def __getstate__(self) -> dict[str, object]:
        """The state without the last batch's thresholds, which belong to its autograd graph."""
        return {**self.__dict__, "thresholds": None}


def straight_through(margin: Tensor) -> Tensor:
    """1 where a margin is at least 0, else 0; its gradient is that of a ramp from -1/2 to 1/2.

    The paper does not say how gradients pass the comparison. This is the usual straight-through
    estimator. Gradients reach the thresholds and the largest element of each block.
    """
    ramp = (margin + 0.5).clamp(0, 1)
    return (margin >= 0).to(margin.dtype) + (ramp - ramp.detach())


def zebras(model: nn.Module) -> list[Zebra]:
    """The Zebra modules of a network, in the order of its modules."""
    return [module for module in model.modules() if isinstance(module, Zebra)]
