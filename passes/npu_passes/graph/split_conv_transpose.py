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

from itertools import product

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layers import ConvTranspose2dOp
from npu_dialect.npu.layers.transposed import Phase as Taps
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.graph.constants import Array, elements_of
from npu_passes.graph.phases import Phase, replace_by_phases
from npu_passes.support.refuse import RefusingPass, refuse


def phase_of(weight: Array, taps: tuple[Taps, Taps], extents: tuple[int, ...], zero: int) -> Phase:
    """The convolution of a map [N, C, *extents] that computes a phase, from all weights.

    If no tap meets the outputs of the phase, they are the bias: all windows lie on padding, and the
    weights are one tap of value `zero`, which stands for 0.
    """
    if not all(each.taps for each in taps):
        rows, columns = (
            Axis.beside(size, each.outputs) for size, each in zip(extents, taps, strict=True)
        )
        return Phase(np.full_like(weight[:, :, :1, :1], zero), (rows, columns))
    rows, columns = taps
    found = weight[:, :, rows.first :: rows.step, columns.first :: columns.step]
    height, width = extents
    return Phase(
        found[:, :, ::-1, ::-1],
        (
            Axis(height, rows.taps, 1, rows.before, rows.after, rows.dilation),
            Axis(width, columns.taps, 1, columns.before, columns.after, columns.dilation),
        ),
    )


class SplitConvTransposePattern(RewritePattern):
    """Replace a transposed convolution, and what can move into it, by its phases."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvTranspose2dOp, rewriter: PatternRewriter, /) -> None:
        """Build the phases, apply the layers behind the op to each, and interleave them."""
        weight = elements_of(op.weight)
        if weight is None:
            refuse(op, "expected constant weights of f32, f64 or i8 elements")
        zero = 0 if op.zero_points is None else int_values(op.zero_points)[1]
        rows, columns = (axis.phases() for axis in op.axes())
        extents = shape_of(op.input)[2:]
        phases = [phase_of(weight, taps, extents, zero) for taps in product(rows, columns)]
        replace_by_phases(op, op.input, phases, (len(rows), len(columns)), rewriter)


class SplitConvTransposePass(RefusingPass):
    """Turn transposed convolutions into plain ones; see the module."""

    name = "npu-split-conv-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split every transposed convolution of the module."""
        PatternRewriteWalker(SplitConvTransposePattern(), apply_recursively=False).rewrite_module(
            op
        )
