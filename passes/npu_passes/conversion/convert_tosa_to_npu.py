"""`convert-tosa-to-npu`: ops of `tosa` become layers (on tensors).

    %c = tosa.conv2d %x, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>,
        stride = array<i64: 1, 1>} : (tensor<1x32x32x1xf32>, ...) -> tensor<1x28x28x6xf32>
    %r = tosa.clamp %c {max_fp = 3.40282347E+38 : f32, ..., min_fp = 0.0 : f32} : ...
becomes
    %c = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] then relu
        : (tensor<1x1x32x32xf32>, ...) -> tensor<1x6x28x28xf32>

The decision: all maps between layers have their channels second, as layers have them. Weights get
the order that layers expect. `tosa` has channels last, so `npu.transpose` stands where a map enters
the layers and where it leaves them, and nowhere between; npu-transpose-in-place can make a view of
it. Pads around the input of a convolution or a maximum become pads of the layer. A constant that is
added behind a convolution is its bias, an activation behind it is part of it.

The ops may have the form of MLIR 19, with zero points and pads as attributes, or of later versions,
with these as operands. An op that has no equivalent stays, with the reason as `npu.left`.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npu_passes.conversion.activations import fuse_activations
from npu_passes.conversion.function import convert_module
from npu_passes.conversion.sums import fuse_sums
from npu_passes.conversion.tosa_integers import TOSA_RULES
from npu_passes.support.refuse import RefusingPass
from npu_passes.support.resources import resolve


class ConvertTosaToNpuPass(RefusingPass):
    """Convert `tosa` to layers; see the module."""

    name = "convert-tosa-to-npu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert all functions of the module."""
        resolve(op, ctx)
        convert_module(op, ("tosa",), TOSA_RULES)
        fuse_sums(op)
        fuse_activations(op)
