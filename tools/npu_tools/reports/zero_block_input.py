"""The inputs of `npu-report zero-blocks`: a picture, or arrays from an .npz file.

A picture becomes an input [1, 3, H, W] or [1, 1, H, W]. A float32 input gets (value / 255 - mean) /
deviation for each colour, a uint8 input the bytes themselves.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from xdsl.utils.exceptions import PassFailedException

from npu_dialect.interpreters import Port
from npu_passes.zero_blocks import measure_zero_blocks
from npu_tools.shared.errors import UserError

Array: TypeAlias = NDArray[Any]
Colours: TypeAlias = Sequence[float]

MODES = {1: "L", 3: "RGB"}
"""Pillow's mode for an input of so many channels."""
EIGHT_BITS = ("1", "L", "LA", "P", "RGB", "RGBA")
"""Pillow's modes of pictures with at most 8 bits for each colour."""


def need_matplotlib(what: str) -> None:
    """Check that matplotlib is installed, before the work begins; `what` is the option.

    Raises: UserError that says what to install.
    """
    if find_spec("matplotlib") is None:
        raise UserError(f"{what} needs matplotlib: pip install 'npu-dialect[plot]'")


def samples(path: Path, ports: Sequence[Port]) -> list[list[Array]]:
    """The inputs of each run from an .npz file, as for `npu-compile --calibrate`.

    Raises: UserError if the file cannot be read, or if its arrays do not fit the inputs.
    """
    try:
        return measure_zero_blocks.samples(str(path), ports)
    except PassFailedException as error:
        raise UserError(str(error).removeprefix(f"{measure_zero_blocks.NAME}: ")) from None


def picture(path: Path, ports: Sequence[Port], mean: Colours, deviation: Colours) -> Array:
    """A picture as the array of a network's only input.

    `mean` and `deviation` hold one number for each colour, or one for all colours.

    Raises: UserError if the network's input is not one of [1, 1, H, W] or [1, 3, H, W] of float32
    or uint8, or if the picture has another size.
    """
    if len(ports) != 1:
        names = ", ".join(port.name for port in ports) or "none"
        raise UserError(f"--image: expected a network with one input, got {names}: give --input")
    (port,) = ports
    if len(port.shape) != 4 or port.shape[0] != 1 or port.shape[1] not in MODES:
        raise UserError(
            f"--image: input '{port.name}': expected [1, 1, H, W] or [1, 3, H, W], "
            f"got {list(port.shape)}: give --input"
        )
    if port.dtype.name not in ("float32", "uint8"):
        raise UserError(
            f"--image: input '{port.name}': expected float32 or uint8 elements, got {port.dtype}: "
            "give --input"
        )
    _, channels, height, width = port.shape
    values = read_picture(path, MODES[channels], (width, height))
    if port.dtype.name == "uint8":
        return values.transpose(2, 0, 1)[np.newaxis].copy()
    scales = [
        fitting(name, each, channels) for name, each in (("--mean", mean), ("--std", deviation))
    ]
    scaled = (values / 255 - scales[0]) / scales[1]
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[np.newaxis], np.float32)


def fitting(option: str, values: Colours, channels: int) -> Array:
    """The numbers of an option as an array: one for each channel, or one for all.

    Raises: UserError if there are more or fewer.
    """
    if len(values) not in (1, channels):
        raise UserError(f"{option}: expected {channels} numbers or one, got {len(values)}")
    return np.array(values, np.float64)


def read_picture(path: Path, mode: str, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The colours of a picture, [height, width, colours]; `size` is (width, height).

    Raises: UserError if the file is no picture, or one of another size or with more than 8 bits a
    colour; OSError if it cannot be read.
    """
    data = path.read_bytes()
    pillow: Any = import_module("PIL.Image")
    with catch_warnings():
        simplefilter("ignore")  # Pillow warns of very large pictures; a wrong size is found below
        try:
            opened = pillow.open(io.BytesIO(data))
            if opened.size == size and opened.mode in EIGHT_BITS:
                values = np.asarray(opened.convert(mode), np.uint8)
                return values.reshape(size[1], size[0], -1)
        except Exception:  # Pillow's readers raise all kinds of errors for wrong bytes
            raise UserError(f"{path}: expected a picture, as PNG or in another format") from None
    if opened.size != size:
        raise UserError(
            f"{path}: expected a picture of {size[0]} x {size[1]} (width x height), got "
            f"{opened.size[0]} x {opened.size[1]}"
        )
    raise UserError(f"{path}: expected a picture with 8 bits a colour, got mode {opened.mode}")


def visible(array: Array) -> NDArray[np.float64]:
    """The first sample of an input [N, C, H, W] as an image [H, W, 3] with values from 0 to 1.

    Three channels are taken as colours; any other number is averaged to grey. The smallest value
    becomes 0, the largest 1.
    """
    channels = array[0].astype(np.float64)
    if len(channels) != 3:
        channels = np.repeat(channels.mean(axis=0, keepdims=True), 3, axis=0)
    channels = np.nan_to_num(channels)
    low, high = channels.min(), channels.max()
    scaled = (channels - low) / (high - low) if high > low else np.zeros_like(channels)
    return scaled.transpose(1, 2, 0)
