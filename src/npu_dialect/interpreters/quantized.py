"""The meaning of layers on quantised integers, in numpy; `layers/quantized*.py` define it in words.

No result depends on numpy's internal order or width of operations: integer sums are exact, and each
float32 operation is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32

from npu_dialect.interpreters.fused import fma
from npu_dialect.interpreters.pairwise import FUNCTIONS
from npu_dialect.interpreters.values import Array, dtype_of
from npu_dialect.interpreters.windows import averaged_taps, pad, tap
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.enums import BinaryKind, Mode
from npu_dialect.npu.layers.quantized import (
    DequantizeOp,
    QuantizedAddOp,
    QuantizeOp,
    RequantizeOp,
)
from npu_dialect.npu.layers.quantized_binary import QuantizedBinaryOp
from npu_dialect.npu.layers.quantized_pooling import QuantizedAvgPool2dOp
from npu_dialect.npu.maps import map_type
from npu_dialect.npu.quantization import (
    DOUBLE_BITS,
    EXACT,
    WIDE_BITS,
    AdditionAttr,
    Multiplier,
    RequantizeAttr,
    add_multipliers,
    limits_of,
)
from npu_dialect.windows import Axis

f32 = np.float32


def per_channel(values: Any, rank: int) -> Array:
    """One value for all channels, or one for each, in a shape that broadcasts to maps of a rank."""
    array = np.asarray(values)
    return array.reshape(()) if array.size == 1 else array.reshape(-1, *(1,) * (rank - 2))


def rounded(values: Array, zero_point: int, limits: tuple[int, int]) -> Array:
    """sat(round(values) + zero_point), as int64; NaN becomes the least integer."""
    low, high = limits[0] - zero_point, limits[1] - zero_point
    held = np.where(values > low, np.minimum(values, f32(high)), f32(low))
    return np.rint(held).astype(np.int64) + zero_point


def shifted(products: Array, shifts: Array) -> Array:
    """`Multiplier.scaled` for arrays: products * 2^-shift, rounded with ties to even."""
    odd = (products >> shifts) & 1
    return (products + (np.int64(1) << (shifts - 1)) - 1 + odd) >> shifts


def shifted_up(numbers: Array, values: Array, shifts: Array, mode: str) -> Array:
    """numbers * values * 2^-shift in mode half_up or double_round, as `tosa.rescale` rounds."""
    half = np.int64(1) << (shifts - 1)
    if mode == Mode.DOUBLE_ROUND:
        nudge = np.where(numbers >= 0, np.int64(1 << 30), np.int64(-(1 << 30)))
        half = half + np.where(shifts > DOUBLE_BITS, nudge, 0)
    return (numbers * values + half) >> shifts


def saturated(values: Array, zero_point: int, limits: tuple[int, int]) -> Array:
    """sat(values + zero_point), of integers."""
    return np.clip(values, limits[0] - zero_point, limits[1] - zero_point) + zero_point


def requantized(
    sums: Array,
    scales: Sequence[float],
    zero_point: int,
    limits: tuple[int, int],
    mode: str,
    divisor: float | None = None,
    bits: int = 31,
) -> Array:
    """Integers (int64, zero point subtracted) in another scale: see `npu.requantize`.

    `bits` are those of a multiplier in mode fixed.
    """
    rank = sums.ndim
    if mode != "float":
        found = [Multiplier.of(scale / (divisor or 1.0), bits) for scale in scales]
        values = per_channel([one.value for one in found], rank).astype(np.int64)
        shifts = per_channel([one.shift for one in found], rank).astype(np.int64)
        if mode == "fixed":
            return saturated(shifted(sums * values, shifts), zero_point, limits)
        return saturated(shifted_up(sums, values, shifts, mode), zero_point, limits)
    products = sums.astype(f32) * per_channel(np.array(scales, f32), rank)
    if divisor is not None:
        products = products / f32(divisor)
    return rounded(products, zero_point, limits)


def epilogue(sums: Array, what: RequantizeAttr, dtype: np.dtype[Any]) -> Array:
    """The sums of a convolution or a fully connected layer, requantised to `dtype`."""
    limits = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    scales = float_values(what.scales)
    wide, mode = sums.astype(np.int64), what.mode.data
    made = requantized(wide, scales, what.offset, limits, mode, bits=bits_for(sums))
    return made.astype(dtype)


def bits_for(array: Array) -> int:
    """The bits of a multiplier for integers of an array's type in mode fixed."""
    return WIDE_BITS if array.dtype == np.int64 else 31


