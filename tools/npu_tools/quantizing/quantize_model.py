"""Post-training static quantisation by onnxruntime's quantiser, which is an optional dependency.

The model is simplified first (batch normalisations become part of convolutions, constants are
folded), then it runs on the calibration data while the range of every map is measured, then maps,
weights and biases get scales and zero points. All of that is onnxruntime's; here are its options,
and what it leaves in files, on the terminal and in the log is kept away.
"""

from __future__ import annotations

import io
import logging
import tempfile
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from onnx import ModelProto, numpy_helper, version_converter
from onnx.shape_inference import infer_shapes

from npu_tools.importers.onnx.errors import first_line
from npu_tools.importers.onnx.load import DOMAINS, default_opset
from npu_tools.quantizing.quantize_data import Feeds
from npu_tools.shared.errors import UserError

Format: TypeAlias = Literal["qdq", "operators"]
Activations: TypeAlias = Literal["int8", "uint8"]
Method: TypeAlias = Literal["minmax", "entropy", "percentile"]

OPSET = 13
"""The first opset whose QuantizeLinear knows one scale for each filter."""
QUANTISED = tuple(
    "Add AveragePool Clip Concat Conv Flatten Gemm GlobalAveragePool MatMul MaxPool Pad Relu "
    "Reshape Squeeze Transpose Unsqueeze".split()
)
"""Operators that work on integers once they are imported; all others stay in float32."""
WITH_WEIGHTS = frozenset(("Conv", "Gemm", "MatMul"))
"""Operators worth to be quantised; without one of them there is no quantised network."""
RUNS_AT_ONCE = 32
"""How many runs to keep in memory where only the least and the largest values matter."""
ENTROPY_BINS = 1024
"""Bins of the histogram in which entropy looks for 128; onnxruntime's own 128 leave no choice."""
GIVEN = ("_scale", "_zero_point", "_quantized", "_QuantizeLinear", "_DequantizeLinear", "_Output")
"""How names end that the quantiser gives, without a look at those that are there."""
ALREADY = ("DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear", "QLinear", "QGemm")
"""How the names of operators of quantised models start."""


@dataclass(frozen=True)
class Recipe:
    """How to quantise: each field is the option of npu-quantize of that name."""

    format: Format = "qdq"
    activations: Activations = "int8"
    method: Method = "minmax"
    per_channel: bool = True
    """One scale for each filter of a weight, or one for the whole of it."""


def need_quantiser() -> None:
    """Check that onnxruntime is there, before the work begins.

    Raises: UserError that says what to install.
    """
    if find_spec("onnxruntime") is None:
        raise UserError("quantising needs onnxruntime: pip install 'npu-dialect[quantize]'")


def check_floats(model: ModelProto) -> None:
    """Check that there is something to quantise.

    Raises: UserError for a model that is quantised already, or has no weights, or such of
    infinite numbers.
    """
    for node in model.graph.node:
        if node.op_type.startswith(ALREADY):
            raise UserError(
                f"node '{node.name or node.output[0]}' ({node.op_type}): the model is quantised "
                "already; expected a model of float32"
            )
    if not any(node.op_type in WITH_WEIGHTS for node in model.graph.node):
        raise UserError(f"nothing to quantise; expected {', '.join(sorted(WITH_WEIGHTS))}")
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        for name in node.input[1:] if node.op_type in WITH_WEIGHTS else ():
            if name in tensors and not np.isfinite(numpy_helper.to_array(tensors[name])).all():
                raise UserError(
                    f"node '{node.name or node.output[0]}' ({node.op_type}): tensor '{name}' holds "
                    "infinite numbers, or what is none; expected finite numbers"
                )


def quantised(model: ModelProto, runs: Sequence[Feeds], recipe: Recipe) -> ModelProto:
    """A quantised model, from a checked one and calibration data; the same for the same input.

    Raises: UserError for what onnxruntime does not do.
    """
    with tempfile.TemporaryDirectory(prefix="npu-quantize-") as folder, quiet():
        try:
            prepared = simplified(at_least_opset(model), Path(folder))
            return cleaned(static(prepared, runs, recipe, Path(folder)))
        except UserError:
            raise
        except Exception as error:  # onnxruntime's exceptions share no public base
            raise UserError(f"onnxruntime cannot quantise it: {first_line(error)}") from error


