"""npu-compile --verify: the emitted C against onnxruntime, on the same numbers.

Three measures are printed for each output, over all samples: the largest absolute difference; the
largest difference relative to the largest magnitude of the output in its sample, which is what
decides (at most 1e-5); and the largest distance in units in the last place (ULP: float32 numbers in
between), which is large where values nearly cancel to zero. Where an output differs, the network
runs again on the first sample that shows it, layer by layer on both sides, and the first layer that
differs is named.

A program with transfers also has to move what the report says (`off_chip`): the report counts in
the IR, the program at run time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, ValueInfoProto

from npu_tools.arrays import read_npz
from npu_tools.check import RELATIVE, relative_error
from npu_tools.driver import Compiled
from npu_tools.errors import UserError
from npu_tools.harness import Harness, built
from npu_tools.report import Report

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class OutputErrors:
    """The largest errors of one output."""

    name: str
    absolute: float
    relative: float
    ulp: int

    def __str__(self) -> str:
        """One line for a person."""
        return (
            f"verify {self.name}: largest error {self.absolute:.3e} absolute, "
            f"{self.relative:.3e} relative, {self.ulp} ULP"
        )


@dataclass(frozen=True)
class Verified:
    """What a comparison found; `first_layer` is the first that differs, if one does.

    `counters` is what the transfers of one run moved, if the program has transfers; `miscount` is
    where that is not what the report says.
    """

    samples: int
    outputs: tuple[OutputErrors, ...]
    first_layer: str | None = None
    counters: Mapping[str, int] | None = None
    miscount: str | None = None

    @property
    def close(self) -> bool:
        """Whether all outputs are within the tolerance."""
        return all(output.relative <= RELATIVE for output in self.outputs)

    @property
    def agrees(self) -> bool:
        """Whether all outputs are within the tolerance, and what was moved is as reported."""
        return self.close and self.miscount is None

    @property
    def lines(self) -> list[str]:
        """The errors for a person, and the verdicts that are good."""
        good = [f"verify: agrees with onnxruntime (samples: {self.samples})"]
        counted = self.counters is not None and self.miscount is None
        same = ["verify: moved over the border of the chip what the report says"]
        return [*map(str, self.outputs), *good * self.close, *same * counted]

    @property
    def complaint(self) -> str:
        """The verdict if it is bad."""
        if self.close:
            return f"--verify: {self.miscount}; nothing was written"
        return (
            f"--verify: differs from onnxruntime by more than {RELATIVE:.0e} relative; "
            f"the first layer that differs is {self.first_layer}; nothing was written"
        )

    def as_dict(self) -> dict[str, Any]:
        """The result in report.json."""
        counted = {} if self.counters is None else {"counters": dict(self.counters)}
        return {
            "samples": self.samples,
            "tolerance": RELATIVE,
            "outputs": [vars(output) for output in self.outputs],
            **counted,
        }


def verify(compiled: Compiled, inputs: str | None, seed: int) -> Verified:
    """Build and run the C of a network, and compare it with onnxruntime.

    `inputs` is an .npz file with an array for each input, or None for seeded random numbers.

    Raises: UserError for inputs that do not fit, or without a C compiler.
    """
    report = compiled.report
    samples = random_samples(report, seed) if inputs is None else load_samples(report, inputs)
    with built(compiled.name, compiled.files, report) as harness:
        return compare(harness, compiled.reference, samples)


def compare(harness: Harness, model: ModelProto, samples: Sequence[Array]) -> Verified:
    """Compare a built network with its model; each input has the samples as its first axis."""
    report = harness.report
    names, count = list(report.outputs), len(samples[0]) if samples else 1
    got, counted = harness.run_and_count(samples)
    counters = None if counted is None else vars(counted)
    miscount = None if counters is None else first_miscount(counters, report)
    session = session_of(model)
    want = [np.empty_like(value) for value in got]
    for index in range(count):
        feeds = feeds_of(report, [value[index] for value in samples])
        for place, value in zip(want, session.run(names, feeds), strict=True):
            place[index] = value
    errors = tuple(
        output_errors(name, one, two) for name, one, two in zip(names, got, want, strict=True)
    )
    result = Verified(count, errors, counters=counters, miscount=miscount)
    if result.close:
        return result
    bad = next(
        index
        for index in range(count)
        if any(
            relative_error(a[index], b[index]) > RELATIVE for a, b in zip(got, want, strict=True)
        )
    )
    layer = first_difference(harness, model, [value[bad] for value in samples])
    return replace(result, first_layer=layer)


def first_miscount(counters: Mapping[str, int], report: Report) -> str | None:
    """Where what a run has moved differs from the report, if it does."""
    for key, expected in vars(report.off_chip).items():
        if counters[key] != expected:
            return f"{key}: the run has counted {counters[key]}, report.json says {expected}"
    return None


def output_errors(name: str, got: Array, want: Array) -> OutputErrors:
    """The largest errors over all samples (the first axis)."""
    with np.errstate(invalid="ignore"):
        absolute = np.abs(got.astype(np.float64) - want.astype(np.float64))
    absolute[got == want] = 0.0
    return OutputErrors(
        name,
        float(absolute.max(initial=0.0)),
        max(relative_error(one, two) for one, two in zip(got, want, strict=True)),
        int(np.abs(ordered(got) - ordered(want)).max(initial=0)),
    )


def ordered(values: Array) -> npt.NDArray[np.int64]:
    """Integers in the order of the float32 numbers: neighbours differ by one, both zeros are 0."""
    bits = values.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(2**31) - bits, bits)


def first_difference(harness: Harness, model: ModelProto, inputs: Sequence[Array]) -> str:
    """The first layer, in execution order, whose OFM differs; named with its op."""
    layers = harness.report.layers
    known = {name for node in model.graph.node for name in node.output}
    names = (layer.value for layer in layers if layer.value is not None)
    wanted = list(dict.fromkeys(name for name in names if name in known))
    values = dict(
        zip(
            wanted,
            session_of(with_outputs(model, wanted)).run(wanted, feeds_of(harness.report, inputs)),
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
        error = relative_error(got.reshape(-1), np.asarray(want, np.float32).reshape(-1))
        if error > RELATIVE:
            return f"{layer.name} ({layer.op}, {error:.2e} relative)"
    return "none of them: the outputs are not what the last layers wrote"


def with_outputs(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """A copy of a model that also returns intermediate values."""
    copy = ModelProto()
    copy.CopyFrom(model)
    present = {value.name for value in copy.graph.output}
    copy.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in present)
    return copy


def session_of(model: ModelProto) -> Any:
    """onnxruntime for a model, on one thread and without rewriting it."""
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's exceptions share no public base
        raise UserError(f"--verify: onnxruntime rejects the model: {error}") from None


def feeds_of(report: Report, inputs: Sequence[Array]) -> dict[str, Array]:
    """Inputs by name."""
    # What is taken out of an array of samples of a scalar is no array.
    return {name: np.asarray(value) for name, value in zip(report.inputs, inputs, strict=True)}


def random_samples(report: Report, seed: int) -> list[Array]:
    """One sample of standard normal values."""
    generator = np.random.default_rng(seed)
    return [
        generator.standard_normal((1, *shape), dtype=np.float32) for shape in report.inputs.values()
    ]


def load_samples(report: Report, path: str) -> list[Array]:
    """The samples in an .npz file: arrays by input name, other arrays are left alone.

    An array has the shape of its input, or holds several samples along the first axis of that
    shape.

    Raises: UserError for a file that is no .npz, a missing input, or a shape that does not fit.
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
    """An array with the samples as first axis.

    Raises: UserError for a shape that does not fit.
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
