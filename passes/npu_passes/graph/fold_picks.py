"""`npu-fold-picks`: let layers read what padding and resizing in front of them read (on tensors).

    %p = npu.pick %x axis 2 [none, 0 to 7, none] axis 3 [none, 0 to 7, none] fill 0.0 : ...
    %y = npu.conv2d %p, %w strides [1, 1] pads [0, 0, 0, 0] : ...
becomes
    %y = npu.conv2d %x, %w strides [1, 1] pads [1, 1, 1, 1] : ...

The decision: a larger map that one layer reads need not exist.

- Pads that the layer can have itself, zeros of a convolution and the least number of a max pool,
  become its pads.
- A 1x1 convolution behind a map that grows, by nearest elements or by interpolation, is computed
  before it does. So are batch normalisations behind it, and in front of nearest elements also
  activations and requantisations.
- A convolution of real numbers behind nearest elements, each repeated as often, becomes phases, as
  a transposed one does: of each output only those taps count apart that meet different elements of
  the smaller map. So 3x3 taps behind a map of twice the size are 2x2 taps of each of four phases.
  The weights of taps that meet the same element are added up in double precision.

      %u = npu.pick %x axis 2 [0 to 7 each 2] axis 3 [0 to 7 each 2] : ... -> tensor<1x4x16x16xf32>
      %y = npu.conv2d %u, %w pads [1, 1, 1, 1] : ...             // tensor<4x4x3x3xf32>
  becomes
      %0 = npu.conv2d %x, %w00 pads [1, 1, 0, 0] : ...           // tensor<4x4x2x2xf32>
      ...
      %y = npu.interleave %0, %1, %2, %3 steps [1, 1, 2, 2] : ... -> tensor<1x4x16x16xf32>

Weights must be constant there. Sums of quantised weights need more than 8 bits, so their maps are
not changed; `npu-fuse-rows` can run those row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, inf, prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, Float64Type, ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.utils.hints import isa

from npu_dialect.npu.attributes import int_array, int_values
from npu_dialect.npu.layers import BatchNormOp, Conv2dOp, MaxPool2dOp, PickOp, ResampleOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import QUANTISED, limits_of
from npu_dialect.runs import Run, length_of
from npu_dialect.windows import Axis
from npu_passes.graph.constants import Array, array_of
from npu_passes.graph.phases import MOVED, Phase, replace_by_parts, replace_by_phases
from npu_passes.support.refuse import RefusingPass

SPATIAL = (2, 3)
"""The axes of rows and columns."""


@dataclass(frozen=True)
class Grown:
    """An axis of `size` elements, each `each` times, with `before` and `after` pads around."""

    size: int
    each: int
    before: int
    after: int


def grown_axes(op: PickOp) -> tuple[Grown, Grown] | None:
    """How the rows and columns of a map grow; None if an op does anything else."""
    shape, runs = shape_of(op.input), op.runs
    if len(shape) != 4 or not set(runs) <= set(SPATIAL):
        return None
    found = [grown(runs.get(axis, (Run(0, shape[axis]),)), shape[axis]) for axis in SPATIAL]
    rows, columns = found
    return None if rows is None or columns is None else (rows, columns)


def grown(runs: Sequence[Run], size: int) -> Grown | None:
    """How an axis of `size` elements grows; None if the runs do anything else."""
    inner = [place for place, run in enumerate(runs) if not run.is_none]
    if len(inner) != 1:
        return None
    (place,) = inner
    each = runs[place].each
    if runs[place] != Run(0, size, each=each):
        return None
    return Grown(size, each, length_of(runs[:place]), length_of(runs[place + 1 :]))


def padding_of(layer: Conv2dOp | MaxPool2dOp) -> float:
    """The number that the layer's own pads stand for."""
    if isinstance(layer, Conv2dOp):
        return 0 if layer.zero_points is None else int_values(layer.zero_points)[0]
    element = map_type(layer.input).get_element_type()
    return limits_of(element)[0] if element in QUANTISED else -inf


def read_pick(layer: Conv2dOp | MaxPool2dOp) -> tuple[PickOp, tuple[Grown, Grown]] | None:
    """What a layer reads if it can read the smaller map itself; else None."""
    pick = layer.input.owner
    if not isinstance(pick, PickOp) or not pick.results or not layer.input.has_one_use():
        return None
    axes = grown_axes(pick)
    if axes is None or (pick.fill is not None and pick.fill.value.data != padding_of(layer)):
        return None
    return pick, axes


def with_pads(layer: Conv2dOp | MaxPool2dOp, source: SSAValue, axes: tuple[Grown, Grown]) -> bool:
    """Whether the layer can take the pads around a map into its own; then it does."""
    if any(axis.each > 1 for axis in axes):
        return False
    old = int_values(layer.pads)
    around = (*(axis.before for axis in axes), *(axis.after for axis in axes))
    pads = [a + b for a, b in zip(old, around, strict=True)]
    if isinstance(layer, MaxPool2dOp):
        layer.pads = int_array(pads)
        extents = [axis.size for axis in axes]
        if not all(axis.meets_input for axis in layer.window().axes(*extents)):
            layer.pads = int_array(old)
            return False
    layer.pads = int_array(pads)
    layer.operands[0] = source
    return True


