"""Reads calibration data: the inputs on which the ranges of a float model's maps are measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from npu_tools.shared.arrays import read_npz
from npu_tools.shared.errors import UserError

Array: TypeAlias = npt.NDArray[Any]
Feeds: TypeAlias = dict[str, Array]
"""The inputs of one run of a model: an array for each, by name."""


def calibration_runs(path: Path, inputs: Mapping[str, tuple[int, ...]]) -> list[Feeds]:
    """Read the runs of an .npz file for `inputs`, shapes by name; other arrays are ignored.

    An array holds samples along a new first axis, or along the first axis of its input's shape (the
    batch).

    Raises: UserError if the file is no .npz, if an input is missing, if an array has a wrong shape
    or holds anything but finite numbers, or if inputs have different numbers of samples; OSError if
    the file cannot be read.
    """
    held = read_npz(path)
    samples: dict[str, Array] = {}
    for name, shape in inputs.items():
        if name not in held:
            raise UserError(
                f"{path}: no array '{name}'; expected {', '.join(inputs)}, "
                f"found {', '.join(held) or 'none'}"
            )
        samples[name] = as_samples(f"{path}: array '{name}'", held[name], shape)
    counts = {name: len(array) for name, array in samples.items()}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise UserError(f"{path}: expected as many samples of each input, found {text}")
    runs = range(next(iter(counts.values()), 0))
    return [{name: array[run] for name, array in samples.items()} for run in runs]


def as_samples(what: str, array: Array, shape: tuple[int, ...]) -> Array:
    """An array as float32 samples of `shape` along a new first axis.

    Raises: UserError if its shape does not fit, or if it holds anything but finite numbers.
    """
    if array.dtype.kind not in "fiub":
        raise UserError(f"{what} holds {array.dtype} elements; expected float32")
    stacked = array.ndim == len(shape) + 1 and array.shape[1:] == shape
    batches = array.ndim == len(shape) > 0 and array.shape[1:] == shape[1:]
    if array.size == 0 or not (stacked or (batches and array.shape[0] % shape[0] == 0)):
        raise UserError(
            f"{what} has shape {list(array.shape)}; expected samples of shape {list(shape)}, "
            "several along the first axis"
        )
    with np.errstate(over="ignore"):
        samples = np.ascontiguousarray(array, np.float32).reshape(-1, *shape)
    finite = np.isfinite(samples.reshape(len(samples), -1)).all(axis=1)
    if not finite.all():
        index = int(np.argmin(finite))
        wrong = samples[index][~np.isfinite(samples[index])].reshape(-1)[0]
        raise UserError(f"{what} holds {wrong} in sample {index}; expected finite float32 numbers")
    return samples
