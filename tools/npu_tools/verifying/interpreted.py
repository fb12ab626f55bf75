"""npu-compile model.mlir --verify: compares the emitted C with the interpreter.

The reference is the module as it was read, `linalg` and `tosa` as layers. Floats may differ by 1e-5
of an output's largest magnitude; integers must be equal. A program with transfers must also move
the bytes that the report names.

With states, the samples are runs one after the other. The interpreter gets its own states of the
run before, not those of the C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.interpreters import Signature, find_function, run_function
from npu_tools.compiling.driver import Compiled
from npu_tools.reports.report import StateReport
from npu_tools.verifying.harness import built
from npu_tools.verifying.outcome import Verified, first_miscount, most_moved, output_errors
from npu_tools.verifying.samples import load_samples, random_samples

Array = npt.NDArray[Any]


def verify(compiled: Compiled, reference: ModuleOp, inputs: str | None, seed: int) -> Verified:
    """Build and run the C of a network, and compare it with the interpreter.

    `inputs` is an .npz file with an array for each input, or None for random numbers from `seed`.

    Raises: UserError if the inputs do not fit, if there is no C compiler, or if the C program
    fails.
    """
    report = compiled.report
    states = {state.name for state in report.states}
    signature = Signature.of(find_function(reference, None))
    inputs_of_c = [port for port in signature.inputs if port.name not in states]
    kinds = {
        name: np.dtype(port.dtype) for name, port in zip(report.inputs, inputs_of_c, strict=True)
    }
    samples = (
        random_samples(report, seed, kinds) if inputs is None else load_samples(report, inputs)
    )
    with built(compiled.name, compiled.files, report) as harness:
        got, counted = harness.run_and_count(samples)
    given = [one.astype(kinds[name]) for name, one in zip(kinds, samples, strict=True)]
    want = interpreted(reference, given, report.states)
    steps = [None if one.dtype.kind == "f" else 1.0 for one in want]
    errors = tuple(
        output_errors(name, one, two.astype(np.float32), step)
        for name, one, two, step in zip(report.outputs, got, want, steps, strict=True)
    )
    counters = None if counted is None else vars(counted)
    return Verified(
        samples=len(samples[0]) if samples else 1,
        outputs=errors,
        first_layer=None if all(error.close for error in errors) else "not searched for",
        counters=counters,
        miscount=None if counters is None else first_miscount(counters, report),
        reference="the interpreter",
        at_most=most_moved(report),
    )


def interpreted(
    module: ModuleOp, samples: Sequence[Array], states: Sequence[StateReport] = ()
) -> list[Array]:
    """The outputs of the interpreter for all samples, which are the first axis.

    `states` are zeros in the first run, then what the run before has left. They are inputs and
    outputs of the module, those in buffers with one name.
    """
    signature = Signature.of(find_function(module, None))
    count = len(samples[0]) if samples else 1
    zeros = {state.name: state.zero for state in states}
    kept = {
        port.name: np.full(
            port.shape, 0 if port.dtype.kind == "f" else zeros[port.name], port.dtype
        )
        for port in signature.inputs
        if port.name in zeros
    }
    runs: list[list[Array]] = []
    for index in range(count):
        fresh = (each[index].copy() for each in samples)
        given = [kept[port.name] if port.name in kept else next(fresh) for port in signature.inputs]
        found = run_function(module, None, given)
        left = {port.name: value for port, value in zip(signature.outputs, found, strict=True)}
        ends = [(each.name, each.next if each.next in left else each.name) for each in states]
        kept = {name: left.pop(end) for name, end in ends}
        runs.append(list(left.values()))
    return [np.stack([np.asarray(value) for value in each]) for each in zip(*runs, strict=True)]