def requantize(op: RequantizeOp, inputs: Sequence[Array]) -> Array:
    """`npu.requantize`."""
    before, after = int_values(op.zero_points)
    made = requantized(
        inputs[0].astype(np.int64) - before,
        float_values(op.scales),
        after,
        output_limits(op),
        op.mode.data,
        op.divided_by,
        bits_for(inputs[0]),
    )
    return made.astype(output_dtype(op))


def quantize(op: QuantizeOp, inputs: Sequence[Array]) -> Array:
    """`npu.quantize`."""
    made = rounded(inputs[0] / f32(op.scale), op.offset, output_limits(op))
    return made.astype(output_dtype(op))


def dequantize(op: DequantizeOp, inputs: Sequence[Array]) -> Array:
    """`npu.dequantize`."""
    array = inputs[0]
    scales = per_channel(np.array(float_values(op.scales), f32), array.ndim)
    return real(array, op.offset, scales)


def real(array: Array, zero_point: int, scale: Any) -> Array:
    """(q - zero_point) * scale in float32."""
    return (array.astype(np.int64) - zero_point).astype(f32) * scale


def quantized_add(op: QuantizedAddOp, inputs: Sequence[Array]) -> Array:
    """`npu.quantized_add`."""
    a, b = inputs
    scales, points, limits = float_values(op.scales), int_values(op.zero_points), output_limits(op)
    return quantized_sum(a, b, scales, points, limits, op.mode.data).astype(output_dtype(op))


def added(what: AdditionAttr, residual: Array, own: Array) -> Array:
    """The sum of a layer's output (`own`) and its residual, in the element type of the output."""
    a, b = what.ordered(residual, own)
    if not what.is_quantised:
        return a + b
    limits = int(np.iinfo(own.dtype).min), int(np.iinfo(own.dtype).max)
    scales, points = float_values(what.scales), int_values(what.zero_points)
    return quantized_sum(a, b, scales, points, limits, what.mode.data).astype(own.dtype)


def quantized_sum(
    a: Array,
    b: Array,
    scales: Sequence[float],
    zero_points: Sequence[int],
    limits: tuple[int, int],
    mode: str,
) -> Array:
    """The sum of two quantised maps: see `npu.quantized_add`."""
    if mode in EXACT:
        return exact_sum((a, b), scales, zero_points, limits, mode)
    scale_a, scale_b, scale = (f32(value) for value in scales)
    za, zb, z = zero_points
    match mode:
        case "float":
            total = real(a, za, scale_a) + real(b, zb, scale_b)
            made = rounded(total / scale, z, limits)
        case "qlinear":
            ra, rb = scale_a / scale, scale_b / scale
            start = f32(z) - fma(ra, f32(za), rb * f32(zb))
            total = fma(a.astype(f32), ra, fma(b.astype(f32), rb, start))
            made = rounded(total, 0, limits)
        case _:
            ma, mb, shift = add_multipliers(float(scale_a), float(scale_b), float(scale))
            exact = (a.astype(np.int64) - za) * ma + (b.astype(np.int64) - zb) * mb
            made = saturated(shifted(exact, np.array(shift, np.int64)), z, limits)
    return made


def exact_sum(
    maps: Sequence[Array],
    scales: Sequence[float],
    zero_points: Sequence[int],
    limits: tuple[int, int],
    mode: str,
) -> Array:
    """The sum of two quantised maps whose scales are exact multipliers."""
    wide = limits_of(i32)
    *factors, factor = scales
    terms = [
        requantized(each.astype(np.int64) - point, [scale], 0, wide, mode)
        for each, point, scale in zip(maps, zero_points, factors, strict=False)
    ]
    return requantized(terms[0] + terms[1], [factor], zero_points[-1], limits, mode)


def quantized_binary(op: QuantizedBinaryOp, inputs: Sequence[Array]) -> Array:
    """`npu.quantized_binary`."""
    a, b = inputs
    scale_a, scale_b, scale = (f32(value) for value in float_values(op.scales))
    (za, zb, z), limits, kind = int_values(op.zero_points), output_limits(op), op.kind.data
    wide = a.astype(np.int64) - za, b.astype(np.int64) - zb
    match op.mode.data:
        case "float":
            found = FUNCTIONS[kind](real(a, za, scale_a), real(b, zb, scale_b))
            made = rounded(found / scale, z, limits)
        case "qlinear":
            product = (wide[0] * wide[1]).astype(f32) * (scale_a * scale_b / scale)
            made = rounded(product + f32(z), 0, limits)
        case _ if kind == BinaryKind.MUL:
            found = Multiplier.of(float(scale_a) * float(scale_b) / float(scale))
            products = wide[0] * wide[1] * found.value
            made = saturated(shifted(products, np.array(found.shift)), z, limits)
        case _:
            ma, mb, shift = add_multipliers(float(scale_a), float(scale_b), float(scale))
            exact = FUNCTIONS[kind](wide[0] * ma, wide[1] * mb)
            made = saturated(shifted(exact, np.array(shift)), z, limits)
    return made.astype(output_dtype(op))


