"""`npu-fold-batch-norm`: fold a batch normalisation into the weights before it (on tensors).

    %c = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] : (...) -> tensor<1x6x28x28xf32>
    %y = npu.batch_norm %c, %scale, %bias, %mean, %variance epsilon 1.0e-05 : (...)
becomes
    %y = npu.conv2d %x, %w_folded, %b_folded strides [1, 1] pads [0, 0, 0, 0] : (...)

With f = scale / sqrt(variance + epsilon), channel by channel: W' = f W, b' = f (b - mean) + bias.
The decision: this is computed in double precision and rounded once, so that each new parameter is
off by at most half a unit in the last place, like any constant.

A batch normalisation is folded if the layer before it is a convolution or fully connected layer
without a fused activation, pool or addition, its output has no other use, and all parameters are
constant. Two batch normalisations in a row become one. Any other batch normalisation is left
unchanged. Parameters that are not used any more are erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import BatchNormOp, Conv2dOp, FullyConnectedOp
from npu_passes.graph.constants import Array, array_of, constant_of
from npu_passes.support.names import take_value_name
from npu_passes.support.refuse import Refusal, RefusingPass


@dataclass(frozen=True)
class Folding:
    """A layer and its new parameters, which include the batch normalisation behind it.

    `parameters` holds all parameters that the layer can have, in its order and with its shapes and
    element type: weight and bias, or those of a normalisation whose epsilon is zero.
    """

    layer: Conv2dOp | FullyConnectedOp | BatchNormOp
    parameters: tuple[Array, ...]


def norm_folding(norm: BatchNormOp) -> Folding | None:
    """How a batch normalisation folds into the layer before it, or None if it cannot.

    Raises: PassFailedException if variance + epsilon is not positive in some channel.
    """
    layer = norm.input.owner
    if norm.destination is not None or not norm.input.has_one_use():
        return None
    if isinstance(layer, Conv2dOp | FullyConnectedOp):
        return into_weights(layer, norm)
    return into_norm(layer, norm) if isinstance(layer, BatchNormOp) else None


def into_weights(layer: Conv2dOp | FullyConnectedOp, norm: BatchNormOp) -> Folding | None:
    """How a batch normalisation folds into a layer with weights, or None if it cannot."""
    if layer.activation is not None:
        return None
    if isinstance(layer, Conv2dOp) and (layer.pool is not None or layer.addition is not None):
        return None
    weight = array_of(layer.weight)
    bias = np.zeros(1) if layer.bias is None else array_of(layer.bias)
    values = constants(norm)
    if weight is None or bias is None or values is None:
        return None
    scale, shift, mean, variance = values
    factor = factor_of(norm, scale, variance)
    by_filter = factor.reshape(-1, *(1,) * (weight.ndim - 1))
    return Folding(
        layer,
        tuple(
            array.astype(weight.dtype)
            for array in (weight * by_filter, factor * (bias - mean) + shift)
        ),
    )


def into_norm(first: BatchNormOp, second: BatchNormOp) -> Folding | None:
    """How two batch normalisations become one, or None if a parameter is not constant.

    scale = f1 f2, bias = f2 (b1 - mean2) + b2, mean = mean1, variance = 1, epsilon = 0.
    """
    one, two = constants(first), constants(second)
    if one is None or two is None:
        return None
    factor = factor_of(second, two[0], two[3])
    scale = factor_of(first, one[0], one[3]) * factor
    shift = factor * (one[1] - two[2]) + two[1]
    kind = array_of(first.scale)
    assert kind is not None  # it is one of the constants
    values = (scale, shift, one[2], np.ones_like(scale))
    return Folding(first, tuple(array.astype(kind.dtype) for array in values))


def constants(norm: BatchNormOp) -> list[NDArray[np.float64]] | None:
    """Scale, bias, mean and variance in double precision; None if one is not constant."""
    arrays = [array_of(value) for value in norm.parameter_inputs]
    known = [array.astype(np.float64) for array in arrays if array is not None]
    return known if len(known) == len(arrays) else None


def factor_of(
    norm: BatchNormOp, scale: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """scale / sqrt(variance + epsilon), [C].

    Raises: PassFailedException, at the op, if variance + epsilon is not positive in some channel.
    """
    spread = variance + norm.epsilon.value.data
    if (wrong := np.flatnonzero(~(spread > 0))).size:
        channel = int(wrong[0])
        norm.emit_error(
            "no standard deviation",
            Refusal(
                "expected variance + epsilon > 0, "
                f"got {float(spread[channel])} in channel {channel}"
            ),
        )
    return scale / np.sqrt(spread)


MadeKey: TypeAlias = tuple[tuple[SSAValue, ...], str, tuple[int, ...], bytes]


@dataclass(frozen=True)
class FoldBatchNormPattern(RewritePattern):
    """Replace a layer and the batch normalisation behind it by the layer with new parameters.

    `made` are the new parameters by the old ones of the layer, type, shape and bytes: layers that
    share parameters do so after folding too.
    """

    made: dict[MadeKey, ConstantOp] = field(default_factory=dict[MadeKey, ConstantOp])

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        """Fold the batch normalisation, if possible."""
        if (folding := norm_folding(op)) is None:
            return
        layer, old = folding.layer, (*folding.layer.parameter_inputs, *op.parameter_inputs)
        hints = [getattr(layer, name) or op.bias for name in layer.PARAMETERS]
        pairs = zip(folding.parameters, hints, strict=True)
        constants = [self.constant(layer, array, hint.name_hint) for array, hint in pairs]
        new = [constant for constant in constants if constant.parent is None]
        folded = layer_with(layer, [constant.result for constant in constants], op.output_type)
        folded.attributes |= layer.attributes
        take_value_name(folded, op)
        rewriter.insert((*new, folded), InsertPoint.before(layer))
        rewriter.replace(op, [], [folded.output])
        rewriter.erase(layer)
        erase_unused(old, rewriter)

    def constant(self, layer: LayerOp, array: Array, hint: str | None) -> ConstantOp:
        """A constant for a layer: an earlier one with the same numbers and origin, or a new one."""
        key = layer.parameter_inputs, array.dtype.str, array.shape, array.tobytes()
        known = self.made.get(key)
        if known is None or known.parent is None:
            known = self.made[key] = constant_of(array, hint)
        return known


def layer_with(
    layer: Conv2dOp | FullyConnectedOp | BatchNormOp, parameters: Sequence[SSAValue], out: Attribute
) -> LayerOp:
    """A copy of the layer with new parameters, a bias included."""
    if isinstance(layer, BatchNormOp):
        scale, bias, mean, variance = parameters
        return BatchNormOp(layer.input, scale, bias, mean, variance, 0.0, out)
    folded = type(layer)(layer.input, parameters[0], parameters[1], out)
    segments = folded.properties["operandSegmentSizes"]  # the layer may have had no bias
    folded.properties |= {**layer.properties, "operandSegmentSizes": segments}
    return folded


def erase_unused(parameters: tuple[SSAValue, ...], rewriter: PatternRewriter) -> None:
    """Erase the ops whose results are not used any more, each once."""
    for parameter in dict.fromkeys(parameters):
        owner = parameter.owner
        if isinstance(owner, Operation) and all(value.first_use is None for value in owner.results):
            rewriter.erase(owner)


@dataclass(frozen=True)
class FoldBatchNormPass(RefusingPass):
    """Fold batch normalisations into the weights before them; see the module."""

    name = "npu-fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold in the order of the IR, so that normalisations in a row all fold."""
        PatternRewriteWalker(FoldBatchNormPattern()).rewrite_module(op)
