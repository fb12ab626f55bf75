"""Reads image files from a folder for each class.

    DIR/CLASS/*.png          a fifth of each class is held out from training
    DIR/train/CLASS/*.png    DIR/test/CLASS or DIR/val/CLASS are held out; with both, DIR/val is for
                             validation

Pillow decodes an image each time it is needed, and brings it to one size: the largest square in its
middle, scaled.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_tools.shared.errors import UserError
from npu_train.data.images import Classified, Images, needs
from npu_train.data.splits import split
from npu_train.data.tiny_imagenet import DEVIATION, MEAN

ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".webp")
FORMATS = ("BMP", "JPEG", "PNG", "PPM", "WEBP")
SIZE = 64
HELD_OUT = 0.2
SPLIT_SEED = 20200507
LARGEST = 4096
"""Most rows of an image after scaling."""


@dataclass(frozen=True)
class Scaled:
    """Decodes file number `index` to bytes [3, size, size]."""

    paths: tuple[Path, ...]
    size: int

    def __call__(self, index: int) -> npt.NDArray[np.uint8]:
        """Decode an image.

        Raises: UserError if the file is no image; it names the file.
        """
        return decoded(self.paths[index], self.size)


def folder(place: Path, size: int | None = None) -> Classified:
    """Load the images of a folder, scaled to `size` rows and columns.

    Raises: UserError if it has not two classes with images, or if Pillow is not installed.
    """
    size = SIZE if size is None else size
    if size > LARGEST:
        raise UserError(f"--image-size {size}: expected at most {LARGEST}")
    whole = not (place / "train").is_dir()
    train = place if whole else place / "train"
    classes = names(train)
    if len(classes) < 2:
        raise UserError(f"{train}: expected a folder for each of at least two classes")
    images = images_of(train, classes, size)
    decoded(images[0][0], size)  # a missing Pillow is found before the first epoch
    parts = {
        name: made(images_of(place / name, classes, size), size)
        for name in ("test", "val")
        if not whole and (place / name).is_dir()
    }
    found = made(images, size)
    if not parts:
        found, held_out = split(found, HELD_OUT, SPLIT_SEED)
        return Classified("folder", classes, found, held_out)
    if len(parts) == 1:
        return Classified("folder", classes, found, next(iter(parts.values())))
    return Classified("folder", classes, found, parts["test"], validation=parts["val"])


def names(place: Path) -> tuple[str, ...]:
    """The names of the folders in a folder, without hidden ones.

    Raises: UserError if it cannot be read.
    """
    try:
        found = sorted(path.name for path in place.iterdir() if path.is_dir())
    except OSError as error:
        raise UserError(f"{place}: {error.strerror}; expected a folder for each class") from None
    return tuple(name for name in found if not name.startswith("."))


def images_of(place: Path, classes: tuple[str, ...], size: int) -> list[tuple[Path, int]]:
    """The image files of all classes with their labels.

    Raises: UserError if a class has none, or if there is a folder of another class.
    """
    found: list[tuple[Path, int]] = []
    for name in names(place):
        if name not in classes:
            raise UserError(f"{place / name}: no such class is trained; expected one of {classes}")
    for label, name in enumerate(classes):
        files = [
            path
            for path in sorted((place / name).glob("*"))
            if path.suffix.lower() in ENDINGS and path.is_file()
        ]
        if not files:
            raise UserError(f"{place / name}: no image; expected files with {', '.join(ENDINGS)}")
        found += [(path, label) for path in files]
    return found


def made(files: list[tuple[Path, int]], size: int) -> Images:
    """Images that are decoded each time they are read."""
    labels = np.array([label for _, label in files], np.int64)
    scaled = Scaled(tuple(path for path, _ in files), size)
    return Images(scaled, labels, 255.0, MEAN, DEVIATION)


def decoded(path: Path, size: int) -> npt.NDArray[np.uint8]:
    """Decode an image file to bytes [3, size, size]; grey images get three equal channels.

    Raises: UserError if the file is no image, or if Pillow is not installed.
    """
    try:
        pillow: Any = import_module("PIL.Image")
        operations: Any = import_module("PIL.ImageOps")
    except ImportError:
        raise needs("Pillow", "--data folder") from None
    try:
        with pillow.open(path, formats=FORMATS) as image:
            upright = operations.exif_transpose(image).convert("RGB")
            fitted = operations.fit(upright, (size, size))
            return np.asarray(fitted, np.uint8).transpose(2, 0, 1)
    except Exception:  # Pillow raises exceptions of many types for damaged files
        raise UserError(f"{path}: not an image of {', '.join(FORMATS)}") from None
