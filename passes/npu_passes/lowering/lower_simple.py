"""Lower element-wise and moving layers, softmax and normalisations to loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_dialect.npu.enums import BinaryKind
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    ActivationOp,
    AddOp,
    BatchNormOp,
    LrnOp,
    MulOp,
    SoftmaxOp,
)
from npu_dialect.npu.layers.joining import Box, JoinOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import ActivationAttr, FunctionAttr, TableAttr
from npu_dialect.npu.quantization import QUANTISED
from npu_passes.lowering.functions import element_step
from npu_passes.lowering.vector_bytes import on_vectors
from npu_passes.lowering.vector_lookup import lookup_of_bytes
from npu_passes.support import integers
from npu_passes.support.common import LoopOptions, for_each, loop_name, vectors
from npu_passes.support.integers import bounds_of, element_of, held, load, store
from npu_passes.support.loop_builder import Index, LoopBuilder, is_dense, memref_type
from npu_passes.support.pairs import paired


def elementwise(
    b: LoopBuilder,
    inputs: Sequence[SSAValue],
    out: SSAValue,
    body: Callable[[Sequence[SSAValue]], SSAValue],
    prepare: Callable[[int, SSAValue], SSAValue] | None = None,
) -> None:
    """out[i] = body(inputs[i]), with numpy's broadcasting.

    It is a single loop if all buffers are gapless and have the same shape and strides. Each input
    is read in the outermost loop in which its index is known. There `prepare`, if given, makes of
    the number of an input and its element what `body` gets.
    """
    inputs, out = with_fewer_axes(b, inputs, out)
    shape = shape_of(out)
    extents = [(1,) * (len(shape) - len(shape_of(value))) + shape_of(value) for value in inputs]
    depths = [max((i + 1 for i, n in enumerate(each) if n > 1), default=0) for each in extents]
    values = list(inputs)

    def nest(at: tuple[Index, ...]) -> tuple[()]:
        for place, (value, own, depth) in enumerate(zip(inputs, extents, depths, strict=True)):
            if depth == len(at):
                full = [0 if n == 1 else i for i, n in zip(at, own)]
                full += [0] * (len(shape) - len(at))
                element = load(b, value, full[len(shape) - len(shape_of(value)) :])
                values[place] = prepare(place, element) if prepare else element
        if len(at) == len(shape):
            store(b, body(values), out, at)
            return ()
        b.loop(0, shape[len(at)], lambda i, _: nest((*at, i)), hint=loop_name(len(at)))
        return ()

    nest(())


def with_fewer_axes(
    b: LoopBuilder, inputs: Sequence[SSAValue], out: SSAValue
) -> tuple[Sequence[SSAValue], SSAValue]:
    """The same buffers with one axis if they are alike, or with fewer axes if all are dense.

    Neighbouring axes become one if each input has both of them or is broadcast along both.
    """
    buffers = (*inputs, out)
    if len({shape_of(buffer) for buffer in buffers}) == 1 and (flat := vectors(b, buffers)):
        return flat[:-1], flat[-1]
    if not all(is_dense(memref_type(buffer)) for buffer in buffers):
        return inputs, out
    shape = shape_of(out)
    full = [(1,) * (len(shape) - len(shape_of(each))) + shape_of(each) for each in buffers]
    groups: list[list[int]] = []
    for axis in (axis for axis, extent in enumerate(shape) if extent != 1):
        last = groups[-1][-1] if groups else None
        if last is not None and all((n[last] == 1) == (n[axis] == 1) for n in full):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    groups = groups or [[]]
    seen: dict[SSAValue, SSAValue] = {}
    for buffer, extents in zip(buffers, full, strict=True):
        if buffer not in seen:
            grouped = [prod(extents[axis] for axis in group) for group in groups]
            seen[buffer] = b.shaped(buffer, grouped, buffer.name_hint)
    return [seen[value] for value in inputs], seen[out]


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


def lower_activation(b: LoopBuilder, op: ActivationOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of bounds, a function or a table."""
    what = op.as_activation()
    if isinstance(what, TableAttr) and on_vectors(options, op.input, out):
        if lookup_of_bytes(b, op, op.input, out, what):
            return
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

    def body(values: Sequence[SSAValue]) -> SSAValue:
        add = b.addf if values[0].type == f32 else partial(integers.add, b)
        return step(add(values[0], values[1]), 0)

    elementwise(b, [op.lhs, op.rhs], out, body)


def lower_mul(b: LoopBuilder, op: MulOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of a product."""
    elementwise(b, [op.lhs, op.rhs], out, lambda values: paired(b, BinaryKind.MUL, *values))


def lower_join(b: LoopBuilder, op: JoinOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops that copy each part into its slice."""
    for part, place in zip(op.parts, op.boxes(), strict=True):

        def copy(at: tuple[Index, ...], part: SSAValue = part, place: Box = place) -> None:
            ends = zip(at, place.offsets, place.steps, strict=True)
            target = [b.add(b.mul(index, step), first) for index, first, step in ends]
            b.store(b.load(part, at), out, target)

        for_each(b, shape_of(part), copy)


def lower_softmax(b: LoopBuilder, op: SoftmaxOp, out: SSAValue, _: LoopOptions) -> None:
    """Build three loops along the axis: maximum, exponentials and their sum, and the quotients.

    For the logarithm the second loop stores differences, and the third subtracts a logarithm.
    """
    axis = op.axis.value.data
    shape = shape_of(out)

    def line(at: tuple[Index, ...]) -> None:
        def place(i: Index) -> tuple[Index, ...]:
            return (*at[:axis], i, *at[axis:])

        def greatest(i: Index, best: Sequence[SSAValue]) -> list[SSAValue]:
            return [b.maxf(b.load(op.input, place(i)), best[0], "best")]

        best = b.loop(0, shape[axis], greatest, [b.real(-inf)], carry="best")[0]

        def exponential(i: Index, total: Sequence[SSAValue]) -> list[SSAValue]:
            shifted = b.subf(b.load(op.input, place(i)), best)
            value = b.exp(shifted)
            b.store(value if op.log is None else shifted, out, place(i))
            return [b.addf(total[0], value, "total")]

        total = b.loop(0, shape[axis], exponential, [b.real(0.0)], carry="total")[0]
        if op.log is not None:
            total = b.log(total)

        def finish(i: Index, _: Sequence[SSAValue]) -> tuple[()]:
            value = b.load(out, place(i))
            b.store((b.divf if op.log is None else b.subf)(value, total), out, place(i))
            return ()

        b.loop(0, shape[axis], finish)

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
