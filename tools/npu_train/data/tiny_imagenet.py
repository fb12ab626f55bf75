"""Reads Tiny-ImageNet in its published layout; Pillow decodes an image each time it is needed.

train/WNID/images/*.JPEG    the folder WNID is the class
val/images/*.JPEG           val/val_annotations.txt has the class: file, WNID, a box
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

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet by channel, as fractions of 255."""
ANNOTATIONS = "val_annotations.txt"


@dataclass(frozen=True)
class Decoder:
    """Decodes file number `index` to bytes [3, size, size]."""

    paths: tuple[Path, ...]
    size: int

    def __call__(self, index: int) -> npt.NDArray[np.uint8]:
        """Decode an image.

        Raises: UserError if the file is no JPEG image, or has another size; it names the file.
        """
        image = decoded(self.paths[index])
        if image.shape[1:] != (self.size, self.size):
            rows, columns = image.shape[1:]
            raise UserError(
                f"{self.paths[index]}: expected {self.size} x {self.size} pixels as of the first "
                f"image, got {rows} x {columns}"
            )
        return image


def tiny_imagenet(folder: Path) -> Classified:
    """Load Tiny-ImageNet from its folder; the images in val are held out from training.

    Raises: UserError if the folder does not hold it, or if Pillow is not installed.
    """
    classes = tuple(sorted(path.parent.name for path in (folder / "train").glob("*/images")))
    if not classes:
        raise wrong(folder, "no train/*/images")
    numbers = {name: number for number, name in enumerate(classes)}
    train = [
        (path, number)
        for name, number in numbers.items()
        for path in sorted((folder / "train" / name / "images").glob("*.JPEG"))
    ]
    if not train:
        raise wrong(folder, "no .JPEG in train/*/images")
    held_out = annotated(folder, numbers)
    size = decoded(train[0][0]).shape[1]
    return Classified(
        "tiny-imagenet", classes, images(train, size), images(held_out, size), flips=True
    )


def wrong(folder: Path, what: str) -> UserError:
    """The error for a folder that does not hold Tiny-ImageNet; `what` says what is wrong."""
    return UserError(
        f"{folder}: not Tiny-ImageNet: {what}; expected train/WNID/images/*.JPEG, "
        f"val/images/*.JPEG and val/{ANNOTATIONS}"
    )


def annotated(folder: Path, numbers: dict[str, int]) -> list[tuple[Path, int]]:
    """The images in val with their labels; `numbers` are the labels by class.

    Raises: UserError if the annotations are missing or empty, or if a line is wrong.
    """
    path = folder / "val" / ANNOTATIONS
    if not path.is_file():
        raise wrong(folder, f"no val/{ANNOTATIONS}")
    found: list[tuple[Path, int]] = []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for place, line in enumerate(lines, 1):
        name, _, rest = line.partition("\t")
        label = numbers.get(rest.partition("\t")[0])
        image = folder / "val" / "images" / name
        if label is None or not image.is_file():
            raise UserError(
                f"{path}:{place}: expected the name of a file in val/images, a tab, and a class "
                f"that has a folder in train, got {line!r}"
            )
        found.append((image, label))
    if not found:
        raise wrong(folder, f"val/{ANNOTATIONS} is empty")
    return found


def images(files: list[tuple[Path, int]], size: int) -> Images:
    """Images that are decoded each time they are read."""
    labels = np.array([label for _, label in files], np.int64)
    decoder = Decoder(tuple(path for path, _ in files), size)
    return Images(decoder, labels, 255.0, MEAN, DEVIATION)


def decoded(path: Path) -> npt.NDArray[np.uint8]:
    """Decode a JPEG file to bytes [3, rows, columns]; grey images get three equal channels.

    Raises: UserError if the file is no JPEG image, or if Pillow is not installed.
    """
    try:
        pillow: Any = import_module("PIL.Image")
    except ImportError:
        raise needs("Pillow", "--data tiny-imagenet") from None
    try:
        with pillow.open(path, formats=("JPEG",)) as image:
            return np.asarray(image.convert("RGB"), np.uint8).transpose(2, 0, 1)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError):
        raise UserError(f"{path}: not a JPEG image") from None
