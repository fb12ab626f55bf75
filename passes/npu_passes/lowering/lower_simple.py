"""Lower element-wise and moving layers, softmax and normalisations to loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod

from xdsl.ir import SSAValue

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    ActivationOp,
    AddOp,
    BatchNormOp,
    LrnOp,
    MulOp,
    SoftmaxOp,
    TransposeOp,
)
from npu_dialect.npu.layers.joining import Box, JoinOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import ActivationAttr, FunctionAttr
from npu_dialect.npu.quantization import QUANTISED
from npu_passes.lowering.functions import element_step
from npu_passes.support.common import LoopOptions, for_each, vectors
from npu_passes.support.integers import bounds_of, element_of, held, load, store
from npu_passes.support.loop_builder import Index, LoopBuilder


def elementwise(
    b: LoopBuilder,
    inputs: Sequence[SSAValue],
    out: SSAValue,
    body: Callable[[Sequence[SSAValue]], SSAValue],
) -> None:
    """out[i] = body(inputs[i]), with numpy's broadcasting.

    It is a single loop if all buffers are gapless and have the same shape and strides.
    """
    shapes = {shape_of(value) for value in (*inputs, out)}
    if len(shapes) == 1 and (dense := vectors(b, (*inputs, out))):
        inputs, out = dense[:-1], dense[-1]
    shape = shape_of(out)

    def one(at: tuple[Index, ...]) -> None:
        values: list[SSAValue] = []
        for value in inputs:
            extents = shape_of(value)
            own = at[len(at) - len(extents) :]
            values.append(
                load(b, value, [0 if n == 1 else i for i, n in zip(own, extents, strict=True)])
            )
        store(b, body(values), out, at)

    for_each(b, shape, one)


def channelwise(
    b: LoopBuilder,
    inputs: Sequence[SSAValue],
    out: SSAValue,
    body: Callable[[Sequence[SSAValue], Index], SSAValue],
) -> None:
    """out[i] = body(inputs[i], channel of i), for buffers of the same shape [N, C, ...]."""

    def one(at: tuple[Index, ...]) -> None:
        store(b, body([load(b, value, at) for value in inputs], at[1]), out, at)

    for_each(b, shape_of(out), one)


def lower_activation(b: LoopBuilder, op: ActivationOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of bounds, a function or a table."""
    what = op.as_activation()
    if element_of(out) in QUANTISED and isinstance(what, ActivationAttr):
        low, high = bounds_of(element_of(out), what)
        elementwise(b, [op.input], out, lambda values: held(b, values[0], low, high))
        return
    step = element_step(b, op, what)
    if isinstance(what, FunctionAttr) and what.has_channels:
        channelwise(b, [op.input], out, lambda values, channel: step(values[0], channel))
    else:
        elementwise(b, [op.input], out, lambda values: step(values[0], 0))


def lower_add(b: LoopBuilder, op: AddOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of a sum and its activation."""
    step = element_step(b, op, op.activation)
    elementwise(b, [op.lhs, op.rhs], out, lambda values: step(b.addf(values[0], values[1]), 0))


def lower_mul(b: LoopBuilder, op: MulOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of a product."""
    elementwise(b, [op.lhs, op.rhs], out, lambda values: b.mulf(values[0], values[1]))


def lower_join(b: LoopBuilder, op: JoinOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops that copy each part into its slice."""
    for part, place in zip(op.parts, op.boxes(), strict=True):

        def copy(at: tuple[Index, ...], part: SSAValue = part, place: Box = place) -> None:
            ends = zip(at, place.offsets, place.steps, strict=True)
            target = [b.add(b.mul(index, step), first) for index, first, step in ends]
            b.store(b.load(part, at), out, target)

        for_each(b, shape_of(part), copy)


def lower_transpose(b: LoopBuilder, op: TransposeOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops that read the input in the order of the output."""
    perm = int_values(op.perm)

    def copy(at: tuple[Index, ...]) -> None:
        source = [at[perm.index(axis)] for axis in range(len(perm))]
        b.store(b.load(op.input, source), out, at)

    for_each(b, shape_of(out), copy)


def lower_softmax(b: LoopBuilder, op: SoftmaxOp, out: SSAValue, _: LoopOptions) -> None:
    """Build three loops along the axis: maximum, exponentials and their sum, division."""
    axis = op.axis.value.data
    shape = shape_of(out)

    def line(at: tuple[Index, ...]) -> None:
        def place(i: Index) -> tuple[Index, ...]:
            return (*at[:axis], i, *at[axis:])

        def greatest(i: Index, best: Sequence[SSAValue]) -> list[SSAValue]:
            return [b.maxf(b.load(op.input, place(i)), best[0], "best")]

        best = b.loop(0, shape[axis], greatest, [b.real(-inf)], carry="best")[0]

        def exponential(i: Index, total: Sequence[SSAValue]) -> list[SSAValue]:
            value = b.exp(b.subf(b.load(op.input, place(i)), best))
            b.store(value, out, place(i))
            return [b.addf(total[0], value, "total")]

        total = b.loop(0, shape[axis], exponential, [b.real(0.0)], carry="total")[0]

        def quotient(i: Index, _: Sequence[SSAValue]) -> tuple[()]:
            b.store(b.divf(b.load(out, place(i)), total), out, place(i))
            return ()

        b.loop(0, shape[axis], quotient)

    for_each(b, (*shape[:axis], *shape[axis + 1 :]), line, ("n", "j", "k", "l"))


def lower_batch_norm(b: LoopBuilder, op: BatchNormOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of a batch normalisation, with one factor and one shift per channel."""
    images, channels, *extents = shape_of(out)
    epsilon = op.epsilon.value.data

    def channel(at: tuple[Index, ...]) -> None:
        c = (at[1],)
        deviation = b.sqrt(b.addf(b.load(op.variance, c), b.real(epsilon)))
        factor = b.divf(b.load(op.scale, c), deviation, "factor")
        mean, bias = b.load(op.mean, c, "mean"), b.load(op.bias, c, "bias")

        def one(inner: tuple[Index, ...]) -> None:
            value = b.subf(b.load(op.input, (*at, *inner)), mean)
            b.store(b.mac(bias, value, factor), out, (*at, *inner))

        for_each(b, extents, one)

    for_each(b, (images, channels), channel, ("n", "c"))


def lower_lrn(b: LoopBuilder, op: LrnOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of a local response normalisation: a sum of squares for each element."""
    images, channels, *extents = shape_of(out)
    before, after = op.reach
    scale, bias, power = (b.real(n) for n in (op.scale, op.bias.value.data, -op.beta.value.data))

    def channel(at: tuple[Index, ...]) -> None:
        n, c = at
        low = b.most(b.sub(c, before), 0, "low")
        high = b.least(b.add(c, after + 1), channels, "high")

        def one(inner: tuple[Index, ...]) -> None:
            def square(j: Index, total: Sequence[SSAValue]) -> list[SSAValue]:
                value = b.load(op.input, (n, j, *inner))
                return [b.mac(total[0], value, value)]

            total = b.loop(low, high, square, [b.real(0.0)], carry="total")[0]
            base = b.mac(bias, scale, total, "base")
            value = b.load(op.input, (*at, *inner))
            b.store(b.mulf(value, b.pow(base, power)), out, (*at, *inner))

        for_each(b, extents, one)

    for_each(b, (images, channels), channel, ("n", "c"))


def is_empty(op: LayerOp) -> bool:
    """Whether the output of a layer has no elements."""
    return prod(op.output_type.get_shape()) == 0
