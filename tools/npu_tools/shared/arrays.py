"""Reads numpy arrays from users' files."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import error as ZlibError

import numpy as np
import numpy.typing as npt
from numpy.lib.format import read_array

from npu_tools.shared.errors import UserError

DAMAGED = (
    AttributeError,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    TypeError,
    ValueError,
    BadZipFile,
    ZlibError,
)
"""The exceptions that numpy and zipfile raise for damaged files."""


def read_npz(path: Path) -> Mapping[str, npt.NDArray[Any]]:
    """Read the arrays of an .npz file, by name.

    Raises: UserError if it is no .npz file, or holds pickled objects; OSError if it cannot be read.
    """
    data = path.read_bytes()
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except DAMAGED:
        pass
    raise UserError(f"{path}: expected an .npz file of numbers, as numpy.savez writes it")


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Read the array of an .npy file.

    Raises: UserError if it is no .npy file, or holds pickled objects; OSError if it cannot be read.
    """
    data = path.read_bytes()
    try:
        return read_array(io.BytesIO(data), allow_pickle=False)
    except DAMAGED:
        pass
    raise UserError(f"{path}: expected an .npy file of numbers, as numpy.save writes it")
