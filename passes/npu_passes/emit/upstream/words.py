"""Ops of the dsp dialect as arithmetic of upstream, with the same bits.

    %x = dsp.sxtb16 %w rotate 8 : i32
becomes
    %a = arith.shrui %w, %c8    ... bytes 1 and 3, each sign-extended to a half, side by side

A word is loaded byte by byte, so its bytes have their places on a machine of either endianness, at
any address; LLVM makes one load of it where the machine has that. `dsp.keep_order` holds C
compilers back and computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i8, i16, i32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.hints import isa

from npu_dialect import dsp
from npu_dialect.attributes import SELDOM
from npu_passes.support.fixed_point import fixed_point, unless_near_half
from npu_passes.support.integers import rounded as in_floats
from npu_passes.support.loop_builder import LoopBuilder, memref_type
from npu_plans.kernels.fixed_point import FixedProduct

Cast: TypeAlias = type[arith.ExtSIOp | arith.ExtUIOp | arith.TruncIOp]


class WordBuilder(LoopBuilder):
    """Builds arithmetic on words; numbers that a block has got out of a word are used again."""

    def __init__(self, before: Operation) -> None:
        """Build in front of `before`."""
        super().__init__(before)
        self.taken_out: dict[tuple[SSAValue, object, Block | None], SSAValue] = {}

    def once(self, word: SSAValue, what: object, build: Callable[[], SSAValue]) -> SSAValue:
        """What `build` builds from a word, or has built in this block before."""
        key = (word, what, self.builder.insertion_point.block)
        if key not in self.taken_out:
            self.taken_out[key] = build()
        return self.taken_out[key]

    def cast(self, kind: Cast, value: SSAValue, type_: IntegerType) -> SSAValue:
        """An integer of another width."""
        return self.quickly(kind, (value,), type_, partial(kind, value, type_), type_)


Build = Callable[[WordBuilder, Any], SSAValue | tuple[SSAValue, ...] | None]

HALF = 16
"""Bits of a half."""

LARGEST_BYTE = 255

LOW_HALF, HIGH_HALF, EVEN_BYTES = 0xFFFF, -0x10000, 0x00FF00FF

INTEGERS_FROM = float(2**23)
"""From here on a float32 has no fraction."""
TOO_LARGE = float(2**31)
"""The first float32 above all words."""


def shifted_right(b: WordBuilder, word: SSAValue, bits: int) -> SSAValue:
    """A word moved down, with zeros above."""
    return b.binary(arith.ShRUIOp, word, b.integer(bits)) if bits else word


def shifted_left(b: WordBuilder, word: SSAValue, bits: int) -> SSAValue:
    """A word moved up, with zeros below."""
    return b.binary(arith.ShLIOp, word, b.integer(bits)) if bits else word


def masked(b: WordBuilder, word: SSAValue, mask: int) -> SSAValue:
    """The bits of a word that a mask keeps."""
    return b.binary(arith.AndIOp, word, b.integer(mask))


def extended(b: WordBuilder, word: SSAValue, kind: IntegerType) -> SSAValue:
    """The low bits of a word, as a signed number of type `kind`, as a word."""
    return b.cast(arith.ExtSIOp, b.cast(arith.TruncIOp, word, kind), i32)


def half(b: WordBuilder, word: SSAValue, side: str) -> SSAValue:
    """The bottom (`b`) or top (`t`) half of a word, as a signed number."""
    if side == "t":
        return b.once(word, side, lambda: b.binary(arith.ShRSIOp, word, b.integer(HALF)))
    return b.once(word, side, lambda: extended(b, word, i16))


def side_by_side(b: WordBuilder, bottom: SSAValue, top: SSAValue) -> SSAValue:
    """Two numbers as the halves of a word, each modulo 2^16."""
    return b.binary(arith.OrIOp, masked(b, bottom, LOW_HALF), shifted_left(b, top, HALF))


def two_bytes(b: WordBuilder, op: dsp.ExtendOp | dsp.ExtendAddOp) -> tuple[SSAValue, SSAValue]:
    """The two bytes that an op chooses, as words."""
    rotate = op.rotate.value.data
    pair = [shifted_right(b, op.x, rotate + bits) for bits in (0, HALF)]
    if isinstance(op, dsp.Sxtb16Op | dsp.Sxtab16Op):
        bottom, top = (extended(b, each, i8) for each in pair)
    else:
        bottom, top = (masked(b, each, 0xFF) for each in pair)
    return bottom, top


def extend(b: WordBuilder, op: dsp.ExtendOp) -> SSAValue:
    """SXTB16, UXTB16."""
    if isinstance(op, dsp.Uxtb16Op):
        return masked(b, shifted_right(b, op.x, op.rotate.value.data), EVEN_BYTES)
    return side_by_side(b, *two_bytes(b, op))


def extend_add(b: WordBuilder, op: dsp.ExtendAddOp) -> SSAValue:
    """SXTAB16, UXTAB16."""
    bottom, top = two_bytes(b, op)
    return side_by_side(
        b,
        b.binary(arith.AddiOp, op.z, bottom),
        b.binary(arith.AddiOp, shifted_right(b, op.z, HALF), top),
    )


def product(b: WordBuilder, a: SSAValue, c: SSAValue, sides: str) -> SSAValue:
    """The product of a half of each of two words."""
    first, second = sides
    return b.binary(arith.MuliOp, half(b, a, first), half(b, c, second))


def smlad(b: WordBuilder, op: dsp.SmladOp) -> SSAValue:
    """SMLAD."""
    total = op.acc
    for sides in ("bb", "tt"):
        total = b.binary(arith.AddiOp, total, product(b, op.a, op.b, sides))
    return total


def smla(b: WordBuilder, op: dsp.SmlaOp) -> SSAValue:
    """SMLABB and its like."""
    return b.binary(arith.AddiOp, op.acc, product(b, op.a, op.b, op.halves.data))


def pack(b: WordBuilder, op: dsp.PackOp) -> SSAValue:
    """PKHBT, PKHTB."""
    low, high = op.halves.data
    bottom = masked(b, op.lo, LOW_HALF) if low == "b" else shifted_right(b, op.lo, HALF)
    top = shifted_left(b, op.hi, HALF) if high == "b" else masked(b, op.hi, HIGH_HALF)
    return b.binary(arith.OrIOp, bottom, top)


def rounded(b: WordBuilder, op: dsp.RoundOp) -> SSAValue:
    """VCVTR: halves to even, within i32, 0 for NaN. A sum with 2^23 is rounded to an integer."""
    return nearest(b, op.x)


def scale_pair(b: WordBuilder, op: dsp.ScalePairOp) -> SSAValue:
    """Two integers times their scales, rounded as by VCVTR."""
    words = [
        nearest(b, b.mulf(b.insert(arith.SIToFPOp(number, f32)).result, scale))
        for number, scale in ((op.a, op.x), (op.b, op.y))
    ]
    low, high = (b.cast(arith.ExtUIOp, word, i64) for word in words)
    top = b.binary(arith.ShLIOp, high, b.integer(32, i64))
    return b.binary(arith.OrIOp, low, top)


def scale_bytes(b: WordBuilder, op: dsp.ScaleBytesOp) -> SSAValue:
    """Two integers times their scales, rounded, as bytes in the halves of a word."""
    words = [
        nearest(b, b.mulf(b.insert(arith.SIToFPOp(number, f32)).result, scale))
        for number, scale in ((op.a, op.x), (op.b, op.y))
    ]
    low, high = (bounded(b, word, 0, LARGEST_BYTE) for word in words)
    return b.binary(arith.OrIOp, low, shifted_left(b, high, HALF))


def rescale(b: WordBuilder, op: dsp.RescaleOp) -> SSAValue:
    """A sum times its scale in fixed point; in floats where that is near a half."""
    product = FixedProduct((), op.left.value.data, op.start, op.shift, op.near)
    fixed = fixed_point(b, op.x, op.factor, product)

    def floats() -> SSAValue:
        sum, factor = (b.insert(arith.SIToFPOp(each, f32)).result for each in (op.x, op.factor))
        return in_floats(b, b.mulf(sum, b.mulf(factor, b.real(op.unit))), 0, op.bounds)

    result = unless_near_half(b, fixed, op.shift, op.near, op.bounds, floats)
    SELDOM.drop(result.op)
    return result


def nearest(b: WordBuilder, x: SSAValue) -> SSAValue:
    """The nearest integer of a float32 as VCVTR gives it."""
    zero = b.real(0.0)

    def between(bound: float) -> SSAValue:
        above = b.compare(arith.CmpfOp, x, b.real(-bound), "ogt")
        return b.binary(arith.AndIOp, above, b.compare(arith.CmpfOp, x, b.real(bound), "olt"))

    is_positive = b.compare(arith.CmpfOp, x, zero, "oge")
    large = b.select(is_positive, b.real(INTEGERS_FROM), b.real(-INTEGERS_FROM))
    nearest = b.subf(b.addf(x, large), large)
    whole = b.select(between(INTEGERS_FROM), nearest, x)
    number = b.select(between(TOO_LARGE), whole, zero)
    word = b.insert(arith.FPToSIOp(number, i32)).result
    too_small = b.compare(arith.CmpfOp, x, b.real(-TOO_LARGE), "ole")
    word = b.select(too_small, b.integer(-(2**31)), word)
    too_large = b.compare(arith.CmpfOp, x, b.real(TOO_LARGE), "oge")
    return b.select(too_large, b.integer(2**31 - 1), word)


def saturate(b: WordBuilder, op: dsp.SaturateOp) -> SSAValue:
    """SSAT, USAT."""
    bits = op.bits.value.data
    low, high = (0, 2**bits - 1)
    if isinstance(op, dsp.SsatOp):
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return bounded(b, op.x, low, high)


def bounded(b: WordBuilder, number: SSAValue, low: int, high: int) -> SSAValue:
    """A word within bounds."""
    least = b.binary(arith.MinSIOp, number, b.integer(high))
    return b.binary(arith.MaxSIOp, least, b.integer(low))


def parts_of(op: dsp.LoadWordOp | dsp.StoreWordOp) -> tuple[IntegerType, range]:
    """The type of the elements that a word consists of, and their numbers."""
    kind = memref_type(op.memref).element_type
    assert isa(kind, IntegerType)
    return kind, range(8 * dsp.WORD_BYTES // kind.width.data)


def load_word(b: WordBuilder, op: dsp.LoadWordOp) -> SSAValue:
    """A word from its elements, the first one lowest."""
    kind, numbers = parts_of(op)
    word: SSAValue | None = None
    for number in numbers:
        element = b.load(op.memref, [b.add(op.index, number)])
        part = b.cast(arith.ExtUIOp, element, i32)
        part = shifted_left(b, part, number * kind.width.data)
        word = part if word is None else b.binary(arith.OrIOp, word, part)
    assert word is not None
    return word


def load_pair(b: WordBuilder, op: dsp.LoadPairOp) -> tuple[SSAValue, SSAValue]:
    """Two neighbouring words."""
    return b.load(op.memref, [op.index]), b.load(op.memref, [b.add(op.index, 1)])


def load_floats(b: WordBuilder, op: dsp.LoadFloatsOp) -> tuple[SSAValue, ...]:
    """Neighbouring floats."""
    return tuple(b.load(op.memref, [b.add(op.index, number)]) for number in range(op.words))


def store_floats(b: WordBuilder, op: dsp.StoreFloatsOp) -> None:
    """Store floats to neighbouring elements."""
    for number, value in enumerate(op.values):
        b.store(value, op.memref, [b.add(op.index, number)])


def store_word(b: WordBuilder, op: dsp.StoreWordOp) -> None:
    """Store the elements of a word, the lowest one first."""
    kind, numbers = parts_of(op)
    for number in numbers:
        part = shifted_right(b, op.value, number * kind.width.data)
        element = b.cast(arith.TruncIOp, part, kind)
        b.store(element, op.memref, [b.add(op.index, number)])


def copy_words(b: WordBuilder, op: dsp.CopyWordsOp) -> None:
    """Load all elements of some words, then store them."""
    numbers = range(op.elements)
    loaded = [b.load(op.source, [b.add(op.first, number)]) for number in numbers]
    for number, element in zip(numbers, loaded, strict=True):
        b.store(element, op.target, [b.add(op.start, number)])


def nothing(b: WordBuilder, op: dsp.KeepOrderOp) -> None:
    """A barrier is left out."""


def opaque(b: WordBuilder, op: dsp.OpaqueOp) -> SSAValue:
    """A buffer is itself."""
    return op.source


BUILD: Mapping[type[Operation], Build] = MappingProxyType(
    {
        dsp.LoadWordOp: load_word,
        dsp.LoadPairOp: load_pair,
        dsp.LoadFloatsOp: load_floats,
        dsp.StoreWordOp: store_word,
        dsp.StoreFloatsOp: store_floats,
        dsp.CopyWordsOp: copy_words,
        dsp.Sxtb16Op: extend,
        dsp.Uxtb16Op: extend,
        dsp.Sxtab16Op: extend_add,
        dsp.Uxtab16Op: extend_add,
        dsp.SmladOp: smlad,
        dsp.SmlaOp: smla,
        dsp.PackOp: pack,
        dsp.RescaleOp: rescale,
        dsp.RoundOp: rounded,
        dsp.ScaleBytesOp: scale_bytes,
        dsp.ScalePairOp: scale_pair,
        dsp.SsatOp: saturate,
        dsp.UsatOp: saturate,
        dsp.KeepOrderOp: nothing,
        dsp.OpaqueOp: opaque,
    }
)
"""How each op of the dialect is computed."""
