"""The meaning of the layers of the npu dialect, in numpy.

Every layer is a function from the arrays of its inputs to that of its OFM; in destination style the
same values are written to the buffer. Sums have the element type of the maps, as in the generated
code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    OpImpl,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.attributes import OVERLAYS
from npu_dialect.interpreters.normalize import normalize
from npu_dialect.interpreters.pairwise import cast, pairwise, where
from npu_dialect.interpreters.pointwise import activate
from npu_dialect.interpreters.quantized import (
    added,
    dequantize,
    epilogue,
    quantize,
    quantized_add,
    quantized_avg_pool2d,
    quantized_binary,
    requantize,
)
from npu_dialect.interpreters.recurrent import recurrent
from npu_dialect.interpreters.reduce import reduction
from npu_dialect.interpreters.resampling import resample
from npu_dialect.interpreters.transposed import scattered
from npu_dialect.interpreters.values import Array, dtype_of
from npu_dialect.interpreters.windows import averaged_taps, pad, tap
from npu_dialect.interpreters.zero_blocks import prune_zero_blocks
from npu_dialect.npu.attributes import PoolAttr, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    AddOp,
    AvgPool2dOp,
    BatchNormOp,
    CastOp,
    ClampOp,
    ConcatOp,
    Conv2dOp,
    ConvTranspose2dOp,
    DequantizeOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    InterleaveOp,
    JoinOp,
    LookupOp,
    LrnOp,
    MapOp,
    MatmulOp,
    MaxPool2dOp,
    MulOp,
    NormalizeOp,
    PairwiseOp,
    PickOp,
    PruneZeroBlocksOp,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizedBinaryOp,
    QuantizeOp,
    RecurrentOp,
    ReduceOp,
    ReluOp,
    RequantizeOp,
    ResampleOp,
    ReshapeOp,
    SliceOp,
    SoftmaxOp,
    SumsOp,
    TransposeOp,
    WhereOp,
)
from npu_dialect.runs import NONE, indices_of
from npu_dialect.windows import Axis


def convolve(
    image: Array, weight: Array, bias: Array | None, axes: tuple[Axis, Axis], groups: int
) -> Array:
    """Convolution of [N, C, H, W] with [O, C / groups, KH, KW], as one matrix product per tap."""
    batch, channels = image.shape[:2]
    filters, depth, *kernel = weight.shape
    rows, columns = axes
    padded = pad(image, axes, 0)
    weights = weight.reshape(groups, filters // groups, depth, *kernel)
    sums = np.zeros((batch, groups, filters // groups, rows.outputs * columns.outputs), image.dtype)
    for row, column in np.ndindex(*kernel):
        patch = tap(padded, axes, row, column)
        patch = patch.reshape(batch, groups, channels // groups, -1)
        sums += np.matmul(weights[..., row, column], patch)
    result = sums.reshape(batch, filters, rows.outputs, columns.outputs)
    return result if bias is None else result + bias[:, None, None]


def pool(image: Array, window: PoolAttr) -> Array:
    """Maximum or average over a sliding window of [N, C, H, W]."""
    axes = window.axes(*image.shape[2:])
    taps = np.ndindex(axes[0].kernel, axes[1].kernel)
    if window.is_max:
        padded = pad(image, axes, lowest(image.dtype))
        result = tap(padded, axes, *next(taps)).copy()
        for row, column in taps:
            np.maximum(result, tap(padded, axes, row, column), out=result)
        return result
    expect_floats("an average", image)
    padded = pad(image, axes, 0)
    total = np.zeros((*image.shape[:2], axes[0].outputs, axes[1].outputs), image.dtype)
    for row, column in taps:
        total += tap(padded, axes, row, column)
    rows, columns = (averaged_taps(axis, window.includes_pad) for axis in axes)
    return total / np.multiply.outer(rows, columns).astype(image.dtype)


def lowest(dtype: np.dtype[Any]) -> Any:
    """The least value of a type, which no maximum prefers."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def expect_floats(what: str, array: Array) -> None:
    """Check the element type for a layer that has no meaning on integers.

    Raises: InterpretationError if the elements are integers.
    """
    if array.dtype.kind != "f":
        raise InterpretationError(f"expected {what} of floats, got elements of type {array.dtype}")


def conv2d(op: Conv2dOp, inputs: Sequence[Array]) -> Array:
    """Convolution, then activation, then pooling window or addition.

    The last of `inputs` is the array of old sums with `accumulate`, or an addition's residual.
    """
    image, weight = weighted(op, inputs)
    bias = inputs[2] if op.bias is not None else None
    sums = convolve(image, weight, bias, op.axes(), op.group_count)
    if op.accumulate is not None:
        sums = inputs[-1] + sums
    result = activate(stored(op, sums), op.activation)
    if op.addition is not None:
        result = activate(added(op.addition, inputs[-1], result), op.sum_activation)
    return result if op.pool is None else pool(result, op.pool)


