"""Compares a random network with onnxruntime: in the interpreter, or in C with random options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from helpers.c_harness import run_c
from helpers.every_operator.draw import Drawn
from helpers.every_operator.network import Array, outputs_of, session_of
from helpers.road import Road, c_files
from npu_dialect.interpreters import run_function
from npu_tools.compiling.check import RELATIVE
from npu_tools.importers.onnx import import_model
from npu_tools.verifying.exact_reference import with_exact_sums
from npu_tools.verifying.judging import TIE
from npu_tools.verifying.layer_by_layer import shifted
from npu_tools.verifying.verify import STEPS, step_of

SHARE = 0.02
"""How far real numbers may be off between pairs, if no step is known: a share of the largest."""


@dataclass(frozen=True)
class Band:
    """The least and the largest number that each element of an output may be."""

    low: Array
    high: Array


def interpreted(drawn: Drawn) -> str:
    """What is wrong with the layers of a network in the interpreter; "" if nothing is.

    Raises: UserError if the importer refuses it.
    """
    module = import_model(drawn.model.SerializeToString(), name="random", base_dir=None)
    module.verify()
    feeds = [drawn.feeds[value.name].copy() for value in drawn.model.graph.input]
    with np.errstate(all="ignore"):
        return difference(drawn, [np.asarray(each) for each in run_function(module, None, feeds)])


def in_c(drawn: Drawn, seed: int, folder: Path, *, check_passes: bool = True) -> str:
    """What is wrong with a network in C, for options that the seed chooses; "" if nothing is.

    Raises: UserError or DiagnosticException if it is refused; AssertionError if the C is wrong.
    """
    road = Road.of(seed)
    road = replace(road, check_passes=road.check_passes and check_passes)
    compiled = road.compile(folder, drawn.model, drawn.feeds)
    outputs = run_c(
        c_files(compiled),
        "net",
        [drawn.feeds[name] for name in compiled.report.inputs],
        [array.shape for array in drawn.wanted],
        output_types=[array.dtype.name.replace("bool", "uint8") for array in drawn.wanted],
        language=road.language,
        in_arena=road.in_arena,
    )
    said = difference(drawn, outputs)
    return f"{said}, {road}" if said else ""


def difference(drawn: Drawn, outputs: Sequence[Array]) -> str:
    """The first output that is not what onnxruntime computes; "" if there is none."""
    names = [value.name for value in drawn.model.graph.output]
    for name, got, band in zip(names, outputs, bands(drawn), strict=True):
        if got.shape != band.low.shape:
            return f"{name}: shape {list(got.shape)}; expected {list(band.low.shape)}"
        found = got.astype(np.float64)
        beyond = np.maximum(band.low - found, found - band.high)
        if not beyond.max(initial=0) <= 0:
            return f"{name}: off by {beyond.max():.3g} among {np.abs(band.high).max():.3g}"
    return ""


def bands(drawn: Drawn) -> Iterator[Band]:
    """What each output may be.

    Between pairs of QuantizeLinear and DequantizeLinear, onnxruntime rounds ties to either side.
    """
    references = [drawn.wanted]
    if drawn.form == "pairs":
        models = [shifted(drawn.model, by) for by in (-TIE, TIE)]
        references += [outputs_of(session_of(each), drawn.feeds) for each in models]
    elif drawn.form == "operators":
        exact = with_exact_sums(drawn.model)
        references = [outputs_of(session_of(exact), drawn.feeds)]
    for value, *arrays in zip(drawn.model.graph.output, *references, strict=True):
        wide = [array.astype(np.float64) for array in arrays]
        largest = max(np.abs(array).max(initial=0) for array in wide)
        room = 2 * RELATIVE * largest + 1e-12 if arrays[0].dtype.kind == "f" else 0.0
        if drawn.form == "pairs":
            step = step_of(drawn.model, value.name)
            room = SHARE * largest + 1e-12 if step is None else (STEPS + 0.01) * step
        yield Band(np.minimum.reduce(wide) - room, np.maximum.reduce(wide) + room)
