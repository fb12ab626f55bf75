"""The handwritten digits that come with scikit-learn: 1 797 images of 8 x 8, 17 levels of grey.

They are enlarged to 32 x 32, the size for which the networks for CIFAR-10 are made. Black is 0,
like the padding of convolutions.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_train.data.images import Classified, Images, needs

SIZE = 32
HELD_OUT = 447
"""How many images are held out from training: about a quarter."""
SPLIT_SEED = 20200507
LEVELS = 16.0


def digits() -> Classified:
    """Load the digits, [N, 1, 32, 32] in [0, 1]; the split into two sets is always the same.

    Raises: UserError if scikit-learn is not installed.
    """
    try:
        datasets: Any = import_module("sklearn.datasets")
    except ImportError:
        raise needs("scikit-learn", "--data digits") from None
    found = datasets.load_digits()
    images = enlarged(np.asarray(found.images, np.float64) / LEVELS, SIZE)[:, np.newaxis]
    labels = np.asarray(found.target, np.int64)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(images))
    held_out, train = order[:HELD_OUT], order[HELD_OUT:]
    return Classified(
        "digits",
        tuple(str(digit) for digit in range(10)),
        Images.of(images[train].astype(np.float32), labels[train]),
        Images.of(images[held_out].astype(np.float32), labels[held_out]),
    )


def enlarged(images: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Enlarge images [N, n, n] to [N, size, size], linearly between the middles of pixels."""
    count = images.shape[1]
    at = ((np.arange(size) + 0.5) * count / size - 0.5).clip(0, count - 1)
    low = np.minimum(at.astype(np.int64), count - 2)
    weights = np.zeros((size, count))
    weights[np.arange(size), low] = 1 - (at - low)
    weights[np.arange(size), low + 1] = at - low
    return np.einsum("yi,nij,xj->nyx", weights, images, weights)
