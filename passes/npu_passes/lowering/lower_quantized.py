"""Lower layers that quantise, requantise, add or average quantised maps to loops.

The loops do exactly the operations that `layers/quantized.py` defines, in that order: no product
and sum may become a fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import (
    DequantizeOp,
    QuantizedAddOp,
    QuantizeOp,
    RequantizeOp,
)
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import QUANTISED, limits_of
from npu_passes.lowering.additions import Addition
from npu_passes.lowering.lower_simple import elementwise
from npu_passes.lowering.vector_bytes import on_vectors, sum_of_bytes
from npu_passes.support import integers
from npu_passes.support.common import LoopOptions, for_each
from npu_passes.support.fixed_point import differences, farthest
from npu_passes.support.integers import Scaling, bounds_of, element_of, rounded
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.byte_sums import Summand, byte_sum
from npu_plans.kernels.rescaling import scale_without_divisor


def lower_quantize(b: LoopBuilder, op: QuantizeOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of `npu.quantize`."""
    bounds = bounds_of(element_of(out), None)

    def body(values: Sequence[SSAValue]) -> SSAValue:
        value = b.divf(values[0], b.real(op.scale))
        return rounded(b, value, op.offset, bounds, is_number=False)

    elementwise(b, [op.input], out, body)


def lower_dequantize(b: LoopBuilder, op: DequantizeOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of `npu.dequantize`."""
    scales = float_values(op.scales)
    if len(scales) == 1:
        elementwise(
            b,
            [op.input],
            out,
            lambda values: integers.real(b, values[0], op.offset, b.real(scales[0])),
        )
        return
    table = integers.constant_table(b, op, "scales", np.array(scales, np.float32))

    def one(at: tuple[Index, ...]) -> None:
        value = integers.load(b, op.input, at)
        b.store(integers.real(b, value, op.offset, b.load(table, [at[1]])), out, at)

    for_each(b, shape_of(out), one)


def lower_requantize(b: LoopBuilder, op: RequantizeOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of `npu.requantize`."""
    before, after = int_values(op.zero_points)
    scales, mode = float_values(op.scales), op.mode.data
    bounds = bounds_of(element_of(out), None)
    if on_vectors(options, op.input, out) and mode == "float" and len(scales) == 1:
        summand = Summand(scales[0], before, *limits_of(element_of(op.input)))
        found = byte_sum((summand,), op.divided_by or 1.0, after, bounds)
        if found is not None and sum_of_bytes(b, op, [op.input], out, found, bounds):
            return
    sums, divisor = element_of(op.input), op.divided_by
    largest: list[int] | None = None
    if not b.has_floats and mode == "float" and sums in QUANTISED and len(scales) == 1:
        read, ends = differences(sums, before), (bounds[0] - after, bounds[1] - after)
        single = scale_without_divisor(scales[0], divisor or 1.0, read, ends)
        if single is not None:
            scales, divisor, largest = (single,), None, [farthest(sums, before)]
    scaling = Scaling(b, op, scales, after, mode, bounds, divisor, sums, largest)
    if len(scales) == 1:
        elementwise(
            b,
            [op.input],
            out,
            lambda values: scaling(integers.without(b, values[0], before), 0),
        )
        return

    def one(at: tuple[Index, ...]) -> None:
        value = integers.without(b, integers.load(b, op.input, at), before)
        integers.store(b, scaling(value, at[1]), out, at)

    for_each(b, shape_of(out), one)


def lower_quantized_add(
    b: LoopBuilder, op: QuantizedAddOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops of `npu.quantized_add`."""
    bounds = bounds_of(element_of(out), None)
    scales, points = float_values(op.scales), int_values(op.zero_points)
    elements = [element_of(each) for each in (op.lhs, op.rhs)]
    addition = Addition(b, scales, points, op.mode.data, bounds, elements)
    if on_vectors(options, op.lhs, op.rhs, out):
        found = addition.on_vectors
        if found is not None and sum_of_bytes(b, op, [op.lhs, op.rhs], out, found, bounds):
            return
    elementwise(b, [op.lhs, op.rhs], out, lambda values: addition(*values))
