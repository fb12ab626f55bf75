"""`npu-fuse-additions`: fuse an addition into the convolution before it (on tensors).

    %c = npu.conv2d %x, %w, %b ... then requantize scales [0.01] zero_point 3 mode float : (...)
    %s = npu.quantized_add %r, %c scales [0.2, 0.1, 0.3] zero_points [-5, 3, -128] mode float : ...
    %y = npu.clamp %s low -128.0 high 90.0 : tensor<1x16x32x32xi8> -> tensor<1x16x32x32xi8>
becomes
    %y = npu.conv2d %x, %w, %b, %r ... then requantize scales [0.01] zero_point 3 mode float
        then add residual first scales [0.2, 0.1, 0.3] zero_points [-5, 3, -128] mode float
        then clamp [-128.0, 90.0] : (...)

The decision: the OFM of the convolution never exists as a map. If the other summand dies here, as
the shortcut of a residual block does, `npu-bufferize` gives its buffer to the sum. The block then
needs only two maps: the input of its last convolution and the shortcut.

A convolution takes in an `npu.add` of floats, or an `npu.quantized_add` behind its requantisation,
and the activations behind the addition. The fused op requantises, activates, adds and rounds in the
order of the single layers, so the results are the same bit for bit. If both summands come from
convolutions, the later one adds. The convolution stays where it is, or moves behind the layer that
computes the other summand.

Nothing is fused if

* the convolution has a second use or a fused pooling window,
* the two summands differ in shape,
* the sum and the convolution differ in element type,
* the other summand is a constant, or
* the layers run row by row in `npu.rows`, where the convolution's OFM never exists anyway.

Expects `npu-fuse-conv-relu-pool` to have run.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike

from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import AddOp, Conv2dOp, QuantizedAddOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import PointwiseAttr
from npu_dialect.npu.quantization import AdditionAttr
from npu_dialect.npu.rows import RowsOp
from npu_passes.graph.fuse_conv_relu_pool import activation_of, only_user, replace_chain
from npu_passes.support.names import take_value_name
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class AdditionFusion:
    """A convolution that takes in an addition and the activations behind it.

    `residual` is the other summand. `absorbed` are the layers that the convolution takes in: the
    addition, then the activations, which `activation` does in one.
    """

    conv: Conv2dOp
    residual: SSAValue
    addition: AdditionAttr
    activation: PointwiseAttr | None
    absorbed: tuple[LayerOp, ...]

    @property
    def place(self) -> InsertPoint:
        """Where the fused convolution goes: to the old one, or behind the layer of the residual."""
        owner = self.residual.owner
        if isinstance(owner, Operation) and self.conv.is_before_in_block(owner):
            return InsertPoint.after(owner)
        return InsertPoint.before(self.conv)


def addition_fusion(layer: AddOp | QuantizedAddOp) -> AdditionFusion | None:
    """How a convolution takes in an addition, or None if none can."""
    if layer.destination is not None or isinstance(layer.parent_op(), RowsOp):
        return None
    found = [
        (conv, side)
        for side, value in (("second", layer.lhs), ("first", layer.rhs))
        if (conv := conv_of(value, layer)) is not None
    ]
    if not found:
        return None
    conv, side = found[0]
    for other, other_side in found[1:]:
        if conv.is_before_in_block(other):
            conv, side = other, other_side
    residual = layer.lhs if side == "first" else layer.rhs
    if shape_of(residual) != shape_of(conv.output) or is_constant(residual):
        return None
    activation, absorbed = activated(layer)
    return AdditionFusion(conv, residual, clause_of(layer, side), activation, absorbed)


def conv_of(value: SSAValue, layer: AddOp | QuantizedAddOp) -> Conv2dOp | None:
    """The convolution that computes a summand, if it can take in the addition; else None."""
    conv = value.owner
    if not isinstance(conv, Conv2dOp) or conv.parent is not layer.parent:
        return None
    if conv.pool is not None or conv.addition is not None or not value.has_one_use():
        return None
    if value.type != layer.output_type:
        return None
    quantised = isinstance(layer, QuantizedAddOp)
    return conv if quantised == (conv.requantize is not None) else None


def is_constant(value: SSAValue) -> bool:
    """Whether a summand is a constant, whose buffer the sum cannot overwrite."""
    return ConstantLike.get_constant_value(value) is not None


def clause_of(layer: AddOp | QuantizedAddOp, side: str) -> AdditionAttr:
    """An addition as a clause of a convolution; `side` says which summand the residual is."""
    if isinstance(layer, AddOp):
        return AdditionAttr.of(side)
    scales, points = float_values(layer.scales), int_values(layer.zero_points)
    return AdditionAttr.of(side, scales, points, layer.mode.data)


def activated(layer: LayerOp) -> tuple[PointwiseAttr | None, tuple[LayerOp, ...]]:
    """A layer's own activation and those behind it as one, and the layer with those layers."""
    activation = layer.activation if isinstance(layer, AddOp) else None
    absorbed = (layer,)
    while (user := only_user(absorbed[-1].output)) is not None:
        if (more := activation_of(user)) is None:
            break
        if (both := more if activation is None else activation.then(more)) is None:
            break
        activation = both
        absorbed = (*absorbed, user)
    return activation, absorbed


def fused_layer(fusion: AdditionFusion) -> Conv2dOp:
    """The convolution that computes the activated sum."""
    conv, last = fusion.conv, fusion.absorbed[-1]
    layer = Conv2dOp(conv.input, conv.weight, conv.bias, last.output_type, residual=fusion.residual)
    segments = layer.properties["operandSegmentSizes"]
    layer.properties |= {**conv.properties, "operandSegmentSizes": segments}
    layer.attributes |= conv.attributes
    layer.change_epilogue(addition=fusion.addition, sum_activation=fusion.activation)
    take_value_name(layer, last)
    return layer


class FuseAdditionPattern(RewritePattern):
    """Replace a convolution, an addition and the activations behind it by one convolution."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp | QuantizedAddOp, rewriter: PatternRewriter, /) -> None:
        """Fuse, if a convolution can take in the addition."""
        if (fusion := addition_fusion(op)) is None:
            return
        chain = (fusion.conv, *fusion.absorbed)
        replace_chain(rewriter, chain, fused_layer(fusion), fusion.place)


@dataclass(frozen=True)
class FuseAdditionsPass(RefusingPass):
    """Fuse additions into the convolution that computes a summand; see the module."""

    name = "npu-fuse-additions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse each addition of the module that a convolution can take in."""
        PatternRewriteWalker(FuseAdditionPattern(), apply_recursively=False).rewrite_module(op)
