"""npu-compile --verify: compares the emitted C with onnxruntime on the same inputs.

Three measures are printed for each output, over all samples:

- the largest absolute difference;
- the largest difference relative to the largest magnitude of the output in its sample. It decides:
  at most 1e-5 is allowed;
- the largest distance in units in the last place (ULP), in steps between float32 numbers. It is
  large if values nearly cancel to zero.

If an output differs, the network runs again on the first sample that shows it, layer by layer in C
and in onnxruntime. The message names the first layer that differs.

A program with transfers must also move the bytes that the report names (`off_chip`). The report
counts them in the IR, the program at run time.

Outputs of quantised networks are multiples of a step. Those of operators with scales as operands
are integers and must be equal. Between DequantizeLinear and QuantizeLinear, onnxruntime computes in
float32 in an order of its own, and ties may be rounded either way. So two steps are allowed there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from npu_tools.compiling.check import RELATIVE, random_array, relative_error
from npu_tools.compiling.driver import Compiled
from npu_tools.reports.report import Report
from npu_tools.shared.arrays import read_npz
from npu_tools.shared.errors import UserError
from npu_tools.verifying.exact_reference import with_exact_sums
from npu_tools.verifying.harness import Harness, built

Array = npt.NDArray[np.float32]

STEPS = 2
"""The quantisation steps that an output may be off where onnxruntime computes in float32."""
FLOATS: Mapping[str, np.dtype[Any]] = MappingProxyType({})
"""The element types of a model whose inputs are all float32; missing names mean float32."""


@dataclass(frozen=True)
class OutputErrors:
    """The largest errors of one output over all samples."""

    name: str
    absolute: float
    relative: float
    ulp: int
    steps: float | None = None
    """The largest difference in quantisation steps; None if the output is not quantised."""
    allowed_steps: int = 0

    @property
    def close(self) -> bool:
        """Whether the output is within the tolerance."""
        if self.steps is not None:
            return self.steps <= self.allowed_steps + 0.5
        return self.relative <= RELATIVE

    def __str__(self) -> str:
        """One line with the errors."""
        if self.steps is not None:
            return f"verify {self.name}: largest error {self.steps:.0f} quantisation steps"
        return (
            f"verify {self.name}: largest error {self.absolute:.3e} absolute, "
            f"{self.relative:.3e} relative, {self.ulp} ULP"
        )


@dataclass(frozen=True)
class Verified:
    """The result of a comparison; `first_layer` is the first layer that differs, if one does.

    `counters` are those of the transfers, if the program has some. `miscount` is a text on the
    first counter that is not as reported; None if all are.
    """

    samples: int
    outputs: tuple[OutputErrors, ...]
    first_layer: str | None = None
    counters: Mapping[str, int] | None = None
    miscount: str | None = None

    @property
    def close(self) -> bool:
        """Whether all outputs are within the tolerance."""
        return all(output.close for output in self.outputs)

    @property
    def agrees(self) -> bool:
        """Whether all outputs are within the tolerance, and all counters are as reported."""
        return self.close and self.miscount is None

    @property
    def lines(self) -> list[str]:
        """Lines with the errors of each output, and one for each check that passed."""
        good = [f"verify: agrees with onnxruntime (samples: {self.samples})"]
        counted = self.counters is not None and self.miscount is None
        same = ["verify: moved over the border of the chip what the report says"]
        return [*map(str, self.outputs), *good * self.close, *same * counted]

    @property
    def complaint(self) -> str:
        """The message if the comparison failed."""
        if self.close:
            return f"--verify: {self.miscount}; nothing was written"
        worst = next(output for output in self.outputs if not output.close)
        limit = f"{RELATIVE:.0e} relative"
        if worst.steps is not None:
            limit = f"{worst.allowed_steps} quantisation steps"
        return (
            f"--verify: differs from onnxruntime by more than {limit}; "
            f"the first layer that differs is {self.first_layer}; nothing was written"
        )

    def as_dict(self) -> dict[str, Any]:
        """The key `verify` of report.json."""
        counted = {} if self.counters is None else {"counters": dict(self.counters)}
        return {
            "samples": self.samples,
            "tolerance": RELATIVE,
            "outputs": [vars(output) for output in self.outputs],
            **counted,
        }


def verify(compiled: Compiled, inputs: str | None, seed: int) -> Verified:
    """Build and run the C of a network, and compare it with onnxruntime.

    `inputs` is an .npz file with an array for each input, or None for random numbers from `seed`.

    Raises: UserError if the inputs do not fit, if there is no C compiler, or if the C program or
    onnxruntime fails.
    """
    report = compiled.report
    kinds = input_kinds(compiled.reference)
    samples = (
        random_samples(report, seed, kinds) if inputs is None else load_samples(report, inputs)
    )
    with built(compiled.name, compiled.files, report) as harness:
        return compare(harness, compiled.reference, samples, exact=compiled.exact)


def compare(
    harness: Harness, model: ModelProto, samples: Sequence[Array], *, exact: bool = True
) -> Verified:
    """Compare a built network with its model.

    `samples` holds an array for each input, with the samples as first axis. `exact`: the C changes
    scales of integers as the model does.
    """
    report = harness.report
    names, count = list(report.outputs), len(samples[0]) if samples else 1
    got, counted = harness.run_and_count(samples)
    counters = None if counted is None else vars(counted)
    miscount = None if counters is None else first_miscount(counters, report)
    session, kinds = session_of(model), input_kinds(model)
    want = [np.empty_like(value) for value in got]
    for index in range(count):
        feeds = feeds_of(report, [value[index] for value in samples], kinds)
        for place, value in zip(want, session.run(names, feeds), strict=True):
            place[index] = value
    steps = [step_of(model, name) for name in names]
    errors = tuple(
        output_errors(name, one, two, step, allowed_steps(model, exact=exact))
        for name, one, two, step in zip(names, got, want, steps, strict=True)
    )
    result = Verified(count, errors, counters=counters, miscount=miscount)
    if result.close:
        return result
    bad = next(
        index
        for index in range(count)
        if not all(
            output_errors(
                e.name, a[index : index + 1], b[index : index + 1], step, e.allowed_steps
            ).close
            for e, a, b, step in zip(errors, got, want, steps, strict=True)
        )
    )
    layer = first_difference(harness, model, [value[bad] for value in samples])
    return replace(result, first_layer=layer)


IN_BLOCKS = frozenset(("feature_map_read_bytes", "feature_map_write_bytes"))
"""Counters that may be smaller than reported if transfers are in blocks."""


def first_miscount(counters: Mapping[str, int], report: Report) -> str | None:
    """A text on the first counter that differs from the report; None if none does."""
    for key, expected in vars(report.off_chip).items():
        fewer = report.off_chip_at_most and key in IN_BLOCKS and counters[key] <= expected
        if counters[key] != expected and not fewer:
            most = "at most " if report.off_chip_at_most and key in IN_BLOCKS else ""
            return f"{key}: the run has counted {counters[key]}, report.json says {most}{expected}"
    return None


def input_kinds(model: ModelProto) -> dict[str, np.dtype[Any]]:
    """The element types of a model's inputs, by name."""
    kinds = ((value.name, value.type.tensor_type.elem_type) for value in model.graph.input)
    return {name: np.dtype(helper.tensor_dtype_to_np_dtype(kind)) for name, kind in kinds}


