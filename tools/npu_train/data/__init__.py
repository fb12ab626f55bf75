"""Data sets for training. They are read from local files or packages; nothing is downloaded.

load("digits")  load("cifar10:FOLDER")  load("tiny-imagenet:FOLDER")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from npu_tools.shared.errors import UserError
from npu_train.data.cifar10 import cifar10
from npu_train.data.digits import digits
from npu_train.data.images import Classified, Images, together
from npu_train.data.tiny_imagenet import tiny_imagenet

__all__ = ["EXPECTED", "Classified", "Images", "load", "together"]

IN_FOLDERS: Mapping[str, Callable[[Path], Classified]] = MappingProxyType(
    {"cifar10": cifar10, "tiny-imagenet": tiny_imagenet}
)
EXPECTED = "digits, cifar10:FOLDER or tiny-imagenet:FOLDER"
"""The forms of text that `load` accepts, for messages."""


def load(text: str) -> Classified:
    """Load a data set from `NAME`, or from `NAME:FOLDER` if it lies in a folder.

    Raises: UserError if there is no such data set, if the folder does not hold it, or if a package
    is missing that reads it.
    """
    name, _, folder = text.partition(":")
    if text == "digits":
        return digits()
    if name not in IN_FOLDERS or not folder:
        raise UserError(f"--data {text}: expected {EXPECTED}")
    return IN_FOLDERS[name](Path(folder))
