"""Batches of images from a data set, and their random variation, as in training on CIFAR-10.

Worker processes may read and decode the images. A batch travels as it is stored; it is normalised,
shifted and mirrored on the device that trains. So the result does not depend on the workers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from npu_tools.shared.errors import UserError
from npu_train.data.images import Images, from_numpy

BORDER = 4
"""Most pixels by which training shifts an image, as is usual for CIFAR-10."""

Batch = tuple[Tensor, Tensor, Tensor]
"""Stored images [N, C, H, W], their labels [N], and their indices in the data set [N]."""


@dataclass(frozen=True)
class Reading:
    """How batches are read: by how many worker processes, and into pinned memory or not."""

    workers: int = 0
    pinned: bool = False


@dataclass(frozen=True)
class Stored(Dataset[Any]):
    """The images of a data set in batches, as they are stored."""

    images: Images

    def __len__(self) -> int:
        """The number of images."""
        return len(self.images)

    def __getitem__(self, index: int) -> Batch:
        """A batch of one image."""
        return self.__getitems__([index])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """A batch of the images of some indices, which the loader asks for at once."""
        labels = from_numpy(self.images.labels[list(indices)])
        return self.images.raw(indices), labels, torch.tensor(indices)


def batches(
    images: Images,
    order: Iterable[int],
    size: int,
    reading: Reading = Reading(),
    *,
    whole: bool = False,
) -> DataLoader[Any]:
    """The images of some indices in batches of `size`; with `whole`, without a smaller last one."""
    sampler: Any = order
    made: Any = as_it_is
    return DataLoader(
        Stored(images),
        size,
        sampler=sampler,
        drop_last=whole,
        collate_fn=made,
        num_workers=reading.workers,
        pin_memory=reading.pinned,
        generator=torch.Generator(),  # not torch's own, which a network may draw from
    )


def as_it_is(batch: Batch) -> Batch:
    """The batch, which is made already."""
    return batch


def delivered(loader: DataLoader[Any]) -> Generator[Batch]:
    """The batches of a loader.

    Raises: UserError if an image cannot be read, or if a worker process ends.
    """
    try:
        yield from loader
    except UserError as error:  # torch puts a worker's whole traceback into the message
        *_, last = str(error).splitlines()
        name = f"{UserError.__name__}: "
        raise UserError(last.partition(name)[2] if name in last else last) from None
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        reason = str(error).partition("\n")[0]
        raise UserError(f"{reason}: fewer --workers may help") from None


class Variation:
    """Shifts and mirrors training images at random; seed and epoch decide how, for each index."""

    def __init__(self, count: int, seed: int, epoch: int) -> None:
        generator = np.random.default_rng((seed, epoch))
        self.shifts = from_numpy(generator.integers(0, 2 * BORDER + 1, (2, count)))
        self.mirrored = from_numpy(generator.random(count) < 0.5)

    def applied(self, images: Tensor, indices: Tensor) -> Tensor:
        """The images [N, C, H, W] of some indices, with zeros where they were shifted away."""
        count, channels, rows, columns = images.shape
        place = images.device
        down, right = self.shifts[:, indices].to(place)
        across = torch.arange(columns, device=place).expand(count, columns)
        mirrored = self.mirrored[indices].to(place)[:, None]
        across = torch.where(mirrored, across.flip(1), across) + right[:, None]
        along = torch.arange(rows, device=place) + down[:, None]
        return F.pad(images, (BORDER,) * 4)[
            torch.arange(count, device=place)[:, None, None, None],
            torch.arange(channels, device=place)[:, None, None],
            along[:, None, :, None],
            across[:, None, None, :],
        ]
