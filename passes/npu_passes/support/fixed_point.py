"""Integers in fixed point, for cores without an FPU, with floats where these may round otherwise.

    %last = arith.shli %fixed, %aside : i32               // the fraction, as the upper bits
    %is_near = arith.cmpi ule, %last, %near : i32
    %q = scf.if %is_near -> i32 { ... } else { arith.shrsi %fixed, %shift ... } {npu.seldom}

`npu_plans/kernels/fixed_point.py` says what `near` is.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, OpResult, SSAValue

from npu_dialect.attributes import SELDOM
from npu_dialect.fixed_point import WORD_BITS, limit_near_half
from npu_dialect.npu.quantization import limits_of
from npu_passes.support.integers import fits, held
from npu_passes.support.loop_builder import LoopBuilder
from npu_plans.kernels.fixed_point import FixedProduct


def differences(element: Attribute, zero_point: int) -> range:
    """All integers that an element of a quantised type less a zero point can be."""
    low, high = limits_of(element)
    return range(low - zero_point, high - zero_point + 1)


def farthest(element: Attribute, zero_point: int) -> int:
    """The largest magnitude of these integers."""
    return max(map(abs, differences(element, zero_point)))


def fixed_point(
    b: LoopBuilder, number: SSAValue, factor: SSAValue, product: FixedProduct
) -> SSAValue:
    """A product in fixed point, with a half and `near` added, of an i32 and one of the factors."""
    if product.left:
        number = b.insert(arith.ShLIOp(number, b.integer(product.left))).result
    wide = [b.insert(arith.ExtSIOp(each, i64)).result for each in (number, factor)]
    whole = fits(b, arith.MuliOp, *wide)
    high = b.insert(arith.ShRSIOp(whole, b.integer(WORD_BITS, i64))).result
    word = b.insert(arith.TruncIOp(high, i32)).result
    return fits(b, arith.AddiOp, word, b.integer(product.start))


def unless_near_half(
    b: LoopBuilder,
    fixed: SSAValue,
    shift: int,
    near: int,
    bounds: tuple[int, int],
    in_floats: Callable[[], SSAValue],
) -> OpResult:
    """The rounded fixed-point number between bounds; what floats give if it is near a half.

    `fixed` is an i32 to which a half and `near` have been added. `shift`: the bits of its fraction.
    """
    aside = WORD_BITS - shift
    last = b.insert(arith.ShLIOp(fixed, b.integer(aside))).result
    limit = limit_near_half(near, shift)
    signed = limit - (1 << WORD_BITS) if limit >> (WORD_BITS - 1) else limit
    is_near = b.compare(arith.CmpiOp, last, b.integer(signed), "ule")

    def whole() -> list[SSAValue]:
        number = b.insert(arith.ShRSIOp(fixed, b.integer(shift))).result
        return [held(b, number, *bounds)]

    (result,) = b.choose(is_near, lambda: [in_floats()], whole, [i32])
    assert isinstance(result, OpResult)
    SELDOM.set(result.op, True)
    return result
