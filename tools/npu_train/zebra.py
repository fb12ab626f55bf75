"""Zero block regularisation of feature maps: the module behind a ReLU (paper 003, Zebra, II).

Decision: which blocks of a map are worth keeping. In training a threshold for each channel comes
from a small network, and the loss draws it to the target; at inference the target is the
threshold, and the small network is gone:

    before   x = relu(...)                            [N, C, H, W]
    after    x = relu(...) * keep, where keep is 0 on b x b blocks that are all below the threshold

The evaluation form is the chain that `npu_tools.importers.onnx` takes for `npu.prune_zero_blocks`.
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

    Raises: UserError if the block has no element, or the threshold is negative or not finite.
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
    """Zeroes the blocks of a map [N, C, H, W] whose largest element is below a threshold.

    `block`: rows and columns of a block. Blocks lie side by side from the first element of a
    channel on; those at the right and at the bottom hold what is left, as in
    `npu.prune_zero_blocks`. A threshold of 0 keeps all of a ReLU's output.

    In training with `learned`, the thresholds of a map's channels come from the map itself, by
    global average pooling and a fully connected layer; `thresholds` keeps those of the last
    batch, [N, C], for the loss. Else, and in evaluation, all are `threshold` (paper, II-B), and
    `thresholds` stays None in training.

    Maps are expected to be finite: `npu.prune_zero_blocks` keeps a block with a NaN, and 0 times
    infinity is NaN here.

    Raises: UserError if the block or the threshold cannot be.
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
        if self.network is not None:  # nothing is pruned at first, and no channel starts ahead
            nn.init.zeros_(self.network.weight)
            nn.init.zeros_(self.network.bias)

    def forward(self, x: Tensor) -> Tensor:
        """The map with its unimportant blocks zero, [N, C, H, W]."""
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

        The averages are divided by sqrt(C): the step of a gradient descent on the thresholds is
        then the same for every width, and the learning rate of the network is small enough for it.
        """
        return network(x.mean(dim=(2, 3)) / sqrt(self.channels))

    def extra_repr(self) -> str:
        """Block and threshold, for `print(model)`."""
        return f"{self.channels}, block={self.block}, threshold={self.threshold}"

    def __getstate__(self) -> dict[str, object]:
        """Everything but the thresholds of the last batch: they belong to its graph."""
        return {**self.__dict__, "thresholds": None}


def straight_through(margin: Tensor) -> Tensor:
    """1 where a margin is at least 0, else 0; its gradient is that of a ramp from -1/2 to 1/2.

    The paper does not say how a gradient passes the comparison; this is the usual estimator. It
    reaches the thresholds, and the largest element of each block.
    """
    ramp = (margin + 0.5).clamp(0, 1)
    return (margin >= 0).to(margin.dtype) + (ramp - ramp.detach())


def zebras(model: nn.Module) -> list[Zebra]:
    """The Zebra modules of a network, in the order of its modules."""
    return [module for module in model.modules() if isinstance(module, Zebra)]
