"""Reads CIFAR-10 and CIFAR-100 in their published layouts, the python and the binary version.

    data_batch_1 ... data_batch_5, test_batch               pickles: data [n, 3072], labels
    data_batch_1.bin ... data_batch_5.bin, test_batch.bin   n times: a label, 3072 bytes
    train, test                                             pickles: data [n, 3072], fine_labels
    train.bin, test.bin                                     n times: two labels, 3072 bytes

3072 bytes are an image: 32 x 32 of red, then of green, then of blue. Of CIFAR-100's two labels the
second is used, which has 100 classes. The pickles are not trusted; `pickles.py` reads them without
running code.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from npu_tools.shared.errors import UserError
from npu_train.data.images import Classified, Images
from npu_train.data.pickles import byte_array, plain_pickle

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32

Batch = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Layout:
    """The files of a data set.

    `folder` is the beginning of the names of the folders in the published archives, `key` the name
    of the labels in a pickle, `labels` how many bytes of labels an image has in the binary version.
    `mean` and `deviation` are those of the training images by channel, as fractions of 255.
    """

    name: str
    title: str
    classes: tuple[str, ...]
    folder: str
    train: tuple[str, ...]
    test: str
    key: str
    labels: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    expected: str


TEN = Layout(
    "cifar10",
    "CIFAR-10",
    tuple("airplane automobile bird cat deer dog frog horse ship truck".split()),
    "cifar-10-batches",
    tuple(f"data_batch_{number}" for number in range(1, 6)),
    "test_batch",
    "labels",
    1,
    (0.4914, 0.4822, 0.4465),
    (0.2470, 0.2435, 0.2616),
    "data_batch_1 to data_batch_5 and test_batch, or all of them with .bin",
)
HUNDRED = Layout(
    "cifar100",
    "CIFAR-100",
    tuple(str(number) for number in range(100)),
    "cifar-100",
    ("train",),
    "test",
    "fine_labels",
    2,
    (0.5071, 0.4865, 0.4409),
    (0.2673, 0.2564, 0.2762),
    "train and test, or both of them with .bin",
)


def cifar10(folder: Path) -> Classified:
    """Load CIFAR-10 from its folder, or from the one that holds cifar-10-batches-py or -bin.

    Raises: UserError if the folder does not hold it.
    """
    return cifar(folder, TEN)


def cifar100(folder: Path) -> Classified:
    """Load CIFAR-100 from its folder, or from the one that holds cifar-100-python or -binary.

    Raises: UserError if the folder does not hold it.
    """
    return cifar(folder, HUNDRED)


def cifar(folder: Path, layout: Layout) -> Classified:
    """Load a data set from its folder.

    Raises: UserError if the folder does not hold it.
    """
    ends = ("-py", "-bin", "-python", "-binary")
    for place in (folder, *(folder / f"{layout.folder}{end}" for end in ends)):
        for end in ("", ".bin"):
            if (place / f"{layout.train[0]}{end}").is_file():
                return batches(place, end, layout)
    raise UserError(f"{folder}: not {layout.title}: expected {layout.expected}")


def batches(folder: Path, end: str, layout: Layout) -> Classified:
    """Load all batches of a folder; `end` is how their names end.

    Raises: UserError if a batch is missing or damaged.
    """
    read: dict[str, Batch] = {}
    for name in (*layout.train, layout.test):
        path = folder / f"{name}{end}"
        if not path.is_file():
            raise UserError(
                f"{folder}: not {layout.title}: no {path.name}; expected {layout.expected}"
            )
        try:
            reader = binary if end else pickled
            read[name] = checked(*reader(path.read_bytes(), layout), layout)
        except ValueError as error:
            raise UserError(f"{path}: not a batch of {layout.title}: {error}") from None
    train = [read[name] for name in layout.train]
    pixels, labels = (np.concatenate([batch[part] for batch in train]) for part in (0, 1))
    return Classified(
        layout.name,
        layout.classes,
        images(cast("Any", pixels), cast("Any", labels), layout),
        images(*read[layout.test], layout),
        flips=True,
    )


def images(pixels: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64], layout: Layout) -> Images:
    """The images in rows of 3072 bytes."""
    return Images.of(
        np.ascontiguousarray(pixels).reshape(-1, *SHAPE),
        labels,
        255.0,
        layout.mean,
        layout.deviation,
    )


def pickled(data: bytes, layout: Layout) -> Batch:
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
    labels = held.get(layout.key)
    if not isinstance(labels, list) or not all(
        isinstance(label, int) for label in cast("list[object]", labels)
    ):
        raise ValueError(f"expected {layout.key}, a list of integers")
    return byte_array(held.get("data")), np.array(labels, np.int64)


def binary(data: bytes, layout: Layout) -> Batch:
    """Parse a batch of the binary version.

    Raises: ValueError if the file has a wrong length.
    """
    row = PIXELS + layout.labels
    if len(data) % row:
        raise ValueError(f"{len(data)} bytes, expected a multiple of {row}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, row)
    return rows[:, layout.labels :], rows[:, layout.labels - 1].astype(np.int64)


def checked(pixels: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64], layout: Layout) -> Batch:
    """Check a batch, and return it.

    Raises: ValueError if it is empty, if there is not an image for each label, or if a label is no
    class.
    """
    if not len(labels) or pixels.shape != (len(labels), PIXELS):
        raise ValueError(
            f"expected {PIXELS} bytes for each label, got {list(pixels.shape)} for {len(labels)}"
        )
    if labels.min() < 0 or labels.max() >= len(layout.classes):
        raise ValueError(f"expected labels of 0 to {len(layout.classes) - 1}")
    return pixels, labels
