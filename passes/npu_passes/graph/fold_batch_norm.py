"""`npu-fold-batch-norm`: a batch normalisation becomes part of the weights before it (on tensors).

    %c = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] : (...) -> tensor<1x6x28x28xf32>
    %y = npu.batch_norm %c, %scale, %bias, %mean, %variance epsilon 1.0e-05 : (...)
becomes
    %y = npu.conv2d %x, %w_folded, %b_folded strides [1, 1] pads [0, 0, 0, 0] : (...)

With f = scale / sqrt(variance + epsilon), channel by channel: W' = f W, b' = f (b - mean) + bias.
The decision: this is computed in double precision and rounded once, so that folding costs no
more than the half unit in the last place that any constant costs.

It is done where the layer before is a convolution or a fully connected layer without an activation
or pool of its own, its output has no other use, and all parameters are constant; any other batch
normalisation stays what it is. Parameters that are not used any more go away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from npu_dialect.npu.layers import BatchNormOp, Conv2dOp, FullyConnectedOp
from npu_passes.graph.constants import array_of, constant_of
from npu_passes.graph.names import take_value_name


@dataclass(frozen=True)
class Folding:
    """A layer and the parameters that make the batch normalisation behind it superfluous.

    `weight` has the shape and type of the layer's own, [O, ...]; `bias` is [O].
    """

    layer: Conv2dOp | FullyConnectedOp
    weight: NDArray[Any]
    bias: NDArray[Any]


def analyze(norm: BatchNormOp) -> Folding | None:
    """How a batch normalisation folds into the layer before it, or None if it cannot.

    Raises: PassFailedException for a variance that has no square root.
    """
    layer = norm.input.owner
    if not isinstance(layer, Conv2dOp | FullyConnectedOp) or not norm.input.has_one_use():
        return None
    if layer.activation is not None or (isinstance(layer, Conv2dOp) and layer.pool is not None):
        return None
    if norm.destination is not None:
        return None
    parameters = [array_of(value) for value in norm.parameter_inputs]
    weight = array_of(layer.weight)
    bias = np.zeros(1) if layer.bias is None else array_of(layer.bias)
    if weight is None or bias is None:
        return None
    constant = [array.astype(np.float64) for array in parameters if array is not None]
    if len(constant) != len(parameters):
        return None
    factor = factor_of(norm, constant[0], constant[3])
    return Folding(
        layer,
        (weight * factor.reshape(-1, *(1,) * (weight.ndim - 1))).astype(weight.dtype),
        (factor * (bias - constant[2]) + constant[1]).astype(weight.dtype),
    )


def factor_of(
    norm: BatchNormOp, scale: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """scale / sqrt(variance + epsilon), [C].

    Raises: PassFailedException, at the op, if a channel has no positive variance + epsilon.
    """
    spread = variance + norm.epsilon.value.data
    if (wrong := np.flatnonzero(~(spread > 0))).size:
        channel = int(wrong[0])
        norm.emit_error(
            "no standard deviation",
            PassFailedException(
                "npu-fold-batch-norm: expected variance + epsilon > 0, "
                f"got {float(spread[channel])} in channel {channel}"
            ),
        )
    return scale / np.sqrt(spread)


class FoldBatchNormPattern(RewritePattern):
    """Replace a layer and the batch normalisation behind it by the layer with other weights."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        """Fold, if it can be."""
        if (folding := analyze(op)) is None:
            return
        layer, old = folding.layer, (*folding.layer.parameter_inputs, *op.parameter_inputs)
        weight = constant_of(folding.weight, layer.weight.name_hint)
        bias = constant_of(folding.bias, (layer.bias or op.bias).name_hint)
        folded = type(layer)(layer.input, weight.result, bias.result, op.output_type)
        segments = folded.properties["operandSegmentSizes"]  # the layer may have had no bias
        folded.properties |= {**layer.properties, "operandSegmentSizes": segments}
        folded.attributes |= layer.attributes
        take_value_name(folded, op)
        rewriter.insert((weight, bias, folded), InsertPoint.before(layer))
        rewriter.replace(op, [], [folded.output])
        rewriter.erase(layer)
        erase_unused(old, rewriter)


def erase_unused(parameters: tuple[SSAValue, ...], rewriter: PatternRewriter) -> None:
    """Erase the constants among some values that nobody uses any more, each once."""
    for parameter in dict.fromkeys(parameters):
        owner = parameter.owner
        if isinstance(owner, Operation) and all(value.first_use is None for value in owner.results):
            rewriter.erase(owner)


@dataclass(frozen=True)
class FoldBatchNormPass(ModulePass):
    """Fold batch normalisations into the weights before them; see the module."""

    name = "npu-fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold in the order of the IR, so that normalisations in a row all fold."""
        PatternRewriteWalker(FoldBatchNormPattern()).rewrite_module(op)
