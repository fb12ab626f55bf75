"""Data sets for training. They are read from local files or packages; nothing is downloaded.

load("digits")  load("cifar10:FOLDER")  load("folder:FOLDER", size=64)  load("npz:FILE")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from npu_tools.shared.errors import UserError
from npu_train.data.arrays import arrays
from npu_train.data.cifar import cifar10, cifar100
from npu_train.data.digits import digits
from npu_train.data.folders import folder
from npu_train.data.images import Classified, Images, together
from npu_train.data.splits import with_validation
from npu_train.data.tiny_imagenet import tiny_imagenet

__all__ = ["EXPECTED", "Classified", "Images", "load", "together", "with_validation"]

AT_PATHS: Mapping[str, Callable[[Path], Classified]] = MappingProxyType(
    {
        "cifar10": cifar10,
        "cifar100": cifar100,
        "tiny-imagenet": tiny_imagenet,
        "folder": folder,
        "npz": arrays,
    }
)
EXPECTED = (
    "digits, cifar10:FOLDER, cifar100:FOLDER, tiny-imagenet:FOLDER, folder:FOLDER or npz:FILE"
)
"""The forms of text that `load` accepts, for messages."""


def load(text: str, size: int | None = None) -> Classified:
    """Load a data set from `NAME`, or from `NAME:PATH` if it lies in a folder or file.

    `size`: the rows and columns to which the images of `folder:` are scaled.

    Raises: UserError if there is no such data set, if the path does not hold it, if a package is
    missing that reads it, or if `size` is given for other data than a folder's.
    """
    name, _, path = text.partition(":")
    if size is not None and name != "folder":
        raise UserError(f"--image-size {size}: only --data folder:FOLDER scales its images")
    if text == "digits":
        return digits()
    if name not in AT_PATHS or not path:
        raise UserError(f"--data {text}: expected {EXPECTED}")
    if name == "folder":
        return folder(Path(path), size)
    return AT_PATHS[name](Path(path))
