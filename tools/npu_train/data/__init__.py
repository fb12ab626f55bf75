"""Training data, from files that somebody has brought: nothing is fetched.

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
"""What `load` takes."""


def load(text: str) -> Classified:
    """A data set: `NAME`, or `NAME:FOLDER` for one that lies in a folder.

    Raises: UserError if there is no such data set, the folder is not what it says, or a package
    that reads it is missing.
    """
    name, _, folder = text.partition(":")
    if text == "digits":
        return digits()
    if name not in IN_FOLDERS or not folder:
        raise UserError(f"--data {text}: expected {EXPECTED}")
    return IN_FOLDERS[name](Path(folder))
