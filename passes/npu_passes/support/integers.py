"""Integers in loops: i8, ui8 and i16 in memory, i32 in registers, and requantisation.

arith knows signless integers only. A cast turns a ui8 element into the i8 with the same bits:

    %x = memref.load %map[%i] : memref<8xui8, #npu.sram>
    %b = builtin.unrealized_conversion_cast %x : ui8 to i8
    %w = arith.extui %b : i8 to i32

Rounding half to even needs no function of the C library. For a float32 p with |p| < 2^22,
(p + 1.5 * 2^23) - 1.5 * 2^23 is the nearest integer, as a float32 of that size has no fraction
bits. For a core that rounds in one instruction, the code uses `dsp.round` instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float32Type,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    f32,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dsp
from npu_dialect.npu.attributes import FlashSpace
from npu_dialect.npu.enums import Mode
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.pointwise import ActivationAttr, PointwiseAttr
from npu_dialect.npu.quantization import (
    DOUBLE_BITS,
    QUANTISED,
    WIDE_BITS,
    Multiplier,
    limits_of,
    ui8,
)
from npu_passes.support.loop_builder import NSW, Index, LoopBuilder, memref_type
from npu_passes.support.symbols import GlobalNames, function_around, identifier
from npu_plans.kernels.near_halves import ROUNDER
from npu_plans.kernels.rescaling import Rescaling, rescaling

# -- memory ----------------------------------------------------------------------------------------


def element_of(buffer: SSAValue) -> Attribute:
    """The element type of a buffer."""
    return memref_type(buffer).element_type


def load(
    b: LoopBuilder, buffer: SSAValue, at: Sequence[Index], hint: str | None = None
) -> SSAValue:
    """Read one element: a float32 unchanged, an integer as i32."""
    return widened(b, b.load(buffer, at, hint), hint)


def widened(b: LoopBuilder, value: SSAValue, hint: str | None = None) -> SSAValue:
    """An integer as i32; a float32 unchanged."""
    if value.type == ui8:
        byte = b.insert(UnrealizedConversionCastOp.get([value], [i8])).results[0]
        return b.insert(arith.ExtUIOp(byte, i32), hint).result
    if value.type in (i8, i16):
        return b.insert(arith.ExtSIOp(value, i32), hint).result
    return value


def store(b: LoopBuilder, value: SSAValue, buffer: SSAValue, at: Sequence[Index]) -> None:
    """Write one element. An i32 is truncated to the element type; its value must fit."""
    element = element_of(buffer)
    if element in QUANTISED and value.type == i32:
        value = b.insert(arith.TruncIOp(value, i16 if element == i16 else i8)).result
        if element == ui8:
            value = b.insert(UnrealizedConversionCastOp.get([value], [ui8])).results[0]
    b.store(value, buffer, at)


# -- i32 and i64 -----------------------------------------------------------------------------------


def add(b: LoopBuilder, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
    """lhs + rhs; it wraps around on overflow."""
    return b.insert(arith.AddiOp(lhs, rhs), hint).result


def fits(
    b: LoopBuilder,
    kind: type[arith.AddiOp | arith.SubiOp | arith.MuliOp],
    lhs: SSAValue,
    rhs: SSAValue,
) -> SSAValue:
    """A sum, difference or product that is known not to overflow."""
    return b.insert(kind(lhs, rhs, overflow=NSW)).result


def without(b: LoopBuilder, value: SSAValue, zero_point: int) -> SSAValue:
    """value - zero_point, for an element of at most 16 bits in an i32; sums have zero point 0."""
    if zero_point == 0:
        return value
    if zero_point < 0:
        return fits(b, arith.AddiOp, value, b.integer(-zero_point))
    return fits(b, arith.SubiOp, value, b.integer(zero_point))


def held(
    b: LoopBuilder, value: SSAValue, low: int, high: int, type_: IntegerType = i32
) -> SSAValue:
    """min(max(value, low), high)."""
    raised = b.insert(arith.MaxSIOp(value, b.integer(low, type_))).result
    return b.insert(arith.MinSIOp(raised, b.integer(high, type_))).result


def bounds_of(element: Attribute, activation: PointwiseAttr | None) -> tuple[int, int]:
    """Smallest and largest integer of an element type, narrowed by an activation's bounds."""
    low, high = limits_of(element) if element in QUANTISED else (-(2**31), 2**31 - 1)
    if not isinstance(activation, ActivationAttr):
        return low, high
    least, most = activation.bounds
    least = low if least == -inf else int(np.ceil(least))
    most = high if most == inf else int(np.floor(most))
    return min(max(low, least), high), max(min(high, most), low)


