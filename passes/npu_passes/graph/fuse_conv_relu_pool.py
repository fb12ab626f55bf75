"""`npu-fuse-conv-relu-pool`: fuse activations and a pool into a convolution (on tensors).

    %c = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] : (...) -> tensor<1x6x28x28xf32>
    %r = npu.relu %c : tensor<1x6x28x28xf32> -> tensor<1x6x28x28xf32>
    %p = npu.max_pool2d %r kernel [2, 2] strides [2, 2] : ... -> tensor<1x6x14x14xf32>
becomes
    %p = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0]
        then relu then max_pool [2, 2] by [2, 2] : (...) -> tensor<1x6x14x14xf32>

The decision: the 28x28 map of the convolution never exists. Each pooled output is computed by
running the convolution over its window (paper 002, section 3.1, Algorithm 1). Unlike there, a
maximum starts at minus infinity and not at zero, so it needs no ReLU before it.

The published algorithm needs a pooling stride of at least the kernel. The paper leaves smaller
strides, with overlapping windows, to future work (section 7). Option `overlap` chooses what to do
with a convolution value that several windows share:

* `line-buffer` (default) computes each convolution value once and folds it at once, by max or sum,
  into every pooled output whose window holds it. The OUTPUT map serves as the line buffer, so the
  arena needs 0 bytes of scratch; the paper allows a buffer of up to the pooling kernel. The op gets
  `overlap accumulate`.
* `recompute` computes the value again for each window that holds it: more work, but each output is
  written once. The op gets `overlap recompute`.
* `none` does not fuse such pools, as in the published algorithm.

An activation behind a max pool moves before it. They commute if both are monotone, as no window
lies on padding only; SiLU, for one, is not. Activations in a row become one: bounds one clamp,
bounds and tables one table. A global pool is one window over the whole map. Fully connected layers
and matrix products take in the activations behind them. A layer with integer sums also takes in the
requantisation behind it, so that its i32 map never exists:

    %s = npu.conv2d %x, %w, %b ... zero_points [3, 0] : (...) -> tensor<1x6x28x28xi32>
    %q = npu.requantize %s scales [0.01] zero_points [0, -128] mode float : ... -> tensor<...xi8>
becomes
    %q = npu.conv2d %x, %w, %b ... zero_points [3, 0]
        then requantize scales [0.01] zero_point -128 mode float : (...) -> tensor<1x6x28x28xi8>

Requantisation is monotone too. It moves before a max pool, and a ReLU before it moves behind it and
becomes a clamp at the zero point. So the op always requantises, then activates, then pools. Nothing
is fused across a value with a second use, behind an average pool, or behind a second pool.

A core with a vector unit computes sums in lanes, and looks 16 bytes up at once. So a table of bytes
stays a layer of its own there, which runs in place, unless a pool behind it is fused, too.
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

from npu_dialect.npu.attributes import PoolAttr, float_values, int_values
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.epilogue import Epilogue, Parts
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    ActivationOp,
    Conv2dOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    MatmulOp,
    PoolOp,
    RequantizeOp,
)
from npu_dialect.npu.layers.epilogue import epilogue_of
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import ActivationAttr, FunctionAttr, PointwiseAttr, TableAttr
from npu_dialect.npu.quantization import RequantizeAttr
from npu_dialect.target import machine_of
from npu_passes.support.names import take_value_name
from npu_passes.support.refuse import RefusingPass

Head: TypeAlias = Conv2dOp | FullyConnectedOp | MatmulOp
"""A layer that can take in layers behind it."""

OverlapPolicy: TypeAlias = Literal["line-buffer", "recompute", "none"]
"""What to do with a pool whose windows overlap."""

CLAUSE: dict[OverlapPolicy, Overlap] = {
    "line-buffer": Overlap.ACCUMULATE,
    "recompute": Overlap.RECOMPUTE,
}
"""The `overlap` clause of `npu.conv2d` for each choice that fuses."""


@dataclass(frozen=True)
class EpilogueFusion:
    """A layer of sums, and the layers behind it that it takes in.

    `epilogue` is the epilogue of the fused op.
    """

    head: Head
    absorbed: tuple[LayerOp, ...]
    epilogue: Epilogue

    @property
    def last(self) -> LayerOp:
        """The layer whose result the fused op computes."""
        return self.absorbed[-1] if self.absorbed else self.head

    def with_layer(self, layer: LayerOp, **parts: Unpack[Parts]) -> EpilogueFusion:
        """This fusion with one more layer, and with these parts of the epilogue replaced."""
        return EpilogueFusion(self.head, (*self.absorbed, layer), self.epilogue.with_parts(**parts))

    def extended(self, layer: LayerOp, policy: OverlapPolicy) -> EpilogueFusion | None:
        """This fusion with one more layer, or None if the fused op cannot compute the same."""
        if (activation := activation_of(layer)) is not None:
            return self.with_activation(layer, activation)
        if (pool := window_of(layer)) is not None:
            return self.with_pool(layer, pool, policy)
        if isinstance(layer, RequantizeOp):
            return self.with_requantize(layer)
        return None

    def with_requantize(self, layer: RequantizeOp) -> EpilogueFusion | None:
        """Take in a requantisation of integer sums, which comes before activation and pool.

        None if the sums have one already, or if it cannot move before the activation.
        """
        before, after = int_values(layer.zero_points)
        if self.head.zero_points is None or self.epilogue.requantize is not None:
            return None
        if layer.divisor is not None or before != 0:
            return None
        activation = self.epilogue.activation
        if activation is not None:
            if not isinstance(activation, ActivationAttr):
                return None
            bounds = {0.0: float(after), inf: inf, -inf: -inf}
            if not set(activation.bounds) <= bounds.keys():
                return None
            activation = ActivationAttr.clamp(*(bounds[bound] for bound in activation.bounds))
        requantize = RequantizeAttr.of(float_values(layer.scales), after, layer.mode.data)
        return self.with_layer(layer, activation=activation, requantize=requantize)

    def with_activation(self, layer: LayerOp, activation: PointwiseAttr) -> EpilogueFusion | None:
        """Take in an activation, which moves before a pool.

        None behind an average pool, if a max pool does not commute with it, or if it and the
        activation before it are not one.
        """
        pool, before = self.epilogue.pool, self.epilogue.activation
        if pool is not None and not (pool.is_max and activation.is_monotone):
            return None
        both = activation if before is None else before.then(activation)
        return None if both is None else self.with_layer(layer, activation=both)

    def with_pool(
        self, layer: LayerOp, pool: PoolAttr, policy: OverlapPolicy
    ) -> EpilogueFusion | None:
        """Take in a pooling window, if the head is a convolution without one; else None.

        None also for an average of integers, for overlapping windows with policy `none`, and behind
        an activation that is not computed after a maximum, or not for single values of an average.
        """
        if self.epilogue.pool is not None or not isinstance(self.head, Conv2dOp):
            return None
        if self.head.zero_points is not None and not pool.is_max:
            return None
        activation = self.epilogue.activation
        if activation is not None and not commutes(activation, pool):
            return None
        clause = CLAUSE.get(policy) if pool.overlaps else None
        if pool.overlaps and clause is None:
            return None
        return self.with_layer(layer, pool=pool, overlap=clause)


def epilogue_fusion(head: Head, policy: OverlapPolicy, *, vectors: bool = False) -> EpilogueFusion:
    """The longest fusion that starts at a layer; `absorbed` may be empty.

    `vectors`: the machine has a vector unit, so a table is not fused without a pool.
    """
    fusion = plain = EpilogueFusion(head, (), head.parts)
    if head.destination is not None or head.addition is not None:
        return fusion
    while (layer := only_user(fusion.last.output)) is not None:
        longer = fusion.extended(layer, policy)
        if longer is None:
            break
        fusion = longer
        if not isinstance(fusion.epilogue.activation, TableAttr):
            plain = fusion
    return fusion if fusion.epilogue.pool is not None or not vectors else plain


def only_user(value: SSAValue) -> LayerOp | None:
    """The layer on tensors that is the only use of a value; None if there is no such layer."""
    use = value.get_user_of_unique_use()
    return use if isinstance(use, LayerOp) and use.destination is None else None


def commutes(activation: PointwiseAttr, pool: PoolAttr) -> bool:
    """Whether a fused layer can compute an activation and the pool behind it.

    It does so after a maximum, and for each value of an average, whatever its channel.
    """
    if pool.is_max:
        return activation.is_monotone
    return not (isinstance(activation, FunctionAttr) and activation.has_channels)


def activation_of(layer: LayerOp) -> PointwiseAttr | None:
    """An activation layer as a clause of another layer; None for other layers."""
    return layer.as_activation() if isinstance(layer, ActivationOp) else None


def window_of(layer: LayerOp) -> PoolAttr | None:
    """The window of a pooling layer, for a global pool the whole map; None for other layers."""
    if isinstance(layer, PoolOp):
        return layer.window()
    if isinstance(layer, GlobalMaxPool2dOp | GlobalAvgPool2dOp):
        kind = "max" if isinstance(layer, GlobalMaxPool2dOp) else "avg"
        extents = shape_of(layer.input)[2:]
        return PoolAttr.of(kind, extents, extents)
    return None


def fused_layer(fusion: EpilogueFusion) -> LayerOp:
    """The one op that computes what the layers of a fusion compute one after the other."""
    layer = fusion.head.rebuilt(fusion.head.inputs, fusion.last.output_type)
    layer.epilogue = epilogue_of(fusion.epilogue)
    take_value_name(layer, fusion.last)
    return layer


def replace_chain(
    rewriter: PatternRewriter, chain: Sequence[LayerOp], layer: LayerOp, place: InsertPoint
) -> None:
    """Replace a chain of layers, each the only user of the one before it, by one layer."""
    rewriter.insert(layer, place)
    rewriter.replace(chain[-1], [], [layer.output])
    for each in reversed(chain[:-1]):
        rewriter.erase(each)


@dataclass(frozen=True)
class FuseTailPattern(RewritePattern):
    """Replace a layer and the layers that it can take in by one layer."""

    overlap: OverlapPolicy
    vectors: bool

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: Conv2dOp | FullyConnectedOp | MatmulOp, rewriter: PatternRewriter, /
    ) -> None:
        """Fuse, if the layer can take in another one."""
        fusion = epilogue_fusion(op, self.overlap, vectors=self.vectors)
        if not fusion.absorbed:
            return
        layer = fused_layer(fusion)
        replace_chain(rewriter, (op, *fusion.absorbed), layer, InsertPoint.before(op))


@dataclass(frozen=True)
class FuseConvReluPoolPass(RefusingPass):
    """Fuse activations and pooling windows into the layer before them; see the module."""

    name = "npu-fuse-conv-relu-pool"

    overlap: OverlapPolicy = "line-buffer"
    """What to do with a pool whose windows overlap. `line-buffer`: compute each convolution value
    once and fold it into the outputs. `recompute`: compute it again for each window. `none`: do not
    fuse the pool."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse behind each layer of sums of the module."""
        machine = machine_of(op)
        vectors = machine is not None and "mve" in machine.features
        pattern = FuseTailPattern(self.overlap, vectors)
        PatternRewriteWalker(pattern, apply_recursively=False).rewrite_module(op)
