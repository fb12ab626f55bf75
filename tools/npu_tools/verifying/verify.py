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

With states, the samples are runs one after the other. onnxruntime gets its own states of the run
before, not those of the C.

Outputs of quantised networks are multiples of a step. Those of operators with scales as operands
are integers and must be equal. Between DequantizeLinear and QuantizeLinear, onnxruntime computes in
float32 in an order of its own, and rounds some ties to the other side. What one such step becomes
in later layers has no limit: onnxruntime with and without its optimiser differ as well. So each
layer is judged on the inputs that it had in C (`layer_by_layer.py`): its integers must be equal,
but for ties. If the maps between layers are not known, as in programs with transfers, the outputs
may be two steps farther off than onnxruntime is from itself: without its optimiser, with it, and
with ties rounded down or up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from npu_tools.compiling.check import RELATIVE, relative_error
from npu_tools.compiling.driver import Compiled
from npu_tools.shared.errors import UserError
from npu_tools.verifying import interpreted
from npu_tools.verifying.exact_reference import types_of
from npu_tools.verifying.harness import Bytes, Harness, built
from npu_tools.verifying.judging import TIE, spread
from npu_tools.verifying.layer_by_layer import (
    RESIZE,
    Layers,
    judge_layers,
    shifted,
    truncates,
)
from npu_tools.verifying.outcome import (
    OutputErrors,
    Verified,
    first_miscount,
    most_moved,
    output_errors,
)
from npu_tools.verifying.samples import feeds_of, input_kinds, load_samples, random_samples
from npu_tools.verifying.sessions import run, session_of, with_outputs
from npu_tools.verifying.states import run_after_run, with_states

Array = npt.NDArray[np.float32]
MOVES = frozenset(
    "DepthToSpace Expand Flatten Gather Identity Pad Reshape Slice SpaceToDepth Split Squeeze Tile "
    "Transpose Unsqueeze".split()
)
"""Operators whose result has elements of their first input."""

STEPS = 2
"""The quantisation steps that an output may be off where onnxruntime computes in float32."""


def verify(compiled: Compiled, inputs: str | None, seed: int) -> Verified:
    """Build and run the C of a network, and compare it with onnxruntime.

    A network that was read from MLIR text is compared with the interpreter (`interpreted.py`).

    `inputs` is an .npz file with an array for each input, or None for random numbers from `seed`.

    Raises: UserError if the inputs do not fit, if there is no C compiler, or if the C program or
    onnxruntime fails.
    """
    report = compiled.report
    if isinstance(compiled.source, ModuleOp):
        return interpreted.verify(compiled, compiled.source, inputs, seed)
    reference = compiled.reference
    kinds = input_kinds(reference)
    samples = (
        random_samples(report, seed, kinds) if inputs is None else load_samples(report, inputs)
    )
    model = with_states(reference, report.states)
    with built(compiled.name, compiled.files, report) as harness:
        return compare(harness, model, samples, exact=compiled.exact)


def compare(
    harness: Harness, model: ModelProto, samples: Sequence[Array], *, exact: bool = True
) -> Verified:
    """Compare a built network with its model.

    `samples` holds an array for each input, with the samples as first axis. `exact`: the C changes
    scales of integers as the model does.
    """
    got, counted = harness.run_and_count(samples)
    counters = None if counted is None else vars(counted)
    miscount = None if counters is None else first_miscount(counters, harness.report)
    found = Comparison(harness, model, samples, got, exact)
    most = most_moved(harness.report)
    result = replace(found.of_outputs(), counters=counters, miscount=miscount, at_most=most)
    if not found.allowed:
        return result if result.close else replace(result, first_layer=found.first_layer())
    judged = found.judgements()
    if judged is not None:
        wrong = next((each.first_wrong for each in judged if each.first_wrong is not None), None)
        layers = Layers(judged[0].compared, sum(each.ties for each in judged), wrong)
        return replace(result, layers=layers, first_layer=wrong)
    result = replace(result, outputs=found.within_spread(result.outputs))
    return result if result.close else replace(result, first_layer=found.first_layer())