def step_of(model: ModelProto, name: str) -> float | None:
    """The step between values of a quantised output; None if the output is real numbers.

    It is 1 if the output is integers, and else the scale of the DequantizeLinear that gives it.
    """
    output = next(value for value in model.graph.output if value.name == name)
    if output.type.tensor_type.elem_type not in (TensorProto.FLOAT, TensorProto.UNDEFINED):
        return 1.0
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if name in node.output and node.op_type == "DequantizeLinear":
            scale = weights.get(node.input[1])
            return None if scale is None else float(numpy_helper.to_array(scale).reshape(-1)[0])
    return None


def allowed_steps(model: ModelProto, *, exact: bool) -> int:
    """How many quantisation steps an output of the C may differ from onnxruntime."""
    in_floats = any(node.op_type == "DequantizeLinear" for node in model.graph.node)
    return STEPS if in_floats or not exact else 0


def output_errors(
    name: str, got: Array, want: Array, step: float | None = None, allowed: int = 0
) -> OutputErrors:
    """The largest errors of an output over all samples, which are the first axis."""
    with np.errstate(invalid="ignore"):
        absolute = np.abs(got.astype(np.float64) - want.astype(np.float64))
    absolute[got == want] = 0.0
    return OutputErrors(
        name,
        float(absolute.max(initial=0.0)),
        max(relative_error(one, two) for one, two in zip(got, want, strict=True)),
        int(np.abs(ordered(got) - ordered(want)).max(initial=0)),
        None if step is None else float(absolute.max(initial=0.0)) / step,
        allowed,
    )


