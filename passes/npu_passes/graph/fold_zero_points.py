"""`npu-fold-zero-points`: fold the zero point of an input into the bias (on tensors).

    %s = npu.fully_connected %x, %w, %b zero_points [-128, 0]
        : (tensor<1x8xi8>, tensor<4x8xi8>, tensor<4xi32>) -> tensor<1x4xi32>
becomes
    %s = npu.fully_connected %x, %w, %b_folded zero_points [0, 0] : (...)

As sum((x - z) * w) = sum(x * w) - z * sum(w), the constant b' = b - z * sum(w - z_weight) replaces
the bias. This saves one subtraction for each input that is loaded. It is exact, as i32 sums wrap
around.

Weight and bias must be constant, and the layer must have no padding: at a padded border, fewer
weights belong to the sum. A layer without bias gets one. Parameters that are not used any more are
erased.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
    i32,
)
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layers import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.maps import shape_of
from npu_passes.graph.constants import Array, integers_of
from npu_passes.graph.fold_batch_norm import erase_unused
from npu_passes.support.refuse import RefusingPass


def folded_bias(layer: Conv2dOp | FullyConnectedOp) -> Array | None:
    """The bias that includes the zero point of a layer's input; None if it cannot be folded."""
    if layer.destination is not None or layer.zero_points is None or layer.accumulate is not None:
        return None
    of_input, of_weight = int_values(layer.zero_points)
    if of_input == 0 or (isinstance(layer, Conv2dOp) and any(int_values(layer.pads))):
        return None
    weight = integers_of(layer.weight)
    bias = np.zeros(1, np.int64) if layer.bias is None else integers_of(layer.bias)
    if weight is None or bias is None:
        return None
    weights = weight.astype(np.int64) - of_weight
    folded = bias.astype(np.int64) - of_input * weights.sum(axis=tuple(range(1, weight.ndim)))
    return folded.astype(np.int32 if layer.sums_element == i32 else np.int64)


class FoldZeroPointPattern(RewritePattern):
    """Replace a layer by the same one with a folded bias and an input zero point of 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: Conv2dOp | FullyConnectedOp, rewriter: PatternRewriter, /
    ) -> None:
        """Fold the zero point, if possible."""
        if (bias := folded_bias(op)) is None or op.zero_points is None:
            return
        element = op.sums_element
        type_ = TensorType(element, [shape_of(op.weight)[0]])
        constant = ConstantOp(DenseIntOrFPElementsAttr(type_, BytesAttr(bias.tobytes())), type_)
        constant.result.name_hint = (op.bias or op.weight).name_hint
        new = with_bias(op, constant.result)
        segments = new.properties["operandSegmentSizes"]  # the layer may have had no bias
        points = int_array((0, int_values(op.zero_points)[1]))
        new.properties |= {
            **op.properties,
            "operandSegmentSizes": segments,
            "zero_points": points,
        }
        new.attributes |= op.attributes
        old = op.parameter_inputs
        rewriter.insert((constant, new), InsertPoint.before(op))
        rewriter.replace(op, [], [new.output])
        erase_unused(old, rewriter)


def with_bias(op: Conv2dOp | FullyConnectedOp, bias: SSAValue) -> Conv2dOp | FullyConnectedOp:
    """A new layer with the operands of `op`, but with this bias."""
    if isinstance(op, Conv2dOp):
        return Conv2dOp(op.input, op.weight, bias, op.output_type, residual=op.residual)
    return FullyConnectedOp(op.input, op.weight, bias, op.output_type)


class FoldZeroPointsPass(RefusingPass):
    """Fold zero points of inputs into biases; see the module."""

    name = "npu-fold-zero-points"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold in every layer of the module."""
        PatternRewriteWalker(FoldZeroPointPattern(), apply_recursively=False).rewrite_module(op)
