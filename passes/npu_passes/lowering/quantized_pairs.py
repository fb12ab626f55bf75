"""Lower `npu.quantized_binary` to loops.

The dequantised number of an element that is broadcast, such as the gate of a channel, is computed
in front of the loops that use it:

    %g = arith.mulf %gate_real, %gate_scale : f32
    scf.for %j = ... {
      %a = arith.mulf %x_real, %x_scale : f32
      %p = arith.mulf %a, %g : f32
      %q = arith.divf %p, %scale : f32               // then rounded and clamped
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from npu_dialect.npu import QuantizedBinaryOp
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.enums import BinaryKind, Mode
from npu_dialect.npu.quantization import add_multipliers
from npu_passes.lowering.lower_simple import elementwise
from npu_passes.lowering.vector_bytes import on_vectors
from npu_passes.lowering.vector_products import product_of_bytes
from npu_passes.support import integers
from npu_passes.support.common import LoopOptions
from npu_passes.support.fixed_point import farthest, fixed_point, unless_near_half
from npu_passes.support.integers import Scaling, bounds_of, element_of, rounded, shifted
from npu_passes.support.loop_builder import NSW, LoopBuilder
from npu_passes.support.pairs import paired
from npu_plans.kernels.fixed_point import FixedProduct, fixed_product
from npu_plans.kernels.rescaling import in_range


class Pair:
    """Builds the function of two quantised integers that a layer computes."""

    def __init__(self, b: LoopBuilder, op: QuantizedBinaryOp, out: SSAValue) -> None:
        self.b, self.op, self.kind, self.mode = b, op, op.kind.data, op.mode.data
        self.scales, self.points = float_values(op.scales), int_values(op.zero_points)
        self.bounds = bounds_of(element_of(out), None)
        self.sums = self.mode == Mode.FIXED and self.kind != BinaryKind.MUL
        if self.sums:
            *self.factors, self.shift = add_multipliers(*self.scales)
        self.whole = None if b.has_floats else self.in_fixed_point()

    def in_fixed_point(self) -> FixedProduct | None:
        """The fixed-point numbers of a product, without an FPU; None if floats are computed."""
        if self.kind != BinaryKind.MUL or self.mode == Mode.FIXED:
            return None
        elements = [element_of(each) for each in (self.op.lhs, self.op.rhs)]
        far = [farthest(*each) for each in zip(elements, self.points, strict=False)]
        sa, sb, s = self.scales
        if not in_range(*self.scales):
            return None
        return fixed_product([sa * sb / s], [prod(far)], 0, self.points[2], self.bounds)

    def prepare(self, place: int, value: SSAValue) -> SSAValue:
        """What depends on one operand only: a real number, a difference or a 64-bit product."""
        b = self.b
        if self.mode == Mode.FLOAT and self.whole is None:
            return integers.real(b, value, self.points[place], b.real(self.scales[place]))
        number = integers.without(b, value, self.points[place])
        if not self.sums:
            return number
        wide = b.insert(arith.ExtSIOp(number, i64)).result
        return integers.fits(b, arith.MuliOp, wide, b.integer(self.factors[place], i64))

    def __call__(self, values: Sequence[SSAValue]) -> SSAValue:
        """The result of two prepared operands, an i32 between the bounds."""
        lhs, rhs = values
        if self.whole is not None:
            return self.of_differences(lhs, rhs, self.whole)
        if self.mode == Mode.FLOAT:
            return self.of_reals(lhs, rhs)
        if self.sums:
            return self.of_products(lhs, rhs)
        b = self.b
        product = integers.fits(b, arith.MuliOp, lhs, rhs)
        sa, sb, s = self.scales
        if self.mode == Mode.FIXED:
            scaling = Scaling(b, self.op, [sa * sb / s], self.points[2], "fixed", self.bounds)
            return scaling(product, 0)
        return self.of_ratio(product)

    def of_differences(self, lhs: SSAValue, rhs: SSAValue, whole: FixedProduct) -> SSAValue:
        """Modes float and qlinear in fixed point; by floats where that is near a half."""
        b = self.b
        product = integers.fits(b, arith.MuliOp, lhs, rhs)
        fixed = fixed_point(b, product, b.integer(whole.factors[0]), whole)

        def floats() -> SSAValue:
            if self.mode == Mode.QLINEAR:
                return self.of_ratio(product)
            reals = zip((lhs, rhs), self.scales, strict=False)
            return self.of_reals(*(integers.real(b, each, 0, b.real(s)) for each, s in reals))

        return unless_near_half(b, fixed, whole.shift, whole.near, self.bounds, floats)

    def of_ratio(self, product: SSAValue) -> SSAValue:
        """Mode qlinear; the product is an i32."""
        b, (sa, sb, s) = self.b, self.scales
        ratio = np.float32(sa) * np.float32(sb) / np.float32(s)
        number = b.insert(arith.SIToFPOp(product, f32)).result
        total = b.addf(b.mulf(number, b.real(float(ratio))), b.real(float(self.points[2])))
        return rounded(b, total, 0, self.bounds, is_number=bool(np.isfinite(ratio)))

    def of_reals(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Mode float; lhs and rhs are finite float32 numbers, so only a quotient can be NaN."""
        b = self.b
        found = b.divf(paired(b, self.kind, lhs, rhs), b.real(self.scales[2]))
        is_number = self.kind != BinaryKind.DIV
        return rounded(b, found, self.points[2], self.bounds, is_number=is_number)

    def of_products(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Mode fixed; lhs and rhs are 64-bit products with a common shift."""
        b = self.b
        match self.kind:
            case BinaryKind.SUB:
                found = b.insert(arith.SubiOp(lhs, rhs, overflow=NSW)).result
            case BinaryKind.MAX:
                found = b.insert(arith.MaxSIOp(lhs, rhs)).result
            case _:
                found = b.insert(arith.MinSIOp(lhs, rhs)).result
        return shifted(b, found, b.integer(self.shift, i64), self.points[2], self.bounds)


def lower_quantized_binary(
    b: LoopBuilder, op: QuantizedBinaryOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops of `npu.quantized_binary`."""
    is_product = op.kind.data == BinaryKind.MUL and op.mode.data in (Mode.FLOAT, Mode.QLINEAR)
    if is_product and on_vectors(options, op.lhs, op.rhs, out) and product_of_bytes(b, op, out):
        return
    pair = Pair(b, op, out)
    elementwise(b, [op.lhs, op.rhs], out, pair, pair.prepare)
