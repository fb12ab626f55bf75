"""`npu-split-conv-transpose`: turn transposed convolutions into plain ones (on tensors).

    %y = npu.conv_transpose2d %x, %w strides [1, 2] pads [0, 0, 0, 0]
        : (tensor<1x4x1x5xf32>, tensor<2x4x1x3xf32>) -> tensor<1x2x1x11xf32>
    %r = npu.relu %y : ...
becomes
    %even = npu.conv2d %x, %w02 strides [1, 1] pads [0, 1, 0, 1] : ... -> tensor<1x2x1x6xf32>
    %odd = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] : ... -> tensor<1x2x1x5xf32>
    %a = npu.relu %even : ...
    %b = npu.relu %odd : ...
    %r = npu.interleave %a, %b steps [1, 1, 1, 2] : ... -> tensor<1x2x1x11xf32>

The decision: the outputs whose row and column have the same remainder modulo the strides form a
phase. Each phase is a convolution of the input with its own taps of the kernel, at stride 1. So no
zeros are put between the inputs, and the kernels of plain convolutions compute it. With stride 1
there is one phase and no `npu.interleave`. `npu-concat-in-place` lets the phases write straight
into their slices of the output.

Activations, batch normalisations and requantisations behind the layer move in front of
`npu.interleave`, so that other passes can fuse them into the phases. A phase whose outputs do not
need all of the input reads a slice of it. Weights must be constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from npu_dialect.attributes import VALUE
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    ActivationOp,
    BatchNormOp,
    Conv2dOp,
    ConvTranspose2dOp,
    InterleaveOp,
    RequantizeOp,
    SliceOp,
)
from npu_dialect.npu.layers.transposed import Phase
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.windows import Axis
from npu_passes.graph.constants import Array, constant_like, elements_of
from npu_passes.graph.fold_batch_norm import erase_unused
from npu_passes.support.refuse import RefusingPass, refuse

MOVED = (ActivationOp, BatchNormOp, RequantizeOp)
"""Layers that a convolution can take in, and that work on each element by itself."""


def phase_weights(weight: Array, phases: tuple[Phase, Phase], zero: int) -> Array:
    """The weights [O, C / groups, KH, KW] of the convolution that computes a phase.

    Without taps, they are one tap of value `zero`, which stands for 0.
    """
    if is_bias(phases):
        return np.full_like(weight[:, :, :1, :1], zero)
    rows, columns = phases
    taps = weight[:, :, rows.first :: rows.step, columns.first :: columns.step]
    return taps[:, :, ::-1, ::-1]


def is_bias(phases: tuple[Phase, Phase]) -> bool:
    """Whether no tap meets the outputs of a phase, so that they are the bias."""
    return not all(phase.taps for phase in phases)


def phase_input(op: ConvTranspose2dOp, phases: tuple[Phase, Phase]) -> SliceOp | None:
    """The part of the input that a phase reads, if its pads take rows or columns away."""
    before = [max(0, -phase.before) for phase in phases]
    after = [max(0, -phase.after) for phase in phases]
    if is_bias(phases) or not any((*before, *after)):
        return None
    batch, channels, *extents = shape_of(op.input)
    sizes = [n - a - b for n, a, b in zip(extents, before, after, strict=True)]
    type_ = TensorType(map_type(op.input).get_element_type(), (batch, channels, *sizes))
    return SliceOp(op.input, (0, 0, *before), (batch, channels, *sizes), (1,) * 4, type_)


def phase_layer(
    op: ConvTranspose2dOp,
    source: SSAValue,
    weight: SSAValue,
    phases: tuple[Phase, Phase],
    out: Attribute,
) -> Conv2dOp:
    """The convolution that computes a phase; one without taps has all windows on padding."""
    strides, dilations = [1, 1], [phase.dilation for phase in phases]
    found = [(max(0, phase.before), max(0, phase.after)) for phase in phases]
    if is_bias(phases):
        extents = shape_of(source)[2:]
        axes = [Axis.beside(n, p.outputs) for p, n in zip(phases, extents, strict=True)]
        found, strides = (
            [(each.before, each.after) for each in axes],
            [each.stride for each in axes],
        )
    (top, bottom), (left, right) = found
    return Conv2dOp(
        source,
        weight,
        op.bias,
        out,
        strides=strides,
        pads=(top, left, bottom, right),
        dilations=dilations,
        groups=op.group_count,
        zero_points=None if op.zero_points is None else int_values(op.zero_points),
    )


def split(op: ConvTranspose2dOp) -> tuple[list[Operation], list[Conv2dOp], tuple[int, int]]:
    """The constants and slices that the convolutions of a layer read, these, and their steps.

    Raises: PassFailedException, attached to the op, if its weights are not constant.
    """
    weight = elements_of(op.weight)
    if weight is None:
        refuse(op, "expected constant weights of f32, f64 or i8 elements")
    zero = 0 if op.zero_points is None else int_values(op.zero_points)[1]
    rows, columns = (axis.phases() for axis in op.axes())
    batch, filters, *_ = shape_of(op.output)
    element = op.output_type.get_element_type()
    layers: list[Conv2dOp] = []
    operands: list[Operation] = []
    for phases in product(rows, columns):
        constant = constant_like(phase_weights(weight, phases, zero), op.weight)
        part = phase_input(op, phases)
        operands += [constant] if part is None else [constant, part]
        source = op.input if part is None else part.results[0]
        out = TensorType(element, (batch, filters, *(phase.outputs for phase in phases)))
        layers.append(phase_layer(op, source, constant.results[0], phases, out))
    return operands, layers, (len(rows), len(columns))


def follower(value: SSAValue) -> LayerOp | None:
    """The layer of `MOVED` that is the only user of a value; else None."""
    user = value.get_user_of_unique_use()
    return user if isinstance(user, MOVED) and user.destination is None else None


def applied(layer: LayerOp, part: LayerOp) -> LayerOp:
    """A layer of `MOVED`, for a part of its input."""
    _, *parameters = layer.inputs
    element = layer.output_type.get_element_type()
    out = TensorType(element, shape_of(part.output))
    made = layer.rebuilt([part.output, *parameters], out)
    VALUE.drop(made)
    return made


class SplitConvTransposePattern(RewritePattern):
    """Replace a transposed convolution, and what can move into it, by its phases."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvTranspose2dOp, rewriter: PatternRewriter, /) -> None:
        """Build the phases, apply the layers behind the op to each, and interleave them."""
        operands, layers, steps = split(op)
        for layer in layers:
            layer.attributes |= op.attributes
            if len(layers) > 1:
                VALUE.drop(layer)
        chain: list[LayerOp] = [op]
        made: list[Operation] = [*operands, *layers]
        parts: Sequence[LayerOp] = layers
        while len(parts) > 1 and (layer := follower(chain[-1].output)) is not None:
            parts = [applied(layer, part) for part in parts]
            made += parts
            chain.append(layer)
        if len(parts) > 1:
            parts = [joined(parts, steps, chain[-1])]
            made += parts
        rewriter.insert(made, InsertPoint.before(chain[-1]))
        rewriter.replace(chain[-1], [], [parts[0].output])
        for each in reversed(chain[:-1]):
            rewriter.erase(each)
        erase_unused(op.parameter_inputs, rewriter)


def joined(parts: Sequence[LayerOp], steps: tuple[int, int], last: LayerOp) -> InterleaveOp:
    """The layer that puts phases together; it has the names of the layer `last`."""
    values = [part.output for part in parts]
    layer = InterleaveOp(values, (1, 1, *steps), last.results[0].type)
    layer.attributes |= last.attributes
    return layer


class SplitConvTransposePass(RefusingPass):
    """Turn transposed convolutions into plain ones; see the module."""

    name = "npu-split-conv-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split every transposed convolution of the module."""
        PatternRewriteWalker(SplitConvTransposePattern(), apply_recursively=False).rewrite_module(
            op
        )