@dataclass(frozen=True)
class Comparison:
    """The outputs of a C program for some samples, and the model that they should be from.

    `got` holds an array for each output, with the samples as first axis.
    """

    harness: Harness
    model: ModelProto
    samples: Sequence[Array]
    got: Sequence[Array]
    exact: bool

    @cached_property
    def names(self) -> list[str]:
        """The names of the outputs."""
        return list(self.harness.report.outputs)

    @cached_property
    def feeds(self) -> list[dict[str, Any]]:
        """The inputs of each sample by name, and its states, those of onnxruntime itself."""
        count = len(self.samples[0]) if self.samples else 1
        kinds, report = input_kinds(self.model), self.harness.report
        inputs = [feeds_of(report, self.sample(index), kinds) for index in range(count)]
        return run_after_run(self.model, inputs, report.states)

    @cached_property
    def want(self) -> list[Array]:
        """The outputs of onnxruntime without its optimiser."""
        return self.outputs_of(self.model)

    @cached_property
    def best(self) -> list[Array] | None:
        """The outputs of onnxruntime with its optimiser; None if that makes no valid model."""
        try:
            return self.outputs_of(self.model, optimised=True)
        except UserError:
            return None

    @cached_property
    def steps(self) -> list[float | None]:
        """The quantisation step of each output; None for real numbers."""
        return [step_of(self.model, name) for name in self.names]

    @cached_property
    def allowed(self) -> int:
        """How many quantisation steps an output may differ."""
        return allowed_steps(self.model, exact=self.exact)

    def sample(self, index: int) -> list[Array]:
        """The inputs of one sample."""
        return [value[index] for value in self.samples]

    def until(self, index: int) -> list[Array]:
        """A sample, and all samples before it if there are states, which it depends on."""
        first = 0 if self.harness.report.states else index
        return [value[first : index + 1] for value in self.samples]

    def outputs_of(self, model: ModelProto, *, optimised: bool = False) -> list[Array]:
        """The outputs of a model in onnxruntime for all samples, which are the first axis."""
        session = session_of(model, optimised=optimised)
        found = [run(session, self.names, each) for each in self.feeds]
        return [np.stack([np.asarray(value) for value in each]) for each in zip(*found)]

    def of_outputs(self) -> Verified:
        """The errors of the outputs as a whole."""
        errors = self.errors(slice(None))
        if self.allowed and self.best is not None:
            with_optimiser = self.errors(slice(None), self.best)
            errors = [
                replace(error, optimised_steps=other.steps)
                for error, other in zip(errors, with_optimiser, strict=True)
            ]
        return Verified(len(self.feeds), tuple(errors))

    def errors(self, which: slice, want: Sequence[Array] | None = None) -> list[OutputErrors]:
        """The errors of each output over some samples; `want` is `self.want` if it is left out."""
        wanted = self.want if want is None else want
        return [
            output_errors(name, one[which], two[which], step, self.allowed)
            for name, one, two, step in zip(self.names, self.got, wanted, self.steps, strict=True)
        ]

    def far(self) -> list[int]:
        """The samples of which an output is not within the tolerance."""
        every = range(len(self.feeds))
        return [i for i in every if not all(e.close for e in self.errors(slice(i, i + 1)))]

    def first_layer(self) -> str:
        """The first layer that differs, on the first sample that is far off."""
        index = (self.far() or [0])[0]
        traced = self.harness.trace(self.until(index))
        return first_difference(self.harness, self.model, self.feeds[index], traced)

    def judgements(self) -> list[Layers] | None:
        """The judgements on the layers, for the first sample and for all that are far off.

        None if the maps between the layers are not known.
        """
        judged: list[Layers] = []
        for index in dict.fromkeys((0, *self.far())):
            traced = self.harness.trace(self.until(index))
            outputs = {name: got[index] for name, got in zip(self.names, self.got, strict=True)}
            layers = self.harness.report.layers
            found = judge_layers(
                self.model, layers, traced, self.feeds[index], outputs, exact=self.exact
            )
            if found is None:
                return None
            judged.append(found)
        return judged

    def within_spread(self, errors: Sequence[OutputErrors]) -> tuple[OutputErrors, ...]:
        """The errors, which may be as far beyond `STEPS` as onnxruntime is from itself."""
        moved = [self.outputs_of(shifted(self.model, by)) for by in (-TIE, TIE)]
        best = [] if self.best is None else [self.best]
        references = zip(self.want, *best, *moved, strict=True)
        return tuple(
            replace(error, allowed_steps=self.allowed + spread(each) / (step or 1.0))
            for error, step, each in zip(errors, self.steps, references, strict=True)
        )


def step_of(model: ModelProto, name: str) -> float | None:
    """The step between values of a quantised output; None if the output is real numbers.

    It is 1 if the output is integers, and else the scale of the DequantizeLinear that gives it, or
    whose result is moved only.
    """
    output = next(value for value in model.graph.output if value.name == name)
    if output.type.tensor_type.elem_type not in (TensorProto.FLOAT, TensorProto.UNDEFINED):
        return 1.0
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    producers = {each: node for node in model.graph.node for each in node.output}
    node = producers.get(name)
    while node is not None and node.op_type in MOVES:
        node = producers.get(node.input[0])
    if node is None or node.op_type != "DequantizeLinear":
        return None
    scale = weights.get(node.input[1])
    return None if scale is None else float(numpy_helper.to_array(scale).reshape(-1)[0])


def allowed_steps(model: ModelProto, *, exact: bool) -> int:
    """How many quantisation steps an output of the C may differ from onnxruntime."""
    kinds = {node.op_type for node in model.graph.node}
    in_floats = "DequantizeLinear" in kinds or (
        RESIZE in kinds and any(truncates(node, types_of(model)) for node in model.graph.node)
    )
    return STEPS if in_floats or not exact else 0


def first_difference(
    harness: Harness, model: ModelProto, feeds: Mapping[str, Any], traced: Sequence[Bytes]
) -> str:
    """A text that names the first layer, in execution order, whose OFM differs.

    `feeds` are the inputs of a run by name, `traced` its OFMs in C.
    """
    layers = harness.report.layers
    known = {name for node in model.graph.node for name in node.output}
    names = (layer.value for layer in layers if layer.value is not None)
    wanted = list(dict.fromkeys(name for name in names if name in known))
    if not wanted:
        return "unknown, as no layer writes a value of the model"
    values = dict(
        zip(
            wanted,
            run(session_of(with_outputs(model, wanted)), wanted, feeds),
            strict=True,
        )
    )
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
