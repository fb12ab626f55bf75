"""`npu-requantize-mode{mode=fixed}`: choose how all layers of a module requantise.

    %q = npu.requantize %s scales [0.01] zero_points [0, 3] mode float : ...
becomes
    %q = npu.requantize %s scales [0.01] zero_points [0, 3] mode fixed : ...

The decision: `fixed` needs no float instruction, and differs from `float` by at most one. Layers
that quantise or dequantise, divide, or compute in float32, are left unchanged. So are products and
averages of 16-bit maps that may not fit into 32 bits, and layers whose multipliers are given
exactly, as in `tosa`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npu_dialect.npu.enums import Mode, ModeAttr
from npu_dialect.npu.layers import (
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizedBinaryOp,
    RequantizeOp,
    SumsOp,
)
from npu_dialect.npu.quantization import EXACT, AdditionAttr, RequantizeAttr
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class RequantizeModePass(RefusingPass):
    """Give all layers that requantise the same mode; see the module."""

    name = "npu-requantize-mode"

    mode: Literal["float", "fixed"] = "fixed"
    """`float`: float32 arithmetic. `fixed`: a 31-bit multiplier and a shift, without floats."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change all layers, on tensors or buffers."""
        mode = Mode(self.mode)
        for layer in op.walk():
            if is_exact(layer):
                continue
            if isinstance(layer, RequantizeOp | QuantizedAddOp):
                layer.mode = ModeAttr(mode)
            elif isinstance(layer, QuantizedBinaryOp | QuantizedAvgPool2dOp):
                layer.mode = ModeAttr(mode) if mode in layer.modes else layer.mode
            elif isinstance(layer, SumsOp) and layer.requantize is not None:
                what, addition = layer.requantize, layer.addition
                layer.change_epilogue(
                    requantize=RequantizeAttr(what.scales, what.zero_point, ModeAttr(mode)),
                    addition=None
                    if addition is None
                    else AdditionAttr(
                        addition.side, addition.scales, addition.zero_points, ModeAttr(mode)
                    ),
                )


def is_exact(op: Operation) -> bool:
    """Whether a layer has multipliers that are given exactly."""
    if isinstance(op, RequantizeOp | QuantizedAddOp | QuantizedAvgPool2dOp):
        return op.mode.data in EXACT
    parts = (op.requantize, op.addition) if isinstance(op, SumsOp) else ()
    return any(part is not None and part.mode.data in EXACT for part in parts)
