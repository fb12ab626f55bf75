"""`npu-fuse-activations`: fuse activations into the addition before them (on tensors).

    %s = npu.add %a, %b : (tensor<1x64x56x56xf32>, ...) -> tensor<1x64x56x56xf32>
    %r = npu.relu %s : tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf32>
becomes
    %r = npu.add %a, %b then relu : (tensor<1x64x56x56xf32>, ...) -> tensor<1x64x56x56xf32>

The decision: an activation gets no loop of its own. If the sum lies off chip, this also saves the
transfers: a separate activation would fetch the sum and send it back.

The pass handles the additions that `npu-fuse-additions` leaves because no convolution can take them
in, and runs after it. It expects `npu-inline-modules` to have run, as the merge of a module must be
a plain addition. Nothing is fused if the sum has a second use, or in a region of `npu.rows` where
an activation computes a row in a later step than the sum, whose operands are gone by then.
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

from npu_dialect.attributes import RING, ROW_TIME
from npu_dialect.npu.layers import AddOp
from npu_dialect.npu.pointwise import FunctionAttr
from npu_passes.graph.fuse_additions import activated
from npu_passes.graph.fuse_conv_relu_pool import replace_chain
from npu_passes.support.names import take_value_name
from npu_passes.support.refuse import RefusingPass


class FuseActivationPattern(RewritePattern):
    """Replace an addition and the activations behind it by one addition."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        """Fuse, if there is an activation behind the addition."""
        if op.destination is not None:
            return
        activation, absorbed = activated(op)
        has_channels = isinstance(activation, FunctionAttr) and activation.has_channels
        if len(absorbed) == 1 or has_channels or ROW_TIME.get(absorbed[-1]) != ROW_TIME.get(op):
            return
        layer = op.rebuilt(op.inputs, absorbed[-1].output_type)
        layer.change_epilogue(activation=activation)
        RING.drop(layer)
        RING.copy(absorbed[-1], layer)
        take_value_name(layer, absorbed[-1])
        replace_chain(rewriter, absorbed, layer, InsertPoint.before(op))


@dataclass(frozen=True)
class FuseActivationsPass(RefusingPass):
    """Fuse activations into the addition before them; see the module."""

    name = "npu-fuse-activations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse behind each addition of the module."""
        PatternRewriteWalker(FuseActivationPattern(), apply_recursively=False).rewrite_module(op)
