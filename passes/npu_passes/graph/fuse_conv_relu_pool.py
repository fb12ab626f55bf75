"""`npu-fuse-conv-relu-pool`: a convolution that activates and pools before it stores (on tensors).

    %c = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] : (...) -> tensor<1x6x28x28xf32>
    %r = npu.relu %c : tensor<1x6x28x28xf32> -> tensor<1x6x28x28xf32>
    %p = npu.max_pool2d %r kernel [2, 2] strides [2, 2] : ... -> tensor<1x6x14x14xf32>
becomes
    %p = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0]
        then relu then max_pool [2, 2] by [2, 2] : (...) -> tensor<1x6x14x14xf32>

The decision: the 28x28 map of the convolution never exists. Each pooled output is computed by
running the convolution over its window (paper 002, section 3.1, Algorithm 1; unlike there, a
maximum starts at minus infinity and not at zero, so that it needs no ReLU before it).

The published form needs a pooling stride of at least the kernel. For any stride (the paper's
section 7, future work) option `overlap` chooses what to do where windows share convolution values:

* `line-buffer` (default) computes each convolution value once. The smallest line buffer is none at
  all: the value is folded at once, by max or by sum, into every window of the OUTPUT map that holds
  it. The output is its own line buffer, and the arena needs 0 bytes of scratch; the paper allows a
  buffer of up to the pooling kernel. The op says `overlap accumulate`.
* `recompute` computes a value anew for each window that holds it: more work, but each output is
  written once. The op says `overlap recompute`.
* `none` leaves such pools alone: the published algorithm.

An activation behind a max pool moves before it: both are monotone, and no window lies on padding
only, so they commute. Activations in a row are one clamp. A global pool is one window over the
whole map. A fully connected layer takes the activations behind it. Integer sums take the
requantisation behind them too, so that their i32 map never exists:

    %s = npu.conv2d %x, %w, %b ... zero_points [3, 0] : (...) -> tensor<1x6x28x28xi32>
    %q = npu.requantize %s scales [0.01] zero_points [0, -128] mode float : ... -> tensor<...xi8>
becomes
    %q = npu.conv2d %x, %w, %b ... zero_points [3, 0]
        then requantize scales [0.01] zero_point -128 mode float : (...) -> tensor<1x6x28x28xi8>

It is monotone like the others: it moves before a maximum, and a ReLU moves behind it (where it is a
clamp at the zero point), so that the op always requantises, activates, pools. Nothing is fused
across a value with a second use, behind an average, or behind a second pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, TypeAlias, Unpack

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from npu_dialect.npu.attributes import ActivationAttr, PoolAttr, float_values, int_values
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.epilogue import Epilogue, Parts
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    ClampOp,
    Conv2dOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    PoolOp,
    ReluOp,
    RequantizeOp,
)
from npu_dialect.npu.layers.epilogue import epilogue_of
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import RequantizeAttr
from npu_passes.support.names import take_value_name
from npu_passes.support.refuse import RefusingPass

OverlapPolicy: TypeAlias = Literal["line-buffer", "recompute", "none"]
"""What to do with a pool whose windows share elements."""

CLAUSE: dict[OverlapPolicy, Overlap] = {
    "line-buffer": Overlap.ACCUMULATE,
    "recompute": Overlap.RECOMPUTE,
}
"""The `overlap` clause of `npu.conv2d` for each choice that fuses."""


@dataclass(frozen=True)
class EpilogueFusion:
    """A convolution or fully connected layer, and the layers behind it that it can take in.

    `epilogue` is that of the fused op.
    """

    head: Conv2dOp | FullyConnectedOp
    absorbed: tuple[LayerOp, ...]
    epilogue: Epilogue

    @property
    def last(self) -> LayerOp:
        """The layer whose result the fused op computes."""
        return self.absorbed[-1] if self.absorbed else self.head

    def with_layer(self, layer: LayerOp, **parts: Unpack[Parts]) -> EpilogueFusion:
        """This fusion with one more layer, which gives the epilogue some parts."""
        return EpilogueFusion(self.head, (*self.absorbed, layer), self.epilogue.with_parts(**parts))

    def extended(self, layer: LayerOp, policy: OverlapPolicy) -> EpilogueFusion | None:
        """This fusion with one more layer, or None if that is not the same computation."""
        if (activation := activation_of(layer)) is not None:
            return self.with_activation(layer, activation)
        if (pool := window_of(layer)) is not None:
            return self.with_pool(layer, pool, policy)
        if isinstance(layer, RequantizeOp):
            return self.with_requantize(layer)
        return None

    def with_requantize(self, layer: RequantizeOp) -> EpilogueFusion | None:
        """Take in the one requantisation of integer sums, before activation and pool."""
        before, after = int_values(layer.zero_points)
        if self.head.zero_points is None or self.epilogue.requantize is not None:
            return None
        if layer.divisor is not None or before != 0:
            return None
        activation = self.epilogue.activation
        if activation is not None:
            bounds = {0.0: float(after), inf: inf, -inf: -inf}
            if not set(activation.bounds) <= bounds.keys():
                return None
            activation = ActivationAttr.clamp(*(bounds[bound] for bound in activation.bounds))
        requantize = RequantizeAttr.of(float_values(layer.scales), after, layer.mode.data)
        return self.with_layer(layer, activation=activation, requantize=requantize)

    def with_activation(self, layer: LayerOp, activation: ActivationAttr) -> EpilogueFusion | None:
        """Take in an activation: before the pool if there is one, which only a maximum allows."""
        pool, before = self.epilogue.pool, self.epilogue.activation
        if pool is not None and not pool.is_max:
            return None
        if before is not None:
            activation = before.then(activation)
        return self.with_layer(layer, activation=activation)

    def with_pool(
        self, layer: LayerOp, pool: PoolAttr, policy: OverlapPolicy
    ) -> EpilogueFusion | None:
        """Take in a pooling window, the first one behind a convolution."""
        if self.epilogue.pool is not None or not isinstance(self.head, Conv2dOp):
            return None
        if self.head.zero_points is not None and not pool.is_max:
            return None
        clause = CLAUSE.get(policy) if pool.overlaps else None
        if pool.overlaps and clause is None:
            return None
        return self.with_layer(layer, pool=pool, overlap=clause)


def epilogue_fusion(head: Conv2dOp | FullyConnectedOp, policy: OverlapPolicy) -> EpilogueFusion:
    """The longest fusion that starts at a layer; nothing is absorbed if nothing can be."""
    fusion = EpilogueFusion(head, (), head.parts)
    if head.destination is not None or head.addition is not None:
        return fusion
    while (layer := only_user(fusion.last.output)) is not None:
        longer = fusion.extended(layer, policy)
        if longer is None:
            break
        fusion = longer
    return fusion


def only_user(value: SSAValue) -> LayerOp | None:
    """The layer on tensors that is the one and only user of a value, if there is one."""
    use = value.get_user_of_unique_use()
    return use if isinstance(use, LayerOp) and use.destination is None else None


def activation_of(layer: LayerOp) -> ActivationAttr | None:
    """What an activation layer does, as the clause of another layer."""
    if isinstance(layer, ReluOp):
        return ActivationAttr.relu()
    return layer.as_activation() if isinstance(layer, ClampOp) else None


def window_of(layer: LayerOp) -> PoolAttr | None:
    """The window of a pooling layer; a global pool has one window over the whole map."""
    if isinstance(layer, PoolOp):
        return layer.window()
    if isinstance(layer, GlobalMaxPool2dOp | GlobalAvgPool2dOp):
        kind = "max" if isinstance(layer, GlobalMaxPool2dOp) else "avg"
        extents = shape_of(layer.input)[2:]
        return PoolAttr.of(kind, extents, extents)
    return None


def fused_layer(fusion: EpilogueFusion) -> LayerOp:
    """The one op that computes what the layers of a fusion compute in a row."""
    layer = fusion.head.rebuilt(fusion.head.inputs, fusion.last.output_type)
    layer.epilogue = epilogue_of(fusion.epilogue)
    take_value_name(layer, fusion.last)
    return layer


def replace_chain(
    rewriter: PatternRewriter, chain: Sequence[LayerOp], layer: LayerOp, place: InsertPoint
) -> None:
    """Put one layer in place of layers of which each is the only user of the one before it."""
    rewriter.insert(layer, place)
    rewriter.replace(chain[-1], [], [layer.output])
    for each in reversed(chain[:-1]):
        rewriter.erase(each)


@dataclass(frozen=True)
class FuseTailPattern(RewritePattern):
    """Put one layer in place of a layer and the layers that it can take in."""

    overlap: OverlapPolicy

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: Conv2dOp | FullyConnectedOp, rewriter: PatternRewriter, /
    ) -> None:
        """Fuse, if there is something to fuse."""
        fusion = epilogue_fusion(op, self.overlap)
        if not fusion.absorbed:
            return
        layer = fused_layer(fusion)
        replace_chain(rewriter, (op, *fusion.absorbed), layer, InsertPoint.before(op))


@dataclass(frozen=True)
class FuseConvReluPoolPass(RefusingPass):
    """Fuse activations and pooling windows into the layer before them; see the module."""

    name = "npu-fuse-conv-relu-pool"

    overlap: OverlapPolicy = "line-buffer"
    """What to do with a pool whose windows overlap: compute each value once and fold it into the
    output, compute it anew for each window, or leave the pool alone."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse behind each convolution and fully connected layer of the module."""
        PatternRewriteWalker(FuseTailPattern(self.overlap), apply_recursively=False).rewrite_module(
            op
        )
