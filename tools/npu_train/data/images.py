"""What a training set is, whatever files it came from.

Images are bytes or float32 until a batch needs them; then they become float32 [C, H, W], by the
mean and the deviation of each channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import Dataset

from npu_tools.shared.errors import UserError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Images(Dataset[tuple[Tensor, int]]):
    """Images with a label each.

    `load` gives image i, [C, H, W], of bytes or of float32; `labels` [N]. What comes out is
    (image / `scale` - `mean`) / `deviation`, the last two by channel.
    """

    load: Callable[[int], Array]
    labels: npt.NDArray[np.int64]
    scale: float = 1.0
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)

    @staticmethod
    def of(
        images: Array,
        labels: npt.NDArray[np.int64],
        scale: float = 1.0,
        mean: tuple[float, ...] = (0.0,),
        deviation: tuple[float, ...] = (1.0,),
    ) -> Images:
        """Images [N, C, H, W] that are in memory."""
        return Images(images.__getitem__, labels, scale, mean, deviation)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """An image, float32 [C, H, W], and its label."""
        image = torch.tensor(np.asarray(self.load(index), np.float32)) / self.scale
        mean, deviation = (
            torch.tensor(each)[:, None, None] for each in (self.mean, self.deviation)
        )
        return (image - mean) / deviation, int(self.labels[index])


@dataclass(frozen=True)
class Classified:
    """A data set: images to train on, and images that are never trained on.

    `classes`: what the labels mean. `flips`: whether an image in a mirror is one of its class, so
    that training may show mirrored and shifted ones.
    """

    name: str
    classes: tuple[str, ...]
    train: Images
    held_out: Images
    flips: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Channels, and rows or columns, of an image."""
        image, _ = self.held_out[0]
        return image.shape[0], image.shape[1]


def together(images: Images, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Some images as a batch [N, C, H, W], and their labels [N]."""
    pairs = [images[index] for index in indices]
    return torch.stack([image for image, _ in pairs]), torch.tensor([label for _, label in pairs])


def needs(package: str, what: str) -> UserError:
    """What to raise if a package of the extra is missing."""
    return UserError(f"{what} needs {package}: pip install 'npu-dialect[train]'")