def is_pointwise(layer: Conv2dOp) -> bool:
    """Whether a convolution computes each pixel from that pixel only."""
    return (
        shape_of(layer.weight)[2:] == (1, 1)
        and set(int_values(layer.strides)) == {1}
        and not any(int_values(layer.pads))
        and layer.epilogue is None
        and layer.residual is None
    )


def swapped(layer: Conv2dOp, rewriter: PatternRewriter) -> bool:
    """Whether a 1x1 convolution can be computed before its input grows; then it is."""
    before = layer.input.owner
    if not isinstance(before, PickOp | ResampleOp) or not before.results:
        return False
    if before.fill is not None or not layer.input.has_one_use() or not is_pointwise(layer):
        return False
    axes = before.runs if isinstance(before, PickOp) else before.by_axis
    shape, larger = shape_of(before.input), shape_of(layer.input)
    if not set(axes) <= set(SPATIAL) or prod(larger) <= prod(shape):
        return False
    type_ = layer.output_type
    small = (*type_.get_shape()[:2], *shape[2:])
    conv = layer.rebuilt(
        [before.input, *layer.inputs[1:]], TensorType(type_.get_element_type(), small)
    )
    moved = MOVED if isinstance(before, PickOp) else (BatchNormOp,)
    replace_by_parts(
        layer, [conv], [conv], lambda parts, out: before.rebuilt(parts, out), rewriter, moved
    )
    rewriter.erase(before)
    return True


def axis_phases(axis: Axis, larger: Grown) -> list[tuple[Axis, list[list[int]]]]:
    """The phases of a convolution along an axis that grows.

    For each phase: its windows over the smaller axis, and which taps of the kernel each of its own
    taps adds up.
    """
    each, first = larger.each, axis.before + larger.before
    count = each // gcd(each, axis.stride)
    found: list[tuple[Axis, list[list[int]]]] = []
    for start in range(min(count, axis.outputs)):
        met = [
            (start * axis.stride - first + tap * axis.dilation) // each
            for tap in range(axis.kernel)
        ]
        taps: list[list[int]] = [[] for _ in range(met[0], met[-1] + 1)]
        for tap, at in enumerate(met):
            taps[at - met[0]].append(tap)
        outputs, stride = -(-(axis.outputs - start) // count), count * axis.stride // each
        after = (outputs - 1) * stride + met[0] + len(taps) - larger.size
        found.append((Axis(larger.size, len(taps), stride, -met[0], after), taps))
    return found


def added_up(weight: Array, rows: Sequence[list[int]], columns: Sequence[list[int]]) -> Array:
    """Weights [O, C, KH, KW] with the given rows and columns of taps added up."""
    wide = weight.astype(np.float64)
    lines = [wide[:, :, taps].sum(axis=2) for taps in rows]
    tall = np.stack(lines, axis=2)
    return np.stack([tall[..., taps].sum(axis=3) for taps in columns], axis=3).astype(weight.dtype)


def split(
    layer: Conv2dOp, source: SSAValue, axes: tuple[Grown, Grown], rewriter: PatternRewriter
) -> bool:
    """Whether a convolution becomes phases that read the smaller map; then it does."""
    weight = array_of(layer.weight)
    element = map_type(source).get_element_type()
    if weight is None or layer.epilogue is not None or layer.accumulate is not None:
        return False
    if not isa(element, Float32Type | Float64Type):
        return False
    rows, columns = (
        axis_phases(axis, larger) for axis, larger in zip(layer.axes(), axes, strict=True)
    )
    phases = [
        Phase(added_up(weight, tall, wide), (over_rows, over_columns))
        for (over_rows, tall), (over_columns, wide) in product(rows, columns)
    ]
    replace_by_phases(layer, source, phases, (len(rows), len(columns)), rewriter)
    return True


class FoldIntoConvPattern(RewritePattern):
    """Let a convolution read the map before it grows."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Conv2dOp, rewriter: PatternRewriter, /) -> None:
        """Take pads in, compute a 1x1 convolution before, or split the convolution."""
        if op.destination is not None or swapped(op, rewriter):
            return
        found = read_pick(op)
        if found is None:
            return
        pick, axes = found
        if with_pads(op, pick.input, axes):
            rewriter.notify_op_modified(op)
        elif not split(op, pick.input, axes, rewriter):
            return
        rewriter.erase(pick)


class FoldIntoPoolPattern(RewritePattern):
    """Let a max pool have the pads of its input."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MaxPool2dOp, rewriter: PatternRewriter, /) -> None:
        """Take pads in."""
        found = None if op.destination is not None else read_pick(op)
        if found is not None and with_pads(op, found[0].input, found[1]):
            rewriter.notify_op_modified(op)
            rewriter.erase(found[0])


class FoldPicksPass(RefusingPass):
    """Let layers read maps before they are padded or resized; see the module."""

    name = "npu-fold-picks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold until nothing folds any more."""
        for pattern in (FoldIntoConvPattern(), FoldIntoPoolPattern()):
            PatternRewriteWalker(pattern).rewrite_module(op)
