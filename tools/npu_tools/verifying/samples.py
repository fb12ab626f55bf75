"""The inputs on which C and onnxruntime are compared: random ones, or those of an .npz file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, helper

from npu_tools.compiling.check import random_array
from npu_tools.reports.report import Report
from npu_tools.shared.arrays import read_npz
from npu_tools.shared.errors import UserError

Array = npt.NDArray[np.float32]

FLOATS: Mapping[str, np.dtype[Any]] = MappingProxyType({})
"""The element types of a model whose inputs are all float32; missing names mean float32."""


def input_kinds(model: ModelProto) -> dict[str, np.dtype[Any]]:
    """The element types of a model's inputs, by name."""
    kinds = ((value.name, value.type.tensor_type.elem_type) for value in model.graph.input)
    return {name: np.dtype(helper.tensor_dtype_to_np_dtype(kind)) for name, kind in kinds}


def feeds_of(
    report: Report, inputs: Sequence[Array], kinds: Mapping[str, np.dtype[Any]] = FLOATS
) -> dict[str, Any]:
    """Inputs by name, in the types of the model's inputs (default: float32)."""
    # A sample of a scalar input is a numpy scalar, not an array.
    return {
        name: np.asarray(value).astype(kinds.get(name, np.float32), copy=False)
        for name, value in zip(report.inputs, inputs, strict=True)
    }


RUNS = 4
"""The random samples for a network with states: as many runs, one after the other."""


def random_samples(
    report: Report, seed: int, kinds: Mapping[str, np.dtype[Any]] = FLOATS
) -> list[Array]:
    """A random sample for each input of the report, or `RUNS` of them if there are states.

    See `random_array` for the values.
    """
    count = RUNS if report.states else 1
    generator = np.random.default_rng(seed)
    return [
        random_array(generator, (count, *shape), kinds.get(name, np.dtype(np.float32))).astype(
            np.float32
        )
        for name, shape in report.inputs.items()
    ]


def load_samples(report: Report, path: str) -> list[Array]:
    """Read samples from an .npz file with an array for each input; other arrays are ignored.

    An array has the shape of its input, or a multiple of its first extent: several samples.

    Raises: UserError if the file is no .npz, an input is missing, a shape does not fit, or inputs
    have different numbers of samples.
    """
    held = read_npz(Path(path))
    samples: list[Array] = []
    for name, shape in report.inputs.items():
        if name not in held:
            raise UserError(
                f"{path}: no array {name!r}: expected {', '.join(report.inputs)}, "
                f"got {', '.join(held) or 'none'}"
            )
        samples.append(as_samples(f"{path}: {name}", held[name], shape))
    if len({len(value) for value in samples}) > 1:
        counts = ", ".join(f"{name}: {len(v)}" for name, v in zip(report.inputs, samples))
        raise UserError(f"{path}: expected as many samples of each input, got {counts}")
    return samples


def as_samples(what: str, value: Any, shape: tuple[int, ...]) -> Array:
    """An array of one or several samples, as float32 with the samples as a new first axis.

    Raises: UserError if its shape or its element type does not fit.
    """
    array = np.asarray(value)
    fits = array.shape == shape or (
        array.ndim == len(shape) > 0
        and array.shape[1:] == shape[1:]
        and array.shape[0] > 0
        and array.shape[0] % shape[0] == 0
    )
    if not fits or array.dtype.kind not in "fiub":
        raise UserError(
            f"{what}: expected float32 of shape {list(shape)} (or several along the first axis), "
            f"got {array.dtype} of shape {list(array.shape)}"
        )
    return np.ascontiguousarray(array, np.float32).reshape(-1, *shape)
