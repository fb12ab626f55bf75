"""`npu-measure-zeros`: measure which share of the maps that layers read is zero.

    func.call @conv1(%x, %w, %b, %y) {npu.layer = "conv1"} : ...
becomes
    func.call @conv1(%x, %w, %b, %y) {npu.layer = "conv1", npu.zeros = array<f64: 0.7, 0.0, ...>}

Level of IR: between `npu-outline-layers` and `npu-lower-to-loops`, where a layer still is one op.
The program is interpreted once on random numbers (`analysis/measured_zeros.py`). Nothing that is
computed depends on it: `npu-estimate-instructions` reads the shares. No named pipeline has the
pass: `npu-compile --instructions` adds it.

The decision: only a machine with a table of costs and without an FPU gets shares. There, functions
of the C library multiply and add floats, and they are faster for zeros. All other programs are left
alone, and so is one that cannot be interpreted.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.attributes import ZEROS
from npu_passes.lowering.estimate_instructions import costs_for
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class MeasureZerosPass(RefusingPass):
    """Measure the shares of zeros that layers read; see the module."""

    name = "npu-measure-zeros"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the program once, and write the shares on the calls of layers."""
        costs = costs_for(op)
        if costs is None or costs.core.float_registers:
            return
        from npu_passes.analysis.measured_zeros import measured_zeros  # slow to load

        for call, shares in measured_zeros(op).items():
            ZEROS.set(call, shares)