# -- another scale ---------------------------------------------------------------------------------


class Scaling:
    """Builds the requantisation of one integer, for `npu.requantize` and `then requantize`.

    `scales` holds one scale for all channels, or one for each channel. Scales by channel are stored
    as tables in flash. `bounds` are the smallest and largest result, zero point included. `sums` is
    the type of the integers, i32 or i64. `largest`, if known, are the greatest magnitudes of the
    integers of each channel: with them, a core without an FPU computes mode float in integers.
    """

    def __init__(
        self,
        b: LoopBuilder,
        op: LayerOp,
        scales: Sequence[float],
        zero_point: int,
        mode: str,
        bounds: tuple[int, int],
        divisor: float | None = None,
        sums: Attribute = i32,
        largest: Sequence[int] | None = None,
    ) -> None:
        self.b, self.zero_point, self.bounds = b, zero_point, bounds
        bits = WIDE_BITS if sums == i64 else 31
        self.divisor, self.fixed, self.mode = divisor, mode != "float", mode
        self.sums = sums
        self.multipliers = [Multiplier.of(scale / (divisor or 1.0), bits) for scale in scales]
        self.scales = scales
        self.whole = self.in_integers(largest)
        self.held: dict[Index, SSAValue] = {}
        self.tables: tuple[SSAValue, ...]
        many = len(scales) > 1
        if many and self.fixed:
            values = np.array([each.value for each in self.multipliers], np.int32)
            shifts = np.array([each.shift for each in self.multipliers], np.int32)
            self.tables = (
                constant_table(b, op, "multipliers", values),
                constant_table(b, op, "shifts", shifts),
            )
        elif many and self.whole is not None:
            factors = np.array(self.whole.factors, np.int32)
            self.tables = (constant_table(b, op, "factors", factors),)
        elif many:
            self.tables = (constant_table(b, op, "scales", np.array(scales, np.float32)),)
        else:
            self.tables = ()

    def in_integers(self, largest: Sequence[int] | None) -> Rescaling | None:
        """How a core without an FPU computes mode float in integers; None if it does not."""
        plain = not self.fixed and self.divisor is None and self.sums != i64
        if not plain or self.b.has_floats or largest is None:
            return None
        most = largest if len(self.scales) > 1 else [max(largest, default=0)]
        return rescaling(self.scales, most, self.ends)

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest result without the zero point."""
        return self.bounds[0] - self.zero_point, self.bounds[1] - self.zero_point

    def __call__(self, value: SSAValue, channel: Index) -> SSAValue:
        """Requantise an i32 or i64 without zero point; the result is an i32 between the bounds."""
        if self.whole is not None:
            return moved(self.b, self.rescaled(value, channel, self.whole), self.zero_point)
        return self.by_shift(value, channel) if self.fixed else self.by_float(value, channel)

    def rescaled(self, value: SSAValue, channel: Index, whole: Rescaling) -> SSAValue:
        """The result without the zero point, by `dsp.rescale`."""
        b = self.b
        factor = self.scale(channel)
        exponent, left = whole.numbers.exponent, whole.numbers.left
        return b.insert(dsp.RescaleOp(value, factor, exponent, left, self.ends)).result

    def by_float(self, value: SSAValue, channel: Index) -> SSAValue:
        """Mode float: one float32 product, a division if there is a divisor, one rounding."""
        product = self.product(value, channel)
        return rounded(self.b, product, self.zero_point, self.bounds)

    def number(self, value: SSAValue, channel: Index) -> SSAValue:
        """The result of `by_float` minus the zero point, as a float32."""
        if self.whole is not None:
            number = self.rescaled(value, channel, self.whole)
            return self.b.insert(arith.SIToFPOp(number, f32)).result
        return nearest(self.b, self.product(value, channel), self.zero_point, self.bounds)

    @property
    def fills_byte(self) -> bool:
        """Whether the result of `by_float` minus the zero point has exactly the range 0 to 255.

        The core must round in one instruction, too.
        """
        low, high = (bound - self.zero_point for bound in self.bounds)
        return self.b.rounds and not self.fixed and (low, high) == (0, 255)

    @property
    def in_pairs(self) -> bool:
        """Whether the core requantises two integers of 32 bits together."""
        return self.b.rounds and not self.fixed and self.divisor is None and self.sums == i32

    def byte(self, value: SSAValue, channel: Index) -> SSAValue:
        """The result of `by_float` minus the zero point, as an i32."""
        return by_instruction(self.b, self.product(value, channel), self.zero_point, self.bounds)

    def pairs(
        self, values: Sequence[SSAValue], channels: Sequence[Index], *, less_zero: bool = False
    ) -> list[SSAValue]:
        """The results for an even number of integers, two at a time."""
        found: list[SSAValue] = []
        for first in range(0, len(values), 2):
            both = slice(first, first + 2)
            found += self.pair(values[both], channels[both], less_zero=less_zero)
        return found

    def pair(
        self, values: Sequence[SSAValue], channels: Sequence[Index], *, less_zero: bool = False
    ) -> list[SSAValue]:
        """The results for two integers; `less_zero`: minus the zero point."""
        b, (one, two) = self.b, values
        both = b.insert(dsp.ScalePairOp(one, two, *map(self.scale, channels))).result
        high = b.insert(arith.ShRSIOp(both, b.integer(32, i64))).result
        words = [b.insert(arith.TruncIOp(word, i32)).result for word in (both, high)]
        if less_zero:
            return [saturated(b, word, self.zero_point, self.bounds) for word in words]
        return [finished(b, word, self.zero_point, self.bounds) for word in words]

    def bytes(self, values: Sequence[SSAValue], channels: Sequence[Index]) -> SSAValue:
        """The results for two integers minus the zero point, from 0 to 255: halves of a word."""
        return self.b.insert(dsp.ScaleBytesOp(*values, *map(self.scale, channels)), "word").result

    def hold(self, channel: Index) -> None:
        """Load the scale of a channel here, for all results of the channel that follow."""
        if self.tables and not self.fixed:
            self.held[channel] = self.b.load(self.tables[0], [channel], "scale")

    def scale(self, channel: Index) -> SSAValue:
        """The scale of a channel, or the factor of `dsp.rescale` in its place."""
        if channel in self.held:
            return self.held[channel]
        b, whole = self.b, self.whole
        if self.tables:
            return b.load(self.tables[0], [channel], None if whole is None else "factor")
        return b.real(self.scales[0]) if whole is None else b.integer(whole.factors[0])

    def product(self, value: SSAValue, channel: Index) -> SSAValue:
        """An integer times its scale, as a float32 that is not rounded yet."""
        b = self.b
        product = b.mulf(b.insert(arith.SIToFPOp(value, f32)).result, self.scale(channel))
        if self.divisor is not None:
            product = b.divf(product, b.real(self.divisor))
        return product

    def by_shift(self, value: SSAValue, channel: Index) -> SSAValue:
        """All modes but float: one 64-bit product, shifted and rounded."""
        b = self.b
        if self.tables:
            factor = b.load(self.tables[0], [channel])
            wide = b.insert(arith.ExtSIOp(factor, i64)).result
            narrow = b.load(self.tables[1], [channel])
            shift = b.insert(arith.ExtSIOp(narrow, i64)).result
        else:
            wide = b.integer(self.multipliers[0].value, i64)
            shift = b.integer(self.multipliers[0].shift, i64)
        number = value if value.type == i64 else b.insert(arith.ExtSIOp(value, i64)).result
        product = fits(b, arith.MuliOp, number, wide)
        if self.mode == "fixed":
            return shifted(b, product, shift, self.zero_point, self.bounds)
        if self.mode == Mode.DOUBLE_ROUND:
            product = self.nudged(product, number, shift)
        whole = shifted_up(b, product, shift)
        return held_in(b, whole, self.zero_point, self.bounds)

    def nudged(self, product: SSAValue, number: SSAValue, shift: SSAValue) -> SSAValue:
        """A product with 2^30 added, or subtracted for a negative number, if its shift is large."""
        b = self.b
        large = [each.shift > DOUBLE_BITS for each in self.multipliers]
        if not any(large):
            return product
        step = nudge(b, number)
        if not all(large):
            is_large = b.compare(arith.CmpiOp, shift, b.integer(DOUBLE_BITS, i64), "sgt")
            step = b.select(is_large, step, b.integer(0, i64))
        return fits(b, arith.AddiOp, product, step)


def nudge(b: LoopBuilder, number: SSAValue) -> SSAValue:
    """What double rounding adds to a product with an i64: 2^30, or -2^30 if it is negative."""
    is_whole = b.compare(arith.CmpiOp, number, b.integer(0, i64), "sge")
    return b.select(is_whole, b.integer(1 << 30, i64), b.integer(-(1 << 30), i64))


def shifted_up(b: LoopBuilder, product: SSAValue, shift: SSAValue) -> SSAValue:
    """product * 2^-shift of an i64, rounded half up."""
    one = b.integer(1, i64)
    half = b.insert(arith.ShLIOp(one, fits(b, arith.SubiOp, shift, one))).result
    return b.insert(arith.ShRSIOp(fits(b, arith.AddiOp, product, half), shift)).result


def rounded_up(b: LoopBuilder, value: SSAValue, by: Multiplier, mode: str) -> SSAValue:
    """An i32 times a multiplier as an i64, in mode half_up or double_round."""
    number = b.insert(arith.ExtSIOp(value, i64)).result
    product = fits(b, arith.MuliOp, number, b.integer(by.value, i64))
    if mode == Mode.DOUBLE_ROUND and by.shift > DOUBLE_BITS:
        product = fits(b, arith.AddiOp, product, nudge(b, number))
    return shifted_up(b, product, b.integer(by.shift, i64))


LARGE = 1e29
"""A scale below this times any i32 is finite, so the sum of two such products is never NaN."""


def rounded(
    b: LoopBuilder,
    value: SSAValue,
    zero_point: int,
    bounds: tuple[int, int],
    *,
    is_number: bool = True,
) -> SSAValue:
    """sat(round(value) + zero_point) of a float32, as i32; NaN gives the lower bound.

    `dsp.round` gives 0 for NaN. So it is used only if `is_number` says that the value is never NaN,
    such as the product of a scale and an integer.
    """
    if b.rounds and is_number:
        return finished(b, b.insert(dsp.RoundOp(value)).result, zero_point, bounds)
    whole = by_sums(b, value, zero_point, bounds)
    return moved(b, b.insert(arith.FPToSIOp(whole, i32)).result, zero_point)


def finished(
    b: LoopBuilder, number: SSAValue, zero_point: int, bounds: tuple[int, int]
) -> SSAValue:
    """sat(number + zero_point) of an i32 that `dsp.round` gave."""
    if zero_point and bounds in ((-128, 127), (0, 255)) and zero_point != bounds[0]:
        # Saturating to 16 bits before the zero point is added makes the last step one instruction.
        number = b.insert(dsp.SsatOp(number, 16)).result
        end = dsp.SsatOp if bounds[0] else dsp.UsatOp
        return b.insert(end(moved(b, number, zero_point))).result
    return moved(b, saturated(b, number, zero_point, bounds), zero_point)


def nearest(b: LoopBuilder, value: SSAValue, zero_point: int, bounds: tuple[int, int]) -> SSAValue:
    """sat(round(value) + zero_point) - zero_point of a float32, as a float32."""
    if b.rounds:
        number = by_instruction(b, value, zero_point, bounds)
        return b.insert(arith.SIToFPOp(number, f32)).result
    return by_sums(b, value, zero_point, bounds)


def by_sums(b: LoopBuilder, value: SSAValue, zero_point: int, bounds: tuple[int, int]) -> SSAValue:
    """The result of `nearest`, computed by adding and subtracting a number that rounds it."""
    low, high = (float(bound - zero_point) for bound in bounds)
    least = b.real(low)
    above = b.compare(arith.CmpfOp, value, least, "ogt")
    value = b.at_most(b.select(above, value, least), b.real(high))
    rounder = b.real(float(ROUNDER))
    return b.subf(b.addf(value, rounder), rounder)


def by_instruction(
    b: LoopBuilder, value: SSAValue, zero_point: int, bounds: tuple[int, int]
) -> SSAValue:
    """sat(round(value) + zero_point) - zero_point of a float32, as an i32, by `dsp.round`."""
    return saturated(b, b.insert(dsp.RoundOp(value)).result, zero_point, bounds)


def saturated(
    b: LoopBuilder, number: SSAValue, zero_point: int, bounds: tuple[int, int]
) -> SSAValue:
    """sat(number + zero_point) - zero_point of an i32 that `dsp.round` gave."""
    low, high = bounds[0] - zero_point, bounds[1] - zero_point
    if (low, high) == (0, 255):
        return b.insert(dsp.UsatOp(number)).result
    if (low, high) == (-128, 127):
        return b.insert(dsp.SsatOp(number)).result
    if (low, high) == (-(2**15), 2**15 - 1):
        return b.insert(dsp.SsatOp(number, 16)).result
    return held(b, number, low, high)


def moved(b: LoopBuilder, number: SSAValue, zero_point: int) -> SSAValue:
    """number + zero_point, for a sum that does not overflow."""
    if zero_point == 0:
        return number
    return fits(b, arith.AddiOp, number, b.integer(zero_point))


def shifted(
    b: LoopBuilder,
    product: SSAValue,
    shift: SSAValue,
    zero_point: int,
    bounds: tuple[int, int],
) -> SSAValue:
    """sat(product * 2^-shift, rounded half to even, + zero_point) of an i64, as i32."""
    one = b.integer(1, i64)
    odd = b.insert(arith.AndIOp(b.insert(arith.ShRSIOp(product, shift)).result, one)).result
    half = b.insert(arith.ShLIOp(one, fits(b, arith.SubiOp, shift, one))).result
    bias = fits(b, arith.AddiOp, fits(b, arith.SubiOp, half, one), odd)
    whole = b.insert(arith.ShRSIOp(fits(b, arith.AddiOp, product, bias), shift)).result
    return held_in(b, whole, zero_point, bounds)


def held_in(b: LoopBuilder, whole: SSAValue, zero_point: int, bounds: tuple[int, int]) -> SSAValue:
    """sat(whole + zero_point) of an i64, as i32."""
    low, high = (bound - zero_point for bound in bounds)
    number = b.insert(arith.TruncIOp(held(b, whole, low, high, i64), i32)).result
    return moved(b, number, zero_point)


def real(b: LoopBuilder, value: SSAValue, zero_point: int, scale: SSAValue) -> SSAValue:
    """(value - zero_point) * scale in float32, of an i32."""
    number = b.insert(arith.SIToFPOp(without(b, value, zero_point), f32)).result
    return b.mulf(number, scale)


TABLES: dict[str, Float32Type | IntegerType] = {
    "float32": f32,
    "int32": i32,
    "int16": i16,
    "int8": i8,
    "uint8": ui8,
}
"""The element type of a constant table for each numpy type."""


def constant_table(b: LoopBuilder, op: Operation, what: str, values: np.ndarray) -> SSAValue:
    """Make a read-only global in flash with these values, for an op; returns its buffer."""
    function = function_around(op)
    names = GlobalNames.of(function, b.taken)
    layer = op.layer_name if isinstance(op, LayerOp) else None
    name = names.fresh(identifier(f"{layer or function.sym_name.data}_{what}"))
    element = TABLES[values.dtype.name]
    type_ = MemRefType(element, values.shape, NoneAttr(), FlashSpace())
    data = DenseIntOrFPElementsAttr(TensorType(element, values.shape), BytesAttr(values.tobytes()))
    table = memref.GlobalOp.get(StringAttr(name), type_, data, constant=UnitAttr())
    Rewriter.insert_op(table, InsertPoint.before(names.before))
    return b.hoist(memref.GetGlobalOp(name, type_), what)
