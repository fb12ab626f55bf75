"""Post-training static quantisation by onnxruntime's quantiser, which is an optional dependency.

onnxruntime first simplifies the model: it folds batch normalisations and constants. Then it runs
the model on the calibration data and measures the range of each map. Last it gives scales and zero
points to maps, weights and biases. This file chooses the options, and suppresses the quantiser's
files, output and log messages.
"""

from __future__ import annotations

import io
import logging
import tempfile
import warnings
from collections.abc import Collection, Generator, Mapping, Sequence
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
from npu_tools.quantizing.batch_norms import fold_batch_norms, norms_as_convolutions
from npu_tools.quantizing.fidelity import fidelity, spread
from npu_tools.quantizing.infinite_maps import infinite_maps, nodes_in_float
from npu_tools.quantizing.least_error import Histogram, least_error_range
from npu_tools.quantizing.mixed_precision import bounded_maps, groups_of, sensitive_maps
from npu_tools.quantizing.plain_gemms import plain_gemms
from npu_tools.quantizing.quantize_data import Feeds
from npu_tools.quantizing.taps import tapped
from npu_tools.shared.errors import UserError

Format: TypeAlias = Literal["qdq", "operators"]
Activations: TypeAlias = Literal["int8", "uint8"]
Method: TypeAlias = Literal["minmax", "mse", "percentile"]
Wide: TypeAlias = Literal["none", "all", "auto"]

OPSET = 13
"""The first opset whose QuantizeLinear can have one scale for each filter."""
OPSET_WIDE = 21
"""The first opset whose QuantizeLinear gives int16."""
QUANTISED = tuple(
    "Add AveragePool Clip Concat Conv Flatten Gemm GlobalAveragePool MatMul MaxPool Mul Pad Relu "
    "Reshape Squeeze Transpose Unsqueeze".split()
)
"""Operators that the importer can compute on integers; all others stay in float32."""
WITH_WEIGHTS = frozenset(("Conv", "Gemm", "MatMul"))
"""Operators with weights. A model without any of them is rejected: it has nothing to quantise."""
RUNS_AT_ONCE = 32
"""How many runs are kept in memory at a time where only the extremes of maps are measured."""
GIVEN = ("_scale", "_zero_point", "_quantized", "_QuantizeLinear", "_DequantizeLinear", "_Output")
"""Endings of the names that the quantiser adds, without a check whether a name is taken."""
ALREADY = ("DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear", "QLinear", "QGemm")
"""How the names of operators start that only quantised models have."""


@dataclass(frozen=True)
class Recipe:
    """How to quantise: the fields are options of npu-quantize with these names."""

    format: Format = "qdq"
    activations: Activations = "int8"
    method: Method = "minmax"
    per_channel: bool = True
    """Whether a weight tensor has one scale for each filter, or one scale only."""
    int16: Wide = "none"
    """Which maps have 16 bits: those without which an output stays below `goal_db` for `auto`."""
    goal_db: float = 30.0


def need_quantiser() -> None:
    """Check that onnxruntime is installed, before the work begins.

    Raises: UserError that says what to install.
    """
    if find_spec("onnxruntime") is None:
        raise UserError("quantising needs onnxruntime: pip install 'npu-dialect[quantize]'")


