"""`convert-linalg-to-npu`: ops of `linalg` and `tensor` become layers (on tensors).

    %f = linalg.generic {...} ins(%b : tensor<6xf32>) outs(%e : tensor<1x28x28x6xf32>) {yield %in}
    %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = ...}
        ins(%x, %w : tensor<1x32x32x1xf32>, tensor<5x5x1x6xf32>) outs(%f : ...) -> ...
    %r = linalg.generic {...} ins(%c : ...) {^bb0(%in, %out): arith.maximumf %in, %zero ...}
becomes
    %c = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] then relu
        : (tensor<1x1x32x32xf32>, ...) -> tensor<1x6x28x28xf32>

The decision is that of `convert-tosa-to-npu`: maps between layers have their channels second, and
constants get the order that layers expect. What a convolution or a product of matrices starts from
becomes its bias: a fill with zeros none, a vector along the channels one. `tensor.pad` becomes the
pads of a layer behind it. In the body of a `linalg.generic`, each op on numbers becomes a layer; a
sum over windows that is divided by their sizes is an average. Pieces that are inserted one behind
the other into an empty tensor are a concatenation.

An op that has no equivalent stays, with the reason as `npu.left`.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npu_passes.conversion.activations import fuse_activations
from npu_passes.conversion.function import convert_module
from npu_passes.conversion.linalg_generic import generic, reduce
from npu_passes.conversion.linalg_layers import LINALG_LAYERS
from npu_passes.conversion.tensor_layers import TENSOR_LAYERS
from npu_passes.support.refuse import RefusingPass
from npu_passes.support.resources import resolve

RULES = {
    **LINALG_LAYERS,
    **TENSOR_LAYERS,
    "linalg.generic": generic,
    "linalg.reduce": reduce,
}
"""The rules by the names of the ops."""


class ConvertLinalgToNpuPass(RefusingPass):
    """Convert `linalg` to layers; see the module."""

    name = "convert-linalg-to-npu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert all functions of the module."""
        resolve(op, ctx)
        convert_module(op, ("linalg", "tensor"), RULES)
        fuse_activations(op)
