"""Reads images and labels from an .npz file, under the names of Keras or of MedMNIST.

    x_train, y_train, x_test, y_test                                     x_val, y_val may be there
    train_images, train_labels, test_images, test_labels                 and val_images, val_labels

Without test images a fifth of each class is held out from training. Images are [N, H, W],
[N, H, W, C] or [N, C, H, W] with at most four channels. Bytes are normalised by the mean and the
deviation of the training images; floats are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_tools.shared.arrays import read_npz
from npu_tools.shared.errors import UserError
from npu_train.data.images import Classified, Images
from npu_train.data.splits import split

Array = npt.NDArray[Any]

STYLES = (("x_{}", "y_{}"), ("{}_images", "{}_labels"))
CHANNELS = 4
CLASSES = 100_000
"""More classes than any data set has: a larger label is a mistake."""
HELD_OUT = 0.2
SPLIT_SEED = 20200507


def arrays(path: Path) -> Classified:
    """Load a data set from an .npz file.

    Raises: UserError if the file cannot be read, or holds something else.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file; expected an .npz file")
    try:
        held = read_npz(path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    train = part(path, held, "train")
    if train is None:
        raise UserError(
            f"{path}: expected the arrays x_train and y_train, or train_images and train_labels, "
            f"got {', '.join(held) or 'none'}"
        )
    test, validation = part(path, held, "test"), part(path, held, "val")
    if test is None:
        train, test = split(train, HELD_OUT, SPLIT_SEED)
    others = [test] if validation is None else [test, validation]
    shape, count = train.load(0).shape, int(train.labels.max()) + 1
    for other in others:
        if other.load(0).shape != shape or other.labels.max() >= count:
            raise UserError(f"{path}: expected images and labels for tests as those for training")
    if train.scale != 1:
        assert train.held is not None
        mean, deviation = statistics(train.held)
        train, *others = [
            replace(each, mean=mean, deviation=deviation) for each in (train, *others)
        ]
    classes = tuple(str(label) for label in range(count))
    return Classified("npz", classes, train, others[0], validation=next(iter(others[1:]), None))


def part(path: Path, held: Mapping[str, Array], name: str) -> Images | None:
    """The images and labels of a part, such as `train`; None if there are none.

    Raises: UserError if they do not fit together.
    """
    for style in STYLES:
        images, labels = (form.format(name) for form in style)
        if images in held and labels in held:
            pixels = channels_first(path, images, held[images])
            scale = 255.0 if pixels.dtype == np.uint8 else 1.0
            return Images.of(pixels, checked(path, labels, held[labels], len(pixels)), scale)
    return None


def channels_first(path: Path, name: str, images: Array) -> Array:
    """Images as [N, C, H, W] of bytes or float32.

    Raises: UserError if they are no square images, or not finite.
    """
    shape = images.shape
    if images.ndim == 3:
        images = images[:, np.newaxis]
    elif images.ndim == 4 and shape[1] > CHANNELS >= shape[3]:
        images = images.transpose(0, 3, 1, 2)
    square = images.ndim == 4 and images.shape[2] == images.shape[3]
    if not square or 0 in images.shape or images.shape[1] > CHANNELS:
        raise UserError(
            f"{path}: {name} is {list(shape)}, expected square images [N, H, W], [N, H, W, C] or "
            f"[N, C, H, W] with at most {CHANNELS} channels"
        )
    if images.dtype == np.uint8:
        return np.ascontiguousarray(images)
    if images.dtype.kind != "f" or not np.isfinite(images).all():
        raise UserError(f"{path}: {name} is {images.dtype}, expected uint8 or finite floats")
    return np.ascontiguousarray(images, np.float32)


def checked(path: Path, name: str, labels: Array, count: int) -> npt.NDArray[np.int64]:
    """The labels of `count` images, [N].

    Raises: UserError if they are others.
    """
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind not in "iu" or labels.shape != (count,):
        raise UserError(
            f"{path}: {name} is {labels.dtype} {list(labels.shape)}, expected {count} integers"
        )
    if labels.min() < 0 or labels.max() >= CLASSES:
        raise UserError(f"{path}: {name}: expected labels from 0 to less than {CLASSES}")
    return labels.astype(np.int64)


def statistics(images: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and the deviation of each channel of images of bytes, as fractions of 255."""
    count = images.shape[0] * images.shape[2] * images.shape[3]
    sums = images.sum((0, 2, 3), dtype=np.float64)
    squares = [
        float((images[:, each].astype(np.float32) ** 2).sum(dtype=np.float64))
        for each in range(images.shape[1])
    ]
    mean = sums / count
    variance = np.maximum(np.array(squares) / count - mean**2, 0)
    deviation = np.sqrt(variance) / 255
    return tuple(float(each) for each in mean / 255), tuple(float(d) or 1.0 for d in deviation)
