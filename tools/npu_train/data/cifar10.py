"""Reads CIFAR-10 in its two published layouts, the python version and the binary version.

    data_batch_1 ... data_batch_5, test_batch               pickles: data [n, 3072], labels
    data_batch_1.bin ... data_batch_5.bin, test_batch.bin   n times: a label, 3072 bytes

3072 bytes are an image: 32 x 32 of red, then of green, then of blue. The pickles are not trusted;
`pickles.py` reads them without running code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from npu_tools.shared.errors import UserError
from npu_train.data.images import Classified, Images
from npu_train.data.pickles import byte_array, plain_pickle

CLASSES = tuple("airplane automobile bird cat deer dog frog horse ship truck".split())
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
MEAN = (0.4914, 0.4822, 0.4465)
DEVIATION = (0.2470, 0.2435, 0.2616)
"""Mean and standard deviation of the training images by channel, as fractions of 255."""

TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = "test_batch"
EXPECTED = "data_batch_1 to data_batch_5 and test_batch, or all of them with .bin"

Batch = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]


def cifar10(folder: Path) -> Classified:
    """Load CIFAR-10 from its folder, or from the one that holds cifar-10-batches-py or -bin.

    Raises: UserError if the folder does not hold it.
    """
    places = (folder, folder / "cifar-10-batches-py", folder / "cifar-10-batches-bin")
    for place in places:
        for end, reader in (("", pickled), (".bin", binary)):
            if (place / f"{TRAIN[0]}{end}").is_file():
                return batches(place, end, reader)
    raise UserError(f"{folder}: not CIFAR-10: expected {EXPECTED}")


def batches(folder: Path, end: str, reader: Callable[[bytes], Batch]) -> Classified:
    """Load all batches of a folder; `end` is how their names end, `reader` parses one file.

    Raises: UserError if a batch is missing or damaged.
    """
    read: dict[str, Batch] = {}
    for name in (*TRAIN, TEST):
        path = folder / f"{name}{end}"
        if not path.is_file():
            raise UserError(f"{folder}: not CIFAR-10: no {path.name}; expected {EXPECTED}")
        try:
            read[name] = checked(*reader(path.read_bytes()))
        except ValueError as error:
            raise UserError(f"{path}: not a batch of CIFAR-10: {error}") from None
    train = [read[name] for name in TRAIN]
    return Classified(
        "cifar10",
        CLASSES,
        images(
            np.concatenate([one for one, _ in train]), np.concatenate([two for _, two in train])
        ),
        images(*read[TEST]),
        flips=True,
    )


def images(pixels: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64]) -> Images:
    """The images in rows of 3072 bytes."""
    return Images.of(pixels.reshape(-1, *SHAPE), labels, 255.0, MEAN, DEVIATION)


def pickled(data: bytes) -> Batch:
    """Parse a batch of the python version.

    Raises: ValueError if it is none.
    """
    found: Any = plain_pickle(data)
    if not isinstance(found, dict):
        raise ValueError("expected a dictionary with data and labels")
    held = {
        key.decode("latin1") if isinstance(key, bytes) else key: value
        for key, value in cast("dict[object, object]", found).items()
    }
    labels = held.get("labels")
    if not isinstance(labels, list) or not all(
        isinstance(label, int) for label in cast("list[object]", labels)
    ):
        raise ValueError("expected labels, a list of integers")
    return byte_array(held.get("data")), np.array(labels, np.int64)


def binary(data: bytes) -> Batch:
    """Parse a batch of the binary version.

    Raises: ValueError if the file has a wrong length.
    """
    if len(data) % (PIXELS + 1):
        raise ValueError(f"{len(data)} bytes, expected a multiple of {PIXELS + 1}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, PIXELS + 1)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def checked(pixels: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64]) -> Batch:
    """Check a batch, and return it.

    Raises: ValueError if it is empty, if there is not an image for each label, or if a label is no
    class.
    """
    if not len(labels) or pixels.shape != (len(labels), PIXELS):
        raise ValueError(
            f"expected {PIXELS} bytes for each label, got {list(pixels.shape)} for {len(labels)}"
        )
    if labels.min() < 0 or labels.max() >= len(CLASSES):
        raise ValueError(f"expected labels of 0 to {len(CLASSES) - 1}")
    return pixels, labels