def conv_transpose2d(op: ConvTranspose2dOp, inputs: Sequence[Array]) -> Array:
    """Transposed convolution."""
    image, weight = weighted(op, inputs)
    sums = scattered(image, weight, op.axes(), op.group_count)
    return stored(op, sums if op.bias is None else sums + inputs[2][:, None, None])


def fully_connected(op: FullyConnectedOp, inputs: Sequence[Array]) -> Array:
    """x W^T + b, then activation; with `accumulate`, the old sums are the last of `inputs`."""
    image, weight = weighted(op, inputs)
    sums = np.matmul(image, weight.T)
    if op.accumulate is not None:
        sums = inputs[-1] + sums
    return activate(stored(op, sums if op.bias is None else sums + inputs[2]), op.activation)


def matmul(op: MatmulOp, inputs: Sequence[Array]) -> Array:
    """Matrix product, then activation."""
    lhs, rhs = weighted(op, inputs)
    sums = np.matmul(lhs, rhs if op.transposed_rhs is None else rhs.swapaxes(-1, -2))
    return activate(stored(op, sums), op.activation)


def weighted(op: SumsOp, inputs: Sequence[Array]) -> tuple[Array, Array]:
    """The factors, the first two inputs, from which the zero points are subtracted if quantised.

    Quantised factors are float64, in which sums are exact and faster than with numpy's integers.
    """
    image, weight = inputs[:2]
    if op.zero_points is None:
        return image, weight
    of_image, of_weight = int_values(op.zero_points)
    return image.astype(np.float64) - of_image, weight.astype(np.float64) - of_weight


def stored(op: SumsOp, sums: Array) -> Array:
    """The sums as a layer stores them: floats, integers that wrap around, or quantised integers."""
    if op.zero_points is None:
        return sums
    integers = sums.astype(np.int64).astype(dtype_of(op.sums_element))
    if op.requantize is None:
        return integers
    return epilogue(integers, op.requantize, dtype_of(op.output_type.get_element_type()))


def join(op: JoinOp, inputs: Sequence[Array]) -> Array:
    """Each part in its slice of the output."""
    result = np.empty(op.infer_shape(), inputs[0].dtype)
    for part, place in zip(inputs, op.boxes(), strict=True):
        ends = zip(place.offsets, part.shape, place.steps, strict=True)
        result[tuple(slice(first, first + n * step, step) for first, n, step in ends)] = part
    return result


def global_avg_pool2d(_: GlobalAvgPool2dOp, inputs: Sequence[Array]) -> Array:
    """The mean of each channel over rows and columns."""
    expect_floats("an average", inputs[0])
    return inputs[0].mean(axis=(2, 3), keepdims=True, dtype=inputs[0].dtype)


def softmax(op: SoftmaxOp, inputs: Sequence[Array]) -> Array:
    """exp(x - max) / sum along one axis, or its logarithm."""
    (array,), axis = inputs, op.axis.value.data
    expect_floats("a softmax", array)
    shifted = array - array.max(axis=axis, keepdims=True)
    powers = np.exp(shifted)
    sums = powers.sum(axis=axis, keepdims=True)
    return powers / sums if op.log is None else shifted - np.log(sums)


def batch_norm(op: BatchNormOp, inputs: Sequence[Array]) -> Array:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, channel by channel."""
    array = inputs[0]
    expect_floats("a normalisation", array)
    shape = (-1,) + (1,) * (array.ndim - 2)
    scale, bias, mean, variance = (parameter.reshape(shape) for parameter in inputs[1:])
    epsilon = array.dtype.type(op.epsilon.value.data)
    return (array - mean) / np.sqrt(variance + epsilon) * scale + bias


def lrn(op: LrnOp, inputs: Sequence[Array]) -> Array:
    """x * (bias + scale * sum of the squares around its channel) ^ -beta."""
    array, (before, after) = inputs[0], op.reach
    expect_floats("a normalisation", array)
    kind = array.dtype.type
    channels = array.shape[1]
    squares, sums = array * array, np.zeros_like(array)
    for shift in range(max(-before, 1 - channels), min(after, channels - 1) + 1):
        first, end = max(0, -shift), min(channels, channels - shift)
        sums[:, first:end] += squares[:, first + shift : end + shift]
    base = kind(op.bias.value.data) + kind(op.scale) * sums
    return array * np.power(base, kind(-op.beta.value.data))


def pick(op: PickOp, inputs: Sequence[Array]) -> Array:
    """The elements with the given indices; `fill` where there is none."""
    array = inputs[0]
    for axis, runs in op.runs.items():
        indices = indices_of(runs)
        array = array.take(np.maximum(indices, 0), axis=axis)
        if op.fill is not None:
            missing = (slice(None),) * axis + (indices == NONE,)
            array[missing] = array.dtype.type(op.fill.value.data)
    return array


def slice_(op: SliceOp, inputs: Sequence[Array]) -> Array:
    """The elements of a box."""
    box = zip(int_values(op.offsets), int_values(op.sizes), op.steps, strict=True)
    return inputs[0][tuple(slice(n, n + (size - 1) * step + 1, step) for n, size, step in box)]


LayerT = TypeVar("LayerT", bound=LayerOp)


LEFT_BEHIND = 0x5A
"""What a layer leaves in its working memory, of any type: no later layer may read it."""


def layer(
    kind: type[LayerT], meaning: Callable[[LayerT, Sequence[Array]], Array]
) -> OpImpl[Any, LayerT]:
    """The interpreter's function for a layer, on tensors and in destination style.

    `meaning(op, inputs)` computes the OFM; infinities and NaN are as in IEEE 754.
    """

    @np.errstate(all="ignore")
    def run(_functions: Any, _: Interpreter, op: LayerT, args: PythonValues) -> PythonValues:
        if op.destination is None:
            return (meaning(op, args),)
        count = len(op.inputs)
        inputs, working, out = args[:count], args[count:-1], args[-1]
        if any(spoils(op, index, array, out) for index, array in enumerate(inputs)):
            raise InterpretationError("expected a destination that overlaps no input")
        if any(np.shares_memory(each, one) for each in working for one in (*inputs, out)):
            raise InterpretationError("expected scratch that overlaps no other buffer")
        found = meaning(op, (*inputs, out) if accumulates(op) else inputs)
        for each in working:
            each.fill(LEFT_BEHIND)
        out[...] = found
        return ()

    return impl(kind)(run)


def accumulates(op: LayerOp) -> bool:
    """Whether a layer's sums start from the values in its destination."""
    return isinstance(op, Conv2dOp | FullyConnectedOp) and op.accumulate is not None


