"""Reads pickles of plain data and arrays of bytes without running any code that they name.

A pickle may call any function by its name. Those of CIFAR-10 name three of numpy, which make
arrays. Here stand-ins replace them, which only keep their arguments. So numpy's code never gets a
state that an attacker may have made up. Any other name is an error.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt


class Kind:
    """Stands in for numpy.dtype; `code` is its argument, such as `u1`."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        """Ignore byte order and fields, which bytes do not have."""


class Raw:
    """Stands in for numpy.ndarray: `state` is (version, shape, type, order, bytes)."""

    def __init__(self) -> None:
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        """Keep the state."""
        self.state = state


def reconstruct(*_: object) -> Raw:
    """Stands in for numpy's `_reconstruct`, which makes an empty array."""
    return Raw()


def encode(text: object, encoding: object) -> bytes:
    """Stands in for `_codecs.encode`, with which newer pickles of protocol 2 make bytes.

    Raises: UnpicklingError for anything but text in latin1.
    """
    if not isinstance(text, str) or encoding != "latin1":
        raise pickle.UnpicklingError("_codecs.encode of something that is no latin1")
    return text.encode("latin1")


ALLOWED: Mapping[tuple[str, str], Callable[..., Any]] = MappingProxyType(
    {
        ("numpy.core.multiarray", "_reconstruct"): reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): reconstruct,
        ("numpy", "ndarray"): Raw,
        ("numpy", "dtype"): Kind,
        ("_codecs", "encode"): encode,
    }
)


class PlainUnpickler(pickle.Unpickler):
    """An unpickler that finds the names in `ALLOWED` only."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """The stand-in for a name.

        Raises: UnpicklingError if the name is not allowed.
        """
        found = ALLOWED.get((module_name, global_name))
        if found is None:
            raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")
        return found


def plain_pickle(data: bytes) -> Any:
    """Read a pickle; its arrays become `Raw` objects. Strings of Python 2 are read as latin1.

    Raises: ValueError if it is no pickle of plain data.
    """
    try:
        return PlainUnpickler(io.BytesIO(data), encoding="latin1").load()
    except Exception as error:  # damaged pickles raise exceptions of many types
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ValueError(f"no pickle of plain data: {reason}") from None


def byte_array(value: object) -> npt.NDArray[np.uint8]:
    """The array of bytes that a `Raw` stands for.

    Raises: ValueError if it stands for another kind of array, or if bytes and shape do not fit.
    """
    match value.state if isinstance(value, Raw) else None:
        case (_, tuple() as shape, Kind(code="u1"), order, str() | bytes() as content):  # pyright: ignore[reportUnknownVariableType]
            pass
        case _:
            raise ValueError("no array of bytes")
    sizes: list[int] = [size for size in shape if isinstance(size, int) and size >= 0]  # pyright: ignore[reportUnknownVariableType]
    held = content.encode("latin1") if isinstance(content, str) else content
    if len(sizes) != len(shape) or prod(sizes) != len(held):  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError("an array whose bytes do not fit its shape")
    return np.frombuffer(held, np.uint8).reshape(sizes, order="F" if order else "C")
