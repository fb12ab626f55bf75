"""The form that all data sets have after they are loaded.

Images stay bytes or float32 until a batch needs them. Then they become float32 [C, H, W],
normalised by the mean and the deviation of each channel.
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

    `load` returns image i, [C, H, W], of bytes or float32; `labels` is [N]. An item is (image /
    `scale` - `mean`) / `deviation`, with a mean and a deviation for each channel.
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
        """The number of images."""
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
    """A data set: images to train on, and images that are held out from training.

    `classes`: the name of the class of each label. `flips`: whether training shifts and mirrors
    images at random; a mirrored image must belong to the same class.
    """

    name: str
    classes: tuple[str, ...]
    train: Images
    held_out: Images
    flips: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """The channels of an image, and its rows, which are as many as its columns."""
        image, _ = self.held_out[0]
        return image.shape[0], image.shape[1]


def together(images: Images, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The images of some indices as a batch [N, C, H, W], and their labels [N]."""
    pairs = [images[index] for index in indices]
    return torch.stack([image for image, _ in pairs]), torch.tensor([label for _, label in pairs])


def needs(package: str, what: str) -> UserError:
    """The error for a missing package of the extra `train`."""
    return UserError(f"{what} needs {package}: pip install 'npu-dialect[train]'")
