"""The form that all data sets have after they are loaded.

Images stay bytes or float32 until a batch needs them. Then they become float32 [C, H, W],
normalised by the mean and the deviation of each channel, on the device that trains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import Dataset

from npu_tools.shared.errors import UserError

Array = npt.NDArray[Any]

from_numpy: Callable[[Array], Tensor] = import_module("torch").from_numpy  # has no types


@dataclass(frozen=True)
class Images(Dataset[tuple[Tensor, int]]):
    """Images with a label each.

    `load` returns image i, [C, H, W], of bytes or float32; `labels` is [N]. An item is (image /
    `scale` - `mean`) / `deviation`, with a mean and a deviation for each channel. `held` are all
    images [N, C, H, W] if they are in memory.
    """

    load: Callable[[int], Array]
    labels: npt.NDArray[np.int64]
    scale: float = 1.0
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)
    held: Array | None = None

    @staticmethod
    def of(
        images: Array,
        labels: npt.NDArray[np.int64],
        scale: float = 1.0,
        mean: tuple[float, ...] = (0.0,),
        deviation: tuple[float, ...] = (1.0,),
    ) -> Images:
        """Images [N, C, H, W] that are in memory."""
        return Images(images.__getitem__, labels, scale, mean, deviation, images)

    def __len__(self) -> int:
        """The number of images."""
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """An image, float32 [C, H, W], and its label."""
        return self.normalised(torch.tensor(self.load(index))), int(self.labels[index])

    def raw(self, indices: Sequence[int]) -> Tensor:
        """The images of some indices as they are stored, [N, C, H, W]."""
        if self.held is not None:
            return from_numpy(self.held[np.asarray(indices, np.int64)])
        return from_numpy(np.stack([self.load(index) for index in indices]))

    def normalised(self, raw: Tensor) -> Tensor:
        """Stored images [..., C, H, W] in float32, normalised, on the device where they are."""
        mean, deviation = (
            torch.tensor(each, device=raw.device)[:, None, None]
            for each in (self.mean, self.deviation)
        )
        return (raw.float() / self.scale - mean) / deviation

    def subset(self, indices: npt.NDArray[np.int64]) -> Images:
        """Some of the images, in the order of the indices."""
        labels = self.labels[indices]
        if self.held is not None:
            return Images.of(self.held[indices], labels, self.scale, self.mean, self.deviation)
        some = Some(self.load, tuple(int(index) for index in indices))
        return Images(some, labels, self.scale, self.mean, self.deviation)


@dataclass(frozen=True)
class Some:
    """Loads image `indices[i]` as image i."""

    load: Callable[[int], Array]
    indices: tuple[int, ...]

    def __call__(self, index: int) -> Array:
        """Load an image."""
        return self.load(self.indices[index])


@dataclass(frozen=True)
class Classified:
    """A data set: images to train on, and images that are held out from training.

    `classes`: the name of the class of each label. `flips`: whether training shifts and mirrors
    images at random; a mirrored image must belong to the same class. `validation`: images to decide
    by, if `held_out` must not be read before the end.
    """

    name: str
    classes: tuple[str, ...]
    train: Images
    held_out: Images
    flips: bool = False
    validation: Images | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The channels of an image, and its rows, which are as many as its columns."""
        image, _ = self.train[0]
        return image.shape[0], image.shape[1]

    @property
    def watched(self) -> Images:
        """The images that each epoch's accuracy is of."""
        return self.held_out if self.validation is None else self.validation


def together(images: Images, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The images of some indices as a batch [N, C, H, W], and their labels [N]."""
    return images.normalised(images.raw(indices)), from_numpy(images.labels[list(indices)])


def needs(package: str, what: str) -> UserError:
    """The error for a missing package of the extra `train`."""
    return UserError(f"{what} needs {package}: pip install 'npu-dialect[train]'")
