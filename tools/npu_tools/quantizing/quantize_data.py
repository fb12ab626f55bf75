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


LABELS = "y"
"""The array of class numbers in a file of samples, unless an input has this name."""


def calibration_runs(path: Path, inputs: Mapping[str, tuple[int, ...]]) -> list[Feeds]:
    """The runs of an .npz file on which ranges can be measured; see `runs_of`.

    Raises: UserError or OSError as `runs_of`, and UserError if all numbers of an input are equal:
    its range would be that number alone.
    """
    runs = runs_of(path, read_npz(path), inputs)
    for name in inputs:
        first = runs[0][name].ravel()[0]
        if all((feeds[name] == first).all() for feeds in runs):
            raise UserError(
                f"{path}: array '{name}' holds {first} only; expected typical inputs, which differ"
            )
    return runs


def labelled_runs(
    path: Path, inputs: Mapping[str, tuple[int, ...]]
) -> tuple[list[Feeds], Array | None]:
    """The runs of an .npz file and its array `y`, a class number for each sample, if it has one.

    Raises: UserError or OSError as `runs_of`, and UserError if the labels are no whole numbers or
    not as many as there are samples.
    """
    held = read_npz(path)
    runs = runs_of(path, held, inputs)
    if LABELS not in held or LABELS in inputs:
        return runs, None
    labels = held[LABELS]
    batch = next((shape[0] for shape in inputs.values() if shape), 1)
    if labels.dtype.kind not in "iub" or labels.size != len(runs) * batch:
        raise UserError(
            f"{path}: array '{LABELS}' holds {labels.size} numbers of {labels.dtype}; expected a "
            f"class number, an integer, for each of {len(runs) * batch} samples"
        )
    return runs, labels.ravel()


def runs_of(
    path: Path, held: Mapping[str, Array], inputs: Mapping[str, tuple[int, ...]]
) -> list[Feeds]:
    """The runs of an .npz file's arrays for `inputs`, shapes by name; other arrays are ignored.

    An array holds samples along a new first axis, or along the first axis of its input's shape (the
    batch).

    Raises: UserError if the file is no .npz, if an input is missing, if an array has a wrong shape
    or holds anything but finite numbers, or if inputs have different numbers of samples; OSError if
    the file cannot be read.
    """
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