def ordered(values: Array) -> npt.NDArray[np.int64]:
    """Map float32 numbers to integers in the same order; neighbours differ by 1, zeros are 0."""
    bits = values.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(2**31) - bits, bits)


def first_difference(harness: Harness, model: ModelProto, inputs: Sequence[Array]) -> str:
    """A text that names the first layer, in execution order, whose OFM differs.

    `inputs` is one sample.
    """
    layers = harness.report.layers
    known = {name for node in model.graph.node for name in node.output}
    names = (layer.value for layer in layers if layer.value is not None)
    wanted = list(dict.fromkeys(name for name in names if name in known))
    feeds = feeds_of(harness.report, inputs, input_kinds(model))
    values = dict(
        zip(
            wanted,
            session_of(with_outputs(model, wanted)).run(wanted, feeds),
            strict=True,
        )
    )
    traced = harness.trace(inputs)
    if not traced:
        if harness.transfers:
            return "unknown, as maps are not on chip as a whole"
        return "unknown, as the pipeline has no npu-outline-layers"
    for layer, got in zip(layers, traced, strict=True):
        want = values.get(layer.value or "")
        if want is None:
            continue
        wanted_map = np.asarray(want).reshape(-1)
        if got.size != wanted_map.nbytes:
            continue
        error = relative_error(
            got.view(wanted_map.dtype).astype(np.float32), wanted_map.astype(np.float32)
        )
        if error > (RELATIVE if wanted_map.dtype.kind == "f" else 0):
            return f"{layer.name} ({layer.op}, {error:.2e} relative)"
    return "none of them: the outputs are not what the last layers wrote"


def with_outputs(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """A copy of a model that also returns the intermediate values of these names."""
    copy = ModelProto()
    copy.CopyFrom(model)
    present = {value.name for value in copy.graph.output}
    copy.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in present)
    return copy


def session_of(model: ModelProto) -> Any:
    """An onnxruntime session for a model: one thread, no optimisations, exact integer sums.

    Raises: UserError if onnxruntime rejects the model.
    """
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(
            with_exact_sums(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's exceptions share no public base
        raise UserError(f"--verify: onnxruntime rejects the model: {error}") from None


def feeds_of(
    report: Report, inputs: Sequence[Array], kinds: Mapping[str, np.dtype[Any]] = FLOATS
) -> dict[str, Any]:
    """Inputs by name, in the types of the model's inputs (default: float32)."""
    # A sample of a scalar input is a numpy scalar, not an array.
    return {
        name: np.asarray(value).astype(kinds.get(name, np.float32), copy=False)
        for name, value in zip(report.inputs, inputs, strict=True)
    }


def random_samples(
    report: Report, seed: int, kinds: Mapping[str, np.dtype[Any]] = FLOATS
) -> list[Array]:
    """One random sample for each input of the report; see `random_array` for the values."""
    generator = np.random.default_rng(seed)
    return [
        random_array(generator, (1, *shape), kinds.get(name, np.dtype(np.float32))).astype(
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