def spoils(op: LayerOp, index: int, array: Array, out: Array) -> bool:
    """Whether the OFM overwrites an input that the layer may not overwrite.

    Then the buffer plan is wrong. Inputs in `in_place_inputs` may be overwritten by an OFM of the
    same layout. Those in `npu.overlays` may be overwritten once they are read, and here all inputs
    are read before the OFM is written.
    """
    if index in (OVERLAYS.get(op) or ())[::4]:
        return False
    if index in op.in_place_inputs() and array.__array_interface__ == out.__array_interface__:
        return False
    return np.shares_memory(array, out)


@register_impls
class NpuFunctions(InterpreterFunctions):
    """The npu dialect for xDSL's interpreter."""

    conv2d = layer(Conv2dOp, conv2d)
    conv_transpose2d = layer(ConvTranspose2dOp, conv_transpose2d)
    fully_connected = layer(FullyConnectedOp, fully_connected)
    matmul = layer(MatmulOp, matmul)
    max_pool2d = layer(MaxPool2dOp, lambda op, inputs: pool(inputs[0], op.window()))
    avg_pool2d = layer(AvgPool2dOp, lambda op, inputs: pool(inputs[0], op.window()))
    global_max_pool2d = layer(
        GlobalMaxPool2dOp, lambda _, inputs: inputs[0].max(axis=(2, 3), keepdims=True)
    )
    global_avg_pool2d = layer(GlobalAvgPool2dOp, global_avg_pool2d)
    relu = layer(ReluOp, lambda op, inputs: activate(inputs[0], op.as_activation()))
    clamp = layer(ClampOp, lambda op, inputs: activate(inputs[0], op.as_activation()))
    map = layer(MapOp, lambda op, inputs: activate(inputs[0], op.as_activation()))
    lookup = layer(LookupOp, lambda op, inputs: activate(inputs[0], op.as_activation()))
    add = layer(AddOp, lambda op, inputs: activate(inputs[0] + inputs[1], op.activation))
    mul = layer(MulOp, lambda _, inputs: inputs[0] * inputs[1])
    pairwise = layer(PairwiseOp, pairwise)
    where = layer(WhereOp, where)
    cast = layer(CastOp, cast)
    reduction = layer(ReduceOp, reduction)
    concat = layer(ConcatOp, join)
    interleave = layer(InterleaveOp, join)
    resample = layer(ResampleOp, resample)
    reshape = layer(ReshapeOp, lambda op, inputs: inputs[0].reshape(op.output_type.get_shape()))
    pick = layer(PickOp, pick)
    slice = layer(SliceOp, slice_)
    transpose = layer(
        TransposeOp, lambda op, inputs: inputs[0].transpose(int_values(op.perm)).copy()
    )
    softmax = layer(SoftmaxOp, softmax)
    batch_norm = layer(BatchNormOp, batch_norm)
    lrn = layer(LrnOp, lrn)
    normalize = layer(NormalizeOp, normalize)
    recurrent = layer(RecurrentOp, recurrent)
    prune_zero_blocks = layer(PruneZeroBlocksOp, prune_zero_blocks)
    quantize = layer(QuantizeOp, quantize)
    dequantize = layer(DequantizeOp, dequantize)
    requantize = layer(RequantizeOp, requantize)
    quantized_add = layer(QuantizedAddOp, quantized_add)
    quantized_binary = layer(QuantizedBinaryOp, quantized_binary)
    quantized_avg_pool2d = layer(QuantizedAvgPool2dOp, quantized_avg_pool2d)
