"""`npu-fuse-normalizations`: find normalisations that are spelt out in parts (on tensors).

    %m = npu.reduce %x with mean axes [2] : ...
    %d = npu.binary %x, %m with sub : ...
    %q = npu.mul %d, %d : ...
    %v = npu.reduce %q with mean axes [2] : ...
    %e = npu.add %v, %epsilon : ...
    %s = npu.map %e with sqrt : ...
    %n = npu.binary %d, %s with div : ...
    %y = npu.mul %n, %scale : ...
    %z = npu.add %y, %bias : ...
becomes
    %z = npu.normalize %x, %scale, %bias axes [2] epsilon 1.0e-05 : ...

The decision: one layer needs no maps between its parts, and runs in place. Without the difference
to the mean it is `rms`. A mean may also be a global average pool between reshapes, the division a
product with a reciprocal, scale and bias a batch normalisation behind it. Epsilon, scale and bias
must be constant, and nothing else may read the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.enums import BinaryKind, Function, ReduceKind
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    AddOp,
    BatchNormOp,
    GlobalAvgPool2dOp,
    MapOp,
    MulOp,
    NormalizeOp,
    PairwiseOp,
    ReduceOp,
    ReshapeOp,
)
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import broadcast
from npu_passes.graph.constants import Array, array_of, constant_of
from npu_passes.graph.fold_batch_norm import constants, erase_unused, factor_of
from npu_passes.support.names import take_value_name
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class Mean:
    """A value that is the mean of `source` along `axes`; `parts` are the layers that compute it."""

    source: SSAValue
    axes: tuple[int, ...]
    parts: tuple[LayerOp, ...]


@dataclass(frozen=True)
class Normalization:
    """A normalisation that is spelt out: its map, and the layers that compute it, the last last."""

    source: SSAValue
    axes: tuple[int, ...]
    epsilon: float
    rms: bool
    parts: tuple[LayerOp, ...]


def mean_of(value: SSAValue) -> Mean | None:
    """A value as the mean of a map, with extent 1 along the axes; None if it is none."""
    outer = reshapes(value)
    layer = outer[-1].input.owner if outer else value.owner
    if isinstance(layer, ReduceOp) and layer.kind.data == ReduceKind.MEAN:
        return kept(Mean(layer.input, int_values(layer.axes), (layer, *outer)), value)
    if not isinstance(layer, GlobalAvgPool2dOp):
        return None
    inner = reshapes(layer.input)
    source = inner[-1].input if inner else layer.input
    shape, count = shape_of(source), prod(shape_of(layer.input)[2:])
    for first in range(len(shape)):
        if prod(shape[first:]) == count:
            axes = tuple(range(first, len(shape)))
            found = kept(Mean(source, axes, (*inner, layer, *outer)), value)
            if found is not None:
                return found
    return None


def reshapes(value: SSAValue) -> list[ReshapeOp]:
    """The reshapes from a value backwards."""
    found: list[ReshapeOp] = []
    while isinstance(value.owner, ReshapeOp):
        found.append(value.owner)
        value = value.owner.input
    return found


def kept(mean: Mean, value: SSAValue) -> Mean | None:
    """The mean, if the value has the shape of its source with extent 1 along the axes."""
    shape = shape_of(mean.source)
    wanted = tuple(1 if axis in mean.axes else extent for axis, extent in enumerate(shape))
    return mean if shape_of(value) == wanted else None


def centred(value: SSAValue) -> Mean | None:
    """The mean that is subtracted from its own map to give a value; None for any other value."""
    layer = value.owner
    if not isinstance(layer, PairwiseOp) or layer.kind.data != BinaryKind.SUB:
        return None
    mean = mean_of(layer.rhs)
    if mean is None or mean.source is not layer.lhs:
        return None
    return Mean(mean.source, mean.axes, (*mean.parts, layer))


def deviation(value: SSAValue, *, inverse: bool) -> tuple[Mean, float, tuple[LayerOp, ...]] | None:
    """A value as sqrt(mean(d * d) + epsilon): the mean, epsilon, and the layers; else None.

    `inverse`: one divided by that.
    """
    parts: list[LayerOp] = []
    functions = [Function.RECIPROCAL, Function.SQRT] if inverse else [Function.SQRT]
    for function in functions:
        layer = value.owner
        if not isinstance(layer, MapOp) or layer.function.function.data != function:
            return None
        parts.append(layer)
        value = layer.input
    epsilon = 0.0
    if isinstance(added := value.owner, AddOp) and added.epilogue is None:
        number, value = added.rhs, added.lhs
        if array_of(number) is None:
            number, value = value, number
        constant = array_of(number)
        if constant is None or constant.size != 1 or not constant.reshape(-1)[0] >= 0:
            return None
        epsilon = float(str(constant.reshape(-1)[0]))  # the shortest number, 1e-05
        parts.append(added)
    mean = mean_of(value)
    return None if mean is None else (mean, epsilon, (*mean.parts, *parts))


def spelt_out(op: PairwiseOp | MulOp) -> Normalization | None:
    """The normalisation that ends with a division, or a product with a reciprocal; else None."""
    inverse = isinstance(op, MulOp)
    if isinstance(op, PairwiseOp) and op.kind.data != BinaryKind.DIV:
        return None
    for distance, divisor in ((op.lhs, op.rhs), (op.rhs, op.lhs))[: 2 if inverse else 1]:
        found = deviation(divisor, inverse=inverse)
        square = found[0].source.owner if found else None
        if found is None or not isinstance(square, MulOp) or square.lhs is not square.rhs:
            continue
        spread, epsilon, parts = found
        mean = centred(distance)
        if mean is None and square.lhs is distance:
            parts = (square, *parts, op)
            return Normalization(distance, spread.axes, epsilon, True, parts)
        other = centred(square.lhs)
        if mean is None or other is None:
            continue
        if (mean.source, mean.axes) == (other.source, other.axes) and mean.axes == spread.axes:
            every = dict.fromkeys((*mean.parts, *other.parts, square, *parts, op))
            return Normalization(mean.source, mean.axes, epsilon, False, tuple(every))
    return None


def is_private(parts: Sequence[LayerOp]) -> bool:
    """Whether only these layers read the results of all of them but the last one."""
    inside: set[Operation] = set(parts)
    return all(use.operation in inside for part in parts[:-1] for use in part.output.uses)


@dataclass(frozen=True)
class Affine:
    """What is multiplied and added behind a normalisation, and the layers that do it."""

    scale: Array
    bias: Array
    layers: tuple[LayerOp, ...] = ()

    def times(self, factor: Array, shift: Array | float, layer: LayerOp) -> Affine:
        """With one more layer, which multiplies by `factor` and then adds `shift`."""
        return Affine(self.scale * factor, self.bias * factor + shift, (*self.layers, layer))

    def operands(self) -> list[ConstantOp]:
        """The constants that a normalisation needs: none, a scale, or a scale and a bias."""
        plain = (self.scale == 1).all(), (self.bias == 0).all()
        count = 0 if all(plain) else 1 if plain[1] else 2
        pairs = ((self.scale, "scale"), (self.bias, "bias"))[:count]
        return [constant_of(array.astype(np.float32), hint) for array, hint in pairs]


def affine_behind(value: SSAValue) -> Affine:
    """The constant scale and bias behind a value that nothing else reads."""
    found = Affine(np.ones(1), np.zeros(1))
    while (user := value.get_user_of_unique_use()) is not None:
        longer = with_layer(found, user, value)
        if longer is None:
            break
        found, value = longer, longer.layers[-1].output
    return found


def with_layer(affine: Affine, user: Operation, value: SSAValue) -> Affine | None:
    """Scale and bias with one more layer; None if it is none that can be taken in."""
    shape = shape_of(value)
    if isinstance(user, BatchNormOp) and user.input is value:
        numbers = constants(user)
        if numbers is None:
            return None
        scale, bias, mean, variance = numbers
        factor, vector = factor_of(user, scale, variance), (-1, *(1 for _ in shape[2:]))
        shift = bias - mean * factor
        return affine.times(factor.reshape(vector), shift.reshape(vector), user)
    if not isinstance(user, AddOp | MulOp) or user.lhs is user.rhs:
        return None
    number = array_of(user.rhs if user.lhs is value else user.lhs)
    if number is None or broadcast(number.shape, shape) != shape:
        return None
    if isinstance(user, MulOp):
        return affine.times(number.astype(np.float64), 0.0, user)
    one = np.ones(1)
    return affine.times(one, number.astype(np.float64), user) if user.epilogue is None else None


class FuseNormalizationPattern(RewritePattern):
    """Replace the parts of a normalisation by one layer."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PairwiseOp | MulOp, rewriter: PatternRewriter, /) -> None:
        """Fuse, if the op ends a normalisation."""
        found = spelt_out(op) if op.destination is None else None
        if found is None or not is_private(found.parts):
            return
        affine = affine_behind(op.output)
        chain = [*found.parts, *affine.layers]
        numbers = affine.operands()
        scale, bias = [*(number.result for number in numbers), None, None][:2]
        layer = NormalizeOp(
            found.source,
            scale,
            bias,
            chain[-1].output_type,
            axes=found.axes,
            epsilon=found.epsilon,
            rms=found.rms,
        )
        layer.attributes |= chain[0].attributes
        take_value_name(layer, chain[-1])
        replaced(rewriter, chain, [*numbers, layer])


def replaced(
    rewriter: PatternRewriter, chain: Sequence[LayerOp], made: Sequence[Operation]
) -> None:
    """Replace layers by others, whose last one computes the same as the last one of the chain."""
    rewriter.insert(list(made), InsertPoint.before(chain[-1]))
    rewriter.replace(chain[-1], [], [made[-1].results[0]])
    left = list(chain[:-1])
    numbers = [value for part in chain for value in part.inputs if array_of(value) is not None]
    while unread := [part for part in left if part.output.first_use is None]:
        for part in unread:
            left.remove(part)
            rewriter.erase(part)
    erase_unused(tuple(numbers), rewriter)


class FuseNormalizationsPass(RefusingPass):
    """Find normalisations that are spelt out; see the module."""

    name = "npu-fuse-normalizations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse in every function of the module."""
        PatternRewriteWalker(FuseNormalizationPattern(), apply_recursively=False).rewrite_module(op)
