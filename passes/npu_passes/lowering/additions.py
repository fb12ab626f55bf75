"""Add two quantised integers of different scales, as `npu.quantized_add` defines it.

%a = arith.mulf %lhs_real, %lhs_scale : f32       // mode float
%b = arith.mulf %rhs_real, %rhs_scale : f32
%s = arith.divf (%a + %b), %scale : f32           // then rounded and clamped

A summand whose scale is a whole number needs one product of 32 bits, and no rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu.quantization import EXACT, Multiplier, add_multipliers, limits_of
from npu_passes.support import integers
from npu_passes.support.fixed_point import unless_near_half
from npu_passes.support.integers import LARGE, rounded, shifted
from npu_passes.support.loop_builder import LoopBuilder
from npu_plans.kernels.byte_sums import ByteSum, FusedSum, Summand, byte_sum, in_range
from npu_plans.kernels.fixed_point import FixedSum, fixed_sum


class Addition:
    """Builds the sum of two quantised integers.

    `scales` and `zero_points` hold those of lhs, rhs and sum, in this order. `bounds` are the
    smallest and largest result, `elements` the types of both summands.
    """

    def __init__(
        self,
        b: LoopBuilder,
        scales: Sequence[float],
        zero_points: Sequence[int],
        mode: str,
        bounds: tuple[int, int],
        elements: Sequence[Attribute],
    ) -> None:
        self.b, self.scales, self.points = b, scales, zero_points
        self.mode, self.bounds, self.elements = mode, bounds, elements
        self.whole = None if b.has_floats else self.in_fixed_point(elements)

    def __call__(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The sum of two i32, an i32 between the bounds."""
        if self.mode == "fixed":
            return self.by_shift(lhs, rhs)
        if self.mode in EXACT:
            return self.by_multipliers(lhs, rhs)
        if self.whole is not None:
            return self.by_products(lhs, rhs, self.whole)
        return self.by_floats(lhs, rhs)

    def by_floats(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Modes float and qlinear, as they are defined."""
        if self.mode == "qlinear":
            return self.by_ratios(lhs, rhs)
        return self.of_floats(*map(self.number, (lhs, rhs), self.points))

    def by_products(self, lhs: SSAValue, rhs: SSAValue, whole: FixedSum) -> SSAValue:
        """The same by two products in fixed point; by floats where these are near a half."""
        b, fixed = self.b, self.b.integer(whole.start)
        for value, factor in zip((lhs, rhs), whole.factors, strict=True):
            product = integers.fits(b, arith.MuliOp, value, b.integer(factor))
            fixed = integers.fits(b, arith.AddiOp, fixed, product)
        return unless_near_half(
            b, fixed, whole.shift, whole.near, self.bounds, lambda: self.by_floats(lhs, rhs)
        )

    def in_fixed_point(self, elements: Sequence[Attribute]) -> FixedSum | None:
        """The fixed-point numbers of a core without an FPU; None if floats are computed."""
        if self.mode not in ("float", "qlinear"):
            return None
        scales, points = self.scales[:2], self.points[:2]
        divisor, offset = self.scales[2], float(self.points[2])
        if self.mode == "qlinear":
            *ratios, start = map(float, self.ratios)
            scales, points, divisor, offset = ratios, (0, 0), 1.0, start
        summands = [
            Summand(scale, point, *limits_of(element))
            for scale, point, element in zip(scales, points, elements, strict=True)
        ]
        return fixed_sum(summands, divisor, offset)

    @property
    def on_vectors(self) -> ByteSum | None:
        """What gives the same integers for two bytes on a vector unit; None if nothing does."""
        if self.mode == "qlinear":
            *factors, start = self.ratios
            return in_range(FusedSum(tuple(map(float, factors)), float(start), 0))
        if self.mode != "float":
            return None
        summands = tuple(
            Summand(scale, point, *limits_of(element))
            for scale, point, element in zip(self.scales, self.points, self.elements, strict=False)
        )
        return byte_sum(summands, self.scales[2], self.points[2], self.bounds)

    @property
    def ratios(self) -> tuple[np.float32, np.float32, np.float32]:
        """Mode qlinear: what both integers are multiplied by, and what their sum starts from."""
        sa, sb, s = (np.float32(scale) for scale in self.scales)
        za, zb, z = (np.float32(point) for point in self.points)
        ra, rb = sa / s, sb / s
        return ra, rb, z - np.float32(float(ra) * float(za) + float(rb * zb))

    def number(self, value: SSAValue, zero_point: int) -> SSAValue:
        """value - zero_point, of an i32, as a float32."""
        b = self.b
        return b.insert(arith.SIToFPOp(integers.without(b, value, zero_point), f32)).result

    def of_floats(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Mode float; lhs and rhs are float32 numbers from which the zero points are subtracted."""
        b = self.b
        sa, sb, s = (b.real(scale) for scale in self.scales)
        total = b.addf(b.mulf(lhs, sa), b.mulf(rhs, sb))
        is_number = max(self.scales[:2]) < LARGE
        return rounded(b, b.divf(total, s), self.points[2], self.bounds, is_number=is_number)

    def by_ratios(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Mode qlinear: two fused multiply-adds that start from a constant, then one rounding."""
        b, (ra, rb, start) = self.b, self.ratios
        total = b.real(float(start))
        for value, ratio in ((rhs, rb), (lhs, ra)):
            number = b.insert(arith.SIToFPOp(value, f32)).result
            total = b.insert(math.FmaOp(number, b.real(float(ratio)), total)).result
        return rounded(b, total, 0, self.bounds, is_number=bool(max(ra, rb) < LARGE))

    def by_shift(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Mode fixed: the sum of two 64-bit products, shifted with rounding."""
        b = self.b
        *points, z = self.points
        sa, sb, s = self.scales
        *factors, shift = add_multipliers(sa, sb, s)
        products: list[SSAValue] = []
        for value, point, factor in zip((lhs, rhs), points, factors, strict=True):
            number = integers.without(b, value, point)
            wide = b.insert(arith.ExtSIOp(number, i64)).result
            products.append(integers.fits(b, arith.MuliOp, wide, b.integer(factor, i64)))
        total = integers.fits(b, arith.AddiOp, *products)
        return shifted(b, total, b.integer(shift, i64), z, self.bounds)

    def by_multipliers(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Modes half_up and double_round: each summand is rounded to an i32, then their sum."""
        b = self.b
        terms: list[SSAValue] = []
        for value, point, scale in zip((lhs, rhs), self.points, self.scales, strict=False):
            number = integers.without(b, value, point)
            if scale.is_integer():
                terms.append(integers.fits(b, arith.MuliOp, number, b.integer(int(scale))))
                continue
            whole = integers.rounded_up(b, number, Multiplier.of(scale), self.mode)
            terms.append(b.insert(arith.TruncIOp(whole, i32)).result)
        total = integers.fits(b, arith.AddiOp, *terms)
        whole = integers.rounded_up(b, total, Multiplier.of(self.scales[2]), self.mode)
        return integers.held_in(b, whole, self.points[2], self.bounds)