def check_floats(model: ModelProto) -> None:
    """Check that a model can be quantised.

    Raises: UserError if it is quantised already, has no operators with weights, or has weights that
    are not finite.
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


def quantised(
    model: ModelProto, runs: Sequence[Feeds], recipe: Recipe
) -> tuple[ModelProto, ModelProto]:
    """Quantise a checked model with calibration data; the same arguments give the same model.

    Returns: the model as it was before its maps got integers, simplified, and the quantised model.

    Raises: UserError if onnxruntime cannot quantise it, or if a map is not finite.
    """
    with tempfile.TemporaryDirectory(prefix="npu-quantize-") as folder, quiet():
        try:
            opset = OPSET if recipe.int16 == "none" else OPSET_WIDE
            prepared = simplified(at_least_opset(model, opset), Path(folder))
            if recipe.per_channel:
                norms_as_convolutions(prepared)
            infinite = infinite_maps(prepared, runs)
            ranges = measured_ranges(prepared, runs, recipe.method, Path(folder), infinite)
            in_float = nodes_in_float(prepared, infinite, QUANTISED)
            return prepared, with_widths(prepared, runs, ranges, recipe, Path(folder), in_float)
        except UserError:
            raise
        except Exception as error:  # onnxruntime's exceptions share no public base
            raise UserError(f"onnxruntime cannot quantise it: {first_line(error)}") from error


@contextmanager
def quiet() -> Generator[None]:
    """Suppress the output, warnings and log messages of the quantiser."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def at_least_opset(model: ModelProto, opset: int) -> ModelProto:
    """The model, converted to an opset if its own is older."""
    old = default_opset(model) < opset
    return version_converter.convert_version(model, opset) if old else model


def simplified(model: ModelProto, folder: Path) -> ModelProto:
    """The model after onnxruntime's machine-independent simplifications, with inferred shapes."""
    ort: Any = import_module("onnxruntime")
    path = folder / "simplified.onnx"
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    prepared = without_clashes(ModelProto.FromString(path.read_bytes()))
    plain_gemms(prepared)
    fold_batch_norms(prepared)
    prepared = infer_shapes(prepared)
    import_module("onnxruntime.quantization.quant_utils").add_pre_process_metadata(prepared)
    return prepared


def without_clashes(model: ModelProto) -> ModelProto:
    """Rename values whose names the quantiser might add; drop empty names at the end of inputs."""
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


def with_widths(
    model: ModelProto,
    runs: Sequence[Feeds],
    ranges: Any,
    recipe: Recipe,
    folder: Path,
    in_float: Sequence[str],
) -> ModelProto:
    """Quantise a simplified model, with those maps in 16 bits that the recipe asks for."""
    groups = groups_of(model, ranges.keys())
    some = spread(runs)

    def quantise(wide: Collection[str]) -> ModelProto:
        measured = unified(ranges, bounded_maps(model)) if wide else ranges
        return cleaned(static(model, measured, recipe, wide, folder, in_float))

    def measure(wide: Collection[str]) -> float:
        outputs = fidelity(model, quantise(wide), some).outputs
        return min(output.snr_db for output in outputs)

    match recipe.int16:
        case "none":
            return quantise(())
        case "all":
            return quantise([name for group in groups for name in group])
        case "auto":
            return quantise(sensitive_maps(groups, measure, recipe.goal_db))


def unified(ranges: Any, bounded: Mapping[str, str]) -> object:
    """The ranges of maps; one that a Relu or Clip alone reads gets the range of what that gives.

    So Relu changes no scale: what it cuts off may saturate before. `bounded` is in the order of the
    model.
    """
    calibrate: Any = import_module("onnxruntime.quantization.calibrate")
    found = dict(ranges.items())
    for first, last in reversed(list(bounded.items())):
        if first in found and last in found:
            found[first] = found[last]
    return calibrate.TensorsData(calibrate.CalibrationMethod.MinMax, found)


