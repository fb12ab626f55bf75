"""The meaning of modules: the branches run in textual order, then their parts are merged.

%y = npu.module concat axis 1 of %x : ... {
  npu.branch part 1 { ... npu.yield %b : ... }      // runs first, comes second in the merge
  npu.branch part 0 { ... npu.yield %a : ... }
}
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)

from npu_dialect.interpreters.values import Array
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import BranchedModuleOp, YieldOp


@register_impls
class StructureFunctions(InterpreterFunctions):
    """`npu.module`, `npu.branch`, `npu.rows` and `npu.yield` for xDSL's interpreter."""

    @impl(BranchedModuleOp)
    def run_module(
        self, interpreter: Interpreter, op: BranchedModuleOp, args: PythonValues
    ) -> PythonValues:
        """Run the branches and merge their parts."""
        parts: dict[int, Array] = {}
        for branch in op.branches:
            (value,) = interpreter.run_ssacfg_region(branch.body, (), "branch")
            parts[branch.part.value.data] = value
        ordered = [parts[part] for part in sorted(parts)]
        if op.axis is not None:
            return (np.concatenate(ordered, axis=op.axis.value.data),)
        return (reduce(np.add, ordered),)

    @impl(RowsOp)
    def run_rows(self, interpreter: Interpreter, op: RowsOp, args: PythonValues) -> PythonValues:
        """Run the chain of layers; the result is the same as row by row."""
        return tuple(interpreter.run_ssacfg_region(op.body, (), "rows"))

    @impl_terminator(YieldOp)
    def run_yield(
        self, _interpreter: Interpreter, op: YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        """Return the output map of a branch, or of `npu.rows`."""
        return ReturnedValues(args), ()
