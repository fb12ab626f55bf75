"""`npu-fuse-activations`: an addition that activates before it stores (on tensors).

    %s = npu.add %a, %b : (tensor<1x64x56x56xf32>, ...) -> tensor<1x64x56x56xf32>
    %r = npu.relu %s : tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf32>
becomes
    %r = npu.add %a, %b then relu : (tensor<1x64x56x56xf32>, ...) -> tensor<1x64x56x56xf32>

The decision: no loop, and of a map off the chip no transfer, is for an activation alone. In place
it would fetch the sum once more and send it back.

It is for the additions that `npu-fuse-additions` leaves, as no convolution can take them in, and
runs behind it. Modules are merged by additions as they are: expects `npu-inline-modules` to have
run. Nothing is fused where the sum has a second use.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from npu_dialect.npu.layers import AddOp
from npu_passes.graph.fuse_additions import activated
from npu_passes.graph.fuse_conv_relu_pool import replace_chain
from npu_passes.support.names import take_value_name
from npu_passes.support.refuse import RefusingPass


class FuseActivationPattern(RewritePattern):
    """Put one addition in place of an addition and the activations behind it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        """Fuse, if there is something to fuse."""
        if op.destination is not None:
            return
        activation, absorbed = activated(op)
        if len(absorbed) == 1:
            return
        layer = op.rebuilt(op.inputs, absorbed[-1].output_type)
        layer.change_epilogue(activation=activation)
        take_value_name(layer, absorbed[-1])
        replace_chain(rewriter, absorbed, layer, InsertPoint.before(op))


@dataclass(frozen=True)
class FuseActivationsPass(RefusingPass):
    """Fuse activations into the addition before them; see the module."""

    name = "npu-fuse-activations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse behind each addition of the module."""
        PatternRewriteWalker(FuseActivationPattern(), apply_recursively=False).rewrite_module(op)
