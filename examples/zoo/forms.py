"""The forms in which a network of the zoo is compiled: as it is, or quantised in several ways.

npu-quantize makes two of them. The others come from onnxruntime's own `quantize_static`, with all
operators that it knows, but those at maps that a mask of minus infinity makes infinite: it gives
them infinite scales, and its model computes zeros.
"""

# onnxruntime's quantiser has no types.
# pyright: basic

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from npu_tools.commands import quantize
from npu_tools.quantizing.infinite_maps import infinite_maps, nodes_in_float

Form = Callable[[Path, Path], str]
"""Writes a quantised model: model, output. Returns what is wrong, or ""."""

SAMPLES = 4
"""The samples of random numbers that a network is calibrated on."""


def feeds_of(model: Path) -> list[dict[str, np.ndarray]]:
    """Seeded random inputs of a model."""
    random, graph = np.random.default_rng(1), onnx.load(model).graph
    weights = {tensor.name for tensor in graph.initializer}
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in graph.input
        if value.name not in weights
    }
    return [
        {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(SAMPLES)
    ]


def by_tool(*options: str, model: Path, output: Path) -> str:
    """Quantise a model with npu-quantize."""
    feeds, data = feeds_of(model), output.with_suffix(".npz")
    joined = {name: np.stack([each[name] for each in feeds]) for name in feeds[0]}
    batched = {name: array.reshape(-1, *array.shape[2:]) for name, array in joined.items()}
    same = all(each.shape[0] == 1 for each in feeds[0].values())
    np.savez(data, **(batched if same else joined))  # pyright: ignore[reportArgumentType]
    errors = StringIO()
    command = [str(model), "--calibrate", str(data), "-o", str(output), *options]
    with redirect_stderr(errors), redirect_stdout(StringIO()):
        status = quantize.main(command)
    return errors.getvalue().strip().splitlines()[-1] if status else ""


def by_runtime(form: str, kind: str, *, model: Path, output: Path, per_channel: bool) -> str:
    """Quantise a model with onnxruntime's `quantize_static`; `kind` is that of the maps."""
    from onnxruntime import quantization as ort

    samples = feeds_of(model)
    feeds = iter(samples)

    class Reader(ort.CalibrationDataReader):
        """Reads the samples one by one."""

        def get_next(self) -> Any:
            return next(feeds, None)

    kinds = {"int8": ort.QuantType.QInt8, "uint8": ort.QuantType.QUInt8}
    prepared = output.with_suffix(".prepared.onnx")
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        try:
            ort.shape_inference.quant_pre_process(
                str(model), str(prepared), skip_symbolic_shape=True
            )
            simplified = onnx.load(prepared)
            in_float = nodes_in_float(simplified, infinite_maps(simplified, samples))
            onnx.save(simplified, prepared)
            ort.quantize_static(
                str(prepared),
                str(output),
                Reader(),
                quant_format=ort.QuantFormat[form],
                activation_type=kinds[kind],
                weight_type=ort.QuantType.QInt8,
                per_channel=per_channel,
                nodes_to_exclude=in_float,
            )
        except Exception as error:  # the quantiser's own limit, of many types
            return f"onnxruntime: {type(error).__name__}: {error}".splitlines()[0]
        finally:
            logging.disable(level)
    return ""


def _runtime(form: str, kind: str, *, per_channel: bool) -> Form:
    return lambda model, output: by_runtime(
        form, kind, model=model, output=output, per_channel=per_channel
    )


def _tool(*options: str) -> Form:
    return lambda model, output: by_tool(*options, model=model, output=output)


FORMS: Mapping[str, Form | None] = {
    "float": None,
    "qdq": _tool(),
    "operators": _tool("--format", "operators"),
    "qdq-u8": _runtime("QDQ", "uint8", per_channel=False),
    "operators-i8": _runtime("QOperator", "int8", per_channel=True),
    "operators-u8": _runtime("QOperator", "uint8", per_channel=False),
}
"""The forms by name; None is the model as it is."""
