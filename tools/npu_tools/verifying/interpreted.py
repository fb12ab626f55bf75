"""npu-compile model.mlir --verify: compares the emitted C with the interpreter.

The reference is the module as it was read, `linalg` and `tosa` as layers. Floats may differ by 1e-5
of an output's largest magnitude; integers must be equal. A program with transfers must also move
the bytes that the report names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.interpreters import Signature, find_function, run_function
from npu_tools.compiling.driver import Compiled
from npu_tools.shared.errors import UserError
from npu_tools.verifying.harness import built
from npu_tools.verifying.outcome import Verified, first_miscount, output_errors
from npu_tools.verifying.samples import load_samples, random_samples

Array = npt.NDArray[Any]


def verify(compiled: Compiled, reference: ModuleOp, inputs: str | None, seed: int) -> Verified:
    """Build and run the C of a network, and compare it with the interpreter.

    `inputs` is an .npz file with an array for each input, or None for random numbers from `seed`.

    Raises: UserError if the inputs do not fit, if there is no C compiler, if the C program fails,
    or for a network with states.
    """
    report = compiled.report
    if report.states:
        raise UserError("--verify: expected a network without states, as its model is MLIR text")
    signature = Signature.of(find_function(reference, None))
    kinds = {
        name: np.dtype(port.dtype)
        for name, port in zip(report.inputs, signature.inputs, strict=True)
    }
    samples = (
        random_samples(report, seed, kinds) if inputs is None else load_samples(report, inputs)
    )
    with built(compiled.name, compiled.files, report) as harness:
        got, counted = harness.run_and_count(samples)
    want = interpreted(reference, [one.astype(kinds[n]) for n, one in zip(kinds, samples)])
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
    )


def interpreted(module: ModuleOp, samples: Sequence[Array]) -> list[Array]:
    """The outputs of the interpreter for all samples, which are the first axis."""
    count = len(samples[0]) if samples else 1
    runs = [
        run_function(module, None, [each[index].copy() for each in samples])
        for index in range(count)
    ]
    return [np.stack([np.asarray(value) for value in each]) for each in zip(*runs, strict=True)]
