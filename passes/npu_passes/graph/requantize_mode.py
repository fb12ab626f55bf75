"""`npu-requantize-mode{mode=fixed}`: how all layers of a module change scales.

    %q = npu.requantize %s scales [0.01] zero_points [0, 3] mode float : ...
becomes
    %q = npu.requantize %s scales [0.01] zero_points [0, 3] mode fixed : ...

The decision: `fixed` needs no float instruction, and is at most one away from `float`. The edges of
a network with float32 inputs or outputs, and nodes that are computed in float32, stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.layers import (
    Conv2dOp,
    FullyConnectedOp,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    RequantizeOp,
)
from npu_dialect.npu.quantization import AdditionAttr, RequantizeAttr
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class RequantizeModePass(RefusingPass):
    """Give one mode to all layers that change scales; see the module."""

    name = "npu-requantize-mode"

    mode: Literal["float", "fixed"] = "fixed"
    """`float`: float32 arithmetic. `fixed`: a 31-bit multiplier and a shift, without floats."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change all layers, on tensors or buffers."""
        for layer in op.walk():
            if isinstance(layer, RequantizeOp | QuantizedAddOp | QuantizedAvgPool2dOp):
                layer.mode = StringAttr(self.mode)
            elif isinstance(layer, Conv2dOp | FullyConnectedOp) and layer.requantize is not None:
                what = layer.requantize
                layer.requantize = RequantizeAttr.of(
                    float_values(what.scales), what.offset, self.mode
                )
                if isinstance(layer, Conv2dOp) and (addition := layer.addition) is not None:
                    layer.addition = AdditionAttr.of(
                        addition.side.data,
                        float_values(addition.scales),
                        int_values(addition.zero_points),
                        self.mode,
                    )
