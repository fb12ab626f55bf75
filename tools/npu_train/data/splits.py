"""Splits images in two parts at random, each with the same share of every class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npu_tools.shared.errors import UserError
from npu_train.data.images import Classified, Images


def split(images: Images, share: float, seed: int) -> tuple[Images, Images]:
    """The images without a share of each class, and that share.

    Each class keeps at least one image in the first part. The seed decides which images go.

    Raises: UserError if no image goes.
    """
    generator = np.random.default_rng(seed)
    kept: list[int] = []
    taken: list[int] = []
    for label in np.unique(images.labels):
        places = generator.permutation(np.flatnonzero(images.labels == label)).tolist()
        count = min(round(share * len(places)), len(places) - 1)
        taken += places[:count]
        kept += places[count:]
    if not taken:
        raise UserError(f"{len(images)} images are too few to set a share of {share:g} apart")
    first, second = (np.array(sorted(part), np.int64) for part in (kept, taken))
    return images.subset(first), images.subset(second)


def with_validation(data: Classified, share: float, seed: int) -> Classified:
    """The data set with a share of its training images as validation images; as it is for 0.

    Raises: UserError if the share is not in [0, 1), or if it takes no image.
    """
    if not 0 <= share < 1:
        raise UserError(f"--validation {share}: expected at least 0 and less than 1")
    if not share:
        return data
    train, validation = split(data.train, share, seed)
    return replace(data, train=train, validation=validation)
