"""Small data sets in the layouts of the published ones."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_train.data.images import Classified, Images

Pixels = npt.NDArray[np.uint8]
NAMES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")


def pixels(count: int, seed: int = 0) -> Pixels:
    """Random images of 3072 bytes each."""
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), np.uint8)


def cifar_python(
    folder: Path, *, protocol: int = 2, count: int = 4, changed: Mapping[bytes, Any] | None = None
) -> None:
    """Write CIFAR-10's python version, `count` images a batch; `changed`: keys of the last one."""
    for seed, name in enumerate((*NAMES, "test_batch")):
        batch: dict[bytes, Any] = {
            b"batch_label": name.encode(),
            b"labels": [(seed + place) % 10 for place in range(count)],
            b"data": pixels(count, seed),
            b"filenames": [b"x.png"] * count,
        }
        if name == "test_batch":
            batch |= changed or {}
        # The published files are of Python 2, whose strings are bytes.
        (folder / name).write_bytes(pickle.dumps(batch, protocol=protocol))


def cifar_binary(folder: Path, count: int = 4) -> None:
    """Write CIFAR-10's binary version, with the same images."""
    for seed, name in enumerate((*NAMES, "test_batch")):
        labels = np.array([(seed + place) % 10 for place in range(count)], np.uint8)
        rows = np.concatenate([labels[:, None], pixels(count, seed)], axis=1)
        (folder / f"{name}.bin").write_bytes(rows.tobytes())


def jpeg(path: Path, shape: Sequence[int] = (64, 64, 3), level: int = 128) -> None:
    """Write a JPEG file of one colour."""
    image: Any = import_module("PIL.Image")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.fromarray(np.full(tuple(shape), level, np.uint8)).save(path, format="JPEG")


def tiny_imagenet(folder: Path) -> None:
    """Write a Tiny-ImageNet: two classes, three images to train (one is grey), one to validate."""
    jpeg(folder / "train/n01/images/n01_0.JPEG", level=10)
    jpeg(folder / "train/n01/images/n01_1.JPEG", (64, 64), level=20)
    jpeg(folder / "train/n02/images/n02_0.JPEG", level=30)
    jpeg(folder / "val/images/val_0.JPEG", level=40)
    (folder / "val/val_annotations.txt").write_text("val_0.JPEG\tn02\t0\t0\t62\t62\n")


def squares(count: int = 64, size: int = 8) -> Classified:
    """A small data set that is easy to learn: a bright square at the left or at the right."""
    generator = np.random.default_rng(0)
    labels = np.arange(count) % 2
    images = generator.random((count, 1, size, size)).astype(np.float32) / 4
    for image, label in zip(images, labels, strict=True):
        image[0, 2:6, 4 * label : 4 * label + 4] += 1
    half = count // 2
    return Classified(
        "squares",
        ("left", "right"),
        Images.of(images[:half], labels[:half].astype(np.int64)),
        Images.of(images[half:], labels[half:].astype(np.int64)),
    )
