"""`npu-compile --check-passes`: check after every pass that the IR still computes the same.

`MeaningCheck` is an observer of the driver and, through `callback`, of any xDSL pass pipeline. It
interprets the IR after every step on the same inputs. The results of the first module are what all
later modules must give. Loops run as translated Python, some million ops a second, so the check is
for networks of microcontrollers: MobileNetV1 0.25 takes seconds a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from npu_dialect.arguments import attributes_of_arguments, is_input, is_output
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.values import dtype_of
from npu_dialect.npu.maps import Map
from npu_dialect.stream_attributes import STREAM_PART
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import only_reads

Array = npt.NDArray[np.float32]

RELATIVE = 1e-5
"""The largest error that counts as equal, relative to the largest magnitude of a result."""


@dataclass
class MeaningCheck:
    """Compares the results of a module after each step with those after the first step.

    `inputs` are random, from `seed`, unless they are given. `expected` are the results after the
    first step.
    """

    inputs: Sequence[Array] | None = None
    seed: int = 0
    expected: Sequence[Array] | None = None

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Interpret the module, and compare its results with the expected ones if there are some.

        A program that takes its input in rows is not interpreted once it is cut into functions:
        no single one of them is a run. Nor is one after a pass that only reads.

        Raises: UserError if an output differs by more than `RELATIVE`; it names the step.
        """
        if is_in_parts(module) or only_reads(step):
            return
        if self.inputs is None:
            self.inputs = random_inputs(module, self.seed)
        results = run_function(module, None, [value.copy() for value in self.inputs])
        if self.expected is None:
            self.expected = results
            return
        for index, (want, got) in enumerate(zip(self.expected, results, strict=True)):
            if (error := relative_error(got, want)) > RELATIVE:
                raise UserError(
                    f"the meaning changed after {step}: output {index} differs by {error:.2e} "
                    f"of its largest magnitude, expected at most {RELATIVE:.0e}"
                )

    def callback(self, previous: ModulePass | None, module: ModuleOp, _: ModulePass | None) -> None:
        """Do the same check as a callback of xDSL's `PassPipeline`."""
        self(previous.name if previous else "import", module)


def is_in_parts(module: ModuleOp) -> bool:
    """Whether a program is cut into functions between which its arena must be kept."""
    return any(STREAM_PART.is_on(op) for op in module.ops)


def relative_error(got: Array, want: Array) -> float:
    """The largest absolute difference, divided by the largest finite magnitude in `want`.

    Equal infinities, and NaN on both sides, are no difference. The result is infinite if the shapes
    differ, if an element is NaN or infinite on one side only, or if something differs and all
    finite elements of `want` are zero.
    """
    if got.shape != want.shape:
        return float("inf")
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if same.all():
        return 0.0
    difference = np.abs(got[~same].astype(np.float64) - want[~same].astype(np.float64)).max()
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    scale = finite.max() if finite.size else 0.0
    if not np.isfinite(difference) or scale == 0.0:
        return float("inf")
    return float(difference / scale)


def entry_function(module: ModuleOp) -> func.FuncOp:
    """The first public function of a module.

    Raises: UserError if there is none.
    """
    for op in module.ops:
        private = isinstance(op, func.FuncOp) and op.sym_visibility is not None
        if isinstance(op, func.FuncOp) and not private:
            return op
    raise UserError("expected a module with a public function")


def random_inputs(module: ModuleOp, seed: int) -> list[Array]:
    """A random array for each input of the module's entry function; see `random_array`."""
    function, generator = entry_function(module), np.random.default_rng(seed)
    roles = attributes_of_arguments(function)
    outputs = {index for index, role in enumerate(roles) if is_output(role) and not is_input(role)}
    types = [
        type_
        for index, type_ in enumerate(function.function_type.inputs)
        if isa(type_, Map) and index not in outputs
    ]
    return [
        random_array(generator, type_.get_shape(), dtype_of(type_.get_element_type()))
        for type_ in types
    ]


LARGEST_RANDOM = 1000
"""The largest random integer."""


def random_array(
    generator: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    """Standard normal values for floats, False and True for bool, and for integers any values.

    Integers of 32 bits are small, so that their products fit, and float32 holds them exactly.
    """
    if dtype.kind == "f":
        return generator.standard_normal(shape, dtype=np.float32)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = max(limits.min, -LARGEST_RANDOM), min(limits.max, LARGEST_RANDOM)
    return generator.integers(low, high + 1, shape).astype(dtype)