def static(
    model: ModelProto,
    ranges: object,
    recipe: Recipe,
    wide: Collection[str],
    folder: Path,
    in_float: Sequence[str] = (),
) -> ModelProto:
    """Quantise a simplified model with onnxruntime; `folder` is for its files.

    The nodes `in_float` stay as they are. The maps `wide` have 16 bits. Where there are any, Relu
    and Clip stay: onnxruntime removes them also from symmetric maps of 16 bits, which do not
    saturate as Relu does. This does the same as onnxruntime's `quantize_static`, which cannot take
    ranges of our own.
    """
    ort: Any = import_module("onnxruntime.quantization")
    elements = {"int8": ort.QuantType.QInt8, "uint8": ort.QuantType.QUInt8}
    of_16_bits = {"quant_type": ort.QuantType.QInt16, "symmetric": True}
    tail: tuple[Any, ...] = (
        ort.QuantType.QInt8,
        elements[recipe.activations],
        ranges,
        [],  # all nodes but ...
        list(in_float),
        list(QUANTISED),
        {
            "MatMulConstBOnly": True,
            "QDQKeepRemovableActivations": bool(wide),
            "TensorQuantOverrides": {name: [dict(of_16_bits)] for name in sorted(wide)},
        },
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
    model: ModelProto,
    runs: Sequence[Feeds],
    method: Method,
    folder: Path,
    infinite: Collection[str] = (),
) -> object:
    """Measure the range of each map on the runs; the result is an object of onnxruntime.

    The maps `infinite` get none.

    Raises: UserError if another map is not finite, or if some are infinite and the method is
        percentile: onnxruntime makes no histogram of them.
    """
    if method == "percentile" and nodes_in_float(model, infinite, QUANTISED):
        raise UserError(
            f"constants make map '{min(infinite)}' infinite, which has no percentile; expected "
            "--method minmax or mse"
        )
    ort: Any = import_module("onnxruntime.quantization")
    methods = ort.CalibrationMethod
    path = folder / "prepared.onnx"
    path.write_bytes(model.SerializeToString())
    calibrator = ort.create_calibrator(
        path,
        list(QUANTISED),
        augmented_model_path=str(folder / "augmented.onnx"),
        calibrate_method=methods.Percentile if method == "percentile" else methods.MinMax,
    )
    step = len(runs) if method == "percentile" else RUNS_AT_ONCE
    for first in range(0, len(runs), step):
        calibrator.collect_data(reader(runs[first : first + step]))
    ranges: Any = calibrator.compute_data()
    ranges.data = {name: data for name, data in ranges.items() if name not in infinite}
    for name, data in ranges.items():
        low, high = data.range_value
        if not (np.isfinite(low) and np.isfinite(high)):
            raise UserError(
                f"map '{name}' is not finite on the calibration data; expected finite numbers"
            )
    return narrowed(model, runs, ranges) if method == "mse" else ranges


def narrowed(model: ModelProto, runs: Sequence[Feeds], ranges: Any) -> object:
    """The ranges in which maps lose least, within the measured ones."""
    calibrate: Any = import_module("onnxruntime.quantization.calibrate")
    histograms = {
        name: Histogram(*(np.asarray(limit).item() for limit in data.range_value))
        for name, data in ranges.items()
    }
    run = tapped(model, histograms)
    for feeds in runs:
        maps = run(feeds)
        for name, histogram in histograms.items():
            histogram.add(maps[name])
    found: dict[str, Any] = {}
    for name, histogram in histograms.items():
        low, high = (np.array(limit, np.float32) for limit in least_error_range(histogram))
        found[name] = calibrate.TensorData(lowest=low, highest=high)
    return calibrate.TensorsData(calibrate.CalibrationMethod.MinMax, found)


def reader(runs: Sequence[Feeds]) -> object:
    """A calibration reader of onnxruntime, which returns the runs one by one and then None."""
    ort: Any = import_module("onnxruntime.quantization")
    feeds = iter(runs)

    class Reader(ort.CalibrationDataReader):
        """Reads the runs from memory."""

        def get_next(self) -> Feeds | None:
            return next(feeds, None)

    return Reader()


def cleaned(model: ModelProto) -> ModelProto:
    """The model without inferred shapes, metadata and imports of unused domains."""
    del model.graph.value_info[:]
    del model.metadata_props[:]
    used = {node.domain for node in model.graph.node} & DOMAINS
    kept = [entry for entry in model.opset_import if entry.domain in ("", "ai.onnx", *used)]
    versions = [(entry.domain, entry.version) for entry in kept]
    del model.opset_import[:]
    for domain, version in sorted(versions):
        model.opset_import.add(domain=domain, version=version)
    return model
