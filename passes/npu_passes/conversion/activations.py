"""Makes activations and requantisations part of the layers of sums before them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from npu_dialect.npu.layers import Conv2dOp, FullyConnectedOp, RequantizeOp
from npu_passes.graph.fuse_conv_relu_pool import (
    EpilogueFusion,
    activation_of,
    fused_layer,
    only_user,
    replace_chain,
)


def fusion_of(layer: Conv2dOp | FullyConnectedOp) -> EpilogueFusion:
    """The activations and requantisations behind a layer that it can take in."""
    fusion = EpilogueFusion(layer, (), layer.parts)
    while (behind := only_user(fusion.last.output)) is not None:
        activation = activation_of(behind)
        if isinstance(behind, RequantizeOp):
            longer = fusion.with_requantize(behind)
        else:
            longer = None if activation is None else fusion.with_activation(behind, activation)
        if longer is None:
            break
        fusion = longer
    return fusion


class FusePattern(RewritePattern):
    """Replace a layer and the activations behind it by one layer."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: Conv2dOp | FullyConnectedOp, rewriter: PatternRewriter, /
    ) -> None:
        """Fuse, if there is something to fuse."""
        if op.destination is not None or op.addition is not None:
            return
        fusion = fusion_of(op)
        if fusion.absorbed:
            chain = (op, *fusion.absorbed)
            replace_chain(rewriter, chain, fused_layer(fusion), InsertPoint.before(op))


def fuse_activations(module: ModuleOp) -> None:
    """Fuse behind all convolutions and fully connected layers of a module."""
    PatternRewriteWalker(FusePattern(), apply_recursively=False).rewrite_module(module)