@contextmanager
def quiet() -> Generator[None]:
    """Keep what the quantiser logs and prints from the terminal."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def at_least_opset(model: ModelProto) -> ModelProto:
    """The model in an opset that knows scales of filters."""
    return (
        model if default_opset(model) >= OPSET else version_converter.convert_version(model, OPSET)
    )


def simplified(model: ModelProto, folder: Path) -> ModelProto:
    """The model as onnxruntime simplifies it for any machine, with the shapes of its maps."""
    ort: Any = import_module("onnxruntime")
    path = folder / "simplified.onnx"
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    prepared = infer_shapes(without_clashes(ModelProto.FromString(path.read_bytes())))
    import_module("onnxruntime.quantization.quant_utils").add_pre_process_metadata(prepared)
    return prepared


def without_clashes(model: ModelProto) -> ModelProto:
    """The model without names that the quantiser gives, and without "" at the end of inputs."""
    graph = model.graph
    ports = {value.name for value in (*graph.input, *graph.output)}
    taken = ports | {tensor.name for tensor in graph.initializer}
    taken |= {name for node in graph.node for name in node.output}
    new: dict[str, str] = {}
    for name in sorted(taken - ports):
        if name.endswith(GIVEN):
            other = name + "_"
            while other in taken:
                other += "_"
            taken.add(other)
            new[name] = other
    for tensor in graph.initializer:
        tensor.name = new.get(tensor.name, tensor.name)
    for node in graph.node:
        while node.input and not node.input[-1]:
            del node.input[-1]
        for names in (node.input, node.output):
            for index, name in enumerate(names):
                names[index] = new.get(name, name)
    del graph.value_info[:]
    return model


def static(model: ModelProto, runs: Sequence[Feeds], recipe: Recipe, folder: Path) -> ModelProto:
    """What onnxruntime's static quantisation makes of a model; it needs a folder for its files.

    This is its `quantize_static`, which does not let the number of bins through.
    """
    ort: Any = import_module("onnxruntime.quantization")
    elements = {"int8": ort.QuantType.QInt8, "uint8": ort.QuantType.QUInt8}
    ranges = measured_ranges(model, runs, recipe.method, folder)
    tail: tuple[Any, ...] = (
        ort.QuantType.QInt8,
        elements[recipe.activations],
        ranges,
        [],  # all nodes ...
        [],  # ... and no exceptions
        list(QUANTISED),
        {"MatMulConstBOnly": True},
    )
    head = (model, recipe.per_channel, False)
    if recipe.format == "qdq":
        quantizer = ort.QDQQuantizer(*head, *tail)
    else:
        mode = ort.QuantizationMode.QLinearOps
        quantizer = ort.onnx_quantizer.ONNXQuantizer(*head, mode, True, *tail)
    quantizer.quantize_model()
    path = folder / "quantised.onnx"
    quantizer.model.save_model_to_file(str(path), False)
    return ModelProto.FromString(path.read_bytes())


def measured_ranges(
    model: ModelProto, runs: Sequence[Feeds], method: Method, folder: Path
) -> object:
    """The range of each map, in onnxruntime's own form."""
    ort: Any = import_module("onnxruntime.quantization")
    methods: dict[Method, tuple[Any, dict[str, int]]] = {
        "minmax": (ort.CalibrationMethod.MinMax, {}),
        "entropy": (ort.CalibrationMethod.Entropy, {"num_bins": ENTROPY_BINS}),
        "percentile": (ort.CalibrationMethod.Percentile, {}),
    }
    path = folder / "prepared.onnx"
    path.write_bytes(model.SerializeToString())
    calibrator = ort.create_calibrator(
        path,
        list(QUANTISED),
        augmented_model_path=str(folder / "augmented.onnx"),
        calibrate_method=methods[method][0],
        extra_options=methods[method][1],
    )
    step = RUNS_AT_ONCE if method == "minmax" else len(runs)
    for first in range(0, len(runs), step):
        calibrator.collect_data(reader(runs[first : first + step]))
    ranges: Any = calibrator.compute_data()
    for name, data in ranges.items():
        low, high = data.range_value
        if not (np.isfinite(low) and np.isfinite(high)):
            raise UserError(
                f"map '{name}' is not finite on the calibration data; expected finite numbers"
            )
    return ranges


def reader(runs: Sequence[Feeds]) -> object:
    """What hands out the runs one by one, then None."""
    ort: Any = import_module("onnxruntime.quantization")
    feeds = iter(runs)

    class Reader(ort.CalibrationDataReader):
        """Reads from memory."""

        def get_next(self) -> Feeds | None:
            return next(feeds, None)

    return Reader()


def cleaned(model: ModelProto) -> ModelProto:
    """The model without what is not needed to read it: shapes, notes, domains of no node."""
    del model.graph.value_info[:]
    del model.metadata_props[:]
    used = {node.domain for node in model.graph.node} & DOMAINS
    kept = [entry for entry in model.opset_import if entry.domain in ("", "ai.onnx", *used)]
    versions = [(entry.domain, entry.version) for entry in kept]
    del model.opset_import[:]
    for domain, version in sorted(versions):
        model.opset_import.add(domain=domain, version=version)
    return model