def quantized_avg_pool2d(op: QuantizedAvgPool2dOp, inputs: Sequence[Array]) -> Array:
    """`npu.quantized_avg_pool2d`."""
    image, mode = inputs[0], op.mode.data
    (zi, zo), limits = int_values(op.zero_points), output_limits(op)
    si, so = (f32(value) for value in float_values(op.scales))
    window = op.window()
    axes = window.axes(*image.shape[2:])
    counts = np.multiply.outer(*(averaged_taps(axis, window.includes_pad) for axis in axes))
    if mode in ("fixed", "half_up") or (mode == "qlinear" and op.is_global):
        total = window_sums(image.astype(np.int64) - zi, axes, columns_first=False)
        scales = {n: average_scale(si, so, n, mode) for n in np.unique(counts).tolist()}
        made = averaged(total, counts, scales, zo, limits, mode)
        return made.astype(output_dtype(op))
    reals = real(image, zi, si)
    if mode == "float":
        total = lanes(reals) if op.is_global else window_sums(reals, axes, columns_first=True)
        made = rounded(total / counts.astype(f32) / so, zo, limits)
    else:
        total = window_sums(reals, axes, columns_first=False)
        made = rounded(total / counts.astype(f32) / so + f32(zo), 0, limits)
    return made.astype(output_dtype(op))


def average_scale(si: Any, so: Any, count: int, mode: str) -> Any:
    """What the sum of `count` elements is multiplied by in a mode: a `Multiplier` or a float32."""
    match mode:
        case "half_up":
            return Multiplier.reciprocal(count)
        case "fixed":
            return Multiplier.of(float(si) / (float(so) * count))
        case _:
            return si / (so * f32(count))


def averaged(
    total: Array,
    counts: Array,
    scales: dict[int, Any],
    zero_point: int,
    limits: tuple[int, int],
    mode: str,
) -> Array:
    """Averages of integer sums: each sum of n elements is multiplied by `scales[n]`."""
    made = np.empty_like(total)
    for count, scale in scales.items():
        here = np.broadcast_to(counts == count, total.shape)
        if isinstance(scale, Multiplier):
            shift, number = np.array(scale.shift, np.int64), np.array(scale.value, np.int64)
            if mode == "half_up":
                values = shifted_up(total[here], number, shift, mode)
            else:
                values = shifted(total[here] * number, shift)
            made[here] = saturated(values, zero_point, limits)
        else:
            made[here] = rounded(total[here].astype(f32) * scale, zero_point, limits)
    return made


def window_sums(image: Array, axes: tuple[Axis, Axis], *, columns_first: bool) -> Array:
    """Sums over sliding windows [N, C, PH, PW], tap by tap.

    With `columns_first` each column of the window is summed up first, then these sums.
    """
    rows, columns = axes
    padded = pad(image, axes, 0)
    total = np.zeros((*image.shape[:2], rows.outputs, columns.outputs), image.dtype)
    if not columns_first:
        for row, column in np.ndindex(rows.kernel, columns.kernel):
            total += tap(padded, axes, row, column)
        return total
    for column in range(columns.kernel):
        part = np.zeros_like(total)
        for row in range(rows.kernel):
            part += tap(padded, axes, row, column)
        total += part
    return total


def lanes(image: Array) -> Array:
    """The float32 sum of each channel in four lanes, as in onnxruntime's global pooling."""
    flat = image.reshape(*image.shape[:2], -1)
    even = flat.shape[-1] // 4 * 4
    sums = np.zeros((*flat.shape[:2], 4), f32)
    for start in range(0, even, 4):
        sums += flat[..., start : start + 4]
    total = (sums[..., 0] + sums[..., 2]) + (sums[..., 1] + sums[..., 3])
    for place in range(even, flat.shape[-1]):
        total = total + flat[..., place]
    return total[..., None, None]


def output_limits(
    op: QuantizeOp | RequantizeOp | QuantizedAddOp | QuantizedAvgPool2dOp | QuantizedBinaryOp,
) -> tuple[int, int]:
    """The least and the greatest integer of a layer's output type."""
    return limits_of(map_type(op.output).get_element_type())


def output_dtype(
    op: QuantizeOp | RequantizeOp | QuantizedAddOp | QuantizedAvgPool2dOp | QuantizedBinaryOp,
) -> np.dtype[Any]:
    """The numpy type of a layer's output."""
    return dtype_of(map_type(op.output).get_element_type())
